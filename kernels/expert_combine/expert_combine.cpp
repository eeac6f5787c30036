#include "expert_combine/expert_combine_family.h"

#include "blocks/common/expert_ids.h"
#include "blocks/quant/quant_rules.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Combine = Family<ExpertCombineProblem>;

/// Bytes of the list of slots that a block has found, and of their number.
std::int64_t listBytes(const ExpertCombineProblem &problem, const RowConfig &rows) {
  return slotsTogether(problem, rows) * 8 + 8;
}
constexpr std::int64_t kMostListBytes = 32 << 10;

Support rowsAndList(const ExpertCombineProblem &problem, const RowConfig &rows,
                    const Target &target) {
  const Support fits = rowsSupported(rowShape(problem), rows, Combine::kLimits, target);
  if (const int lanes = kWireBlock / rowShape(problem).vector;
      fits && problem.wire && rows.threads % lanes)
    return Support::no(is("threads", rows.threads) +
                       " of a row; with wire they are a multiple of " + std::to_string(lanes) +
                       ", which have " + std::to_string(kWireBlock) + " neighbours together");
  if (!fits || listBytes(problem, rows) <= kMostListBytes)
    return fits;
  return Support::no("the slots that a block looks at together take " +
                     std::to_string(listBytes(problem, rows)) + " bytes of LDS; " +
                     std::to_string(kMostListBytes) +
                     " are the most. More threads of a row or a "
                     "smaller block take fewer");
}

Support wireSupported(const ExpertCombineProblem &problem) {
  if (!problem.wire)
    return {};
  if (problem.wire != f8E4M3FN && problem.wire != f8E5M2)
    return Support::no("wire is of type " + std::string(problem.wire.name()) +
                       "; it is none, f8E4M3FN or f8E5M2");
  if (problem.n % kWireBlock)
    return Support::no(is("n", problem.n) + "; with wire it is a multiple of " +
                       std::to_string(kWireBlock) + ", which have a scale");
  return {};
}

} // namespace

Support Combine::supported(const ExpertCombineProblem &problem, const Target &) {
  return firstRefusal({floatSupported("x", problem.x), floatSupported("y", problem.y),
                       lengthSupported(problem.n), expertsSupported(problem),
                       wireSupported(problem)});
}

Support Combine::supported(const ExpertCombineProblem &problem, const ExpertCombineConfig &config,
                           const Target &target) {
  return firstRefusal({rowsAndList(problem, config.rows, target),
                       rangeSupported("blocks", config.blocks, 1, GroupMemory::most_blocks)});
}

ExpertCombineConfig Combine::choose(const ExpertCombineProblem &problem, std::int64_t,
                                    const Target &target) {
  RowConfig rows = chooseRows(rowShape(problem), kLimits, target);
  // A wave that has a row alone always fits, if the row does not have to stay in registers.
  if (!rowsAndList(problem, rows, target))
    rows = {.threads = target.wave_size(), .block = target.wave_size(), .resident = false};
  return {.rows = rows, .blocks = kBlocksOfGroupCall};
}

std::vector<ExpertCombineConfig> Combine::candidates(const ExpertCombineProblem &problem,
                                                     std::int64_t, const Target &target) {
  std::vector<ExpertCombineConfig> found;
  for (const RowConfig &rows : rowCandidates(rowShape(problem), target))
    found.push_back({.rows = rows, .blocks = kBlocksOfGroupCall});
  return found;
}

std::vector<Combine::IndexRow> Combine::indexRows(const ExpertCombineProblem &problem,
                                                  const ExpertCombineConfig &) {
  return {expertIdsRow<P, A>(problem),
          {.rule = {.argument = "slot_places",
                    .meaning = "the rows of x",
                    .orNone = true,
                    .columns = problem.topk},
           .values = [](const P &p, const A &args) {
             return IndexValues{.address = address(args.slot_places),
                                .count = p.ranks * p.tokens * p.topk,
                                .end = args.x.shape()[0]};
           }}};
}

void Combine::launch(const Call<ExpertCombineProblem> &call) { launch(call, prepare(call)); }

void Combine::launch(const Call<ExpertCombineProblem> &call,
                     const ExpertCombineParams<OnHost> &params) {
  const RowConfig &rows = call.config.rows;
  call.launches.at(0, kExpertCombine)(
      call.on(meetingBlocks(rows, call.config.blocks, call.problem.tokens), rows.block), call.where,
      params);
}

ExpertCombineParams<OnHost> Combine::prepare(const Call<ExpertCombineProblem> &call, bool givesX) {
  const auto &[problem, config, args, launches, stream, where] = call;
  const Arguments arguments(FamilyOf<ExpertCombineProblem>::name, where);
  const Group &group = expectGroup(arguments, args.group, problem.ranks);
  const std::int64_t m = arguments.rows(args.y, "y"),
                     places = givesX ? arguments.rows(args.x, "x") : 0, n = problem.n,
                     align = rowShape(problem).vector;
  expectTokens(arguments, problem, m);
  const Shape slots{"m, topk", m, problem.topk};
  ExpertCombineParams<OnHost> params{};
  if (givesX)
    params.x = arguments.operand<1>(
        args.x, movedRows("x", problem.x, {"places, n", places, n}, align, Use::read));
  params.y =
      arguments.operand<1>(args.y, movedRows("y", problem.y, {"m, n", m, n}, align, Use::written));
  params.slotPlaces = arguments.operand<0>(
      args.slot_places,
      {.name = "slot_places",
       .dtype = i32,
       .shape = {"ranks, tokens, topk", problem.ranks, problem.tokens, problem.topk}});
  params.ids = arguments.operand<0>(args.ids, {.name = "ids", .dtype = i32, .shape = slots});
  params.weights = arguments.operandIf<0>(problem.weights, args.weights,
                                          {.name = "weights", .dtype = f32, .shape = slots});
  if (givesX)
    arguments.disjoint(args.y, "y", args.x, "x");
  arguments.disjoint(args.y, "y", args.slot_places, "slot_places");
  arguments.disjoint(args.y, "y", args.ids, "ids");
  arguments.disjoint(args.y, "y", args.weights, "weights");
  params.m = static_cast<std::int32_t>(m);
  params.places = static_cast<std::int32_t>(places);
  group.enter(stream, where);
  expectRoom(arguments, group, combineBytes(problem));
  params.group = combineGroup(problem, config, group);
  return params;
}

ExpertCombineArgs Combine::args(const ExpertCombineProblem &problem, const ExpertCombineConfig &,
                                std::int64_t m, const Sampler &sampler) {
  const std::int64_t places = m * problem.topk;
  const Extents slots{m, problem.topk};
  // The group is the caller's to add: operands alone make no call of a collective.
  return {.x = sampler("x", problem.x, Extents{places, problem.n}, Role::input),
          .slot_places =
              sampler("slot_places", i32, Extents{problem.ranks, problem.tokens, problem.topk},
                      Role::first(places)),
          .ids = sampler("ids", i32, slots, Role::below(problem.experts)),
          .weights = sampleIf(problem.weights, sampler, "weights", f32, slots),
          .y = sampler("y", problem.y, Extents{m, problem.n}, Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(ExpertCombineProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
