#include "norm/norm_family.h"

#include "blocks/quant_rules.h"
#include "frame/arguments.h"

#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {
using Norm = Family<NormProblem>;
} // namespace

Support Norm::supported(const NormProblem &problem, const Target &) {
  const bool quantises = problem.quantise != Quantisation::none;
  for (const Support &answer :
       {floatSupported("x", problem.x), floatSupported("weight", problem.weight),
        quantises ? quantisedSupported("y", problem.y) : floatSupported("y", problem.y),
        lengthSupported(problem.n), alignSupported(problem.row_align)})
    if (!answer)
      return answer;
  if (!(problem.eps >= 0) || !std::isfinite(problem.eps))
    return Support::no("eps is " + std::to_string(problem.eps) +
                       "; it is a finite number of at least 0");
  if (problem.smooth && !quantises)
    return Support::no("smooth is for quantised y, and y is not");
  return {};
}

Support Norm::supported(const NormProblem &problem, const RowConfig &config, const Target &target) {
  return rowsSupported(rowShape(problem), config, kNormLimits, target);
}

RowConfig Norm::choose(const NormProblem &problem, std::int64_t, const Target &target) {
  return chooseRows(rowShape(problem), kNormLimits, target);
}

std::vector<RowConfig> Norm::candidates(const NormProblem &problem, std::int64_t,
                                        const Target &target) {
  return rowCandidates(rowShape(problem), target);
}

void Norm::launch(const Call<NormProblem> &call) {
  const NormProblem &problem = call.problem;
  const NormArgs &args = call.args;
  const Arguments arguments(FamilyOf<NormProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.x, "x"), n = problem.n,
                     align = rowShape(problem).vector;
  const bool perRow = problem.quantise == Quantisation::row;
  const auto matrix = [&](const TensorArg &tensor, const char *name, DType dtype) {
    return arguments.matrix(tensor, {name, dtype, align}, m, n);
  };
  const std::int64_t apartX = matrix(args.x, "x", problem.x),
                     apartY = matrix(args.y, "y", problem.y);
  arguments.vector(args.weight, {"weight", problem.weight, align}, n);
  const auto vector = [&](const std::optional<TensorArg> &tensor, const Expected &expected,
                          std::int64_t size, bool needed) {
    if (arguments.given(tensor, expected.name, needed))
      arguments.vector(*tensor, expected, size);
  };
  vector(args.bias, {"bias", problem.weight, align}, n, problem.bias);
  vector(args.smooth, {"smooth", f32, align}, n, problem.smooth);
  vector(args.scale, {"scale", f32, 1}, perRow ? m : 1, problem.quantise != Quantisation::none);
  vector(args.rstd, {"rstd", f32, 1}, m, problem.statistics);
  vector(args.mean, {"mean", f32, 1}, m, problem.statistics && problem.kind == NormKind::layer);
  std::int64_t apartIn = 0, apartOut = 0;
  if (arguments.given(args.residual, "residual", problem.residual))
    apartIn = matrix(*args.residual, "residual", problem.x);
  if (arguments.given(args.residual_out, "residual_out", problem.residual))
    apartOut = matrix(*args.residual_out, "residual_out", problem.x);
  if (m == 0)
    return;
  const int rows = call.config.block / call.config.threads;
  call.launches.at(0, kNorm)(
      call.on((m + rows - 1) / rows, call.config.block), call.where, address(args.x),
      address(args.weight), address(args.bias), address(args.residual), address(args.smooth),
      address(args.y), address(args.residual_out), address(args.scale), address(args.rstd),
      address(args.mean), apartX, apartIn, apartY, apartOut, static_cast<std::int32_t>(m));
}

NormArgs Norm::args(const NormProblem &problem, const RowConfig &, std::int64_t m,
                    const Sampler &sampler) {
  const Extents matrix{m, problem.n}, columns{problem.n}, rows{m}, one{1};
  const auto maybe = [&](bool needed, const char *name, DType dtype, const Extents &shape,
                         Role role) -> std::optional<TensorArg> {
    if (!needed)
      return std::nullopt;
    return sampler(name, dtype, shape, role);
  };
  const bool fixed = problem.quantise == Quantisation::fixed;
  return {
      .x = sampler("x", problem.x, matrix, Role::input),
      .weight = sampler("weight", problem.weight, columns, Role::input),
      .bias = maybe(problem.bias, "bias", problem.weight, columns, Role::input),
      .residual = maybe(problem.residual, "residual", problem.x, matrix, Role::input),
      .smooth = maybe(problem.smooth, "smooth", f32, columns, Role::input),
      .y = sampler("y", problem.y, matrix, Role::output),
      .residual_out = maybe(problem.residual, "residual_out", problem.x, matrix, Role::output),
      .scale = maybe(problem.quantise != Quantisation::none, "scale", f32, fixed ? one : rows,
                     fixed ? Role::input : Role::output),
      .rstd = maybe(problem.statistics, "rstd", f32, rows, Role::output),
      .mean = maybe(problem.statistics && problem.kind == NormKind::layer, "mean", f32, rows,
                    Role::output),
  };
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(NormProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
