#include "quantise/quantise_family.h"

#include "blocks/quant/prepared_scales.h"
#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Quantise = Family<QuantiseProblem>;

/// The type of scales.
DType scaleType(const QuantiseProblem &problem) {
  const QuantGroups groups = Quantise::groups(problem);
  return groups ? groups.scale : DType(f32);
}

} // namespace

Support Quantise::supported(const QuantiseProblem &problem, const Target &target) {
  const bool blocks = problem.scale == ScaleOf::block;
  if (problem.group && problem.scale != ScaleOf::row)
    return Support::no(is("group", problem.group) +
                       ", and groups are for ScaleOf::row; blocks have 32 values");
  const Support basic =
      firstRefusal({floatSupported("x", problem.x),
                    blocks          ? blockTypeSupported("q", problem.q)
                    : problem.group ? groupTypeSupported("q", problem.q, groups(problem))
                                    : quantisedSupported("q", problem.q),
                    lengthSupported(problem.n), alignSupported(problem.row_align),
                    floatSupported("smooth_type", problem.smooth_type)});
  if (!basic)
    return basic;
  if (problem.prepared_scales && !blocks)
    return Support::no("scales that are prepared are those of ScaleOf::block");
  if (constexpr int kPrepared = kBlock * PreparedScales::kScales;
      problem.prepared_scales && problem.n % kPrepared)
    return Support::no("n is " + std::to_string(problem.n) +
                       "; rows with prepared scales are whole blocks of " +
                       std::to_string(kPrepared) + ". prepare_scales fills the last one");
  if (blocks && problem.n % kBlock)
    return Support::no("n is " + std::to_string(problem.n) + "; rows are whole blocks of " +
                       std::to_string(kBlock));
  return groups(problem)
             ? groupsSupported("q", problem.q, groups(problem), rowShape(problem), target)
             : basic;
}

Support Quantise::supported(const QuantiseProblem &problem, const RowConfig &config,
                            const Target &target) {
  const Support rows = RowFamily::supported(problem, config, target);
  return rows && groups(problem) ? groupsSupported(groups(problem), rowShape(problem), config)
                                 : rows;
}

RowConfig Quantise::choose(const QuantiseProblem &problem, std::int64_t m, const Target &target) {
  RowConfig config = RowFamily::choose(problem, m, target);
  if (groups(problem))
    config.threads = std::max(config.threads, groups(problem).lanes(rowShape(problem)));
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
  arguments.check(args.x, matrixOfRows("x", problem.x, m, n, align));
  arguments.check(args.q, matrixOfRows("q", problem.q, m, n, align, Use::written));
  arguments.checkIf(
      problem.smooth, args.smooth,
      {.name = "smooth", .dtype = problem.smooth_type, .shape = {"n", n}, .align = align});
  arguments.checkIf(problem.rows, args.rows, rowCount());
  const QuantGroups grouped = groups(problem);
  if (problem.prepared_scales) {
    arguments.check(args.scale, writtenPreparedScales(arguments, "scale", "m / 32, n / 256, 256", m,
                                                      n, "rows"));
  } else {
    arguments.check(args.scale, writtenScales(grouped, problem.scale == ScaleOf::row, m, n,
                                              problem.group ? "m, n / group" : "m, n / 32"));
  }
  const RowConfig ofLargest = largestConfig(call.config);
  const std::int64_t each = ofLargest.block / ofLargest.threads;
  if (problem.scale == ScaleOf::tensor && m > mostRowsOfTensor(each)) [[unlikely]]
    arguments.fail(
        "x has " + std::to_string(m) + " rows; with one scale for all of them " +
        std::to_string(mostRowsOfTensor(each)) +
        " are the most. Quantise parts of x with scales of their own, or all by one that is given "
        "(ScaleOf::given)");
  arguments.expectApart();
  if (m == 0)
    return;
  const LaunchConfig all = onRows(call, m), one = call.on(1, kOneBlock);
  const Strided<OnHost, 1> x = operandOf<1>(args.x);
  const Strided<OnHost, 0> scale{.address = address(args.scale), .stride = {}},
      smooth = operandOf<0>(args.smooth), rows = operandOf<0>(args.rows);
  const auto count = static_cast<std::int32_t>(m);
  std::size_t place = 0;
  if (problem.scale == ScaleOf::tensor) {
    call.launches.at(place++, kClear)(one, call.where, {.scale = scale});
    call.launches.at(place++, kLargest)(
        call.on(std::min<std::int64_t>((m + each - 1) / each, kMostOfLargest), ofLargest.block),
        call.where, {.x = x, .scale = scale, .smooth = smooth, .m = count, .rows = rows});
    call.launches.at(place++, kScale)(one, call.where, {.scale = scale});
  }
  call.launches.at(place, kQuantise)(all, call.where,
                                     {.x = x,
                                      .q = operandOf<1>(args.q),
                                      .scale = operandOf<2>(args.scale, grouped ? 2 : 0),
                                      .smooth = smooth,
                                      .m = count,
                                      .rows = rows});
}

QuantiseArgs Quantise::args(const QuantiseProblem &problem, const RowConfig &, std::int64_t m,
                            const Sampler &sampler) {
  const bool given = problem.scale == ScaleOf::given;
  const QuantGroups grouped = groups(problem);
  const std::int64_t n = problem.n;
  const auto [rowGroups, blocks, bytes] = PreparedScales::shape(m, n);
  const Extents matrix{m, n}, rows{m}, one{1},
      scales = problem.prepared_scales ? Extents{rowGroups, blocks, bytes}
                                       : Extents{m, grouped ? n / grouped.size : 0};
  return {.x = sampler("x", problem.x, matrix, Role::input),
          .q = sampler("q", problem.q, matrix, Role::output),
          .scale = sampler("scale", scaleType(problem),
                           grouped                         ? scales
                           : problem.scale == ScaleOf::row ? rows
                                                           : one,
                           given ? Role::input : Role::output),
          .smooth = sampleIf(problem.smooth, sampler, "smooth", problem.smooth_type, Extents{n}),
          .rows = sampleIf(problem.rows, sampler, "rows", i32, one, Role::equal(m))};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(QuantiseProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
