// Stops a thread that runs in the compiler and does not come back.
#pragma once

#include <pthread.h>

namespace flydsl::jit {

/// Allows that its thread is interrupted, for as long as it lives. It lies on the stack of that
/// thread, whose work runs under a Recovery.
class InterruptTarget {
public:
  /// An interrupted work ends as Recovery::leave(code) ends it.
  explicit InterruptTarget(int code);
  ~InterruptTarget();
  InterruptTarget(const InterruptTarget &) = delete;
  InterruptTarget &operator=(const InterruptTarget &) = delete;
};

/// Asks `thread`, which must be alive, once. It leaves its work at once if it executes code of
/// LLVM, MLIR or this library at that moment, where it can hold no lock of the allocator or the C
/// library, and holds none of LLVM's, MLIR's and ours either (locks_held.h; of a shared LLVM's own
/// locks nothing is known); else nothing happens, and the caller asks again a little later. The signal is SIGURG,
/// which most programs ignore; a host that uses it itself (Go's runtime does) gets its own signals
/// as before, because ours carry a mark.
void interrupt(pthread_t thread);

/// The signal that the thread must not block.
int interruptSignal();

} // namespace flydsl::jit
