#include "moe_reduce/moe_reduce_family.h"

#include "blocks/quant_rules.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Reduce = Family<MoeReduceProblem>;

/// Elements of each of a token's rows that a thread has; nothing crosses threads, so few are best.
constexpr RowLimits kLimits{.most = 16};
constexpr int kMostRows = 64;

} // namespace

Support Reduce::supported(const MoeReduceProblem &problem, const Target &) {
  for (const Support &answer : {floatSupported("x", problem.x), floatSupported("y", problem.y),
                                lengthSupported(problem.n), alignSupported(problem.row_align)})
    if (!answer)
      return answer;
  if (problem.topk < 1 || problem.topk > kMostRows)
    return Support::no("topk is " + std::to_string(problem.topk) + "; a token has 1 to " +
                       std::to_string(kMostRows) + " rows");
  return {};
}

Support Reduce::supported(const MoeReduceProblem &problem, const RowConfig &config,
                          const Target &target) {
  return rowsSupported(rowShape(problem), config, kLimits, target);
}

RowConfig Reduce::choose(const MoeReduceProblem &problem, std::int64_t, const Target &target) {
  return chooseRows(rowShape(problem), kLimits, target);
}

std::vector<RowConfig> Reduce::candidates(const MoeReduceProblem &problem, std::int64_t,
                                          const Target &target) {
  return rowCandidates(rowShape(problem), target);
}

void Reduce::launch(const Call<MoeReduceProblem> &call) {
  const MoeReduceProblem &problem = call.problem;
  const MoeReduceArgs &args = call.args;
  const Arguments arguments(FamilyOf<MoeReduceProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.y, "y"), n = problem.n, k = problem.topk,
                     align = rowShape(problem).vector;
  const auto [apartTokens, apartRows] =
      arguments.matrices(args.x, {"x", problem.x, align}, m, k, n);
  const std::int64_t apartY = arguments.matrix(args.y, {"y", problem.y, align}, m, n);
  const auto perRow = [&](const std::optional<TensorArg> &tensor, const Expected &expected,
                          bool needed) {
    if (arguments.given(tensor, expected.name, needed))
      arguments.compact(*tensor, expected, m, k);
  };
  perRow(args.weights, {"weights", f32, 1}, problem.weights);
  perRow(args.mask, {"mask", u8, 1}, problem.mask);
  if (m == 0)
    return;
  const std::int64_t rows = call.config.block / call.config.threads;
  call.launches.at(0, kMoeReduce)(call.on((m + rows - 1) / rows, call.config.block), call.where,
                                  address(args.x), address(args.weights), address(args.mask),
                                  address(args.y), apartTokens, apartRows, apartY,
                                  static_cast<std::int32_t>(m));
}

MoeReduceArgs Reduce::args(const MoeReduceProblem &problem, const RowConfig &, std::int64_t m,
                           const Sampler &sampler) {
  const Extents rows{m, problem.topk, problem.n}, perRow{m, problem.topk}, tokens{m, problem.n};
  const auto maybe = [&](bool needed, const char *name, DType dtype) -> std::optional<TensorArg> {
    if (!needed)
      return std::nullopt;
    return sampler(name, dtype, perRow, Role::input);
  };
  return {.x = sampler("x", problem.x, rows, Role::input),
          .weights = maybe(problem.weights, "weights", f32),
          .mask = maybe(problem.mask, "mask", u8),
          .y = sampler("y", problem.y, tokens, Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(MoeReduceProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
