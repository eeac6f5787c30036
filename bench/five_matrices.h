// What benchmarks of launches pass: five matrices on the only device of the process, and a stream,
// over a HIP library whose launch returns at once.
#pragma once

#include "fake.h"

#include <flydsl/host/device_array.h>
#include <flydsl/host/stream.h>

#include <array>

/// Makes the HIP library have one device and keep no record. To be made before what asks for it.
struct OneQuickDevice {
  OneQuickDevice() {
    fake().devices = 1;
    fake().record = false;
  }
};

struct FiveMatrices : OneQuickDevice {
  std::array<flydsl::DeviceArray<float>, 5> t{
      flydsl::DeviceArray<float>({64, 128}), flydsl::DeviceArray<float>({64, 128}),
      flydsl::DeviceArray<float>({64, 128}), flydsl::DeviceArray<float>({64, 128}),
      flydsl::DeviceArray<float>({64, 128})};
  flydsl::Stream stream;
};
