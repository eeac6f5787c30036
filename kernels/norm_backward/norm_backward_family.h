// The norms' gradients, between their host file and their kernels.
#pragma once

#include "blocks/rows/row_family.h"

#include <flydsl/kernels/norm_backward.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Sets partial sums to 0.
template <class Side> struct NormBackwardClearParams {
  Strided<Side, 0> sums; // (count)
  Param<Side, Int32> count;
};
inline constexpr KernelOf<NormBackwardClearParams> kClearSums{"norm_backward_clear"};

template <class Side> struct NormBackwardParams {
  Strided<Side, 1> x, dy, dx; // (m, n)
  Strided<Side, 0> weight;    // (n)
  Strided<Side, 0> rstd;      // (m)
  Strided<Side, 0> sums;      // (parts, n): dweight's partial sums, then dbias's
  Param<Side, Int32> m;
  Strided<Side, 1> dresidual; // (m, n)
  Strided<Side, 0> mean;      // (m)
};
inline constexpr KernelOf<NormBackwardParams> kNormBackward{"norm_backward"};

/// Adds the partial sums of each column up.
template <class Side> struct NormBackwardFinishParams {
  Strided<Side, 0> sums;           // (parts, n): dweight's partial sums, then dbias's
  Strided<Side, 0> dweight, dbias; // (n)
  Param<Side, Int32> rows;         // partial sums of a column
};
inline constexpr KernelOf<NormBackwardFinishParams> kFinish{"norm_backward_finish"};

/// The threads of a configuration.
inline RowConfig rowConfig(const NormBackwardConfig &config) {
  return {config.threads, config.block, config.resident};
}
/// Whether partial sums are added to what is there.
inline bool addsToSums(const NormBackwardConfig &config) {
  return config.atomic || !config.resident;
}
/// Columns of a block of the kernel that adds the partial sums up, its threads for each, and the
/// sums that a thread loads at a time.
inline constexpr int kColumns = 64, kThreadsOfColumn = 16, kLoadsOfColumn = 8;
/// Threads of a block that clears.
inline constexpr int kClearBlock = 256;

template <>
struct Family<NormBackwardProblem> : FamilyDefaults<NormBackwardProblem, &NormBackwardArgs::x> {
  /// The rows of a problem, in accesses as wide as its widest operand allows.
  static RowShape shape(const P &problem) {
    return RowShape::of(problem.n, problem.row_align,
                        std::max(problem.x.bytes(), problem.dy.bytes()));
  }
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &problem, const C &config, std::int64_t m);
  static KernelNames kernels(const P &, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
