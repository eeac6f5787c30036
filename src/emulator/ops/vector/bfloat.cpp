// gfx1250's operations on bfloats. Results are rounded to nearest even, whatever MODE says, and
// denormals are kept: no source was found that says otherwise. Transcendental functions are rounded
// from double, as those of floats are.
#include "emulator/ops/vector/lanes.h"

#include <cmath>

namespace flyemu {

namespace {
inline float wide(uint16_t x) { return asFloat(uint32_t(x) << 16); }

/// The bfloat nearest to a * b + c, rounded once: the product is exact in double, and where the sum
/// is not, its last bit is made odd, so that rounding it again to fewer bits is right.
inline uint16_t sumOfProduct(float a, float b, float c) {
  const double product = double(a) * double(b), sum = product + double(c);
  if (!(__builtin_fabs(sum) <= 1.7976931348623157e308))
    return toBfloat(nanOf(static_cast<float>(sum), a, b, c));
  const double back = sum - product, lost = (product - (sum - back)) + (double(c) - back);
  uint64_t bits = bitsOf(sum);
  if (lost != 0 && !(bits & 1))
    bits += (lost > 0) == (sum > 0) ? 1 : ~uint64_t(0);
  return toBfloat(toOdd(asDouble(bits)));
}

inline uint16_t fmaBfloat(uint16_t x, uint16_t y, uint16_t z) {
  return sumOfProduct(wide(x), wide(y), wide(z));
}

/// The clamp bit: between 0 and 1, a NaN becomes 0.
inline uint16_t clamped(uint16_t x) {
  return x & 0x8000 || (x & 0x7fff) > 0x7f80 ? 0 : x > 0x3f80 ? 0x3f80 : x;
}

/// Mixed precision, as with halves: op_sel_hi tells whether a source is a bfloat (of the part that
/// op_sel tells) or a float; NEG_HI is the absolute value. `Part` is the half of the result, or -1
/// for a float.
template <int Part> void mixBfloat(Wave &w, const Inst &i) {
  FloatScope<false, false> scope(w);
  const uint64_t exec = w.exec();
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    const auto m = static_cast<uint32_t>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) float bufs[3][kChunk], r[kChunk];
    const float *in[3];
    for (unsigned k = 0; k < 3; ++k) {
      Operand o = i.src[k];
      o.flags = static_cast<uint8_t>((o.flags & kNeg) | (o.flags & kNegHi ? kAbs : 0));
      if (!(i.opselHi >> k & 1)) {
        in[k] = fetch<F32>(w, o, c, bufs[k]);
        continue;
      }
      if (i.opsel >> k & 1)
        o.flags |= kHigh;
      // Inline floats of a source that is a bfloat; integers are its bits.
      if (o.kind == Kind::Imm && o.value > 0xffff && (o.value & 0xff000000) != 0xff000000)
        o.value >>= 16;
      alignas(64) uint16_t half[kChunk];
      const uint16_t *bits = fetch<BF16>(w, o, c, half);
      for (unsigned l = 0; l < kChunk; ++l)
        bufs[k][l] = wide(bits[l]);
      in[k] = bufs[k];
    }
    if constexpr (Part < 0) {
      FLYEMU_EACH (l)
        r[l] = fma(in[0][l], in[1][l], in[2][l]);
      store<F32>(w, i, c, m, r);
    } else {
      alignas(64) uint16_t sums[kChunk];
      for (unsigned l = 0; l < kChunk; ++l) {
        const uint16_t x = sumOfProduct(in[0][l], in[1][l], in[2][l]);
        sums[l] = i.flags & kClamp ? clamped(x) : x;
      }
      Inst half = i;
      half.dst.flags = Part == 1 ? kHigh : 0;
      half.flags = i.flags | kKeepHigh;
      store<BF16>(w, half, c, m, sums);
    }
  }
}

/// A function of a float that is rounded from double: to float by odd, to bfloat by even.
template <class F> inline uint16_t unary(uint16_t x, F f) {
  const float a = wide(x);
  const double r = f(double(a));
  return toBfloat(a != a ? quiet(a) : r != r ? asFloat(0x7fc00000) : toOdd(r));
}

/// sin or cos of 2 pi x, with exact zeros.
template <bool Cos> inline double turns(double a) {
  const double x = a - __builtin_roundeven(a);
  constexpr double kTurn = 6.283185307179586476925;
  if (__builtin_fabs(x) == (Cos ? 0.25 : 0.5) || (!Cos && x == 0))
    return 0;
  return Cos ? __builtin_cos(x * kTurn) : __builtin_sin(x * kTurn);
}

template <bool Max> inline uint16_t number(uint16_t a, uint16_t b) {
  return static_cast<uint16_t>(bitsOf(extreme<Max, false>(wide(a), wide(b))) >> 16);
}

/// Both halves of a packed operation: op_sel and op_sel_hi choose the halves of the sources.
template <class F, unsigned N> void packedBfloat(Wave &w, const Inst &i) {
  const uint64_t exec = w.exec();
  F f;
  auto pick = [&](unsigned k, bool high, unsigned c, uint16_t *out) {
    Operand o = i.src[k];
    const bool upper = (high ? i.opselHi : i.opsel) >> k & 1,
               negated = o.flags & (high ? kNegHi : kNeg);
    o.flags = static_cast<uint8_t>((upper ? kHigh : 0) | (negated ? kNeg : 0));
    const uint16_t *in = fetch<BF16>(w, o, c, out);
    if (in != out)
      std::memcpy(out, in, sizeof(uint16_t) * kChunk);
  };
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    const auto m = static_cast<uint32_t>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) uint16_t in[3][kChunk];
    alignas(64) uint32_t r[kChunk];
    for (bool high : {false, true}) {
      for (unsigned k = 0; k < N; ++k)
        pick(k, high, c, in[k]);
      for (unsigned l = 0; l < kChunk; ++l) {
        uint16_t x;
        if constexpr (N == 3)
          x = f(in[0][l], in[1][l], in[2][l]);
        else
          x = f(in[0][l], in[1][l]);
        if (i.flags & kClamp)
          x = clamped(x);
        r[l] = high ? r[l] | uint32_t(x) << 16 : x;
      }
    }
    storeRow(w.row(i.dst.index) + c * kChunk, r, m);
  }
}
template <class F> constexpr OpDef packed2(const char *name, F) {
  return {name, packedBfloat<F, 2>, Class::Valu, Type::B32, {Type::BF16, Type::BF16, Type::None}};
}
template <class F> constexpr OpDef packed3(const char *name, F) {
  return {name, packedBfloat<F, 3>, Class::Valu, Type::B32, {Type::BF16, Type::BF16, Type::BF16}};
}
template <class F> constexpr OpDef function(const char *name, F) {
  return lane<BF16, BF16>(name, [](uint16_t a) { return unary(a, F()); })
      .costs(Cost::Transcendental);
}

constexpr OpDef kOps[] = {
    packed2("v_pk_add_bf16", [](uint16_t a, uint16_t b) { return fmaBfloat(a, 0x3f80, b); }),
    packed2("v_pk_mul_bf16",
            [](uint16_t a, uint16_t b) { return toBfloat(mul(wide(a), wide(b))); }),
    packed2("v_pk_min_num_bf16", [](uint16_t a, uint16_t b) { return number<false>(a, b); }),
    packed2("v_pk_max_num_bf16", [](uint16_t a, uint16_t b) { return number<true>(a, b); }),
    packed3("v_pk_fma_bf16", [](uint16_t a, uint16_t b, uint16_t c) { return fmaBfloat(a, b, c); }),
    {"v_fma_mix_f32_bf16",
     mixBfloat<-1>,
     Class::Valu,
     Type::F32,
     {Type::F32, Type::F32, Type::F32}},
    {"v_fma_mixlo_bf16", mixBfloat<0>, Class::Valu, Type::BF16, {Type::F32, Type::F32, Type::F32}},
    {"v_fma_mixhi_bf16", mixBfloat<1>, Class::Valu, Type::BF16, {Type::F32, Type::F32, Type::F32}},
    function("v_exp_bf16", [](double a) { return __builtin_exp2(a); }),
    function("v_log_bf16", [](double a) { return __builtin_log2(a); }),
    function("v_rcp_bf16", [](double a) { return 1 / a; }),
    function("v_rsq_bf16", [](double a) { return 1 / __builtin_sqrt(a); }),
    function("v_sqrt_bf16", [](double a) { return __builtin_sqrt(a); }),
    function("v_sin_bf16", [](double a) { return turns<false>(a); }),
    function("v_cos_bf16", [](double a) { return turns<true>(a); }),
    function("v_tanh_bf16", [](double a) { return __builtin_tanh(a); }),
    lane<F16, F16>(
        "v_tanh_f16",
        [](float a) { return nanOf(static_cast<float>(__builtin_tanh(double(a))), a, a); })
        .costs(Cost::Transcendental),
    lane<F32, F32>(
        "v_tanh_f32",
        [](float a) { return nanOf(static_cast<float>(__builtin_tanh(double(a))), a, a); })
        .costs(Cost::Transcendental),
};
} // namespace

FLYEMU_EXPORT(ValuBfloat, kOps)

} // namespace flyemu
