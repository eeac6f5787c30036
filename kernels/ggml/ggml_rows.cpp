#include "ggml/ggml_rows_family.h"

#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {
using Rows = Family<GgmlRowsProblem>;
} // namespace

Support Rows::supported(const GgmlRowsProblem &problem, const Target &) {
  const Support basic =
      firstRefusal({ggmlSupported(problem.weight()), floatSupported("y", problem.y)});
  if (!basic)
    return basic;
  if (problem.index != i32 && problem.index != i64)
    return Support::no("index is " + std::string(problem.index.name()) + "; it is i32 or i64");
  return {};
}

Support Rows::supported(const GgmlRowsProblem &, const GgmlRowsConfig &config,
                        const Target &target) {
  if (config.block < target.wave_size() || config.block % target.wave_size() ||
      config.block > target.max_block_size())
    return Support::no("block is " + std::to_string(config.block) +
                       "; it is a number of waves of " + std::to_string(target.wave_size()) +
                       ", up to " + std::to_string(target.max_block_size()) + " threads");
  return {};
}

GgmlRowsConfig Rows::choose(const GgmlRowsProblem &problem, std::int64_t, const Target &target) {
  // A thread for each unit of a row, up to 256.
  const GgmlRow &row = ggmlRow(problem.format);
  GgmlRowsConfig config{.block = target.wave_size()};
  while (config.block < 256 && config.block < problem.k / row.unitWeights())
    config.block *= 2;
  return config;
}

std::vector<GgmlRowsConfig> Rows::candidates(const GgmlRowsProblem &, std::int64_t,
                                             const Target &) {
  return {{64}, {128}, {256}};
}

void Rows::launch(const Call<GgmlRowsProblem> &call) {
  const GgmlRowsProblem &problem = call.problem;
  const GgmlRowsArgs &args = call.args;
  const Arguments arguments(FamilyOf<GgmlRowsProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.y, "y");
  arguments.check(args.ids, {.name = "ids", .dtype = problem.index, .shape = {"m", m}});
  checkBlocks(arguments, "b", args.b, problem.weight());
  arguments.check(args.y, {.name = "y",
                           .dtype = problem.y,
                           .shape = {"m, k", m, problem.k},
                           .free = 1,
                           .use = Use::written,
                           .align = 4,
                           .reason = "4 elements are stored at a time"});
  arguments.expectApart();
  if (m == 0)
    return;
  call.launches.at(0, kGgmlRowsName)(
      call.on(m, call.config.block), call.where,
      {.ids = operandOf<0>(args.ids), .b = operandOf<0>(args.b.bytes), .y = operandOf<1>(args.y)});
}

GgmlRowsArgs Rows::args(const GgmlRowsProblem &problem, const GgmlRowsConfig &, std::int64_t m,
                        const Sampler &sampler) {
  return {.ids = sampler("ids", problem.index, Extents{m}, Role::index),
          .b = {problem.weight(), sampler("b", u8, Extents{weight_bytes(problem.weight())},
                                          Role::blocks(problem.format, problem.layout))},
          .y = sampler("y", problem.y, Extents{m, problem.k}, Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(GgmlRowsProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
