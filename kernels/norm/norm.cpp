#include "norm/norm_family.h"

#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Norm = Family<NormProblem>;

/// Whether the means of rows are written; an RMS norm has none.
bool writesMean(const NormProblem &problem) {
  return problem.statistics && problem.kind == NormKind::layer;
}

} // namespace

Support Norm::supported(const NormProblem &problem, const Target &) {
  const bool quantises = problem.quantise != Quantisation::none;
  const Support basic =
      firstRefusal({floatSupported("x", problem.x), floatSupported("weight", problem.weight),
                    quantises ? quantisedSupported("y", problem.y) : floatSupported("y", problem.y),
                    lengthSupported(problem.n), alignSupported(problem.row_align)});
  if (!basic)
    return basic;
  if (!(problem.eps >= 0) || !std::isfinite(static_cast<float>(problem.eps)))
    return Support::no("eps is " + std::to_string(problem.eps) +
                       "; it is a finite number of at least 0");
  if (problem.smooth && !quantises)
    return Support::no("smooth is for quantised y, and y is not");
  if (problem.gate_first && problem.gate == NormGate::none)
    return Support::no("gate_first is for problems with a gate, and there is none");
  if (problem.gate_first && problem.residual)
    return Support::no("gate_first is for problems without a residual");
  return {};
}

NormParams<OnHost> Norm::checked(const NormProblem &problem, const NormArgs &args,
                                 const Arguments &arguments) {
  const std::int64_t m = arguments.rows(args.x, "x"), n = problem.n,
                     align = rowShape(problem).vector;
  const bool perRow = problem.quantise == Quantisation::row;
  const bool added = problem.residual, quantises = problem.quantise != Quantisation::none,
             gated = problem.gate != NormGate::none;
  const auto matrix = [&](const char *name, DType dtype, Use use) {
    return Expected{.name = name,
                    .dtype = dtype,
                    .shape = {"m, n", m, n},
                    .free = 1,
                    .use = use,
                    .align = align};
  };
  const auto columns = [&](const char *name, DType dtype) {
    return Expected{.name = name, .dtype = dtype, .shape = {"n", n}, .align = align};
  };
  const auto numbers = [&](const char *name, const Shape &shape) {
    return Expected{.name = name, .dtype = f32, .shape = shape, .use = Use::written};
  };
  const Shape rows{"m", m}, one{"1", 1};
  arguments.check(args.x, matrix("x", problem.x, Use::read));
  arguments.check(args.y, matrix("y", problem.y, Use::written));
  arguments.check(args.weight, columns("weight", problem.weight));
  arguments.checkIf(problem.bias, args.bias, columns("bias", problem.weight));
  arguments.checkIf(problem.smooth, args.smooth, columns("smooth", f32));
  arguments.checkIf(quantises, args.scale, numbers("scale", perRow ? rows : one));
  arguments.checkIf(problem.statistics, args.rstd, numbers("rstd", rows));
  arguments.checkIf(writesMean(problem), args.mean, numbers("mean", rows));
  arguments.checkIf(gated, args.gate, matrix("gate", problem.x, Use::read));
  arguments.checkIf(added, args.residual, matrix("residual", problem.x, Use::read));
  arguments.checkIf(added, args.residual_out, matrix("residual_out", problem.x, Use::written));
  arguments.disjointOrSame(args.y, "y", args.x, "x");
  if (gated) {
    arguments.disjointOrSame(args.y, "y", *args.gate, "gate");
    if (added && Arguments::shareMemory(*args.gate, *args.residual_out)) [[unlikely]]
      arguments.fail("gate and residual_out share memory; residual_out is written");
  }
  if (added) {
    arguments.disjointOrSame(args.y, "y", *args.residual, "residual");
    arguments.disjointOrSame(*args.residual_out, "residual_out", args.x, "x");
    arguments.disjointOrSame(*args.residual_out, "residual_out", *args.residual, "residual");
    if (Arguments::shareMemory(args.y, *args.residual_out)) [[unlikely]]
      arguments.fail("y and residual_out share memory; both are written");
  }
  return {.x = operandOf<1>(args.x),
          .y = operandOf<1>(args.y),
          .weight = operandOf<0>(args.weight),
          .m = static_cast<std::int32_t>(m),
          .residual = operandOf<1>(args.residual),
          .residualOut = operandOf<1>(args.residual_out),
          .bias = operandOf<0>(args.bias),
          .smooth = operandOf<0>(args.smooth),
          .scale = operandOf<0>(args.scale),
          .rstd = operandOf<0>(args.rstd),
          .mean = operandOf<0>(args.mean),
          .gate = operandOf<1>(args.gate)};
}

void Norm::launch(const Call<NormProblem> &call) {
  const NormParams<OnHost> params =
      checked(call.problem, call.args, Arguments(FamilyOf<NormProblem>::name, call.where));
  if (params.m)
    call.launches.at(0, kNorm)(onRows(call, params.m), call.where, params);
}

NormArgs Norm::args(const NormProblem &problem, const RowConfig &, std::int64_t m,
                    const Sampler &sampler) {
  const Extents matrix{m, problem.n}, columns{problem.n}, rows{m}, one{1};
  const auto maybe = [&](bool has, const char *name, DType dtype, const Extents &shape, Role role) {
    return sampleIf(has, sampler, name, dtype, shape, role);
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
      .mean = maybe(writesMean(problem), "mean", f32, rows, Role::output),
      .gate = maybe(problem.gate != NormGate::none, "gate", problem.x, matrix, Role::input),
  };
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(NormProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
