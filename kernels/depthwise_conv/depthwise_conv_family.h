// Depthwise convolutions, between their host file and their kernel.
#pragma once

#include "conv/conv_family.h"
#include "frame/family.h"

#include <flydsl/kernels/conv/depthwise_conv.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct DepthwiseConvParams {
  Strided<Side, 4> x;                                  // (n, d, h, w, channels)
  Strided<Side, 0> weight, y, bias;                    // (taps, filters), (m, filters), (filters)
  std::array<Param<Side, Int32>, kImageModes> in, out; // extents of images of x and of y
  Param<Side, Int32> images;                           // n
  Param<Side, Int32> m;                                // elements of y for each filter
};
inline constexpr KernelOf<DepthwiseConvParams> kDepthwiseConv{"depthwise_conv"};

inline ImageWork workOf(const DepthwiseConvProblem &problem) {
  return {problem.rank, {problem.depth, problem.height, problem.width}, problem.transposed};
}

/// How a block's threads are dealt: `across` of them have the channels of a run, one piece each.
struct DepthwiseThreads {
  DepthwiseThreads(const DepthwiseConvProblem &problem, const DepthwiseConvConfig &config)
      : pieces(problem.channels / config.channels), across(std::min(pieces, config.block)),
        runs(config.block / across), ofRun((pieces + across - 1) / across) {}
  int pieces; ///< of the channels of an element
  int across; ///< threads of a run in a block
  int runs;   ///< of a block
  int ofRun;  ///< blocks that have the pieces of a run together
};

template <>
struct Family<DepthwiseConvProblem> : FamilyDefaults<DepthwiseConvProblem, &DepthwiseConvArgs::y> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::int64_t rows(const A &args) { return elementsOf(args.y); }
  static KernelNames kernels(const P &, const C &) { return {&kDepthwiseConv}; }
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
