// The number formats of matrix operands, and their decoding into significand and exponent.
#pragma once

#include "support/float_format.h"

#include <cstdint>

namespace flyemu::matrix {

enum class Elem : uint8_t {
  F64,
  F32,
  XF32, ///< f32 registers whose low 13 bits are dropped (CDNA3)
  F16,
  BF16,
  FP8Fnuz, ///< E4M3, bias 8, no infinity, 0x80 is NaN (CDNA3)
  BF8Fnuz, ///< E5M2, bias 16, likewise
  FP8,     ///< OCP E4M3, bias 7, no infinity
  BF8,     ///< OCP E5M2, bias 15
  FP6,     ///< OCP E2M3, bias 1, finite only
  BF6,     ///< OCP E3M2, bias 3, finite only
  FP4,     ///< OCP E2M1, bias 1, finite only
  I8,
  U8,
  I4,
  U4,
  I32,
};

/// Bits that one element takes in a register.
constexpr unsigned bitsOf(Elem elem) {
  switch (elem) {
  case Elem::F64:
    return 64;
  case Elem::F32:
  case Elem::XF32:
  case Elem::I32:
    return 32;
  case Elem::F16:
  case Elem::BF16:
    return 16;
  case Elem::FP8Fnuz:
  case Elem::BF8Fnuz:
  case Elem::FP8:
  case Elem::BF8:
  case Elem::I8:
  case Elem::U8:
    return 8;
  case Elem::FP6:
  case Elem::BF6:
    return 6;
  case Elem::FP4:
  case Elem::I4:
  case Elem::U4:
    return 4;
  }
  return 0;
}

constexpr bool isInteger(Elem elem) { return elem >= Elem::I8; }

/// A finite value is significand * 2^(exponent - fraction bits of its format); the exponent of a
/// subnormal is the format's smallest. Zero has exponent `kZeroExponent`, below every other.
struct Term {
  int32_t significand = 0;
  int32_t exponent = 0;
  bool special = false; ///< NaN or infinity: `value` of the bits tells which
};

constexpr int32_t kZeroExponent = -(1 << 20);

using flydsl::detail::FloatFormat;

/// The format of a floating-point element of at most 32 bits. XF32 is the upper 19 bits of its
/// register.
const FloatFormat &formatOf(Elem elem);

/// Fraction bits of the significands that `decode` gives for the format.
unsigned fractionBits(Elem elem);

/// Decodes one element of a floating-point format of at most 32 bits.
Term decode(Elem elem, uint32_t bits);

/// The element's value, exact; NaN and infinities where the format has them.
double value(Elem elem, uint64_t bits);

/// The element as an integer, for the integer formats.
int32_t integer(Elem elem, uint32_t bits);

/// Rounds to nearest even. NaN becomes the quiet NaN 0x7e00 / 0x7fc0.
uint16_t toF16(double value);
uint16_t toBF16(double value);

} // namespace flyemu::matrix
