// Launches that do not end, with a time limit. CTest runs this with a limit of one second and two
// devices.
#include "support.h"

#include <chrono>
#include <flydsl/emulator.h>
#include <memory>

TEST_CASE("Endless launches on two devices, two streams each, end at their limit", "[.timeout]") {
  const auto start = std::chrono::steady_clock::now();
  struct One {
    TestModule module;
    DeviceBuffer<int> flag{64};
    hipStream_t streams[2];
  };
  std::vector<std::unique_ptr<One>> all;
  for (int device = 0; device < 2; ++device) {
    HIP_OK(hipSetDevice(device));
    all.push_back(std::make_unique<One>());
    One &one = *all.back();
    HIP_OK(hipMemset(one.flag.data, 0, 256));
    HIP_OK(hipDeviceSynchronize());
    for (hipStream_t &stream : one.streams) {
      HIP_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
      HIP_OK(launch1D(one.module.function("endless"), 3, 128, stream, one.flag.data));
    }
  }
  for (int device = 0; device < 2; ++device) {
    HIP_OK(hipSetDevice(device));
    for (hipStream_t stream : all[device]->streams)
      CHECK(hipStreamSynchronize(stream) == hipErrorLaunchTimeOut);
    const std::string text = flydslEmulatorErrorText();
    CHECK_THAT(text,
               Catch::Contains("kernel 'endless': the launch exceeded its limit of 1.0 s, and "
                               "0 of 3 workgroups have ended; a wave is in a loop that waits "
                               "for memory to change, at pc"));
    CHECK_THAT(text, Catch::Contains("wave ") && Catch::Contains("instruction: "));
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  // After the reset the devices work, and launches that end in time are not told of.
  for (int device = 0; device < 2; ++device) {
    HIP_OK(hipSetDevice(device));
    HIP_OK(hipDeviceReset());
    DeviceBuffer<int> out(64);
    HIP_OK(launch1D(all[device]->module.function("fill"), 1, 64, nullptr, out.data, 3, 64));
    CHECK(out.read() == std::vector<int>(64, 3));
  }
  (void)hipGetLastError();
}

TEST_CASE("A limit that is no number leaves no device", "[.no_device]") {
  int count = -1;
  CHECK(hipGetDeviceCount(&count) == hipErrorNoDevice);
  CHECK(hipSetDevice(0) == hipErrorNoDevice);
  std::puts(flydslEmulatorErrorText());
}
