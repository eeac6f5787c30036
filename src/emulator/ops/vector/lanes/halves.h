// Conversions of halves and bfloats.
// All in it is in an anonymous namespace (lanes.h).
#pragma once

#include "emulator/ops/vector/lanes/chunk.h"

#include <immintrin.h>

#include <cstdint>

namespace flyemu {
namespace {

// Halves. With F16C the conversions follow MXCSR's rounding; without, they are exact and
// nearest-even.
inline float halfToFloatSoft(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, e = h >> 10 & 31, f = h & 1023;
  if (e == 31)
    return asFloat(sign | 0x7f800000 | f << 13 | (f ? 0x400000 : 0));
  if (e == 0) {
    float v = static_cast<float>(f) * 0x1p-24f;
    return sign ? -v : v;
  }
  return asFloat(sign | (e + 112) << 23 | f << 13);
}
inline uint16_t floatToHalfSoft(float x) {
  uint32_t b = bitsOf(x), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
  if (a > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (a >> 13 & 0x3ff));
  if (a >= 0x477ff000)
    return static_cast<uint16_t>(sign | 0x7c00);
  if (a < 0x38800000) {
    uint32_t r = bitsOf(asFloat(a) + 0.5f) - bitsOf(0.5f); // adds at the ulp of 2^-24
    return static_cast<uint16_t>(sign | r);
  }
  uint32_t r = a + 0xfff + (a >> 13 & 1);
  return static_cast<uint16_t>(sign | (r - 0x38000000) >> 13);
}
/// To half, towards zero.
inline uint16_t halfRtz(float x) {
  uint32_t b = bitsOf(x), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
  if (a > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (a >> 13 & 0x3ff));
  if (a == 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7c00);
  if (a >= 0x47800000)
    return static_cast<uint16_t>(sign | 0x7bff);
  if (a < 0x38800000) {
    int shift = 126 - static_cast<int>(a >> 23); // the unit is 2^-24
    uint32_t f = 0x800000 | (a & 0x7fffff);
    return static_cast<uint16_t>(sign | (a < 0x33800000 ? 0 : f >> shift));
  }
  return static_cast<uint16_t>(sign | (a - 0x38000000) >> 13);
}
/// To bfloat, nearest even.
inline uint16_t toBfloat(float x) {
  uint32_t b = bitsOf(x);
  if (x != x)
    return static_cast<uint16_t>(b >> 16 | 0x40);
  return static_cast<uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

#ifdef __F16C__
inline float halfToFloat(uint16_t h) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h))); }
inline uint16_t floatToHalf(float x) {
  return static_cast<uint16_t>(
      _mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_CUR_DIRECTION), 0));
}
inline void halvesToFloats(const uint16_t *h, float *f) {
  for (int i = 0; i < kChunk; i += 8)
    _mm256_storeu_ps(f + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(h + i))));
}
inline void floatsToHalves(const float *f, uint16_t *h) {
  for (int i = 0; i < kChunk; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(h + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(f + i), _MM_FROUND_CUR_DIRECTION));
}
#else
inline float halfToFloat(uint16_t h) { return halfToFloatSoft(h); }
inline uint16_t floatToHalf(float x) { return floatToHalfSoft(x); }
inline void halvesToFloats(const uint16_t *h, float *f) {
  FLYEMU_EACH (i)
    f[i] = halfToFloatSoft(h[i]);
}
inline void floatsToHalves(const float *f, uint16_t *h) {
  FLYEMU_EACH (i)
    h[i] = floatToHalfSoft(f[i]);
}
#endif

} // namespace
} // namespace flyemu
