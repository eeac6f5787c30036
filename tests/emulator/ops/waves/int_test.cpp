// Integer and bitwise vector operations against references of their own.
#include "operands.h"

#include <algorithm>

using namespace flyemu::test;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

namespace {
i32 s(u32 x) { return static_cast<i32>(x); }
i32 s24(u32 x) { return s(x & 0x800000 ? x | 0xff000000 : x & 0xffffff); }
u32 sat(i64 x) {
  return static_cast<u32>(x > 0x7fffffffLL ? 0x7fffffffLL : x < -0x80000000LL ? -0x80000000LL : x);
}
u32 med(i64 a, i64 b, i64 c) {
  i64 v[3] = {a, b, c};
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 2; ++j)
      if (v[j] > v[j + 1])
        std::swap(v[j], v[j + 1]);
  return static_cast<u32>(v[1]);
}
u32 field(u32 x, u32 o, u32 n, bool sign) {
  o &= 31;
  n &= 31;
  u64 wide = sign ? static_cast<u64>(static_cast<i64>(s(x))) : x;
  u64 r = wide >> o;
  if (n == 0)
    return 0;
  r &= (u64(1) << n) - 1;
  if (sign && r >> (n - 1) & 1)
    r |= ~u64(0) << n;
  return static_cast<u32>(r);
}
u32 bytesOf(u32 a, u32 b, u32 c, bool masked) {
  for (int k = 0; k < 4; ++k) {
    i32 x = a >> 8 * k & 255, y = b >> 8 * k & 255;
    if (!masked || y)
      c += static_cast<u32>(std::abs(x - y));
  }
  return c;
}
u32 i16s(u32 x) { return static_cast<u32>(static_cast<int16_t>(x)); }
u32 clampU16(i64 x) { return static_cast<u32>(x < 0 ? 0 : x > 65535 ? 65535 : x); }
u32 clampI16(i64 x) {
  return static_cast<u32>(x < -32768 ? -32768 : x > 32767 ? 32767 : x) & 0xffff;
}
} // namespace

TEST_CASE("32-bit integer operations agree with the host") {
  static const LaneCase kCases[] = {
      {"v_mov_b32 v4, v1", [](u32 a, u32, u32) { return a; }},
      {"v_add_u32 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(u64(a) + b); }},
      {"v_add_u32 v4, v1, v2 clamp", [](u32 a, u32 b, u32) { return u64(a) + b > ~0u ? ~0u : a + b; }},
      {"v_sub_u32 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(i64(a) - b); }},
      {"v_sub_u32 v4, v1, v2 clamp", [](u32 a, u32 b, u32) { return i64(a) - b < 0 ? 0 : a - b; }},
      {"v_subrev_u32 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(i64(b) - a); }},
      {"v_add_i32 v4, v1, v2 clamp", [](u32 a, u32 b, u32) { return sat(i64(s(a)) + s(b)); }},
      {"v_sub_i32 v4, v1, v2 clamp", [](u32 a, u32 b, u32) { return sat(i64(s(a)) - s(b)); }},
      {"v_add3_u32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return u32(u64(a) + b + c); }},
      {"v_lshl_add_u32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return u32((u64(a) << b % 32) + c); }},
      {"v_add_lshl_u32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return u32((u64(a) + b) << c % 32); }},
      {"v_lshl_or_b32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return u32(u64(a) << b % 32) | c; }},
      {"v_and_or_b32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return (a & b) | c; }},
      {"v_or3_b32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return a | b | c; }},
      {"v_xad_u32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; }},
      {"v_mul_lo_u32 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(u64(a) * b); }},
      {"v_mul_hi_u32 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(u64(a) * b >> 32); }},
      {"v_mul_hi_i32 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(i64(s(a)) * s(b) >> 32); }},
      {"v_mul_i32_i24 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(i64(s24(a)) * s24(b)); }},
      {"v_mul_hi_i32_i24 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(i64(s24(a)) * s24(b) >> 32); }},
      {"v_mul_u32_u24 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(u64(a % (1 << 24)) * (b % (1 << 24))); }},
      {"v_mul_hi_u32_u24 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(u64(a % (1 << 24)) * (b % (1 << 24)) >> 32); }},
      {"v_mad_i32_i24 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return u32(i64(s24(a)) * s24(b) + c); }},
      {"v_mad_i32_i24 v4, v1, v2, v3 clamp", [](u32 a, u32 b, u32 c) { return sat(i64(s24(a)) * s24(b) + s(c)); }},
      {"v_mad_u32_u24 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return u32(u64(a % (1 << 24)) * (b % (1 << 24)) + c); }},
      {"v_min_i32 v4, v1, v2", [](u32 a, u32 b, u32) { return s(a) < s(b) ? a : b; }},
      {"v_max_i32 v4, v1, v2", [](u32 a, u32 b, u32) { return s(a) < s(b) ? b : a; }},
      {"v_min_u32 v4, v1, v2", [](u32 a, u32 b, u32) { return a < b ? a : b; }},
      {"v_max_u32 v4, v1, v2", [](u32 a, u32 b, u32) { return a < b ? b : a; }},
      {"v_min3_i32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return u32(std::min({s(a), s(b), s(c)})); }},
      {"v_max3_u32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return std::max({a, b, c}); }},
      {"v_med3_i32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return med(s(a), s(b), s(c)); }},
      {"v_med3_u32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return med(a, b, c); }},
      {"v_lshlrev_b32 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(u64(b) << a % 32); }},
      {"v_lshrrev_b32 v4, v1, v2", [](u32 a, u32 b, u32) { return b >> a % 32; }},
      {"v_ashrrev_i32 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(i64(s(b)) >> a % 32); }},
      {"v_and_b32 v4, v1, v2", [](u32 a, u32 b, u32) { return a & b; }},
      {"v_or_b32 v4, v1, v2", [](u32 a, u32 b, u32) { return a | b; }},
      {"v_xor_b32 v4, v1, v2", [](u32 a, u32 b, u32) { return a ^ b; }},
      {"v_xnor_b32 v4, v1, v2", [](u32 a, u32 b, u32) { return ~(a ^ b); }},
      {"v_not_b32 v4, v1", [](u32 a, u32, u32) { return ~a; }},
      {"v_bfrev_b32 v4, v1", [](u32 a, u32, u32) { u32 r = 0; for (int k = 0; k < 32; ++k) r = r << 1 | (a >> k & 1); return r; }},
      {"v_ffbh_u32 v4, v1", [](u32 a, u32, u32) { for (int k = 0; k < 32; ++k) if (a >> (31 - k) & 1) return u32(k); return ~0u; }},
      {"v_ffbh_i32 v4, v1", [](u32 a, u32, u32) { for (int k = 1; k < 32; ++k) if ((a >> (31 - k) & 1) != a >> 31) return u32(k); return ~0u; }},
      {"v_ffbl_b32 v4, v1", [](u32 a, u32, u32) { for (int k = 0; k < 32; ++k) if (a >> k & 1) return u32(k); return ~0u; }},
      {"v_bcnt_u32_b32 v4, v1, v2", [](u32 a, u32 b, u32) { for (; a; a &= a - 1) ++b; return b; }},
      {"v_bfm_b32 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(((u64(1) << a % 32) - 1) << b % 32); }},
      {"v_bfe_u32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return field(a, b, c, false); }},
      {"v_bfe_i32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return field(a, b, c, true); }},
      {"v_bfi_b32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return (a & b) | (c & ~a); }},
      {"v_alignbit_b32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return u32((u64(a) << 32 | b) >> c % 32); }},
      {"v_alignbyte_b32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return u32((u64(a) << 32 | b) >> c % 4 * 8); }},
      {"v_sad_u8 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return bytesOf(a, b, c, false); }},
      {"v_msad_u8 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return bytesOf(a, b, c, true); }},
      {"v_sad_hi_u8 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return (bytesOf(a, b, 0, false) << 16) + c; }},
      {"v_sad_u32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return u32(std::llabs(i64(a) - b)) + c; }},
      {"v_perm_b32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) {
         u32 r = 0;
         for (int k = 0; k < 4; ++k) {
           u32 q = c >> 8 * k & 255, x;
           auto at = [&](u32 n) { return n < 4 ? b >> 8 * n & 255 : a >> 8 * (n - 4) & 255; };
           x = q < 8 ? at(q) : q < 12 ? (at(2 * (q - 8) + 1) >> 7) * 255 : q == 12 ? 0 : 255;
           r |= x << 8 * k;
         }
         return r;
       }},
      {"v_cvt_pk_u16_u32 v4, v1, v2", [](u32 a, u32 b, u32) { return clampU16(a) | clampU16(b) << 16; }},
      {"v_cvt_pk_i16_i32 v4, v1, v2", [](u32 a, u32 b, u32) { return clampI16(s(a)) | clampI16(s(b)) << 16; }},
      {"v_dot4_i32_i8 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) {
         i64 r = s(c);
         for (int k = 0; k < 4; ++k)
           r += i64(static_cast<signed char>(a >> 8 * k)) * static_cast<signed char>(b >> 8 * k);
         return u32(r);
       }},
      {"v_dot8_u32_u4 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) {
         for (int k = 0; k < 32; k += 4)
           c += (a >> k & 15) * (b >> k & 15);
         return c;
       }},
      {"v_dot2_i32_i16 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) {
         return u32(i64(s(i16s(a))) * s(i16s(b)) + i64(s(i16s(a >> 16))) * s(i16s(b >> 16)) + s(c));
       }},
  };
  for (const LaneCase &c : kCases)
    checkLanes(c.text, c.ref, kIntEdges);
}

TEST_CASE("16-bit integer operations agree with the host") {
  static const LaneCase kCases[] = {
      {"v_add_u16 v4, v1, v2", [](u32 a, u32 b, u32) { return (a + b) & 0xffff; }},
      {"v_add_u16 v4, v1, v2 clamp",
       [](u32 a, u32 b, u32) { return clampU16(i64(a & 0xffff) + (b & 0xffff)); }},
      {"v_sub_u16 v4, v1, v2", [](u32 a, u32 b, u32) { return (a - b) & 0xffff; }},
      {"v_subrev_u16 v4, v1, v2", [](u32 a, u32 b, u32) { return (b - a) & 0xffff; }},
      {"v_mul_lo_u16 v4, v1, v2", [](u32 a, u32 b, u32) { return a * b & 0xffff; }},
      {"v_lshlrev_b16 v4, v1, v2", [](u32 a, u32 b, u32) { return b << a % 16 & 0xffff; }},
      {"v_lshrrev_b16 v4, v1, v2", [](u32 a, u32 b, u32) { return (b & 0xffff) >> a % 16; }},
      {"v_ashrrev_i16 v4, v1, v2",
       [](u32 a, u32 b, u32) { return u32(s(i16s(b)) >> a % 16) & 0xffff; }},
      {"v_max_u16 v4, v1, v2", [](u32 a, u32 b, u32) { return std::max(a & 0xffff, b & 0xffff); }},
      {"v_min_i16 v4, v1, v2",
       [](u32 a, u32 b, u32) { return u32(std::min(s(i16s(a)), s(i16s(b)))) & 0xffff; }},
      // VOP3-only forms leave the other half of the destination, and op_sel chooses halves.
      {"v_mad_u16 v4, v1, v2, v3",
       [](u32 a, u32 b, u32 c) { return (kPoison & 0xffff0000) | ((a * b + c) & 0xffff); }},
      {"v_mad_u16 v4, v1, v2, v3 op_sel:[1,0,1,1]",
       [](u32 a, u32 b, u32 c) {
         return (kPoison & 0xffff) | ((a >> 16) * (b & 0xffff) + (c >> 16)) << 16;
       }},
      {"v_add_i16 v4, v1, v2 clamp",
       [](u32 a, u32 b, u32) {
         return (kPoison & 0xffff0000) | clampI16(s(i16s(a)) + s(i16s(b)));
       }},
      {"v_max3_i16 v4, v1, v2, v3 op_sel:[0,1,0,0]",
       [](u32 a, u32 b, u32 c) {
         return (kPoison & 0xffff0000) |
                (u32(std::max({s(i16s(a)), s(i16s(b >> 16)), s(i16s(c))})) & 0xffff);
       }},
      {"v_pk_add_u16 v4, v1, v2",
       [](u32 a, u32 b, u32) { return ((a + b) & 0xffff) | ((a >> 16) + (b >> 16)) << 16; }},
      {"v_pk_sub_i16 v4, v1, v2 clamp",
       [](u32 a, u32 b, u32) {
         return clampI16(s(i16s(a)) - s(i16s(b))) | clampI16(s(i16s(a >> 16)) - s(i16s(b >> 16)))
                                                        << 16;
       }},
      {"v_pk_mul_lo_u16 v4, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]",
       [](u32 a, u32 b, u32) {
         return ((a >> 16) * (b & 0xffff) & 0xffff) | ((a & 0xffff) * (b >> 16)) << 16;
       }},
      {"v_pk_mad_u16 v4, v1, v2, v3",
       [](u32 a, u32 b, u32 c) {
         return ((a * b + c) & 0xffff) | ((a >> 16) * (b >> 16) + (c >> 16)) << 16;
       }},
      {"v_pk_lshrrev_b16 v4, v1, v2",
       [](u32 a, u32 b, u32) {
         return ((b & 0xffff) >> a % 16) | (b >> 16) >> (a >> 16) % 16 << 16;
       }},
      {"v_pk_ashrrev_i16 v4, v1, v2",
       [](u32 a, u32 b, u32) {
         return (u32(s(i16s(b)) >> a % 16) & 0xffff) | u32(s(i16s(b >> 16)) >> (a >> 16) % 16)
                                                           << 16;
       }},
      {"v_pk_max_i16 v4, v1, v2",
       [](u32 a, u32 b, u32) {
         return (u32(std::max(s(i16s(a)), s(i16s(b)))) & 0xffff) |
                u32(std::max(s(i16s(a >> 16)), s(i16s(b >> 16)))) << 16;
       }},
  };
  for (const LaneCase &c : kCases)
    checkLanes(c.text, c.ref, kIntEdges);
}

TEST_CASE("64-bit integer operations agree with the host") {
  static const std::vector<u64> kEdges = {0,
                                          1,
                                          5,
                                          63,
                                          64,
                                          0xffffffff,
                                          0x100000000,
                                          0x7fffffffffffffff,
                                          0x8000000000000000,
                                          0xffffffffffffffff,
                                          0x123456789abcdef0,
                                          0xdeadbeefcafef00d,
                                          0x00000001ffffffff};
  static const LaneCase64 kCases[] = {
      {"v_mov_b64 v[8:9], v[2:3]", [](u64 a, u64, u64) { return a; }},
      {"v_lshl_add_u64 v[8:9], v[2:3], 3, v[4:5]", [](u64 a, u64 b, u64) { return a * 8 + b; }},
      {"v_lshlrev_b64 v[8:9], v4, v[2:3]", [](u64 a, u64 b, u64) { return a << b % 64; }},
      {"v_lshrrev_b64 v[8:9], v4, v[2:3]", [](u64 a, u64 b, u64) { return a >> b % 64; }},
      {"v_ashrrev_i64 v[8:9], v4, v[2:3]", [](u64 a, u64 b, u64) { return u64(i64(a) >> b % 64); }},
      {"v_mad_u64_u32 v[8:9], s[20:21], v2, v4, v[6:7]",
       [](u64 a, u64 b, u64 c) { return u64(u32(a)) * u32(b) + c; }},
      {"v_mad_i64_i32 v[8:9], s[20:21], v2, v4, v[6:7]",
       [](u64 a, u64 b, u64 c) { return u64((__int128)s(u32(a)) * s(u32(b)) + i64(c)); }},
      {"v_add_co_u32 v8, vcc, v2, v4\nv_addc_co_u32 v9, vcc, v3, v5, vcc",
       [](u64 a, u64 b, u64) { return a + b; }},
      {"v_sub_co_u32 v8, vcc, v2, v4\nv_subb_co_u32 v9, vcc, v3, v5, vcc",
       [](u64 a, u64 b, u64) { return a - b; }},
      {"v_subrev_co_u32 v8, s[20:21], v2, v4\nv_subbrev_co_u32 v9, s[22:23], v3, v5, s[20:21]",
       [](u64 a, u64 b, u64) { return b - a; }},
      {"v_qsad_pk_u16_u8 v[8:9], v[2:3], v4, v[6:7]",
       [](u64 a, u64 b, u64 c) {
         u64 r = 0;
         for (int k = 0; k < 4; ++k)
           r |= u64(bytesOf(u32(a >> 8 * k), u32(b), c >> 16 * k & 0xffff, false) & 0xffff)
                << 16 * k;
         return r;
       }},
  };
  for (const LaneCase64 &c : kCases)
    checkLanes64(c.text, c.ref, kEdges);
}

TEST_CASE("carries and comparisons write masks of the active lanes") {
  WaveRun w;
  w.exec = kPartialExec;
  w.v = {{1, edgeLanes(kIntEdges, 0)}, {2, edgeLanes(kIntEdges, 1)}};
  w.vcc = 0x123456789abcdef0;
  w.s = {{8, 0x1f8}};
  w.readS = {20, 21};
  struct Mask {
    const char *text;
    bool (*ref)(u32, u32, bool);
  };
  static const Mask kCases[] = {
      {"v_add_co_u32 v5, s[20:21], v1, v2", [](u32 a, u32 b, bool) { return u64(a) + b > ~0u; }},
      {"v_sub_co_u32 v5, s[20:21], v1, v2", [](u32 a, u32 b, bool) { return a < b; }},
      {"v_addc_co_u32 v5, s[20:21], v1, v2, vcc",
       [](u32 a, u32 b, bool c) { return u64(a) + b + c > ~0u; }},
      {"v_subb_co_u32 v5, s[20:21], v1, v2, vcc",
       [](u32 a, u32 b, bool c) { return u64(a) < u64(b) + c; }},
      {"v_cmp_lt_i32 s[20:21], v1, v2", [](u32 a, u32 b, bool) { return s(a) < s(b); }},
      {"v_cmp_le_u32 s[20:21], v1, v2", [](u32 a, u32 b, bool) { return a <= b; }},
      {"v_cmp_ne_u32 s[20:21], v1, v2", [](u32 a, u32 b, bool) { return a != b; }},
      {"v_cmp_t_i32 s[20:21], v1, v2", [](u32, u32, bool) { return true; }},
      {"v_cmp_f_i32 s[20:21], v1, v2", [](u32, u32, bool) { return false; }},
      {"v_cmp_ge_i16 s[20:21], v1, v2",
       [](u32 a, u32 b, bool) { return s(i16s(a)) >= s(i16s(b)); }},
      {"v_cmp_gt_u16 s[20:21], v1, v2",
       [](u32 a, u32 b, bool) { return (a & 0xffff) > (b & 0xffff); }},
      {"v_cmp_gt_f32 s[20:21], v1, v2", [](u32 a, u32 b, bool) { return asF32(a) > asF32(b); }},
      {"v_cmp_u_f32 s[20:21], v1, v2",
       [](u32 a, u32 b, bool) { return std::isunordered(asF32(a), asF32(b)); }},
      {"v_cmp_nlt_f32 s[20:21], |v1|, -v2",
       [](u32 a, u32 b, bool) { return !(std::fabs(asF32(a)) < -asF32(b)); }},
      {"v_cmp_lg_f32 s[20:21], v1, 1.0",
       [](u32 a, u32, bool) { return asF32(a) < 1 || asF32(a) > 1; }},
      {"v_cmp_class_f32 s[20:21], v1, s8",
       [](u32 a, u32, bool) { return std::isfinite(asF32(a)); }},
  };
  for (const Mask &c : kCases) {
    INFO(c.text);
    w.run(c.text);
    u64 want = 0;
    for (unsigned i = 0; i < 64; ++i)
      if (w.exec >> i & 1 && c.ref(w.v[1][i], w.v[2][i], w.vcc >> i & 1))
        want |= u64(1) << i;
    CHECK((w.outS[20] | u64(w.outS[21]) << 32) == want);
  }
  w.run("v_cmpx_lt_u32 s[20:21], v1, v2");
  u64 want = 0;
  for (unsigned i = 0; i < 64; ++i)
    want |= u64(w.exec >> i & 1 && w.v[1][i] < w.v[2][i]) << i;
  CHECK(w.outExec == want);
}

TEST_CASE("gfx950: bit functions of three operands and packed shifts") {
  static const LaneCase kCases[] = {
      {"v_bitop3_b32 v4, v1, v2, v3 bitop3:0x96", [](u32 a, u32 b, u32 c) { return a ^ b ^ c; }},
      {"v_bitop3_b32 v4, v1, v2, v3 bitop3:0xca",
       [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }},
      {"v_bitop3_b32 v4, v1, v2, v3 bitop3:0x01", [](u32 a, u32 b, u32 c) { return ~(a | b | c); }},
      {"v_prng_b32 v4, v1", [](u32 a, u32, u32) { return a * 2 ^ (a & 0x80000000 ? 0xc5u : 0u); }},
      {"v_ashr_pk_u8_i32 v4, v1, v2, v3",
       [](u32 a, u32 b, u32 c) {
         auto clip = [](int32_t x) { return u32(std::clamp(x, 0, 255)); };
         return (kPoison & 0xffff0000) | clip(s(a) >> c % 32) | clip(s(b) >> c % 32) << 8;
       }},
  };
  for (const LaneCase &c : kCases)
    checkLanes(c.text, c.ref, kIntEdges, sameBits, "gfx950");
}
