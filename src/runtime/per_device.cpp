// The lock of all slots.
#include "runtime/per_device.h"

namespace flydsl::runtime {

static constinit std::mutex mutex;

std::mutex &publishing() { return mutex; }

} // namespace flydsl::runtime
