// The number of rows of a product, where it is in device memory.
#include "gemm/gemm_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<GemmProblem>::IndexRow>
Family<GemmProblem>::indexRows(const GemmProblem &problem, const GemmConfig &) {
  if (!problem.rows)
    return {};
  // Without the check, kernels take no more than the call has.
  return {{.rule = {.argument = "rows", .meaning = "the rows of a"},
           .values = [](const P &, const A &args) {
             return IndexValues{.address = address(args.rows),
                                .count = 1,
                                .end = Family<GemmProblem>::rows(args) + 1};
           }}};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
