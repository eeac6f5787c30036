// The choice of experts, between its host file and its kernel.
#pragma once

#include "blocks/row_rules.h"
#include "frame/family.h"

#include <flydsl/kernels/topk_gating.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class P> class Compiler;

/// logits, weights, ids, source_rows; the distance of the logits' rows; m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int32_t>
    kTopkGating{"topk_gating"};

/// The rows of logits.
inline RowShape rowShape(const TopkGatingProblem &problem) {
  return RowShape::of(problem.experts, problem.row_align, problem.logits.bytes());
}

template <> struct Family<TopkGatingProblem> {
  using P = TopkGatingProblem;
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const RowConfig &config, const Target &target);
  static RowConfig choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<RowConfig> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &, const RowConfig &, std::int64_t) { return 0; }
  static std::vector<const AnyKernelName *> kernels(const P &, const RowConfig &) {
    return {&kTopkGating};
  }
  static void launch(const Call<P> &call);
  static std::int64_t rows(const TopkGatingArgs &args) { return args.logits.shape()[0]; }
  static TopkGatingArgs args(const P &problem, const RowConfig &config, std::int64_t m,
                             const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
