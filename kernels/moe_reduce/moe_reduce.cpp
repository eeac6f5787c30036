#include "moe_reduce/moe_reduce_family.h"

#include "blocks/common/expert_ids.h"
#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

#include <bit>

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

constexpr int kFewestOfGroup = 8, kMostOfGroup = 128;

bool isOfCodes(const MoeReduceProblem &problem) { return quantisedFormat(problem.x) != nullptr; }

/// Whether rows may be of the type of x.
Support rowTypeSupported(const MoeReduceProblem &problem) {
  if (isOfCodes(problem) || floatSupported("x", problem.x))
    return {};
  return Support::no("x is of type " + std::string(problem.x.name()) +
                     "; f32, f16, bf16, and with a group 8-bit floats are supported");
}

/// Whether x may have such scales.
Support groupsSupported(const MoeReduceProblem &problem) {
  if (!isOfCodes(problem)) {
    if (problem.group || problem.group_scale != f8E8M0FNU)
      return Support::no("group and group_scale are of x of 8-bit floats; x is of type " +
                         std::string(problem.x.name()));
    return {};
  }
  if (problem.group < kFewestOfGroup || problem.group > kMostOfGroup ||
      !std::has_single_bit(static_cast<unsigned>(problem.group)))
    return Support::no(is("group", problem.group) + "; x of type " + std::string(problem.x.name()) +
                       " has a scale for each 8, 16, 32, 64 or 128 neighbours of a row");
  if (problem.n % problem.group)
    return Support::no(is("n", problem.n) + "; it is a multiple of group, " +
                       std::to_string(problem.group));
  if (problem.group_scale != f8E8M0FNU && problem.group_scale != f32)
    return Support::no("group_scale is " + std::string(problem.group_scale.name()) +
                       "; f8E8M0FNU and f32 are supported");
  return {};
}

/// Whether rows may be left out by their experts.
Support expertsSupported(const MoeReduceProblem &problem) {
  if (!problem.experts)
    return {};
  if (problem.experts < 1 || problem.experts > kMostExperts)
    return Support::no(is("experts", problem.experts) + "; it is 0, or 1 to " +
                       std::to_string(kMostExperts));
  if (problem.mask)
    return Support::no(
        "mask says which slots count, and experts do, too; a problem has one of them");
  if (problem.places)
    return Support::no(
        "experts are of rows of slots; with places, experts that are not here have no "
        "place: expert_map of moe_sort");
  return {};
}

} // namespace

/// The fewest pieces that divide the row and give each thread one access, or one piece where no
/// number of pieces near to that divides it.
RowPieces piecesOf(const MoeReduceProblem &problem, const RowConfig &config) {
  const RowShape row = rowShape(problem);
  const std::int64_t accesses = row.accesses(), threads = config.threads;
  if (config.resident && threads > 0 && threads == config.block && row.n % row.vector == 0) {
    const std::int64_t fewest = (accesses + threads - 1) / threads;
    for (std::int64_t count = fewest; count < fewest + kTries; ++count)
      if (accesses % count == 0)
        return {count, {row.n / count, row.vector}};
  }
  return {1, row};
}

Support Reduce::supported(const MoeReduceProblem &problem, const Target &) {
  const Support basic = firstRefusal({rowTypeSupported(problem), floatSupported("y", problem.y),
                                      lengthSupported(problem.n), alignSupported(problem.row_align),
                                      groupsSupported(problem), expertsSupported(problem)});
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
  const std::int64_t places = problem.places ? arguments.rows(args.x, "x") : 0;
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
  arguments.check(args.y, matrixOfRows("y", problem.y, m, n, align, Use::written));
  arguments.checkIf(problem.weights, args.weights,
                    {.name = "weights", .dtype = f32, .shape = perRow});
  arguments.checkIf(problem.mask, args.mask, {.name = "mask", .dtype = u8, .shape = perRow});
  arguments.checkIf(problem.places, args.slot_places,
                    {.name = "slot_places", .dtype = i32, .shape = perRow});
  const std::int64_t groups = problem.group ? n / problem.group : 0;
  arguments.checkIf(problem.group != 0, args.x_scale,
                    {.name = "x_scale",
                     .dtype = problem.group_scale,
                     .shape = problem.places ? Shape{"places, n / group", places, groups}
                                             : Shape{"m, topk, n / group", m, k, groups},
                     .free = problem.places ? 1 : 2});
  arguments.checkIf(problem.experts != 0, args.ids, {.name = "ids", .dtype = i32, .shape = perRow});
  arguments.checkIf(problem.experts != 0, args.expert_mask,
                    {.name = "expert_mask", .dtype = i32, .shape = {"experts", problem.experts}});
  arguments.expectApart();
  if (m == 0)
    return;
  call.launches.at(0, kMoeReduce)(
      onRows(call, m * piecesOf(problem, call.config).count), call.where,
      {.x = operandOf<2>(args.x, problem.places ? 1 : 2),
       .y = operandOf<1>(args.y),
       .m = static_cast<std::int32_t>(m),
       .weights = operandOf<0>(args.weights),
       .mask = operandOf<0>(args.mask),
       .slotPlaces = operandOf<0>(args.slot_places),
       .places = static_cast<std::int32_t>(places),
       .scales = args.x_scale ? operandOf<2>(*args.x_scale, problem.places ? 1 : 2)
                              : Strided<OnHost, 2>{},
       .ids = operandOf<0>(args.ids),
       .expertMask = operandOf<0>(args.expert_mask)});
}

MoeReduceArgs Reduce::args(const MoeReduceProblem &problem, const RowConfig &, std::int64_t m,
                           const Sampler &sampler) {
  const Extents rows{m, problem.topk, problem.n}, perRow{m, problem.topk}, tokens{m, problem.n};
  const Extents places{m * problem.topk, problem.n};
  const std::int64_t groups = problem.group ? problem.n / problem.group : 0;
  return {.x = sampler("x", problem.x, problem.places ? places : rows, Role::input),
          .weights = sampleIf(problem.weights, sampler, "weights", f32, perRow),
          .mask = sampleIf(problem.mask, sampler, "mask", u8, perRow),
          .slot_places = sampleIf(problem.places, sampler, "slot_places", i32, perRow, Role::index),
          .x_scale = sampleIf(problem.group != 0, sampler, "x_scale", problem.group_scale,
                              problem.places ? Extents{m * problem.topk, groups}
                                             : Extents{m, problem.topk, groups}),
          .ids = sampleIf(problem.experts != 0, sampler, "ids", i32, perRow,
                          Role::below(problem.experts)),
          .expert_mask =
              sampleIf(problem.experts != 0, sampler, "expert_mask", i32, Extents{problem.experts}),
          .y = sampler("y", problem.y, tokens, Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(MoeReduceProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
