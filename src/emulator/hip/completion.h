// A one-shot signal: some enqueued work has ended.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace flyemu::hip {

class Completion {
public:
  void finish() {
    {
      std::lock_guard lock(mutex_);
      done_.store(true, std::memory_order_release);
    }
    condition_.notify_all();
  }

  bool done() const { return done_.load(std::memory_order_acquire); }

  /// Blocks until finish().
  void wait() {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [&] { return done(); });
  }

private:
  std::mutex mutex_;
  std::condition_variable condition_;
  std::atomic<bool> done_{false};
};

using CompletionRef = std::shared_ptr<Completion>;

} // namespace flyemu::hip
