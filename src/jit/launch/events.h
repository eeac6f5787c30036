// Counters and subscribers of this process.
#pragma once

#include <flydsl/host/stats.h>

namespace flydsl::jit {

/// Counts the event and tells the subscribers.
void report(const EventInfo &event);

} // namespace flydsl::jit
