// The merge of attention's states, between its host file and its kernel.
#pragma once

#include "frame/family.h"

#include <flydsl/kernels/attention/merge_states.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct MergeStatesParams {
  Strided<Side, 3> a, aLse, b, bLse; // (m, states, heads, head), (m, states, heads)
  Strided<Side, 0> sink;             // (heads)
  Strided<Side, 2> y, lse;           // (m, heads, head), (m, heads)
  Param<Side, Int32> m;
};
inline constexpr KernelOf<MergeStatesParams> kMergeStates{"merge_states"};

/// The states of operand a, and of all operands.
inline int statesOfA(const MergeStatesProblem &problem) {
  return problem.states ? problem.states : 1;
}
inline int statesOf(const MergeStatesProblem &problem) {
  return problem.states ? problem.states : 2;
}
/// Neighbours of a head that a thread has: 16 bytes of each state.
inline int pieceOfState(const MergeStatesProblem &problem) { return 16 / problem.x.bytes(); }
/// Threads of a token.
inline int threadsOfToken(const MergeStatesProblem &problem) {
  return problem.heads * (problem.head / pieceOfState(problem));
}

template <>
struct Family<MergeStatesProblem> : FamilyDefaults<MergeStatesProblem, &MergeStatesArgs::y> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kMergeStates}; }
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
