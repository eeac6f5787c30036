#include "softmax_backward/softmax_backward_family.h"

#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Backward = Family<SoftmaxBackwardProblem>;

/// The elements of each operand that a thread holds, in f32: the compiler converts them once for
/// both passes.
RowLimits limitsOf(Resident resident) { return {.most = resident == Resident::both ? 32 : 48}; }

/// The threads of a configuration as those of rows that stay, or do not.
RowConfig held(const SoftmaxBackwardConfig &config) {
  return {config.threads, config.block, config.resident != Resident::none};
}

} // namespace

Support Backward::supported(const SoftmaxBackwardProblem &problem, const Target &) {
  return firstRefusal({floatSupported("y", problem.y), floatSupported("dy", problem.dy),
                       floatSupported("dx", problem.dx), lengthSupported(problem.n),
                       alignSupported(problem.row_align)});
}

Support Backward::supported(const SoftmaxBackwardProblem &problem,
                            const SoftmaxBackwardConfig &config, const Target &target) {
  return rowsSupported(rowShape(problem), held(config), limitsOf(config.resident), target);
}

SoftmaxBackwardConfig Backward::choose(const SoftmaxBackwardProblem &problem, std::int64_t,
                                       const Target &target) {
  for (Resident resident : {Resident::both, Resident::y}) {
    const RowConfig rows = chooseRows(rowShape(problem), limitsOf(resident), target);
    if (rows.resident)
      return {rows.threads, rows.block, resident};
  }
  return {target.max_block_size(), target.max_block_size(), Resident::none};
}

std::vector<SoftmaxBackwardConfig> Backward::candidates(const SoftmaxBackwardProblem &problem,
                                                        std::int64_t, const Target &target) {
  std::vector<SoftmaxBackwardConfig> all;
  for (const RowConfig &rows : rowCandidates(rowShape(problem), target)) {
    if (!rows.resident)
      all.push_back({rows.threads, rows.block, Resident::none});
    else
      for (Resident resident : {Resident::both, Resident::y})
        all.push_back({rows.threads, rows.block, resident});
  }
  return all;
}

void Backward::launch(const Call<SoftmaxBackwardProblem> &call) {
  const SoftmaxBackwardProblem &problem = call.problem;
  const SoftmaxBackwardArgs &args = call.args;
  const Arguments arguments(FamilyOf<SoftmaxBackwardProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.y, "y"), n = problem.n,
                     align = rowShape(problem).vector;
  arguments.check(args.y, matrixOfRows("y", problem.y, m, n, align));
  arguments.check(args.dy, matrixOfRows("dy", problem.dy, m, n, align));
  arguments.check(args.dx, matrixOfRows("dx", problem.dx, m, n, align, Use::written));
  arguments.expectApart({{"dx", "y"}, {"dx", "dy"}});
  if (m == 0)
    return;
  call.launches.at(0, kSoftmaxBackward)(onRows(call, m), call.where,
                                        {.y = operandOf<1>(args.y),
                                         .dy = operandOf<1>(args.dy),
                                         .dx = operandOf<1>(args.dx),
                                         .m = static_cast<std::int32_t>(m)});
}

SoftmaxBackwardArgs Backward::args(const SoftmaxBackwardProblem &problem,
                                   const SoftmaxBackwardConfig &, std::int64_t m,
                                   const Sampler &sampler) {
  const Extents shape{m, problem.n};
  return {.y = sampler("y", problem.y, shape, Role::input),
          .dy = sampler("dy", problem.dy, shape, Role::input),
          .dx = sampler("dx", problem.dx, shape, Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(SoftmaxBackwardProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
