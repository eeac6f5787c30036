// Norms, between their host file and their kernel.
#pragma once

#include "blocks/row_rules.h"
#include "frame/family.h"

#include <flydsl/kernels/norm.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class P> class Compiler;

/// x, weight, bias, residual, smooth, y, residual_out, scale, rstd, mean; the distances of the rows
/// of x, residual, y and residual_out; m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int32_t>
    kNorm{"norm"};

/// The rows of a problem. Memory that is narrower than the widest operand moves less than 16 bytes
/// at a time.
inline RowShape rowShape(const NormProblem &problem) {
  return RowShape::of(problem.n, problem.row_align, std::max(problem.x.bytes(), problem.y.bytes()));
}

/// A thread keeps the row in f32, and its weights beside.
inline constexpr RowLimits kNormLimits{.most = 32};

template <> struct Family<NormProblem> {
  using P = NormProblem;
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const RowConfig &config, const Target &target);
  static RowConfig choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<RowConfig> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &, const RowConfig &, std::int64_t) { return 0; }
  static std::vector<const AnyKernelName *> kernels(const P &, const RowConfig &) {
    return {&kNorm};
  }
  static void launch(const Call<P> &call);
  static std::int64_t rows(const NormArgs &args) { return args.x.shape()[0]; }
  static NormArgs args(const P &problem, const RowConfig &config, std::int64_t m,
                       const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
