// The lock of all slots.
#include "runtime/per_device.h"

#include "support/fork.h"

namespace flydsl::runtime {

static constinit std::mutex mutex;
[[gnu::constructor]] static void holdSlotsAtFork() { support::holdAtFork(mutex); }

std::mutex &publishing() { return mutex; }

} // namespace flydsl::runtime
