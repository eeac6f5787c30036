// Integer, bitwise and move operations of 32, 64 and 16 bits.
#include "emulator/ops/vector/lanes.h"

namespace flyemu {

namespace {
using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

inline u32 addSat(u32 a, u32 b) {
  u32 r = a + b;
  return r < a ? ~0u : r;
}
inline u32 subSat(u32 a, u32 b) { return a > b ? a - b : 0; }
inline i32 clampI32(i64 x) {
  return static_cast<i32>(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}
inline u16 clampU16(i32 x) { return static_cast<u16>(x > 65535 ? 65535 : x < 0 ? 0 : x); }
inline i16 clampI16(i32 x) { return static_cast<i16>(x > 32767 ? 32767 : x < -32768 ? -32768 : x); }
inline i32 sext24(u32 x) { return static_cast<i32>(x << 8) >> 8; }
inline u32 low24(u32 x) { return x & 0xffffff; }
inline u32 bfeU(u32 x, u32 o, u32 n) {
  o &= 31;
  n &= 31;
  return (x >> o) & ((1u << n) - 1);
}
inline u32 bfeI(u32 x, u32 o, u32 n) {
  o &= 31;
  n &= 31;
  if (n == 0)
    return 0;
  u32 up = o + n < 32 ? 32 - o - n : 0, down = o + n < 32 ? 32 - n : o;
  return static_cast<u32>(static_cast<i32>(x << up) >> down);
}
inline u32 reverse(u32 x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(x);
}
inline u32 highBit(u32 x) { return x ? static_cast<u32>(__builtin_clz(x)) : ~0u; }
template <class T> inline T min2(T a, T b) { return a < b ? a : b; }
template <class T> inline T max2(T a, T b) { return a > b ? a : b; }
template <class T> inline T med3(T a, T b, T c) { return max2(min2(a, b), min2(max2(a, b), c)); }

inline u32 byteOf(u32 x, unsigned k) { return x >> (8 * k) & 255; }
inline u32 absDiff(u32 a, u32 b) { return a > b ? a - b : b - a; }
inline u32 sadU8(u32 a, u32 b, u32 c) {
  for (unsigned k = 0; k < 4; ++k)
    c += absDiff(byteOf(a, k), byteOf(b, k));
  return c;
}
inline u32 msadU8(u32 a, u32 b, u32 c) {
  for (unsigned k = 0; k < 4; ++k)
    c += byteOf(b, k) ? absDiff(byteOf(a, k), byteOf(b, k)) : 0;
  return c;
}
inline u32 lerp(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (unsigned k = 0; k < 4; ++k)
    r |= ((byteOf(a, k) + byteOf(b, k) + (c >> (8 * k) & 1)) >> 1) << (8 * k);
  return r;
}
inline u32 permuteBytes(u32 a, u32 b, u32 s) {
  u64 in = u64(a) << 32 | b;
  u32 r = 0;
  for (unsigned k = 0; k < 4; ++k) {
    u32 sel = byteOf(s, k);
    u32 byte = sel >= 13   ? 255
               : sel == 12 ? 0
               : sel >= 8  ? (in >> (16 * (sel - 8) + 15) & 1) * 255
                           : in >> (8 * sel) & 255;
    r |= byte << (8 * k);
  }
  return r;
}

/// d, carry mask = F(a, b, carry in): the additions and subtractions with carry.
template <class F, bool CarryIn> void carryOp(Wave &w, const Inst &i) {
  uint64_t exec = w.exec(), out = 0;
  const uint64_t in = CarryIn ? w.mask(i.src[2].index) : 0;
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    u32 m = static_cast<u32>(exec >> (c * kChunk)), carry = static_cast<u32>(in >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) u32 ba[kChunk], bb[kChunk], r[kChunk], o[kChunk];
    const u32 *a = fetch<U32>(w, i.src[0], c, ba), *b = fetch<U32>(w, i.src[1], c, bb);
    FLYEMU_EACH (l) {
      bool co;
      r[l] = F{}(a[l], b[l], carry >> l & 1, co);
      o[l] = co;
    }
    if (i.flags & kClamp) // saturates towards the side it left
      FLYEMU_EACH (l)
        r[l] = o[l] ? F::kSaturated : r[l];
    out |= u64(maskOf([&](int l) { return o[l]; }) & m) << (c * kChunk);
    store<U32>(w, i, c, m, r);
  }
  w.setMask(i.mask.index, out);
}
struct AddCarry {
  static constexpr u32 kSaturated = ~0u;
  u32 operator()(u32 a, u32 b, u32 c, bool &o) const {
    u64 r = u64(a) + b + c;
    o = r >> 32;
    return static_cast<u32>(r);
  }
};
struct SubBorrow {
  static constexpr u32 kSaturated = 0;
  u32 operator()(u32 a, u32 b, u32 c, bool &o) const {
    o = u64(a) < u64(b) + c;
    return a - b - c;
  }
};
struct SubRevBorrow {
  static constexpr u32 kSaturated = 0;
  u32 operator()(u32 a, u32 b, u32 c, bool &o) const {
    o = u64(b) < u64(a) + c;
    return b - a - c;
  }
};
template <class F> constexpr OpDef carryOut(const char *name) {
  return {name, carryOp<F, false>, Class::Valu, Type::B32, {Type::B32, Type::B32, Type::None},
          {},   Trait::CarryMask};
}
template <class F> constexpr OpDef carryInOut(const char *name) {
  return {name, carryOp<F, true>, Class::Valu, Type::B32, {Type::B32, Type::B32, Type::Mask},
          {},   Trait::CarryMask};
}

/// d = mask[lane] ? b : a
template <class T> void selectOp(Wave &w, const Inst &i) {
  uint64_t exec = w.exec(), mask = w.mask(i.src[2].index);
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    u32 m = static_cast<u32>(exec >> (c * kChunk)), k = static_cast<u32>(mask >> (c * kChunk));
    if (!m)
      continue;
    using L = typename T::type;
    alignas(64) L ba[kChunk], bb[kChunk], r[kChunk];
    const L *a = fetch<T>(w, i.src[0], c, ba), *b = fetch<T>(w, i.src[1], c, bb);
#ifdef __AVX512F__
    if constexpr (T::bits == 32) {
      for (int h = 0; h < kChunk; h += 16)
        _mm512_store_si512(r + h, _mm512_mask_blend_epi32(static_cast<__mmask16>(k >> h),
                                                          _mm512_loadu_si512(a + h),
                                                          _mm512_loadu_si512(b + h)));
      store<T>(w, i, c, m, r);
      continue;
    }
#endif
    FLYEMU_EACH (l)
      r[l] = k >> l & 1 ? b[l] : a[l];
    store<T>(w, i, c, m, r);
  }
}

/// 64-bit d and a carry mask of a multiply-add.
template <class Wide, class T> void wideMad(Wave &w, const Inst &i) {
  uint64_t exec = w.exec(), out = 0;
  using L = typename T::type;
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    u32 m = static_cast<u32>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) L ba[kChunk], bb[kChunk];
    alignas(64) u64 bc[kChunk], r[kChunk];
    const L *a = fetch<T>(w, i.src[0], c, ba), *b = fetch<T>(w, i.src[1], c, bb);
    const u64 *add = fetch<U64>(w, i.src[2], c, bc);
    u32 carry = 0;
    for (int l = 0; l < kChunk; ++l) {
      Wide p = Wide(a[l]) * Wide(b[l]);
      if constexpr (std::is_signed_v<Wide>) {
        i64 s;
        carry |= u32(__builtin_add_overflow(p, static_cast<i64>(add[l]), &s)) << l;
        r[l] = static_cast<u64>(s);
      } else {
        r[l] = p + add[l];
        carry |= u32(r[l] < p) << l;
      }
    }
    out |= u64(carry & m) << (c * kChunk);
    store<U64>(w, i, c, m, r);
  }
  w.setMask(i.mask.index, out);
}

/// The packed sums of absolute differences: 64-bit windows against a 32-bit reference.
template <u32 (*Sad)(u32, u32, u32)> inline u64 windows16(u64 a, u32 b, u64 c) {
  u64 r = 0;
  for (unsigned k = 0; k < 4; ++k)
    r |= u64(Sad(static_cast<u32>(a >> (8 * k)), b, c >> (16 * k) & 0xffff) & 0xffff) << (16 * k);
  return r;
}
void windows32(Wave &w, const Inst &i) {
  uint64_t exec = w.exec();
  for (unsigned lane = 0; lane < w.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    const Operand &o = i.src[0], &p = i.src[1], &q = i.src[2];
    u64 a = o.isVgpr() ? w.row(o.index)[lane] | u64(w.row(o.index + 1)[lane]) << 32 : read64(w, o);
    u32 b = p.isVgpr() ? w.row(p.index)[lane] : read32(w, p), r[4];
    for (unsigned k = 0; k < 4; ++k)
      r[k] = msadU8(static_cast<u32>(a >> (8 * k)), b,
                    q.isVgpr() ? w.row(q.index + k)[lane] : read32(w, q));
    for (unsigned k = 0; k < 4; ++k)
      w.row(i.dst.index + k)[lane] = r[k];
  }
}

/// Any function of three bits: the truth table is in the instruction (CDNA4 ISA, V_BITOP3_B32).
template <class T> void bitop3(Wave &w, const Inst &i) {
  using L = typename T::type;
  uint64_t exec = w.exec();
  L minterm[8];
  for (unsigned k = 0; k < 8; ++k)
    minterm[k] = i.truthTable >> k & 1 ? static_cast<L>(~L(0)) : L(0);
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    u32 m = static_cast<u32>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) L ba[kChunk], bb[kChunk], bc[kChunk], r[kChunk];
    const L *a = fetch<T>(w, i.src[0], c, ba), *b = fetch<T>(w, i.src[1], c, bb),
            *d = fetch<T>(w, i.src[2], c, bc);
    FLYEMU_EACH (l) {
      L x = a[l], y = b[l], z = d[l];
      r[l] = static_cast<L>((~x & ~y & ~z & minterm[0]) | (~x & ~y & z & minterm[1]) |
                            (~x & y & ~z & minterm[2]) | (~x & y & z & minterm[3]) |
                            (x & ~y & ~z & minterm[4]) | (x & ~y & z & minterm[5]) |
                            (x & y & ~z & minterm[6]) | (x & y & z & minterm[7]));
    }
    store<T>(w, i, c, m, r);
  }
}
inline u32 clipI8(i32 x) { return static_cast<u32>(x < -128 ? -128 : x > 127 ? 127 : x) & 255; }
inline u32 clipU8(i32 x) { return static_cast<u32>(x < 0 ? 0 : x > 255 ? 255 : x); }

constexpr OpDef kOps[] = {
    lane<U32, U32>("v_mov_b32", [](u32 a) { return a; }),
    lane<U64, U64>("v_mov_b64", [](u64 a) { return a; }).flows(Flow::Move),
    lane<U32, U32>("v_accvgpr_read_b32", [](u32 a) { return a; }).with(Trait::AccSource),
    lane<U32, U32>("v_accvgpr_write_b32", [](u32 a) { return a; }).with(Trait::AccResult),
    lane<U32, U32>("v_accvgpr_mov_b32", [](u32 a) { return a; })
        .with({Trait::AccSource, Trait::AccResult}),
    OpDef{
        "v_cndmask_b32", selectOp<U32>, Class::Valu, Type::B32, {Type::B32, Type::B32, Type::Mask}}
        .with(Trait::SelectsByMask),
    OpDef{
        "v_cndmask_b16", selectOp<H16>, Class::Valu, Type::B16, {Type::B16, Type::B16, Type::Mask}}
        .with(Trait::SelectsByMask),
    laneSat<U32, U32, U32>(
        "v_add_u32", [](u32 a, u32 b) { return a + b; }, [](u32 a, u32 b) { return addSat(a, b); }),
    laneSat<U32, U32, U32>(
        "v_sub_u32", [](u32 a, u32 b) { return a - b; }, [](u32 a, u32 b) { return subSat(a, b); }),
    laneSat<U32, U32, U32>(
        "v_subrev_u32", [](u32 a, u32 b) { return b - a; },
        [](u32 a, u32 b) { return subSat(b, a); }),
    laneSat<U32, U32, U32>(
        "v_add_nc_u32", [](u32 a, u32 b) { return a + b; },
        [](u32 a, u32 b) { return addSat(a, b); }),
    laneSat<U32, U32, U32>(
        "v_sub_nc_u32", [](u32 a, u32 b) { return a - b; },
        [](u32 a, u32 b) { return subSat(a, b); }),
    laneSat<U32, U32, U32>(
        "v_subrev_nc_u32", [](u32 a, u32 b) { return b - a; },
        [](u32 a, u32 b) { return subSat(b, a); }),
    laneSat<I32, I32, I32>(
        "v_add_i32", [](i32 a, i32 b) { return u32(a) + u32(b); },
        [](i32 a, i32 b) { return clampI32(i64(a) + b); }),
    laneSat<I32, I32, I32>(
        "v_sub_i32", [](i32 a, i32 b) { return u32(a) - u32(b); },
        [](i32 a, i32 b) { return clampI32(i64(a) - b); }),
    laneSat<I32, I32, I32>(
        "v_add_nc_i32", [](i32 a, i32 b) { return u32(a) + u32(b); },
        [](i32 a, i32 b) { return clampI32(i64(a) + b); }),
    laneSat<I32, I32, I32>(
        "v_sub_nc_i32", [](i32 a, i32 b) { return u32(a) - u32(b); },
        [](i32 a, i32 b) { return clampI32(i64(a) - b); }),
    carryOut<AddCarry>("v_add_co_u32"),
    carryOut<SubBorrow>("v_sub_co_u32"),
    carryOut<SubRevBorrow>("v_subrev_co_u32"),
    carryInOut<AddCarry>("v_addc_co_u32"),
    carryInOut<SubBorrow>("v_subb_co_u32"),
    carryInOut<SubRevBorrow>("v_subbrev_co_u32"),
    carryInOut<AddCarry>("v_addc_u32"),
    carryInOut<SubBorrow>("v_subb_u32"),
    carryInOut<SubRevBorrow>("v_subbrev_u32"),
    carryInOut<AddCarry>("v_add_co_ci_u32"),
    carryInOut<SubBorrow>("v_sub_co_ci_u32"),
    carryInOut<SubRevBorrow>("v_subrev_co_ci_u32"),
    lane<U32, U32, U32, U32>("v_add3_u32", [](u32 a, u32 b, u32 c) { return a + b + c; }),
    lane<U32, U32, U32, U32>("v_xad_u32", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; }),
    lane<U32, U32, U32, U32>("v_lshl_add_u32",
                             [](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }),
    lane<U32, U32, U32, U32>("v_add_lshl_u32",
                             [](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }),
    lane<U32, U32, U32, U32>("v_lshl_or_b32",
                             [](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }),
    lane<U32, U32, U32, U32>("v_and_or_b32", [](u32 a, u32 b, u32 c) { return (a & b) | c; }),
    lane<U32, U32, U32, U32>("v_or3_b32", [](u32 a, u32 b, u32 c) { return a | b | c; }),
    lane<U32, U32, U32, U32>("v_xor3_b32", [](u32 a, u32 b, u32 c) { return a ^ b ^ c; }),
    lane<U64, U64, U32, U64>("v_lshl_add_u64",
                             [](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; })
        .with(Trait::LowFromLow),
    lane<U64, U64, U64>("v_add_u64", [](u64 a, u64 b) { return a + b; }).with(Trait::LowFromLow),
    lane<U64, U64, U64>("v_sub_u64", [](u64 a, u64 b) { return a - b; }).with(Trait::LowFromLow),
    lane<U64, U64, U64>("v_mul_u64", [](u64 a, u64 b) { return a * b; }).with(Trait::LowFromLow),
    OpDef{"v_mad_u64_u32",
          wideMad<u64, U32>,
          Class::Valu,
          Type::B64,
          {Type::B32, Type::B32, Type::B64}}
        .costs(Cost::Product)
        .with({Trait::CarryMask, Trait::LowFromLow}),
    OpDef{"v_mad_i64_i32",
          wideMad<i64, I32>,
          Class::Valu,
          Type::B64,
          {Type::B32, Type::B32, Type::B64}}
        .costs(Cost::Product)
        .with({Trait::CarryMask, Trait::LowFromLow}),
    OpDef{"v_mad_co_u64_u32",
          wideMad<u64, U32>,
          Class::Valu,
          Type::B64,
          {Type::B32, Type::B32, Type::B64}}
        .costs(Cost::Product)
        .with({Trait::CarryMask, Trait::LowFromLow}),
    OpDef{"v_mad_co_i64_i32",
          wideMad<i64, I32>,
          Class::Valu,
          Type::B64,
          {Type::B32, Type::B32, Type::B64}}
        .costs(Cost::Product)
        .with({Trait::CarryMask, Trait::LowFromLow}),
    lane<U32, U32, U32>("v_mul_lo_u32", [](u32 a, u32 b) { return a * b; }).costs(Cost::Product),
    lane<U32, U32, U32>("v_mul_hi_u32", [](u32 a, u32 b) { return u64(a) * b >> 32; })
        .costs(Cost::Product),
    lane<U32, I32, I32>("v_mul_hi_i32", [](i32 a, i32 b) { return u64(i64(a) * b) >> 32; })
        .costs(Cost::Product),
    lane<U32, U32, U32>("v_mul_i32_i24",
                        [](u32 a, u32 b) { return u32(sext24(a)) * u32(sext24(b)); }),
    lane<U32, U32, U32>("v_mul_hi_i32_i24",
                        [](u32 a, u32 b) { return u64(i64(sext24(a)) * sext24(b)) >> 32; }),
    lane<U32, U32, U32>("v_mul_u32_u24", [](u32 a, u32 b) { return low24(a) * low24(b); }),
    lane<U32, U32, U32>("v_mul_hi_u32_u24",
                        [](u32 a, u32 b) { return u64(low24(a)) * low24(b) >> 32; }),
    laneSat<U32, U32, U32, U32>(
        "v_mad_i32_i24", [](u32 a, u32 b, u32 c) { return u32(sext24(a)) * u32(sext24(b)) + c; },
        [](u32 a, u32 b, u32 c) { return u32(clampI32(i64(sext24(a)) * sext24(b) + i32(c))); }),
    laneSat<U32, U32, U32, U32>(
        "v_mad_u32_u24", [](u32 a, u32 b, u32 c) { return low24(a) * low24(b) + c; },
        [](u32 a, u32 b, u32 c) {
          u64 r = u64(low24(a)) * low24(b) + c;
          return r >> 32 ? ~0u : u32(r);
        }),
    laneSat<U32, U16, U16, U32>(
        "v_mad_u32_u16", [](u32 a, u32 b, u32 c) { return a * b + c; },
        [](u32 a, u32 b, u32 c) {
          u64 r = u64(a) * b + c;
          return r >> 32 ? ~0u : u32(r);
        }),
    laneSat<I32, I16, I16, I32>(
        "v_mad_i32_i16", [](i32 a, i32 b, i32 c) { return u32(a * b) + u32(c); },
        [](i32 a, i32 b, i32 c) { return clampI32(i64(a) * b + c); }),
    lane<I32, I32, I32>("v_min_i32", [](i32 a, i32 b) { return min2(a, b); }),
    lane<I32, I32, I32>("v_max_i32", [](i32 a, i32 b) { return max2(a, b); }),
    lane<U32, U32, U32>("v_min_u32", [](u32 a, u32 b) { return min2(a, b); }),
    lane<U32, U32, U32>("v_max_u32", [](u32 a, u32 b) { return max2(a, b); }),
    lane<I32, I32, I32, I32>("v_min3_i32", [](i32 a, i32 b, i32 c) { return min2(min2(a, b), c); }),
    lane<U32, U32, U32, U32>("v_min3_u32", [](u32 a, u32 b, u32 c) { return min2(min2(a, b), c); }),
    lane<I32, I32, I32, I32>("v_max3_i32", [](i32 a, i32 b, i32 c) { return max2(max2(a, b), c); }),
    lane<U32, U32, U32, U32>("v_max3_u32", [](u32 a, u32 b, u32 c) { return max2(max2(a, b), c); }),
    lane<I32, I32, I32, I32>("v_med3_i32", [](i32 a, i32 b, i32 c) { return med3(a, b, c); }),
    lane<U32, U32, U32, U32>("v_med3_u32", [](u32 a, u32 b, u32 c) { return med3(a, b, c); }),
    lane<I32, I32, I32, I32>("v_maxmin_i32",
                             [](i32 a, i32 b, i32 c) { return min2(max2(a, b), c); }),
    lane<I32, I32, I32, I32>("v_minmax_i32",
                             [](i32 a, i32 b, i32 c) { return max2(min2(a, b), c); }),
    lane<U32, U32, U32, U32>("v_maxmin_u32",
                             [](u32 a, u32 b, u32 c) { return min2(max2(a, b), c); }),
    lane<U32, U32, U32, U32>("v_minmax_u32",
                             [](u32 a, u32 b, u32 c) { return max2(min2(a, b), c); }),
    // gfx1250: the sum, which the clamp bit saturates, and then the third (LLVM's patterns of smin,
    // smax, umin and umax of a sum).
    laneSat<I32, I32, I32, I32>(
        "v_add_min_i32", [](i32 a, i32 b, i32 c) { return min2(i32(u32(a) + u32(b)), c); },
        [](i32 a, i32 b, i32 c) { return min2(clampI32(i64(a) + b), c); }),
    laneSat<I32, I32, I32, I32>(
        "v_add_max_i32", [](i32 a, i32 b, i32 c) { return max2(i32(u32(a) + u32(b)), c); },
        [](i32 a, i32 b, i32 c) { return max2(clampI32(i64(a) + b), c); }),
    laneSat<U32, U32, U32, U32>(
        "v_add_min_u32", [](u32 a, u32 b, u32 c) { return min2(a + b, c); },
        [](u32 a, u32 b, u32 c) { return min2(addSat(a, b), c); }),
    laneSat<U32, U32, U32, U32>(
        "v_add_max_u32", [](u32 a, u32 b, u32 c) { return max2(a + b, c); },
        [](u32 a, u32 b, u32 c) { return max2(addSat(a, b), c); }),
    lane<U32, U32, U32>("v_lshlrev_b32", [](u32 a, u32 b) { return b << (a & 31); }),
    lane<U32, U32, U32>("v_lshrrev_b32", [](u32 a, u32 b) { return b >> (a & 31); }),
    lane<I32, U32, I32>("v_ashrrev_i32", [](u32 a, i32 b) { return b >> (a & 31); }),
    lane<U64, U32, U64>("v_lshlrev_b64", [](u32 a, u64 b) { return b << (a & 63); })
        .flows(Flow::ShiftLeft),
    lane<U64, U32, U64>("v_lshrrev_b64", [](u32 a, u64 b) { return b >> (a & 63); })
        .flows(Flow::ShiftRight),
    lane<I64, U32, I64>("v_ashrrev_i64", [](u32 a, i64 b) { return b >> (a & 63); })
        .flows(Flow::ShiftRight)
        .with(Trait::SignExtends),
    lane<U32, U32, U32>("v_and_b32", [](u32 a, u32 b) { return a & b; }),
    lane<U32, U32, U32>("v_or_b32", [](u32 a, u32 b) { return a | b; }),
    lane<U32, U32, U32>("v_xor_b32", [](u32 a, u32 b) { return a ^ b; }),
    lane<U32, U32, U32>("v_xnor_b32", [](u32 a, u32 b) { return ~(a ^ b); }),
    lane<U16, U16, U16>("v_and_b16", [](u16 a, u16 b) { return a & b; }),
    lane<U16, U16, U16>("v_or_b16", [](u16 a, u16 b) { return a | b; }),
    lane<U16, U16, U16>("v_xor_b16", [](u16 a, u16 b) { return a ^ b; }),
    lane<U32, U32>("v_not_b32", [](u32 a) { return ~a; }),
    lane<U16, U16>("v_not_b16", [](u16 a) { return ~a; }),
    lane<U16, U16>("v_mov_b16", [](u16 a) { return a; }),
    lane<U32, U32>("v_bfrev_b32", [](u32 a) { return reverse(a); }),
    lane<U32, U32>("v_ffbh_u32", [](u32 a) { return highBit(a); }),
    lane<U32, U32>("v_ffbl_b32", [](u32 a) { return a ? u32(__builtin_ctz(a)) : ~0u; }),
    lane<U32, U32>("v_ffbh_i32", [](u32 a) { return highBit(i32(a) < 0 ? ~a : a); }),
    lane<U32, U32>("v_clz_i32_u32", [](u32 a) { return highBit(a); }),
    lane<U32, U32>("v_ctz_i32_b32", [](u32 a) { return a ? u32(__builtin_ctz(a)) : ~0u; }),
    lane<U32, U32>("v_cls_i32", [](u32 a) { return highBit(i32(a) < 0 ? ~a : a); }),
    OpDef{"v_bitop3_b32", bitop3<U32>, Class::Valu, Type::B32, {Type::B32, Type::B32, Type::B32}}
        .with(Trait::TruthTable),
    OpDef{"v_bitop3_b16", bitop3<U16>, Class::Valu, Type::B16, {Type::B16, Type::B16, Type::B16}}
        .with(Trait::TruthTable),
    lane<U32, U32>("v_prng_b32", [](u32 a) { return (a << 1) ^ (a >> 31 ? 197u : 0u); }),
    lane<U16, I32, I32, U32>(
        "v_ashr_pk_i8_i32",
        [](i32 a, i32 b, u32 c) { return clipI8(a >> (c & 31)) | clipI8(b >> (c & 31)) << 8; }),
    lane<U16, I32, I32, U32>(
        "v_ashr_pk_u8_i32",
        [](i32 a, i32 b, u32 c) { return clipU8(a >> (c & 31)) | clipU8(b >> (c & 31)) << 8; }),
    lane<U32, U32, U32>("v_bcnt_u32_b32",
                        [](u32 a, u32 b) { return u32(__builtin_popcount(a)) + b; }),
    lane<U32, U32, U32>("v_bfm_b32",
                        [](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }),
    lane<U32, U32, U32, U32>("v_bfe_u32", [](u32 a, u32 b, u32 c) { return bfeU(a, b, c); }),
    lane<U32, U32, U32, U32>("v_bfe_i32", [](u32 a, u32 b, u32 c) { return bfeI(a, b, c); }),
    lane<U32, U32, U32, U32>("v_bfi_b32", [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }),
    lane<U32, U32, U32, U32>("v_alignbit_b32",
                             [](u32 a, u32 b, u32 c) { return (u64(a) << 32 | b) >> (c & 31); }),
    lane<U32, U32, U32, U32>(
        "v_alignbyte_b32", [](u32 a, u32 b, u32 c) { return (u64(a) << 32 | b) >> (8 * (c & 3)); }),
    lane<U32, U32, U32, U32>("v_perm_b32",
                             [](u32 a, u32 b, u32 c) { return permuteBytes(a, b, c); }),
    lane<U32, U32, U32, U32>("v_lerp_u8", [](u32 a, u32 b, u32 c) { return lerp(a, b, c); }),
    laneSat<U32, U32, U32, U32>(
        "v_sad_u8", [](u32 a, u32 b, u32 c) { return sadU8(a, b, c); },
        [](u32 a, u32 b, u32 c) { return addSat(sadU8(a, b, 0), c); }),
    laneSat<U32, U32, U32, U32>(
        "v_sad_hi_u8", [](u32 a, u32 b, u32 c) { return (sadU8(a, b, 0) << 16) + c; },
        [](u32 a, u32 b, u32 c) { return addSat(sadU8(a, b, 0) << 16, c); }),
    laneSat<U32, U32, U32, U32>(
        "v_sad_u16",
        [](u32 a, u32 b, u32 c) {
          return absDiff(a & 0xffff, b & 0xffff) + absDiff(a >> 16, b >> 16) + c;
        },
        [](u32 a, u32 b, u32 c) {
          return addSat(absDiff(a & 0xffff, b & 0xffff) + absDiff(a >> 16, b >> 16), c);
        }),
    laneSat<U32, U32, U32, U32>(
        "v_sad_u32", [](u32 a, u32 b, u32 c) { return absDiff(a, b) + c; },
        [](u32 a, u32 b, u32 c) { return addSat(absDiff(a, b), c); }),
    laneSat<U32, U32, U32, U32>(
        "v_msad_u8", [](u32 a, u32 b, u32 c) { return msadU8(a, b, c); },
        [](u32 a, u32 b, u32 c) { return addSat(msadU8(a, b, 0), c); }),
    lane<U64, U64, U32, U64>("v_qsad_pk_u16_u8",
                             [](u64 a, u32 b, u64 c) { return windows16<sadU8>(a, b, c); })
        .costs(Cost::Quarter),
    lane<U64, U64, U32, U64>("v_mqsad_pk_u16_u8",
                             [](u64 a, u32 b, u64 c) { return windows16<msadU8>(a, b, c); }),
    OpDef{"v_mqsad_u32_u8", windows32, Class::Valu, Type::B128, {Type::B64, Type::B32, Type::B128}}
        .costs(Cost::Quarter),

    laneSat<U16, U16, U16>(
        "v_add_u16", [](i32 a, i32 b) { return a + b; },
        [](i32 a, i32 b) { return clampU16(a + b); }),
    laneSat<U16, U16, U16>(
        "v_sub_u16", [](i32 a, i32 b) { return a - b; },
        [](i32 a, i32 b) { return clampU16(a - b); }),
    laneSat<U16, U16, U16>(
        "v_subrev_u16", [](i32 a, i32 b) { return b - a; },
        [](i32 a, i32 b) { return clampU16(b - a); }),
    laneSat<U16, U16, U16>(
        "v_add_nc_u16", [](i32 a, i32 b) { return a + b; },
        [](i32 a, i32 b) { return clampU16(a + b); }),
    laneSat<U16, U16, U16>(
        "v_sub_nc_u16", [](i32 a, i32 b) { return a - b; },
        [](i32 a, i32 b) { return clampU16(a - b); }),
    laneSat<I16, I16, I16>(
        "v_add_i16", [](i32 a, i32 b) { return a + b; },
        [](i32 a, i32 b) { return clampI16(a + b); }),
    laneSat<I16, I16, I16>(
        "v_sub_i16", [](i32 a, i32 b) { return a - b; },
        [](i32 a, i32 b) { return clampI16(a - b); }),
    laneSat<I16, I16, I16>(
        "v_add_nc_i16", [](i32 a, i32 b) { return a + b; },
        [](i32 a, i32 b) { return clampI16(a + b); }),
    laneSat<I16, I16, I16>(
        "v_sub_nc_i16", [](i32 a, i32 b) { return a - b; },
        [](i32 a, i32 b) { return clampI16(a - b); }),
    lane<U16, U16, U16>("v_mul_lo_u16", [](u32 a, u32 b) { return a * b; }),
    laneSat<U16, U16, U16, U16>(
        "v_mad_u16", [](u32 a, u32 b, u32 c) { return a * b + c; },
        [](u32 a, u32 b, u32 c) {
          u64 r = u64(a) * b + c;
          return r > 65535 ? 65535 : r;
        }),
    laneSat<I16, I16, I16, I16>(
        "v_mad_i16", [](i32 a, i32 b, i32 c) { return a * b + c; },
        [](i32 a, i32 b, i32 c) { return clampI16(a * b + c); }),
    laneSat<U16, U16, U16, U16>(
        "v_mad_legacy_u16", [](u32 a, u32 b, u32 c) { return a * b + c; },
        [](u32 a, u32 b, u32 c) {
          u64 r = u64(a) * b + c;
          return r > 65535 ? 65535 : r;
        })
        .with(Trait::ClearsHigh),
    laneSat<I16, I16, I16, I16>(
        "v_mad_legacy_i16", [](i32 a, i32 b, i32 c) { return a * b + c; },
        [](i32 a, i32 b, i32 c) { return clampI16(a * b + c); })
        .with(Trait::ClearsHigh),
    lane<U16, U16, U16>("v_lshlrev_b16", [](u32 a, u32 b) { return b << (a & 15); }),
    lane<U16, U16, U16>("v_lshrrev_b16", [](u32 a, u32 b) { return b >> (a & 15); }),
    lane<I16, U16, I16>("v_ashrrev_i16", [](u32 a, i32 b) { return b >> (a & 15); }),
    lane<U16, U16, U16>("v_max_u16", [](u16 a, u16 b) { return max2(a, b); }),
    lane<I16, I16, I16>("v_max_i16", [](i16 a, i16 b) { return max2(a, b); }),
    lane<U16, U16, U16>("v_min_u16", [](u16 a, u16 b) { return min2(a, b); }),
    lane<I16, I16, I16>("v_min_i16", [](i16 a, i16 b) { return min2(a, b); }),
    lane<U16, U16, U16, U16>("v_max3_u16", [](u16 a, u16 b, u16 c) { return max2(max2(a, b), c); }),
    lane<I16, I16, I16, I16>("v_max3_i16", [](i16 a, i16 b, i16 c) { return max2(max2(a, b), c); }),
    lane<U16, U16, U16, U16>("v_min3_u16", [](u16 a, u16 b, u16 c) { return min2(min2(a, b), c); }),
    lane<I16, I16, I16, I16>("v_min3_i16", [](i16 a, i16 b, i16 c) { return min2(min2(a, b), c); }),
    lane<U16, U16, U16, U16>("v_med3_u16", [](u16 a, u16 b, u16 c) { return med3(a, b, c); }),
    lane<I16, I16, I16, I16>("v_med3_i16", [](i16 a, i16 b, i16 c) { return med3(a, b, c); }),
    lane<U32, H16, H16>("v_pack_b32_f16", [](u32 a, u32 b) { return a | b << 16; })
        .with(Trait::PacksHalves),
    lane<U16, U32>("v_sat_pk_u8_i16",
                   [](u32 a) {
                     i32 lo = i16(a), hi = i16(a >> 16);
                     lo = lo < 0 ? 0 : lo > 255 ? 255 : lo;
                     hi = hi < 0 ? 0 : hi > 255 ? 255 : hi;
                     return lo | hi << 8;
                   }),
    // gfx1250: four bytes to four fields of four bits.
    lane<U16, U32>("v_sat_pk4_u4_u8",
                   [](u32 a) {
                     u32 r = 0;
                     for (unsigned k = 0; k < 4; ++k)
                       r |= min2(byteOf(a, k), 15u) << (4 * k);
                     return r;
                   }),
    lane<U16, U32>("v_sat_pk4_i4_i8",
                   [](u32 a) {
                     u32 r = 0;
                     for (unsigned k = 0; k < 4; ++k)
                       r |= (u32(max2(min2(i32(int8_t(byteOf(a, k))), 7), -8)) & 15) << (4 * k);
                     return r;
                   }),
    lane<U32, U32, U32>("v_cvt_pk_u16_u32",
                        [](u32 a, u32 b) { return min2(a, 65535u) | min2(b, 65535u) << 16; }),
    lane<U32, I32, I32>("v_cvt_pk_i16_i32",
                        [](i32 a, i32 b) {
                          auto clip = [](i32 x) {
                            return u32(x < -32768 ? -32768 : x > 32767 ? 32767 : x) & 0xffff;
                          };
                          return clip(a) | clip(b) << 16;
                        }),
    laneSat<I32, U32, U32, I32>(
        "v_dot4_i32_i8",
        [](u32 a, u32 b, i32 c) {
          for (int k = 0; k < 4; ++k)
            c = i32(u32(c) + u32(int8_t(a >> (8 * k)) * int8_t(b >> (8 * k))));
          return c;
        },
        [](u32 a, u32 b, i32 c) {
          i64 r = c;
          for (int k = 0; k < 4; ++k)
            r += int8_t(a >> (8 * k)) * int8_t(b >> (8 * k));
          return clampI32(r);
        })
        .with(Trait::WaitsForProduct),
    laneSat<U32, U32, U32, U32>(
        "v_dot4_u32_u8",
        [](u32 a, u32 b, u32 c) {
          for (int k = 0; k < 4; ++k)
            c += byteOf(a, k) * byteOf(b, k);
          return c;
        },
        [](u32 a, u32 b, u32 c) {
          u64 r = c;
          for (int k = 0; k < 4; ++k)
            r += byteOf(a, k) * byteOf(b, k);
          return r >> 32 ? ~0u : u32(r);
        })
        .with(Trait::WaitsForProduct),
    laneSat<I32, U32, U32, I32>(
        "v_dot8_i32_i4",
        [](u32 a, u32 b, i32 c) {
          for (int k = 0; k < 8; ++k)
            c = i32(u32(c) + u32((i32(a << (28 - 4 * k)) >> 28) * (i32(b << (28 - 4 * k)) >> 28)));
          return c;
        },
        [](u32 a, u32 b, i32 c) {
          i64 r = c;
          for (int k = 0; k < 8; ++k)
            r += (i32(a << (28 - 4 * k)) >> 28) * (i32(b << (28 - 4 * k)) >> 28);
          return clampI32(r);
        })
        .with(Trait::WaitsForProduct),
    laneSat<U32, U32, U32, U32>(
        "v_dot8_u32_u4",
        [](u32 a, u32 b, u32 c) {
          for (int k = 0; k < 8; ++k)
            c += (a >> (4 * k) & 15) * (b >> (4 * k) & 15);
          return c;
        },
        [](u32 a, u32 b, u32 c) {
          u64 r = c;
          for (int k = 0; k < 8; ++k)
            r += (a >> (4 * k) & 15) * (b >> (4 * k) & 15);
          return r >> 32 ? ~0u : u32(r);
        })
        .with(Trait::WaitsForProduct),
};
} // namespace

FLYEMU_EXPORT(ValuInt, kOps)

} // namespace flyemu
