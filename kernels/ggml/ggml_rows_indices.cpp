// The numbers of the rows that an embedding takes.
#include "ggml/ggml_rows_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<GgmlRowsProblem>::IndexRow>
Family<GgmlRowsProblem>::indexRows(const GgmlRowsProblem &problem, const GgmlRowsConfig &) {
  // Without the check a row of any other number is made of zeros; with it, that of -1 alone.
  return {
      {.rule =
           {.argument = "ids", .meaning = "the rows of b", .dtype = problem.index, .orNone = true},
       .values = [](const P &p, const A &args) {
         return IndexValues{.address = address(args.ids), .count = args.ids.shape()[0], .end = p.n};
       }}};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
