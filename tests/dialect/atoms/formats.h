// Small integers in every element type that a matrix instruction takes, as bit patterns.
#pragma once

#include <flydsl/flydsl.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace atoms_test {

/// Fields of a float: sign, `exponent` bits, `mantissa` bits.
struct FloatFields {
  int exponent, mantissa, bias;
};

inline FloatFields fieldsOf(flydsl::DType type) {
  using Kind = flydsl::DType::Kind;
  switch (type.kind()) {
  case Kind::f64:
    return {11, 52, 1023};
  case Kind::f32:
    return {8, 23, 127};
  case Kind::f16:
    return {5, 10, 15};
  case Kind::bf16:
    return {8, 7, 127};
  case Kind::f8E4M3FN:
    return {4, 3, 7};
  case Kind::f8E4M3FNUZ:
    return {4, 3, 8};
  case Kind::f8E5M2:
    return {5, 2, 15};
  case Kind::f8E5M2FNUZ:
    return {5, 2, 16};
  case Kind::f6E2M3FN:
    return {2, 3, 1};
  case Kind::f6E3M2FN:
    return {3, 2, 3};
  case Kind::f4E2M1FN:
    return {2, 1, 1};
  default:
    return {0, 0, 0};
  }
}

/// The code of an integer that the type has exactly, and as a normal number.
inline std::uint64_t encode(flydsl::DType type, int value) {
  const std::uint64_t mask = type.bits() == 64 ? ~0ull : (1ull << type.bits()) - 1;
  if (type.is_integer())
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & mask;
  if (value == 0)
    return 0;
  const FloatFields f = fieldsOf(type);
  const std::uint64_t magnitude = static_cast<std::uint64_t>(std::abs(value));
  const int top = std::ilogb(static_cast<double>(magnitude));
  const std::uint64_t fraction = magnitude - (1ull << top);
  const std::uint64_t mantissa =
      top <= f.mantissa ? fraction << (f.mantissa - top) : fraction >> (top - f.mantissa);
  return (static_cast<std::uint64_t>(value < 0) << (f.exponent + f.mantissa)) |
         (static_cast<std::uint64_t>(top + f.bias) << f.mantissa) | mantissa;
}

/// What a code of a sum's type (f64, f32, f16, bf16, i32) means.
inline double decode(flydsl::DType type, std::uint64_t code) {
  if (type == flydsl::i32)
    return static_cast<std::int32_t>(code);
  const FloatFields f = fieldsOf(type);
  const auto exponent = static_cast<int>((code >> f.mantissa) & ((1ull << f.exponent) - 1));
  const double fraction = static_cast<double>(code & ((1ull << f.mantissa) - 1)) /
                          static_cast<double>(1ull << f.mantissa);
  if (exponent == (1 << f.exponent) - 1)
    return NAN;
  const double magnitude =
      exponent ? std::ldexp(1 + fraction, exponent - f.bias) : std::ldexp(fraction, 1 - f.bias);
  return (code >> (f.exponent + f.mantissa)) & 1 ? -magnitude : magnitude;
}

} // namespace atoms_test
