// bfloat16 as HIP 6 and 7 have it: __hip_bfloat16, __hip_bfloat162 and their functions, for the
// host and for kernels. Written from the documentation of HIP's API ("Low precision floating point
// types") for installations whose HIP has no such header.
//
// Conversions round to the nearest, ties to even; arithmetic is that of f32, rounded once. A NaN
// stays one and becomes quiet.
#pragma once

#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#ifndef __cplusplus
#error "hip_bf16.h is C++"
#endif

#include <math.h>
#include <string.h>

#define FLYDSL_BF16 static inline __attribute__((always_inline)) __host__ __device__

/// The bits of a number, and of two.
typedef struct {
  unsigned short x;
} __hip_bfloat16_raw;
typedef struct {
  unsigned short x, y;
} __hip_bfloat162_raw;

namespace flydsl_hip {
FLYDSL_BF16 unsigned bitsOf(float value) {
  unsigned bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
FLYDSL_BF16 float floatOf(unsigned bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
FLYDSL_BF16 unsigned short bfloat16Of(float value) {
  const unsigned bits = bitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<unsigned short>(bits >> 16 | 0x40);
  return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
/// A double as a float whose last bit is odd where it is inexact, so that a second rounding gives
/// what a single one would.
FLYDSL_BF16 float roundedToOdd(double value) {
  const float near = static_cast<float>(value);
  const unsigned bits = bitsOf(near);
  if (value != value || static_cast<double>(near) == value || (bits & 1))
    return near;
  const double magnitude = value < 0 ? -value : value;
  const double nearMagnitude = near < 0 ? -static_cast<double>(near) : static_cast<double>(near);
  return floatOf(nearMagnitude > magnitude ? bits - 1 : bits + 1);
}
} // namespace flydsl_hip

/// A bfloat16.
struct __attribute__((aligned(2))) __hip_bfloat16 {
  unsigned short __x;

  __hip_bfloat16() = default;
  __host__ __device__ __hip_bfloat16(const __hip_bfloat16_raw &raw) : __x(raw.x) {}
  __host__ __device__ __hip_bfloat16(float value) : __x(flydsl_hip::bfloat16Of(value)) {}
  __host__ __device__ __hip_bfloat16(double value)
      : __x(flydsl_hip::bfloat16Of(flydsl_hip::roundedToOdd(value))) {}
#define FLYDSL_BF16_FROM(type)                                                                     \
  __host__ __device__ __hip_bfloat16(type value) : __hip_bfloat16(static_cast<double>(value)) {}
  FLYDSL_BF16_FROM(short)
  FLYDSL_BF16_FROM(unsigned short)
  FLYDSL_BF16_FROM(int)
  FLYDSL_BF16_FROM(unsigned)
#undef FLYDSL_BF16_FROM
  __host__ __device__ explicit __hip_bfloat16(long value)
      : __hip_bfloat16(static_cast<long long>(value)) {}
  __host__ __device__ explicit __hip_bfloat16(unsigned long value)
      : __hip_bfloat16(static_cast<unsigned long long>(value)) {}
  // More bits than a double has: the last one says whether there were others.
  __host__ __device__ explicit __hip_bfloat16(long long value)
      : __hip_bfloat16(value < 0 ? 0ull - static_cast<unsigned long long>(value)
                                 : static_cast<unsigned long long>(value)) {
    if (value < 0)
      __x |= 0x8000;
  }
  __host__ __device__ explicit __hip_bfloat16(unsigned long long value)
      : __hip_bfloat16(static_cast<double>(
            value >> 53 ? (value & ~0xfffull) | ((value & 0xfff) != 0 ? 0x800ull : 0) : value)) {}

  __host__ __device__ operator float() const { return flydsl_hip::floatOf(unsigned(__x) << 16); }
  __host__ __device__ operator __hip_bfloat16_raw() const {
    __hip_bfloat16_raw raw;
    raw.x = __x;
    return raw;
  }
  __host__ __device__ explicit operator bool() const { return (__x & 0x7fff) != 0; }
};

/// Two of them.
struct __attribute__((aligned(4))) __hip_bfloat162 {
  __hip_bfloat16 x, y;

  __hip_bfloat162() = default;
  __host__ __device__ __hip_bfloat162(const __hip_bfloat16 &x, const __hip_bfloat16 &y)
      : x(x), y(y) {}
  __host__ __device__ __hip_bfloat162(const __hip_bfloat162_raw &raw) {
    x.__x = raw.x;
    y.__x = raw.y;
  }
  __host__ __device__ operator __hip_bfloat162_raw() const {
    __hip_bfloat162_raw raw;
    raw.x = x.__x;
    raw.y = y.__x;
    return raw;
  }
  __host__ __device__ operator float2() const {
    return make_float2(static_cast<float>(x), static_cast<float>(y));
  }
};

// Conversions.
FLYDSL_BF16 __hip_bfloat16 __float2bfloat16(float a) { return __hip_bfloat16(a); }
FLYDSL_BF16 __hip_bfloat16 __float2bfloat16_rn(float a) { return __hip_bfloat16(a); }
FLYDSL_BF16 __hip_bfloat16 __double2bfloat16(double a) { return __hip_bfloat16(a); }
FLYDSL_BF16 float __bfloat162float(__hip_bfloat16 a) { return static_cast<float>(a); }
FLYDSL_BF16 __hip_bfloat16 __ushort_as_bfloat16(unsigned short a) {
  __hip_bfloat16_raw raw;
  raw.x = a;
  return __hip_bfloat16(raw);
}
FLYDSL_BF16 __hip_bfloat16 __short_as_bfloat16(short a) {
  return __ushort_as_bfloat16(static_cast<unsigned short>(a));
}
FLYDSL_BF16 unsigned short __bfloat16_as_ushort(__hip_bfloat16 a) { return a.__x; }
FLYDSL_BF16 short __bfloat16_as_short(__hip_bfloat16 a) { return static_cast<short>(a.__x); }
FLYDSL_BF16 __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __hip_bfloat162(a, b);
}
FLYDSL_BF16 __hip_bfloat162 make_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __hip_bfloat162(a, b);
}
FLYDSL_BF16 __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 a) { return {a, a}; }
FLYDSL_BF16 __hip_bfloat162 __float2bfloat162_rn(float a) { return {a, a}; }
FLYDSL_BF16 __hip_bfloat162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
FLYDSL_BF16 __hip_bfloat162 __float22bfloat162_rn(float2 a) { return {a.x, a.y}; }
FLYDSL_BF16 float2 __bfloat1622float2(__hip_bfloat162 a) { return static_cast<float2>(a); }
FLYDSL_BF16 __hip_bfloat16 __low2bfloat16(__hip_bfloat162 a) { return a.x; }
FLYDSL_BF16 __hip_bfloat16 __high2bfloat16(__hip_bfloat162 a) { return a.y; }
FLYDSL_BF16 float __low2float(__hip_bfloat162 a) { return static_cast<float>(a.x); }
FLYDSL_BF16 float __high2float(__hip_bfloat162 a) { return static_cast<float>(a.y); }
FLYDSL_BF16 __hip_bfloat162 __low2bfloat162(__hip_bfloat162 a) { return {a.x, a.x}; }
FLYDSL_BF16 __hip_bfloat162 __high2bfloat162(__hip_bfloat162 a) { return {a.y, a.y}; }
FLYDSL_BF16 __hip_bfloat162 __lows2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) {
  return {a.x, b.x};
}
FLYDSL_BF16 __hip_bfloat162 __highs2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) {
  return {a.y, b.y};
}
FLYDSL_BF16 __hip_bfloat162 __lowhigh2highlow(__hip_bfloat162 a) { return {a.y, a.x}; }

// Arithmetic of one and of two.
#define FLYDSL_BF16_BINARY(name, op)                                                               \
  FLYDSL_BF16 __hip_bfloat16 name(__hip_bfloat16 a, __hip_bfloat16 b) {                            \
    return __hip_bfloat16(static_cast<float>(a) op static_cast<float>(b));                         \
  }                                                                                                \
  FLYDSL_BF16 __hip_bfloat162 name##2(__hip_bfloat162 a, __hip_bfloat162 b) {                      \
    return {name(a.x, b.x), name(a.y, b.y)};                                                       \
  }                                                                                                \
  FLYDSL_BF16 __hip_bfloat16 operator op(__hip_bfloat16 a, __hip_bfloat16 b) {                     \
    return name(a, b);                                                                             \
  }                                                                                                \
  FLYDSL_BF16 __hip_bfloat162 operator op(__hip_bfloat162 a, __hip_bfloat162 b) {                  \
    return name##2(a, b);                                                                          \
  }                                                                                                \
  FLYDSL_BF16 __hip_bfloat16 &operator op## = (__hip_bfloat16 & a, __hip_bfloat16 b) {             \
    return a = name(a, b);                                                                         \
  }                                                                                                \
  FLYDSL_BF16 __hip_bfloat162 &operator op## = (__hip_bfloat162 & a, __hip_bfloat162 b) {          \
    return a = name##2(a, b);                                                                      \
  }
FLYDSL_BF16_BINARY(__hadd, +)
FLYDSL_BF16_BINARY(__hsub, -)
FLYDSL_BF16_BINARY(__hmul, *)
FLYDSL_BF16_BINARY(__hdiv, /)
#undef FLYDSL_BF16_BINARY
FLYDSL_BF16 __hip_bfloat162 __h2div(__hip_bfloat162 a, __hip_bfloat162 b) { return a / b; }
FLYDSL_BF16 __hip_bfloat16 __hneg(__hip_bfloat16 a) {
  return __ushort_as_bfloat16(static_cast<unsigned short>(a.__x ^ 0x8000));
}
FLYDSL_BF16 __hip_bfloat16 __habs(__hip_bfloat16 a) {
  return __ushort_as_bfloat16(static_cast<unsigned short>(a.__x & 0x7fff));
}
FLYDSL_BF16 __hip_bfloat162 __hneg2(__hip_bfloat162 a) { return {__hneg(a.x), __hneg(a.y)}; }
FLYDSL_BF16 __hip_bfloat162 __habs2(__hip_bfloat162 a) { return {__habs(a.x), __habs(a.y)}; }
FLYDSL_BF16 __hip_bfloat16 operator-(__hip_bfloat16 a) { return __hneg(a); }
FLYDSL_BF16 __hip_bfloat16 operator+(__hip_bfloat16 a) { return a; }
FLYDSL_BF16 __hip_bfloat162 operator-(__hip_bfloat162 a) { return __hneg2(a); }
/// The product of two numbers of 8 bits is exact in f32, and its sum with a third is rounded to odd
/// in f64, so one rounding is left.
FLYDSL_BF16 __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return __hip_bfloat16(__builtin_fma(static_cast<double>(static_cast<float>(a)),
                                      static_cast<double>(static_cast<float>(b)),
                                      static_cast<double>(static_cast<float>(c))));
}
FLYDSL_BF16 __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}

// Comparisons. Those that end in u hold where a number is NaN.
#define FLYDSL_BF16_COMPARE(name, op)                                                              \
  FLYDSL_BF16 bool name(__hip_bfloat16 a, __hip_bfloat16 b) {                                      \
    return static_cast<float>(a) op static_cast<float>(b);                                         \
  }                                                                                                \
  FLYDSL_BF16 bool operator op(__hip_bfloat16 a, __hip_bfloat16 b) { return name(a, b); }          \
  FLYDSL_BF16 __hip_bfloat162 name##2(__hip_bfloat162 a, __hip_bfloat162 b) {                      \
    return {name(a.x, b.x) ? 1.0f : 0.0f, name(a.y, b.y) ? 1.0f : 0.0f};                           \
  }
FLYDSL_BF16_COMPARE(__heq, ==)
FLYDSL_BF16_COMPARE(__hlt, <)
FLYDSL_BF16_COMPARE(__hle, <=)
FLYDSL_BF16_COMPARE(__hgt, >)
FLYDSL_BF16_COMPARE(__hge, >=)
#undef FLYDSL_BF16_COMPARE
FLYDSL_BF16 bool __hisnan(__hip_bfloat16 a) { return (a.__x & 0x7fff) > 0x7f80; }
FLYDSL_BF16 int __hisinf(__hip_bfloat16 a) {
  return a.__x == 0x7f80 ? 1 : a.__x == 0xff80 ? -1 : 0;
}
/// True only for numbers that differ; a NaN differs from nothing here, as CUDA and HIP define it.
FLYDSL_BF16 bool __hne(__hip_bfloat16 a, __hip_bfloat16 b) {
  return !__hisnan(a) && !__hisnan(b) && static_cast<float>(a) != static_cast<float>(b);
}
FLYDSL_BF16 bool operator!=(__hip_bfloat16 a, __hip_bfloat16 b) {
  return static_cast<float>(a) != static_cast<float>(b);
}
#define FLYDSL_BF16_UNORDERED(name)                                                                \
  FLYDSL_BF16 bool name##u(__hip_bfloat16 a, __hip_bfloat16 b) {                                   \
    return __hisnan(a) || __hisnan(b) || name(a, b);                                               \
  }
FLYDSL_BF16_UNORDERED(__heq)
FLYDSL_BF16_UNORDERED(__hne)
FLYDSL_BF16_UNORDERED(__hlt)
FLYDSL_BF16_UNORDERED(__hle)
FLYDSL_BF16_UNORDERED(__hgt)
FLYDSL_BF16_UNORDERED(__hge)
#undef FLYDSL_BF16_UNORDERED
/// The other number where one is NaN.
FLYDSL_BF16 __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __hisnan(a) ? b : __hisnan(b) ? a : a > b || (a == b && !(a.__x & 0x8000)) ? a : b;
}
FLYDSL_BF16 __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __hisnan(a) ? b : __hisnan(b) ? a : a < b || (a == b && (a.__x & 0x8000)) ? a : b;
}
FLYDSL_BF16 __hip_bfloat162 __hmax2(__hip_bfloat162 a, __hip_bfloat162 b) {
  return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
}
FLYDSL_BF16 __hip_bfloat162 __hmin2(__hip_bfloat162 a, __hip_bfloat162 b) {
  return {__hmin(a.x, b.x), __hmin(a.y, b.y)};
}

// Functions of one number, computed in f32.
#if defined(__HIP__) && defined(__clang__)
#define FLYDSL_BF16_FUNCTION(name, of)                                                             \
  static inline __device__ __hip_bfloat16 h##name(__hip_bfloat16 a) {                              \
    const float x = static_cast<float>(a);                                                         \
    return __hip_bfloat16(static_cast<float>(of));                                                 \
  }                                                                                                \
  static inline __device__ __hip_bfloat162 h2##name(__hip_bfloat162 a) {                           \
    return {h##name(a.x), h##name(a.y)};                                                           \
  }
FLYDSL_BF16_FUNCTION(ceil, __builtin_ceilf(x))
FLYDSL_BF16_FUNCTION(floor, __builtin_floorf(x))
FLYDSL_BF16_FUNCTION(trunc, __builtin_truncf(x))
FLYDSL_BF16_FUNCTION(rint, __builtin_rintf(x))
FLYDSL_BF16_FUNCTION(sqrt, sqrtf(x))
FLYDSL_BF16_FUNCTION(rsqrt, 1.0f / sqrtf(x))
FLYDSL_BF16_FUNCTION(rcp, 1.0f / x)
FLYDSL_BF16_FUNCTION(exp, expf(x))
FLYDSL_BF16_FUNCTION(exp2, exp2f(x))
FLYDSL_BF16_FUNCTION(exp10, exp10f(x))
FLYDSL_BF16_FUNCTION(log, logf(x))
FLYDSL_BF16_FUNCTION(log2, log2f(x))
FLYDSL_BF16_FUNCTION(log10, log10f(x))
FLYDSL_BF16_FUNCTION(sin, sinf(x))
FLYDSL_BF16_FUNCTION(cos, cosf(x))
#undef FLYDSL_BF16_FUNCTION

/// Adds to a number in memory, and returns what was there. The word that holds it is exchanged
/// until no other thread came between.
static inline __device__ __hip_bfloat16 unsafeAtomicAdd(__hip_bfloat16 *address,
                                                        __hip_bfloat16 value) {
  const size_t at = reinterpret_cast<size_t>(address);
  unsigned *const word = reinterpret_cast<unsigned *>(at & ~size_t(3));
  const unsigned shift = at & 2 ? 16 : 0;
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), wanted;
  do {
    const __hip_bfloat16 sum =
        __ushort_as_bfloat16(static_cast<unsigned short>(seen >> shift)) + value;
    wanted = (seen & ~(0xffffu << shift)) | unsigned(sum.__x) << shift;
  } while (!__hip_atomic_compare_exchange_strong(word, &seen, wanted, __ATOMIC_RELAXED,
                                                 __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
  return __ushort_as_bfloat16(static_cast<unsigned short>(seen >> shift));
}
static inline __device__ __hip_bfloat162 unsafeAtomicAdd(__hip_bfloat162 *address,
                                                         __hip_bfloat162 value) {
  unsigned *const word = reinterpret_cast<unsigned *>(address);
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), wanted;
  __hip_bfloat162 had;
  do {
    __builtin_memcpy(&had, &seen, sizeof had);
    const __hip_bfloat162 sum = had + value;
    __builtin_memcpy(&wanted, &sum, sizeof wanted);
  } while (!__hip_atomic_compare_exchange_strong(word, &seen, wanted, __ATOMIC_RELAXED,
                                                 __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
  return had;
}
static inline __device__ __hip_bfloat16 atomicAdd(__hip_bfloat16 *address, __hip_bfloat16 value) {
  return unsafeAtomicAdd(address, value);
}
static inline __device__ __hip_bfloat162 atomicAdd(__hip_bfloat162 *address,
                                                   __hip_bfloat162 value) {
  return unsafeAtomicAdd(address, value);
}
#endif

#define HIPRT_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define HIPRT_ONE_BF16 __ushort_as_bfloat16(0x3f80)
#define HIPRT_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define HIPRT_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define HIPRT_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define HIPRT_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define HIPRT_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)

#undef FLYDSL_BF16
