#include "hadamard/hadamard_family.h"

#include "frame/arguments.h"

#include <bit>
#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Hadamard = Family<HadamardProblem>;

constexpr std::int64_t kLongest = 32768;

} // namespace

Support Hadamard::supported(const HadamardProblem &problem, const Target &target) {
  const bool quantises = problem.quantise != Quantisation::none;
  if (problem.n < 2 || problem.n > kLongest ||
      !std::has_single_bit(static_cast<std::uint64_t>(problem.n)))
    return Support::no(is("n", problem.n) + "; it is a power of two from 2 to " +
                       std::to_string(kLongest));
  if (!std::isfinite(static_cast<float>(problem.scale)))
    return Support::no("scale is " + std::to_string(problem.scale) + "; it is a finite number");
  if (problem.group && problem.quantise != Quantisation::row)
    return Support::no(is("group", problem.group) +
                       ", and groups are for Quantisation::row, whose scales are written");
  return firstRefusal(
      {floatSupported("x", problem.x),
       problem.group ? groupTypeSupported("y", problem.y, groups(problem))
       : quantises   ? quantisedSupported("y", problem.y)
                     : floatSupported("y", problem.y),
       alignSupported(problem.row_align),
       problem.group ? groupsSupported("y", problem.y, groups(problem), rowShape(problem), target)
                     : Support{}});
}

Support Hadamard::supported(const HadamardProblem &problem, const RowConfig &config,
                            const Target &target) {
  const RowShape row = rowShape(problem);
  if (!config.resident)
    return Support::no("resident is false; a row stays in registers from step to step");
  if (const Support rows = RowFamily::supported(problem, config, target); !rows)
    return rows;
  if (row.accesses() < config.threads)
    return Support::no(is("threads", config.threads) + ", and a row of " +
                       std::to_string(problem.n) + " has " + std::to_string(row.accesses()) +
                       " accesses of " + std::to_string(row.vector) +
                       " elements; each thread has one at least");
  const HadamardShape shape(row, config, target.wave_size());
  if (shape.slots < shape.waves)
    return Support::no(is("threads", config.threads) + ": a row has " +
                       std::to_string(shape.waves) + " waves, whose threads have " +
                       std::to_string(shape.slots) +
                       " accesses each; they exchange one with each other wave at least");
  return problem.group ? groupsSupported(groups(problem), row, config) : Support{};
}

RowConfig Hadamard::choose(const HadamardProblem &problem, std::int64_t, const Target &target) {
  // Steps inside of a thread are cheapest, so a thread has up to 32 elements; longer rows have as many
  // threads as waves can exchange with one another.
  constexpr std::int64_t kOfThread = 32;
  const RowShape row = rowShape(problem);
  RowConfig best;
  std::int64_t fewest = 0;
  for (int threads = 1; threads <= target.max_block_size(); threads *= 2) {
    const RowConfig config{.threads = threads,
                           .block = threads > target.wave_size() ? threads : 256,
                           .resident = true};
    if (!supported(problem, config, target))
      continue;
    if (!fewest || fewest > kOfThread) {
      best = config;
      fewest = row.perThread(threads);
    }
  }
  return best;
}

void Hadamard::launch(const Call<HadamardProblem> &call) {
  const HadamardProblem &problem = call.problem;
  const HadamardArgs &args = call.args;
  const Arguments arguments(FamilyOf<HadamardProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.x, "x"), n = problem.n,
                     align = rowShape(problem).vector;
  arguments.check(args.x, matrixOfRows("x", problem.x, m, n, align));
  arguments.check(args.y, matrixOfRows("y", problem.y, m, n, align, Use::written));
  arguments.checkIf(problem.quantise != Quantisation::none || problem.group, args.scale,
                    writtenScales(groups(problem), problem.quantise == Quantisation::row, m, n));
  arguments.checkIf(problem.rows, args.rows, rowCount());
  arguments.expectApart({{"y", "x"}});
  if (m == 0)
    return;
  call.launches.at(0, kHadamard)(onRows(call, m), call.where,
                                 {.x = operandOf<1>(args.x),
                                  .y = operandOf<1>(args.y),
                                  .scale = args.scale
                                               ? operandOf<2>(*args.scale, problem.group ? 2 : 0)
                                               : Strided<OnHost, 2>{},
                                  .m = static_cast<std::int32_t>(m),
                                  .rows = operandOf<0>(args.rows)});
}

HadamardArgs Hadamard::args(const HadamardProblem &problem, const RowConfig &, std::int64_t m,
                            const Sampler &sampler) {
  const Extents matrix{m, problem.n}, rows{m}, one{1},
      scales{m, problem.group ? problem.n / problem.group : 0};
  const bool fixed = problem.quantise == Quantisation::fixed;
  return {.x = sampler("x", problem.x, matrix, Role::input),
          .y = sampler("y", problem.y, matrix, Role::output),
          .scale = sampleIf(problem.quantise != Quantisation::none, sampler, "scale",
                            problem.group ? problem.group_scale : DType(f32),
                            problem.group ? scales
                            : fixed       ? one
                                          : rows,
                            fixed ? Role::input : Role::output),
          .rows = sampleIf(problem.rows, sampler, "rows", i32, one, Role::equal(m))};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(HadamardProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
