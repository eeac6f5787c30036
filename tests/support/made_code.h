// Calls machine code that a test has made.
#pragma once

#if defined(__clang__)
#define FLYDSL_CALLS_MADE_CODE __attribute__((no_sanitize("function")))
#else
#define FLYDSL_CALLS_MADE_CODE
#endif

namespace flydsl::test {

/// Calls `function`, which has no type in front of its first instruction for the sanitizer to
/// check: where code starts a page, reading it would fault.
template <class Result, class... Args>
FLYDSL_CALLS_MADE_CODE Result callMade(void *function, Args... args) {
  return reinterpret_cast<Result (*)(Args...)>(function)(args...);
}

} // namespace flydsl::test
