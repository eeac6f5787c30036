// The host's part of norms: what is supported, the configuration, the checks of a call, its launch.
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

/// Checks gain and shift, and gives their rows; 1 if there are none.
std::int64_t checkModulation(const NormProblem &problem, const NormArgs &args,
                             const Arguments &arguments, std::int64_t m) {
  arguments.given(args.shift, "shift", problem.modulation);
  if (!arguments.given(args.gain, "gain", problem.modulation))
    return 1;
  const std::int64_t batches = arguments.rows(*args.gain, "gain"), n = problem.n;
  for (const auto &[name, tensor] : {std::pair("gain", &*args.gain), {"shift", &*args.shift}}) {
    arguments.check(*tensor, {.name = name,
                              .dtype = problem.x,
                              .shape = {"batches, n", batches, n},
                              .free = 1,
                              .align = rowShape(problem).vector});
  }
  if (m && (batches == 0 || m % batches)) [[unlikely]]
    arguments.fail("gain has " + std::to_string(batches) + " rows, and x " + std::to_string(m) +
                   "; each row of gain is that of as many rows of x");
  return std::max<std::int64_t>(batches, 1);
}

} // namespace

Support Norm::supported(const NormProblem &problem, const Target &target) {
  const bool quantises = problem.quantise != Quantisation::none;
  if (problem.group && problem.quantise != Quantisation::row)
    return Support::no(is("group", problem.group) +
                       ", and groups are for Quantisation::row, whose scales are written");
  const Support basic = firstRefusal(
      {floatSupported("x", problem.x), floatSupported("weight", problem.weight),
       problem.group ? groupTypeSupported("y", problem.y, groups(problem))
       : quantises   ? quantisedSupported("y", problem.y)
                     : floatSupported("y", problem.y),
       lengthSupported(problem.n), alignSupported(problem.row_align),
       floatSupported("smooth_type", problem.smooth_type),
       problem.group ? groupsSupported("y", problem.y, groups(problem), rowShape(problem), target)
                     : Support{}});
  if (!basic)
    return basic;
  if (!(problem.eps >= 0) || !std::isfinite(static_cast<float>(problem.eps)))
    return Support::no("eps is " + std::to_string(problem.eps) +
                       "; it is a finite number of at least 0");
  if (problem.smooth && !quantises)
    return Support::no("smooth is for quantised y, and y is not");
  if (problem.smooth && problem.modulation)
    return Support::no(
        "smooth is for problems without modulation; take (1 + gain) smooth - 1 as gain "
        "and shift smooth as shift");
  if (problem.gate_first && problem.gate == NormGate::none)
    return Support::no("gate_first is for problems with a gate, and there is none");
  if (problem.gate_first && problem.residual)
    return Support::no("gate_first is for problems without a residual");
  return {};
}

Support Norm::supported(const NormProblem &problem, const RowConfig &config, const Target &target) {
  const Support rows = RowFamily::supported(problem, config, target);
  return rows && problem.group ? groupsSupported(groups(problem), rowShape(problem), config) : rows;
}

RowConfig Norm::choose(const NormProblem &problem, std::int64_t m, const Target &target) {
  RowConfig config = RowFamily::choose(problem, m, target);
  if (problem.group)
    config.threads = std::max(config.threads, groups(problem).lanes(rowShape(problem)));
  return config;
}

NormParams<OnHost> Norm::checked(const NormProblem &problem, const NormArgs &args,
                                 const Arguments &arguments) {
  const std::int64_t m = arguments.rows(args.x, "x"), n = problem.n,
                     align = rowShape(problem).vector;
  const bool perRow = problem.quantise == Quantisation::row;
  const bool added = problem.residual, quantises = problem.quantise != Quantisation::none,
             gated = problem.gate != NormGate::none;
  const auto matrix = [&](const char *name, DType dtype, Use use) {
    return matrixOfRows(name, dtype, m, n, align, use);
  };
  const auto columns = [&](const char *name, DType dtype) {
    return Expected{.name = name, .dtype = dtype, .shape = {"n", n}, .align = align};
  };
  const auto numbers = [&](const char *name) {
    return Expected{.name = name, .dtype = f32, .shape = {"m", m}, .use = Use::written};
  };
  arguments.check(args.x, matrix("x", problem.x, Use::read));
  arguments.check(args.y, matrix("y", problem.y, Use::written));
  arguments.check(args.weight, columns("weight", problem.weight));
  arguments.checkIf(problem.bias, args.bias, "bias",
                    [&](const char *name) { return columns(name, problem.weight); });
  arguments.checkIf(problem.smooth, args.smooth, "smooth",
                    [&](const char *name) { return columns(name, problem.smooth_type); });
  arguments.checkIf(quantises || problem.group, args.scale, "scale",
                    [&](const char *) { return writtenScales(groups(problem), perRow, m, n); });
  arguments.checkIf(problem.statistics, args.rstd, "rstd", numbers);
  arguments.checkIf(writesMean(problem), args.mean, "mean", numbers);
  arguments.checkIf(gated, args.gate, "gate",
                    [&](const char *name) { return matrix(name, problem.x, Use::read); });
  arguments.checkIf(added, args.residual, "residual",
                    [&](const char *name) { return matrix(name, problem.x, Use::read); });
  arguments.checkIf(added, args.residual_out, "residual_out",
                    [&](const char *name) { return matrix(name, problem.x, Use::written); });
  arguments.checkIf(problem.rows, args.rows, "rows", [](const char *) { return rowCount(); });
  const std::int64_t batches = checkModulation(problem, args, arguments, m);
  arguments.expectApart({{"y", "x"},
                         {"y", "gate"},
                         {"y", "residual"},
                         {"residual_out", "x"},
                         {"residual_out", "residual"}});
  return {.x = operandOf<1>(args.x),
          .y = operandOf<1>(args.y),
          .weight = operandOf<0>(args.weight),
          .m = static_cast<std::int32_t>(m),
          .residual = operandOf<1>(args.residual),
          .residualOut = operandOf<1>(args.residual_out),
          .bias = operandOf<0>(args.bias),
          .smooth = operandOf<0>(args.smooth),
          .scale =
              args.scale ? operandOf<2>(*args.scale, problem.group ? 2 : 0) : Strided<OnHost, 2>{},
          .rstd = operandOf<0>(args.rstd),
          .mean = operandOf<0>(args.mean),
          .gate = operandOf<1>(args.gate),
          .gain = operandOf<1>(args.gain),
          .shift = operandOf<1>(args.shift),
          .batches = static_cast<std::int32_t>(batches),
          // Every call divides: a division of 32 bits takes a fraction of one of 64.
          .rowsOfBatch = static_cast<std::int32_t>(m) / static_cast<std::int32_t>(batches),
          .rows = operandOf<0>(args.rows)};
}

void Norm::launch(const Call<NormProblem> &call) {
  const NormParams<OnHost> params =
      checked(call.problem, call.args, Arguments(FamilyOf<NormProblem>::name, call.where));
  if (params.m)
    call.launches.at(0, kNorm)(onRows(call, params.m), call.where, params);
}

NormArgs Norm::args(const NormProblem &problem, const RowConfig &, std::int64_t m,
                    const Sampler &sampler) {
  const Extents matrix{m, problem.n}, columns{problem.n}, rows{m}, one{1},
      groups{m, problem.group ? problem.n / problem.group : 0}, batches{m % 2 ? 1 : 2, problem.n};
  const auto maybe = [&](bool has, const char *name, DType dtype, const Extents &shape, Role role) {
    return sampleIf(has, sampler, name, dtype, shape, role);
  };
  const bool fixed = problem.quantise == Quantisation::fixed;
  return {
      .x = sampler("x", problem.x, matrix, Role::input),
      .weight = sampler("weight", problem.weight, columns, Role::input),
      .bias = maybe(problem.bias, "bias", problem.weight, columns, Role::input),
      .residual = maybe(problem.residual, "residual", problem.x, matrix, Role::input),
      .smooth = maybe(problem.smooth, "smooth", problem.smooth_type, columns, Role::input),
      .y = sampler("y", problem.y, matrix, Role::output),
      .residual_out = maybe(problem.residual, "residual_out", problem.x, matrix, Role::output),
      .scale = maybe(problem.quantise != Quantisation::none, "scale",
                     problem.group ? problem.group_scale : DType(f32),
                     problem.group ? groups
                     : fixed       ? one
                                   : rows,
                     fixed ? Role::input : Role::output),
      .rstd = maybe(problem.statistics, "rstd", f32, rows, Role::output),
      .mean = maybe(writesMean(problem), "mean", f32, rows, Role::output),
      .gate = maybe(problem.gate != NormGate::none, "gate", problem.x, matrix, Role::input),
      .gain = maybe(problem.modulation, "gain", problem.x, batches, Role::input),
      .shift = maybe(problem.modulation, "shift", problem.x, batches, Role::input),
      .rows = maybe(problem.rows, "rows", i32, one, Role::equal(m)),
  };
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(NormProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
