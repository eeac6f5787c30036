// Quantisation, between its host file and its kernels.
#pragma once

#include "blocks/quant/group_rules.h"
#include "blocks/rows/row_family.h"

#include <flydsl/kernels/quantise.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct QuantiseParams {
  Strided<Side, 1> x, q;   // (m, n)
  Strided<Side, 2> scale;  // (m, n / group), also of blocks; else (m) or one, without strides
  Strided<Side, 0> smooth; // (n)
  Param<Side, Int32> m;
  Strided<Side, 0> rows; // one
};
inline constexpr KernelOf<QuantiseParams> kQuantise{"quantise"};

/// A scale for the whole tensor takes three kernels before that one. The scale's place holds the
/// bits of the largest magnitude meanwhile: they are cleared, each block adds that of its rows, and they
/// become the scale.
template <class Side> struct QuantiseScaleParams {
  Strided<Side, 0> scale; // one
};
template <class Side> struct QuantiseLargestParams {
  Strided<Side, 1> x;             // (m, n)
  Strided<Side, 0> scale, smooth; // one, (n)
  Param<Side, Int32> m;
  Strided<Side, 0> rows; // one
};
inline constexpr KernelOf<QuantiseScaleParams> kClear{"quantise_clear"};
inline constexpr KernelOf<QuantiseLargestParams> kLargest{"quantise_largest"};
inline constexpr KernelOf<QuantiseScaleParams> kScale{"quantise_scale"};

/// The block of a kernel in which one thread works: a wave of any target.
inline constexpr int kOneBlock = 64;
/// The most blocks that look for the largest magnitude of all rows, and the most threads of each. They wait for
/// each other at one word, so that few large blocks take many rows.
inline constexpr int kMostOfLargest = 256, kThreadsOfLargest = 1024;
/// How rows are dealt to such blocks: as those of the configuration, but more at a time.
inline RowConfig largestConfig(RowConfig config) {
  config.block *= std::max(1, kThreadsOfLargest / config.block);
  return config;
}
/// The most rows that such blocks take, `each` at a time: a block's turn after its last one has a number of
/// 32 bits, too.
inline std::int64_t mostRowsOfTensor(std::int64_t each) {
  return 0x7fffffff - kMostOfLargest * each;
}
/// Values of a block of the microscaling formats.
inline constexpr int kBlock = 32;

template <> struct Family<QuantiseProblem> : RowFamily<QuantiseProblem, &QuantiseArgs::x> {
  /// The rows of a problem, in accesses as wide as x allows.
  static RowShape shape(const P &problem) {
    return RowShape::of(problem.n, problem.row_align, problem.x.bytes());
  }
  /// Blocks are groups, too.
  static QuantGroups groups(const P &problem) {
    if (problem.scale == ScaleOf::block)
      return {kBlock, f8E8M0FNU, problem.block, problem.prepared_scales};
    return {problem.group, problem.group_scale, problem.block};
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
