// The experts of tokens, where they are given.
#include "topk_gating/topk_gating_family.h"

#include "blocks/common/expert_ids.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<TopkGatingProblem>::IndexRow>
Family<TopkGatingProblem>::indexRows(const TopkGatingProblem &problem, const RowConfig &) {
  if (!problem.given)
    return {};
  // Without the check, any other number has the weight 0.
  return {expertIdsRow<P, A>(problem)};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
