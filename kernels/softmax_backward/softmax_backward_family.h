// Softmax's gradient, between its host file and its kernel.
#pragma once

#include "blocks/rows/row_family.h"

#include <flydsl/kernels/softmax_backward.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct SoftmaxBackwardParams {
  Strided<Side, 1> y, dy, dx; // (m, n)
  Param<Side, Int32> m;
};
inline constexpr KernelOf<SoftmaxBackwardParams> kSoftmaxBackward{"softmax_backward"};

/// The threads of a configuration.
inline RowConfig rowConfig(const SoftmaxBackwardConfig &config) {
  return {config.threads, config.block, config.resident == Resident::both};
}

template <>
struct Family<SoftmaxBackwardProblem>
    : FamilyDefaults<SoftmaxBackwardProblem, &SoftmaxBackwardArgs::y> {
  /// The rows of a problem, in accesses as wide as its widest operand allows.
  static RowShape shape(const P &problem) {
    return RowShape::of(problem.n, problem.row_align,
                        std::max({problem.y.bytes(), problem.dy.bytes(), problem.dx.bytes()}));
  }
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kSoftmaxBackward}; }
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
