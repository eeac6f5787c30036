// The numbers by which slots are sorted.
#include "moe_sort/moe_sort_family.h"

#include "blocks/common/expert_ids.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<MoeSortProblem>::IndexRow>
Family<MoeSortProblem>::indexRows(const MoeSortProblem &problem, const MoeSortConfig &) {
  // Without the check, a slot of any other number has no place.
  std::vector<IndexRow> rows{expertIdsRow<P, A>(problem)};
  if (problem.local)
    rows.push_back({.rule = {.argument = "expert_map",
                             .meaning = "the experts of this rank",
                             .orNone = true,
                             .distinct = true},
                    .values = [](const P &p, const A &args) {
                      return IndexValues{
                          .address = address(args.expert_map), .count = p.experts, .end = p.local};
                    }});
  if (problem.tokens)
    rows.push_back({.rule = {.argument = "tokens", .meaning = "the rows of ids"},
                    .values = [](const P &, const A &args) {
                      return IndexValues{.address = address(args.tokens),
                                         .count = 1,
                                         .end = args.ids.shape()[0] + 1};
                    }});
  return rows;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
