// Softmax, between its host file and its kernels.
#pragma once

#include "blocks/row_rules.h"
#include "frame/family.h"

#include <flydsl/kernels/softmax.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class P> class Compiler;

/// x, y, the distances of their rows, m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int32_t>
    kSoftmax{"softmax"};

/// The rows of a problem, in accesses as wide as its wider operand allows.
inline RowShape rowShape(const SoftmaxProblem &problem) {
  return RowShape::of(problem.n, problem.row_align, std::max(problem.x.bytes(), problem.y.bytes()));
}

template <> struct Family<SoftmaxProblem> {
  using P = SoftmaxProblem;
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const RowConfig &config, const Target &target);
  static RowConfig choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<RowConfig> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &, const RowConfig &, std::int64_t) { return 0; }
  static std::vector<const AnyKernelName *> kernels(const P &, const RowConfig &) {
    return {&kSoftmax};
  }
  static void launch(const Call<P> &call);
  static std::int64_t rows(const SoftmaxArgs &args) { return args.x.shape()[0]; }
  static SoftmaxArgs args(const P &problem, const RowConfig &config, std::int64_t m,
                          const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
