// Recoveries of one thread nest. A signal handler finds the innermost one in the thread's storage.
#include "jit/compile/guard/recovery.h"

#include "jit/compile/guard/thread_slot.h"

#include <new>

namespace flydsl::jit {

/// Signal handlers look at it, on any of the host's threads.
static constinit ThreadSlot innermost;

namespace {
void setInnermost(Recovery *recovery) {
  if (!innermost.set(reinterpret_cast<std::intptr_t>(recovery)))
    throw std::bad_alloc(); // a crash would not come back here
}
} // namespace

bool Recovery::run(const std::function<void()> &work) {
  outer_ = current();
  if (sigsetjmp(place_, /*save the signal mask=*/1) != 0) {
    setInnermost(outer_);
    return false;
  }
  setInnermost(this);
  work();
  setInnermost(outer_);
  return true;
}

Recovery *Recovery::current() { return reinterpret_cast<Recovery *>(innermost.get()); }

void Recovery::leave(int code) {
  if (void (*instead)(int) = instead_)
    instead(code);
  code_ = code;
  siglongjmp(place_, 1);
}

} // namespace flydsl::jit
