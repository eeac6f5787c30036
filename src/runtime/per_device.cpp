// The lock of all slots.
#include "runtime/per_device.h"

#include "support/fork.h"

namespace flydsl::runtime {

std::mutex &publishing() {
  static std::mutex &mutex = *[] {
    auto *made = new std::mutex;
    support::holdAtFork(*made);
    return made;
  }();
  return mutex;
}

} // namespace flydsl::runtime
