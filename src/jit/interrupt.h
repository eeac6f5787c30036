// Stops a thread that runs in the compiler and does not come back.
#pragma once

#include <atomic>
#include <pthread.h>

namespace flydsl::jit {

/// On the stack of the thread that may be interrupted, while it may be: work under an
/// llvm::CrashRecoveryContext.
class InterruptTarget {
public:
  /// `exitCode` is what the recovery context then returns.
  explicit InterruptTarget(int exitCode);
  ~InterruptTarget();
  InterruptTarget(const InterruptTarget &) = delete;
  InterruptTarget &operator=(const InterruptTarget &) = delete;

private:
  int exitCode_;
};

/// Sends interrupts while it lives: its handler for SIGURG (which nobody needs to handle and most
/// programs ignore) is installed only so long; what was there before gets the signals of others.
class Interrupter {
public:
  Interrupter();
  ~Interrupter();
  Interrupter(const Interrupter &) = delete;
  Interrupter &operator=(const Interrupter &) = delete;

  /// Asks `thread`, which must be alive, once. It leaves its work at once if it executes code of
  /// LLVM, MLIR or this library at that moment, where it can hold no lock of the allocator or the
  /// C library; else nothing happens, and the caller asks again a little later.
  void ask(pthread_t thread) const;
};

/// Lets interrupts reach the calling thread, whatever mask it inherited.
void allowInterrupts();

} // namespace flydsl::jit
