// A one-shot signal: some enqueued work has ended.
#pragma once

#include "emulator/hip/order/clock.h"
#include "emulator/hip/presence.h"

#include <atomic>
#include <memory>

namespace flyemu::hip {

/// It has no lock, so that it is usable in a forked child whoever waited for it.
class Completion {
public:
  void finish() {
    done_.store(1, std::memory_order_release);
    done_.notify_all();
  }

  bool done() const { return done_.load(std::memory_order_acquire) != 0; }

  /// Blocks until finish().
  void wait() const {
    if (done())
      return;
    Outside waiting;
    while (!done())
      done_.wait(0, std::memory_order_acquire);
  }

  /// The place of the work in the order of all; null where streams are not checked.
  SubmissionRef order;

private:
  std::atomic<int> done_{0};
};

using CompletionRef = std::shared_ptr<Completion>;

} // namespace flyemu::hip
