// The dispatch of tokens to the ranks of their experts, between its host file and its kernels.
//
// A call is three parts. Each rank gives its tokens and their slots to its window, meets the others,
// and takes the slots of all ranks into tables; a slot of another rank's expert is -1 there. Then
// moe_sort makes places of the tables. Then each place takes its token's row out of the window that
// has it. The parts after the first need no meeting: a window's turn stays as it is until all ranks
// have begun the next call.
#pragma once

#include "blocks/rows/row_family.h"
#include "collective/expert_ranks.h"
#include "collective/work_layout.h"
#include "moe_sort/moe_sort_family.h"

#include <flydsl/kernels/expert_parallel.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct DispatchGiveParams {
  Strided<Side, 1> x, scales;    // (m, n), (m, scales)
  Strided<Side, 0> ids, weights; // (m * topk)
  Param<Side, Int32> m;
  Strided<Side, 0> tableIds, tableWeights; // (ranks * tokens * topk)
  Strided<Side, 0> work;                   // (WorkLayout::kWords), 0 from now on, or none
  Param<Side, GroupParams<OnDevice>> group;
};
template <class Side> struct DispatchTakeParams {
  Strided<Side, 0> sortedIds, sortedWeights, unitExperts; // of all places that there may be
  Strided<Side, 0> totals;                                // (3)
  Strided<Side, 1> y, scales;                             // (places, n), (places, scales)
  Strided<Side, 0> weights, units;                        // (places), (places / unit)
  Param<Side, Int32> places;
  Param<Side, GroupParams<OnDevice>> group;
};
inline constexpr KernelOf<DispatchGiveParams> kDispatchGive{"expert_dispatch_give"};
inline constexpr KernelOf<DispatchTakeParams> kDispatchTake{"expert_dispatch_take"};

/// The slots of a rank's tokens.
inline std::int64_t slotsOfRank(const ExpertDispatchProblem &problem) {
  return problem.tokens * problem.topk;
}
/// Where a window has what a rank gives, in bytes. Rows of tokens and of scales are in the first
/// `rows` bytes, or in those of registered memory; then the window begins with the ids.
struct DispatchWindow {
  std::int64_t scales, rows, ids, weights, bytes;
};
inline DispatchWindow dispatchWindow(const ExpertDispatchProblem &problem) {
  const std::int64_t scaleBytes = problem.scale ? windowRowBytes(problem.scale, problem.scales) : 0;
  DispatchWindow window{};
  window.scales = problem.tokens * windowRowBytes(problem.x, problem.n);
  window.rows = window.scales + problem.tokens * scaleBytes;
  window.ids = problem.registered ? 0 : window.rows;
  window.weights = window.ids + windowBytes(slotsOfRank(problem) * 4);
  window.bytes = window.weights + (problem.weights ? windowBytes(slotsOfRank(problem) * 4) : 0);
  return window;
}
/// A rank's scales as a row.
inline RowShape scaleShape(const ExpertDispatchProblem &problem) {
  return RowShape::of(problem.scales, 0, problem.scale.bytes());
}
/// The sorting of the slots of all ranks, whose experts have this rank's numbers.
inline MoeSortProblem sortingOf(const ExpertDispatchProblem &problem) {
  return {.experts = problem.local(),
          .topk = problem.topk,
          .unit = problem.unit,
          .capacity = problem.capacity,
          .weights = problem.weights,
          .places = true};
}
/// The group's part of both launches.
inline GroupParams<OnHost> dispatchGroup(const ExpertDispatchProblem &problem,
                                         const ExpertDispatchConfig &config, const Group &group) {
  constexpr std::int64_t kKind = 0x101; // no CollectiveKind
  return groupParams(group, u8,
                     {kKind, config.rows.threads, config.rows.block, config.blocks,
                      static_cast<std::int64_t>(problem.x.kind()), problem.n, problem.experts,
                      problem.topk, problem.tokens, problem.weights,
                      static_cast<std::int64_t>(problem.scale.kind()), problem.scales,
                      problem.registered});
}
/// Refuses x and scales that are not where the other ranks read them.
void expectRegistered(const Arguments &arguments, const ExpertDispatchProblem &problem,
                      const Group &group, const TensorArg &x,
                      const std::optional<TensorArg> &scales);

template <>
struct Family<ExpertDispatchProblem>
    : FamilyDefaults<ExpertDispatchProblem, &ExpertDispatchArgs::x> {
  static constexpr RowLimits kLimits{};
  static RowShape shape(const P &problem) { return RowShape::of(problem.n, 0, problem.x.bytes()); }
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &problem, const C &config, std::int64_t m);
  static KernelNames kernels(const P &problem, const C &config);
  template <class Visit>
  static void eachPart(const P &problem, const C &config, const Visit &visit);
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

/// The first kernel of a dispatch and the last one, between which are those of the sorting, as parts of
/// families: each has a variant of its own in files. Without the last one, every place knows its row.
struct DispatchGiving {
  ExpertDispatchProblem dispatch;
  friend bool operator==(const DispatchGiving &, const DispatchGiving &) = default;
};
struct DispatchTaking {
  ExpertDispatchProblem dispatch;
  friend bool operator==(const DispatchTaking &, const DispatchTaking &) = default;
};
/// Checks the arguments of a call, launches the kernels before the last one, which are `launches`, and
/// gives what the last one takes. They make `work`, if there is any, zero.
DispatchTakeParams<OnHost> launchPlacing(const Call<ExpertDispatchProblem> &call,
                                         const std::optional<TensorArg> &work = {});

} // namespace kernels::impl

namespace kernels {
template <> struct FamilyOf<impl::DispatchGiving> {
  using Config = ExpertDispatchConfig;
  using Args = ExpertDispatchArgs;
  static constexpr std::string_view name = "expert_dispatch_give";
};
template <> struct FamilyOf<impl::DispatchTaking> {
  using Config = ExpertDispatchConfig;
  using Args = ExpertDispatchArgs;
  static constexpr std::string_view name = "expert_dispatch_take";
};
} // namespace kernels

namespace kernels::impl {
template <> struct Family<DispatchGiving> : FamilyDefaults<DispatchGiving, &ExpertDispatchArgs::x> {
  static KernelNames kernels(const P &, const C &) { return {&kDispatchGive}; }
  static void compile(const Compiler<P> &compiler);
};
template <> struct Family<DispatchTaking> : FamilyDefaults<DispatchTaking, &ExpertDispatchArgs::x> {
  static KernelNames kernels(const P &, const C &) { return {&kDispatchTake}; }
  static void compile(const Compiler<P> &compiler);
};

template <class Visit>
void Family<ExpertDispatchProblem>::eachPart(const P &problem, const C &config,
                                             const Visit &visit) {
  visit(DispatchGiving{problem}, config);
  visit(sortingOf(problem), config.sort);
  visit(DispatchTaking{problem}, config);
}
} // namespace kernels::impl
FLYDSL_NAMESPACE_END
