// LLVM's recovery is switched on in a child process that shares the memory, so that the signal
// handlers which come with it are the child's.
#include "jit/compile/guard/llvm_recovery.h"

#include "jit/compile/guard/recovery.h"
#include "support/sanitizers.h"

#include "llvm/Support/CrashRecoveryContext.h"

#include <array>
#include <csignal>
#include <dlfcn.h>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

namespace flydsl::jit {

namespace {

constexpr int kHandled[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP}; // LLVM's list

bool isEnabled() {
  bool enabled = false;
  llvm::CrashRecoveryContext probe;
  probe.RunSafely([&] { enabled = llvm::CrashRecoveryContext::GetCurrent() != nullptr; });
  return enabled;
}

/// Runs `change`, which sets a variable of LLVM's and changes signal handlers, so that only the
/// variable is changed: in a child process that shares our memory, but has signal handlers of its
/// own (as vfork()'s has; this thread waits until it has ended).
bool withoutHandlers(void (*change)()) {
  if (support::kUnderThreadSanitizer) // it keeps a table of the handlers in the shared memory
    return false;
  constexpr std::size_t stackBytes = 64 << 10;
  std::unique_ptr<char[]> stack(new char[stackBytes]);
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask); // no handler of the host may run in the child
  pid_t child = clone(
      [](void *function) {
        reinterpret_cast<void (*)()>(function)();
        return 0;
      },
      stack.get() + stackBytes, CLONE_VM | CLONE_VFORK, reinterpret_cast<void *>(change));
  if (child > 0)
    waitpid(child, nullptr, __WALL);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  return child > 0;
}

/// Where no such child can be made, handlers change for a moment.
void withHandlersPutBack(void (*change)()) {
  std::array<struct sigaction, std::size(kHandled)> actions;
  for (std::size_t i = 0; i < actions.size(); ++i)
    sigaction(kHandled[i], nullptr, &actions[i]);
  change();
  for (std::size_t i = 0; i < actions.size(); ++i)
    sigaction(kHandled[i], &actions[i], nullptr);
}

void apply(void (*change)(), bool enabled) {
  if (!withoutHandlers(change) || isEnabled() != enabled)
    withHandlersPutBack(change);
}

const void *fileOf(const void *address) {
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

} // namespace

bool isLlvmOurs() {
  static const bool ours = fileOf(reinterpret_cast<void *>(&isEnabled)) ==
                           fileOf(reinterpret_cast<void *>(&llvm::CrashRecoveryContext::Enable));
  return ours;
}

bool runUnderLlvmRecovery(llvm::function_ref<void()> work) {
  // The host may use the same LLVM and have it enabled for itself.
  const bool wasEnabled = isEnabled();
  if (!wasEnabled)
    apply(llvm::CrashRecoveryContext::Enable, true);
  Recovery *ours = Recovery::current();
  if (ours)
    ours->leaveBy([](int code) { llvm::CrashRecoveryContext::GetCurrent()->HandleExit(code); });
  llvm::CrashRecoveryContext context;
  const bool returned = context.RunSafely(work);
  if (ours)
    ours->leaveBy(nullptr);
  // A child process each time takes longer than linking a small kernel.
  if (!wasEnabled && !isLlvmOurs())
    apply(llvm::CrashRecoveryContext::Disable, false);
  return returned;
}

} // namespace flydsl::jit
