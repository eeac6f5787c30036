// The return of experts' results to the ranks of their tokens, between its host file and its kernel.
//
// Each rank writes the results of its experts into the windows of the ranks whose tokens they are of,
// to the row of the token and the slot. So a window has room for all slots of its rank, whatever the
// experts are, and a rank finds its rows without asking another one.
#pragma once

#include "blocks/rows/row_family.h"
#include "collective/expert_ranks.h"

#include <flydsl/kernels/expert_parallel.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct ExpertCombineParams {
  Strided<Side, 1> x;            // (places, n)
  Strided<Side, 0> slotPlaces;   // (ranks * tokens * topk)
  Strided<Side, 0> ids, weights; // (m, topk)
  Strided<Side, 1> y;            // (m, n)
  Param<Side, Int32> m, places;
  Param<Side, GroupParams<OnDevice>> group;
};
inline constexpr KernelOf<ExpertCombineParams> kExpertCombine{"expert_combine"};

/// The slots of all ranks that a block looks at together: those of as many tokens as it has rows.
inline std::int64_t slotsTogether(const ExpertCombineProblem &problem, const RowConfig &rows) {
  return static_cast<std::int64_t>(problem.ranks) * problem.topk * (rows.block / rows.threads);
}
/// The type of rows between the ranks.
inline DType wireType(const ExpertCombineProblem &problem) {
  return problem.wire ? problem.wire : problem.x;
}
/// Where a window has the scales of rows, after the rows themselves, in bytes.
inline std::int64_t scalesOfWindow(const ExpertCombineProblem &problem) {
  return problem.tokens * problem.topk * windowRowBytes(wireType(problem), problem.n);
}
/// The scales of a row.
inline RowShape wireScales(const ExpertCombineProblem &problem) {
  return RowShape::of(problem.n / kWireBlock, 0, 1);
}
/// Bytes of a window that a call needs.
inline std::int64_t combineBytes(const ExpertCombineProblem &problem) {
  const std::int64_t scales =
      problem.wire ? windowRowBytes(u8, problem.n / kWireBlock) : std::int64_t{0};
  return scalesOfWindow(problem) + problem.tokens * problem.topk * scales;
}
/// The group's part of a launch.
inline GroupParams<OnHost> combineGroup(const ExpertCombineProblem &problem,
                                        const ExpertCombineConfig &config, const Group &group) {
  constexpr std::int64_t kKind = 0x102; // no CollectiveKind
  return groupParams(group, u8,
                     {kKind, config.rows.threads, config.rows.block, config.blocks,
                      static_cast<std::int64_t>(problem.x.kind()), problem.n, problem.experts,
                      problem.topk, problem.tokens,
                      static_cast<std::int64_t>(problem.wire.kind())});
}

template <>
struct Family<ExpertCombineProblem> : FamilyDefaults<ExpertCombineProblem, &ExpertCombineArgs::y> {
  /// Elements of each of a token's rows that a thread has.
  static constexpr RowLimits kLimits{.most = 16};
  static RowShape shape(const P &problem) {
    return RowShape::of(problem.n, 0, std::max(problem.x.bytes(), problem.y.bytes()));
  }
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kExpertCombine}; }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);

  /// Checks the arguments of a call, and gives those of its kernel. Without `givesX`, all rows are in the
  /// windows before it sums up, and the call has no x.
  static ExpertCombineParams<OnHost> prepare(const Call<P> &call, bool givesX = true);
  static void launch(const Call<P> &call, const ExpertCombineParams<OnHost> &params);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
