// The choice of experts, between its host file and its kernel.
#pragma once

#include "blocks/rows/row_family.h"

#include <flydsl/kernels/topk_gating.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct TopkGatingParams {
  Strided<Side, 1> logits;       // (m, experts)
  Strided<Side, 0> weights, ids; // (m, topk + shared)
  Param<Side, Int32> m;
  Strided<Side, 0> sourceRows; // (m, topk + shared)
  Strided<Side, 0> bias;       // (experts)
};
inline constexpr KernelOf<TopkGatingParams> kTopkGating{"topk_gating"};

/// The experts of a token, shared ones too.
inline int slotsOf(const TopkGatingProblem &problem) { return problem.topk + problem.shared; }

/// What is expected of m rows of logits, and of the router's bias.
Expected expectedLogits(const TopkGatingProblem &problem, std::int64_t m);
Expected expectedRouterBias(const TopkGatingProblem &problem, const char *name);

template <>
struct Family<TopkGatingProblem> : RowFamily<TopkGatingProblem, &TopkGatingArgs::logits> {
  /// The rows of logits.
  static RowShape shape(const P &problem) {
    return RowShape::of(problem.experts, problem.row_align, problem.logits.bytes());
  }
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kTopkGating}; }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
