#include "moe_sort/moe_sort_family.h"

#include "blocks/common/expert_ids.h"
#include "blocks/quant/prepared_scales.h"
#include "frame/arguments.h"
#include "frame/index_rows.h"
#include "topk_gating/topk_gating_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Sort = Family<MoeSortProblem>;

constexpr int kMostBlocks = 1024;
constexpr std::int64_t kMostZeros = std::int64_t(1) << 26;

/// The most scales of a row.
constexpr std::int64_t kMostScales = std::int64_t(1) << 20;

/// The counters of a block's waves have at most so many bytes where `choose` decides, so that two
/// blocks fit into 64 KiB of LDS.
constexpr std::int64_t kCounterBytes = 32 << 10;
/// Up to so many slots and places, one block takes less time than the launches of three kernels.
constexpr std::int64_t kSlotsOfOne = 4096, kPlacesOfOne = 32768;
/// Slots of a thread where several blocks share them.
constexpr std::int64_t kSlotsOfThread = 4;
constexpr std::int64_t kMostChosenBlocks = 256;
/// Threads of a block that chooses experts: a wave for each of a compute unit's four parts. More waves
/// take turns there, and have fewer registers each.
constexpr int kRoutingBlock = 256;
/// The most tokens for which one block takes less time than two launches.
constexpr std::int64_t kMostRouted = 64;
/// The most blocks that set rows to 0 next to the one that sorts.
constexpr std::int64_t kMostClearing = 256;

/// Whether the router is one of these experts and slots.
Support routerSupported(const MoeSortProblem &problem) {
  const TopkGatingProblem &router = problem.router;
  if (!problem.routes())
    return router == TopkGatingProblem{}
               ? Support()
               : Support::no(
                     "router: it has no experts, and a router of no experts has the defaults");
  const auto counts = [](const char *name, std::int64_t value, std::int64_t own, int shared) {
    return value == own + shared
               ? Support()
               : Support::no(is(name, value) + "; the router has " + std::to_string(own) + " and " +
                             std::to_string(shared) + " shared ones");
  };
  if (const Support same =
          firstRefusal({counts("experts", problem.experts, router.experts, router.shared),
                        counts("topk", problem.topk, router.topk, router.shared)});
      !same)
    return same;
  if (!problem.weights)
    return Support::no("weights is false; a router writes weights");
  if (router.source_rows)
    return Support::no("router: source_rows is of topk_gating alone");
  return {};
}

/// Words of the scales of so many places; 0 without scales.
std::int64_t wordsOfScales(const MoeSortProblem &problem, std::int64_t places) {
  const auto [groups, blocks, bytes] = PreparedScales::shape(places, elementsOfScales(problem));
  return groups * blocks * bytes / 4;
}

/// Whether scales may be sorted along, if there are some.
Support scalesSupported(const MoeSortProblem &problem) {
  const bool isMasked = problem.capacity != 0;
  if (problem.scales < 0 || problem.scales > kMostScales)
    return Support::no(is("scales", problem.scales) + "; rows of tokens have 1 to " +
                       std::to_string(kMostScales) +
                       " scales that are sorted along, or 0 for none");
  if (const std::int64_t rows = isMasked ? problem.capacity : problem.unit;
      problem.scales && rows % kRowsWithWords)
    return Support::no(is(isMasked ? "capacity" : "unit", rows) +
                       " and scales are sorted along; an expert begins at a multiple of " +
                       std::to_string(kRowsWithWords) +
                       " places then, and it is a multiple of that");
  return {};
}

Support problemSupported(const MoeSortProblem &problem) {
  const auto range = [](const char *name, std::int64_t value, std::int64_t least,
                        std::int64_t most) {
    return value >= least && value <= most
               ? Support()
               : Support::no(is(name, value) + "; " + std::to_string(least) + " to " +
                             std::to_string(most) + " are supported");
  };
  const Support numbers = firstRefusal({range("experts", problem.experts, 1, kMostExperts),
                                        range("topk", problem.topk, 1, kMostSlotsOfToken),
                                        range("unit", problem.unit, 1, kLargestUnit)});
  if (!numbers)
    return numbers;
  if (problem.local < 0 || problem.local > problem.experts)
    return Support::no(is("local", problem.local) + "; a rank has 1 to " +
                       std::to_string(problem.experts) + " of " + std::to_string(problem.experts) +
                       " experts, or 0 for all without a map");
  if (problem.capacity < 0 || problem.capacity % problem.unit)
    return Support::no(is("capacity", problem.capacity) + "; it is a multiple of the unit, " +
                       std::to_string(problem.unit) + ", or 0 for the contiguous layout");
  if (problem.zeros < 0 || problem.zeros % kClearedBytes || problem.zeros > kMostZeros)
    return Support::no(is("zeros", problem.zeros) + "; rows that are set to 0 have a multiple of " +
                       std::to_string(kClearedBytes) + " bytes, up to " +
                       std::to_string(kMostZeros));
  if (const Support more = firstRefusal({routerSupported(problem), scalesSupported(problem)});
      !more)
    return more;
  if (problem.capacity > kMostPlaces / expertsHere(problem))
    return Support::no(is("capacity", problem.capacity) + "; the places of " +
                       std::to_string(expertsHere(problem)) + " experts have numbers past 32 bits");
  return {};
}

/// Bytes of the counters of a block and the starts of experts.
std::int64_t sharedBytes(const MoeSortProblem &problem, int block, const Target &target) {
  const std::int64_t waves = block / target.wave_size();
  return (expertsHere(problem) * (waves + 1) + 1 + 4 * waves) * 4;
}

std::int64_t placesFor(const MoeSortProblem &problem, std::int64_t m) {
  const std::int64_t experts = expertsHere(problem), slots = m * problem.topk;
  if (problem.capacity)
    return experts * problem.capacity;
  return (slots + std::min(slots, experts) * (problem.unit - 1)) / problem.unit * problem.unit;
}

/// Whether two blocks of so many threads have room for their counters.
bool countersFit(const MoeSortProblem &problem, int block, const Target &target) {
  return sharedBytes(problem, block, target) <= kCounterBytes + 4 * kMostExperts;
}

/// The configuration of a block that chooses experts, too.
MoeSortConfig withRouter(const MoeSortProblem &problem, std::int64_t m, const Target &target) {
  const int few = Family<TopkGatingProblem>::choose(problem.router, m, target).threads;
  int block = kRoutingBlock, threads = few;
  while (block > target.wave_size() && !countersFit(problem, block, target))
    block /= 2;
  // As many threads for a token as have something to choose from, if all tokens are chosen for at once.
  while (threads < target.wave_size() && threads < rowShape(problem.router).accesses() &&
         block / (2 * threads) >= m)
    threads *= 2;
  return {.block = block, .blocks = 1, .threads = threads};
}

} // namespace

Support Sort::supported(const MoeSortProblem &problem, const Target &target) {
  const Support answer = problemSupported(problem);
  if (!answer || !problem.routes())
    return answer;
  const Support router = Family<TopkGatingProblem>::supported(problem.router, target);
  return router ? router : Support::no("router: " + router.why);
}

Support Sort::supported(const MoeSortProblem &problem, const MoeSortConfig &config,
                        const Target &target) {
  const Support block = blockSupported(config.block, target);
  if (!block)
    return block;
  if (config.blocks < 1 || config.blocks > kMostBlocks)
    return Support::no(is("blocks", config.blocks) + "; 1 to " + std::to_string(kMostBlocks) +
                       " share the slots");
  if (!problem.routes() && config.threads)
    return Support::no(is("threads", config.threads) +
                       "; they choose the experts of a token, and there is no router");
  if (problem.routes()) {
    if (config.blocks > 1)
      return Support::no(is("blocks", config.blocks) +
                         "; one block chooses the experts of all tokens and sorts them: for many "
                         "tokens, topk_gating and a moe_sort without a router");
    if (const Support router =
            Family<TopkGatingProblem>::supported(problem.router, routerConfig(config), target);
        !router)
      return Support::no("router: " + router.why);
  }
  const std::int64_t bytes = sharedBytes(problem, config.block, target);
  if (static_cast<std::size_t>(bytes) > target.lds_bytes())
    return Support::no("the counters of " + std::to_string(config.block) + " threads for " +
                       std::to_string(expertsHere(problem)) + " experts take " +
                       std::to_string(bytes) + " bytes of LDS; there are " +
                       std::to_string(static_cast<std::int64_t>(target.lds_bytes())));
  return {};
}

std::int64_t tokensRoutedBySorting(const TopkGatingProblem &router, const Target &target) {
  const int threads = Family<TopkGatingProblem>::choose(router, 1, target).threads;
  return std::min<std::int64_t>(kMostRouted, kRoutingBlock / threads);
}

MoeSortConfig Sort::choose(const MoeSortProblem &problem, std::int64_t m, const Target &target) {
  const std::int64_t slots = m * problem.topk;
  if (problem.routes())
    return withRouter(problem, m, target);
  const bool one = slots <= kSlotsOfOne && placesFor(problem, m) <= kPlacesOfOne;
  int block = one ? 1024 : 256;
  while (block > target.wave_size() && (!countersFit(problem, block, target) || block / 2 >= slots))
    block /= 2;
  if (one)
    return {.block = block, .blocks = 1};
  const std::int64_t blocks = (slots + block * kSlotsOfThread - 1) / (block * kSlotsOfThread);
  return {.block = block,
          .blocks = static_cast<int>(std::clamp<std::int64_t>(blocks, 2, kMostChosenBlocks))};
}

std::vector<MoeSortConfig> Sort::candidates(const MoeSortProblem &problem, std::int64_t,
                                            const Target &target) {
  std::vector<MoeSortConfig> all;
  if (problem.routes()) {
    for (int block : {256, 512})
      for (int threads = 4; threads <= target.wave_size(); threads *= 2)
        all.push_back({.block = block, .blocks = 1, .threads = threads});
    return all;
  }
  for (int blocks : {1, 16, 64, 256})
    for (int block : {64, 256, 1024})
      all.push_back({block, blocks});
  return all;
}

std::size_t Sort::workspaceBytes(const MoeSortProblem &problem, const MoeSortConfig &config,
                                 std::int64_t) {
  return config.blocks == 1
             ? 0
             : static_cast<std::size_t>(expertsHere(problem) * (config.blocks + 1) * 4);
}

Sort::KernelNames Sort::kernels(const MoeSortProblem &problem, const MoeSortConfig &config) {
  KernelNames names = problem.routes() ? KernelNames{&kMoeRouteSort}
                      : config.blocks == 1
                          ? KernelNames{&kMoeSort}
                          : KernelNames{&kMoeSortCount, &kMoeSortScan, &kMoeSortScatter};
  if (problem.scales)
    names.push_back(&kMoeSortScales);
  return names;
}

void Sort::launch(const Call<MoeSortProblem> &call) {
  const MoeSortProblem &problem = call.problem;
  const MoeSortConfig &config = call.config;
  const MoeSortArgs &args = call.args;
  const Arguments arguments(FamilyOf<MoeSortProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.ids, "ids"), k = problem.topk, unit = problem.unit,
                     experts = expertsHere(problem);
  if (m > kTokensOfIds) // padding has the number after the last token's
    arguments.fail("ids has " + std::to_string(m) + " tokens; a number of 24 bits counts them, " +
                   std::to_string(kTokensOfIds) + " are the most");
  const std::int64_t needed = placesFor(problem, m),
                     places = args.sorted_ids.rank() == 1 ? args.sorted_ids.shape()[0] : needed;
  const bool isContiguous = !problem.capacity;
  if (isContiguous && (places < needed || places % unit))
    arguments.fail("sorted_ids has " + std::to_string(places) + " places; " + std::to_string(m) +
                   " tokens need at least " + std::to_string(needed) +
                   " (moe_sort_places), and units have " + std::to_string(unit) + " each");
  if (places > kMostPlaces)
    arguments.fail("sorted_ids has " + std::to_string(places) +
                   " places, whose numbers are past 32 bits");
  const auto written = [](const char *name, DType dtype, const Shape &shape) {
    return Expected{.name = name, .dtype = dtype, .shape = shape, .use = Use::written};
  };
  const Shape slots{"m, topk", m, k}, sorted{"places", isContiguous ? places : needed};
  const bool routes = problem.routes();
  const Use idsUse = routes && !problem.router.given ? Use::written : Use::read;
  arguments.check(args.ids, {.name = "ids", .dtype = i32, .shape = slots, .use = idsUse});
  arguments.checkIf(
      problem.weights, args.weights,
      {.name = "weights", .dtype = f32, .shape = slots, .use = routes ? Use::written : Use::read});
  arguments.checkIf(routes, args.logits, expectedLogits(problem.router, m));
  arguments.checkIf(problem.router.bias, args.router_bias,
                    expectedRouterBias(problem.router, "router_bias"));
  arguments.checkIf(problem.local != 0, args.expert_map,
                    {.name = "expert_map", .dtype = i32, .shape = {"experts", problem.experts}});
  arguments.checkIf(problem.tokens, args.tokens,
                    {.name = "tokens", .dtype = i32, .shape = {"1", 1}});
  arguments.check(args.sorted_ids, written("sorted_ids", i32, sorted));
  arguments.checkIf(problem.weights, args.sorted_weights, written("sorted_weights", f32, sorted));
  arguments.checkIf(isContiguous, args.unit_experts,
                    written("unit_experts", i32, {"places / unit", places / unit}));
  arguments.check(args.counts, written("counts", i32, {"local", experts}));
  arguments.checkIf(isContiguous, args.offsets,
                    written("offsets", i32, {"local + 1", experts + 1}));
  arguments.check(args.totals, written("totals", i32, {"3", 3}));
  arguments.checkIf(problem.places, args.slot_places, written("slot_places", i32, slots));
  arguments.checkIf(problem.zeros != 0, args.zeros,
                    {.name = "zeros",
                     .dtype = u8,
                     .shape = {"m, zeros", m, problem.zeros},
                     .free = 1,
                     .use = Use::written,
                     .align = kClearedBytes,
                     .reason = "as many are set to 0 at a time"});
  arguments.checkIf(problem.scales != 0, args.scales,
                    {.name = "scales",
                     .dtype = f8E8M0FNU,
                     .shape = {"m, scales", m, problem.scales},
                     .free = 1,
                     .align = scalesTogether(problem),
                     .reason = "a thread loads as many of a row together"});
  arguments.checkIf(
      problem.scales != 0, args.sorted_scales, "sorted_scales", [&](const char *name) {
        Expected words =
            writtenPreparedScales(arguments, name, "places / 32, scales / 8, 256",
                                  sorted.extents[0], elementsOfScales(problem), "tokens");
        words.align = 4;
        words.reason = "a thread writes words of them";
        return words;
      });
  const std::int64_t workspace =
      arguments.workspace(args.workspace, workspaceBytes(problem, config, m));
  // Padding is written, and places of slots, while other slots are read.
  arguments.expectApart();

  const std::int64_t threads = std::int64_t(config.block) * config.blocks;
  const MoeSortParams<OnHost> params{.ids = operandOf<0>(args.ids),
                                     .sortedIds = operandOf<0>(args.sorted_ids),
                                     .counts = operandOf<0>(args.counts),
                                     .totals = operandOf<0>(args.totals),
                                     .m = static_cast<std::int32_t>(m),
                                     .places = static_cast<std::int32_t>(places),
                                     .rounds =
                                         static_cast<std::int32_t>((m * k + threads - 1) / threads),
                                     .weights = operandOf<0>(args.weights),
                                     .sortedWeights = operandOf<0>(args.sorted_weights),
                                     .unitExperts = operandOf<0>(args.unit_experts),
                                     .offsets = operandOf<0>(args.offsets),
                                     .slotPlaces = operandOf<0>(args.slot_places),
                                     .expertMap = operandOf<0>(args.expert_map),
                                     .tokens = operandOf<0>(args.tokens),
                                     .blockCounts = {.address = workspace, .stride = {}},
                                     .zeros = operandOf<1>(args.zeros),
                                     .logits = operandOf<1>(args.logits),
                                     .routerBias = operandOf<0>(args.router_bias)};
  const LaunchConfig all = call.on(config.blocks, config.block);
  std::size_t launched = 0;
  if (config.blocks == 1) {
    const std::int64_t clearing = problem.zeros ? std::clamp<std::int64_t>(m, 1, kMostClearing) : 0;
    call.launches.at(launched++, routes ? kMoeRouteSort : kMoeSort)(
        call.on(1 + clearing, config.block), call.where, params);
  } else {
    call.launches.at(launched++, kMoeSortCount)(all, call.where, params);
    call.launches.at(launched++, kMoeSortScan)(call.over(experts, kScanExperts, kScanBlock),
                                               call.where, params);
    call.launches.at(launched++, kMoeSortScatter)(all, call.where, params);
  }
  if (const std::int64_t words = wordsOfScales(problem, sorted.extents[0]); words)
    call.launches.at(launched, kMoeSortScales)(
        call.over(words, kScalesBlock * kScaleWordsOfThread, kScalesBlock), call.where,
        {.scales = operandOf<1>(args.scales),
         .sortedIds = operandOf<0>(args.sorted_ids),
         .sortedScales = operandOf<0>(args.sorted_scales),
         .m = static_cast<std::int32_t>(m),
         .places = static_cast<std::int32_t>(sorted.extents[0])});
}

MoeSortArgs Sort::args(const MoeSortProblem &problem, const MoeSortConfig &config, std::int64_t m,
                       const Sampler &sampler) {
  const std::int64_t experts = expertsHere(problem), places = placesFor(problem, m);
  const Extents slots{m, problem.topk}, sorted{places}, one{1};
  const bool isContiguous = !problem.capacity;
  const auto out = [&](bool has, const char *name, DType dtype, const Extents &shape) {
    return sampleIf(has, sampler, name, dtype, shape, Role::output);
  };
  const Extents bytes{static_cast<std::int64_t>(workspaceBytes(problem, config, m))};
  return {
      .ids = sampler("ids", i32, slots,
                     problem.routes() && !problem.router.given ? Role::output
                                                               : Role::below(problem.experts)),
      .weights = sampleIf(problem.weights, sampler, "weights", f32, slots,
                          problem.routes() ? Role::output : Role::input),
      .expert_map = sampleIf(problem.local != 0, sampler, "expert_map", i32,
                             Extents{problem.experts}, Role::first(problem.local)),
      .tokens = sampleIf(problem.tokens, sampler, "tokens", i32, one, Role::equal(m)),
      .sorted_ids = sampler("sorted_ids", i32, sorted, Role::output),
      .sorted_weights = out(problem.weights, "sorted_weights", f32, sorted),
      .unit_experts = out(isContiguous, "unit_experts", i32, Extents{places / problem.unit}),
      .counts = sampler("counts", i32, Extents{experts}, Role::output),
      .offsets = out(isContiguous, "offsets", i32, Extents{experts + 1}),
      .totals = sampler("totals", i32, Extents{3}, Role::output),
      .slot_places = out(problem.places, "slot_places", i32, slots),
      .zeros = out(problem.zeros != 0, "zeros", u8, Extents{m, problem.zeros}),
      .scales =
          sampleIf(problem.scales != 0, sampler, "scales", f8E8M0FNU, Extents{m, problem.scales}),
      .sorted_scales = out(problem.scales != 0, "sorted_scales", f8E8M0FNU,
                           Extents(PreparedScales::shape(places, elementsOfScales(problem)))),
      .logits = sampleIf(problem.routes(), sampler, "logits", problem.router.logits,
                         Extents{m, problem.router.experts}),
      .router_bias = sampleIf(problem.router.bias, sampler, "router_bias", f32,
                              Extents{problem.router.experts}),
      .workspace = sampleIf(config.blocks > 1, sampler, "workspace", u8, bytes, Role::workspace),
  };
}

} // namespace kernels::impl

namespace kernels {

std::int64_t moe_sort_places(const MoeSortProblem &problem, std::int64_t m) {
  using namespace impl;
  if (const Support answer = problemSupported(problem); !answer)
    throw Error("moe_sort: " + answer.why);
  expectRows<MoeSortProblem>(m);
  return placesFor(problem, m);
}

FLYDSL_KERNEL_FAMILY(MoeSortProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
