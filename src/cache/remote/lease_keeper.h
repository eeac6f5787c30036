// A lease on the server is made longer while what it is for is being made.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

namespace flydsl::cache {

/// Calls a function from time to time, on a thread of its own, for as long as the object lives.
class LeaseKeeper {
public:
  /// Calls `renew` after each `period`, until it returns false, `most` times at most. Where the
  /// system gives no thread, it is not called: the lease ends then in its time.
  LeaseKeeper(std::chrono::milliseconds period, int most, std::function<bool()> renew);
  /// Waits for a call that is under way. A forked child has no such thread and waits for nothing.
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper &) = delete;
  LeaseKeeper &operator=(const LeaseKeeper &) = delete;

private:
  std::jthread thread_;
};

} // namespace flydsl::cache
