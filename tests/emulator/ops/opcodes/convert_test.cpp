// Conversions between number formats, of the plain kind: integers, floats of 16, 32 and 64 bits.
#include "vector_table.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

namespace flyemu::test {

namespace {
using u64 = uint64_t;
using i64 = int64_t;

u64 masked(i64 x, unsigned bits) { return u64(x) & ((u64(1) << bits) - 1); }
/// Truncation, saturation, and 0 from what is no number.
u64 toInteger(Quad x, Quad low, Quad high, unsigned bits) {
  if (x != x)
    return 0;
  x = x < low ? low : x > high ? high : x;
  return masked(i64(x), bits);
}
constexpr double kMin32 = -2147483648.0, kMax32 = 2147483647.0, kMaxU32 = 4294967295.0;

/// x as an integer in the direction that MODE has for floats of 32 bits.
double asInteger(double x) {
  switch (env.round32) {
  case kUp:
    return std::ceil(x);
  case kDown:
    return std::floor(x);
  case kToZero:
    return std::trunc(x);
  default:
    return std::nearbyint(x);
  }
}
/// Normalised integers: scaled, rounded, saturated.
u64 normalised(Quad x, int scale, int low, int bits) {
  if (x != x)
    return 0;
  x *= scale;
  x = x < low ? Quad(low) : x > scale ? Quad(scale) : x;
  // As a double it is exact, or so small that only its sign matters.
  return masked(i64(asInteger(double(x))), unsigned(bits));
}
u64 snorm(Format f, u64 x) { return normalised(in(f, x), 32767, -32767, 16); }
u64 unorm(Format f, u64 x) { return normalised(in(f, x), 65535, 0, 16); }

u64 toBytes(u64 a, u64 at, u64 old) {
  const Quad x = in(kF32, a);
  const double r = asInteger(x != x ? 0 : std::clamp(double(x), 0.0, 255.0));
  const unsigned shift = 8 * (at & 3);
  return (old & ~(u64(255) << shift)) | u64(r) << shift;
}
u64 toZeroHalf(u64 x) { return roundTo(kF16, in(kF32, x), kToZero); }
u64 nearestBfloat(u64 x) { return roundTo(kBf16, in(kF32, x)); }
template <Format F, Format To> u64 convert(u64 a, u64, u64) { return out(To, in(F, a)); }
Quad shiftedHalf(u64 a) { return valueOf(kF32, out(kF32, sumToOdd(in(kF32, a), Quad(0.5)))); }
Quad floorOf(Quad x) { return x - x == 0 ? Quad(std::floor(double(x))) : x; }
} // namespace

TEST_CASE("opcodes: conversions of 32 and 64 bits match the reference") {
  runVectorTable({
      {"v_cvt_f32_i32", "f:u", [](u64 a, u64, u64) { return out(kF32, int32_t(a)); }},
      {"v_cvt_f32_u32", "f:u", [](u64 a, u64, u64) { return out(kF32, a); }},
      {"v_cvt_u32_f32", "u:f",
       [](u64 a, u64, u64) { return toInteger(in(kF32, a), 0, kMaxU32, 32); }},
      {"v_cvt_i32_f32", "u:f",
       [](u64 a, u64, u64) { return toInteger(in(kF32, a), kMin32, kMax32, 32); }},
      {"v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32", "u:f",
       [](u64 a, u64, u64) { return toInteger(floorOf(shiftedHalf(a)), kMin32, kMax32, 32); }},
      {"v_cvt_flr_i32_f32 v_cvt_floor_i32_f32", "u:f",
       [](u64 a, u64, u64) { return toInteger(floorOf(in(kF32, a)), kMin32, kMax32, 32); }},
      {"v_cvt_f64_i32", "d:u", [](u64 a, u64, u64) { return out(kF64, int32_t(a)); }},
      {"v_cvt_f64_u32", "d:u", [](u64 a, u64, u64) { return out(kF64, a); }},
      {"v_cvt_i32_f64", "u:d",
       [](u64 a, u64, u64) { return toInteger(in(kF64, a), kMin32, kMax32, 32); }},
      {"v_cvt_u32_f64", "u:d",
       [](u64 a, u64, u64) { return toInteger(in(kF64, a), 0, kMaxU32, 32); }},
      {"v_cvt_f64_f32", "d:f", convert<kF32, kF64>},
      {"v_cvt_f32_f64", "f:d", convert<kF64, kF32>},
      {"v_cvt_f32_ubyte0", "f:u", [](u64 a, u64, u64) { return roundTo(kF32, a & 255); }},
      {"v_cvt_f32_ubyte1", "f:u", [](u64 a, u64, u64) { return roundTo(kF32, a >> 8 & 255); }},
      {"v_cvt_f32_ubyte2", "f:u", [](u64 a, u64, u64) { return roundTo(kF32, a >> 16 & 255); }},
      {"v_cvt_f32_ubyte3", "f:u", [](u64 a, u64, u64) { return roundTo(kF32, a >> 24); }},
      {"v_cvt_off_f32_i4", "f:u",
       [](u64 a, u64, u64) { return roundTo(kF32, Quad(int(a % 16 ^ 8) - 8) / 16); }},
  });
}

TEST_CASE("opcodes: conversions of 16 bits and packed ones match the reference") {
  runVectorTable({
      {"v_cvt_f16_f32", "h:f", convert<kF32, kF16>},
      {"v_cvt_f32_f16", "f:h", convert<kF16, kF32>},
      {"v_cvt_f32_bf16", "f:s", [](u64 a, u64, u64) { return out(kF32, valueOf(kBf16, a)); }},
      {"v_cvt_f16_u16", "h:s", [](u64 a, u64, u64) { return out(kF16, a); }},
      {"v_cvt_f16_i16", "h:s", [](u64 a, u64, u64) { return out(kF16, int16_t(a)); }},
      {"v_cvt_u16_f16", "s:h",
       [](u64 a, u64, u64) { return toInteger(in(kF16, a), 0, 65535, 16); }},
      {"v_cvt_i16_f16", "s:h",
       [](u64 a, u64, u64) { return toInteger(in(kF16, a), -32768, 32767, 16); }},
      {"v_cvt_norm_i16_f16", "s:h", [](u64 a, u64, u64) { return snorm(kF16, a); }},
      {"v_cvt_norm_u16_f16", "s:h", [](u64 a, u64, u64) { return unorm(kF16, a); }},
      {"v_cvt_pk_u8_f32", "u:fuu", toBytes},
      {"v_cvt_pkaccum_u8_f32", "u:fuu", toBytes, VectorOp::kAccumulate},
      {"v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32", "p:ff",
       [](u64 a, u64 b, u64) { return toZeroHalf(a) | toZeroHalf(b) << 16; }},
      {"v_cvt_pk_f16_f32", "p:ff",
       [](u64 a, u64 b, u64) {
         return convert<kF32, kF16>(a, 0, 0) | convert<kF32, kF16>(b, 0, 0) << 16;
       }},
      {"v_cvt_pk_bf16_f32", "q:ff",
       [](u64 a, u64 b, u64) { return nearestBfloat(a) | nearestBfloat(b) << 16; }},
      {"v_cvt_pknorm_i16_f32 v_cvt_pk_norm_i16_f32", "u:ff",
       [](u64 a, u64 b, u64) { return snorm(kF32, a) | snorm(kF32, b) << 16; }},
      {"v_cvt_pknorm_u16_f32 v_cvt_pk_norm_u16_f32", "u:ff",
       [](u64 a, u64 b, u64) { return unorm(kF32, a) | unorm(kF32, b) << 16; }},
      {"v_cvt_pknorm_i16_f16 v_cvt_pk_norm_i16_f16", "u:hh",
       [](u64 a, u64 b, u64) { return snorm(kF16, a) | snorm(kF16, b) << 16; }},
      {"v_cvt_pknorm_u16_f16 v_cvt_pk_norm_u16_f16", "u:hh",
       [](u64 a, u64 b, u64) { return unorm(kF16, a) | unorm(kF16, b) << 16; }},
      {"v_cvt_pk_i16_f32", "u:ff",
       [](u64 a, u64 b, u64) {
         return toInteger(in(kF32, a), -32768, 32767, 16) |
                toInteger(in(kF32, b), -32768, 32767, 16) << 16;
       }},
      {"v_cvt_pk_u16_f32", "u:ff",
       [](u64 a, u64 b, u64) {
         return toInteger(in(kF32, a), 0, 65535, 16) | toInteger(in(kF32, b), 0, 65535, 16) << 16;
       }},
  });
}

} // namespace flyemu::test
