// The sum of expert outputs, between its host file and its kernel.
#pragma once

#include "blocks/row_family.h"

#include <flydsl/kernels/moe_reduce.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// x, weights, mask, y; the distances of x's tokens, of x's rows of a token, and of y's rows; m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::int32_t>
    kMoeReduce{"moe_reduce"};

template <> struct Family<MoeReduceProblem> : RowFamily<MoeReduceProblem, &MoeReduceArgs::x> {
  /// Elements of each of a token's rows that a thread has; nothing crosses threads, so few are best.
  static constexpr RowLimits kLimits{.most = 16};
  /// The rows of a problem, in accesses as wide as its wider operand allows.
  static RowShape shape(const P &problem) {
    return RowShape::of(problem.n, problem.row_align,
                        std::max(problem.x.bytes(), problem.y.bytes()));
  }
  using RowFamily::supported;
  static Support supported(const P &problem, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kMoeReduce}; }
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
