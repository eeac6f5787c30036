// Arithmetic of floats as hardware does it: which NaN is the result, one rounding, exponents.
// All in it is in an anonymous namespace (lanes.h).
#pragma once

#include "emulator/ops/vector/lanes/chunk.h"

#include <cstdint>

namespace flyemu {
namespace {

// The NaN that hardware makes of an invalid operation, and the operand's NaN, quieted, that it
// passes on.
inline float nanOf(float r, float a, float b) {
  float n = a != a   ? asFloat(bitsOf(a) | 0x400000)
            : b != b ? asFloat(bitsOf(b) | 0x400000)
                     : asFloat(0x7fc00000);
  return r == r ? r : n;
}
inline float nanOf(float r, float a, float b, float c) {
  float n = a != a   ? asFloat(bitsOf(a) | 0x400000)
            : b != b ? asFloat(bitsOf(b) | 0x400000)
            : c != c ? asFloat(bitsOf(c) | 0x400000)
                     : asFloat(0x7fc00000);
  return r == r ? r : n;
}
inline double nanOf(double r, double a, double b) {
  constexpr uint64_t q = uint64_t(1) << 51;
  double n = a != a   ? asDouble(bitsOf(a) | q)
             : b != b ? asDouble(bitsOf(b) | q)
                      : asDouble(0x7ff8000000000000ull);
  return r == r ? r : n;
}
inline double nanOf(double r, double a, double b, double c) {
  constexpr uint64_t q = uint64_t(1) << 51;
  double n = c != c ? asDouble(bitsOf(c) | q) : asDouble(0x7ff8000000000000ull);
  n = b != b ? asDouble(bitsOf(b) | q) : n;
  n = a != a ? asDouble(bitsOf(a) | q) : n;
  return r == r ? r : n;
}
template <class L> inline L add(L a, L b) { return nanOf(a + b, a, b); }
template <class L> inline L sub(L a, L b) { return nanOf(a - b, a, b); }
template <class L> inline L mul(L a, L b) { return nanOf(a * b, a, b); }
inline float fma(float a, float b, float c) { return nanOf(__builtin_fmaf(a, b, c), a, b, c); }
inline double fma(double a, double b, double c) { return nanOf(__builtin_fma(a, b, c), a, b, c); }
/// x as a float, rounded to odd: rounding it to half gives what rounding x once would.
inline float toOdd(double x) {
  const float f = static_cast<float>(x);
  const uint32_t b = bitsOf(f), step = __builtin_fabs(x) > __builtin_fabs(double(f)) ? 1 : ~0u;
  return asFloat(double(f) != x && !(b & 1) ? b + step : b);
}
/// A multiply-add of halves, whose result will be rounded to half. The sum in double is exact, or
/// its error is too small to change that rounding.
inline float fmaHalf(float a, float b, float c) {
  return nanOf(toOdd(__builtin_fma(double(a), double(b), double(c))), a, b, c);
}

// Exponent and mantissa as frexp gives them; 0 and the operand itself for zeros, infinities and
// NaNs.
inline int exponentOf(float a) {
  const uint32_t b = bitsOf(a) & 0x7fffffff;
  if (b == 0 || b >= 0x7f800000)
    return 0;
  return b < 0x800000 ? -117 - __builtin_clz(b) : static_cast<int>(b >> 23) - 126;
}
inline float mantissaOf(float a) {
  const uint32_t b = bitsOf(a) & 0x7fffffff, sign = bitsOf(a) & 0x80000000;
  if (b == 0 || b >= 0x7f800000)
    return a != a ? asFloat(bitsOf(a) | 0x400000) : a;
  const uint32_t fraction = b < 0x800000 ? b << (__builtin_clz(b) - 8) : b;
  return asFloat(sign | 0x3f000000 | (fraction & 0x7fffff));
}
inline int exponentOf(double a) {
  const uint64_t b = bitsOf(a) & ~(uint64_t(1) << 63);
  if (b == 0 || b >> 52 == 2047)
    return 0;
  return b >> 52 == 0 ? -1010 - __builtin_clzll(b) : static_cast<int>(b >> 52) - 1022;
}
inline double mantissaOf(double a) {
  constexpr uint64_t kSign = uint64_t(1) << 63, kFraction = (uint64_t(1) << 52) - 1;
  const uint64_t b = bitsOf(a) & ~kSign;
  if (b == 0 || b >> 52 == 2047)
    return a != a ? asDouble(bitsOf(a) | uint64_t(1) << 51) : a;
  const uint64_t fraction = b >> 52 == 0 ? b << (__builtin_clzll(b) - 11) : b;
  return asDouble((bitsOf(a) & kSign) | uint64_t(0x3fe) << 52 | (fraction & kFraction));
}

} // namespace
} // namespace flyemu
