// 64-bit arithmetic that throws instead of wrapping.
#pragma once

#include "layout/error.h"

#include <cstdint>
#include <limits>
#include <numeric>

namespace flydsl::layout {

inline int64_t checkedAdd(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r))
    fail("integer overflow: ", a, " + ", b, " does not fit 64 bits");
  return r;
}

inline int64_t checkedSub(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_sub_overflow(a, b, &r))
    fail("integer overflow: ", a, " - ", b, " does not fit 64 bits");
  return r;
}

inline int64_t checkedMul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r))
    fail("integer overflow: ", a, " * ", b, " does not fit 64 bits");
  return r;
}

/// The quotient, rounded towards zero.
inline int64_t checkedDiv(int64_t a, int64_t b) {
  if (b == 0)
    fail("division by zero: ", a, " / 0");
  if (a == std::numeric_limits<int64_t>::min() && b == -1)
    fail("integer overflow: ", a, " / -1 does not fit 64 bits");
  return a / b;
}

/// The remainder, with the sign of the dividend, so that a == (a / b) * b + a % b.
inline int64_t checkedMod(int64_t a, int64_t b) {
  if (b == 0)
    fail("division by zero: ", a, " % 0");
  return b == -1 ? 0 : a % b;
}

/// The magnitude |a|; INT64_MIN, which has no positive counterpart, is refused.
inline int64_t checkedAbs(int64_t a) { return a < 0 ? checkedSub(0, a) : a; }

/// The greatest common divisor of the magnitudes; gcd(0, x) is |x|. It is never negative.
inline int64_t gcdOf(int64_t a, int64_t b) {
  auto magnitude = [](int64_t v) { return v < 0 ? ~static_cast<uint64_t>(v) + 1 : uint64_t(v); };
  uint64_t g = std::gcd(magnitude(a), magnitude(b));
  // Only |INT64_MIN| itself is out of range; its half divides the operands as well.
  return g > uint64_t(std::numeric_limits<int64_t>::max()) ? int64_t(1) << 62 : int64_t(g);
}

/// A known divisor of a product whose factors are divisible by `a` and `b`: their product or, if
/// that leaves 64 bits, the larger of the two.
inline int64_t productDivisor(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? (a > b ? a : b) : r;
}

inline bool isPowerOf2(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

} // namespace flydsl::layout
