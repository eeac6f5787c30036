// Integer and bit operations.
#include "vector_table.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>

namespace flyemu::test {

namespace {
using u64 = uint64_t;
using i64 = int64_t;
constexpr unsigned kAcc = VectorOp::kAccumulate;

u64 u32(u64 x) { return x & 0xffffffff; }
i64 s32(u64 x) { return static_cast<int32_t>(x); }
u64 u16(u64 x) { return x & 0xffff; }
i64 s16(u64 x) { return static_cast<int16_t>(x); }
u64 u24(u64 x) { return x & 0xffffff; }
i64 s24(u64 x) { return s32(x << 8) >> 8; }
u64 byteOf(u64 x, unsigned k) { return x >> 8 * k & 255; }

/// A result of unlimited range as the instruction gives it: wrapped, or with the clamp bit
/// saturated.
template <unsigned Bits, bool Signed> u64 limited(__int128 x) {
  const __int128 top = Signed ? (__int128(1) << (Bits - 1)) - 1 : (__int128(1) << Bits) - 1;
  const __int128 bottom = Signed ? -top - 1 : 0;
  if (env.clamp)
    x = x > top ? top : x < bottom ? bottom : x;
  return static_cast<u64>(x) & (Bits == 64 ? ~u64(0) : (u64(1) << (Bits % 64)) - 1);
}
constexpr auto kU32 = limited<32, false>, kI32 = limited<32, true>, kU16 = limited<16, false>,
               kI16 = limited<16, true>;

u64 field(u64 x, u64 offset, u64 bits) {
  return u32(x) >> (offset & 31) & ((u64(1) << (bits & 31)) - 1);
}
u64 signedField(u64 x, u64 offset, u64 bits) {
  offset &= 31;
  bits &= 31;
  // Bits beyond the register are copies of its sign.
  const i64 shifted = s32(x) >> offset;
  return bits == 0 ? 0 : u32(u64(i64(u64(shifted) << (64 - bits)) >> (64 - bits)));
}
u64 leadingZeros(u64 x) { return u32(x) ? u64(std::countl_zero(uint32_t(x))) : 0xffffffff; }
u64 trailingZeros(u64 x) { return u32(x) ? u64(std::countr_zero(uint32_t(x))) : 0xffffffff; }
/// Where the first bit is that differs from the sign.
u64 signBits(u64 x) {
  for (int k = 1; k < 32; ++k)
    if ((x >> (31 - k) & 1) != (x >> 31 & 1))
      return u64(k);
  return 0xffffffff;
}
u64 reversed(u64 x) {
  u64 r = 0;
  for (int k = 0; k < 32; ++k)
    r |= (x >> k & 1) << (31 - k);
  return r;
}
u64 absoluteDifference(u64 a, u64 b) { return a > b ? a - b : b - a; }
u64 byteDifferences(u64 a, u64 b, bool masked) {
  u64 sum = 0;
  for (unsigned k = 0; k < 4; ++k)
    if (!masked || byteOf(b, k))
      sum += absoluteDifference(byteOf(a, k), byteOf(b, k));
  return sum;
}
template <bool Masked> u64 windows(u64 a, u64 b, u64 c) {
  u64 r = 0;
  for (unsigned k = 0; k < 4; ++k)
    r |= u16(u16(c >> 16 * k) + byteDifferences(a >> 8 * k, b, Masked)) << 16 * k;
  return r;
}
u64 selectedBytes(u64 a, u64 b, u64 selectors) {
  const u64 all = u32(a) << 32 | u32(b);
  u64 r = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const u64 s = byteOf(selectors, k);
    u64 x = 0;
    if (s < 8)
      x = byteOf(all, unsigned(s));
    else if (s < 12) // the sign of a half, as a byte
      x = all >> (15 + 16 * (s - 8)) & 1 ? 255 : 0;
    else
      x = s == 12 ? 0 : 255;
    r |= x << 8 * k;
  }
  return r;
}
template <unsigned Bits, bool Signed> u64 products(u64 a, u64 b, u64 c) {
  auto element = [](u64 x, unsigned k) {
    const u64 e = x >> Bits * k & ((1u << Bits) - 1);
    return Signed ? i64(e << (64 - Bits)) >> (64 - Bits) : i64(e);
  };
  __int128 sum = Signed ? s32(c) : i64(u32(c));
  for (unsigned k = 0; k < 32 / Bits; ++k)
    sum += element(a, k) * element(b, k);
  return limited<32, Signed>(sum);
}
/// After gfx9 the name means elements of chosen signedness, unsigned unless said otherwise.
template <unsigned Bits> u64 plainProducts(u64 a, u64 b, u64 c) {
  if (env.gfx9)
    return products<Bits, true>(a, b, c);
  __int128 sum = s32(c);
  for (unsigned at = 0; at < 32; at += Bits)
    sum += i64(a >> at & ((1u << Bits) - 1)) * i64(b >> at & ((1u << Bits) - 1));
  return kI32(sum);
}
template <class T> T middle(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}
u64 least3(u64 a, u64 b, u64 c) { return std::min({a, b, c}); }
u64 most3(u64 a, u64 b, u64 c) { return std::max({a, b, c}); }
i64 saturated(i64 x, i64 low, i64 high) { return std::clamp(x, low, high); }
} // namespace

TEST_CASE("opcodes: 32-bit integer arithmetic matches the reference") {
  runVectorTable({
      {"v_add_u32 v_add_nc_u32", "u:uu", [](u64 a, u64 b, u64) { return kU32(a + b); }},
      {"v_sub_u32 v_sub_nc_u32", "u:uu", [](u64 a, u64 b, u64) { return kU32(__int128(a) - b); }},
      {"v_subrev_u32 v_subrev_nc_u32", "u:uu",
       [](u64 a, u64 b, u64) { return kU32(__int128(b) - a); }},
      {"v_add_i32 v_add_nc_i32", "u:uu", [](u64 a, u64 b, u64) { return kI32(s32(a) + s32(b)); }},
      {"v_sub_i32 v_sub_nc_i32", "u:uu", [](u64 a, u64 b, u64) { return kI32(s32(a) - s32(b)); }},
      {"v_add3_u32", "u:uuu", [](u64 a, u64 b, u64 c) { return u32(a + b + c); }},
      {"v_xad_u32", "u:uuu", [](u64 a, u64 b, u64 c) { return u32((a ^ b) + c); }},
      {"v_lshl_add_u32", "u:uuu", [](u64 a, u64 b, u64 c) { return u32((a << b % 32) + c); }},
      {"v_add_lshl_u32", "u:uuu", [](u64 a, u64 b, u64 c) { return u32((a + b) << c % 32); }},
      {"v_lshl_or_b32", "u:uuu", [](u64 a, u64 b, u64 c) { return u32(a << b % 32 | c); }},
      {"v_and_or_b32", "u:uuu", [](u64 a, u64 b, u64 c) { return (a & b) | c; }},
      {"v_or3_b32", "u:uuu", [](u64 a, u64 b, u64 c) { return a | b | c; }},
      {"v_xor3_b32", "u:uuu", [](u64 a, u64 b, u64 c) { return a ^ b ^ c; }},
      {"v_mul_lo_u32", "u:uu", [](u64 a, u64 b, u64) { return u32(a * b); }},
      {"v_mul_hi_u32", "u:uu", [](u64 a, u64 b, u64) { return a * b >> 32; }},
      {"v_mul_hi_i32", "u:uu", [](u64 a, u64 b, u64) { return u32(u64(s32(a) * s32(b) >> 32)); }},
      {"v_mul_i32_i24", "u:uu", [](u64 a, u64 b, u64) { return u32(u64(s24(a) * s24(b))); }},
      {"v_mul_hi_i32_i24", "u:uu",
       [](u64 a, u64 b, u64) { return u32(u64(s24(a) * s24(b) >> 32)); }},
      {"v_mul_u32_u24", "u:uu", [](u64 a, u64 b, u64) { return u32(u24(a) * u24(b)); }},
      {"v_mul_hi_u32_u24", "u:uu", [](u64 a, u64 b, u64) { return u24(a) * u24(b) >> 32; }},
      {"v_mad_i32_i24", "u:uuu",
       [](u64 a, u64 b, u64 c) { return kI32(s24(a) * s24(b) + s32(c)); }},
      {"v_mad_u32_u24", "u:uuu",
       [](u64 a, u64 b, u64 c) { return kU32(__int128(u24(a) * u24(b)) + c); }},
      {"v_mad_u32_u16", "u:ssu", [](u64 a, u64 b, u64 c) { return kU32(__int128(a * b) + c); }},
      {"v_mad_i32_i16", "u:ssu",
       [](u64 a, u64 b, u64 c) { return kI32(s16(a) * s16(b) + s32(c)); }},
      {"v_min_i32", "u:uu", [](u64 a, u64 b, u64) { return u32(u64(std::min(s32(a), s32(b)))); }},
      {"v_max_i32", "u:uu", [](u64 a, u64 b, u64) { return u32(u64(std::max(s32(a), s32(b)))); }},
      {"v_min_u32", "u:uu", [](u64 a, u64 b, u64) { return std::min(a, b); }},
      {"v_max_u32", "u:uu", [](u64 a, u64 b, u64) { return std::max(a, b); }},
      {"v_min3_u32", "u:uuu", least3},
      {"v_max3_u32", "u:uuu", most3},
      {"v_med3_u32", "u:uuu", [](u64 a, u64 b, u64 c) { return middle(a, b, c); }},
      {"v_min3_i32", "u:uuu",
       [](u64 a, u64 b, u64 c) { return u32(u64(std::min({s32(a), s32(b), s32(c)}))); }},
      {"v_max3_i32", "u:uuu",
       [](u64 a, u64 b, u64 c) { return u32(u64(std::max({s32(a), s32(b), s32(c)}))); }},
      {"v_med3_i32", "u:uuu",
       [](u64 a, u64 b, u64 c) { return u32(u64(middle(s32(a), s32(b), s32(c)))); }},
      {"v_maxmin_u32", "u:uuu", [](u64 a, u64 b, u64 c) { return std::min(std::max(a, b), c); }},
      {"v_minmax_u32", "u:uuu", [](u64 a, u64 b, u64 c) { return std::max(std::min(a, b), c); }},
      {"v_maxmin_i32", "u:uuu",
       [](u64 a, u64 b, u64 c) { return u32(u64(std::min(std::max(s32(a), s32(b)), s32(c)))); }},
      {"v_minmax_i32", "u:uuu",
       [](u64 a, u64 b, u64 c) { return u32(u64(std::max(std::min(s32(a), s32(b)), s32(c)))); }},
  });
}

TEST_CASE("opcodes: bits, bytes and moves match the reference") {
  runVectorTable({
      {"v_mov_b32", "u:u", [](u64 a, u64, u64) { return a; }},
      {"v_mov_b64", "U:U", [](u64 a, u64, u64) { return a; }},
      {"v_mov_b16", "s:s", [](u64 a, u64, u64) { return a; }},
      {"v_cndmask_b32", "u:uum", [](u64 a, u64 b, u64 c) { return c ? b : a; }},
      {"v_cndmask_b16", "s:ssm", [](u64 a, u64 b, u64 c) { return c ? b : a; }},
      {"v_and_b32", "u:uu", [](u64 a, u64 b, u64) { return a & b; }},
      {"v_or_b32", "u:uu", [](u64 a, u64 b, u64) { return a | b; }},
      {"v_xor_b32", "u:uu", [](u64 a, u64 b, u64) { return a ^ b; }},
      {"v_xnor_b32", "u:uu", [](u64 a, u64 b, u64) { return u32(~(a ^ b)); }},
      {"v_not_b32", "u:u", [](u64 a, u64, u64) { return u32(~a); }},
      {"v_and_b16", "s:ss", [](u64 a, u64 b, u64) { return a & b; }},
      {"v_or_b16", "s:ss", [](u64 a, u64 b, u64) { return a | b; }},
      {"v_xor_b16", "s:ss", [](u64 a, u64 b, u64) { return a ^ b; }},
      {"v_not_b16", "s:s", [](u64 a, u64, u64) { return u16(~a); }},
      {"v_lshlrev_b32", "u:uu", [](u64 a, u64 b, u64) { return u32(b << a % 32); }},
      {"v_lshrrev_b32", "u:uu", [](u64 a, u64 b, u64) { return b >> a % 32; }},
      {"v_ashrrev_i32", "u:uu", [](u64 a, u64 b, u64) { return u32(u64(s32(b) >> a % 32)); }},
      {"v_lshlrev_b64", "U:uU", [](u64 a, u64 b, u64) { return b << a % 64; }},
      {"v_lshrrev_b64", "U:uU", [](u64 a, u64 b, u64) { return b >> a % 64; }},
      {"v_ashrrev_i64", "U:uU", [](u64 a, u64 b, u64) { return u64(i64(b) >> a % 64); }},
      {"v_lshl_add_u64", "U:UuU", [](u64 a, u64 b, u64 c) { return (a << (b & 7)) + c; }},
      {"v_bfrev_b32", "u:u", [](u64 a, u64, u64) { return reversed(a); }},
      {"v_ffbh_u32 v_clz_i32_u32", "u:u", [](u64 a, u64, u64) { return leadingZeros(a); }},
      {"v_ffbl_b32 v_ctz_i32_b32", "u:u", [](u64 a, u64, u64) { return trailingZeros(a); }},
      {"v_ffbh_i32 v_cls_i32", "u:u", [](u64 a, u64, u64) { return signBits(a); }},
      {"v_bcnt_u32_b32", "u:uu",
       [](u64 a, u64 b, u64) { return u32(u64(std::popcount(uint32_t(a))) + b); }},
      {"v_bfm_b32", "u:uu",
       [](u64 a, u64 b, u64) { return u32(((u64(1) << a % 32) - 1) << b % 32); }},
      {"v_bfe_u32", "u:uuu", field},
      {"v_bfe_i32", "u:uuu", signedField},
      {"v_bfi_b32", "u:uuu", [](u64 a, u64 b, u64 c) { return u32((a & b) | (~a & c)); }},
      {"v_alignbit_b32", "u:uuu", [](u64 a, u64 b, u64 c) { return u32((a << 32 | b) >> c % 32); }},
      {"v_alignbyte_b32", "u:uuu",
       [](u64 a, u64 b, u64 c) { return u32((a << 32 | b) >> 8 * (c % 4)); }},
      {"v_perm_b32", "u:uuu", selectedBytes},
      {"v_lerp_u8", "u:uuu",
       [](u64 a, u64 b, u64 c) {
         u64 r = 0;
         for (unsigned k = 0; k < 4; ++k)
           r |= (byteOf(a, k) + byteOf(b, k) + (byteOf(c, k) & 1)) / 2 << 8 * k;
         return r;
       }},
      {"v_sad_u8", "u:uuu",
       [](u64 a, u64 b, u64 c) { return kU32(__int128(c) + byteDifferences(a, b, false)); }},
      {"v_sad_hi_u8", "u:uuu",
       [](u64 a, u64 b, u64 c) {
         return kU32(__int128(c) + (byteDifferences(a, b, false) << 16));
       }},
      {"v_sad_u16", "u:uuu",
       [](u64 a, u64 b, u64 c) {
         return kU32(__int128(c) + absoluteDifference(u16(a), u16(b)) +
                     absoluteDifference(a >> 16, b >> 16));
       }},
      {"v_sad_u32", "u:uuu",
       [](u64 a, u64 b, u64 c) { return kU32(__int128(c) + absoluteDifference(a, b)); }},
      {"v_msad_u8", "u:uuu",
       [](u64 a, u64 b, u64 c) { return kU32(__int128(c) + byteDifferences(a, b, true)); }},
      {"v_qsad_pk_u16_u8", "U:UuU", windows<false>},
      {"v_mqsad_pk_u16_u8", "U:UuU", windows<true>},
      {"v_prng_b32", "u:u", [](u64 a, u64, u64) { return u32(a << 1) ^ (a >> 31 & 1 ? 0xc5 : 0); }},
      {"v_sat_pk_u8_i16", "s:u",
       [](u64 a, u64, u64) {
         return u64(saturated(s16(a), 0, 255)) | u64(saturated(s16(a >> 16), 0, 255)) << 8;
       }},
      {"v_ashr_pk_u8_i32", "s:uuu",
       [](u64 a, u64 b, u64 c) {
         return u64(saturated(s32(a) >> c % 32, 0, 255)) | u64(saturated(s32(b) >> c % 32, 0, 255))
                                                               << 8;
       }},
      {"v_ashr_pk_i8_i32", "s:uuu",
       [](u64 a, u64 b, u64 c) {
         return u64(saturated(s32(a) >> c % 32, -128, 127) & 255) |
                u64(saturated(s32(b) >> c % 32, -128, 127) & 255) << 8;
       }},
      {"v_pack_b32_f16", "u:hh", [](u64 a, u64 b, u64) { return a | b << 16; }},
      {"v_cvt_pk_u16_u32", "u:uu",
       [](u64 a, u64 b, u64) { return std::min<u64>(a, 65535) | std::min<u64>(b, 65535) << 16; }},
      {"v_cvt_pk_i16_i32", "u:uu",
       [](u64 a, u64 b, u64) {
         return u16(u64(saturated(s32(a), -32768, 32767))) |
                u16(u64(saturated(s32(b), -32768, 32767))) << 16;
       }},
      {"v_cvt_i32_i16", "u:s", [](u64 a, u64, u64) { return u32(u64(s16(a))); }},
      {"v_cvt_u32_u16", "u:s", [](u64 a, u64, u64) { return a; }},
  });
}

TEST_CASE("opcodes: 16-bit integer arithmetic matches the reference") {
  runVectorTable({
      {"v_add_u16 v_add_nc_u16", "s:ss", [](u64 a, u64 b, u64) { return kU16(a + b); }},
      {"v_sub_u16 v_sub_nc_u16", "s:ss", [](u64 a, u64 b, u64) { return kU16(i64(a) - i64(b)); }},
      {"v_subrev_u16", "s:ss", [](u64 a, u64 b, u64) { return kU16(i64(b) - i64(a)); }},
      {"v_add_i16 v_add_nc_i16", "s:ss", [](u64 a, u64 b, u64) { return kI16(s16(a) + s16(b)); }},
      {"v_sub_i16 v_sub_nc_i16", "s:ss", [](u64 a, u64 b, u64) { return kI16(s16(a) - s16(b)); }},
      {"v_mul_lo_u16", "s:ss", [](u64 a, u64 b, u64) { return u16(a * b); }},
      {"v_mad_u16 v_mad_legacy_u16", "s:sss",
       [](u64 a, u64 b, u64 c) { return kU16(i64(a * b + c)); }},
      {"v_mad_i16 v_mad_legacy_i16", "s:sss",
       [](u64 a, u64 b, u64 c) { return kI16(s16(a) * s16(b) + s16(c)); }},
      {"v_lshlrev_b16", "s:ss", [](u64 a, u64 b, u64) { return u16(b << a % 16); }},
      {"v_lshrrev_b16", "s:ss", [](u64 a, u64 b, u64) { return b >> a % 16; }},
      {"v_ashrrev_i16", "s:ss", [](u64 a, u64 b, u64) { return u16(u64(s16(b) >> a % 16)); }},
      {"v_max_u16", "s:ss", [](u64 a, u64 b, u64) { return std::max(a, b); }},
      {"v_min_u16", "s:ss", [](u64 a, u64 b, u64) { return std::min(a, b); }},
      {"v_max_i16", "s:ss", [](u64 a, u64 b, u64) { return u16(u64(std::max(s16(a), s16(b)))); }},
      {"v_min_i16", "s:ss", [](u64 a, u64 b, u64) { return u16(u64(std::min(s16(a), s16(b)))); }},
      {"v_max3_u16", "s:sss", most3},
      {"v_min3_u16", "s:sss", least3},
      {"v_med3_u16", "s:sss", [](u64 a, u64 b, u64 c) { return middle(a, b, c); }},
      {"v_max3_i16", "s:sss",
       [](u64 a, u64 b, u64 c) { return u16(u64(std::max({s16(a), s16(b), s16(c)}))); }},
      {"v_min3_i16", "s:sss",
       [](u64 a, u64 b, u64 c) { return u16(u64(std::min({s16(a), s16(b), s16(c)}))); }},
      {"v_med3_i16", "s:sss",
       [](u64 a, u64 b, u64 c) { return u16(u64(middle(s16(a), s16(b), s16(c)))); }},
  });
}

TEST_CASE("opcodes: dot products of integers match the reference") {
  runVectorTable({
      {"v_dot4_i32_i8", "u:www", plainProducts<8>},
      {"v_dot4c_i32_i8", "u:www", products<8, true>, kAcc},
      {"v_dot4_u32_u8", "u:www", products<8, false>},
      {"v_dot8_i32_i4", "u:www", plainProducts<4>},
      {"v_dot8c_i32_i4", "u:www", products<4, true>, kAcc},
      {"v_dot8_u32_u4", "u:www", products<4, false>},
      {"v_dot2_i32_i16", "u:www", products<16, true>},
      {"v_dot2c_i32_i16", "u:www", products<16, true>, kAcc},
      {"v_dot2_u32_u16", "u:www", products<16, false>},
  });
}

} // namespace flyemu::test
