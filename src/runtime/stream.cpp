#include "runtime/device_info.h"
#include "runtime/hip_error.h"

#include <flydsl/stream.h>

#include <utility>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

Stream::Stream(std::source_location where) : Stream(Device::current(where), where) {}

Stream::Stream(Device device, std::source_location where) : device_(device) {
  DeviceScope scope(device.ordinal());
  check(hip().hipStreamCreateWithFlags(&native_, hipStreamNonBlocking), "creating a stream", where);
}

Stream::~Stream() {
  if (native_)
    (void)hip().hipStreamDestroy(native_);
}

Stream::Stream(Stream &&other) noexcept
    : native_(std::exchange(other.native_, nullptr)), device_(other.device_) {}

Stream &Stream::operator=(Stream &&other) noexcept {
  std::swap(native_, other.native_);
  std::swap(device_, other.device_);
  return *this;
}

void Stream::synchronize(std::source_location where) const {
  check(hip().hipStreamSynchronize(native_), "waiting for a stream", where);
}

bool Stream::idle(std::source_location where) const {
  hipError_t code = hip().hipStreamQuery(native_);
  if (code == hipErrorNotReady)
    return false;
  check(code, "asking a stream whether it is idle", where);
  return true;
}

void Stream::wait(const Event &event, std::source_location where) const {
  check(hip().hipStreamWaitEvent(native_, event.native(), 0), "making a stream wait for an event",
        where);
}

FLYDSL_NAMESPACE_END
