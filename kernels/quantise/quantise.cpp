#include "quantise/quantise_family.h"

#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Quantise = Family<QuantiseProblem>;

/// What the threads of a block's values need of a configuration.
Support blocksSupported(const QuantiseProblem &problem, const RowConfig &config) {
  const int lanes = kBlock / rowShape(problem).vector;
  if (config.threads % lanes)
    return Support::no("threads=" + std::to_string(config.threads) + ": a block of " +
                       std::to_string(kBlock) + " values has " + std::to_string(lanes) +
                       " threads, and a row a number of blocks");
  return {};
}

} // namespace

Support Quantise::supported(const QuantiseProblem &problem, const Target &) {
  const bool blocks = problem.scale == ScaleOf::block;
  const Support basic = firstRefusal(
      {floatSupported("x", problem.x),
       blocks ? blockTypeSupported("q", problem.q) : quantisedSupported("q", problem.q),
       lengthSupported(problem.n), alignSupported(problem.row_align)});
  if (!basic)
    return basic;
  if (blocks && problem.n % kBlock)
    return Support::no("n is " + std::to_string(problem.n) + "; rows are whole blocks of " +
                       std::to_string(kBlock));
  if (blocks && rowShape(problem).vector * problem.q.bits() < 8)
    return Support::no("row_align is 1; two values of f4E2M1FN share a byte, which is a row's own");
  return {};
}

Support Quantise::supported(const QuantiseProblem &problem, const RowConfig &config,
                            const Target &target) {
  const Support rows = RowFamily::supported(problem, config, target);
  return rows && problem.scale == ScaleOf::block ? blocksSupported(problem, config) : rows;
}

RowConfig Quantise::choose(const QuantiseProblem &problem, std::int64_t m, const Target &target) {
  RowConfig config = RowFamily::choose(problem, m, target);
  if (problem.scale == ScaleOf::block)
    config.threads = std::max(config.threads, kBlock / rowShape(problem).vector);
  return config;
}

Quantise::KernelNames Quantise::kernels(const QuantiseProblem &problem, const RowConfig &) {
  if (problem.scale == ScaleOf::tensor)
    return {&kClear, &kLargest, &kScale, &kQuantise};
  return {&kQuantise};
}

void Quantise::launch(const Call<QuantiseProblem> &call) {
  const QuantiseProblem &problem = call.problem;
  const QuantiseArgs &args = call.args;
  const Arguments arguments(FamilyOf<QuantiseProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.x, "x"), n = problem.n,
                     align = rowShape(problem).vector;
  const Shape shape{"m, n", m, n};
  arguments.check(args.x,
                  {.name = "x", .dtype = problem.x, .shape = shape, .free = 1, .align = align});
  arguments.check(args.q, {.name = "q",
                           .dtype = problem.q,
                           .shape = shape,
                           .free = 1,
                           .use = Use::written,
                           .align = align});
  const bool blocks = problem.scale == ScaleOf::block;
  if (blocks)
    arguments.check(args.scale, {.name = "scale",
                                 .dtype = f8E8M0FNU,
                                 .shape = {"m, n / 32", m, n / kBlock},
                                 .free = 1,
                                 .use = Use::written});
  else
    arguments.check(args.scale,
                    {.name = "scale",
                     .dtype = f32,
                     .shape = problem.scale == ScaleOf::row ? Shape{"m", m} : Shape{"1", 1},
                     .use = Use::written});
  if (m == 0)
    return;
  const LaunchConfig all = onRows(call, m), one = call.on(1, kOneBlock);
  const Strided<OnHost, 1> x = operandOf<1>(args.x);
  const Strided<OnHost, 0> scale{.address = address(args.scale), .stride = {}};
  const auto count = static_cast<std::int32_t>(m);
  std::size_t place = 0;
  if (problem.scale == ScaleOf::tensor) {
    call.launches.at(place++, kClear)(one, call.where, {.scale = scale});
    call.launches.at(place++, kLargest)(all, call.where, {.x = x, .scale = scale, .m = count});
    call.launches.at(place++, kScale)(one, call.where, {.scale = scale});
  }
  call.launches.at(place, kQuantise)(
      all, call.where,
      {.x = x,
       .q = operandOf<1>(args.q),
       .scale = {.address = scale.address, .stride = {blocks ? strideOf(args.scale, 0) : 0}},
       .m = count});
}

QuantiseArgs Quantise::args(const QuantiseProblem &problem, const RowConfig &, std::int64_t m,
                            const Sampler &sampler) {
  const bool blocks = problem.scale == ScaleOf::block, given = problem.scale == ScaleOf::given;
  const std::int64_t n = problem.n;
  const Extents matrix{m, n}, scales{m, n / kBlock}, rows{m}, one{1};
  return {.x = sampler("x", problem.x, matrix, Role::input),
          .q = sampler("q", problem.q, matrix, Role::output),
          .scale = sampler("scale", blocks ? f8E8M0FNU : f32,
                           blocks                          ? scales
                           : problem.scale == ScaleOf::row ? rows
                                                           : one,
                           given ? Role::input : Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(QuantiseProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
