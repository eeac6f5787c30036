#include "softmax/softmax_family.h"

#include "blocks/quant/quant_rules.h"
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
  arguments.check(call.args.x, matrixOfRows("x", problem.x, m, problem.n, align));
  arguments.check(call.args.y, matrixOfRows("y", problem.y, m, problem.n, align, Use::written));
  arguments.checkIf(problem.rows, call.args.rows, rowCount());
  arguments.expectApart({{"y", "x"}});
  if (m == 0)
    return;
  call.launches.at(0, kSoftmax)(onRows(call, m), call.where,
                                {.x = operandOf<1>(call.args.x),
                                 .y = operandOf<1>(call.args.y),
                                 .m = static_cast<std::int32_t>(m),
                                 .rows = operandOf<0>(call.args.rows)});
}

SoftmaxArgs Softmax::args(const SoftmaxProblem &problem, const RowConfig &, std::int64_t m,
                          const Sampler &sampler) {
  const Extents shape{m, problem.n};
  return {.x = sampler("x", problem.x, shape, Role::input),
          .y = sampler("y", problem.y, shape, Role::output),
          .rows = sampleIf(problem.rows, sampler, "rows", i32, Extents{1}, Role::equal(m))};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(SoftmaxProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
