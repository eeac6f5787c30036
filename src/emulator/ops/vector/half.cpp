// Half-precision arithmetic. Lane functions compute in float, which holds every intermediate of a
// single operation without a second rounding (24 >= 2 * 11 + 2 bits); multiply-adds go through
// double.
#include "emulator/ops/vector/lanes.h"

#include <cmath>

namespace flyemu {

namespace {
inline float fractionHalf(float a) {
  const float r = a - __builtin_floorf(a);
  return nanOf(r > 0.99951171875f ? 0.99951171875f : r, a, a);
}
inline float viaDouble(double r, float a) { return nanOf(static_cast<float>(r), a, a); }

inline float fixupHalf(float q, float den, float num) {
  const bool negative = std::signbit(den) != std::signbit(num);
  if (num != num)
    return quiet(num);
  if (den != den)
    return quiet(den);
  float n = std::fabs(num), d = std::fabs(den), r;
  if ((n == 0 && d == 0) || (n == INFINITY && d == INFINITY))
    return asFloat(0xffc00000);
  if (d == 0 || n == INFINITY)
    r = INFINITY;
  else if (d == INFINITY || n == 0)
    r = 0;
  else
    r = std::fabs(q);
  return negative ? -r : r;
}
/// sin or cos of 2 pi a. The zeros are exact.
template <bool Cos> inline float sinTurns(float a) {
  if (!(__builtin_fabsf(a) <= 65504.0f))
    return nanOf(a - a, a, a);
  const double x = double(a) - __builtin_roundeven(double(a)); // exact
  if (__builtin_fabs(x) == (Cos ? 0.25 : 0.5) || (!Cos && x == 0))
    return 0;
  constexpr double kTurn = 6.283185307179586476925;
  return static_cast<float>(Cos ? __builtin_cos(x * kTurn) : __builtin_sin(x * kTurn));
}
#define HALF2(NAME, EXPR) lane<F16, F16, F16>(NAME, [](float a, float b) { return EXPR; })
#define HALF3(NAME, EXPR)                                                                          \
  lane<F16, F16, F16, F16>(NAME, [](float a, float b, float c) { return EXPR; })
#define HALF1(NAME, EXPR) lane<F16, F16>(NAME, [](float a) { return EXPR; })
#define BITS2(NAME, EXPR) lane<N16, N16, N16>(NAME, [](uint16_t a, uint16_t b) { return EXPR; })
#define BITS3(NAME, EXPR)                                                                          \
  lane<N16, N16, N16, N16>(NAME, [](uint16_t a, uint16_t b, uint16_t c) { return EXPR; })

constexpr OpDef kOps[] = {
    HALF2("v_add_f16", add(a, b)),
    HALF2("v_sub_f16", sub(a, b)),
    HALF2("v_subrev_f16", sub(b, a)),
    HALF2("v_mul_f16", mul(a, b)),
    minMax<N16, false>("v_min_f16"),
    minMax<N16, true>("v_max_f16"),
    minMax<N16, false>("v_min_num_f16"),
    minMax<N16, true>("v_max_num_f16"),
    minMax3<N16, false, false>("v_min3_f16"),
    minMax3<N16, true, true>("v_max3_f16"),
    median3<N16>("v_med3_f16"),
    minMax3<N16, false, false>("v_min3_num_f16"),
    minMax3<N16, true, true>("v_max3_num_f16"),
    median3<N16>("v_med3_num_f16"),
    minMax3<N16, true, false>("v_maxmin_f16"),
    minMax3<N16, false, true>("v_minmax_f16"),
    minMax3<N16, true, false>("v_maxmin_num_f16"),
    minMax3<N16, false, true>("v_minmax_num_f16"),
    BITS2("v_minimum_f16", extremeHalf<false>(a, b)),
    BITS2("v_maximum_f16", extremeHalf<true>(a, b)),
    BITS3("v_minimum3_f16", extremeHalf<false>(extremeHalf<false>(a, b), c)),
    BITS3("v_maximum3_f16", extremeHalf<true>(extremeHalf<true>(a, b), c)),
    BITS3("v_minimummaximum_f16", extremeHalf<true>(extremeHalf<false>(a, b), c)),
    BITS3("v_maximumminimum_f16", extremeHalf<false>(extremeHalf<true>(a, b), c)),
    HALF3("v_fma_f16", fmaHalf(a, b, c)),
    HALF3("v_fma_legacy_f16", fmaHalf(a, b, c)).with(Trait::ClearsHigh),
    HALF3("v_fmamk_f16", fmaHalf(a, b, c)).constant(Literal::Second),
    HALF3("v_fmaak_f16", fmaHalf(a, b, c)).constant(Literal::Third),
    laneAcc<F16, F16, F16>("v_fmac_f16",
                           [](float a, float b, float c) { return fmaHalf(a, b, c); }),
    // The multiply-adds that are not fused round the product to half first.
    HALF3("v_mad_f16", add(halfToFloat(floatToHalf(mul(a, b))), c)),
    HALF3("v_mad_legacy_f16", add(halfToFloat(floatToHalf(mul(a, b))), c)).with(Trait::ClearsHigh),
    HALF3("v_madmk_f16", add(halfToFloat(floatToHalf(mul(a, b))), c)).constant(Literal::Second),
    HALF3("v_madak_f16", add(halfToFloat(floatToHalf(mul(a, b))), c)).constant(Literal::Third),
    laneAcc<F16, F16, F16>(
        "v_mac_f16",
        [](float a, float b, float c) { return add(halfToFloat(floatToHalf(mul(a, b))), c); }),
    HALF3("v_div_fixup_f16", fixupHalf(a, b, c)),
    HALF3("v_div_fixup_legacy_f16", fixupHalf(a, b, c)).with(Trait::ClearsHigh),
    lane<F16, F16, I16>("v_ldexp_f16",
                        [](float a, int e) { return nanOf(std::ldexp(a, e), a, a); }),
    HALF1("v_trunc_f16", nanOf(__builtin_truncf(a), a, a)),
    HALF1("v_ceil_f16", nanOf(__builtin_ceilf(a), a, a)),
    HALF1("v_floor_f16", nanOf(__builtin_floorf(a), a, a)),
    HALF1("v_rndne_f16", nanOf(__builtin_roundevenf(a), a, a)),
    HALF1("v_fract_f16", fractionHalf(a)),
    // Rounded from double: within 1 ulp of hardware, whose bits are not published. Denormals are
    // kept.
    HALF1("v_rcp_f16", viaDouble(1.0 / double(a), a)).costs(Cost::Transcendental),
    HALF1("v_sqrt_f16", viaDouble(std::sqrt(double(a)), a)).costs(Cost::Transcendental),
    HALF1("v_rsq_f16", viaDouble(1.0 / std::sqrt(double(a)), a)).costs(Cost::Transcendental),
    HALF1("v_log_f16", viaDouble(std::log2(double(a)), a)).costs(Cost::Transcendental),
    HALF1("v_exp_f16", viaDouble(std::exp2(double(a)), a)).costs(Cost::Transcendental),
    HALF1("v_sin_f16", sinTurns<false>(a)).costs(Cost::Transcendental),
    HALF1("v_cos_f16", sinTurns<true>(a)).costs(Cost::Transcendental),
    HALF1("v_frexp_mant_f16", mantissaOf(a)),
    lane<I16, F16>("v_frexp_exp_i16_f16", [](float a) { return exponentOf(a); }),
};
} // namespace

FLYEMU_EXPORT(ValuHalf, kOps)

} // namespace flyemu
