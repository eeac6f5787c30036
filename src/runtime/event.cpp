#include "runtime/hip_error.h"

#include <flydsl/stream.h>

#include <utility>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

Event::Event(std::source_location where) {
  check(hip().hipEventCreateWithFlags(&native_, hipEventDefault), "creating an event", where);
}

Event::~Event() {
  if (native_)
    (void)hip().hipEventDestroy(native_);
}

Event::Event(Event &&other) noexcept : native_(std::exchange(other.native_, nullptr)) {}

Event &Event::operator=(Event &&other) noexcept {
  std::swap(native_, other.native_);
  return *this;
}

void Event::record(StreamRef stream, std::source_location where) {
  check(hip().hipEventRecord(native_, stream.native()), "recording an event", where);
}

void Event::synchronize(std::source_location where) const {
  check(hip().hipEventSynchronize(native_), "waiting for an event", where);
}

bool Event::reached(std::source_location where) const {
  hipError_t code = hip().hipEventQuery(native_);
  if (code == hipErrorNotReady)
    return false;
  check(code, "asking whether an event is reached", where);
  return true;
}

float Event::milliseconds_since(const Event &start, std::source_location where) const {
  float milliseconds = 0;
  check(hip().hipEventElapsedTime(&milliseconds, start.native_, native_),
        "timing between two events", where);
  return milliseconds;
}

FLYDSL_NAMESPACE_END
