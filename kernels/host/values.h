// Numbers of an element type on the host: how they are rounded, written and read.
#pragma once

#include <flydsl/detail/float_format.h>
#include <flydsl/dtype.h>
#include <flydsl/error.h>
#include <flydsl/host/device_array.h>
#include <flydsl/host/host_float.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::host {

/// Calls f with a value of the C++ type that holds an element of `dtype`.
template <class F> auto withType(DType dtype, F f) {
  using enum DType::Kind;
  switch (dtype.kind()) {
  case f32:
    return f(float());
  case f16:
    return f(half_t());
  case bf16:
    return f(bfloat16_t());
  case f8E4M3FN:
    return f(float8_e4m3fn_t());
  case f8E4M3FNUZ:
    return f(float8_e4m3fnuz_t());
  case f8E5M2:
    return f(float8_e5m2_t());
  case f8E5M2FNUZ:
    return f(float8_e5m2fnuz_t());
  case i8:
    return f(std::int8_t());
  case u8:
    return f(std::uint8_t());
  case i32:
    return f(std::int32_t());
  case i64:
    return f(std::int64_t());
  default:
    throw Error("numbers of this type are not made on the host");
  }
}

/// `value` as a T. An integer loses its fraction, and is the nearest of its type where it has no place in it.
template <class T> T as(double value) {
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    if (!(value > static_cast<double>(Limits::min())))
      return Limits::min();
    if (value >= static_cast<double>(Limits::max()))
      return Limits::max();
  }
  return static_cast<T>(value);
}

/// The bytes of values, each rounded to the type; of f8E8M0FNU to the power of two next to it. Two
/// of f4E2M1FN share a byte, and the first has the low bits.
inline std::vector<std::uint8_t> encode(DType dtype, std::span<const double> values) {
  if (dtype == f8E8M0FNU) {
    std::vector<std::uint8_t> bytes;
    for (double value : values)
      bytes.push_back(static_cast<std::uint8_t>(std::lround(std::log2(value)) + 127));
    return bytes;
  }
  if (dtype == f4E2M1FN) {
    const detail::FloatFormat &format = *detail::smallFloatFormat(dtype);
    std::vector<std::uint8_t> bytes((values.size() + 1) / 2);
    for (std::size_t i = 0; i < values.size(); ++i)
      bytes[i / 2] |= static_cast<std::uint8_t>(
          format.fromFloat(static_cast<float>(values[i]), detail::FloatOverflow::special)
          << (4 * (i % 2)));
    return bytes;
  }
  return withType(dtype, [&]<class T>(T) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = as<T>(values[i]);
      std::memcpy(&bytes[i * sizeof(T)], &value, sizeof value);
    }
    return bytes;
  });
}
/// The values of bytes.
inline std::vector<double> decode(DType dtype, std::span<const std::uint8_t> bytes) {
  if (dtype == f8E8M0FNU) {
    std::vector<double> values;
    for (std::uint8_t byte : bytes)
      values.push_back(byte == 255 ? NAN : std::ldexp(1.0, byte - 127));
    return values;
  }
  if (dtype == f4E2M1FN) {
    const detail::FloatFormat &format = *detail::smallFloatFormat(dtype);
    std::vector<double> values;
    for (std::uint8_t byte : bytes)
      for (int shift : {0, 4})
        values.push_back(format.toFloat(byte >> shift & 15u));
    return values;
  }
  return withType(dtype, [&]<class T>(T value) {
    std::vector<double> values(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::memcpy(&value, &bytes[i * sizeof(T)], sizeof value);
      values[i] = static_cast<double>(value);
    }
    return values;
  });
}
/// Random numbers of a seed, the same on every machine: floats in [-1, 1), integers from -8 to 7,
/// unsigned ones from 0 to 15, f8E8M0FNU's powers of two from 2^-3 to 1.
inline std::vector<double> randomValues(DType dtype, std::int64_t count, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = detail::randomBits(seed, i);
    if (dtype == f8E8M0FNU)
      values[i] = std::ldexp(1.0, -static_cast<int>(bits >> 62));
    else if (dtype.is_float())
      values[i] = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
    else
      values[i] = static_cast<double>(bits >> 60) - (dtype.is_signed() ? 8 : 0);
  }
  return values;
}
/// The numbers from 0 to below `count` in random order.
inline std::vector<double> shuffled(std::int64_t count, std::uint64_t seed) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0.0);
  for (std::size_t i = numbers.size(); i > 1; --i)
    std::swap(numbers[i - 1], numbers[detail::randomBits(seed, i) % i]);
  return numbers;
}
/// The format of a float of at most 32 bits.
inline const detail::FloatFormat &floatFormat(DType dtype) {
  if (dtype == f32)
    return detail::kF32;
  if (const detail::FloatFormat *format = detail::smallFloatFormat(dtype))
    return *format;
  throw Error(std::string(dtype.name()) + " is no float of at most 32 bits");
}
/// Half of the distance of neighbours, relative to a number in the normal range: 2^-p for p bits of
/// precision. It is what rounding to the type may add.
inline double unit(DType dtype) { return std::ldexp(0.5, -floatFormat(dtype).mantissa); }
/// The largest finite number.
inline double largest(DType dtype) {
  const detail::FloatFormat &format = floatFormat(dtype);
  return format.toFloat(format.largest());
}
/// What rounding may add near 0: half of the smallest subnormal number. Of types with f32's
/// exponents it is the smallest normal number, because kernels may flush f32's subnormal numbers.
inline double underflow(DType dtype) {
  const detail::FloatFormat &format = floatFormat(dtype);
  const int smallest = 1 - format.bias;
  return std::ldexp(1.0, format.exponent == detail::kF32.exponent ? smallest
                                                                  : smallest - format.mantissa - 1);
}

} // namespace kernels::host
FLYDSL_NAMESPACE_END
