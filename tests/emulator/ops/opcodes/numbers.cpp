#include "numbers.h"

#include <cmath>

namespace flyemu::test {

namespace {
using U128 = unsigned __int128;

U128 bitsOf(Quad x) { return __builtin_bit_cast(U128, x); }
Quad quadOf(U128 x) { return __builtin_bit_cast(Quad, x); }

/// x / 2^shift as an integer, in the direction, of a number with that sign.
U128 shifted(U128 x, int shift, int rounding, bool negative) {
  if (shift <= 0)
    return x << -shift;
  if (shift > 120) { // only whether anything is lost
    x = x != 0;
    shift = 2;
  }
  const U128 kept = x >> shift, rest = x - (kept << shift), half = U128(1) << (shift - 1);
  bool up = false;
  if (rounding == kNearest)
    up = rest > half || (rest == half && (kept & 1));
  else if (rounding == kUp)
    up = rest != 0 && !negative;
  else if (rounding == kDown)
    up = rest != 0 && negative;
  return kept + up;
}
} // namespace

bool isNan(Format f, uint64_t x) {
  const uint64_t magnitude = x & ((uint64_t(1) << (width(f) - 1)) - 1);
  return magnitude > ((uint64_t(1) << f.exponent) - 1) << f.mantissa;
}
bool isSignalling(Format f, uint64_t x) { return isNan(f, x) && !(x >> (f.mantissa - 1) & 1); }
bool isInf(Format f, uint64_t x) {
  const uint64_t magnitude = x & ((uint64_t(1) << (width(f) - 1)) - 1);
  return magnitude == ((uint64_t(1) << f.exponent) - 1) << f.mantissa;
}
bool isDenormal(Format f, uint64_t x) {
  const uint64_t magnitude = x & ((uint64_t(1) << (width(f) - 1)) - 1);
  return magnitude != 0 && magnitude >> f.mantissa == 0;
}
bool isNegative(Format f, uint64_t x) { return x >> (width(f) - 1) & 1; }
uint64_t quietNan(Format f) { return ((uint64_t(1) << (f.exponent + 1)) - 1) << (f.mantissa - 1); }

Quad valueOf(Format f, uint64_t x) {
  const bool negative = isNegative(f, x);
  const int bias = (1 << (f.exponent - 1)) - 1;
  const int e = static_cast<int>(x >> f.mantissa & ((uint64_t(1) << f.exponent) - 1));
  const uint64_t fraction = x & ((uint64_t(1) << f.mantissa) - 1);
  if (e == (1 << f.exponent) - 1)
    return withSign(fraction ? Quad(std::nan("")) : Quad(HUGE_VAL), negative);
  if (e == 0 && fraction == 0)
    return withSign(0, negative);
  // A power of two as a quad's exponent field; the significand is an integer.
  const uint64_t significand = e ? fraction | uint64_t(1) << f.mantissa : fraction;
  const int scale = (e ? e : 1) - bias - f.mantissa;
  return withSign(Quad(significand) * quadOf(U128(16383 + scale) << 112), negative);
}

uint64_t roundTo(Format f, Quad x, int rounding, bool flush) {
  const uint64_t sign = uint64_t(signOf(x)) << (width(f) - 1);
  const bool negative = sign != 0;
  const uint64_t infinity = ((uint64_t(1) << f.exponent) - 1) << f.mantissa;
  if (x != x)
    return quietNan(f);
  if (x == 0)
    return sign;
  const U128 bits = bitsOf(x);
  const int field = static_cast<int>(bits >> 112 & 0x7fff), e = field - 16383;
  if (field == 0x7fff)
    return sign | infinity;
  const U128 significand = (bits & ((U128(1) << 112) - 1)) | U128(1) << 112;
  const int bias = (1 << (f.exponent - 1)) - 1, least = 1 - bias;
  // As if there were no least exponent.
  const U128 wide = shifted(significand, 112 - f.mantissa, rounding, negative);
  const int wideExponent = e + (wide >> (f.mantissa + 1) ? 1 : 0);
  if (wideExponent < least) {
    if (flush)
      return sign;
    return sign | static_cast<uint64_t>(
                      shifted(significand, 112 - f.mantissa + least - e, rounding, negative));
  }
  if (wideExponent > bias) {
    const bool toInfinity =
        rounding == kNearest || (rounding == kUp && !negative) || (rounding == kDown && negative);
    return sign | (infinity - !toInfinity);
  }
  const uint64_t fraction = static_cast<uint64_t>(wide >> (wide >> (f.mantissa + 1) ? 1 : 0)) &
                            ((uint64_t(1) << f.mantissa) - 1);
  return sign | uint64_t(wideExponent + bias) << f.mantissa | fraction;
}

Quad sumToOdd(Quad a, Quad b) {
  const Quad sum = a + b;
  if (!(sum - sum == 0)) // infinite, or no number
    return sum;
  const Quad partB = sum - a, partA = sum - partB;
  const Quad error = (a - partA) + (b - partB);
  if (error == 0 || (bitsOf(sum) & 1))
    return sum;
  // The neighbour towards the exact sum; both neighbours are odd.
  const bool outward = (error > 0) != signOf(sum);
  return quadOf(outward ? bitsOf(sum) + 1 : bitsOf(sum) - 1);
}

Quad squareRoot(Quad x) {
  if (!(x > 0) || !(x - x == 0))
    return x < 0 ? Quad(std::nan("")) : x;
  Quad r = std::sqrt(static_cast<double>(x));
  for (int step = 0; step < 3; ++step)
    r = (r + x / r) / 2;
  return r;
}

bool signOf(Quad x) { return bitsOf(x) >> 127 != 0; }
Quad withSign(Quad x, bool negative) {
  const U128 sign = U128(1) << 127;
  return quadOf(negative ? bitsOf(x) | sign : bitsOf(x) & ~sign);
}

} // namespace flyemu::test
