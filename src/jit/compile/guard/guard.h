// Runs LLVM and MLIR so that nothing in them takes the process down: on a thread of its own with a
// deep stack, with faults and LLVM's fatal errors caught. Faults of other threads are the host's.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <string>

namespace flydsl::jit {

/// What the guarded work may ask of its guard while it runs.
class Guard {
public:
  using Clock = std::chrono::steady_clock;
  explicit Guard(Clock::time_point deadline) : deadline_(deadline) {}

  /// From here on the work touches only what it owns: the caller need not wait for it past the
  /// deadline.
  void allowAbandon() { abandonable_.store(true); }
  bool abandonable() const { return abandonable_.load(); }
  /// From here on the work must not be stopped in its middle: it holds what others need.
  void forbidInterrupt() { interruptible_.store(false); }
  bool interruptible() const { return interruptible_.load(); }
  Clock::time_point deadline() const { return deadline_; }
  /// Ends the work when the deadline has passed. Call it where no lock is held and nothing needs
  /// unwinding.
  void checkDeadline() const;

private:
  Clock::time_point deadline_;
  std::atomic<bool> abandonable_{false};
  std::atomic<bool> interruptible_{true};
};

/// How guarded work ended.
struct GuardOutcome {
  enum Kind { finished, threw, fatal, crashed, timedOut, exiting } kind = finished;
  std::string message;      ///< for fatal, crashed and timedOut: what happened, where that is known
  std::exception_ptr error; ///< for threw

  /// Whether std::bad_alloc was thrown, through MLIR or LLVM perhaps, which were not made for it.
  bool ranOutOfMemory() const;
};

/// What went wrong in work that was `doing` something ("linking"), as a sentence without an end.
std::string describe(const GuardOutcome &outcome, const std::string &doing,
                     unsigned timeoutSeconds);

/// Runs `work` and waits for it, for `timeoutSeconds` at most (0: for ever). What takes longer is
/// stopped in its middle, at a moment when its thread executes the compiler's own code. If no such
/// moment comes, its thread is left to itself once the work allows that it is abandoned, and waited
/// for until then. After a crash or a stop what the work had allocated is lost, and its thread
/// ends; the process goes on. If it had a lock then, nothing more is compiled (loseCompiler). When
/// the process exits, work is stopped in the same way. Throws CompileError where the compiler can't
/// be used any more (see compiler_use.h), and where no thread can be started.
GuardOutcome runGuarded(std::function<void(Guard &)> work, unsigned timeoutSeconds);

} // namespace flydsl::jit
