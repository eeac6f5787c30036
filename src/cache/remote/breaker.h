// A circuit breaker: after a failure no request is sent for a while, so that a server that is gone
// costs its time-out once and not with every kernel.
#pragma once

#include <algorithm>
#include <chrono>

namespace flydsl::cache {

/// Its states by their usual names: closed, when requests go through; open, for a time after a
/// failure; half open, when that time is over and one request, the probe, goes through. The caller
/// holds a lock.
class Breaker {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kFirstPause{1000}, kLongestPause{60'000};

  /// Whether a request may be sent now. A probe that has told nothing for `patience` is forgotten:
  /// an exception may have ended it.
  bool allows(Clock::time_point now, std::chrono::milliseconds patience) {
    if (closed())
      return true;
    if (now < next_)
      return false;
    next_ = now + patience; // this request is the probe
    return true;
  }
  /// Tells of a request that was answered. Returns whether the breaker was open.
  bool succeeded() {
    const bool wasOpen = !closed();
    pause_ = {};
    return wasOpen;
  }
  /// Tells of a request that was sent at `start` and failed. Each failed probe doubles the pause,
  /// from `first` on; requests that were under way when the breaker opened do not.
  void failed(Clock::time_point start, Clock::time_point now,
              std::chrono::milliseconds first = kFirstPause) {
    if (!closed() && start < opened_)
      return;
    pause_ = closed() ? std::min(first, kLongestPause) : std::min(pause_ * 2, kLongestPause);
    opened_ = now;
    next_ = now + pause_;
  }
  bool closed() const { return pause_ == std::chrono::milliseconds{}; }
  std::chrono::milliseconds pause() const { return pause_; }

private:
  std::chrono::milliseconds pause_{}; ///< zero: closed
  Clock::time_point opened_{}, next_{};
};

} // namespace flydsl::cache
