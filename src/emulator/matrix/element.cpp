#include "emulator/matrix/element.h"

#include <array>
#include <bit>

namespace flyemu::matrix {

using flydsl::detail::FloatOverflow;

const FloatFormat &formatOf(Elem elem) {
  switch (elem) {
  case Elem::F16:
    return flydsl::detail::kF16;
  case Elem::BF16:
    return flydsl::detail::kBf16;
  case Elem::XF32:
    return flydsl::detail::kTf32;
  case Elem::FP8Fnuz:
    return flydsl::detail::kE4m3fnuz;
  case Elem::BF8Fnuz:
    return flydsl::detail::kE5m2fnuz;
  case Elem::FP8:
    return flydsl::detail::kE4m3fn;
  case Elem::BF8:
    return flydsl::detail::kE5m2;
  case Elem::FP6:
    return flydsl::detail::kE2m3fn;
  case Elem::BF6:
    return flydsl::detail::kE3m2fn;
  case Elem::FP4:
    return flydsl::detail::kE2m1fn;
  default:
    return flydsl::detail::kF32;
  }
}

namespace {

Term decodeFormat(const FloatFormat &format, uint32_t bits) {
  const FloatFormat::Parts parts = format.parts(bits);
  const auto significand = static_cast<int32_t>(parts.significand);
  return {.significand = bits & format.signBit() ? -significand : significand,
          .exponent = significand ? parts.exponent : kZeroExponent,
          .special = !format.isFinite(bits)};
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

unsigned fractionBits(Elem elem) { return static_cast<unsigned>(formatOf(elem).mantissa); }

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
  return formatOf(elem).toFloat(registerToFormat(elem, static_cast<uint32_t>(bits)));
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
  return static_cast<uint16_t>(flydsl::detail::kF16.fromDouble(value, FloatOverflow::special));
}

uint16_t toBF16(double value) {
  return static_cast<uint16_t>(flydsl::detail::kBf16.fromDouble(value, FloatOverflow::special));
}

} // namespace flyemu::matrix
