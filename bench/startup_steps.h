// The steps of a process on its way to a first kernel, as bench_startup reads them.
#pragma once

#include <cstdio>
#include <string>
#include <time.h>
#include <vector>

namespace bench {

/// Milliseconds by one of the system's clocks.
inline double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) / 1e6;
}

class Steps {
public:
  /// `asked`: when the parent asked for this process, by the monotonic clock.
  explicit Steps(double asked) : asked_(asked) {}

  void reach(const std::string &name) {
    steps_.push_back({name, now(CLOCK_MONOTONIC) - asked_, now(CLOCK_PROCESS_CPUTIME_ID)});
  }
  /// Prints one line a step: its name, the milliseconds since the process was asked for, and the
  /// processor time of it and its threads.
  void print() const {
    for (const Step &step : steps_)
      std::printf("%s\t%.3f\t%.3f\n", step.name.c_str(), step.wall, step.cpu);
  }

private:
  struct Step {
    std::string name;
    double wall, cpu;
  };
  double asked_;
  std::vector<Step> steps_;
};

} // namespace bench
