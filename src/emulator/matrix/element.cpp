#include "emulator/matrix/element.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace flyemu::matrix {

Format formatOf(Elem elem) {
  switch (elem) {
  case Elem::F16:
    return {5, 10, 15, Format::Ieee};
  case Elem::BF16:
    return {8, 7, 127, Format::Ieee};
  case Elem::XF32:
    return {8, 10, 127, Format::Ieee};
  case Elem::FP8Fnuz:
    return {4, 3, 8, Format::Fnuz};
  case Elem::BF8Fnuz:
    return {5, 2, 16, Format::Fnuz};
  case Elem::FP8:
    return {4, 3, 7, Format::Ocp};
  case Elem::BF8:
    return {5, 2, 15, Format::Ieee};
  case Elem::FP6:
    return {2, 3, 1, Format::Finite};
  case Elem::BF6:
    return {3, 2, 3, Format::Finite};
  case Elem::FP4:
    return {2, 1, 1, Format::Finite};
  default: // f32
    return {8, 23, 127, Format::Ieee};
  }
}

namespace {

bool isSpecial(const Format &format, uint32_t exponent, uint32_t fraction, bool negative) {
  uint32_t allOnes = (1u << format.exponentBits) - 1;
  switch (format.kind) {
  case Format::Ieee:
    return exponent == allOnes;
  case Format::Fnuz:
    return negative && exponent == 0 && fraction == 0;
  case Format::Ocp:
    return exponent == allOnes && fraction == (1u << format.fraction) - 1;
  case Format::Finite:
    return false;
  }
  return false;
}

Term decodeFormat(const Format &format, uint32_t bits) {
  uint32_t fraction = bits & ((1u << format.fraction) - 1);
  uint32_t exponent = (bits >> format.fraction) & ((1u << format.exponentBits) - 1);
  bool negative = (bits >> (format.fraction + format.exponentBits)) & 1;
  Term term;
  term.special = isSpecial(format, exponent, fraction, negative);
  uint32_t significand = exponent ? fraction | (1u << format.fraction) : fraction;
  term.significand =
      negative ? -static_cast<int32_t>(significand) : static_cast<int32_t>(significand);
  term.exponent =
      significand ? static_cast<int32_t>(exponent ? exponent : 1) - format.bias : kZeroExponent;
  return term;
}

/// XF32 keeps f32's registers; the format's own bits are the upper 19.
uint32_t registerToFormat(Elem elem, uint32_t bits) {
  return elem == Elem::XF32 ? bits >> 13 : bits;
}

std::array<Term, 256> tableOf(Elem elem) {
  std::array<Term, 256> table;
  for (unsigned bits = 0; bits < 256; ++bits)
    table[bits] = decodeFormat(formatOf(elem), bits & ((1u << bitsOf(elem)) - 1));
  return table;
}

} // namespace

unsigned fractionBits(Elem elem) { return formatOf(elem).fraction; }

Term decode(Elem elem, uint32_t bits) {
  static const std::array<Term, 256> fp8Fnuz = tableOf(Elem::FP8Fnuz),
                                     bf8Fnuz = tableOf(Elem::BF8Fnuz), fp8 = tableOf(Elem::FP8),
                                     bf8 = tableOf(Elem::BF8), fp6 = tableOf(Elem::FP6),
                                     bf6 = tableOf(Elem::BF6), fp4 = tableOf(Elem::FP4);
  switch (elem) {
  case Elem::FP8Fnuz:
    return fp8Fnuz[bits & 255];
  case Elem::BF8Fnuz:
    return bf8Fnuz[bits & 255];
  case Elem::FP8:
    return fp8[bits & 255];
  case Elem::BF8:
    return bf8[bits & 255];
  case Elem::FP6:
    return fp6[bits & 63];
  case Elem::BF6:
    return bf6[bits & 63];
  case Elem::FP4:
    return fp4[bits & 15];
  default:
    return decodeFormat(formatOf(elem), registerToFormat(elem, bits));
  }
}

double value(Elem elem, uint64_t bits) {
  if (elem == Elem::F64)
    return std::bit_cast<double>(bits);
  if (elem == Elem::F32)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (isInteger(elem))
    return integer(elem, static_cast<uint32_t>(bits));
  Term term = decode(elem, static_cast<uint32_t>(bits));
  Format format = formatOf(elem);
  if (term.special) {
    uint32_t fraction =
        registerToFormat(elem, static_cast<uint32_t>(bits)) & ((1u << format.fraction) - 1);
    if (format.kind == Format::Ieee && fraction == 0)
      return term.significand < 0 ? -std::numeric_limits<double>::infinity()
                                  : std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (term.significand == 0)
    return (bits >> (bitsOf(elem) - 1)) & 1 ? -0.0 : 0.0;
  return std::ldexp(term.significand, term.exponent - static_cast<int>(format.fraction));
}

int32_t integer(Elem elem, uint32_t bits) {
  switch (elem) {
  case Elem::I8:
    return static_cast<int8_t>(bits);
  case Elem::U8:
    return static_cast<uint8_t>(bits);
  case Elem::I4:
    return static_cast<int32_t>(bits << 28) >> 28;
  case Elem::U4:
    return bits & 15;
  default:
    return static_cast<int32_t>(bits);
  }
}

uint16_t toF16(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return sign | 0x7e00;
  double magnitude = std::fabs(value);
  if (magnitude >= 65520.0) // halfway between the largest finite value and 2^16
    return sign | 0x7c00;
  int exponent = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
  // In units of the last place; nearbyint rounds to nearest even, and a carry moves into the
  // exponent.
  auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  if (units < 1024)
    return sign | static_cast<uint16_t>(units);
  return sign | static_cast<uint16_t>(((exponent + 15) << 10) + (units - 1024));
}

uint16_t toBF16(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return sign | 0x7fc0;
  double magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return sign | 0x7f80;
  int exponent = magnitude == 0 ? -126 : std::max(std::ilogb(magnitude), -126);
  double units = std::nearbyint(std::ldexp(magnitude, 7 - exponent));
  if (units < 128)
    return sign | static_cast<uint16_t>(units);
  if (exponent > 127 || (exponent == 127 && units >= 256))
    return sign | 0x7f80;
  return sign |
         static_cast<uint16_t>(((exponent + 127) << 7) + (static_cast<uint32_t>(units) - 128));
}

} // namespace flyemu::matrix
