// Single- and double-precision arithmetic.
#include "emulator/ops/vector/lanes.h"

#include <cmath>
#include <limits>

namespace flyemu {

namespace {
inline float legacyMul(float a, float b) { return a == 0 || b == 0 ? 0.0f : mul(a, b); }

// The multiply-adds of gfx90a that are not fused: the product is rounded first, and denormals count
// as zeros whatever MODE says (Vega ISA, V_MAD_F32).
inline float keepNormal(float x) { return asFloat(flushBits(bitsOf(x))); }
inline float mulNormal(float a, float b) { return keepNormal(mul(keepNormal(a), keepNormal(b))); }
inline float mad(float a, float b, float c) {
  return keepNormal(add(mulNormal(a, b), keepNormal(c)));
}
inline float madLegacy(float a, float b, float c) {
  const bool zero = keepNormal(a) == 0 || keepNormal(b) == 0;
  return keepNormal(add(zero ? 0.0f : mulNormal(a, b), keepNormal(c)));
}

// The cube-map helpers: which of x, y, z is the major axis.
inline int cubeAxis(float x, float y, float z) {
  float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  return az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
}

inline float nearestEven(float a) { return __builtin_roundevenf(a); }
inline double nearestEven(double a) { return __builtin_roundeven(a); }

/// The greatest number below one.
template <class L> constexpr L kBelowOne = L(1) - std::numeric_limits<L>::epsilon() / 2;

/// What both precisions have: `T` is F32 or F64, `L` its type, `S` its suffix.
#define REAL1(T, L, NAME, EXPR) lane<T, T>(NAME, [](L a) { return nanOf(EXPR, a, a); })
#define REAL2(T, L, NAME, EXPR) lane<T, T, T>(NAME, [](L a, L b) { return EXPR; })
#define REAL(T, L, S)                                                                              \
  REAL2(T, L, "v_add_" S, add(a, b)), REAL2(T, L, "v_mul_" S, mul(a, b)),                          \
      lane<T, T, T, T>("v_fma_" S, [](L a, L b, L c) { return fma(a, b, c); }),                    \
      laneAcc<T, T, T>("v_fmac_" S, [](L a, L b, L c) { return fma(a, b, c); }),                   \
      minMax<T, false>("v_min_" S), minMax<T, true>("v_max_" S), minMax<T, false>("v_min_num_" S), \
      minMax<T, true>("v_max_num_" S), REAL2(T, L, "v_minimum_" S, minimum(a, b)),                 \
      REAL2(T, L, "v_maximum_" S, maximum(a, b)), REAL1(T, L, "v_trunc_" S, std::trunc(a)),        \
      REAL1(T, L, "v_ceil_" S, std::ceil(a)), REAL1(T, L, "v_floor_" S, std::floor(a)),            \
      REAL1(T, L, "v_rndne_" S, nearestEven(a)), lane<T, T>("v_fract_" S, [](L a) {                \
        const L r = a - std::floor(a);                                                             \
        return nanOf(r >= L(1) ? kBelowOne<L> : r, a, a);                                          \
      })

constexpr OpDef kOps[] = {
    REAL(F32, float, "f32"),
    REAL(F64, double, "f64"),
    lane<F32, F32, F32>("v_sub_f32", [](float a, float b) { return sub(a, b); }),
    lane<F32, F32, F32>("v_subrev_f32", [](float a, float b) { return sub(b, a); }),
    lane<F32, F32, F32>("v_mul_legacy_f32", [](float a, float b) { return legacyMul(a, b); }),
    lane<F32, F32, F32>("v_mul_dx9_zero_f32", [](float a, float b) { return legacyMul(a, b); }),
    minMax3<F32, false, false>("v_min3_f32"),
    minMax3<F32, true, true>("v_max3_f32"),
    median3<F32>("v_med3_f32"),
    minMax3<F32, false, false>("v_min3_num_f32"),
    minMax3<F32, true, true>("v_max3_num_f32"),
    median3<F32>("v_med3_num_f32"),
    minMax3<F32, true, false>("v_maxmin_f32"),
    minMax3<F32, false, true>("v_minmax_f32"),
    minMax3<F32, true, false>("v_maxmin_num_f32"),
    minMax3<F32, false, true>("v_minmax_num_f32"),
    lane<F32, F32, F32, F32>("v_minimum3_f32",
                             [](float a, float b, float c) { return minimum(minimum(a, b), c); }),
    lane<F32, F32, F32, F32>("v_maximum3_f32",
                             [](float a, float b, float c) { return maximum(maximum(a, b), c); }),
    lane<F32, F32, F32, F32>("v_minimummaximum_f32",
                             [](float a, float b, float c) { return maximum(minimum(a, b), c); }),
    lane<F32, F32, F32, F32>("v_maximumminimum_f32",
                             [](float a, float b, float c) { return minimum(maximum(a, b), c); }),
    lane<F32, F32, F32, F32>("v_mullit_f32",
                             [](float a, float b, float c) {
                               constexpr float kLeast = -3.402823466e38f;
                               return b <= kLeast || b != b || !(c > 0) ? kLeast : mul(a, b);
                             }),
    lane<F32, F32, F32, F32>("v_fmamk_f32", [](float a, float b, float c) { return fma(a, b, c); })
        .constant(Literal::Second),
    lane<F32, F32, F32, F32>("v_fmaak_f32", [](float a, float b, float c) { return fma(a, b, c); })
        .constant(Literal::Third),
    lane<F32, F32, F32, F32>("v_mad_f32", [](float a, float b, float c) { return mad(a, b, c); }),
    lane<F32, F32, F32, F32>("v_madmk_f32", [](float a, float b, float c) { return mad(a, b, c); })
        .constant(Literal::Second),
    lane<F32, F32, F32, F32>("v_madak_f32", [](float a, float b, float c) { return mad(a, b, c); })
        .constant(Literal::Third),
    laneAcc<F32, F32, F32>("v_mac_f32", [](float a, float b, float c) { return mad(a, b, c); }),
    lane<F32, F32, F32, F32>("v_mad_legacy_f32",
                             [](float a, float b, float c) { return madLegacy(a, b, c); })
        .with(Trait::ClearsHigh),
    laneAcc<F32, F32, F32>(
        "v_fmac_dx9_zero_f32",
        [](float a, float b, float c) { return a == 0 || b == 0 ? c : fma(a, b, c); }),
    lane<F32, F32, F32, F32>(
        "v_fma_dx9_zero_f32",
        [](float a, float b, float c) { return a == 0 || b == 0 ? c : fma(a, b, c); }),
    lane<F32, F32, F32, F32>("v_cubeid_f32",
                             [](float x, float y, float z) {
                               int axis = cubeAxis(x, y, z);
                               float v = axis == 2 ? z : axis == 1 ? y : x;
                               return static_cast<float>(2 * axis + (v < 0));
                             }),
    lane<F32, F32, F32, F32>("v_cubesc_f32",
                             [](float x, float y, float z) {
                               int axis = cubeAxis(x, y, z);
                               return axis == 2 ? (z < 0 ? -x : x) : axis == 1 ? x : x < 0 ? z : -z;
                             }),
    lane<F32, F32, F32, F32>("v_cubetc_f32",
                             [](float x, float y, float z) {
                               int axis = cubeAxis(x, y, z);
                               return axis == 1 ? (y < 0 ? -z : z) : -y;
                             }),
    lane<F32, F32, F32, F32>("v_cubema_f32",
                             [](float x, float y, float z) {
                               int axis = cubeAxis(x, y, z);
                               return (axis == 2 ? z : axis == 1 ? y : x) * 2.0f;
                             }),
    lane<F64, F64, I32>("v_ldexp_f64",
                        [](double a, int e) { return nanOf(__builtin_ldexp(a, e), a, a); }),
    // Correctly rounded here; hardware gives about 26 good bits for rcp and rsq, sqrt refines from
    // rsq.
    REAL1(F64, double, "v_rcp_f64", 1.0 / a).costs(Cost::Transcendental),
    REAL1(F64, double, "v_rsq_f64", 1.0 / __builtin_sqrt(a)).costs(Cost::Transcendental),
    REAL1(F64, double, "v_sqrt_f64", __builtin_sqrt(a)).costs(Cost::Transcendental),
};
} // namespace

FLYEMU_EXPORT(ValuFloat, kOps)

} // namespace flyemu
