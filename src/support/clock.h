// Time that passed, in milliseconds.
#pragma once

#include <chrono>

namespace flydsl::support {

using Clock = std::chrono::steady_clock;

/// Milliseconds from `start` until now.
inline double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Adds the milliseconds of its life to a sum.
class Timer {
public:
  explicit Timer(double &sum) : sum_(sum) {}
  ~Timer() { sum_ += millisecondsSince(start_); }
  Timer(const Timer &) = delete;
  Timer &operator=(const Timer &) = delete;

private:
  double &sum_;
  Clock::time_point start_ = Clock::now();
};

} // namespace flydsl::support
