// Norms, between their host file and their kernel.
#pragma once

#include "blocks/rows/row_family.h"

#include <flydsl/kernels/norm.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// x, weight, bias, residual, smooth, y, residual_out, scale, rstd, mean; the distances of the rows
/// of x, residual, y and residual_out; m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int32_t>
    kNorm{"norm"};

template <> struct Family<NormProblem> : RowFamily<NormProblem, &NormArgs::x> {
  /// A thread keeps the row in f32, and its weights beside.
  static constexpr RowLimits kLimits{.most = 32};
  /// The rows of a problem. Memory that is narrower than the widest operand moves less than 16
  /// bytes at a time.
  static RowShape shape(const P &problem) {
    return RowShape::of(problem.n, problem.row_align,
                        std::max(problem.x.bytes(), problem.y.bytes()));
  }
  using RowFamily::supported;
  static Support supported(const P &problem, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kNorm}; }
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
