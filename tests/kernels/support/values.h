// Numbers of an element type on the host: how they are rounded, written and read.
#pragma once

#include <flydsl/dtype.h>
#include <flydsl/error.h>
#include <flydsl/host_float.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace kernel_tests {

namespace fx = flydsl;

/// Calls f with a value of the C++ type that holds an element of `dtype`.
template <class F> auto withType(fx::DType dtype, F f) {
  using enum fx::DType::Kind;
  switch (dtype.kind()) {
  case f32:
    return f(float());
  case f16:
    return f(fx::half_t());
  case bf16:
    return f(fx::bfloat16_t());
  case f8E4M3FN:
    return f(fx::float8_e4m3fn_t());
  case f8E4M3FNUZ:
    return f(fx::float8_e4m3fnuz_t());
  case f8E5M2:
    return f(fx::float8_e5m2_t());
  case f8E5M2FNUZ:
    return f(fx::float8_e5m2fnuz_t());
  case i8:
    return f(std::int8_t());
  case u8:
    return f(std::uint8_t());
  case i32:
    return f(std::int32_t());
  default:
    throw fx::Error("no test has elements of this type");
  }
}

/// The bytes of values, each rounded to the type.
inline std::vector<std::uint8_t> encode(fx::DType dtype, std::span<const double> values) {
  return withType(dtype, [&]<class T>(T) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = static_cast<T>(values[i]);
      std::memcpy(&bytes[i * sizeof(T)], &value, sizeof value);
    }
    return bytes;
  });
}
/// The values of bytes.
inline std::vector<double> decode(fx::DType dtype, std::span<const std::uint8_t> bytes) {
  return withType(dtype, [&]<class T>(T value) {
    std::vector<double> values(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::memcpy(&value, &bytes[i * sizeof(T)], sizeof value);
      values[i] = static_cast<double>(value);
    }
    return values;
  });
}
/// Half of the distance of neighbours, relative to a number in the normal range: 2^-p for p bits of
/// precision. It is what rounding to the type may add.
inline double unit(fx::DType dtype) {
  using enum fx::DType::Kind;
  switch (dtype.kind()) {
  case f32:
    return 0x1p-24;
  case f16:
    return 0x1p-11;
  case bf16:
    return 0x1p-8;
  case f8E4M3FN:
  case f8E4M3FNUZ:
    return 0x1p-4;
  case f8E5M2:
  case f8E5M2FNUZ:
    return 0x1p-3;
  default:
    throw fx::Error("no float");
  }
}
/// What rounding may add near 0: half of the smallest subnormal number, or all of the smallest
/// normal one in f32, because kernels may flush f32's subnormal numbers.
inline double underflow(fx::DType dtype) {
  using enum fx::DType::Kind;
  switch (dtype.kind()) {
  case f32:
  case bf16:
    return 0x1p-126;
  case f16:
    return 0x1p-25;
  case f8E4M3FN:
    return 0x1p-10;
  case f8E4M3FNUZ:
    return 0x1p-11;
  case f8E5M2:
    return 0x1p-17;
  case f8E5M2FNUZ:
    return 0x1p-18;
  default:
    throw fx::Error("no float");
  }
}

} // namespace kernel_tests
