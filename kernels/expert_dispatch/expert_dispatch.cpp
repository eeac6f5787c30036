#include "expert_dispatch/expert_dispatch_family.h"

#include "blocks/common/expert_ids.h"
#include "frame/parts.h"
#include "frame/workspace_pieces.h"

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Dispatch = Family<ExpertDispatchProblem>;
using Sort = Family<MoeSortProblem>;

constexpr DType kTypes[] = {f32, f16, bf16, i8, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ, f4E2M1FN};

/// The pieces of the workspace, by their first bytes. The sorted order has all places that there may
/// be; y may have fewer.
struct Memory {
  std::int64_t places;
  std::int64_t tableIds, tableWeights, sortedIds, sortedWeights, unitExperts, sorting;
  std::int64_t sortingBytes, bytes;
};
Memory memoryOf(const ExpertDispatchProblem &problem, const ExpertDispatchConfig &config) {
  const MoeSortProblem sorting = sortingOf(problem);
  const std::int64_t tokens = problem.ranks * problem.tokens, slots = tokens * problem.topk;
  Memory memory{};
  memory.places = moe_sort_places(sorting, tokens);
  WorkspacePieces pieces;
  memory.tableIds = pieces.take(slots * 4);
  memory.tableWeights = pieces.take(problem.weights ? slots * 4 : 0);
  memory.sortedIds = pieces.take(memory.places * 4);
  memory.sortedWeights = pieces.take(problem.weights ? memory.places * 4 : 0);
  memory.unitExperts = pieces.take(problem.capacity ? 0 : memory.places / problem.unit * 4);
  memory.sortingBytes =
      static_cast<std::int64_t>(Sort::workspaceBytes(sorting, config.sort, tokens));
  memory.sorting = pieces.take(memory.sortingBytes);
  memory.bytes = pieces.bytes();
  return memory;
}

Support scalesSupported(const ExpertDispatchProblem &problem) {
  if (!problem.scale)
    return problem.scales == 0
               ? Support{}
               : Support::no(is("scales", problem.scales) + ", and scale, their type, is none");
  if (problem.scale != f32 && problem.scale != f8E8M0FNU)
    return Support::no("scale is of type " + std::string(problem.scale.name()) +
                       "; f32 and f8E8M0FNU are supported");
  return rangeSupported("scales", problem.scales, 1, problem.n);
}

/// Nothing that a call writes shares memory with what it reads, or with anything else that it writes.
void expectApart(const Arguments &arguments, const ExpertDispatchArgs &args) {
  struct Operand {
    const TensorArg *tensor;
    const char *name;
  };
  const auto given = [](const std::optional<TensorArg> &tensor) {
    return tensor ? &*tensor : nullptr;
  };
  const Operand written[] = {{&args.y, "y"},
                             {given(args.sorted_weights), "sorted_weights"},
                             {given(args.sorted_scales), "sorted_scales"},
                             {given(args.unit_experts), "unit_experts"},
                             {&args.counts, "counts"},
                             {given(args.offsets), "offsets"},
                             {&args.totals, "totals"},
                             {&args.slot_places, "slot_places"},
                             {given(args.workspace), "workspace"}};
  const Operand read[] = {{&args.x, "x"},
                          {&args.ids, "ids"},
                          {given(args.weights), "weights"},
                          {given(args.scales), "scales"}};
  for (std::size_t i = 0; i < std::size(written); ++i) {
    if (!written[i].tensor)
      continue;
    const auto expectFrom = [&](const Operand &other) {
      if (other.tensor)
        arguments.disjoint(*written[i].tensor, written[i].name, *other.tensor, other.name);
    };
    for (const Operand &other : read)
      expectFrom(other);
    for (std::size_t j = i + 1; j < std::size(written); ++j)
      expectFrom(written[j]);
  }
}

/// All but the sorting.
Support exchangeSupported(const ExpertDispatchProblem &problem) {
  if (std::find(std::begin(kTypes), std::end(kTypes), problem.x) == std::end(kTypes))
    return Support::no("x is of type " + std::string(problem.x.name()) +
                       "; f32, f16, bf16, i8, 8-bit floats and f4E2M1FN are supported");
  const Support basic = firstRefusal({lengthSupported(problem.n), expertsSupported(problem)});
  if (!basic)
    return basic;
  if (rowShape(problem).vector * problem.x.memory_bits() % 8)
    return Support::no(is("n", problem.n) + "; elements of 4 bits fill bytes, so it is even");
  return scalesSupported(problem);
}

} // namespace

Support Dispatch::supported(const ExpertDispatchProblem &problem, const Target &target) {
  return firstRefusal({exchangeSupported(problem), Sort::supported(sortingOf(problem), target)});
}

Support Dispatch::supported(const ExpertDispatchProblem &problem,
                            const ExpertDispatchConfig &config, const Target &target) {
  return firstRefusal({rowsSupported(rowShape(problem), config.rows, kLimits, target),
                       rangeSupported("blocks", config.blocks, 1, GroupMemory::most_blocks),
                       Sort::supported(sortingOf(problem), config.sort, target)});
}

ExpertDispatchConfig Dispatch::choose(const ExpertDispatchProblem &problem, std::int64_t,
                                      const Target &target) {
  return {.rows = chooseRows(rowShape(problem), kLimits, target),
          .blocks = kBlocksOfGroupCall,
          .sort = Sort::choose(sortingOf(problem), problem.ranks * problem.tokens, target)};
}

std::vector<ExpertDispatchConfig> Dispatch::candidates(const ExpertDispatchProblem &problem,
                                                       std::int64_t, const Target &target) {
  std::vector<ExpertDispatchConfig> found;
  for (const RowConfig &rows : rowCandidates(rowShape(problem), target))
    for (const MoeSortConfig &sort :
         Sort::candidates(sortingOf(problem), problem.ranks * problem.tokens, target))
      found.push_back({.rows = rows, .blocks = kBlocksOfGroupCall, .sort = sort});
  return found;
}

std::size_t Dispatch::workspaceBytes(const ExpertDispatchProblem &problem,
                                     const ExpertDispatchConfig &config, std::int64_t) {
  return static_cast<std::size_t>(memoryOf(problem, config).bytes);
}

Dispatch::KernelNames Dispatch::kernels(const ExpertDispatchProblem &problem,
                                        const ExpertDispatchConfig &config) {
  return kernelsOfParts(problem, config);
}

std::vector<Dispatch::IndexRow> Dispatch::indexRows(const ExpertDispatchProblem &problem,
                                                    const ExpertDispatchConfig &) {
  return {expertIdsRow<P, A>(problem)};
}

void Dispatch::launch(const Call<ExpertDispatchProblem> &call) {
  const auto &[problem, config, args, launches, stream, where] = call;
  const DispatchTakeParams<OnHost> take = launchPlacing(call);
  const int block = config.rows.block;
  launches.at(1 + Sort::kernels(sortingOf(problem), config.sort).size(), kDispatchTake)(
      call.over(take.places, block / config.rows.threads, block), where, take);
}

DispatchTakeParams<OnHost> launchPlacing(const Call<ExpertDispatchProblem> &call,
                                         const std::optional<TensorArg> &work) {
  const auto &[problem, config, args, launches, stream, where] = call;
  const Arguments arguments(FamilyOf<ExpertDispatchProblem>::name, where);
  const Group &group = expectGroup(arguments, args.group, problem.ranks);
  const std::int64_t m = arguments.rows(args.x, "x"), places = arguments.rows(args.y, "y"),
                     local = problem.local();
  expectTokens(arguments, problem, m);
  const Memory memory = memoryOf(problem, config);
  const bool isCompact = !problem.capacity;
  if (isCompact && (places < 1 || places % problem.unit || places > memory.places))
    arguments.fail("y has " + std::to_string(places) + " places; they are units of " +
                   std::to_string(problem.unit) + ", 1 or more, and up to " +
                   std::to_string(memory.places) + " (expert_dispatch_places)");
  const auto numbers = [&](const char *name, DType type, const Shape &shape, Use use) {
    return Expected{.name = name, .dtype = type, .shape = shape, .use = use};
  };
  const bool hasScales = bool(problem.scale);
  const std::int64_t align = rowShape(problem).vector,
                     ofScales = hasScales ? scaleShape(problem).vector : 1,
                     all = isCompact ? places : memory.places;
  const Shape slots{"m, topk", m, problem.topk};
  DispatchGiveParams<OnHost> give{};
  DispatchTakeParams<OnHost> take{};
  give.x = arguments.operand<1>(
      args.x, movedRows("x", problem.x, {"m, n", m, problem.n}, align, Use::read));
  give.ids = arguments.operand<0>(args.ids, numbers("ids", i32, slots, Use::read));
  give.weights = arguments.operandIf<0>(problem.weights, args.weights,
                                        numbers("weights", f32, slots, Use::read));
  give.scales = arguments.operandIf<1>(
      hasScales, args.scales,
      movedRows("scales", problem.scale, {"m, scales", m, problem.scales}, ofScales, Use::read));
  give.m = static_cast<std::int32_t>(m);
  take.y = arguments.operand<1>(
      args.y, movedRows("y", problem.x, {"places, n", all, problem.n}, align, Use::written));
  take.weights =
      arguments.operandIf<0>(problem.weights, args.sorted_weights,
                             numbers("sorted_weights", f32, {"places", places}, Use::written));
  take.scales = arguments.operandIf<1>(hasScales, args.sorted_scales,
                                       movedRows("sorted_scales", problem.scale,
                                                 {"places, scales", places, problem.scales},
                                                 ofScales, Use::written));
  take.units = arguments.operandIf<0>(
      isCompact, args.unit_experts,
      numbers("unit_experts", i32, {"places / unit", places / problem.unit}, Use::written));
  take.totals = arguments.operand<0>(args.totals, numbers("totals", i32, {"3", 3}, Use::written));
  take.places = static_cast<std::int32_t>(places);
  arguments.check(args.counts, numbers("counts", i32, {"local", local}, Use::written));
  arguments.checkIf(isCompact, args.offsets,
                    numbers("offsets", i32, {"local + 1", local + 1}, Use::written));
  arguments.check(args.slot_places,
                  numbers("slot_places", i32,
                          {"ranks, tokens, topk", problem.ranks, problem.tokens, problem.topk},
                          Use::written));
  (void)arguments.workspace(args.workspace, Dispatch::workspaceBytes(problem, config, m));
  expectApart(arguments, args);
  expectRegistered(arguments, problem, group, args.x, args.scales);
  group.enter(stream, where);
  expectRoom(arguments, group, dispatchWindow(problem).bytes);

  const auto piece = [&](std::int64_t first, DType dtype, const Extents &shape) {
    return pieceOfWorkspace(*args.workspace, first, dtype, shape);
  };
  const auto pieceIf = [&](bool has, std::int64_t first, DType dtype, const Extents &shape) {
    return has ? std::optional(piece(first, dtype, shape)) : std::nullopt;
  };
  const std::int64_t tokens = problem.ranks * problem.tokens;
  const Extents table{tokens, problem.topk}, sorted{memory.places};
  const MoeSortArgs sorting{
      .ids = piece(memory.tableIds, i32, table),
      .weights = pieceIf(problem.weights, memory.tableWeights, f32, table),
      .sorted_ids = piece(memory.sortedIds, i32, sorted),
      .sorted_weights = pieceIf(problem.weights, memory.sortedWeights, f32, sorted),
      .unit_experts = pieceIf(isCompact, memory.unitExperts, i32, {memory.places / problem.unit}),
      .counts = args.counts,
      .offsets = args.offsets,
      .totals = args.totals,
      .slot_places = tensor(args.slot_places.data(), i32, table),
      .workspace = pieceIf(memory.sortingBytes > 0, memory.sorting, u8, {memory.sortingBytes})};
  give.tableIds = operandOf<0>(sorting.ids);
  give.tableWeights = operandOf<0>(sorting.weights);
  give.work = operandOf<0>(work);
  give.group = dispatchGroup(problem, config, group);
  take.sortedIds = operandOf<0>(sorting.sorted_ids);
  take.sortedWeights = operandOf<0>(sorting.sorted_weights);
  take.unitExperts = operandOf<0>(sorting.unit_experts);
  take.group = give.group;

  launches.at(0, kDispatchGive)(
      call.on(meetingBlocks(config.rows, config.blocks, problem.tokens), config.rows.block), where,
      give);
  const MoeSortProblem ofSorting = sortingOf(problem);
  Sort::launch({ofSorting, config.sort, sorting, launches.from(1), stream, where});
  return take;
}

void expectRegistered(const Arguments &arguments, const ExpertDispatchProblem &problem,
                      const Group &group, const TensorArg &x,
                      const std::optional<TensorArg> &scales) {
  if (!problem.registered)
    return;
  const DispatchWindow window = dispatchWindow(problem);
  const auto bytes = static_cast<std::int64_t>(group.memory().registered_bytes);
  if (bytes < window.rows)
    arguments.fail(std::to_string(window.rows) +
                   " bytes of tokens do not fit the group's registered memory of " +
                   std::to_string(bytes) + "; make the group with GroupOptions::registered");
  const auto expectAt = [&](const char *name, const TensorArg &rows, std::int64_t first, DType type,
                            std::int64_t n) {
    const std::int64_t m = rows.shape()[0], row = windowRowBytes(type, n);
    const auto *start = static_cast<const std::byte *>(group.registered()) + first;
    if (m > 0 && rows.data() != start)
      arguments.fail(std::string(name) + " is not at byte " + std::to_string(first) +
                     " of Group::registered(), where the other ranks read it; what makes it writes "
                     "it there, or registered is false");
    if (m > 1 && rows.strides()[0] * type.memory_bits() != row * 8)
      arguments.fail("rows of " + std::string(name) + " have a stride of " +
                     std::to_string(rows.strides()[0]) + " elements; in registered memory it is " +
                     std::to_string(row) + " bytes (expert_dispatch_registered)");
  };
  expectAt("x", x, 0, problem.x, problem.n);
  if (problem.scale)
    expectAt("scales", *scales, window.scales, problem.scale, problem.scales);
}

ExpertDispatchArgs Dispatch::args(const ExpertDispatchProblem &problem,
                                  const ExpertDispatchConfig &config, std::int64_t m,
                                  const Sampler &sampler) {
  const std::int64_t places = memoryOf(problem, config).places, local = problem.local();
  const bool isCompact = !problem.capacity, hasScales = bool(problem.scale);
  const Extents slots{m, problem.topk};
  const auto out = [&](bool has, const char *name, DType dtype, const Extents &shape) {
    return sampleIf(has, sampler, name, dtype, shape, Role::output);
  };
  // The group is the caller's to add: operands alone make no call of a collective.
  return {
      .x = sampler("x", problem.x, Extents{m, problem.n}, Role::input),
      .ids = sampler("ids", i32, slots, Role::below(problem.experts)),
      .weights = sampleIf(problem.weights, sampler, "weights", f32, slots),
      .scales = sampleIf(hasScales, sampler, "scales", problem.scale, Extents{m, problem.scales}),
      .y = sampler("y", problem.x, Extents{places, problem.n}, Role::output),
      .sorted_weights = out(problem.weights, "sorted_weights", f32, Extents{places}),
      .sorted_scales =
          out(hasScales, "sorted_scales", problem.scale, Extents{places, problem.scales}),
      .unit_experts = out(isCompact, "unit_experts", i32, Extents{places / problem.unit}),
      .counts = sampler("counts", i32, Extents{local}, Role::output),
      .offsets = out(isCompact, "offsets", i32, Extents{local + 1}),
      .totals = sampler("totals", i32, Extents{3}, Role::output),
      .slot_places = sampler("slot_places", i32,
                             Extents{problem.ranks, problem.tokens, problem.topk}, Role::output),
      .workspace = sampler("workspace", u8,
                           Extents{static_cast<std::int64_t>(workspaceBytes(problem, config, m))},
                           Role::workspace)};
}

} // namespace kernels::impl

namespace kernels {

std::int64_t expert_dispatch_places(const ExpertDispatchProblem &problem) {
  using namespace impl;
  if (const Support answer = exchangeSupported(problem); !answer)
    throw Error("expert_dispatch: " + answer.why);
  return moe_sort_places(sortingOf(problem), problem.ranks * problem.tokens);
}

ExpertDispatchRegistered expert_dispatch_registered(const ExpertDispatchProblem &problem) {
  using namespace impl;
  if (const Support answer = exchangeSupported(problem); !answer)
    throw Error("expert_dispatch: " + answer.why);
  const DispatchWindow window = dispatchWindow(problem);
  return {.row = windowRowBytes(problem.x, problem.n),
          .scales_at = window.scales,
          .scale_row = problem.scale ? windowRowBytes(problem.scale, problem.scales) : 0,
          .bytes = window.rows};
}

FLYDSL_KERNEL_FAMILY(ExpertDispatchProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
