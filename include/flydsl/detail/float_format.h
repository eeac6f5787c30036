// The small floating-point formats and their conversions. This is the one description of them: the
// host's numbers, the compiler and the emulator take it. It stands beside the public headers
// because the host's numbers convert in constant expressions.
#pragma once

#include <flydsl/dtype.h>

#include <bit>
#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// What the patterns mean that are no finite number.
enum class FloatSpecials : std::uint8_t {
  ieee,         ///< all exponent bits set: infinities and NaNs
  finite,       ///< all bits but the sign set: NaN; there are no infinities (FN)
  unsignedZero, ///< the pattern of minus zero: the one NaN; there are no infinities (FNUZ)
  none,         ///< every pattern is a number
  powers,       ///< the patterns are exponents, so there is no zero; all bits set: NaN (E8M0)
};

/// What becomes of a number past the largest one.
enum class FloatOverflow : std::uint8_t {
  saturate, ///< the largest number
  special,  ///< infinity; NaN if the format has none; the largest number if it has neither
};

/// A format of at most 32 bits whose numbers are numbers of f32 too: the sign, then `exponent`
/// bits, then `mantissa` bits.
struct FloatFormat {
  int exponent, mantissa, bias;
  FloatSpecials specials;
  bool isSigned = true;

  constexpr int bits() const { return exponent + mantissa + (isSigned ? 1 : 0); }
  constexpr std::uint32_t signBit() const {
    return isSigned ? std::uint32_t(1) << (exponent + mantissa) : 0;
  }
  /// The bits beside the sign.
  constexpr std::uint32_t magnitudeMask() const {
    return (std::uint32_t(1) << (exponent + mantissa)) - 1;
  }
  constexpr std::uint32_t fractionMask() const { return (std::uint32_t(1) << mantissa) - 1; }

  /// The pattern of the largest number.
  constexpr std::uint32_t largest() const {
    const std::uint32_t above = specials == FloatSpecials::ieee     ? fractionMask() + 1
                                : specials == FloatSpecials::finite ? 1
                                : specials == FloatSpecials::powers ? 1
                                                                    : 0;
    return magnitudeMask() - above;
  }
  /// The pattern that a number past the largest one becomes; it takes the number's sign but for
  /// `unsignedZero`.
  constexpr std::uint32_t overflow(FloatOverflow how = FloatOverflow::special) const {
    if (how == FloatOverflow::saturate || specials == FloatSpecials::none)
      return largest();
    return specials == FloatSpecials::unsignedZero ? signBit() : largest() + 1;
  }
  /// The pattern that a NaN becomes: the quiet NaN, or the largest number if the format has none.
  /// It takes the NaN's sign but for `unsignedZero`.
  constexpr std::uint32_t nan() const {
    return specials == FloatSpecials::ieee ? overflow() + (std::uint32_t(1) << (mantissa - 1))
                                           : overflow();
  }
  /// Whether the pattern is a number; if not, it is an infinity or a NaN.
  constexpr bool isFinite(std::uint32_t pattern) const {
    if (specials == FloatSpecials::unsignedZero)
      return (pattern & (signBit() | magnitudeMask())) != signBit();
    return (pattern & magnitudeMask()) <= largest();
  }
  constexpr bool isInfinity(std::uint32_t pattern) const {
    return specials == FloatSpecials::ieee && (pattern & magnitudeMask()) == largest() + 1;
  }
  constexpr bool isNan(std::uint32_t pattern) const {
    return !isFinite(pattern) && !isInfinity(pattern);
  }

  /// A finite number: significand * 2^(exponent - mantissa), without its sign.
  struct Parts {
    std::uint32_t significand;
    int exponent;
  };
  constexpr Parts parts(std::uint32_t pattern) const {
    const std::uint32_t fraction = pattern & fractionMask();
    const int field = static_cast<int>((pattern & magnitudeMask()) >> mantissa);
    if (field == 0 && specials != FloatSpecials::powers)
      return {fraction, 1 - bias};
    return {fraction | std::uint32_t(1) << mantissa, field - bias};
  }

  /// The number of a pattern, exactly. Every NaN becomes the same one.
  constexpr float toFloat(std::uint32_t pattern) const {
    const std::uint32_t sign = pattern & signBit() ? 0x80000000u : 0;
    if (!isFinite(pattern))
      return std::bit_cast<float>(isInfinity(pattern) ? sign | 0x7f800000u : 0x7fc00000u);
    Parts p = parts(pattern);
    if (p.significand == 0)
      return std::bit_cast<float>(sign);
    const int up = mantissa + 1 - std::bit_width(p.significand);
    const std::uint32_t significand = p.significand << up << (23 - mantissa);
    const int field = p.exponent - up + 127;
    // The fraction of a number below f32's normal ones has its leading bit too.
    return std::bit_cast<float>(field > 0 ? sign | static_cast<std::uint32_t>(field) << 23 |
                                                (significand & 0x7fffff)
                                          : sign | significand >> (1 - field));
  }

  /// The pattern of the nearest number, of two the even one. Of `powers` it is the power of two at
  /// or below the magnitude, and a format without signs has zero in place of negative numbers.
  constexpr std::uint32_t fromDouble(double value, FloatOverflow how) const {
    const auto wide = std::bit_cast<std::uint64_t>(value);
    return rounded(wide >> 63, static_cast<int>(wide >> 52 & 0x7ff) - 1023, wide & kFraction, how,
                   nullptr);
  }
  constexpr std::uint32_t fromFloat(float value, FloatOverflow how) const {
    return fromFloat(value, how, nullptr);
  }
  /// The same with another rounding, that of AMD's instructions (HIP's from_float_sr in
  /// amd_hip_ocp_host.hpp): the number is brought to the exponent of the result, where a
  /// subnormal one loses what leaves f32's mantissa; as many of the highest bits of
  /// `random` as f32's mantissa has more than the format's are added below the last bit
  /// that is kept; and what is below it is dropped.
  constexpr std::uint32_t fromFloat(float value, FloatOverflow how, std::uint32_t random) const {
    return fromFloat(value, how, &random);
  }

private:
  static constexpr std::uint64_t kFraction = (std::uint64_t(1) << 52) - 1;

  constexpr std::uint32_t fromFloat(float value, FloatOverflow how,
                                    const std::uint32_t *random) const {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t field = word >> 23 & 0xff;
    const auto fraction = static_cast<std::uint64_t>(word & 0x7fffff) << 29;
    if (field == 0 && fraction)
      return roundedFloatDenormal(word >> 31, fraction, how, random);
    const int exponent = field == 0xff ? 1024 : field ? static_cast<int>(field) - 127 : -1023;
    return rounded(word >> 31, exponent, fraction, how, random);
  }
  /// Numbers below f32's normal ones are normal ones of f64.
  constexpr std::uint32_t roundedFloatDenormal(bool isNegative, std::uint64_t fraction,
                                               FloatOverflow how,
                                               const std::uint32_t *random) const {
    const int up = std::countl_zero(fraction) - 11;
    return rounded(isNegative, -126 - up, (fraction << up) & kFraction, how, random);
  }

  /// Rounds a number of f64's fields: exponent 1024 is infinity or NaN, -1023 is zero or too small
  /// for any format.
  constexpr std::uint32_t rounded(bool isNegative, int exponent, std::uint64_t fraction,
                                  FloatOverflow how, const std::uint32_t *random) const {
    const bool isUnsignedZero = specials == FloatSpecials::unsignedZero;
    const std::uint32_t sign = isNegative ? signBit() : 0;
    if (exponent == 1024 && fraction)
      return isUnsignedZero ? nan() : sign | nan();
    if (isNegative && !isSigned && specials != FloatSpecials::powers)
      return 0;
    std::uint64_t pattern = 0;
    if (specials == FloatSpecials::powers) {
      pattern = exponent + bias < 0 ? 0 : static_cast<std::uint64_t>(exponent + bias);
    } else if (exponent == 1024) {
      pattern = largest() + std::uint64_t(1);
    } else if (exponent > -1023) {
      const int field = exponent + this->bias; // below 1: less than the normal numbers
      const int drop = 52 - mantissa + (field < 1 ? 1 - field : 0);
      const std::uint64_t significand = fraction | (kFraction + 1);
      if (random) {
        const int lost = 23 - mantissa;
        const std::uint64_t aligned = drop - lost < 64 ? significand >> (drop - lost) : 0;
        pattern = (aligned + (static_cast<std::uint64_t>(*random) << lost >> 32)) >> lost;
      } else if (drop <= 53) {
        // What is added is half of the last place, less one if the kept bits are even.
        const std::uint64_t half = std::uint64_t(1) << (drop - 1);
        pattern = (significand + half - 1 + (significand >> drop & 1)) >> drop;
      }
      // The leading bit, or a carry of the rounding, counts the exponent up.
      if (field > 1)
        pattern += static_cast<std::uint64_t>(field - 1) << mantissa;
    }
    if (pattern > largest()) {
      if (isUnsignedZero && how == FloatOverflow::special)
        return overflow(how);
      pattern = overflow(how);
    }
    if (pattern == 0 && isUnsignedZero) // the pattern of minus zero is NaN
      return 0;
    return sign | static_cast<std::uint32_t>(pattern);
  }
};

inline constexpr FloatFormat kF32{8, 23, 127, FloatSpecials::ieee};
inline constexpr FloatFormat kF16{5, 10, 15, FloatSpecials::ieee};
inline constexpr FloatFormat kBf16{8, 7, 127, FloatSpecials::ieee};
inline constexpr FloatFormat kTf32{8, 10, 127, FloatSpecials::ieee};
inline constexpr FloatFormat kE5m2{5, 2, 15, FloatSpecials::ieee};
inline constexpr FloatFormat kE4m3fn{4, 3, 7, FloatSpecials::finite};
inline constexpr FloatFormat kE5m2fnuz{5, 2, 16, FloatSpecials::unsignedZero};
inline constexpr FloatFormat kE4m3fnuz{4, 3, 8, FloatSpecials::unsignedZero};
inline constexpr FloatFormat kE8m0fnu{8, 0, 127, FloatSpecials::powers, /*isSigned=*/false};
inline constexpr FloatFormat kE2m3fn{2, 3, 1, FloatSpecials::none};
inline constexpr FloatFormat kE3m2fn{3, 2, 3, FloatSpecials::none};
inline constexpr FloatFormat kE2m1fn{2, 1, 1, FloatSpecials::none};

/// The format of an element type of at most 16 bits; null for other types.
constexpr const FloatFormat *smallFloatFormat(DType type) {
  switch (type.kind()) {
  case DType::Kind::f16:
    return &kF16;
  case DType::Kind::bf16:
    return &kBf16;
  case DType::Kind::f8E5M2:
    return &kE5m2;
  case DType::Kind::f8E4M3FN:
    return &kE4m3fn;
  case DType::Kind::f8E5M2FNUZ:
    return &kE5m2fnuz;
  case DType::Kind::f8E4M3FNUZ:
    return &kE4m3fnuz;
  case DType::Kind::f8E8M0FNU:
    return &kE8m0fnu;
  case DType::Kind::f6E2M3FN:
    return &kE2m3fn;
  case DType::Kind::f6E3M2FN:
    return &kE3m2fn;
  case DType::Kind::f4E2M1FN:
    return &kE2m1fn;
  default:
    return nullptr;
  }
}

} // namespace detail
FLYDSL_NAMESPACE_END
