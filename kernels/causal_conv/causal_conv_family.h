// The causal convolution, between its host file and its kernel.
#pragma once

#include "blocks/rows/row_rules.h"
#include "frame/family.h"

#include <flydsl/kernels/causal_conv.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct CausalConvParams {
  Strided<Side, 1> x, y;                        // (m, channels)
  Strided<Side, 0> weight;                      // (channels, width)
  Strided<Side, 0> starts;                      // (n + 1)
  Param<Side, Int32> tokens, sequences;         // m, n
  Strided<Side, 0> bias;                        // (channels)
  Strided<Side, 2> state;                       // (slots, columns, channels) or their other order
  Param<Side, Int64> slots;                     // of the state
  Strided<Side, 0> stateSlots, fresh, accepted; // (n)
};
inline constexpr KernelOf<CausalConvParams> kCausalConv{"causal_conv"};

/// The columns of a state.
inline int columnsOf(const CausalConvProblem &problem) {
  return problem.width - 1 + problem.drafts;
}
/// The blocks that have all channels of a run of tokens.
inline int blocksOfRun(const CausalConvProblem &problem, const CausalConvConfig &config) {
  const int each = config.block * config.channels;
  return (problem.channels + each - 1) / each;
}
/// The elements that divide the places of all rows.
inline int alignOf(const CausalConvProblem &problem) {
  return problem.row_align ? problem.row_align : naturalAlign(problem.channels);
}

template <>
struct Family<CausalConvProblem> : FamilyDefaults<CausalConvProblem, &CausalConvArgs::x> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kCausalConv}; }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
