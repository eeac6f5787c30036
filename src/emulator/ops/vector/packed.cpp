// VOP3P: two 16-bit or two 32-bit operations at once, mixed-precision multiply-adds.
#include "emulator/ops/vector/lanes.h"

#include <algorithm>

namespace flyemu {

namespace {
/// The operand with op_sel's choice for one element: `select` has a bit for each source.
template <bool High> inline Operand element(const Inst &i, unsigned k) {
  Operand o = i.src[k];
  bool upper = (High ? i.opselHi : i.opsel) >> k & 1;
  uint8_t negate = High ? (o.flags & kNegHi ? kNeg : 0) : (o.flags & kNeg);
  // A constant is 32 bits with the value in the low half; inline integers are sign-extended, so
  // both halves exist.
  o.flags = static_cast<uint8_t>((upper ? kHigh : 0) | negate | (o.flags & kAbs));
  return o;
}

/// d.lo = F(lo elements), d.hi = F(hi elements)
template <class F, class D, class... S> void packedOp(Wave &w, const Inst &i) {
  Inst lo = i, hi = i;
  for (unsigned k = 0; k < sizeof...(S); ++k) {
    lo.src[k] = element<false>(i, k);
    hi.src[k] = element<true>(i, k);
  }
  // The destination may be a source: build both halves in temporary rows first.
  lo.dst = w.tempOperand(4);
  hi.dst = w.tempOperand(5);
  lo.flags &= static_cast<uint16_t>(~kKeepHigh);
  hi.flags = lo.flags;
  laneOp<F, D, S...>(w, lo);
  laneOp<F, D, S...>(w, hi);
  uint64_t exec = w.exec();
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk));
    if (!m)
      continue;
    const uint32_t *a = w.temp(4) + c * kChunk, *b = w.temp(5) + c * kChunk;
    alignas(64) uint32_t r[kChunk];
    FLYEMU_EACH (l)
      r[l] = (a[l] & 0xffff) | b[l] << 16;
    storeRow(w.row(i.dst.index) + c * kChunk, r, m);
  }
}
template <class D, class... S, class F> constexpr OpDef packed(const char *name, F) {
  return signature<D, S...>(name, packedOp<F, D, S...>);
}
template <class F, class G, class D, class... S> void packedSaturatingOp(Wave &w, const Inst &i) {
  if (i.flags & kClamp)
    packedOp<G, D, S...>(w, i);
  else
    packedOp<F, D, S...>(w, i);
}
template <class D, class... S, class F, class G> constexpr OpDef packedSat(const char *name, F, G) {
  return signature<D, S...>(name, packedSaturatingOp<F, G, D, S...>);
}
template <class F> void packedAccOp(Wave &w, const Inst &i) {
  Inst full = i;
  full.src[2] = i.dst;
  full.opselHi = 7;
  full.opsel = 0;
  packedOp<F, F16, F16, F16, F16>(w, full);
}

/// Two floats in consecutive registers; op_sel chooses between the registers of a source.
template <class F, class... S> void packedFloatOp(Wave &w, const Inst &i) {
  auto pick = [&](unsigned k, bool high) {
    Operand o = i.src[k];
    bool upper = (high ? i.opselHi : i.opsel) >> k & 1;
    bool negate = o.flags & (high ? kNegHi : kNeg);
    if ((o.kind == Kind::Vgpr || o.kind == Kind::Sgpr) && upper)
      ++o.index;
    o.flags = negate ? kNeg : 0;
    return o;
  };
  Inst lo = i, hi = i;
  for (unsigned k = 0; k < sizeof...(S); ++k) {
    lo.src[k] = pick(k, false);
    hi.src[k] = pick(k, true);
  }
  lo.dst.index = w.tempOperand(4).index;
  laneOp<F, F32, S...>(w, lo);
  hi.dst.index = static_cast<uint16_t>(i.dst.index + 1);
  laneOp<F, F32, S...>(w, hi);
  uint64_t exec = w.exec();
  for (unsigned c = 0; c * kChunk < w.lanes; ++c)
    if (uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk)))
      storeRow(w.row(i.dst.index) + c * kChunk, w.temp(4) + c * kChunk, m);
}
template <class... S, class F> constexpr OpDef packedFloat(const char *name, F) {
  OpDef d = signature<F32, S...>(name, packedFloatOp<F, S...>);
  d.dst = Type::B64;
  d.flow = Flow::Packed;
  return d;
}
/// Moves two dwords, each from the register of its source that op_sel tells (CDNA3 ISA,
/// V_PK_MOV_B32).
void packedMove(Wave &w, const Inst &i) {
  uint64_t exec = w.exec();
  auto value = [&](unsigned k, unsigned lane) {
    const Operand &o = i.src[k];
    unsigned upper = i.opsel >> k & 1;
    return o.isVgpr()             ? w.row(o.index + upper)[lane]
           : o.kind == Kind::Sgpr ? w.s[o.index + upper]
                                  : read32(w, o);
  };
  uint32_t *out = w.row(i.dst.index);
  for (unsigned lane = 0; lane < w.lanes; ++lane)
    if (exec >> lane & 1) {
      uint32_t x = value(0, lane), y = value(1, lane);
      out[lane] = x;
      out[kLanes + lane] = y;
    }
}

/// Mixed precision: op_sel_hi tells whether a source is a half (of the part that op_sel tells) or a
/// float.
template <int Part> void mixOp(Wave &w, const Inst &i) {
  FloatScope<false, false> scope(w);
  uint64_t exec = w.exec();
  Inst half = i;
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) float bufs[3][kChunk], r[kChunk];
    const float *in[3];
    for (unsigned k = 0; k < 3; ++k) {
      Operand o = i.src[k];
      // NEG_HI is the absolute value here.
      o.flags = static_cast<uint8_t>((o.flags & kNeg) | (o.flags & kNegHi ? kAbs : 0));
      if (i.opselHi >> k & 1) {
        if (i.opsel >> k & 1)
          o.flags |= kHigh;
        if (o.kind == Kind::Imm && o.value > 0xffff && (o.value & 0xff000000) != 0xff000000)
          o.value = floatToHalf(asFloat(o.value)); // inline floats of a half source
        in[k] = fetch<F16>(w, o, c, bufs[k]);
      } else {
        in[k] = fetch<F32>(w, o, c, bufs[k]);
      }
    }
    if (Part < 0) {
      FLYEMU_EACH (l)
        r[l] = fma(in[0][l], in[1][l], in[2][l]);
      store<F32>(w, i, c, m, r);
    } else {
      // One rounding, to half: the float sum would be a second one.
      FLYEMU_EACH (l) {
        r[l] = nanOf(toOdd(__builtin_fma(double(in[0][l]), double(in[1][l]), double(in[2][l]))),
                     in[0][l], in[1][l], in[2][l]);
      }
      half.dst.flags = Part == 1 ? kHigh : 0;
      half.flags = i.flags | kKeepHigh;
      store<F16>(w, half, c, m, r);
    }
  }
}

inline uint16_t clampU16(int32_t x) {
  return static_cast<uint16_t>(x > 65535 ? 65535 : x < 0 ? 0 : x);
}
inline int16_t clampI16(int32_t x) {
  return static_cast<int16_t>(x > 32767 ? 32767 : x < -32768 ? -32768 : x);
}
constexpr OpDef kOps[] = {
    packed<F16, F16, F16>("v_pk_add_f16", [](float a, float b) { return add(a, b); }),
    packed<F16, F16, F16>("v_pk_mul_f16", [](float a, float b) { return mul(a, b); }),
    packed<N16, N16, N16>("v_pk_min_f16",
                          [](uint16_t a, uint16_t b) { return minMaxHalf<false>(a, b); }),
    packed<N16, N16, N16>("v_pk_max_f16",
                          [](uint16_t a, uint16_t b) { return minMaxHalf<true>(a, b); }),
    packed<N16, N16, N16>("v_pk_min_num_f16",
                          [](uint16_t a, uint16_t b) { return minMaxHalf<false>(a, b); }),
    packed<N16, N16, N16>("v_pk_max_num_f16",
                          [](uint16_t a, uint16_t b) { return minMaxHalf<true>(a, b); }),
    packed<N16, N16, N16>("v_pk_minimum_f16",
                          [](uint16_t a, uint16_t b) { return extremeHalf<false>(a, b); }),
    packed<N16, N16, N16>("v_pk_maximum_f16",
                          [](uint16_t a, uint16_t b) { return extremeHalf<true>(a, b); }),
    packed<N16, N16, N16, N16>("v_pk_minimum3_f16",
                               [](uint16_t a, uint16_t b, uint16_t c) {
                                 return extremeHalf<false>(extremeHalf<false>(a, b), c);
                               }),
    packed<N16, N16, N16, N16>("v_pk_maximum3_f16",
                               [](uint16_t a, uint16_t b, uint16_t c) {
                                 return extremeHalf<true>(extremeHalf<true>(a, b), c);
                               }),
    packed<F16, F16, F16, F16>("v_pk_fma_f16",
                               [](float a, float b, float c) { return fmaHalf(a, b, c); }),
    {"v_pk_fmac_f16",
     packedAccOp<decltype([](float a, float b, float c) { return fmaHalf(a, b, c); })>,
     Class::Valu,
     Type::B32,
     {Type::F16, Type::F16, Type::None}},
    packedSat<U16, U16, U16>(
        "v_pk_add_u16", [](int32_t a, int32_t b) { return a + b; },
        [](int32_t a, int32_t b) { return clampU16(a + b); }),
    packedSat<U16, U16, U16>(
        "v_pk_sub_u16", [](int32_t a, int32_t b) { return a - b; },
        [](int32_t a, int32_t b) { return clampU16(a - b); }),
    packedSat<I16, I16, I16>(
        "v_pk_add_i16", [](int32_t a, int32_t b) { return a + b; },
        [](int32_t a, int32_t b) { return clampI16(a + b); }),
    packedSat<I16, I16, I16>(
        "v_pk_sub_i16", [](int32_t a, int32_t b) { return a - b; },
        [](int32_t a, int32_t b) { return clampI16(a - b); }),
    packed<U16, U16, U16>("v_pk_mul_lo_u16", [](uint32_t a, uint32_t b) { return a * b; }),
    packedSat<U16, U16, U16, U16>(
        "v_pk_mad_u16", [](uint32_t a, uint32_t b, uint32_t c) { return a * b + c; },
        [](uint32_t a, uint32_t b, uint32_t c) {
          uint64_t r = uint64_t(a) * b + c;
          return r > 65535 ? 65535 : r;
        }),
    packedSat<I16, I16, I16, I16>(
        "v_pk_mad_i16", [](int32_t a, int32_t b, int32_t c) { return a * b + c; },
        [](int32_t a, int32_t b, int32_t c) { return clampI16(a * b + c); }),
    packed<U16, U16, U16>("v_pk_max_u16", [](uint16_t a, uint16_t b) { return a > b ? a : b; }),
    packed<U16, U16, U16>("v_pk_min_u16", [](uint16_t a, uint16_t b) { return a < b ? a : b; }),
    packed<I16, I16, I16>("v_pk_max_i16", [](int16_t a, int16_t b) { return a > b ? a : b; }),
    packed<I16, I16, I16>("v_pk_min_i16", [](int16_t a, int16_t b) { return a < b ? a : b; }),
    // gfx1250: of three; of the floats, that of two of them and the third.
    packed<U16, U16, U16, U16>("v_pk_max3_u16",
                               [](uint16_t a, uint16_t b, uint16_t c) {
                                 return std::max({a, b, c});
                               }),
    packed<U16, U16, U16, U16>("v_pk_min3_u16",
                               [](uint16_t a, uint16_t b, uint16_t c) {
                                 return std::min({a, b, c});
                               }),
    packed<I16, I16, I16, I16>("v_pk_max3_i16",
                               [](int16_t a, int16_t b, int16_t c) {
                                 return std::max({a, b, c});
                               }),
    packed<I16, I16, I16, I16>("v_pk_min3_i16",
                               [](int16_t a, int16_t b, int16_t c) {
                                 return std::min({a, b, c});
                               }),
    packedSat<U16, U16, U16, U16>(
        "v_pk_add_max_u16",
        [](uint16_t a, uint16_t b, uint16_t c) { return std::max<uint16_t>(a + b, c); },
        [](uint16_t a, uint16_t b, uint16_t c) { return std::max(clampU16(a + b), c); }),
    packedSat<U16, U16, U16, U16>(
        "v_pk_add_min_u16",
        [](uint16_t a, uint16_t b, uint16_t c) { return std::min<uint16_t>(a + b, c); },
        [](uint16_t a, uint16_t b, uint16_t c) { return std::min(clampU16(a + b), c); }),
    packedSat<I16, I16, I16, I16>(
        "v_pk_add_max_i16",
        [](int16_t a, int16_t b, int16_t c) { return std::max<int16_t>(a + b, c); },
        [](int16_t a, int16_t b, int16_t c) { return std::max(clampI16(a + b), c); }),
    packedSat<I16, I16, I16, I16>(
        "v_pk_add_min_i16",
        [](int16_t a, int16_t b, int16_t c) { return std::min<int16_t>(a + b, c); },
        [](int16_t a, int16_t b, int16_t c) { return std::min(clampI16(a + b), c); }),
    packed<N16, N16, N16, N16>("v_pk_max3_num_f16",
                               [](uint16_t a, uint16_t b, uint16_t c) {
                                 return minMaxHalf<true>(minMaxHalf<true>(a, b), c);
                               }),
    packed<N16, N16, N16, N16>("v_pk_min3_num_f16",
                               [](uint16_t a, uint16_t b, uint16_t c) {
                                 return minMaxHalf<false>(minMaxHalf<false>(a, b), c);
                               }),
    packed<U16, U16, U16>("v_pk_lshlrev_b16", [](uint32_t a, uint32_t b) { return b << (a & 15); }),
    packed<U16, U16, U16>("v_pk_lshrrev_b16", [](uint32_t a, uint32_t b) { return b >> (a & 15); }),
    packed<I16, U16, I16>("v_pk_ashrrev_i16", [](uint32_t a, int32_t b) { return b >> (a & 15); }),
    packedFloat<F32, F32, F32>("v_pk_fma_f32",
                               [](float a, float b, float c) { return fma(a, b, c); })
        .with(Trait::WaitsForProduct),
    packedFloat<F32, F32>("v_pk_mul_f32", [](float a, float b) { return mul(a, b); })
        .with(Trait::WaitsForProduct),
    packedFloat<F32, F32>("v_pk_add_f32", [](float a, float b) { return add(a, b); })
        .with(Trait::WaitsForProduct),
    OpDef{"v_pk_mov_b32", packedMove, Class::Valu, Type::B64, {Type::B32, Type::B32, Type::None}}
        .flows(Flow::PackedMove)
        .with(Trait::WaitsForProduct),
    {"v_fma_mix_f32", mixOp<-1>, Class::Valu, Type::F32, {Type::F32, Type::F32, Type::F32}},
    {"v_fma_mixlo_f16", mixOp<0>, Class::Valu, Type::F16, {Type::F32, Type::F32, Type::F32}},
    {"v_fma_mixhi_f16", mixOp<1>, Class::Valu, Type::F16, {Type::F32, Type::F32, Type::F32}},
};
} // namespace

FLYEMU_EXPORT(ValuPacked, kOps)

} // namespace flyemu
