// The sum of expert outputs, between its host file and its kernel.
#pragma once

#include "blocks/row_rules.h"
#include "frame/family.h"

#include <flydsl/kernels/moe_reduce.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class P> class Compiler;

/// x, weights, mask, y; the distances of x's tokens, of x's rows of a token, and of y's rows; m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::int32_t>
    kMoeReduce{"moe_reduce"};

/// The rows of a problem, in accesses as wide as its wider operand allows.
inline RowShape rowShape(const MoeReduceProblem &problem) {
  return RowShape::of(problem.n, problem.row_align, std::max(problem.x.bytes(), problem.y.bytes()));
}

template <> struct Family<MoeReduceProblem> {
  using P = MoeReduceProblem;
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const RowConfig &config, const Target &target);
  static RowConfig choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<RowConfig> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &, const RowConfig &, std::int64_t) { return 0; }
  static std::vector<const AnyKernelName *> kernels(const P &, const RowConfig &) {
    return {&kMoeReduce};
  }
  static void launch(const Call<P> &call);
  static std::int64_t rows(const MoeReduceArgs &args) { return args.x.shape()[0]; }
  static MoeReduceArgs args(const P &problem, const RowConfig &config, std::int64_t m,
                            const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
