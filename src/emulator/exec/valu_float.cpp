// Single-precision arithmetic.
#include "emulator/exec/lanes.h"

namespace flyemu {

namespace {
inline float legacyMul(float a, float b) { return a == 0 || b == 0 ? 0.0f : mul(a, b); }

// The cube-map helpers: which of x, y, z is the major axis.
inline int cubeAxis(float x, float y, float z) {
  float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  return az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
}

constexpr OpDef kOps[] = {
    lane<F32, F32, F32>("v_add_f32", [](float a, float b) { return add(a, b); }),
    lane<F32, F32, F32>("v_sub_f32", [](float a, float b) { return sub(a, b); }),
    lane<F32, F32, F32>("v_subrev_f32", [](float a, float b) { return sub(b, a); }),
    lane<F32, F32, F32>("v_mul_f32", [](float a, float b) { return mul(a, b); }),
    lane<F32, F32, F32>("v_mul_legacy_f32", [](float a, float b) { return legacyMul(a, b); }),
    lane<F32, F32, F32>("v_mul_dx9_zero_f32", [](float a, float b) { return legacyMul(a, b); }),
    minMax<F32, false>("v_min_f32"),
    minMax<F32, true>("v_max_f32"),
    minMax<F32, false>("v_min_num_f32"),
    minMax<F32, true>("v_max_num_f32"),
    lane<F32, F32, F32>("v_minimum_f32", [](float a, float b) { return minimum(a, b); }),
    lane<F32, F32, F32>("v_maximum_f32", [](float a, float b) { return maximum(a, b); }),
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
    lane<F32, F32, F32, F32>("v_fma_f32", [](float a, float b, float c) { return fma(a, b, c); }),
    lane<F32, F32, F32, F32>("v_fmamk_f32", [](float a, float b, float c) { return fma(a, b, c); }),
    lane<F32, F32, F32, F32>("v_fmaak_f32", [](float a, float b, float c) { return fma(a, b, c); }),
    laneAcc<F32, F32, F32>("v_fmac_f32", [](float a, float b, float c) { return fma(a, b, c); }),
    laneAcc<F32, F32, F32>(
        "v_fmac_dx9_zero_f32",
        [](float a, float b, float c) { return a == 0 || b == 0 ? c : fma(a, b, c); }),
    lane<F32, F32, F32, F32>(
        "v_fma_dx9_zero_f32",
        [](float a, float b, float c) { return a == 0 || b == 0 ? c : fma(a, b, c); }),
    lane<F32, F32>("v_trunc_f32", [](float a) { return nanOf(__builtin_truncf(a), a, a); }),
    lane<F32, F32>("v_ceil_f32", [](float a) { return nanOf(__builtin_ceilf(a), a, a); }),
    lane<F32, F32>("v_floor_f32", [](float a) { return nanOf(__builtin_floorf(a), a, a); }),
    lane<F32, F32>("v_rndne_f32", [](float a) { return nanOf(__builtin_roundevenf(a), a, a); }),
    lane<F32, F32>("v_fract_f32",
                   [](float a) {
                     float r = a - __builtin_floorf(a);
                     r = r >= 1.0f ? asFloat(0x3f7fffff) : r;
                     return nanOf(r, a, a);
                   }),
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
};
} // namespace

FLYEMU_EXPORT(ValuFloat, kOps)

} // namespace flyemu
