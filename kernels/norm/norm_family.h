// What the host file and the kernel file of norms share: the name of the kernel and the functions of the
// family.
#pragma once

#include "blocks/quant/group_rules.h"
#include "blocks/rows/row_family.h"
#include "frame/arguments.h"

#include <flydsl/kernels/norm.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct NormParams {
  Strided<Side, 1> x, y;   // (m, n)
  Strided<Side, 0> weight; // (n)
  Param<Side, Int32> m;
  Strided<Side, 1> residual, residualOut; // (m, n)
  Strided<Side, 0> bias, smooth;          // (n)
  Strided<Side, 2> scale;                 // (m, n / group); (m) or one, without strides
  Strided<Side, 0> rstd, mean;            // (m)
  Strided<Side, 1> gate;                  // (m, n)
  Strided<Side, 1> gain, shift;           // (batches, n)
  Param<Side, Int32> batches, rowsOfBatch;
  Strided<Side, 0> rows; // one
};
inline constexpr KernelOf<NormParams> kNorm{"norm"};

template <> struct Family<NormProblem> : RowFamily<NormProblem, &NormArgs::x> {
  /// A thread keeps the row in f32, and its weights.
  static constexpr RowLimits kLimits{.most = 32};
  /// The rows of a problem. Memory that is narrower than the widest operand moves less than 16
  /// bytes at a time.
  static RowShape shape(const P &problem) {
    return RowShape::of(problem.n, problem.row_align,
                        std::max(problem.x.bytes(), problem.y.bytes()));
  }
  static QuantGroups groups(const P &problem) {
    return {problem.group, problem.group_scale, problem.block};
  }
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kNorm}; }
  static void launch(const Call<P> &call);
  /// The kernel's arguments, of a call's arguments, which it checks.
  static NormParams<OnHost> checked(const P &problem, const A &args, const Arguments &arguments);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
