// Floating-point arithmetic of 16, 32 and 64 bits.
#include "vector_table.h"

#include <catch2/catch.hpp>

#include <cmath>

namespace flyemu::test {

namespace {
using u64 = uint64_t;
constexpr unsigned kAcc = VectorOp::kAccumulate, kB = VectorOp::kConstantB,
                   kC = VectorOp::kConstantC;

/// The sum with the sign that an exact zero has in the rounding direction.
template <Format F> Quad sum(Quad a, Quad b) {
  const Quad s = sumToOdd(a, b);
  if (s == 0 && (a != 0 || signOf(a) != signOf(b)))
    return withSign(0, env.rounding(F) == kDown);
  return s;
}
template <Format F> u64 add(u64 a, u64 b, u64) { return out(F, sum<F>(in(F, a), in(F, b))); }
template <Format F> u64 subtract(u64 a, u64 b, u64) { return out(F, sum<F>(in(F, a), -in(F, b))); }
template <Format F> u64 multiply(u64 a, u64 b, u64) { return out(F, in(F, a) * in(F, b)); }
template <Format F> u64 fused(u64 a, u64 b, u64 c) {
  return out(F, sum<F>(in(F, a) * in(F, b), in(F, c)));
}
/// The product rounded before the sum, and its denormals kept.
u64 unfused(u64 a, u64 b, u64 c) {
  const u64 product = roundTo(kF16, in(kF16, a) * in(kF16, b), env.round64);
  return out(kF16, sum<kF16>(valueOf(kF16, product), in(kF16, c)));
}

/// The same of singles, where denormals count as zeros whatever the mode says.
template <bool Legacy> u64 unfusedNormal(u64 a, u64 b, u64 c) {
  auto normal = [](u64 x) { return isDenormal(kF32, x) ? x & 0x80000000 : x; };
  const u64 x = normal(a), y = normal(b);
  const bool zero = Legacy && (valueOf(kF32, x) == 0 || valueOf(kF32, y) == 0);
  auto rounds = [&](Quad v) { return normal(roundTo(kF32, v, env.round32)); };
  const u64 product = zero ? 0 : rounds(valueOf(kF32, x) * valueOf(kF32, y));
  return rounds(sum<kF32>(valueOf(kF32, product), valueOf(kF32, normal(c))));
}

/// Minimum, maximum: a number rather than a NaN, except for signalling ones in IEEE mode.
template <Format F, bool Max> u64 extreme(u64 a, u64 b, u64) {
  a = flushed(F, a);
  b = flushed(F, b);
  if (env.ieee && (isSignalling(F, a) || isSignalling(F, b)))
    return quietNan(F);
  if (isNan(F, a))
    return passed(F, b);
  if (isNan(F, b))
    return passed(F, a);
  const Quad x = valueOf(F, a), y = valueOf(F, b);
  const bool less = x < y || (x == y && signOf(x) && !signOf(y));
  return passed(F, less == Max ? b : a);
}
/// IEEE 754-2019's: NaN if either is.
template <Format F, bool Max> u64 strictExtreme(u64 a, u64 b, u64) {
  if (isNan(F, a) || isNan(F, b))
    return quietNan(F);
  return extreme<F, Max>(a, b, 0);
}
template <Format F, bool First, bool Second> u64 extreme3(u64 a, u64 b, u64 c) {
  return extreme<F, Second>(extreme<F, First>(a, b, 0), c, 0);
}
template <Format F, bool First, bool Second> u64 strictExtreme3(u64 a, u64 b, u64 c) {
  return strictExtreme<F, Second>(strictExtreme<F, First>(a, b, 0), c, 0);
}
template <Format F> u64 median(u64 a, u64 b, u64 c) {
  if (isNan(F, a) || isNan(F, b) || isNan(F, c))
    return extreme3<F, false, false>(a, b, c);
  // The operand that equals the greatest is left out, the first of such; zeros are equal there.
  const u64 most = extreme<F, true>(extreme<F, true>(a, b, 0), c, 0);
  const Quad m = valueOf(F, most);
  if (m == valueOf(F, passed(F, flushed(F, a))))
    return extreme<F, true>(b, c, 0);
  return m == valueOf(F, passed(F, flushed(F, b))) ? extreme<F, true>(a, c, 0)
                                                   : extreme<F, true>(a, b, 0);
}

template <Format F, double (*Function)(double)> u64 rounded(u64 a, u64, u64) {
  const Quad x = in(F, a);
  return isNan(F, a) ? quietNan(F)
                     : passed(F, roundTo(F, withSign(Function(double(x)), signOf(x))));
}
double truncated(double x) { return std::trunc(x); }
double ceiling(double x) { return std::ceil(x); }
double floored(double x) { return std::floor(x); }
double toEven(double x) { return std::isinf(x) ? x : x - std::remainder(x, 1.0); }

template <Format F> u64 fraction(u64 a, u64, u64) {
  const Quad x = in(F, a);
  if (!(x - x == 0))
    return quietNan(F);
  const Quad f = sumToOdd(x, -Quad(std::floor(double(x))));
  const u64 below1 = roundTo(F, 1) - 1, r = out(F, f);
  return f == 0 ? out(F, withSign(0, env.rounding(F) == kDown)) : r > below1 ? below1 : r;
}
template <Format F> u64 scaledBy(u64 a, int e) {
  const Quad x = in(F, a);
  if (!(x - x == 0) || x == 0)
    return isNan(F, a) ? quietNan(F) : roundTo(F, x);
  e = e > 4000 ? 4000 : e < -4000 ? -4000 : e;
  Quad r = x;
  for (; e > 0; --e)
    r *= 2;
  for (; e < 0; ++e)
    r /= 2;
  return out(F, r);
}
template <Format F> u64 mantissa(u64 a, u64, u64) {
  const Quad x = in(F, a);
  if (!(x - x == 0) || x == 0)
    return isNan(F, a) ? quietNan(F) : roundTo(F, x);
  int e;
  return roundTo(F, std::frexp(double(x), &e));
}
template <Format F> u64 exponent(u64 a, u64, u64) {
  const Quad x = in(F, a);
  int e = 0;
  if (x - x == 0 && x != 0)
    std::frexp(double(x), &e);
  return static_cast<uint32_t>(e);
}

// Transcendental functions: f32 takes and gives no denormals, whatever the mode says.
template <double (*Function)(double)> u64 function32(u64 a, u64, u64) {
  const u64 x = isDenormal(kF32, a) ? a & 0x80000000 : a;
  const double r = Function(double(valueOf(kF32, x)));
  return roundTo(kF32, r, kNearest, true);
}
template <double (*Function)(double)> u64 function16(u64 a, u64, u64) {
  return out(kF16, Function(double(in(kF16, a))));
}
template <Quad (*Function)(Quad)> u64 function64(u64 a, u64, u64) {
  return out(kF64, Function(in(kF64, a)));
}
double exponential(double x) { return std::exp2(x); }
double logarithm(double x) { return x < 0 ? std::nan("") : std::log2(x); }
double reciprocal(double x) { return 1 / x; }
double inverseRoot(double x) { return 1 / std::sqrt(x); }
double root(double x) { return std::sqrt(x); }
double turns(double x) { return x - std::nearbyint(x); }
double sine(double x) {
  const double t = turns(x);
  return t == 0 || std::fabs(t) == 0.5 ? 0 : std::sin(t * 2 * M_PI);
}
double cosine(double x) {
  const double t = turns(x);
  return std::fabs(t) == 0.25 ? 0 : std::cos(t * 2 * M_PI);
}
Quad reciprocal64(Quad x) { return 1 / x; }
Quad inverseRoot64(Quad x) { return 1 / squareRoot(x); }

u64 legacyProduct(u64 a, u64 b, u64) {
  return in(kF32, a) == 0 || in(kF32, b) == 0 ? 0 : multiply<kF32>(a, b, 0);
}
u64 legacyFused(u64 a, u64 b, u64 c) {
  if (in(kF32, a) == 0 || in(kF32, b) == 0)
    return isNan(kF32, c) ? quietNan(kF32) : passed(kF32, flushed(kF32, c));
  return fused<kF32>(a, b, c);
}
u64 litProduct(u64 a, u64 b, u64 c) {
  const u64 least = 0xff7fffff;
  if (isNan(kF32, b) || isNan(kF32, c) || valueOf(kF32, b) <= valueOf(kF32, least) ||
      in(kF32, c) <= 0)
    return least;
  return multiply<kF32>(a, b, 0);
}

// Cube maps: the axis of the largest coordinate; the later of equals.
int cubeAxis(u64 x, u64 y, u64 z) {
  auto magnitude = [](u64 v) { return in(kF32, v & 0x7fffffff); };
  if (magnitude(z) >= magnitude(x) && magnitude(z) >= magnitude(y))
    return 2;
  return magnitude(y) >= magnitude(x) ? 1 : 0;
}
bool below0(u64 v) { return in(kF32, v) < 0; }
u64 cubeFace(u64 x, u64 y, u64 z) {
  const int axis = cubeAxis(x, y, z);
  return roundTo(kF32, 2 * axis + below0(axis == 2 ? z : axis == 1 ? y : x));
}
u64 canonical(u64 v) { return passed(kF32, flushed(kF32, v)); }
u64 cubeS(u64 x, u64 y, u64 z) {
  const int axis = cubeAxis(x, y, z);
  const u64 sign = 0x80000000;
  return canonical(axis == 2 ? below0(z) ? x ^ sign : x : axis == 1 ? x : below0(x) ? z : z ^ sign);
}
u64 cubeT(u64 x, u64 y, u64 z) {
  const u64 sign = 0x80000000;
  return canonical(cubeAxis(x, y, z) != 1 ? y ^ sign : below0(y) ? z ^ sign : z);
}
u64 cubeMajor(u64 x, u64 y, u64 z) {
  const int axis = cubeAxis(x, y, z);
  return out(kF32, 2 * in(kF32, axis == 2 ? z : axis == 1 ? y : x));
}

/// A quotient's last step: signs and special values. Where the refinement before it overflowed, it
/// ended in a NaN; quotients below all denormals are zero. (The manual's own conditions differ; the
/// division sequences of compilers, tested as a whole, need these.)
template <Format F> u64 divisionFixup(u64 q, u64 den, u64 num) {
  const u64 sign = u64(1) << (width(F) - 1), infinity = roundTo(F, HUGE_VAL);
  const u64 negative = (den ^ num) & sign;
  if (isNan(F, num) || isNan(F, den))
    return quietNan(F);
  const Quad d = in(F, den), n = in(F, num);
  if ((d == 0 && n == 0) || (isInf(F, den) && isInf(F, num)))
    return quietNan(F);
  if (d == 0 || isInf(F, num))
    return negative | infinity;
  if (n == 0 || isInf(F, den))
    return negative;
  auto field = [](u64 x) { return int(x >> F.mantissa & ((1u << F.exponent) - 1)); };
  if (F.exponent != 5 && isNan(F, q))
    return negative | infinity;
  if (F.exponent != 5 && field(num) - field(den) < (F.exponent == 8 ? -150 : -1075))
    return negative;
  return passed(F, flushed(F, (q & ~sign) | negative));
}
} // namespace

TEST_CASE("opcodes: single-precision arithmetic matches the reference") {
  runVectorTable({
      {"v_add_f32", "f:ff", add<kF32>},
      {"v_sub_f32", "f:ff", subtract<kF32>},
      {"v_subrev_f32", "f:ff", [](u64 a, u64 b, u64) { return subtract<kF32>(b, a, 0); }},
      {"v_mul_f32", "f:ff", multiply<kF32>},
      {"v_mul_legacy_f32 v_mul_dx9_zero_f32", "f:ff", legacyProduct},
      {"v_mullit_f32", "f:fff", litProduct},
      {"v_fma_f32", "f:fff", fused<kF32>},
      {"v_fmac_f32", "f:fff", fused<kF32>, kAcc},
      {"v_fmamk_f32", "f:fff", fused<kF32>, kB},
      {"v_fmaak_f32", "f:fff", fused<kF32>, kC},
      {"v_mad_f32", "f:fff", unfusedNormal<false>},
      {"v_mac_f32", "f:fff", unfusedNormal<false>, kAcc},
      {"v_madmk_f32", "f:fff", unfusedNormal<false>, kB},
      {"v_madak_f32", "f:fff", unfusedNormal<false>, kC},
      {"v_mad_legacy_f32", "f:fff", unfusedNormal<true>},
      {"v_fma_dx9_zero_f32 v_fma_legacy_f32", "f:fff", legacyFused},
      {"v_fmac_dx9_zero_f32 v_fmac_legacy_f32", "f:fff", legacyFused, kAcc},
      {"v_min_f32 v_min_num_f32", "f:ff", extreme<kF32, false>},
      {"v_max_f32 v_max_num_f32", "f:ff", extreme<kF32, true>},
      {"v_minimum_f32", "f:ff", strictExtreme<kF32, false>},
      {"v_maximum_f32", "f:ff", strictExtreme<kF32, true>},
      {"v_min3_f32 v_min3_num_f32", "f:fff", extreme3<kF32, false, false>},
      {"v_max3_f32 v_max3_num_f32", "f:fff", extreme3<kF32, true, true>},
      {"v_minmax_f32 v_minmax_num_f32", "f:fff", extreme3<kF32, false, true>},
      {"v_maxmin_f32 v_maxmin_num_f32", "f:fff", extreme3<kF32, true, false>},
      {"v_minimum3_f32", "f:fff", strictExtreme3<kF32, false, false>},
      {"v_maximum3_f32", "f:fff", strictExtreme3<kF32, true, true>},
      {"v_minimummaximum_f32", "f:fff", strictExtreme3<kF32, false, true>},
      {"v_maximumminimum_f32", "f:fff", strictExtreme3<kF32, true, false>},
      {"v_med3_f32 v_med3_num_f32", "f:fff", median<kF32>},
      {"v_trunc_f32", "f:f", rounded<kF32, truncated>},
      {"v_ceil_f32", "f:f", rounded<kF32, ceiling>},
      {"v_floor_f32", "f:f", rounded<kF32, floored>},
      {"v_rndne_f32", "f:f", rounded<kF32, toEven>},
      {"v_fract_f32", "f:f", fraction<kF32>},
      {"v_ldexp_f32", "f:fu",
       [](u64 a, u64 b, u64) { return scaledBy<kF32>(a, static_cast<int32_t>(b)); }},
      {"v_frexp_mant_f32", "f:f", mantissa<kF32>},
      {"v_frexp_exp_i32_f32", "u:f", exponent<kF32>},
      {"v_cubeid_f32", "f:fff", cubeFace},
      {"v_cubesc_f32", "f:fff", cubeS},
      {"v_cubetc_f32", "f:fff", cubeT},
      {"v_cubema_f32", "f:fff", cubeMajor},
      {"v_div_fixup_f32", "f:fff", divisionFixup<kF32>},
  });
}

TEST_CASE("opcodes: transcendental functions are within an ulp") {
  constexpr unsigned kNear = VectorOp::kApproximate;
  runVectorTable({
      {"v_exp_f32 v_exp_legacy_f32", "f:f", function32<exponential>, kNear},
      {"v_log_f32 v_log_legacy_f32", "f:f", function32<logarithm>, kNear},
      {"v_rcp_f32 v_rcp_iflag_f32", "f:f", function32<reciprocal>, kNear},
      {"v_rsq_f32", "f:f", function32<inverseRoot>, kNear},
      {"v_sqrt_f32", "f:f", function32<root>, kNear},
      {"v_sin_f32", "f:f", function32<sine>, kNear},
      {"v_cos_f32", "f:f", function32<cosine>, kNear},
      {"v_exp_f16", "h:h", function16<exponential>, kNear},
      {"v_log_f16", "h:h", function16<logarithm>, kNear},
      {"v_rcp_f16", "h:h", function16<reciprocal>, kNear},
      {"v_rsq_f16", "h:h", function16<inverseRoot>, kNear},
      {"v_sqrt_f16", "h:h", function16<root>, kNear},
      {"v_sin_f16", "h:h", function16<sine>, kNear},
      {"v_cos_f16", "h:h", function16<cosine>, kNear},
      {"v_rcp_f64", "d:d", function64<reciprocal64>, kNear},
      {"v_rsq_f64", "d:d", function64<inverseRoot64>, kNear},
      {"v_sqrt_f64", "d:d", function64<squareRoot>, kNear},
  });
}

TEST_CASE("opcodes: half-precision arithmetic matches the reference") {
  runVectorTable({
      {"v_add_f16", "h:hh", add<kF16>},
      {"v_sub_f16", "h:hh", subtract<kF16>},
      {"v_subrev_f16", "h:hh", [](u64 a, u64 b, u64) { return subtract<kF16>(b, a, 0); }},
      {"v_mul_f16", "h:hh", multiply<kF16>},
      {"v_fma_f16 v_fma_legacy_f16", "h:hhh", fused<kF16>},
      {"v_fmac_f16", "h:hhh", fused<kF16>, kAcc},
      {"v_fmamk_f16", "h:hhh", fused<kF16>, kB},
      {"v_fmaak_f16", "h:hhh", fused<kF16>, kC},
      {"v_mad_f16 v_mad_legacy_f16", "h:hhh", unfused},
      {"v_mac_f16", "h:hhh", unfused, kAcc},
      {"v_madmk_f16", "h:hhh", unfused, kB},
      {"v_madak_f16", "h:hhh", unfused, kC},
      {"v_min_f16 v_min_num_f16", "h:hh", extreme<kF16, false>},
      {"v_max_f16 v_max_num_f16", "h:hh", extreme<kF16, true>},
      {"v_minimum_f16", "h:hh", strictExtreme<kF16, false>},
      {"v_maximum_f16", "h:hh", strictExtreme<kF16, true>},
      {"v_min3_f16 v_min3_num_f16", "h:hhh", extreme3<kF16, false, false>},
      {"v_max3_f16 v_max3_num_f16", "h:hhh", extreme3<kF16, true, true>},
      {"v_minmax_f16 v_minmax_num_f16", "h:hhh", extreme3<kF16, false, true>},
      {"v_maxmin_f16 v_maxmin_num_f16", "h:hhh", extreme3<kF16, true, false>},
      {"v_minimum3_f16", "h:hhh", strictExtreme3<kF16, false, false>},
      {"v_maximum3_f16", "h:hhh", strictExtreme3<kF16, true, true>},
      {"v_minimummaximum_f16", "h:hhh", strictExtreme3<kF16, false, true>},
      {"v_maximumminimum_f16", "h:hhh", strictExtreme3<kF16, true, false>},
      {"v_med3_f16 v_med3_num_f16", "h:hhh", median<kF16>},
      {"v_trunc_f16", "h:h", rounded<kF16, truncated>},
      {"v_ceil_f16", "h:h", rounded<kF16, ceiling>},
      {"v_floor_f16", "h:h", rounded<kF16, floored>},
      {"v_rndne_f16", "h:h", rounded<kF16, toEven>},
      {"v_fract_f16", "h:h", fraction<kF16>},
      {"v_ldexp_f16", "h:hs",
       [](u64 a, u64 b, u64) { return scaledBy<kF16>(a, static_cast<int16_t>(b)); }},
      {"v_frexp_mant_f16", "h:h", mantissa<kF16>},
      {"v_frexp_exp_i16_f16", "s:h",
       [](u64 a, u64, u64) { return exponent<kF16>(a, 0, 0) & 0xffff; }},
      {"v_div_fixup_f16 v_div_fixup_legacy_f16", "h:hhh", divisionFixup<kF16>},
  });
}

TEST_CASE("opcodes: double-precision arithmetic matches the reference") {
  runVectorTable({
      {"v_add_f64", "d:dd", add<kF64>},
      {"v_mul_f64", "d:dd", multiply<kF64>},
      {"v_fma_f64", "d:ddd", fused<kF64>},
      {"v_fmac_f64", "d:ddd", fused<kF64>, kAcc},
      {"v_min_f64 v_min_num_f64", "d:dd", extreme<kF64, false>},
      {"v_max_f64 v_max_num_f64", "d:dd", extreme<kF64, true>},
      {"v_minimum_f64", "d:dd", strictExtreme<kF64, false>},
      {"v_maximum_f64", "d:dd", strictExtreme<kF64, true>},
      {"v_trunc_f64", "d:d", rounded<kF64, truncated>},
      {"v_ceil_f64", "d:d", rounded<kF64, ceiling>},
      {"v_floor_f64", "d:d", rounded<kF64, floored>},
      {"v_rndne_f64", "d:d", rounded<kF64, toEven>},
      {"v_fract_f64", "d:d", fraction<kF64>},
      {"v_ldexp_f64", "d:du",
       [](u64 a, u64 b, u64) { return scaledBy<kF64>(a, static_cast<int32_t>(b)); }},
      {"v_frexp_mant_f64", "d:d", mantissa<kF64>},
      {"v_frexp_exp_i32_f64", "u:d", exponent<kF64>},
      {"v_div_fixup_f64", "d:ddd", divisionFixup<kF64>},
  });
}

} // namespace flyemu::test
