// A place on a thread's stack to come back to when the work above it can't go on.
#pragma once

#include <csetjmp>
#include <functional>

namespace flydsl::jit {

/// Belongs to the thread that runs it. Nothing between is unwound when the work is left.
class Recovery {
public:
  /// True if `work` returned, false if it was left. `work` must not throw.
  bool run(const std::function<void()> &work);
  /// What leave() was told.
  int code() const { return code_; }

  /// The innermost one that runs on this thread; null outside. Safe in a signal handler.
  static Recovery *current();
  /// Ends the work. Only on the thread that runs it; signal handlers may.
  [[noreturn]] void leave(int code);

  /// Says that its work is left where memory runs out (memory.h).
  void takeMemory() { takesMemory_ = true; }
  bool takesMemory() const { return takesMemory_; }

  /// While it is set, leave() calls `instead` with the code. It is for work that has a recovery of
  /// its own, and must not return.
  void leaveBy(void (*instead)(int code)) { instead_ = instead; }

private:
  sigjmp_buf place_;
  Recovery *volatile outer_ = nullptr;
  void (*volatile instead_)(int) = nullptr;
  volatile int code_ = 0;
  bool takesMemory_ = false;
};

} // namespace flydsl::jit
