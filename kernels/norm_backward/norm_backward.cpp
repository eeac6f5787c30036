#include "norm_backward/norm_backward_family.h"

#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Backward = Family<NormBackwardProblem>;

/// A thread holds x, dy and the two sums in f32.
constexpr RowLimits kLimits{.most = 16};
constexpr int kMostPrograms = 4096;

/// Up to so many rows, so many blocks: enough for all multiprocessors, few enough that the sums of
/// the blocks are small against the rows. (FlyDSL: as many as there are multiprocessors up to 2048
/// rows, half as many more beyond.)
struct ProgramRule {
  std::int64_t rows;
  int programs;
};
constexpr ProgramRule kProgramRules[] = {{64, 32}, {512, 128}, {2048, 256}, {INT64_MAX, 512}};

/// Blocks of a call, and the partial sums of a column that they make.
struct Shares {
  std::int64_t blocks, sums;
};
Shares sharesOf(const NormBackwardConfig &config, std::int64_t m) {
  const std::int64_t rows = config.block / config.threads, needed = (m + rows - 1) / rows;
  const std::int64_t blocks = std::min<std::int64_t>(config.programs, needed);
  return {blocks, config.atomic ? (m ? 1 : 0) : blocks * rows};
}

} // namespace

Support Backward::supported(const NormBackwardProblem &problem, const Target &) {
  return firstRefusal({floatSupported("x", problem.x), floatSupported("weight", problem.weight),
                       floatSupported("dy", problem.dy), lengthSupported(problem.n),
                       alignSupported(problem.row_align)});
}

Support Backward::supported(const NormBackwardProblem &problem, const NormBackwardConfig &config,
                            const Target &target) {
  if (config.programs < 1 || config.programs > kMostPrograms)
    return Support::no("programs=" + std::to_string(config.programs) + "; 1 to " +
                       std::to_string(kMostPrograms) + " blocks share the rows");
  return rowsSupported(rowShape(problem), rowConfig(config), kLimits, target);
}

NormBackwardConfig Backward::choose(const NormBackwardProblem &problem, std::int64_t m,
                                    const Target &target) {
  const RowConfig rows = chooseRows(rowShape(problem), kLimits, target);
  const auto *rule = std::find_if(std::begin(kProgramRules), std::end(kProgramRules),
                                  [&](const ProgramRule &r) { return m <= r.rows; });
  return {rows.threads, rows.block, rows.resident, rule->programs, false};
}

std::vector<NormBackwardConfig> Backward::candidates(const NormBackwardProblem &problem,
                                                     std::int64_t, const Target &target) {
  std::vector<NormBackwardConfig> all;
  for (const RowConfig &rows : rowCandidates(rowShape(problem), target))
    for (int programs : {128, 256, 512})
      for (bool atomic : {false, true})
        all.push_back({rows.threads, rows.block, rows.resident, programs, atomic});
  return all;
}

std::size_t Backward::workspaceBytes(const NormBackwardProblem &problem,
                                     const NormBackwardConfig &config, std::int64_t m) {
  return static_cast<std::size_t>(sharesOf(config, m).sums * problem.n * 4 *
                                  (problem.bias ? 2 : 1));
}

Backward::KernelNames Backward::kernels(const NormBackwardProblem &,
                                        const NormBackwardConfig &config) {
  if (addsToSums(config))
    return {&kClearSums, &kNormBackward, &kFinish};
  return {&kNormBackward, &kFinish};
}

void Backward::launch(const Call<NormBackwardProblem> &call) {
  const NormBackwardProblem &problem = call.problem;
  const NormBackwardConfig &config = call.config;
  const NormBackwardArgs &args = call.args;
  const Arguments arguments(FamilyOf<NormBackwardProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.x, "x"), n = problem.n,
                     align = rowShape(problem).vector;
  const auto matrix = [&](const char *name, DType dtype, Use use) {
    return matrixOfRows(name, dtype, m, n, align, use);
  };
  const auto rows = [&](const char *name) {
    return Expected{.name = name, .dtype = f32, .shape = {"m", m}};
  };
  const auto sum = [&](const char *name) {
    return Expected{.name = name, .dtype = problem.weight, .shape = {"n", n}, .use = Use::written};
  };
  arguments.check(args.x, matrix("x", problem.x, Use::read));
  arguments.check(args.dy, matrix("dy", problem.dy, Use::read));
  arguments.check(args.dx, matrix("dx", problem.dy, Use::written));
  arguments.check(args.weight,
                  {.name = "weight", .dtype = problem.weight, .shape = {"n", n}, .align = align});
  arguments.check(args.rstd, rows("rstd"));
  arguments.check(args.dweight, sum("dweight"));
  arguments.checkIf(problem.kind == NormKind::layer, args.mean, rows("mean"));
  arguments.checkIf(problem.bias, args.dbias, sum("dbias"));
  arguments.checkIf(problem.residual, args.dresidual, matrix("dresidual", problem.dy, Use::read));

  const Shares shares = sharesOf(config, m);
  const std::int64_t sums =
      arguments.workspace(&args.workspace, workspaceBytes(problem, config, m));
  arguments.expectApart({{"dx", "dy"}, {"dx", "x"}, {"dx", "dresidual"}});
  const auto sumsOfColumn = static_cast<std::int32_t>(shares.sums);
  std::size_t place = 0;
  if (addsToSums(config)) {
    const std::int64_t numbers = shares.sums * n * (problem.bias ? 2 : 1);
    if (m)
      call.launches.at(place, kClearSums)(
          call.over(numbers, kClearBlock, kClearBlock), call.where,
          {.sums = {.address = sums, .stride = {}}, .count = static_cast<std::int32_t>(numbers)});
    ++place;
  }
  if (m)
    call.launches.at(place, kNormBackward)(call.on(shares.blocks, config.block), call.where,
                                           {.x = operandOf<1>(args.x),
                                            .dy = operandOf<1>(args.dy),
                                            .dx = operandOf<1>(args.dx),
                                            .weight = operandOf<0>(args.weight),
                                            .rstd = operandOf<0>(args.rstd),
                                            .sums = {.address = sums, .stride = {}},
                                            .m = static_cast<std::int32_t>(m),
                                            .dresidual = operandOf<1>(args.dresidual),
                                            .mean = operandOf<0>(args.mean)});
  // Of no rows the sums are 0.
  call.launches.at(place + 1, kFinish)(call.over(n, kColumns, kColumns * kThreadsOfColumn),
                                       call.where,
                                       {.sums = {.address = sums, .stride = {}},
                                        .dweight = operandOf<0>(args.dweight),
                                        .dbias = operandOf<0>(args.dbias),
                                        .rows = sumsOfColumn});
}

NormBackwardArgs Backward::args(const NormBackwardProblem &problem,
                                const NormBackwardConfig &config, std::int64_t m,
                                const Sampler &sampler) {
  const Extents matrix{m, problem.n}, columns{problem.n}, rows{m};
  const auto maybe = [&](bool has, const char *name, DType dtype, const Extents &shape, Role role) {
    return sampleIf(has, sampler, name, dtype, shape, role);
  };
  const Extents bytes{static_cast<std::int64_t>(workspaceBytes(problem, config, m))};
  return {
      .x = sampler("x", problem.x, matrix, Role::input),
      .weight = sampler("weight", problem.weight, columns, Role::input),
      .dy = sampler("dy", problem.dy, matrix, Role::input),
      .rstd = sampler("rstd", f32, rows, Role::input),
      .mean = maybe(problem.kind == NormKind::layer, "mean", f32, rows, Role::input),
      .dresidual = maybe(problem.residual, "dresidual", problem.dy, matrix, Role::input),
      .dx = sampler("dx", problem.dy, matrix, Role::output),
      .dweight = sampler("dweight", problem.weight, columns, Role::output),
      .dbias = maybe(problem.bias, "dbias", problem.weight, columns, Role::output),
      .workspace = sampler("workspace", u8, bytes, Role::workspace),
  };
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(NormBackwardProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
