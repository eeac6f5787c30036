// Softmax, between its host file and its kernels.
#pragma once

#include "blocks/rows/row_family.h"

#include <flydsl/kernels/softmax.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct SoftmaxParams {
  Strided<Side, 1> x, y; // (m, n)
  Param<Side, Int32> m;
  Strided<Side, 0> rows; // one
};
inline constexpr KernelOf<SoftmaxParams> kSoftmax{"softmax"};

template <> struct Family<SoftmaxProblem> : RowFamily<SoftmaxProblem, &SoftmaxArgs::x> {
  /// The rows of a problem, in accesses as wide as its wider operand allows.
  static RowShape shape(const P &problem) {
    return RowShape::of(problem.n, problem.row_align,
                        std::max(problem.x.bytes(), problem.y.bytes()));
  }
  using RowFamily::supported;
  static Support supported(const P &problem, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kSoftmax}; }
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
