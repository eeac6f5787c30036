// Transcendental functions, reciprocals, exponents and mantissas, and the steps of division.
//
// Hardware's transcendental units are accurate to about 1 ulp and their bits are not published;
// here they are rounded from double precision, so that results are within 1 ulp of hardware's. As
// on hardware, f32 forms take and give denormals as zero (LLVM's expansions of division, square
// root, exponential and logarithm rely on it).
#include "emulator/ops/vector/lanes.h"

#include <cmath>

namespace flyemu {

namespace {
inline float flush(float x) {
  return (bitsOf(x) & 0x7f800000) == 0 ? asFloat(bitsOf(x) & 0x80000000) : x;
}
inline float fromDouble(double r, float a) { return nanOf(flush(static_cast<float>(r)), a, a); }

/// 2^a: the power of two of the nearest integer times the series of 2^f for the rest, |f| <= 1/2,
/// whose first term left out is below 2^-32.
inline float exp2Flush(float a) {
  if (a != a)
    return quiet(a);
  const float bounded = a < -1000.0f ? -1000.0f : a > 1000.0f ? 1000.0f : a == a ? a : 0.0f;
  const double n = __builtin_roundeven(double(bounded)), f = double(bounded) - n;
  double p = 1.3215486790144307e-6;
  p = p * f + 1.5252733804059841e-5;
  p = p * f + 1.5403530393381608e-4;
  p = p * f + 1.3333558146428443e-3;
  p = p * f + 9.6181291076284769e-3;
  p = p * f + 5.5504108664821580e-2;
  p = p * f + 2.4022650695910071e-1;
  p = p * f + 6.9314718055994531e-1;
  p = p * f + 1.0;
  return fromDouble(
      asDouble(bitsOf(p) +
               (static_cast<uint64_t>(static_cast<int64_t>(static_cast<int>(n))) << 52)),
      a);
}
inline float log2Flush(float a) { return fromDouble(__builtin_log2(double(flush(a))), a); }
inline float rcpFlush(float a) { return nanOf(flush(1.0f / flush(a)), a, a); }
inline float rsqFlush(float a) { return fromDouble(1.0 / __builtin_sqrt(double(flush(a))), a); }
inline float sqrtFlush(float a) { return nanOf(__builtin_sqrtf(flush(a)), a, a); }

/// sin or cos of 2 pi x. Beyond +-256 the argument is out of the unit's range, and the result 0
/// (ISA manuals).
template <bool Cos> inline float sinTurns(float a) {
  if (!(__builtin_fabsf(a) <= 3.4028235e38f))
    return a != a ? quiet(a) : asFloat(0x7fc00000);
  a = flush(a);
  const double x = double(a) - __builtin_roundeven(double(a)); // exact
  constexpr double kTurn = 6.283185307179586476925;
  // The zeros are exact.
  double r = Cos ? __builtin_cos(x * kTurn) : __builtin_sin(x * kTurn);
  if (__builtin_fabs(x) == (Cos ? 0.25 : 0.5) || (!Cos && x == 0))
    r = 0;
  return flush(static_cast<float>(r));
}

// Division, as v_div_scale, v_div_fmas and v_div_fixup do it together. The manuals have slips here
// (the references name them): a huge denominator with a denormal quotient is scaled down, not up,
// and fmas undoes the scaling in the direction that its third operand's exponent tells.
template <class L> struct FloatFormat;
template <> struct FloatFormat<float> {
  static constexpr int kBias = 127, kMax = 255, kScale = 64, kNear = 96, kTiny = 23, kUnder = 150;
  static constexpr double kLeast = 0x1p-126;
  static int exponent(float x) { return bitsOf(x) >> 23 & 255; }
  static float nan() { return asFloat(0x7fc00000); }
};
template <> struct FloatFormat<double> {
  static constexpr int kBias = 1023, kMax = 2047, kScale = 128, kNear = 768, kTiny = 53,
                       kUnder = 1075;
  static constexpr double kLeast = 0x1p-1022;
  static int exponent(double x) { return static_cast<int>(bitsOf(x) >> 52 & 2047); }
  static double nan() { return asDouble(0x7ff8000000000000ull); }
};

template <class L> L divScale(L s0, L den, L num, bool &scaled) {
  using F = FloatFormat<L>;
  scaled = false;
  if (num == 0 || den == 0)
    return F::nan();
  const bool isDen = bitsOf(s0) == bitsOf(den), isNum = bitsOf(s0) == bitsOf(num);
  const int en = F::exponent(num), ed = F::exponent(den);
  auto by = [&](int e) { return static_cast<L>(std::ldexp(s0, e)); };
  const bool denHuge = ed != F::kMax && ed >= 2 * F::kBias - 1; // its reciprocal is a denormal
  // The quotient is a denormal: by exponents, and where those leave it open by the mantissas.
  L quotient = static_cast<L>(std::fabs(num / den));
  const bool small = quotient < L(F::kLeast);
  if (en - ed >= F::kNear) {
    scaled = true;
    return isDen ? by(F::kScale) : s0;
  }
  if (ed == 0)
    return by(F::kScale);
  if (denHuge && small) {
    scaled = true;
    return isDen ? by(-F::kScale) : s0;
  }
  if (denHuge)
    return by(-F::kScale);
  if (small) {
    scaled = true;
    return isNum ? by(F::kScale) : s0;
  }
  if (en <= F::kTiny)
    return by(F::kScale);
  return s0;
}

template <class T> void divScaleOp(Wave &w, const Inst &i) {
  using L = typename T::type;
  uint64_t exec = w.exec(), out = 0;
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) L ba[kChunk], bb[kChunk], bc[kChunk], r[kChunk];
    const L *a = fetch<T>(w, i.src[0], c, ba), *b = fetch<T>(w, i.src[1], c, bb),
            *n = fetch<T>(w, i.src[2], c, bc);
    uint32_t bits = 0;
    for (int l = 0; l < kChunk; ++l) {
      bool s;
      r[l] = divScale<L>(a[l], b[l], n[l], s);
      bits |= uint32_t(s) << l;
    }
    out |= uint64_t(bits & m) << (c * kChunk);
    store<T>(w, i, c, m, r);
  }
  w.setMask(i.mask.index, out);
}

inline float fmasScaled(float a, float b, float c) {
  double r = __builtin_fma(double(a), double(b), double(c));
  return static_cast<float>(FloatFormat<float>::exponent(c) > 127 ? r * 0x1p64 : r * 0x1p-64);
}
inline double fmasScaled(double a, double b, double c) {
  long double r = __builtin_fmal(a, b, c);
  return static_cast<double>(FloatFormat<double>::exponent(c) > 1023 ? r * 0x1p128l
                                                                     : r * 0x1p-128l);
}
/// fma, scaled in the lanes that VCC has on.
template <class T> void divFmasOp(Wave &w, const Inst &i) {
  using L = typename T::type;
  uint64_t exec = w.exec(), vcc = w.vcc();
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk)),
             v = static_cast<uint32_t>(vcc >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) L ba[kChunk], bb[kChunk], bc[kChunk], r[kChunk];
    const L *a = fetch<T>(w, i.src[0], c, ba), *b = fetch<T>(w, i.src[1], c, bb),
            *n = fetch<T>(w, i.src[2], c, bc);
    FLYEMU_EACH (l)
      r[l] = nanOf(v >> l & 1 ? fmasScaled(a[l], b[l], n[l]) : fma(a[l], b[l], n[l]), a[l], b[l],
                   n[l]);
    store<T>(w, i, c, m, r);
  }
}

template <class L> inline L divFixup(L q, L den, L num) {
  using F = FloatFormat<L>;
  const bool negative = std::signbit(den) != std::signbit(num);
  const L inf = static_cast<L>(INFINITY);
  if (num != num)
    return quiet(num);
  if (den != den)
    return quiet(den);
  const L n = std::fabs(num), d = std::fabs(den);
  L r;
  if ((n == 0 && d == 0) || (n == inf && d == inf))
    return -F::nan(); // hardware's NaN of 0 / 0 has the sign bit
  if (d == 0 || n == inf)
    r = inf;
  else if (d == inf || n == 0)
    r = 0;
  else if (q != q) // the refinement of an overflowed quotient subtracts infinities
    r = inf;
  else if (F::exponent(num) - F::exponent(den) < -F::kUnder)
    r = 0;
  else
    r = std::fabs(q);
  return negative ? -r : r;
}

/// Bits of 2 / pi, most significant first: the table of v_trig_preop.
constexpr uint32_t kTwoOverPi[] = {
    0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561,
    0xB7246E3A, 0x424DD2E0, 0x06492EEA, 0x09D1921C, 0xFE1DEB1C, 0xB129A73E, 0xE88235F5, 0x2EBB4484,
    0xE99C7026, 0xB45F7E41, 0x3991D639, 0x835339F4, 0x9C845F8B, 0xBDF9283B, 0x1FF897FF, 0xDE05980F,
    0xEF2F118B, 0x5A0A6D1F, 0x6D367ECF, 0x27CB09B7, 0x4F463F66, 0x9E5FEA2D, 0x7527BAC7, 0xEBE5F17B,
    0x3D0739F7, 0x8A5292EA, 0x6BFB5FB1, 0x1F8D5D08, 0x56033046, 0xFC7B6BAB, 0xF0CFBC20};

inline double trigPreop(double a, uint32_t segment) {
  int shift = static_cast<int>(segment & 31) * 53, e = FloatFormat<double>::exponent(a);
  if (e > 1077)
    shift += e - 1077;
  // The 53 bits below the first `shift` ones.
  uint64_t bits = 0;
  for (int k = 0; k < 53; ++k) {
    int at = shift + k;
    uint64_t bit = at < 1201 ? kTwoOverPi[at / 32] >> (31 - at % 32) & 1 : 0;
    bits = bits << 1 | bit;
  }
  int scale = -53 - shift + (e >= 1968 ? 128 : 0);
  return std::ldexp(static_cast<double>(bits), scale);
}

constexpr OpDef kOps[] = {
    lane<F32, F32>("v_exp_f32", [](float a) { return exp2Flush(a); }).costs(Cost::Transcendental),
    lane<F32, F32>("v_exp_legacy_f32", [](float a) { return exp2Flush(a); })
        .costs(Cost::Transcendental),
    lane<F32, F32>("v_log_f32", [](float a) { return log2Flush(a); }).costs(Cost::Transcendental),
    lane<F32, F32>("v_log_legacy_f32", [](float a) { return log2Flush(a); })
        .costs(Cost::Transcendental),
    lane<F32, F32>("v_rcp_f32", [](float a) { return rcpFlush(a); }).costs(Cost::Transcendental),
    lane<F32, F32>("v_rcp_iflag_f32", [](float a) { return rcpFlush(a); })
        .costs(Cost::Transcendental),
    lane<F32, F32>("v_rsq_f32", [](float a) { return rsqFlush(a); }).costs(Cost::Transcendental),
    lane<F32, F32>("v_sqrt_f32", [](float a) { return sqrtFlush(a); }).costs(Cost::Transcendental),
    lane<F32, F32>("v_sin_f32", [](float a) { return sinTurns<false>(a); })
        .costs(Cost::Transcendental),
    lane<F32, F32>("v_cos_f32", [](float a) { return sinTurns<true>(a); })
        .costs(Cost::Transcendental),
    lane<F32, F32, I32>("v_ldexp_f32",
                        [](float a, int e) { return nanOf(std::ldexp(a, e), a, a); }),
    lane<I32, F32>("v_frexp_exp_i32_f32", [](float a) { return exponentOf(a); }),
    lane<F32, F32>("v_frexp_mant_f32", [](float a) { return mantissaOf(a); }),
    lane<I32, F64>("v_frexp_exp_i32_f64", [](double a) { return exponentOf(a); }),
    lane<F64, F64>("v_frexp_mant_f64", [](double a) { return mantissaOf(a); }),
    OpDef{"v_div_scale_f32",
          divScaleOp<F32>,
          Class::Valu,
          Type::F32,
          {Type::F32, Type::F32, Type::F32}}
        .with(Trait::CarryMask),
    OpDef{"v_div_scale_f64",
          divScaleOp<F64>,
          Class::Valu,
          Type::F64,
          {Type::F64, Type::F64, Type::F64}}
        .with(Trait::CarryMask),
    {"v_div_fmas_f32", divFmasOp<F32>, Class::Valu, Type::F32, {Type::F32, Type::F32, Type::F32}},
    {"v_div_fmas_f64", divFmasOp<F64>, Class::Valu, Type::F64, {Type::F64, Type::F64, Type::F64}},
    lane<F32, F32, F32, F32>("v_div_fixup_f32",
                             [](float q, float d, float n) { return divFixup(q, d, n); }),
    lane<F64, F64, F64, F64>("v_div_fixup_f64",
                             [](double q, double d, double n) { return divFixup(q, d, n); }),
    lane<F64, F64, U32>("v_trig_preop_f64", [](double a, uint32_t s) { return trigPreop(a, s); }),
};
} // namespace

FLYEMU_EXPORT(ValuMath, kOps)

} // namespace flyemu
