// A mixture of experts over the ranks of a group as the parts that it is launched as.
#pragma once

#include "expert_combine/expert_combine_family.h"
#include "expert_dispatch/expert_dispatch_family.h"
#include "frame/parts.h"
#include "moe_forward/moe_forward_family.h"

#include <flydsl/kernels/experts/moe_ranks.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The problems of the parts after the router.
struct RankParts {
  ExpertDispatchProblem dispatch;
  GroupedGemmProblem first, second;
  ExpertCombineProblem combine;
};
RankParts partsOf(const MoeRanksProblem &problem, int unit);

/// The configuration of the dispatch, and of the combine, as those of blocks of a product's launch.
inline RowConfig rowsOfBlock(RowConfig rows, const GemmConfig &product) {
  rows.block = product.threads;
  rows.threads = std::min(rows.threads, product.threads);
  return rows;
}
inline ExpertDispatchConfig copiersOf(const MoeRanksConfig &config) {
  ExpertDispatchConfig copiers = config.dispatch;
  copiers.rows = rowsOfBlock(copiers.rows, config.first);
  return copiers;
}
inline ExpertCombineConfig combinersOf(const MoeRanksConfig &config) {
  ExpertCombineConfig combiners = config.combine;
  combiners.rows = rowsOfBlock(combiners.rows, config.second);
  return combiners;
}

/// The first product of a fused call: its first blocks bring the rows.
template <class Side> struct TakeProductParams {
  Param<Side, DispatchTakeParams<OnDevice>> take;
  Param<Side, GroupedGemmParams<OnDevice>> product;
  Param<Side, Int32> tiles; // tickets after the copiers'
  Strided<Side, 0> work;    // (WorkLayout::kWords)
};
/// The second product of a fused call: its last blocks sum up. The ids of its places lead to the slots
/// of tokens.
template <class Side> struct ProductCombineParams {
  Param<Side, GroupedGemmParams<OnDevice>> product;
  Param<Side, ExpertCombineParams<OnDevice>> combine;
  Param<Side, Int32> tiles, combiners; // tickets of each kind
  Strided<Side, 0> work;               // (WorkLayout::kWords)
};
/// The two as a part of the family.
struct FusedProducts {
  MoeRanksProblem ranks;
  friend bool operator==(const FusedProducts &, const FusedProducts &) = default;
};
inline constexpr KernelOf<TakeProductParams> kTakeProduct{"moe_ranks_take_product"};
inline constexpr KernelOf<ProductCombineParams> kProductCombine{"moe_ranks_product_combine"};

} // namespace kernels::impl

namespace kernels {
template <> struct FamilyOf<impl::FusedProducts> {
  using Config = MoeRanksConfig;
  using Args = MoeRanksArgs;
  static constexpr std::string_view name = "moe_ranks_fused";
};
} // namespace kernels

namespace kernels::impl {

template <> struct Family<FusedProducts> : FamilyDefaults<FusedProducts, &MoeRanksArgs::x> {
  static KernelNames kernels(const P &, const C &) { return {&kTakeProduct, &kProductCombine}; }
  static void compile(const Compiler<P> &compiler);
};

template <> struct Family<MoeRanksProblem> : FamilyDefaults<MoeRanksProblem, &MoeRanksArgs::x> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &problem, const C &config, std::int64_t m);
  static KernelNames kernels(const P &problem, const C &config) {
    return kernelsOfParts(problem, config);
  }
  template <class Visit>
  static void eachPart(const P &problem, const C &config, const Visit &visit) {
    const RankParts parts = partsOf(problem, config.unit);
    visit(problem.mixture.router, config.router);
    visit(DispatchGiving{parts.dispatch}, config.dispatch);
    visit(sortingOf(parts.dispatch), config.dispatch.sort);
    if (config.fused)
      return visit(FusedProducts{problem}, config);
    visit(DispatchTaking{parts.dispatch}, config.dispatch);
    visit(parts.first, config.first);
    visit(parts.second, config.second);
    visit(parts.combine, config.combine);
  }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
