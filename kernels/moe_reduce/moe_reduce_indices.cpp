// The numbers by which the rows of slots are found, and the experts that say whether they count.
#include "moe_reduce/moe_reduce_family.h"

#include "blocks/common/expert_ids.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<MoeReduceProblem>::IndexRow>
Family<MoeReduceProblem>::indexRows(const MoeReduceProblem &problem, const RowConfig &) {
  if (problem.experts)
    return {expertIdsRow<P, A>(problem)};
  if (!problem.places)
    return {};
  return {{.rule = {.argument = "slot_places",
                    .meaning = "the rows of x",
                    .orNone = true,
                    .columns = problem.topk},
           .values = [](const P &p, const A &args) {
             return IndexValues{.address = address(args.slot_places),
                                .count = args.y.shape()[0] * p.topk,
                                .end = args.x.shape()[0]};
           }}};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
