// Products of groups of rows, between their host files and their kernel.
#pragma once

#include "blocks/products/tile_scheduler.h"
#include "frame/family.h"
#include "gemm/gemm_shape.h"

#include <flydsl/kernels/grouped_gemm.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct GroupedGemmParams {
  Strided<Side, 1> a;                            // (places or tokens, k)
  Strided<Side, 2> b;                            // (experts, columns, k), or prepared
  Strided<Side, 2> c;                            // (places, n) or (tokens, topk, n)
  Param<Side, Int32> places, tokens;             // tokens: of a or c, if places have ids
  Strided<Side, 0> unitExperts, offsets, counts; // (places / unit), (experts + 1), (experts)
  Strided<Side, 0> sortedIds, weights;           // (places)
  Strided<Side, 2> scaleA; // (rows of a); of blocks: (rows of a, k / 128); prepared: by places
  Strided<Side, 0> scaleB, bias; // (experts, columns); of blocks: (experts, columns / 128, k / 128)
  Strided<Side, 0> groupScales, groupZeros; // (experts, k / size, columns)
  Strided<Side, 0> scaleC;                  // (1); of blocks: (places, n / 128)
};
inline constexpr KernelOf<GroupedGemmParams> kGroupedGemm{"grouped_gemm"};

/// A place's id has the token in so many bits, and the slot above them.
inline constexpr int kIdTokenBits = kTokenBitsOfIds;
inline constexpr std::int32_t kIdTokens = static_cast<std::int32_t>(kTokensOfIds);

/// The product of one expert: what its block's loop and tiles are those of. Interleaved pairs are the
/// sums of neighbouring columns of a product that is twice as wide.
inline GemmProblem productOf(const GroupedGemmProblem &problem) {
  const bool isInterleaved = problem.gated == GatedPairs::interleaved;
  return {.a = problem.a,
          .b = problem.b,
          .c = problem.c,
          .b_layout = problem.b_layout,
          .n = isInterleaved ? 2 * problem.n : problem.n,
          .k = problem.k,
          .scale_a = problem.scale_a,
          .scale_b = problem.scale_b,
          .scale_c = problem.scale_c,
          .scale = problem.scale,
          .scale_a_layout = problem.scale_a_layout,
          .scale_b_layout = problem.scale_b_layout,
          .b_groups = problem.b_groups,
          .bias = problem.bias,
          .bias_type = problem.bias_type,
          .activation = problem.activation,
          .gated = problem.gated == GatedPairs::halves};
}

/// Scales of a row of c that the product makes.
inline std::int64_t scalesOfRowOfC(const GroupedGemmProblem &problem) {
  const int block = columnsOfScaleC(problem.scale_c);
  return block ? (problem.n + block - 1) / block : 0;
}

/// The extents of the scales of so many rows of a, or of places if they are prepared, if a scale is of a block or of 32
/// elements of a row.
inline Extents scalesOfRowsOfA(const GroupedGemmProblem &problem, std::int64_t rows) {
  if (problem.scale_a_layout != OperandLayout::prepared)
    return {rows, problem.scale_a == Scales::mx ? problem.k / kMxBlock : scaleBlocks(problem.k)};
  const auto [groups, blocks, bytes] = PreparedScales::shape(rows, problem.k);
  return {groups, blocks, bytes};
}

/// Rows of tiles that are enough for any groups of so many places.
inline std::int64_t tilesDown(const GroupedGemmProblem &problem, const GemmConfig &config,
                              std::int64_t places) {
  // Each expert begins a tile of its own.
  return places / config.tile_m +
         (problem.groups == GroupLayout::offsets && places ? problem.experts : 0);
}

template <>
struct Family<GroupedGemmProblem> : FamilyDefaults<GroupedGemmProblem, &GroupedGemmArgs::a> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::int64_t rows(const A &args) {
    return (args.sorted_ids ? *args.sorted_ids : args.a).shape()[0];
  }
  static KernelNames kernels(const P &, const C &) { return {&kGroupedGemm}; }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);

  /// What a call launches: so many blocks, 0 if there is nothing to do.
  struct Work {
    std::int64_t blocks;
    GroupedGemmParams<OnHost> params;
  };
  /// Checks the arguments of a call. Without `storesC`, its kernel stores its results elsewhere, and the
  /// call has no c.
  static Work prepare(const Call<P> &call, bool storesC = true);
  static void launch(const Call<P> &call, const Work &work);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
