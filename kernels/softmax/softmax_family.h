// Softmax, between its host file and its kernels.
#pragma once

#include "blocks/rows/row_family.h"

#include <flydsl/kernels/softmax.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// x, y, the distances of their rows, m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int32_t>
    kSoftmax{"softmax"};

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
