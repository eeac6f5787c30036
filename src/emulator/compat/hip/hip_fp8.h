// Floats of 8 bits as HIP 6 and 7 have them: __hip_fp8_e4m3, __hip_fp8_e5m2 (OCP's, of gfx950 and
// gfx12) and their _fnuz forms (of gfx942), pairs and fours of them, and the functions that convert.
// Written from the documentation of HIP's API ("Low precision floating point types") for
// installations whose HIP has no such header.
//
// All types are there on the host and for every target: conversions are integer arithmetic and give
// the same bits everywhere. Constructors saturate, as HIP's do.
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

typedef unsigned char __hip_fp8_storage_t;
typedef unsigned short __hip_fp8x2_storage_t;
typedef unsigned int __hip_fp8x4_storage_t;

/// What a number beyond the largest one becomes: infinity, or NaN where there is none; or the
/// largest one.
typedef enum __hip_saturation_t { __HIP_NOSAT = 0, __HIP_SATFINITE = 1 } __hip_saturation_t;
typedef enum __hip_fp8_interpretation_t {
  __HIP_E4M3 = 0,
  __HIP_E5M2 = 1,
  __HIP_E4M3_FNUZ = 2,
  __HIP_E5M2_FNUZ = 3,
} __hip_fp8_interpretation_t;

#define FLYDSL_FP8 static inline __host__ __device__

namespace flydsl_hip {

/// What tells the formats apart. Sources: OCP's "8-bit Floating Point Specification", and "8-bit
/// Numerical Formats for Deep Neural Networks" (Noune et al.) for the forms without a negative zero.
struct Float8Format {
  int mantissa, bias;
  unsigned most; ///< the code of the largest number
  unsigned nan;
  unsigned infinity; ///< its code, which is that of NaN where there is none
  bool negativeZero;
};
FLYDSL_FP8 Float8Format float8Format(__hip_fp8_interpretation_t type) {
  switch (type) {
  case __HIP_E4M3:
    return {3, 7, 0x7e, 0x7f, 0x7f, true};
  case __HIP_E5M2:
    return {2, 15, 0x7b, 0x7f, 0x7c, true};
  case __HIP_E4M3_FNUZ:
    return {3, 8, 0x7f, 0x80, 0x80, false};
  default:
    return {2, 16, 0x7f, 0x80, 0x80, false};
  }
}

FLYDSL_FP8 __hip_fp8_storage_t encodeFloat8(float value, __hip_saturation_t saturation,
                                            __hip_fp8_interpretation_t type) {
  const Float8Format format = float8Format(type);
  const unsigned bits = bitsOf(value), magnitude = bits & 0x7fffffffu;
  const unsigned sign = bits >> 24 & 0x80;
  if (magnitude > 0x7f800000u)
    return static_cast<__hip_fp8_storage_t>(format.nan);
  const int exponent = static_cast<int>(magnitude >> 23) - 127, least = 1 - format.bias;
  // A number of f32 that is not normal is far below half of the least one here.
  const int drop = 23 - format.mantissa + (exponent < least ? least - exponent : 0);
  unsigned code = 0;
  if (drop < 26 && magnitude >= 0x00800000u) {
    const unsigned significand = (magnitude & 0x7fffffu) | 0x800000u;
    const unsigned half = 1u << (drop - 1), rest = significand & ((1u << drop) - 1);
    code = significand >> drop;
    code += rest > half || (rest == half && (code & 1));
    if (exponent >= least)
      code += static_cast<unsigned>(exponent + format.bias - 1) << format.mantissa;
  }
  if (magnitude == 0x7f800000u || (exponent >= 0 && code > format.most)) {
    if (saturation == __HIP_SATFINITE)
      code = format.most;
    else if (format.infinity == 0x80)
      return 0x80;
    else
      code = format.infinity;
  }
  if (code == 0 && !format.negativeZero)
    return 0;
  return static_cast<__hip_fp8_storage_t>(code | sign);
}

FLYDSL_FP8 float decodeFloat8(__hip_fp8_storage_t code, __hip_fp8_interpretation_t type) {
  const Float8Format format = float8Format(type);
  const unsigned sign = unsigned(code & 0x80) << 24, low = code & 0x7f;
  const float nan = floatOf(0x7fc00000u);
  if (!format.negativeZero && code == 0x80)
    return nan;
  if (format.negativeZero && low > format.most)
    return low == format.infinity && format.infinity != format.nan ? floatOf(sign | 0x7f800000u)
                                                                   : nan;
  const int exponent = static_cast<int>(low >> format.mantissa);
  const unsigned fraction = low & ((1u << format.mantissa) - 1);
  if (exponent) {
    const unsigned up = static_cast<unsigned>(exponent - format.bias + 127);
    return floatOf(sign | up << 23 | fraction << (23 - format.mantissa));
  }
  // fraction * 2^(1 - bias - mantissa)
  const float unit = floatOf(static_cast<unsigned>(128 - format.bias - format.mantissa) << 23);
  return floatOf(sign | bitsOf(static_cast<float>(fraction) * unit));
}

} // namespace flydsl_hip

// The functions that convert.
FLYDSL_FP8 __hip_fp8_storage_t __hip_cvt_float_to_fp8(float f, __hip_saturation_t saturation,
                                                      __hip_fp8_interpretation_t type) {
  return flydsl_hip::encodeFloat8(f, saturation, type);
}
FLYDSL_FP8 __hip_fp8_storage_t __hip_cvt_double_to_fp8(double d, __hip_saturation_t saturation,
                                                       __hip_fp8_interpretation_t type) {
  return flydsl_hip::encodeFloat8(flydsl_hip::roundedToOdd(d), saturation, type);
}
FLYDSL_FP8 __hip_fp8_storage_t __hip_cvt_bfloat16raw_to_fp8(__hip_bfloat16_raw x,
                                                            __hip_saturation_t saturation,
                                                            __hip_fp8_interpretation_t type) {
  return flydsl_hip::encodeFloat8(static_cast<float>(__hip_bfloat16(x)), saturation, type);
}
FLYDSL_FP8 __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 f, __hip_saturation_t saturation,
                                                           __hip_fp8_interpretation_t type) {
  return static_cast<__hip_fp8x2_storage_t>(__hip_cvt_float_to_fp8(f.x, saturation, type) |
                                            __hip_cvt_float_to_fp8(f.y, saturation, type) << 8);
}
FLYDSL_FP8 __hip_fp8x2_storage_t __hip_cvt_double2_to_fp8x2(double2 d,
                                                            __hip_saturation_t saturation,
                                                            __hip_fp8_interpretation_t type) {
  return static_cast<__hip_fp8x2_storage_t>(__hip_cvt_double_to_fp8(d.x, saturation, type) |
                                            __hip_cvt_double_to_fp8(d.y, saturation, type) << 8);
}
#if defined(__HIP__) && defined(__clang__)
FLYDSL_FP8 __hip_fp8_storage_t __hip_cvt_halfraw_to_fp8(__half_raw x, __hip_saturation_t saturation,
                                                        __hip_fp8_interpretation_t type) {
  return flydsl_hip::encodeFloat8(static_cast<float>(x.data), saturation, type);
}
FLYDSL_FP8 __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t x,
                                               __hip_fp8_interpretation_t type) {
  __half_raw raw;
  raw.data = static_cast<_Float16>(flydsl_hip::decodeFloat8(x, type));
  return raw;
}
#endif

/// One type of the four with its pairs and fours.
#define FLYDSL_FP8_TYPE(name, type)                                                                \
  struct __hip_fp8_##name {                                                                        \
    static constexpr __hip_fp8_interpretation_t __default_interpret = type;                        \
    static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;                    \
    __hip_fp8_storage_t __x;                                                                       \
    __hip_fp8_##name() = default;                                                                  \
    template <class T>                                                                             \
    __host__ __device__ explicit __hip_fp8_##name(T value)                                         \
        : __x(__hip_cvt_double_to_fp8(static_cast<double>(value), __default_saturation, type)) {}  \
    __host__ __device__ explicit __hip_fp8_##name(float value)                                     \
        : __x(__hip_cvt_float_to_fp8(value, __default_saturation, type)) {}                        \
    __host__ __device__ explicit __hip_fp8_##name(__hip_bfloat16 value)                            \
        : __hip_fp8_##name(static_cast<float>(value)) {}                                           \
    __host__ __device__ operator float() const { return flydsl_hip::decodeFloat8(__x, type); }     \
    __host__ __device__ explicit operator bool() const { return static_cast<float>(*this) != 0; }  \
  };                                                                                               \
  struct __attribute__((aligned(2))) __hip_fp8x2_##name {                                          \
    __hip_fp8x2_storage_t __x;                                                                     \
    __hip_fp8x2_##name() = default;                                                                \
    __host__ __device__ explicit __hip_fp8x2_##name(float2 value)                                  \
        : __x(__hip_cvt_float2_to_fp8x2(value, __HIP_SATFINITE, type)) {}                          \
    __host__ __device__ operator float2() const {                                                  \
      return make_float2(                                                                          \
          flydsl_hip::decodeFloat8(static_cast<__hip_fp8_storage_t>(__x & 0xff), type),            \
          flydsl_hip::decodeFloat8(static_cast<__hip_fp8_storage_t>(__x >> 8), type));             \
    }                                                                                              \
  };                                                                                               \
  struct __attribute__((aligned(4))) __hip_fp8x4_##name {                                          \
    __hip_fp8x4_storage_t __x;                                                                     \
    __hip_fp8x4_##name() = default;                                                                \
    __host__ __device__ explicit __hip_fp8x4_##name(float4 value)                                  \
        : __x(__hip_cvt_float2_to_fp8x2(make_float2(value.x, value.y), __HIP_SATFINITE, type) |    \
              static_cast<__hip_fp8x4_storage_t>(                                                  \
                  __hip_cvt_float2_to_fp8x2(make_float2(value.z, value.w), __HIP_SATFINITE, type)) \
                  << 16) {}                                                                        \
    __host__ __device__ operator float4() const {                                                  \
      const auto at = [this](int shift) {                                                          \
        return flydsl_hip::decodeFloat8(static_cast<__hip_fp8_storage_t>(__x >> shift & 0xff),     \
                                        type);                                                     \
      };                                                                                           \
      return make_float4(at(0), at(8), at(16), at(24));                                            \
    }                                                                                              \
  };
FLYDSL_FP8_TYPE(e4m3, __HIP_E4M3)
FLYDSL_FP8_TYPE(e5m2, __HIP_E5M2)
FLYDSL_FP8_TYPE(e4m3_fnuz, __HIP_E4M3_FNUZ)
FLYDSL_FP8_TYPE(e5m2_fnuz, __HIP_E5M2_FNUZ)
#undef FLYDSL_FP8_TYPE
#undef FLYDSL_FP8
