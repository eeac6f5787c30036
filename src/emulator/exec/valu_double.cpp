// Double-precision arithmetic.
#include "emulator/exec/lanes.h"

namespace flyemu {

namespace {
constexpr OpDef kOps[] = {
    lane<F64, F64, F64>("v_add_f64", [](double a, double b) { return add(a, b); }),
    lane<F64, F64, F64>("v_mul_f64", [](double a, double b) { return mul(a, b); }),
    lane<F64, F64, F64, F64>("v_fma_f64",
                             [](double a, double b, double c) { return fma(a, b, c); }),
    laneAcc<F64, F64, F64>("v_fmac_f64", [](double a, double b, double c) { return fma(a, b, c); }),
    minMax<F64, false>("v_min_f64"),
    minMax<F64, true>("v_max_f64"),
    minMax<F64, false>("v_min_num_f64"),
    minMax<F64, true>("v_max_num_f64"),
    lane<F64, F64, F64>("v_minimum_f64", [](double a, double b) { return minimum(a, b); }),
    lane<F64, F64, F64>("v_maximum_f64", [](double a, double b) { return maximum(a, b); }),
    lane<F64, F64, I32>("v_ldexp_f64",
                        [](double a, int e) { return nanOf(__builtin_ldexp(a, e), a, a); }),
    lane<F64, F64>("v_trunc_f64", [](double a) { return nanOf(__builtin_trunc(a), a, a); }),
    lane<F64, F64>("v_ceil_f64", [](double a) { return nanOf(__builtin_ceil(a), a, a); }),
    lane<F64, F64>("v_floor_f64", [](double a) { return nanOf(__builtin_floor(a), a, a); }),
    lane<F64, F64>("v_rndne_f64", [](double a) { return nanOf(__builtin_roundeven(a), a, a); }),
    lane<F64, F64>("v_fract_f64",
                   [](double a) {
                     double r = a - __builtin_floor(a);
                     r = r >= 1.0 ? asDouble(0x3fefffffffffffffull) : r;
                     return nanOf(r, a, a);
                   }),
    // Correctly rounded here; hardware gives about 26 good bits for rcp and rsq, sqrt refines from
    // rsq.
    lane<F64, F64>("v_rcp_f64", [](double a) { return nanOf(1.0 / a, a, a); }),
    lane<F64, F64>("v_rsq_f64", [](double a) { return nanOf(1.0 / __builtin_sqrt(a), a, a); }),
    lane<F64, F64>("v_sqrt_f64", [](double a) { return nanOf(__builtin_sqrt(a), a, a); }),
};
} // namespace

FLYEMU_EXPORT(ValuDouble, kOps)

} // namespace flyemu
