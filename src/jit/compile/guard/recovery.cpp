// Recoveries of one thread nest. A signal handler finds the innermost one in the thread's storage.
#include "jit/compile/guard/recovery.h"

namespace flydsl::jit {

/// Lies in the static part of the thread's storage: a signal handler that looks at it on any of the
/// host's threads must not be the one to allocate it.
static thread_local Recovery *volatile innermost __attribute__((tls_model("initial-exec"))) =
    nullptr;

bool Recovery::run(const std::function<void()> &work) {
  outer_ = innermost;
  if (sigsetjmp(place_, /*save the signal mask=*/1) != 0) {
    innermost = outer_;
    return false;
  }
  innermost = this;
  work();
  innermost = outer_;
  return true;
}

Recovery *Recovery::current() { return innermost; }

void Recovery::leave(int code) {
  if (void (*instead)(int) = instead_)
    instead(code);
  code_ = code;
  siglongjmp(place_, 1);
}

} // namespace flydsl::jit
