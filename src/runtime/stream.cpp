// Streams own a handle of the driver's, which a reset of the device takes away.
#include "runtime/current_driver.h"
#include "runtime/device_info.h"

#include <flydsl/host/stream.h>

#include <utility>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

Stream::Stream(std::source_location where) : Stream(Device::current(where), where) {}

Stream::Stream(Device device, std::source_location where)
    : device_(device), made_(device.ordinal()) {
  DeviceScope scope(device.ordinal());
  void *native = nullptr;
  check(driver().createStream(&native), "creating a stream", where);
  native_ = static_cast<ihipStream_t *>(native);
}

Stream::~Stream() { destroy(); }

/// A reset of the device destroys its streams.
void Stream::destroy() noexcept {
  const Driver *used = native_ ? driverToLetGo() : nullptr;
  if (used && made_.isThere())
    (void)used->destroyStream(native_);
}

Stream::Stream(Stream &&other) noexcept
    : native_(std::exchange(other.native_, nullptr)), device_(other.device_), made_(other.made_) {}

Stream &Stream::operator=(Stream &&other) noexcept {
  if (this == &other)
    return *this;
  destroy();
  native_ = std::exchange(other.native_, nullptr);
  device_ = other.device_;
  made_ = other.made_;
  return *this;
}

void Stream::refuse(const std::source_location &where) const {
  throw RuntimeError(native_ ? "a Stream is used whose device was reset after it was made"
                             : "a Stream that was moved from is used",
                     0, where);
}

void Stream::synchronize(std::source_location where) const {
  check(driver().synchronizeStream(native(where)), "waiting for a stream", where);
}

bool Stream::idle(std::source_location where) const {
  Status status = driver().queryStream(native(where));
  if (status == driver().notReady)
    return false;
  check(status, "asking a stream whether it is idle", where);
  return true;
}

void Stream::wait(const Event &event, std::source_location where) const {
  check(driver().waitForEvent(native(where), event.native(where)),
        "making a stream wait for an event", where);
}

FLYDSL_NAMESPACE_END
