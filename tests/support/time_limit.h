// An end to tests that hang.
#pragma once

#include <unistd.h>

namespace flydsl::testing {

/// How much longer tests take with sanitizers; CTest gives them as much more.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr unsigned kTimesLonger = 4;
#else
inline constexpr unsigned kTimesLonger = 1;
#endif
#else
inline constexpr unsigned kTimesLonger = 1;
#endif

/// Ends this process after so many seconds, of a build without sanitizers. A forked child, which does
/// not inherit its parent's limit, calls it.
inline void endAfter(unsigned seconds) { alarm(kTimesLonger * seconds); }

/// Ends the process if the scope takes longer.
class TimeLimit {
public:
  explicit TimeLimit(unsigned seconds) { endAfter(seconds); }
  ~TimeLimit() { alarm(0); }
  TimeLimit(const TimeLimit &) = delete;
  TimeLimit &operator=(const TimeLimit &) = delete;
};

} // namespace flydsl::testing
