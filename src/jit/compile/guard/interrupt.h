// Stops a thread that runs in the compiler and does not come back.
#pragma once

#include <pthread.h>

namespace flydsl::jit {

/// On the stack of the thread that may be interrupted, while it may be: work under a Recovery.
class InterruptTarget {
public:
  /// `code` is what the work is left with.
  explicit InterruptTarget(int code);
  ~InterruptTarget();
  InterruptTarget(const InterruptTarget &) = delete;
  InterruptTarget &operator=(const InterruptTarget &) = delete;
};

/// Asks `thread`, which must be alive, once. It leaves its work at once if it executes code of
/// LLVM, MLIR or this library at that moment, where it can hold no lock of the allocator or the C
/// library; else nothing happens, and the caller asks again a little later. The signal is SIGURG,
/// which most programs ignore; a host that uses it itself (Go's runtime does) gets its own signals
/// as before, because ours carry a mark.
void interrupt(pthread_t thread);

/// The signal that the thread must not block.
int interruptSignal();

} // namespace flydsl::jit
