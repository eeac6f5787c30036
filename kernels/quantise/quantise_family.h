// Quantisation, between its host file and its kernels.
#pragma once

#include "blocks/rows/row_family.h"

#include <flydsl/kernels/quantise.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// x, q, scale, the distances of the rows of x, q and the scales of blocks, m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int32_t>
    kQuantise{"quantise"};
/// A scale for the whole tensor takes three kernels before that one. The scale's place holds the
/// bits of the largest magnitude meanwhile: they are cleared, each row adds its own, and they
/// become the scale.
inline constexpr KernelName<std::int64_t> kClear{"quantise_clear"};
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int32_t> kLargest{
    "quantise_largest"};
inline constexpr KernelName<std::int64_t> kScale{"quantise_scale"};

/// The block of a kernel of which one thread works: a wave of any target.
inline constexpr int kOneBlock = 64;
/// Values of a block of the microscaling formats.
inline constexpr int kBlock = 32;

template <> struct Family<QuantiseProblem> : RowFamily<QuantiseProblem, &QuantiseArgs::x> {
  /// The rows of a problem, in accesses as wide as x allows.
  static RowShape shape(const P &problem) {
    return RowShape::of(problem.n, problem.row_align, problem.x.bytes());
  }
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
