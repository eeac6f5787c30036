// A mixture of experts over ranks: its parts, the memory between them, and their launches.
#include "moe_ranks/moe_ranks_family.h"

#include "blocks/common/expert_ids.h"
#include "blocks/facts/gpu_size.h"
#include "gemm/gemm_family.h"
#include "moe_forward/mixture_checks.h"
#include "moe_forward/mixture_parts.h"

#include <algorithm>
#include <limits>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Ranks = Family<MoeRanksProblem>;
using Grouped = Family<GroupedGemmProblem>;
using Combine = Family<ExpertCombineProblem>;
using std::to_string;

std::int64_t placesOf(const MoeRanksProblem &problem, const RankParts &parts) {
  return problem.places ? problem.places : expert_dispatch_places(parts.dispatch);
}

/// The pieces of the workspace, by their first bytes. They have room for the most tokens of a rank.
struct Memory {
  std::int64_t places;
  std::int64_t weights, ids, rows, rowScales, sortedWeights, unitExperts, counts, offsets, totals,
      slotPlaces, dispatch, inside, insideScales, results, work;
  std::int64_t dispatchBytes, bytes;
};
Memory memoryOf(const MoeRanksProblem &problem, const MoeRanksConfig &config) {
  const RankParts parts = partsOf(problem, config.unit);
  const MoeForwardProblem &mixture = problem.mixture;
  const std::int64_t slots = problem.tokens * problem.topk(), experts = problem.local();
  Memory memory{};
  const std::int64_t places = memory.places = placesOf(problem, parts);
  WorkspacePieces pieces;
  const auto scales = [&](std::int64_t columns) {
    return pieces.take(places * scalesOfRow(mixture, columns) * mixture.scale.bytes());
  };
  memory.weights = pieces.take(slots * 4);
  memory.ids = pieces.take(slots * 4);
  memory.rows = pieces.take(places * mixture.hidden * mixture.x.memory_bits() / 8);
  memory.rowScales = scales(mixture.hidden);
  memory.sortedWeights = pieces.take(places * 4);
  memory.unitExperts = pieces.take(problem.capacity ? 0 : places / config.unit * 4);
  memory.counts = pieces.take(experts * 4);
  memory.offsets = pieces.take(problem.capacity ? 0 : (experts + 1) * 4);
  memory.totals = pieces.take(3 * 4);
  memory.slotPlaces = pieces.take(problem.ranks * slots * 4);
  memory.dispatchBytes = static_cast<std::int64_t>(Family<ExpertDispatchProblem>::workspaceBytes(
      parts.dispatch, config.dispatch, problem.tokens));
  memory.dispatch = pieces.take(memory.dispatchBytes);
  memory.inside = pieces.take(places * mixture.inner * mixture.x.memory_bits() / 8);
  memory.insideScales = scales(mixture.inner);
  // The second of fused products stores results in the windows.
  memory.results =
      pieces.take(config.fused ? 0 : places * mixture.hidden * mixture.expert_type().bytes());
  memory.work = pieces.take(config.fused ? WorkLayout::kWords * 4 : 0);
  memory.bytes = pieces.bytes();
  return memory;
}

/// What is a number of units, if the problem says so: the places of a rank, or of an expert.
std::int64_t unitsOf(const MoeRanksProblem &problem) {
  return problem.capacity ? problem.capacity : problem.places;
}
/// The unit for as many rows as an expert has, if the routers deal evenly.
int unitFor(const MoeRanksProblem &problem, std::int64_t m) {
  return unitOfRows(problem.ranks * m * problem.topk() / problem.experts(), unitsOf(problem));
}
MoeRanksConfig configOf(const MoeRanksProblem &problem, int unit, std::int64_t m,
                        const Target &target) {
  const RankParts parts = partsOf(problem, unit);
  const std::int64_t places = placesOf(problem, parts);
  // A configuration for compact slots has a tile_m that divides the unit, and so the capacity: both take it.
  MoeRanksProblem compact = problem;
  compact.capacity = 0;
  const RankParts products = partsOf(compact, unit);
  return {.unit = unit,
          .router = Family<TopkGatingProblem>::choose(problem.mixture.router, m, target),
          .dispatch = Family<ExpertDispatchProblem>::choose(parts.dispatch, m, target),
          .first = Family<GroupedGemmProblem>::choose(products.first, places, target),
          .second = Family<GroupedGemmProblem>::choose(products.second, places, target),
          .combine = Family<ExpertCombineProblem>::choose(parts.combine, m, target)};
}

/// The LDS that roles of blocks take besides a product's own: a ticket, and whether all ranks came.
constexpr std::int64_t kLdsOfRoles = 64;
/// Persistent blocks of a launch: more than any device holds at a time.
constexpr int kMostPersistent = 1 << 16;

/// The first answer that is no, of the parts one after another: each is asked if those before it agree.
template <class... Ask> Support firstRefusalOf(const Ask &...ask) {
  Support answer;
  (void)(... && bool(answer = ask()));
  return answer;
}

/// The tiles of a product.
std::int64_t tilesOf(const GroupedGemmProblem &product, const GemmConfig &config,
                     std::int64_t places) {
  return tilesDown(product, config, places) * tilesAcross(productOf(product), config);
}
/// The blocks that sum up in a fused call.
std::int64_t combinersIn(const RankParts &parts, const MoeRanksConfig &config) {
  const ExpertCombineConfig combiners = combinersOf(config);
  return meetingBlocks(combiners.rows, combiners.blocks, parts.combine.tokens);
}
/// Whether 32 bits count the blocks of each product, and the tickets of a fused one.
Support countsSupported(const MoeRanksProblem &problem, const MoeRanksConfig &config) {
  const RankParts parts = partsOf(problem, config.unit);
  const std::int64_t places = placesOf(problem, parts);
  const auto counted = [&](const char *part, std::int64_t tiles, std::int64_t others) {
    // A persistent block draws one ticket more than it has work for.
    const std::int64_t all = config.fused ? tiles + others + config.persistent : tiles;
    return all <= std::numeric_limits<std::int32_t>::max()
               ? Support{}
               : ofPart(part, Support::no("its launch has " + to_string(all) +
                                          " pieces of work, which are counted in 32 bits; take "
                                          "fewer places, or larger tiles"));
  };
  return firstRefusalOf(
      [&] {
        return counted("the first product", tilesOf(parts.first, config.first, places),
                       config.copiers);
      },
      [&] {
        return counted("the second product", tilesOf(parts.second, config.second, places),
                       config.fused ? combinersIn(parts, config) : 0);
      });
}

/// Whether the products can move rows meanwhile.
Support fusedSupported(const MoeRanksProblem &problem, const MoeRanksConfig &config,
                       const Target &target) {
  if (problem.wire)
    return Support::no(
        "fused is true, and wire is given; the second product writes results as they "
        "are. Take fused = false");
  if (const Support numbers =
          firstRefusal({rangeSupported("copiers", config.copiers, 1, WorkLayout::kMostTellers),
                        rangeSupported("persistent", config.persistent, 0, kMostPersistent)});
      !numbers)
    return numbers;
  const RankParts parts = partsOf(problem, config.unit);
  if (const Support rows = ofPart("dispatch with the block of the first product",
                                  kernels::supported(parts.dispatch, copiersOf(config), target));
      !rows)
    return rows;
  if (const Support rows = ofPart("combine with the block of the second product",
                                  kernels::supported(parts.combine, combinersOf(config), target));
      !rows)
    return rows;
  const auto fits = [&](const char *name, const GroupedGemmProblem &part, const GemmConfig &own) {
    const GemmProblem product = productOf(part);
    const LoopShape shape = loopShape(product, own, *gemmForm(product, own, target));
    const std::int64_t lds = shape.ldsBytes() + bytesOfScalesOfC(product, own, shape) + kLdsOfRoles;
    return lds <= static_cast<std::int64_t>(target.lds_bytes())
               ? Support{}
               : Support::no(std::string(name) + " takes " + to_string(lds) +
                             " bytes of LDS with fused; there are " +
                             to_string(static_cast<std::int64_t>(target.lds_bytes())));
  };
  const Support first = fits("the first product", parts.first, config.first);
  return first ? fits("the second product", parts.second, config.second) : first;
}

} // namespace

RankParts partsOf(const MoeRanksProblem &problem, int unit) {
  const MoeForwardProblem &mixture = problem.mixture;
  const MoeParts ofRank = partsOf(problem.of_rank(), unit);
  const bool hasBlocks = columnsOfScaleC(mixture.scales) != 0;
  RankParts parts{.dispatch = {.x = mixture.x,
                               .n = mixture.hidden,
                               .experts = problem.experts(),
                               .topk = problem.topk(),
                               .ranks = problem.ranks,
                               .tokens = problem.tokens,
                               .unit = unit,
                               .capacity = problem.capacity,
                               .scale = hasBlocks ? mixture.scale : DType(),
                               .scales = scalesOfRow(mixture, mixture.hidden),
                               .registered = problem.registered},
                  .first = ofRank.first,
                  .second = ofRank.second,
                  .combine = {.x = mixture.expert_type(),
                              .y = mixture.y,
                              .n = mixture.hidden,
                              .experts = problem.experts(),
                              .topk = problem.topk(),
                              .ranks = problem.ranks,
                              .tokens = problem.tokens,
                              .wire = problem.wire}};
  parts.first.a_rows = GroupedRows::places; // a dispatch has brought the rows there
  if (problem.capacity)
    for (GroupedGemmProblem *product : {&parts.first, &parts.second}) {
      product->groups = GroupLayout::masked;
      product->capacity = problem.capacity;
    }
  return parts;
}

Support Ranks::supported(const MoeRanksProblem &problem, const Target &target) {
  const MoeForwardProblem &mixture = problem.mixture;
  if (const Support answer = ranksSupported(problem.ranks); !answer)
    return answer;
  if (mixture.local)
    return Support::no(is("mixture.local", mixture.local) +
                       "; the experts of a rank follow from ranks, so that it is 0");
  if (mixture.tokens)
    return Support::no("mixture.tokens is true; each rank gives its number of tokens by x");
  if (mixture.scales == Scales::per_row)
    return Support::no("mixture.scales is per_row; the rows of h get scales between the products "
                       "by the sorted ids of one device's tokens. Over ranks scales are per_block, "
                       "per_tensor or mx, or x has 16 bits and weights have w_scales");
  if (mixture.narrow() && mixture.x.memory_bits() < 16)
    return Support::no("mixture.w is " + std::string(mixture.weight_type().name()) +
                       " under x of 8 bits; over ranks such weights take x of 16 bits, or weights "
                       "have the type of x");
  if (mixture.router.shared)
    return Support::no(is("mixture.router.shared", mixture.router.shared) +
                       "; experts that all tokens have are no rank's: each rank computes them for "
                       "its tokens besides");
  if (problem.experts() < problem.ranks || problem.experts() % problem.ranks)
    return Support::no(is("experts", problem.experts()) + "; each of the " +
                       to_string(problem.ranks) + " ranks has the same number of them, 1 or more");
  if (problem.places < 0 || problem.places % kMixtureUnits[0])
    return Support::no(is("places", problem.places) + "; they are units of " +
                       to_string(kMixtureUnits[0]) + ", or 0 for as many as may be needed");
  if (problem.capacity < 0 || problem.capacity % kMixtureUnits[0])
    return Support::no(is("capacity", problem.capacity) + "; it is units of " +
                       to_string(kMixtureUnits[0]) + ", or 0 for compact slots");
  if (problem.capacity && problem.places)
    return Support::no(is("places", problem.places) + ", and " + is("capacity", problem.capacity) +
                       "; the places of fixed slots follow from it, so that places is 0");
  const RankParts parts = partsOf(problem, kMixtureUnits[0]);
  const Support answer = firstRefusalOf(
      [&] {
        return ofPart("the mixture",
                      Family<MoeForwardProblem>::supported(problem.of_rank(), target));
      },
      [&] {
        return ofPart("dispatch", Family<ExpertDispatchProblem>::supported(parts.dispatch, target));
      },
      [&] {
        return ofPart("the first product",
                      Family<GroupedGemmProblem>::supported(parts.first, target));
      },
      [&] {
        return ofPart("combine", Family<ExpertCombineProblem>::supported(parts.combine, target));
      });
  if (!answer)
    return answer;
  const std::int64_t most = expert_dispatch_places(parts.dispatch);
  return problem.places <= most
             ? Support{}
             : Support::no(is("places", problem.places) + ", and " + to_string(most) +
                           " are enough for any choice of experts");
}

Support Ranks::supported(const MoeRanksProblem &problem, const MoeRanksConfig &config,
                         const Target &target) {
  if (config.unit < 1 || unitsOf(problem) % config.unit)
    return Support::no(is("unit", config.unit) + "; it divides " +
                       (problem.capacity ? "capacity, " : "places, ") +
                       to_string(unitsOf(problem)));
  const RankParts parts = partsOf(problem, config.unit);
  const auto insideUnits = [&](const char *part, const GemmConfig &product) {
    return product.tile_m >= 1 && config.unit % product.tile_m
               ? ofPart(part, Support::no(is("tile_m", product.tile_m) + "; it divides the unit, " +
                                          to_string(config.unit)))
               : Support{};
  };
  // Each part's problem is asked first: its unit is the configuration's.
  return firstRefusalOf(
      [&] {
        return ofPart("router", kernels::supported(problem.mixture.router, config.router, target));
      },
      [&] {
        return ofPart("dispatch", kernels::supported(parts.dispatch, config.dispatch, target));
      },
      [&] {
        return ofPart("the first product", kernels::supported(parts.first, config.first, target));
      },
      [&] {
        return ofPart("the second product",
                      kernels::supported(parts.second, config.second, target));
      },
      [&] { return ofPart("combine", kernels::supported(parts.combine, config.combine, target)); },
      // A product of fixed slots does not know the units, and its rows come a unit at a time.
      [&] { return insideUnits("the first product", config.first); },
      [&] { return insideUnits("the second product", config.second); },
      [&] {
        return !config.fused && config.persistent
                   ? Support::no(is("persistent", config.persistent) +
                                 ", and fused is false; the blocks of separate launches have a "
                                 "tile each. Take fused = true, or persistent = 0")
                   : Support{};
      },
      [&] { return config.fused ? fusedSupported(problem, config, target) : Support{}; },
      [&] { return countsSupported(problem, config); });
}

MoeRanksConfig Ranks::choose(const MoeRanksProblem &problem, std::int64_t m, const Target &target) {
  return configOf(problem, unitFor(problem, m), m, target);
}

std::vector<MoeRanksConfig> Ranks::candidates(const MoeRanksProblem &problem, std::int64_t m,
                                              const Target &target) {
  std::vector<MoeRanksConfig> all;
  for (int unit : kMixtureUnits)
    if (unitsOf(problem) % unit == 0) {
      all.push_back(configOf(problem, unit, m, target));
      MoeRanksConfig fused = all.back();
      fused.fused = true;
      if (!fusedSupported(problem, fused, target))
        continue;
      all.push_back(fused);
      if (const std::optional<GpuSize> size = gpuSize(target)) {
        fused.persistent = 2 * size->computeUnits;
        all.push_back(fused);
      }
    }
  return all;
}

std::size_t Ranks::workspaceBytes(const MoeRanksProblem &problem, const MoeRanksConfig &config,
                                  std::int64_t) {
  return static_cast<std::size_t>(memoryOf(problem, config).bytes);
}

std::vector<Ranks::IndexRow> Ranks::indexRows(const MoeRanksProblem &problem,
                                              const MoeRanksConfig &) {
  if (!problem.mixture.router.given)
    return {};
  return {expertIdsRow<P, A>(problem)};
}

namespace {

/// What is ready before the first launch of a call.
struct Prepared {
  Grouped::Work first, second;
  ExpertCombineParams<OnHost> combine;
};
/// Checks the parts after the dispatch.
Prepared prepared(const Call<MoeRanksProblem> &call, const RankParts &parts,
                  const ProductArgs &products, const ExpertCombineArgs &combine) {
  const MoeRanksConfig &config = call.config;
  const auto callOf = [&]<class Q>(const Q &problem, const ConfigOf<Q> &own,
                                   const ArgsOf<Q> &args) {
    return Call<Q>{problem, own, args, call.launches, call.stream, call.where};
  };
  const ExpertCombineConfig combiners = config.fused ? combinersOf(config) : config.combine;
  return {.first = Grouped::prepare(callOf(parts.first, config.first, products.first)),
          .second =
              Grouped::prepare(callOf(parts.second, config.second, products.second), !config.fused),
          .combine = Combine::prepare(callOf(parts.combine, combiners, combine), !config.fused)};
}

/// Launches what follows the router, where the products move rows meanwhile.
void launchFused(const Call<MoeRanksProblem> &call, const RankParts &parts,
                 const ExpertDispatchArgs &dispatch, const Prepared &ready, const TensorArg &work) {
  const MoeRanksConfig &config = call.config;
  std::size_t next =
      Family<TopkGatingProblem>::kernels(call.problem.mixture.router, config.router).size();
  const DispatchTakeParams<OnHost> take =
      launchPlacing({parts.dispatch, config.dispatch, dispatch, call.launches.from(next),
                     call.stream, call.where},
                    work);
  next +=
      1 + Family<MoeSortProblem>::kernels(sortingOf(parts.dispatch), config.dispatch.sort).size();
  // The sorted numbers are read where the sorting wrote them.
  const auto sorted = [&](GroupedGemmParams<OnHost> product) {
    product.unitExperts = take.unitExperts;
    product.weights = take.sortedWeights;
    product.sortedIds = take.sortedIds;
    return product;
  };
  const auto blocksFor = [&](std::int64_t tickets) { // countsSupported has the limit
    return config.persistent ? std::min<std::int64_t>(config.persistent, tickets) : tickets;
  };
  TakeProductParams<OnHost> taking{};
  taking.take = take;
  taking.product = sorted(ready.first.params);
  taking.tiles = static_cast<std::int32_t>(ready.first.blocks);
  taking.work = operandOf<0>(work);
  call.launches.at(next, kTakeProduct)(
      call.on(blocksFor(config.copiers + ready.first.blocks), config.first.threads), call.where,
      taking);

  const std::int64_t combiners = combinersIn(parts, config);
  ProductCombineParams<OnHost> combining{};
  combining.product = sorted(ready.second.params);
  combining.combine = ready.combine;
  combining.tiles = static_cast<std::int32_t>(ready.second.blocks);
  combining.combiners = static_cast<std::int32_t>(combiners);
  combining.work = taking.work;
  call.launches.at(next + 1, kProductCombine)(
      call.on(blocksFor(ready.second.blocks + combiners), config.second.threads), call.where,
      combining);
}

} // namespace

void Ranks::launch(const Call<MoeRanksProblem> &call) {
  const MoeRanksProblem &problem = call.problem;
  const MoeRanksConfig &config = call.config;
  const MoeRanksArgs &args = call.args;
  const MoeForwardProblem mixture = problem.of_rank();
  const Arguments arguments(FamilyOf<MoeRanksProblem>::name, call.where);
  const RankParts parts = partsOf(problem, config.unit);
  // All is checked before the first launch: a rank that refused a part of a call would leave the
  // others waiting.
  const Group &group = expectGroup(arguments, args.group, problem.ranks);
  const std::int64_t m = arguments.rows(args.x, "x"), experts = problem.local(),
                     topk = problem.topk(), hidden = mixture.hidden, inner = mixture.inner;
  const bool hasBlocks = columnsOfScaleC(mixture.scales) != 0;
  expectTokens(arguments, problem, m);
  // A dispatch moves scales row by row.
  checkMixture(arguments, mixture, partsOf(mixture, config.unit), args, m, hasBlocks ? 1 : 0);
  (void)arguments.workspace(args.workspace, workspaceBytes(problem, config, m));
  arguments.expectApart({{"y", "x"}});
  expectRoom(arguments, group,
             std::max(dispatchWindow(parts.dispatch).bytes, combineBytes(parts.combine)));
  expectRegistered(arguments, parts.dispatch, group, args.x,
                   parts.dispatch.scale ? args.scale_x : std::nullopt);
  group.enter(call.stream, call.where);

  const Memory memory = memoryOf(problem, config);
  const std::int64_t places = memory.places;
  const auto piece = [&](std::int64_t first, DType dtype, const Extents &shape) {
    return pieceOfWorkspace(*args.workspace, first, dtype, shape);
  };
  const bool isGiven = mixture.router.given;
  const auto scales = [&](std::int64_t first, std::int64_t columns) {
    return hasBlocks
               ? std::optional(piece(first, mixture.scale, {places, scalesOfRow(mixture, columns)}))
               : std::nullopt;
  };
  const Extents slots{m, topk};
  const TensorArg weights = piece(memory.weights, f32, slots),
                  ids = isGiven ? *args.ids : piece(memory.ids, i32, slots),
                  rows = piece(memory.rows, mixture.x, {places, hidden}),
                  sortedWeights = piece(memory.sortedWeights, f32, {places}),
                  counts = piece(memory.counts, i32, {experts}),
                  slotPlaces = piece(memory.slotPlaces, i32, {problem.ranks, problem.tokens, topk}),
                  inside = piece(memory.inside, mixture.x, {places, inner}),
                  results = config.fused
                                ? TensorArg(nullptr, mixture.expert_type(), Extents{0, hidden})
                                : piece(memory.results, mixture.expert_type(), {places, hidden});
  std::optional<TensorArg> unitExperts, offsets; // of compact slots
  if (!problem.capacity) {
    unitExperts = piece(memory.unitExperts, i32, {places / config.unit});
    offsets = piece(memory.offsets, i32, {experts + 1});
  }
  const std::optional<TensorArg> rowScales = scales(memory.rowScales, hidden),
                                 insideScales =
                                     hasBlocks ? std::optional(
                                                     piece(memory.insideScales, mixture.scale,
                                                           scalesOfRowsOfA(parts.second, places)))
                                               : args.scale_h;
  const ExpertDispatchArgs dispatch{.x = args.x,
                                    .ids = ids,
                                    .weights = weights,
                                    .scales = hasBlocks ? args.scale_x : std::nullopt,
                                    .y = rows,
                                    .sorted_weights = sortedWeights,
                                    .sorted_scales = rowScales,
                                    .unit_experts = unitExperts,
                                    .counts = counts,
                                    .offsets = offsets,
                                    .totals = piece(memory.totals, i32, {3}),
                                    .slot_places = slotPlaces,
                                    .workspace = piece(memory.dispatch, u8, {memory.dispatchBytes}),
                                    .group = &group};
  const MixtureRows between{.a = rows,
                            .scaleA = hasBlocks ? rowScales : args.scale_x,
                            .sortedIds = {},
                            .inside = inside,
                            .insideScales = insideScales,
                            .results = results,
                            .unitExperts = unitExperts,
                            .offsets = offsets,
                            .counts = counts,
                            .sortedWeights = sortedWeights};
  const ExpertCombineArgs combine{
      .x = results, .slot_places = slotPlaces, .ids = ids, .y = args.y, .group = &group};
  const ProductArgs products = argsOfProducts(parts, args, between);
  // A rank that refused one of these after the dispatch would leave the others waiting.
  const Prepared ready = prepared(call, parts, products, combine);
  PartLaunches launch(call);
  launch(mixture.router, config.router,
         {.logits = args.logits, .weights = weights, .ids = ids, .bias = args.router_bias});
  if (config.fused)
    return launchFused(call, parts, dispatch, ready, piece(memory.work, i32, {WorkLayout::kWords}));
  launch(parts.dispatch, config.dispatch, dispatch);
  launch(parts.first, config.first, products.first, ready.first);
  launch(parts.second, config.second, products.second, ready.second);
  launch(parts.combine, config.combine, combine, ready.combine);
}

MoeRanksArgs Ranks::args(const MoeRanksProblem &problem, const MoeRanksConfig &config,
                         std::int64_t m, const Sampler &sampler) {
  const MoeForwardProblem own = problem.of_rank();
  // The operands of a rank are those of a mixture with its experts, but for the map of experts. The
  // group is the caller's to add: operands alone make no call of a collective.
  const MoeForwardArgs same = Family<MoeForwardProblem>::args(
      own, MoeForwardConfig{.unit = config.unit}, m,
      [&](const char *name, DType dtype, TensorArg::Dims shape, Role role) {
        const std::string_view operand = name;
        if (operand == "expert_map" || operand == "workspace")
          return TensorArg(nullptr, dtype, Extents{0});
        return sampler(name, dtype, shape, role);
      });
  return {.logits = same.logits,
          .router_bias = same.router_bias,
          .ids = same.ids,
          .x = same.x,
          .w1 = same.w1,
          .w2 = same.w2,
          .scale_x = same.scale_x,
          .scale_h = same.scale_h,
          .scale1 = same.scale1,
          .scale2 = same.scale2,
          .group_scales1 = same.group_scales1,
          .group_scales2 = same.group_scales2,
          .group_zeros1 = same.group_zeros1,
          .group_zeros2 = same.group_zeros2,
          .bias1 = same.bias1,
          .bias2 = same.bias2,
          .y = same.y,
          .workspace =
              sampler("workspace", u8,
                      Extents{static_cast<std::int64_t>(workspaceBytes(problem, config, m))},
                      Role::workspace)};
}

} // namespace kernels::impl

namespace kernels {

ExpertDispatchRegistered moe_ranks_registered(const MoeRanksProblem &problem) {
  using namespace impl;
  if (const Support answer = ranksSupported(problem.ranks); !answer)
    throw Error(std::string(FamilyOf<MoeRanksProblem>::name) + ": " + answer.why);
  return expert_dispatch_registered(partsOf(problem, kMixtureUnits[0]).dispatch);
}

FLYDSL_KERNEL_FAMILY(MoeRanksProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
