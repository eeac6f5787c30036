// Linear attention, between its host file and its kernels.
#pragma once

#include "blocks/attention/head_rules.h"
#include "blocks/facts/matrix_form.h"
#include "frame/family.h"

#include <flydsl/kernels/delta_rule.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct DeltaRuleParams {
  Strided<Side, 2> q, k, v, y;        // (m, heads, key), (m, v_heads, value)
  Strided<Side, 2> g;                 // (m, v_heads); by_channel: (m, v_heads, key)
  Strided<Side, 1> beta;              // (m, v_heads)
  Strided<Side, 0> a, dtBias, skip;   // (v_heads); dtBias by_channel: (v_heads, key)
  Strided<Side, 2> state;             // (slots, v_heads, key, value)
  Param<Side, Int64> slots;           // of the state
  Strided<Side, 0> starts;            // (n + 1)
  Strided<Side, 0> stateSlots, fresh; // (n)
  Param<Side, Int32> tokens;          // m
};
inline constexpr KernelOf<DeltaRuleParams> kDeltaRule{"delta_rule"};

/// Columns of a state that a lane holds: 16 bytes of them.
inline constexpr int kDeltaColumns = 4;
/// The elements that divide the places of rows of all operands, as a lane loads so many at a time.
inline constexpr int kDeltaAlign = 4;
/// The blocks of a head of a sequence.
inline int blocksOfHead(const DeltaRuleProblem &problem, const DeltaRuleConfig &config) {
  // In chunks, each wave has 16 columns and key_lanes is the wave.
  const int columns = config.chunks ? config.block / config.key_lanes * 16
                                    : config.block / config.key_lanes * kDeltaColumns;
  return (problem.value + columns - 1) / columns;
}
inline double scaleOf(const DeltaRuleProblem &problem) {
  if (problem.scale == 0 && problem.update == StateUpdate::add)
    return 1;
  return scaleOr(problem.scale, problem.key);
}
/// The instruction of the chunked form; none if the target has none of the type.
inline std::optional<MatrixForm> chunkForm(const DeltaRuleProblem &problem, const Target &target) {
  return matrixForm(target, problem.x, problem.x, 32, 32);
}

template <> struct Family<DeltaRuleProblem> : FamilyDefaults<DeltaRuleProblem, &DeltaRuleArgs::q> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kDeltaRule}; }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
