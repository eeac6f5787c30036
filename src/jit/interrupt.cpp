#include "jit/interrupt.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"

#include <csignal>
#include <cstdint>
#include <link.h>
#include <mutex>
#include <ucontext.h>

namespace flydsl::jit {

namespace {

constexpr int interruptSignal = SIGURG;

/// The executable segment of the object that holds an address.
struct Code {
  std::uintptr_t begin = 0, end = 0;
  bool holds(std::uintptr_t address) const { return address >= begin && address < end; }

  static Code around(const void *address) {
    struct Search {
      std::uintptr_t address;
      Code found;
    } search{reinterpret_cast<std::uintptr_t>(address), {}};
    dl_iterate_phdr(
        [](dl_phdr_info *object, std::size_t, void *data) {
          auto &search = *static_cast<Search *>(data);
          for (int i = 0; i < object->dlpi_phnum; ++i) {
            const auto &header = object->dlpi_phdr[i];
            if (header.p_type != PT_LOAD || !(header.p_flags & PF_X))
              continue;
            Code code{object->dlpi_addr + header.p_vaddr,
                      object->dlpi_addr + header.p_vaddr + header.p_memsz};
            if (code.holds(search.address)) {
              search.found = code;
              return 1;
            }
          }
          return 0;
        },
        &search);
    return search.found;
  }
};

/// This library, LLVM and MLIR; one and the same where they are linked statically.
struct CompilerCode {
  Code parts[3];
  bool holds(std::uintptr_t address) const {
    for (const Code &part : parts)
      if (part.holds(address))
        return true;
    return false;
  }
};

const CompilerCode &compilerCode() {
  static const CompilerCode code = [] {
    using Parse =
        llvm::LogicalResult (*)(llvm::StringRef, mlir::OpPassManager &, llvm::raw_ostream &);
    Parse mlirFunction = &mlir::parsePassPipeline;
    return CompilerCode{
        {Code::around(reinterpret_cast<const void *>(&allowInterrupts)),
         Code::around(reinterpret_cast<const void *>(&llvm::install_fatal_error_handler)),
         Code::around(reinterpret_cast<const void *>(mlirFunction))}};
  }();
  return code;
}

/// What the recovery context of this thread's work is to return; 0 where no work runs.
thread_local volatile int exitCodeHere = 0;

struct sigaction previous;

std::uintptr_t programCounter(const void *context) {
  const auto &machine = static_cast<const ucontext_t *>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<std::uintptr_t>(machine.pc);
#else
  (void)machine;
  return 0; // nobody is interrupted
#endif
}

void onInterrupt(int signal, siginfo_t *info, void *context) {
  int code = exitCodeHere;
  if (!code) {
    if (previous.sa_flags & SA_SIGINFO)
      previous.sa_sigaction(signal, info, context);
    else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
      previous.sa_handler(signal);
    return;
  }
  llvm::CrashRecoveryContext *recovery = llvm::CrashRecoveryContext::GetCurrent();
  if (!recovery || !compilerCode().holds(programCounter(context)))
    return;
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  recovery->HandleExit(code);
}

std::mutex installMutex;
unsigned installCount = 0;

} // namespace

InterruptTarget::InterruptTarget(int exitCode) : exitCode_(exitCode) {
  compilerCode(); // not to be made in a signal handler
  exitCodeHere = exitCode_;
}

InterruptTarget::~InterruptTarget() { exitCodeHere = 0; }

Interrupter::Interrupter() {
  std::lock_guard lock(installMutex);
  if (installCount++ > 0)
    return;
  struct sigaction action{};
  action.sa_sigaction = onInterrupt;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(interruptSignal, &action, &previous);
}

Interrupter::~Interrupter() {
  std::lock_guard lock(installMutex);
  if (--installCount == 0)
    sigaction(interruptSignal, &previous, nullptr);
}

void Interrupter::ask(pthread_t thread) const { pthread_kill(thread, interruptSignal); }

void allowInterrupts() {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, interruptSignal);
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
}

} // namespace flydsl::jit
