// The experts of tokens, where they are given.
#include "topk_gating/topk_gating_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<TopkGatingProblem>::IndexRow>
Family<TopkGatingProblem>::indexRows(const TopkGatingProblem &problem, const RowConfig &) {
  if (!problem.given)
    return {};
  // Without the check, any other number has the weight 0.
  return {{.rule = {.argument = "ids",
                    .meaning = "the experts",
                    .orNone = true,
                    .columns = problem.topk},
           .values = [](const P &p, const A &args) {
             return IndexValues{.address = address(args.ids),
                                .count = args.ids.shape()[0] * p.topk,
                                .end = p.experts};
           }}};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
