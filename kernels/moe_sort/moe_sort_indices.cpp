// The numbers by which slots are sorted.
#include "moe_sort/moe_sort_family.h"

#include "blocks/common/expert_ids.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<MoeSortProblem>::IndexRow>
Family<MoeSortProblem>::indexRows(const MoeSortProblem &problem, const MoeSortConfig &) {
  // Without the check, a slot of any other number has no place.
  std::vector<IndexRow> rows;
  if (!problem.routes() || problem.router.given)
    rows.push_back(expertIdsRow<P, A>(problem));
  if (problem.local)
    rows.push_back(expertMapRow<P, A>());
  if (problem.tokens)
    rows.push_back(tokensRow<P, A, &A::ids>("the rows of ids"));
  return rows;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
