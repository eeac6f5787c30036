// Floating-point numbers of 16 and 8 bits for the host, to fill arrays with, to read back, and to
// pass as scalars. Inside a kernel such values are fx::Float16, fx::Float8E4M3FN, ...
#pragma once

#include <flydsl/detail/float_format.h>
#include <flydsl/dtype.h>

#include <cstdint>
#include <type_traits>

FLYDSL_NAMESPACE_BEGIN

namespace detail {
/// Whether the host has numbers of an element type: of small floats those of whole bytes, scales
/// apart.
constexpr bool isHostFloatKind(DType::Kind kind) {
  const FloatFormat *format = smallFloatFormat(kind);
  return format && format->bits() % 8 == 0 && format->specials != FloatSpecials::powers;
}
} // namespace detail

/// A number of format K, held as its bits. It converts to float exactly, and arithmetic happens
/// there. A conversion to it rounds to nearest, ties to even. A value past the largest number
/// becomes an infinity in the 16-bit formats and the largest number in the 8-bit formats, and so
/// does an infinity. A NaN stays a NaN.
template <DType::Kind K> class HostFloat {
public:
  static_assert(detail::isHostFloatKind(K), "no such number on the host");
  /// The meaning of its bits.
  static constexpr detail::FloatFormat format = *detail::smallFloatFormat(K);
  using Bits = std::conditional_t<format.bits() == 16, std::uint16_t, std::uint8_t>;

  HostFloat() = default;
  constexpr HostFloat(double value)
      : bits_(static_cast<Bits>(format.fromDouble(value, format.bits() == 16
                                                             ? detail::FloatOverflow::special
                                                             : detail::FloatOverflow::saturate))) {}
  /// The number that has these bits.
  static constexpr HostFloat from_bits(Bits bits) {
    HostFloat made(0.0);
    made.bits_ = bits;
    return made;
  }

  /// The exact value.
  constexpr operator float() const { return format.toFloat(bits_); }
  /// The bits of the number.
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
