// Events own a handle of the driver's, which a reset of the device takes away.
#include "runtime/current_driver.h"

#include <flydsl/host/stream.h>

#include <utility>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

Event::Event(std::source_location where) : made_(Device::current(where).ordinal()) {
  void *native = nullptr;
  check(driver().createEvent(&native), "creating an event", where);
  native_ = static_cast<ihipEvent_t *>(native);
}

Event::~Event() { destroy(); }

/// A reset of the device destroys its events.
void Event::destroy() noexcept {
  const Driver *used = native_ ? driverToLetGo() : nullptr;
  if (used && made_.isThere())
    (void)used->destroyEvent(native_);
}

Event::Event(Event &&other) noexcept
    : native_(std::exchange(other.native_, nullptr)), made_(other.made_) {}

Event &Event::operator=(Event &&other) noexcept {
  if (this == &other)
    return *this;
  destroy();
  native_ = std::exchange(other.native_, nullptr);
  made_ = other.made_;
  return *this;
}

ihipEvent_t *Event::native(std::source_location where) const {
  if (!native_)
    throw RuntimeError("an Event that was moved from is used", 0, where);
  if (!made_.isThere())
    throw RuntimeError("an Event is used whose device was reset after it was made", 0, where);
  return native_;
}

void Event::record(StreamRef stream, std::source_location where) {
  check(driver().recordEvent(native(where), stream.native()), "recording an event", where);
}

void Event::synchronize(std::source_location where) const {
  check(driver().synchronizeEvent(native(where)), "waiting for an event", where);
}

bool Event::reached(std::source_location where) const {
  Status status = driver().queryEvent(native(where));
  if (status == driver().notReady)
    return false;
  check(status, "asking whether an event is reached", where);
  return true;
}

float Event::milliseconds_since(const Event &start, std::source_location where) const {
  float milliseconds = 0;
  check(driver().millisecondsBetween(&milliseconds, start.native(where), native(where)),
        "timing between two events", where);
  return milliseconds;
}

FLYDSL_NAMESPACE_END
