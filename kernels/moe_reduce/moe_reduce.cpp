#include "moe_reduce/moe_reduce_family.h"

#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Reduce = Family<MoeReduceProblem>;

constexpr int kMostRows = 64;
/// Threads of a block that has a piece of a row: few, so that few tokens fill a GPU too. (FlyDSL:
/// 256.)
constexpr int kPieceBlock = 128;
/// Numbers of pieces that are tried.
constexpr int kTries = 8;

} // namespace

/// The fewest pieces that divide the row and give each thread one access, or one piece where no
/// number of pieces near to that divides it.
RowPieces piecesOf(const MoeReduceProblem &problem, const RowConfig &config) {
  const RowShape row = rowShape(problem);
  const std::int64_t accesses = row.accesses(), threads = config.threads,
                     fewest = (accesses + threads - 1) / threads;
  if (config.resident && threads == config.block && row.n % row.vector == 0)
    for (std::int64_t count = fewest; count < fewest + kTries; ++count)
      if (accesses % count == 0)
        return {count, {row.n / count, row.vector}};
  return {1, row};
}

Support Reduce::supported(const MoeReduceProblem &problem, const Target &) {
  const Support basic =
      firstRefusal({floatSupported("x", problem.x), floatSupported("y", problem.y),
                    lengthSupported(problem.n), alignSupported(problem.row_align)});
  if (!basic)
    return basic;
  if (problem.topk < 1 || problem.topk > kMostRows)
    return Support::no("topk is " + std::to_string(problem.topk) + "; a token has 1 to " +
                       std::to_string(kMostRows) + " rows");
  if (problem.places && problem.mask)
    return Support::no("mask is of rows of slots; a slot without a place, -1, is left out as well");
  return {};
}

RowConfig Reduce::choose(const MoeReduceProblem &problem, std::int64_t, const Target &target) {
  const RowConfig pieces{.threads = kPieceBlock, .block = kPieceBlock};
  return piecesOf(problem, pieces).count > 1 ? pieces
                                             : chooseRows(rowShape(problem), kLimits, target);
}

void Reduce::launch(const Call<MoeReduceProblem> &call) {
  const MoeReduceProblem &problem = call.problem;
  const MoeReduceArgs &args = call.args;
  const Arguments arguments(FamilyOf<MoeReduceProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.y, "y"), n = problem.n, k = problem.topk,
                     align = rowShape(problem).vector;
  const Shape perRow{"m, topk", m, k};
  const std::int64_t places =
      problem.places ? arguments.rows(args.x, "x") : 0;
  if (problem.places)
    arguments.check(args.x, {.name = "x",
                             .dtype = problem.x,
                             .shape = {"places, n", places, n},
                             .free = 1,
                             .align = align});
  else
    arguments.check(args.x, {.name = "x",
                             .dtype = problem.x,
                             .shape = {"m, topk, n", m, k, n},
                             .free = 2,
                             .align = align});
  arguments.check(args.y, {.name = "y",
                           .dtype = problem.y,
                           .shape = {"m, n", m, n},
                           .free = 1,
                           .use = Use::written,
                           .align = align});
  arguments.checkIf(problem.weights, args.weights,
                    {.name = "weights", .dtype = f32, .shape = perRow});
  arguments.checkIf(problem.mask, args.mask, {.name = "mask", .dtype = u8, .shape = perRow});
  arguments.checkIf(problem.places, args.slot_places,
                    {.name = "slot_places", .dtype = i32, .shape = perRow});
  if (m == 0)
    return;
  call.launches.at(0, kMoeReduce)(onRows(call, m * piecesOf(problem, call.config).count),
                                  call.where,
                                  {.x = operandOf<2>(args.x, problem.places ? 1 : 2),
                                   .y = operandOf<1>(args.y),
                                   .m = static_cast<std::int32_t>(m),
                                   .weights = operandOf<0>(args.weights),
                                   .mask = operandOf<0>(args.mask),
                                   .slotPlaces = operandOf<0>(args.slot_places),
                                   .places = static_cast<std::int32_t>(places)});
}

MoeReduceArgs Reduce::args(const MoeReduceProblem &problem, const RowConfig &, std::int64_t m,
                           const Sampler &sampler) {
  const Extents rows{m, problem.topk, problem.n}, perRow{m, problem.topk}, tokens{m, problem.n};
  const Extents places{m * problem.topk, problem.n};
  return {.x = sampler("x", problem.x, problem.places ? places : rows, Role::input),
          .weights = sampleIf(problem.weights, sampler, "weights", f32, perRow),
          .mask = sampleIf(problem.mask, sampler, "mask", u8, perRow),
          .slot_places = sampleIf(problem.places, sampler, "slot_places", i32, perRow, Role::index),
          .y = sampler("y", problem.y, tokens, Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(MoeReduceProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
