#include "softmax/softmax_family.h"

#include "blocks/quant_rules.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {
using Softmax = Family<SoftmaxProblem>;
} // namespace

Support Softmax::supported(const SoftmaxProblem &problem, const Target &) {
  return firstRefusal({floatSupported("x", problem.x), floatSupported("y", problem.y),
                       lengthSupported(problem.n), alignSupported(problem.row_align)});
}

void Softmax::launch(const Call<SoftmaxProblem> &call) {
  const SoftmaxProblem &problem = call.problem;
  const Arguments arguments(FamilyOf<SoftmaxProblem>::name, call.where);
  const std::int64_t m = arguments.rows(call.args.x, "x"), align = rowShape(problem).vector;
  const std::int64_t apartX = arguments.matrix(call.args.x, {"x", problem.x, align}, m, problem.n);
  const std::int64_t apartY = arguments.written(call.args.y, {"y", problem.y, align}, m, problem.n);
  arguments.apartOrSame(call.args.y, "y", call.args.x, "x");
  if (m == 0)
    return;
  call.launches.at(0, kSoftmax)(onRows(call, m), call.where, address(call.args.x),
                                address(call.args.y), apartX, apartY, static_cast<std::int32_t>(m));
}

SoftmaxArgs Softmax::args(const SoftmaxProblem &problem, const RowConfig &, std::int64_t m,
                          const Sampler &sampler) {
  const Extents shape{m, problem.n};
  return {.x = sampler("x", problem.x, shape, Role::input),
          .y = sampler("y", problem.y, shape, Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(SoftmaxProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
