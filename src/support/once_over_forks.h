// What is done once, at its first use, where the process may fork meanwhile.
#pragma once

#include "support/fork.h"

#include <atomic>
#include <mutex>

namespace flydsl::support {

/// Does a piece of work once. A function's static object or std::call_once would make a forked
/// child wait forever for the thread of its parent that was at work; here a fork waits for that
/// thread. For objects with static storage, declared constinit, whose file calls `holdAtFork` in a
/// [[gnu::constructor]] function.
class OnceOverForks {
public:
  constexpr OnceOverForks() = default;

  /// `order` says what the work may do meanwhile.
  void holdAtFork(ForkOrder order) { support::holdAtFork(mutex_, order); }

  /// Calls `work` unless an earlier call of it has ended. Where it throws, the next caller tries
  /// again.
  template <class Work> void run(const Work &work) {
    if (done_.load(std::memory_order_acquire))
      return;
    std::lock_guard lock(mutex_);
    if (done_.load(std::memory_order_relaxed))
      return;
    work();
    done_.store(true, std::memory_order_release);
  }

private:
  std::mutex mutex_;
  std::atomic<bool> done_{false};
};

} // namespace flydsl::support
