// The small floating-point formats: E4M3 and E5M2 of 8 bits, OCP (gfx950, gfx12) and FNUZ (gfx942);
// OCP's finite formats of 6 and 4 bits (gfx950).
#pragma once

#include <cmath>
#include <cstdint>

namespace flyemu {
namespace {

struct Fp8Format {
  int mantissa; ///< bits
  int bias;
  bool fnuz; ///< no infinities, no negative zero; 0x80 is NaN
  bool infinity;
  int width = 8;
  bool finite = false; ///< every code is a number
};
constexpr Fp8Format kE4m3Fnuz{3, 8, true, false}, kE5m2Fnuz{2, 16, true, false};
constexpr Fp8Format kE4m3{3, 7, false, false}, kE5m2{2, 15, false, true};
constexpr Fp8Format kE2m3{3, 1, false, false, 6, true}, kE3m2{2, 3, false, false, 6, true},
    kE2m1{1, 1, false, false, 4, true};

inline float fp8ToFloat(uint8_t x, const Fp8Format &f) {
  const int m = f.mantissa, top = (1 << (f.width - 1 - m)) - 1;
  const int e = x >> m & top, frac = x & ((1 << m) - 1);
  const bool negative = x >> (f.width - 1) & 1;
  if (f.fnuz) {
    if (x == 0x80)
      return __builtin_nanf("");
  } else if (!f.finite && e == top) {
    if (f.infinity)
      return frac ? __builtin_nanf("") : (negative ? -INFINITY : INFINITY);
    if (frac == (1 << m) - 1)
      return __builtin_nanf("");
  }
  float v = e ? std::ldexp(static_cast<float>((1 << m) | frac), e - f.bias - m)
              : std::ldexp(static_cast<float>(frac), 1 - f.bias - m);
  return negative ? -v : v;
}

/// The largest finite value's code, without the sign.
inline uint8_t fp8Largest(const Fp8Format &f) {
  return f.finite     ? static_cast<uint8_t>((1 << (f.width - 1)) - 1)
         : f.fnuz     ? 0x7f
         : f.infinity ? 0x7b
                      : 0x7e;
}

/// Rounds to nearest even. Beyond the largest value: that value if `saturate`, else NaN or
/// infinity, as the format has it. `stochastic` (a 32-bit random value) replaces the rounding by
/// adding it below the last kept bit.
inline uint8_t floatToFp8(float x, const Fp8Format &f, bool saturate,
                          const uint32_t *stochastic = nullptr) {
  uint32_t b = __builtin_bit_cast(uint32_t, x);
  const uint8_t sign = b >> 31 ? static_cast<uint8_t>(1 << (f.width - 1)) : 0;
  saturate |= f.finite;
  const uint8_t nan = f.finite ? static_cast<uint8_t>(sign | fp8Largest(f))
                      : f.fnuz ? 0x80
                               : static_cast<uint8_t>(sign | 0x7f);
  b &= 0x7fffffff;
  if (b > 0x7f800000)
    return nan;
  const uint8_t largest = static_cast<uint8_t>(sign | fp8Largest(f));
  const uint8_t overflow = saturate     ? largest
                           : f.fnuz     ? 0x80
                           : f.infinity ? static_cast<uint8_t>(sign | 0x7c)
                                        : nan;
  if (b == 0x7f800000)
    return f.infinity && !saturate ? static_cast<uint8_t>(sign | 0x7c) : saturate ? largest : nan;
  const int m = f.mantissa;
  int e = static_cast<int>(b >> 23) - 127;
  uint32_t frac = b & 0x7fffff;
  if (b >> 23 == 0) { // far below every format's smallest value
    return f.fnuz ? 0 : sign;
  }
  uint64_t significand = uint64_t(0x800000 | frac) << 12; // 12 guard bits for deep shifts
  int drop = 23 - m + 12, target = e + f.bias;
  if (target < 1) {
    drop += 1 - target;
    target = 1;
  }
  if (drop > 60)
    return f.fnuz ? 0 : sign;
  uint64_t kept;
  if (stochastic) {
    uint64_t add =
        drop >= 32 ? uint64_t(*stochastic) << (drop - 32) : uint64_t(*stochastic) >> (32 - drop);
    kept = (significand + add) >> drop;
  } else {
    uint64_t half = uint64_t(1) << (drop - 1);
    kept = (significand + half - 1 + (significand >> drop & 1)) >> drop;
  }
  // A carry out of the mantissa moves into the exponent by itself; a denormal has exponent field 0.
  uint64_t code = kept + (uint64_t(target - 1) << m);
  if (code > fp8Largest(f))
    return overflow;
  if (code == 0)
    return f.fnuz ? 0 : sign;
  return static_cast<uint8_t>(sign | code);
}

} // namespace
} // namespace flyemu
