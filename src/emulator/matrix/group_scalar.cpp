#include "emulator/matrix/group_scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flyemu::matrix {

namespace {

struct Sum {
  int64_t units = 0; // of 2^-24
  int exponent = kZeroExponent;
};

/// Magnitude shifted right: toward zero.
int64_t towardZero(int64_t value, int shift) {
  int64_t magnitude = std::abs(value);
  magnitude = shift > 62 ? 0 : magnitude >> shift;
  return value < 0 ? -magnitude : magnitude;
}

/// Arithmetic shift: toward minus infinity.
int64_t downward(int64_t value, int shift) { return value >> std::min(shift, 63); }

Sum alignedSum(Elem formatA, Elem formatB, const uint32_t *a, const uint32_t *b, unsigned first,
               unsigned count, unsigned step) {
  Sum sum;
  for (unsigned k = first; k < count; k += step) {
    Term x = decode(formatA, a[k]), y = decode(formatB, b[k]);
    if (x.significand && y.significand)
      sum.exponent = std::max(sum.exponent, x.exponent + y.exponent);
  }
  unsigned up = 24 - fractionBits(formatA) - fractionBits(formatB);
  for (unsigned k = first; k < count; k += step) {
    Term x = decode(formatA, a[k]), y = decode(formatB, b[k]);
    if (!x.significand || !y.significand)
      continue;
    int64_t product = static_cast<int64_t>(x.significand) * y.significand * (int64_t(1) << up);
    sum.units += towardZero(product, sum.exponent - x.exponent - y.exponent);
  }
  return sum;
}

} // namespace

float groupTruncateScalar(Elem formatA, Elem formatB, const uint32_t *a, const uint32_t *b,
                          unsigned count, float acc) {
  double plain = acc;
  bool positive = false, negative = false;
  for (unsigned k = 0; k < count; ++k) {
    double product = value(formatA, a[k]) * value(formatB, b[k]);
    plain += product;
    positive |= product >= 0x1p128;
    negative |= product <= -0x1p128;
  }
  if (!std::isfinite(plain))
    return static_cast<float>(plain);
  if (positive && negative)
    return std::numeric_limits<float>::quiet_NaN();
  if (positive || negative)
    return positive ? std::numeric_limits<float>::infinity()
                    : -std::numeric_limits<float>::infinity();

  bool eightBit = bitsOf(formatA) == 8;
  Sum sum;
  if (eightBit) {
    Sum even = alignedSum(formatA, formatB, a, b, 0, count, 2);
    Sum odd = alignedSum(formatA, formatB, a, b, 1, count, 2);
    sum.exponent = std::max(even.exponent, odd.exponent);
    sum.units = downward(even.units, sum.exponent - even.exponent) +
                downward(odd.units, sum.exponent - odd.exponent);
  } else {
    sum = alignedSum(formatA, formatB, a, b, 0, count, 1);
  }

  int exponentC = acc == 0 ? -126 : std::max(std::ilogb(acc), -126);
  auto significandC = static_cast<int64_t>(std::ldexp(static_cast<double>(acc), 23 - exponentC));
  int top = std::max(sum.exponent, exponentC);
  int64_t units = downward(sum.units * 128, top - sum.exponent); // of 2^-31
  if (!eightBit || top - exponentC <= 25)
    units += downward(significandC * 2, top - exponentC) * 128;
  return static_cast<float>(std::ldexp(static_cast<double>(units), top - 31));
}

} // namespace flyemu::matrix
