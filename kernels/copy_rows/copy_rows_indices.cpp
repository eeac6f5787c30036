// The numbers of rows that are copied.
#include "copy_rows/copy_rows_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<CopyRowsProblem>::IndexRow>
Family<CopyRowsProblem>::indexRows(const CopyRowsProblem &problem, const CopyRowsConfig &) {
  std::vector<IndexRow> rows;
  // Without the check, a pair with any other number is left out. Two numbers of `to` that are equal would
  // both be written.
  if (problem.gather)
    rows.push_back({.rule = {.argument = "from",
                             .meaning = "the rows of x",
                             .dtype = problem.index,
                             .orNone = true},
                    .values = [](const P &, const A &args) {
                      return IndexValues{.address = address(args.from),
                                         .count = args.from->shape()[0],
                                         .end = args.x.shape()[0]};
                    }});
  if (problem.scatter)
    rows.push_back({.rule = {.argument = "to",
                             .meaning = "the rows of y",
                             .dtype = problem.index,
                             .orNone = true,
                             .distinct = true},
                    .values = [](const P &, const A &args) {
                      return IndexValues{.address = address(args.to),
                                         .count = args.to->shape()[0],
                                         .end = args.y.shape()[0]};
                    }});
  return rows;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
