// Minimum, maximum and median, of floats and of the bits of halves, in IEEE mode and otherwise.
// All in it is in an anonymous namespace (lanes.h).
#pragma once

#include "emulator/ops/vector/lanes/chunk.h"

#include <cstdint>
#include <type_traits>

namespace flyemu {
namespace {

inline bool isSignaling(float x) { return x != x && !(bitsOf(x) & 0x400000); }
inline bool isSignaling(double x) { return x != x && !(bitsOf(x) & (uint64_t(1) << 51)); }
inline float quiet(float x) { return asFloat(bitsOf(x) | 0x400000); }
inline double quiet(double x) { return asDouble(bitsOf(x) | uint64_t(1) << 51); }
// Minimum and maximum as in IEEE mode: a NaN operand gives way to the other; -0 is below +0.
template <class L> inline L minNum(L a, L b) {
  L lesser = a < b ? a : b < a ? b : (bitsOf(a) >> (sizeof(L) * 8 - 1)) ? a : b;
  return a != a ? b : b != b ? a : lesser;
}
template <class L> inline L maxNum(L a, L b) {
  L greater = a > b ? a : b > a ? b : (bitsOf(a) >> (sizeof(L) * 8 - 1)) ? b : a;
  return a != a ? b : b != b ? a : greater;
}

/// As minNum and maxNum, but a NaN operand, quieted, is the result: a signalling one first.
template <class L> inline L minimum(L a, L b) {
  return isSignaling(a) || (a != a && !isSignaling(b)) ? quiet(a)
         : b != b                                      ? quiet(b)
                                                       : minNum(a, b);
}
template <class L> inline L maximum(L a, L b) {
  return isSignaling(a) || (a != a && !isSignaling(b)) ? quiet(a)
         : b != b                                      ? quiet(b)
                                                       : maxNum(a, b);
}

// The same on the bits of halves, so that payloads stay.
inline bool isNanHalf(uint16_t a) { return (a & 0x7fff) > 0x7c00; }
inline bool signalingHalf(uint16_t h) { return isNanHalf(h) && !(h & 0x200); }
template <bool Max> inline uint16_t minMaxHalf(uint16_t a, uint16_t b) {
  if (isNanHalf(a))
    return b;
  if (isNanHalf(b))
    return a;
  // Sign and magnitude to an order of integers; -0 is below +0.
  int ka = a & 0x8000 ? -int(a & 0x7fff) - 1 : a, kb = b & 0x8000 ? -int(b & 0x7fff) - 1 : b;
  return (ka < kb) == Max ? b : a;
}
template <bool Max> inline uint16_t extremeHalf(uint16_t a, uint16_t b) {
  if (signalingHalf(a) || (isNanHalf(a) && !signalingHalf(b)))
    return static_cast<uint16_t>(a | 0x200);
  return isNanHalf(b) ? static_cast<uint16_t>(b | 0x200) : minMaxHalf<Max>(a, b);
}

// Minimum and maximum by one name for floats and for the bits of halves; in IEEE mode a signalling
// NaN, quieted, is the result.
inline bool isSignaling(uint16_t x) { return signalingHalf(x); }
inline uint16_t quiet(uint16_t x) { return static_cast<uint16_t>(x | 0x200); }
template <bool Max, bool Ieee, class L> inline L extreme(L a, L b) {
  L r;
  if constexpr (std::is_same_v<L, uint16_t>)
    r = minMaxHalf<Max>(a, b);
  else
    r = Max ? maxNum(a, b) : minNum(a, b);
  if constexpr (Ieee) {
    r = isSignaling(b) ? quiet(b) : r;
    r = isSignaling(a) ? quiet(a) : r;
  }
  return r;
}
template <bool Ieee, class L> inline L median(L a, L b, L c) {
  bool nan;
  if constexpr (std::is_same_v<L, uint16_t>)
    nan = isNanHalf(a) || isNanHalf(b) || isNanHalf(c);
  else
    nan = a != a || b != b || c != c;
  if (nan)
    return extreme<false, Ieee>(extreme<false, Ieee>(a, b), c);
  const L m = extreme<true, false>(extreme<true, false>(a, b), c);
  auto equal = [](L x, L y) { // zeros are
    if constexpr (std::is_same_v<L, uint16_t>)
      return x == y || ((x | y) & 0x7fff) == 0;
    else
      return x == y;
  };
  return equal(m, a)   ? extreme<true, false>(b, c)
         : equal(m, b) ? extreme<true, false>(a, c)
                       : extreme<true, false>(a, b);
}

} // namespace
} // namespace flyemu
