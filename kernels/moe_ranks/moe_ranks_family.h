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
    visit(parts.dispatch, config.dispatch);
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
