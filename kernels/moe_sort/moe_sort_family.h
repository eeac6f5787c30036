// The sorting of slots by expert, between its host file and its kernels.
#pragma once

#include "frame/family.h"

#include <flydsl/kernels/moe_sort.h>
#include <flydsl/kernels/row.h>
#include <flydsl/kernels/weight.h>

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What the kernels that sort slots take. A slot's number is token * topk + slot.
template <class Side> struct MoeSortParams {
  Strided<Side, 0> ids;       // (m * topk)
  Strided<Side, 0> sortedIds; // (places)
  Strided<Side, 0> counts;    // (local)
  Strided<Side, 0> totals;    // (3)
  Param<Side, Int32> m, places;
  Param<Side, Int32> rounds;               // slots that each thread of a block looks at
  Strided<Side, 0> weights, sortedWeights; // (m * topk), (places)
  Strided<Side, 0> unitExperts, offsets;   // (places / unit), (local + 1)
  Strided<Side, 0> slotPlaces;             // (m * topk)
  Strided<Side, 0> expertMap, tokens;      // (experts), (1)
  Strided<Side, 0> blockCounts;            // (local, blocks + 1): see kMoeSortScan
  Strided<Side, 1> zeros;                  // (m, zeros)
  Strided<Side, 1> logits;                 // (m, router.experts)
  Strided<Side, 0> routerBias;             // (router.experts)
};
/// One block sorts. Where rows are set to 0, the others do so.
inline constexpr KernelOf<MoeSortParams> kMoeSort{"moe_sort"};
/// The same block chooses the experts first.
inline constexpr KernelOf<MoeSortParams> kMoeRouteSort{"moe_route_sort"};
/// Each block counts its slots of each expert; together they write padding to all places.
inline constexpr KernelOf<MoeSortParams> kMoeSortCount{"moe_sort_count"};
/// The counts of blocks become the counts of the blocks before them, and after these that of all.
inline constexpr KernelOf<MoeSortParams> kMoeSortScan{"moe_sort_scan"};
/// Each block puts its slots into their places.
inline constexpr KernelOf<MoeSortParams> kMoeSortScatter{"moe_sort_scatter"};

/// What the kernel that sorts scales along takes.
template <class Side> struct MoeSortScalesParams {
  Strided<Side, 1> scales;                  // (m, scales)
  Strided<Side, 0> sortedIds, sortedScales; // (places), (places / 32, scales / 8, 256)
  Param<Side, Int32> m, places;
};
/// Brings the scales of each place's token into the order of PreparedScales.
inline constexpr KernelOf<MoeSortScalesParams> kMoeSortScales{"moe_sort_scales"};

/// Threads of a block of that kernel. A thread has two rows of a block of scales, with a stride of kRowsWithWords.
inline constexpr int kScalesBlock = 256;
/// The words that a thread writes: four, of its two rows.
inline constexpr int kScaleWordsOfThread = 4;
/// The rows of a group of PreparedScales that have words of their own: the others lie in the same words.
inline constexpr int kRowsWithWords = PreparedScales::kRows / 2;
/// The elements of a row with scales.
inline std::int64_t elementsOfScales(const MoeSortProblem &problem) {
  constexpr int kElementsOfScale = 32;
  return problem.scales * kElementsOfScale;
}
/// The scales of a row that a thread loads together.
inline int scalesTogether(const MoeSortProblem &problem) {
  return static_cast<int>(
      std::min<std::int64_t>(problem.scales & -problem.scales, PreparedScales::kScales));
}

/// Threads of a block of kMoeSortScan, and the experts that it has: 32 lanes each.
inline constexpr int kScanBlock = 256, kScanExperts = 8;

/// The bytes that a thread sets to 0 at a time.
inline constexpr int kClearedBytes = 16;

/// The experts whose slots have places.
inline std::int64_t expertsHere(const MoeSortProblem &problem) {
  return problem.local ? problem.local : problem.experts;
}

/// The threads that choose experts.
inline RowConfig routerConfig(const MoeSortConfig &config) {
  return {.threads = config.threads, .block = config.block, .resident = true};
}

/// The most tokens for which one kernel that chooses experts and sorts takes less time than two: as many
/// as its block chooses for at once.
std::int64_t tokensRoutedBySorting(const TopkGatingProblem &router, const Target &target);

template <> struct Family<MoeSortProblem> : FamilyDefaults<MoeSortProblem, &MoeSortArgs::ids> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &problem, const C &config, std::int64_t m);
  static KernelNames kernels(const P &problem, const C &config);
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
