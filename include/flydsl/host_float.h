// Floating-point numbers of 16 and 8 bits on the host: what a program fills arrays with, reads
// back, and passes as scalars. Inside a kernel the values are fx::Float16, fx::Float8E4M3FN, ...
#pragma once

#include <flydsl/dtype.h>

#include <bit>
#include <cstdint>
#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// What the largest exponent means.
enum class FloatSpecials {
  ieee,         ///< infinities and NaNs
  finite,       ///< numbers, except for the all-ones pattern of either sign, a NaN (FN)
  unsignedZero, ///< numbers; the one NaN is the pattern of minus zero (FNUZ)
};

struct FloatFormat {
  int bits, mantissa, bias;
  FloatSpecials specials;

  constexpr std::uint32_t signBit() const { return std::uint32_t(1) << (bits - 1); }
  /// The pattern of the largest number.
  constexpr std::uint32_t largest() const {
    switch (specials) {
    case FloatSpecials::ieee:
      return signBit() - (std::uint32_t(1) << mantissa) - 1;
    case FloatSpecials::finite:
      return signBit() - 2;
    case FloatSpecials::unsignedZero:
      break;
    }
    return signBit() - 1;
  }
  constexpr std::uint32_t nan() const {
    switch (specials) {
    case FloatSpecials::ieee:
      return largest() + 1 + (std::uint32_t(1) << (mantissa - 1));
    case FloatSpecials::finite:
      return signBit() - 1;
    case FloatSpecials::unsignedZero:
      break;
    }
    return signBit();
  }
  constexpr bool isNan(std::uint32_t pattern) const {
    if (specials == FloatSpecials::unsignedZero)
      return pattern == nan();
    const std::uint32_t magnitude = pattern & (signBit() - 1);
    return specials == FloatSpecials::finite ? magnitude == nan() : magnitude > largest() + 1;
  }

  /// To the nearest, ties to even. Past the largest number: infinity in 16 bits, the largest number
  /// in 8.
  constexpr std::uint32_t fromDouble(double value) const {
    const auto wide = std::bit_cast<std::uint64_t>(value);
    const std::uint32_t sign = wide >> 63 ? signBit() : 0;
    const std::uint64_t magnitude = wide & 0x7fffffffffffffff;
    if (magnitude > 0x7ff0000000000000)
      return specials == FloatSpecials::unsignedZero ? nan() : sign | nan();
    const int exponent = static_cast<int>(magnitude >> 52) - 1023 + bias; // below 1: subnormal here
    const std::uint64_t significand = (magnitude & 0xfffffffffffff) | std::uint64_t(1) << 52;
    const int drop = 52 - mantissa + (exponent < 1 ? 1 - exponent : 0);
    std::uint64_t pattern = 0; // below half of the smallest number
    if (drop <= 53) {
      const std::uint64_t rest = significand & ((std::uint64_t(1) << drop) - 1),
                          half = std::uint64_t(1) << (drop - 1);
      pattern = significand >> drop;
      pattern += rest > half || (rest == half && (pattern & 1));
      // The leading bit, or a carry of the rounding, counts the exponent up.
      if (exponent > 1)
        pattern += static_cast<std::uint64_t>(exponent - 1) << mantissa;
    }
    if (pattern > largest())
      pattern = bits == 16 ? largest() + 1 : largest();
    if (pattern == 0 && specials == FloatSpecials::unsignedZero)
      return 0;
    return sign | static_cast<std::uint32_t>(pattern);
  }

  constexpr float toFloat(std::uint32_t pattern) const {
    if (isNan(pattern))
      return std::numeric_limits<float>::quiet_NaN();
    const std::uint32_t magnitude = pattern & (signBit() - 1);
    const float sign = pattern & signBit() ? -1.0f : 1.0f;
    if (specials == FloatSpecials::ieee && magnitude > largest())
      return sign * std::numeric_limits<float>::infinity();
    const int exponent = static_cast<int>(magnitude >> mantissa);
    const std::uint32_t fraction = magnitude & ((std::uint32_t(1) << mantissa) - 1);
    const std::uint32_t significand = exponent ? fraction | std::uint32_t(1) << mantissa : fraction;
    const int power = (exponent ? exponent : 1) - bias - mantissa;
    // Powers of two in double: all of these formats are within its normal range.
    const double unit = std::bit_cast<double>(static_cast<std::uint64_t>(power + 1023) << 52);
    return sign * static_cast<float>(significand * unit);
  }
};

template <DType::Kind K> inline constexpr FloatFormat floatFormat{};
// clang-format off
template <> inline constexpr FloatFormat floatFormat<DType::Kind::f16>{16, 10, 15, FloatSpecials::ieee};
template <> inline constexpr FloatFormat floatFormat<DType::Kind::bf16>{16, 7, 127, FloatSpecials::ieee};
template <> inline constexpr FloatFormat floatFormat<DType::Kind::f8E5M2>{8, 2, 15, FloatSpecials::ieee};
template <> inline constexpr FloatFormat floatFormat<DType::Kind::f8E4M3FN>{8, 3, 7, FloatSpecials::finite};
template <> inline constexpr FloatFormat floatFormat<DType::Kind::f8E5M2FNUZ>{8, 2, 16, FloatSpecials::unsignedZero};
template <> inline constexpr FloatFormat floatFormat<DType::Kind::f8E4M3FNUZ>{8, 3, 8, FloatSpecials::unsignedZero};
// clang-format on

} // namespace detail

/// A number of format K: its bits, with conversions. Arithmetic happens in float, into which it
/// converts exactly. Conversions to it round to the nearest, ties to even; what is past the largest
/// number becomes an infinity in the formats of 16 bits and the largest number in those of 8
/// (infinities too). A NaN stays a NaN.
template <DType::Kind K> class HostFloat {
public:
  /// What its bits mean.
  static constexpr detail::FloatFormat format = detail::floatFormat<K>;
  static_assert(format.bits != 0, "no such number on the host");
  using Bits = std::conditional_t<format.bits == 16, std::uint16_t, std::uint8_t>;

  HostFloat() = default;
  constexpr HostFloat(double value) : bits_(static_cast<Bits>(format.fromDouble(value))) {}
  /// The number that has these bits.
  static constexpr HostFloat from_bits(Bits bits) {
    HostFloat made(0.0);
    made.bits_ = bits;
    return made;
  }

  /// The number, exactly; its bits.
  constexpr operator float() const { return format.toFloat(bits_); }
  constexpr Bits bits() const { return bits_; }

private:
  Bits bits_;
};

using half_t = HostFloat<DType::Kind::f16>;
using bfloat16_t = HostFloat<DType::Kind::bf16>;
using float8_e5m2_t = HostFloat<DType::Kind::f8E5M2>;
using float8_e4m3fn_t = HostFloat<DType::Kind::f8E4M3FN>;
using float8_e5m2fnuz_t = HostFloat<DType::Kind::f8E5M2FNUZ>;
using float8_e4m3fnuz_t = HostFloat<DType::Kind::f8E4M3FNUZ>;

namespace detail {
template <class T> inline constexpr bool isHostFloat = false;
template <DType::Kind K> inline constexpr bool isHostFloat<HostFloat<K>> = true;
} // namespace detail

template <DType::Kind K> struct DTypeOf<HostFloat<K>> : std::integral_constant<DType::Kind, K> {};

FLYDSL_NAMESPACE_END
