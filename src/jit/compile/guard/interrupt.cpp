// The signal that interrupts a thread, and the decision whether it hit code of the compiler that holds
// no lock.
#include "jit/compile/guard/interrupt.h"

#include "jit/compile/guard/locks_held.h"
#include "jit/compile/guard/recovery.h"
#include "jit/compile/guard/shared_signal.h"
#include "jit/compile/guard/thread_slot.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/ErrorHandling.h"

#include <csignal>
#include <cstdint>
#include <link.h>
#include <new>
#include <ucontext.h>
#include <unistd.h>

namespace flydsl::jit {

namespace {

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
        {Code::around(reinterpret_cast<const void *>(&interrupt)),
         Code::around(reinterpret_cast<const void *>(&llvm::install_fatal_error_handler)),
         Code::around(reinterpret_cast<const void *>(mlirFunction))}};
  }();
  return code;
}

/// The code with which this thread's work is left; 0 while no work runs. Signal handlers read it.
constinit ThreadSlot codeHere;

/// Its address marks our signals.
char mark;

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

bool claimInterrupt(int, siginfo_t *info, void *context) {
  if (info->si_code != SI_QUEUE || info->si_value.sival_ptr != &mark || info->si_pid != getpid())
    return false;
  Recovery *recovery = Recovery::current();
  const auto code = static_cast<int>(codeHere.get());
  if (recovery && code && locksHeld() == 0 && compilerCode().holds(programCounter(context)))
    recovery->leave(code);
  return true; // the work has ended, or it holds a lock, or the signal hit other code
}

} // namespace

InterruptTarget::InterruptTarget(int code) {
  compilerCode(); // it is made here, because a signal handler can't make it
  forgetLocks();
  if (!codeHere.set(code))
    throw std::bad_alloc(); // the work could not be ended
}

InterruptTarget::~InterruptTarget() { codeHere.set(0); }

void interrupt(pthread_t thread) {
  claimSignal(SIGURG, claimInterrupt);
  sigval value{};
  value.sival_ptr = &mark;
  pthread_sigqueue(thread, SIGURG, value);
}

int interruptSignal() { return SIGURG; }

} // namespace flydsl::jit
