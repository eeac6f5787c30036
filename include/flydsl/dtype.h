// Element types as values: the type of a tensor's elements or of a scalar, and the argument of
// `.to(dtype)`.
#pragma once

#include <flydsl/export.h>

#include <cstdint>
#include <string_view>
#include <type_traits>

FLYDSL_NAMESPACE_BEGIN

/// An element type. It is a small value: compare and copy it freely, and switch on `kind()`.
class DType {
public:
  /// All element types; `none` means no type.
  enum class Kind : std::uint8_t {
    none,
    boolean,
    i4,
    i8,
    i16,
    i32,
    i64,
    u4,
    u8,
    u16,
    u32,
    u64,
    f16,
    bf16,
    f32,
    f64,
    f8E4M3FN,
    f8E5M2,
    f8E4M3FNUZ,
    f8E5M2FNUZ,
    f8E8M0FNU,
    f6E2M3FN,
    f6E3M2FN,
    f4E2M1FN,
  };

  constexpr DType() = default;
  constexpr DType(Kind kind) : kind_(kind) {}

  /// The enumerator, to switch on.
  constexpr Kind kind() const { return kind_; }
  /// False for the empty DType.
  constexpr explicit operator bool() const { return kind_ != Kind::none; }
  /// True for the same type.
  friend constexpr bool operator==(DType a, DType b) { return a.kind_ == b.kind_; }

  /// Width of one element in bits; 1 for `boolean`, 0 for the empty type.
  constexpr int bits() const { return info().bits; }
  /// The number of bytes that one scalar argument of this type takes in a kernel's argument buffer.
  constexpr int bytes() const { return (bits() + 7) / 8; }
  /// The number of bits that each element of an array takes in memory: the width, except that a
  /// `boolean` takes a byte.
  constexpr int memory_bits() const { return kind_ == Kind::boolean ? 8 : bits(); }
  /// The name in this library: "u8", "bf16", "f8E4M3FNUZ".
  constexpr std::string_view name() const { return info().name; }
  /// The name of the type in the IR, where integers carry no sign: "i8" for `u8`, "i1" for
  /// `boolean`.
  constexpr std::string_view ir_name() const { return info().irName; }
  /// True for a floating-point type.
  constexpr bool is_float() const { return kind_ >= Kind::f16; }
  /// True for an integer type; `boolean` is not one.
  constexpr bool is_integer() const { return kind_ >= Kind::i4 && kind_ <= Kind::u64; }
  /// True for a floating-point type and for an integer type with a sign.
  constexpr bool is_signed() const {
    return is_float() || (kind_ >= Kind::i4 && kind_ <= Kind::i64);
  }

private:
  struct Info {
    int bits;
    std::string_view name, irName;
  };
  constexpr Info info() const {
    switch (kind_) {
    case Kind::none:
      return {0, "none", "none"};
    case Kind::boolean:
      return {1, "boolean", "i1"};
    case Kind::i4:
      return {4, "i4", "i4"};
    case Kind::i8:
      return {8, "i8", "i8"};
    case Kind::i16:
      return {16, "i16", "i16"};
    case Kind::i32:
      return {32, "i32", "i32"};
    case Kind::i64:
      return {64, "i64", "i64"};
    case Kind::u4:
      return {4, "u4", "i4"};
    case Kind::u8:
      return {8, "u8", "i8"};
    case Kind::u16:
      return {16, "u16", "i16"};
    case Kind::u32:
      return {32, "u32", "i32"};
    case Kind::u64:
      return {64, "u64", "i64"};
    case Kind::f16:
      return {16, "f16", "f16"};
    case Kind::bf16:
      return {16, "bf16", "bf16"};
    case Kind::f32:
      return {32, "f32", "f32"};
    case Kind::f64:
      return {64, "f64", "f64"};
    case Kind::f8E4M3FN:
      return {8, "f8E4M3FN", "f8E4M3FN"};
    case Kind::f8E5M2:
      return {8, "f8E5M2", "f8E5M2"};
    case Kind::f8E4M3FNUZ:
      return {8, "f8E4M3FNUZ", "f8E4M3FNUZ"};
    case Kind::f8E5M2FNUZ:
      return {8, "f8E5M2FNUZ", "f8E5M2FNUZ"};
    case Kind::f8E8M0FNU:
      return {8, "f8E8M0FNU", "f8E8M0FNU"};
    case Kind::f6E2M3FN:
      return {6, "f6E2M3FN", "f6E2M3FN"};
    case Kind::f6E3M2FN:
      return {6, "f6E3M2FN", "f6E3M2FN"};
    case Kind::f4E2M1FN:
      return {4, "f4E2M1FN", "f4E2M1FN"};
    }
    return {0, "none", "none"};
  }

  Kind kind_ = Kind::none;
};

/// The element type that stores a C++ type. Specialise it for a type of your own to make
/// `DeviceArray` of that type work. The primary template has no member `value`: such a type has no
/// element type.
template <class T> struct DTypeOf {};
template <> struct DTypeOf<bool> : std::integral_constant<DType::Kind, DType::Kind::boolean> {};
template <> struct DTypeOf<std::int8_t> : std::integral_constant<DType::Kind, DType::Kind::i8> {};
template <> struct DTypeOf<std::int16_t> : std::integral_constant<DType::Kind, DType::Kind::i16> {};
template <> struct DTypeOf<std::int32_t> : std::integral_constant<DType::Kind, DType::Kind::i32> {};
template <> struct DTypeOf<std::uint8_t> : std::integral_constant<DType::Kind, DType::Kind::u8> {};
template <>
struct DTypeOf<std::uint16_t> : std::integral_constant<DType::Kind, DType::Kind::u16> {};
template <>
struct DTypeOf<std::uint32_t> : std::integral_constant<DType::Kind, DType::Kind::u32> {};
template <> struct DTypeOf<long> : std::integral_constant<DType::Kind, DType::Kind::i64> {};
template <> struct DTypeOf<long long> : std::integral_constant<DType::Kind, DType::Kind::i64> {};
template <>
struct DTypeOf<unsigned long> : std::integral_constant<DType::Kind, DType::Kind::u64> {};
template <>
struct DTypeOf<unsigned long long> : std::integral_constant<DType::Kind, DType::Kind::u64> {};
template <> struct DTypeOf<float> : std::integral_constant<DType::Kind, DType::Kind::f32> {};
template <> struct DTypeOf<double> : std::integral_constant<DType::Kind, DType::Kind::f64> {};

/// The element type of the C++ type T: `dtype_of<float>` is `f32`.
template <class T> inline constexpr DType dtype_of{DTypeOf<std::remove_cv_t<T>>::value};

/// The element types by name, as `make_copy_atom`, `.to(...)` and others take them.
inline constexpr DType boolean{DType::Kind::boolean};
inline constexpr DType i4{DType::Kind::i4};
inline constexpr DType i8{DType::Kind::i8};
inline constexpr DType i16{DType::Kind::i16};
inline constexpr DType i32{DType::Kind::i32};
inline constexpr DType i64{DType::Kind::i64};
inline constexpr DType u4{DType::Kind::u4};
inline constexpr DType u8{DType::Kind::u8};
inline constexpr DType u16{DType::Kind::u16};
inline constexpr DType u32{DType::Kind::u32};
inline constexpr DType u64{DType::Kind::u64};
inline constexpr DType f16{DType::Kind::f16};
inline constexpr DType bf16{DType::Kind::bf16};
inline constexpr DType f32{DType::Kind::f32};
inline constexpr DType f64{DType::Kind::f64};
inline constexpr DType f8E4M3FN{DType::Kind::f8E4M3FN};
inline constexpr DType f8E5M2{DType::Kind::f8E5M2};
inline constexpr DType f8E4M3FNUZ{DType::Kind::f8E4M3FNUZ};
inline constexpr DType f8E5M2FNUZ{DType::Kind::f8E5M2FNUZ};
inline constexpr DType f8E8M0FNU{DType::Kind::f8E8M0FNU};
inline constexpr DType f6E2M3FN{DType::Kind::f6E2M3FN};
inline constexpr DType f6E3M2FN{DType::Kind::f6E3M2FN};
inline constexpr DType f4E2M1FN{DType::Kind::f4E2M1FN};

FLYDSL_NAMESPACE_END
