// The numbers by which rotation finds rows of its tables and places of the cache.
#include "rope/rope_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<RopeProblem>::IndexRow>
Family<RopeProblem>::indexRows(const RopeProblem &problem, const RopeConfig &) {
  std::vector<IndexRow> rows;
  // Without the check a position outside of the tables makes NaNs.
  if (rotaryOf(problem) > 0)
    rows.push_back({.rule = {.argument = "positions",
                             .meaning = "the rows of cos and sin",
                             .dtype = problem.index},
                    .values = [](const P &, const A &args) {
                      return IndexValues{.address = address(args.positions),
                                         .count = args.positions->shape()[0],
                                         .end = args.cos->shape()[0]};
                    }});
  // Two tokens with one slot would both write it. A slot past the cache is left out without the
  // check; with it, a token is left out by -1 alone.
  if (problem.cache != KvCache::none)
    rows.push_back({.rule = {.argument = "slots",
                             .meaning = "the places of k_cache",
                             .dtype = problem.index,
                             .orNone = true,
                             .distinct = true},
                    .values = [](const P &p, const A &args) {
                      return IndexValues{.address = address(args.slots),
                                         .count = args.slots->shape()[0],
                                         .end = args.k_cache->shape()[0] * p.page};
                    }});
  return rows;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
