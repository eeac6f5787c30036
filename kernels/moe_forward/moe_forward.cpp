// A mixture of experts: its parts, the memory between them, and their launches.
#include "moe_forward/moe_forward_family.h"

#include "blocks/common/expert_ids.h"
#include "blocks/facts/gpu_size.h"
#include "frame/arguments.h"
#include "gemm/narrow_operands.h"
#include "moe_forward/mixture_checks.h"
#include "moe_forward/mixture_parts.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Forward = Family<MoeForwardProblem>;
using std::to_string;

/// The pieces of the workspace, by their first bytes.
struct Memory {
  std::int64_t places;
  std::int64_t weights, ids, sortedIds, sortedWeights, unitExperts, counts, offsets, totals,
      slotPlaces, sorting, scalesOfX, inside, insideScales, plainInside, results;
  std::int64_t bytes;
};
Memory memoryOf(const MoeForwardProblem &problem, const MoeForwardConfig &config, std::int64_t m) {
  const MoeParts parts = partsOf(problem, config);
  const std::int64_t places = moe_sort_places(parts.sort, m), slots = m * problem.topk(),
                     experts = problem.experts_here();
  Memory memory{};
  memory.places = places;
  WorkspacePieces pieces;
  memory.weights = pieces.take(slots * 4);
  memory.ids = pieces.take(slots * 4);
  memory.sortedIds = pieces.take(places * 4);
  memory.sortedWeights = pieces.take(places * 4);
  memory.unitExperts = pieces.take(places / config.unit * 4);
  memory.counts = pieces.take(experts * 4);
  memory.offsets = pieces.take((experts + 1) * 4);
  memory.totals = pieces.take(3 * 4);
  memory.slotPlaces = pieces.take(config.adds ? 0 : slots * 4);
  memory.sorting = pieces.take(static_cast<std::int64_t>(
      Family<MoeSortProblem>::workspaceBytes(parts.sort, config.sort, m)));
  const auto [groups, blocks, bytes] = PreparedScales::shape(places, problem.hidden);
  memory.scalesOfX = pieces.take(config.sorts_scales ? groups * blocks * bytes : 0);
  memory.inside = pieces.take(places * problem.inner * problem.x.memory_bits() / 8);
  memory.insideScales = pieces.take(
      places * (parts.inside ? 1 : scalesOfRow(problem, problem.inner)) * problem.scale.bytes());
  memory.plainInside =
      pieces.take(parts.inside ? places * problem.inner * parts.inside->x.bytes() : 0);
  memory.results =
      pieces.take(config.adds ? 0 : places * problem.hidden * problem.expert_type().bytes());
  memory.bytes = pieces.bytes();
  return memory;
}

/// The unit for as many rows as an expert has, if the router deals evenly.
int unitFor(const MoeForwardProblem &problem, std::int64_t m) {
  return unitOfRows(m * problem.topk() / problem.experts());
}
/// Whether the target adds such rows by atomic operations.
Support addsSupported(const MoeForwardProblem &problem, int unit, const Target &target) {
  if (!problem.any_order)
    return Support::no(
        "adds: the second product adds its rows in any order, which any_order of the "
        "problem has to allow");
  const MoeParts parts = partsOf(problem, unit, {.adds = true});
  if (const Support sorts =
          ofPart("the sorting", Family<MoeSortProblem>::supported(parts.sort, target));
      !sorts)
    return sorts;
  return ofPart("the second product", Family<GroupedGemmProblem>::supported(parts.second, target));
}
/// Whether rows that are added take less time than results of slots that another launch reads. Where a GPU
/// has several dies, each addition moves a line from memory and back: 16 experts of 1,024 x 512 with 4 of a
/// token are estimated on MI355X at 23 us instead of 29 for 128 tokens, 30 instead of 32 for 256 and 40 instead
/// of 36 for 512; of 2,048 x 256 at 38 us instead of 37 for 128 on MI300X.
bool addsFew(const MoeForwardProblem &problem, std::int64_t m, const Target &target) {
  constexpr std::int64_t kMostAdded = std::int64_t(1) << 20;
  return gpuSize(target)->xcds == 1 || m * problem.topk() * problem.hidden < kMostAdded;
}
MoeForwardConfig configOf(const MoeForwardProblem &problem, int unit, std::int64_t m,
                          const Target &target, bool adds, bool sortsScales) {
  const bool routes = m <= tokensRoutedBySorting(problem.router, target);
  const MoeParts parts =
      partsOf(problem, unit, {.adds = adds, .routes = routes, .sortsScales = sortsScales});
  const std::int64_t places = moe_sort_places(parts.sort, m);
  return {.unit = unit,
          .router = Family<TopkGatingProblem>::choose(problem.router, m, target),
          .sort = Family<MoeSortProblem>::choose(parts.sort, m, target),
          .first = Family<GroupedGemmProblem>::choose(parts.first, places, target),
          .second = Family<GroupedGemmProblem>::choose(parts.second, places, target),
          .reduce = Family<MoeReduceProblem>::choose(parts.reduce, m, target),
          .adds = adds,
          .routes = routes,
          .sorts_scales = sortsScales};
}
/// Whether the scales of x may be sorted along.
Support sortsScalesSupported(const MoeForwardProblem &problem, const Target &target) {
  if (problem.scales != Scales::mx)
    return Support::no(
        "sorts_scales is true; scales that are sorted along are those of Scales::mx");
  if (!takesPreparedScales(target, problem.x, problem.weight_type()))
    return Support::no("sorts_scales is true; scales are prepared for the matrix instructions of "
                       "gfx950, and on " +
                       target.name() + " sorts_scales is false");
  return {};
}
/// Whether the launch that sorts scales takes less time than it saves. On MI355X it is estimated at 3.7 us, and the first
/// product of 16 experts of 256 rows, 3,072 x 3,072 in MXFP4, at 56.9 us instead of 63.0, of 8 experts at 38.0 instead of
/// 42.2, of 64 experts of 192 rows, 512 x 7,168, at 69.7 instead of 88.4. With fewer rows memory bounds it. Under weights
/// of 8 bits, 256 rows of an expert take longer, and 512 less (bench/silicon/README.md).
bool sortsMany(const MoeForwardProblem &problem, std::int64_t m, const Target &target) {
  constexpr std::int64_t kFewestProducts = 40'000'000'000;
  const std::int64_t fewestRows = problem.weight_type().memory_bits() < 8 ? 160 : 512;
  const std::int64_t rows = m * problem.topk(),
                     here = rows / problem.experts() * problem.experts_here();
  return problem.w_scale_layout == OperandLayout::prepared &&
         rows >= fewestRows * problem.experts() &&
         here * problem.rows1() >= kFewestProducts / problem.hidden &&
         sortsScalesSupported(problem, target);
}

/// The types of x and of the weights, and their scales.
Support typesSupported(const MoeForwardProblem &problem) {
  const std::string isOfType = "x is of type " + std::string(problem.x.name());
  if (problem.x != f16 && problem.x != bf16 && !problem.quantised())
    return Support::no(isOfType + "; f16, bf16, i8, 8-bit floats and f4E2M1FN are supported");
  const bool isMx = problem.scales == Scales::mx;
  const auto isWeight = [&] { return "w is of type " + std::string(problem.w.name()); };
  if (problem.w && problem.w != problem.x && !(isMx && problem.w == f4E2M1FN) &&
      !(problem.narrow() && narrowType(problem.w)))
    return Support::no(
        isWeight() +
        (problem.quantised()
             ? "; under x of 8 bits it is x's, u4 or i4, or with Scales::mx f4E2M1FN; under 4 bits "
               "it is x's"
             : "; it is x's, or one of narrow weights: u4, i4, u8, i8, f4E2M1FN or an "
               "8-bit float"));
  if (problem.quantised() && problem.narrow() && problem.scales != Scales::none &&
      problem.scales != Scales::per_row && problem.scales != Scales::per_tensor)
    return Support::no(isWeight() + " and scales is " + (isMx ? "mx" : "per_block") +
                       "; with such weights under 8 bits, scales of x and h are per_row or "
                       "per_tensor, and those of weights are w_scales or w_groups");
  if (problem.w_scales != Scales::none &&
      !(problem.narrow() && problem.w_scales == Scales::per_row))
    return Support::no("w_scales is none, or per_row of narrow weights");
  if (!problem.quantised() && problem.scales != Scales::none)
    return Support::no(isOfType + ", and scales are of x of 4 and 8 bits");
  if (problem.x == f4E2M1FN && !isMx)
    return Support::no(isOfType + ", which has scales: mx");
  if (problem.quantised() && problem.scales == Scales::none)
    return Support::no(isOfType + ", which has scales: per_row, per_block, per_tensor or mx");
  return {};
}

/// Whether the scales of weights may lie as the problem says.
Support scaleLayoutSupported(const MoeForwardProblem &problem, const Target &target) {
  if (problem.w_scale_layout == OperandLayout::rows)
    return {};
  if (problem.w_scale_layout == OperandLayout::columns)
    return Support::no(
        "w_scale_layout is columns; the scales of weights lie by rows or are prepared");
  if (problem.scales != Scales::mx)
    return Support::no("w_scale_layout is prepared; scales that are prepared are those of "
                       "Scales::mx, and others lie by rows");
  if (hasMxInstructions(target) && !takesPreparedScales(target, problem.x, problem.weight_type()))
    return Support::no("scales are prepared for the matrix instructions of gfx950; on " +
                       target.name() + " w_scale_layout is rows");
  return {};
}

/// Whether the scales of h are prepared: if those of weights are, units are whole groups of 32 places, and the inner
/// size is whole blocks of 256 elements. The results are the same.
bool hasPreparedInside(const MoeForwardProblem &problem, int unit) {
  return problem.w_scale_layout == OperandLayout::prepared && unit % PreparedScales::kRows == 0 &&
         problem.inner % (kMxBlock * PreparedScales::kScales) == 0;
}

} // namespace

MoeParts partsOf(const MoeForwardProblem &problem, int unit, const MoeExtras &extras) {
  const bool ofInput = problem.weights == RoutedWeights::input;
  const GroupedGemmProblem product{.a = problem.x,
                                   .b = problem.weight_type(),
                                   .c = problem.expert_type(),
                                   .experts = problem.experts_here(),
                                   .unit = unit,
                                   .topk = problem.topk(),
                                   .scale_a = problem.scales,
                                   .scale_b = scalesOfWeights(problem),
                                   .scale = problem.scale,
                                   .scale_b_layout = problem.w_scale_layout,
                                   .b_groups = problem.w_groups,
                                   .bias = problem.bias};
  MoeParts parts{.sort = {.experts = problem.experts(),
                          .topk = problem.topk(),
                          .unit = unit,
                          .local = problem.local,
                          .tokens = problem.tokens,
                          .places = true},
                 .first = product,
                 .second = product,
                 .reduce = {.x = problem.expert_type(),
                            .y = problem.y,
                            .n = problem.hidden,
                            .topk = problem.topk(),
                            .places = true}};
  if (problem.scales == Scales::per_row) {
    // No block of the first product has all of a row of h.
    parts.inside = {
        .x = problem.expert_type(), .q = problem.x, .n = problem.inner, .topk = problem.topk()};
  } else {
    parts.first.c = problem.x;
    parts.first.scale_c = problem.scales;
  }
  if (problem.bias && problem.quantised())
    parts.first.bias_type = problem.expert_type();
  parts.first.n = problem.inner;
  parts.first.k = problem.hidden;
  parts.first.a_rows = GroupedRows::tokens;
  parts.first.weights = ofInput ? RoutedWeights::input : RoutedWeights::none;
  parts.first.activation = problem.activation;
  parts.first.gated = problem.gated;
  parts.first.alpha = problem.alpha;
  parts.first.limit = problem.limit;
  parts.first.up_offset = problem.up_offset;
  if (hasPreparedInside(problem, unit))
    parts.first.scale_c_layout = parts.second.scale_a_layout = OperandLayout::prepared;
  parts.second.n = problem.hidden;
  parts.second.k = problem.inner;
  parts.second.weights = ofInput ? RoutedWeights::none : RoutedWeights::output;
  if (extras.sortsScales) {
    parts.sort.scales = scalesOfRow(problem, problem.hidden);
    parts.first.scale_a_layout = OperandLayout::prepared;
  }
  if (extras.routes)
    parts.sort.router = problem.router;
  if (extras.adds) {
    parts.sort.places = false;
    parts.sort.zeros = problem.hidden * problem.y.bytes();
    parts.second.c_rows = GroupedRows::tokens;
    parts.second.c = problem.y;
    if (problem.bias)
      parts.second.bias_type = problem.expert_type();
  }
  return parts;
}

Support Forward::supported(const MoeForwardProblem &problem, const Target &target) {
  for (const Support &answer : {typesSupported(problem), scaleLayoutSupported(problem, target)})
    if (!answer)
      return answer;
  if (problem.weights == RoutedWeights::none)
    return Support::no("weights is none; the weights of the router are of the input or the output");
  if (problem.router.source_rows)
    return Support::no("router: source_rows is of topk_gating alone");
  const MoeParts parts = partsOf(problem, kMixtureUnits[0]);
  for (const Support &answer :
       {ofPart("router", Family<TopkGatingProblem>::supported(problem.router, target)),
        ofPart("sorting", Family<MoeSortProblem>::supported(parts.sort, target)),
        ofPart("the first product", Family<GroupedGemmProblem>::supported(parts.first, target)),
        ofPart("the second product", Family<GroupedGemmProblem>::supported(parts.second, target)),
        ofPart("reduction", Family<MoeReduceProblem>::supported(parts.reduce, target))})
    if (!answer)
      return answer;
  return {};
}

Support Forward::supported(const MoeForwardProblem &problem, const MoeForwardConfig &config,
                           const Target &target) {
  if (config.adds)
    if (const Support answer = addsSupported(problem, config.unit, target); !answer)
      return answer;
  if (config.sorts_scales)
    if (const Support answer = sortsScalesSupported(problem, target); !answer)
      return answer;
  const MoeParts parts = partsOf(problem, config);
  // Each part's problem is asked first: its unit is the configuration's.
  for (const Support &answer :
       {config.routes ? Support{}
                      : ofPart("router", kernels::supported(problem.router, config.router, target)),
        ofPart("sorting", kernels::supported(parts.sort, config.sort, target)),
        ofPart("the first product", kernels::supported(parts.first, config.first, target)),
        ofPart("the second product", kernels::supported(parts.second, config.second, target)),
        config.adds ? Support{}
                    : ofPart("reduction", kernels::supported(parts.reduce, config.reduce, target))})
    if (!answer)
      return answer;
  return {};
}

MoeForwardConfig Forward::choose(const MoeForwardProblem &problem, std::int64_t m,
                                 const Target &target) {
  const int unit = unitFor(problem, m);
  return configOf(problem, unit, m, target,
                  addsSupported(problem, unit, target) && addsFew(problem, m, target),
                  sortsMany(problem, m, target));
}

std::vector<MoeForwardConfig> Forward::candidates(const MoeForwardProblem &problem, std::int64_t m,
                                                  const Target &target) {
  std::vector<MoeForwardConfig> all;
  for (int unit : kMixtureUnits)
    for (const bool adds : {true, false})
      for (const bool sortsScales : {true, false})
        if ((!adds || addsSupported(problem, unit, target)) &&
            (!sortsScales || sortsScalesSupported(problem, target)))
          all.push_back(configOf(problem, unit, m, target, adds, sortsScales));
  return all;
}

std::size_t Forward::workspaceBytes(const MoeForwardProblem &problem,
                                    const MoeForwardConfig &config, std::int64_t m) {
  return m == 0 ? 0 : static_cast<std::size_t>(memoryOf(problem, config, m).bytes);
}

std::vector<Forward::IndexRow> Forward::indexRows(const MoeForwardProblem &problem,
                                                  const MoeForwardConfig &) {
  std::vector<IndexRow> rows;
  if (problem.router.given)
    rows.push_back(expertIdsRow<P, A>(problem));
  if (problem.local)
    rows.push_back(expertMapRow<P, A>());
  if (problem.tokens)
    rows.push_back(tokensRow<P, A, &A::x>("the rows of x"));
  return rows;
}

void Forward::launch(const Call<MoeForwardProblem> &call) {
  const MoeForwardProblem &problem = call.problem;
  const MoeForwardConfig &config = call.config;
  const MoeForwardArgs &args = call.args;
  const Arguments arguments(FamilyOf<MoeForwardProblem>::name, call.where);
  const MoeParts parts = partsOf(problem, config);
  const std::int64_t m = arguments.rows(args.x, "x"), experts = problem.experts_here(),
                     topk = problem.topk(), hidden = problem.hidden, inner = problem.inner;
  const bool isGiven = problem.router.given, hasBlocks = columnsOfScaleC(problem.scales) != 0,
             ofRows = parts.inside.has_value();
  if (m > kIdTokens)
    arguments.fail("x has " + to_string(m) + " tokens; a number of 24 bits counts them, " +
                   to_string(kIdTokens) + " are the most");
  checkMixture(arguments, problem, parts, args, m);
  if (m * strideOr(args.x, 0, hidden) * problem.x.memory_bits() / 8 >= kMostBufferBytes)
    arguments.fail(
        "x spans 1 GiB or more, in which the first product finds the rows of tokens. Call "
        "the plan for parts of the tokens");
  checkVector(arguments, problem.local != 0, args.expert_map, "expert_map", i32,
              {"experts", problem.experts()});
  checkVector(arguments, problem.tokens, args.tokens, "tokens", i32, {"1", 1});
  (void)arguments.workspace(args.workspace, workspaceBytes(problem, config, m));
  if (m == 0)
    return;
  if (config.adds) // y is set to 0 before x is read
    arguments.expectApart();
  else
    arguments.expectApart({{"y", "x"}});

  const Memory memory = memoryOf(problem, config, m);
  const std::int64_t places = memory.places;
  const auto piece = [&](std::int64_t first, DType dtype, const Extents &shape) {
    return pieceOfWorkspace(*args.workspace, first, dtype, shape);
  };
  const Extents slots{m, topk};
  const TensorArg weights = piece(memory.weights, f32, slots),
                  ids = isGiven ? *args.ids : piece(memory.ids, i32, slots),
                  sortedIds = piece(memory.sortedIds, i32, {places}),
                  sortedWeights = piece(memory.sortedWeights, f32, {places}),
                  unitExperts = piece(memory.unitExperts, i32, {places / config.unit}),
                  counts = piece(memory.counts, i32, {experts}),
                  offsets = piece(memory.offsets, i32, {experts + 1}),
                  totals = piece(memory.totals, i32, {3}),
                  inside = piece(memory.inside, problem.x, {places, inner}),
                  results = config.adds
                                ? args.y
                                : piece(memory.results, problem.expert_type(), {places, hidden});
  const auto slotPlaces =
      config.adds ? std::nullopt : std::optional(piece(memory.slotPlaces, i32, slots));
  // y as the bytes that are set to 0.
  const std::int64_t ofElement = problem.y.bytes();
  const auto zeros = config.adds
                         ? std::optional(tensor(args.y.data(), u8, {m, hidden * ofElement},
                                                {strideOr(args.y, 0, hidden) * ofElement, 1}))
                         : std::nullopt;
  const std::optional<TensorArg> ofInside =
      ofRows      ? std::optional(piece(memory.insideScales, f32, {places}))
      : hasBlocks ? std::optional(piece(memory.insideScales, problem.scale,
                                        scalesOfRowsOfA(parts.second, places)))
                  : args.scale_h;
  const auto scalesOfX = config.sorts_scales
                             ? std::optional(piece(memory.scalesOfX, problem.scale,
                                                   scalesOfRowsOfA(parts.first, places)))
                             : std::nullopt;
  const auto plainInside =
      ofRows ? std::optional(piece(memory.plainInside, parts.inside->x, {places, inner}))
             : std::nullopt;
  const std::size_t ofSorting = Family<MoeSortProblem>::workspaceBytes(parts.sort, config.sort, m);
  const auto sorting =
      ofSorting ? std::optional(piece(memory.sorting, u8, {static_cast<std::int64_t>(ofSorting)}))
                : std::nullopt;
  PartLaunches launch(call);
  if (!config.routes)
    launch(problem.router, config.router,
           {.logits = args.logits, .weights = weights, .ids = ids, .bias = args.router_bias});
  const bool hasBias = config.routes && problem.router.bias;
  launch(parts.sort, config.sort,
         {.ids = ids,
          .weights = weights,
          .expert_map = args.expert_map,
          .tokens = args.tokens,
          .sorted_ids = sortedIds,
          .sorted_weights = sortedWeights,
          .unit_experts = unitExperts,
          .counts = counts,
          .offsets = offsets,
          .totals = totals,
          .slot_places = slotPlaces,
          .zeros = zeros,
          .scales = config.sorts_scales ? args.scale_x : std::nullopt,
          .sorted_scales = scalesOfX,
          .logits = config.routes ? std::optional(args.logits) : std::nullopt,
          .router_bias = hasBias ? args.router_bias : std::nullopt,
          .workspace = sorting});
  launchProducts(launch, parts, config, args,
                 {.a = args.x,
                  .scaleA = scalesOfX ? scalesOfX : args.scale_x,
                  .sortedIds = sortedIds,
                  .inside = inside,
                  .insideScales = ofInside,
                  .plainInside = plainInside,
                  .results = results,
                  .unitExperts = unitExperts,
                  .offsets = offsets,
                  .counts = counts,
                  .sortedWeights = sortedWeights},
                 [&] {
                   if (ofRows)
                     launch(*parts.inside, insideConfig(*parts.inside),
                            {.x = *plainInside,
                             .q = inside,
                             .scale = *ofInside,
                             .sortedIds = sortedIds,
                             .totals = totals});
                 });
  if (!config.adds)
    launch(parts.reduce, config.reduce, {.x = results, .slot_places = slotPlaces, .y = args.y});
}

void Family<InsideRows>::launch(const Call<InsideRows> &call) {
  const InsideRowsArgs &args = call.args;
  const std::int64_t places = args.x.shape()[0];
  call.launches.at(0, kInsideRows)(call.on(places, call.config.block), call.where,
                                   {.x = operandOf<1>(args.x),
                                    .q = operandOf<1>(args.q),
                                    .scale = operandOf<0>(args.scale),
                                    .sortedIds = operandOf<0>(args.sortedIds),
                                    .totals = operandOf<0>(args.totals),
                                    .places = static_cast<std::int32_t>(places)});
}

MoeForwardArgs Forward::args(const MoeForwardProblem &problem, const MoeForwardConfig &config,
                             std::int64_t m, const Sampler &sampler) {
  const std::int64_t experts = problem.experts_here();
  const auto weight = [&](const char *name, const WeightProblem &matrix) {
    return PreparedWeight{matrix, sampleWeights(sampler, matrix, preshuffled(matrix), name)};
  };
  const ScaleGroups &groups = problem.w_groups;
  const auto ofGroups = [&](bool has, const char *name, DType dtype, std::int64_t k,
                            std::int64_t n) {
    return sampleIf(has, sampler, name, dtype, Extents{experts, groupsOf(groups, k), n});
  };
  const bool isQuantised = problem.quantised(), hasBlocks = columnsOfScaleC(problem.scales) != 0;
  const Scales kind = scalesOfWeights(problem);
  const auto ofWeights = [&](const char *name, std::int64_t rows, std::int64_t columns) {
    const ScaleGrid grid = scalesOfWeight(problem, rows, columns);
    const auto [groups, blocks, bytes] = PreparedScales::shape(rows, columns);
    const bool isPrepared = problem.w_scale_layout == OperandLayout::prepared;
    const Extents shape = isPrepared                   ? Extents{experts, groups, blocks, bytes}
                          : hasBlocks                  ? Extents{experts, grid.rows, grid.columns}
                          : kind == Scales::per_tensor ? Extents{experts}
                                                       : Extents{experts, rows};
    return sampleIf(kind != Scales::none, sampler, name, problem.scale, shape);
  };
  return {
      .logits =
          sampler("logits", problem.router.logits, Extents{m, problem.router.experts}, Role::input),
      .router_bias = sampleIf(problem.router.bias, sampler, "router_bias", f32,
                              Extents{problem.router.experts}),
      .ids = sampleIf(problem.router.given, sampler, "ids", i32, Extents{m, problem.topk()},
                      Role::below(problem.experts())),
      .x = sampler("x", problem.x, Extents{m, problem.hidden}, Role::input),
      .w1 = weight("w1", problem.weight1()),
      .w2 = weight("w2", problem.weight2()),
      .scale_x = sampleIf(isQuantised, sampler, "scale_x", problem.scale,
                          hasBlocks ? Extents{m, scalesOfRow(problem, problem.hidden)}
                          : problem.scales == Scales::per_row ? Extents{m}
                                                              : Extents{1}),
      .scale_h =
          sampleIf(problem.scales == Scales::per_tensor, sampler, "scale_h", f32, Extents{1}),
      .scale1 = ofWeights("scale1", problem.rows1(), problem.hidden),
      .scale2 = ofWeights("scale2", problem.hidden, problem.inner),
      .group_scales1 = ofGroups(groups.size != 0, "group_scales1", groups.scale, problem.hidden,
                                problem.rows1()),
      .group_scales2 =
          ofGroups(groups.size != 0, "group_scales2", groups.scale, problem.inner, problem.hidden),
      .group_zeros1 = ofGroups(groups.zeros, "group_zeros1", u8, problem.hidden, problem.rows1()),
      .group_zeros2 = ofGroups(groups.zeros, "group_zeros2", u8, problem.inner, problem.hidden),
      .bias1 = sampleIf(problem.bias, sampler, "bias1", problem.expert_type(),
                        Extents{experts, problem.weight1().n / experts}),
      .bias2 = sampleIf(problem.bias, sampler, "bias2", problem.expert_type(),
                        Extents{experts, problem.hidden}),
      .expert_map = sampleIf(problem.local != 0, sampler, "expert_map", i32,
                             Extents{problem.experts()}, Role::first(problem.local)),
      .tokens = sampleIf(problem.tokens, sampler, "tokens", i32, Extents{1}, Role::equal(m)),
      .y = sampler("y", problem.y, Extents{m, problem.hidden}, Role::output),
      .workspace = sampleIf(m > 0, sampler, "workspace", u8,
                            Extents{static_cast<std::int64_t>(workspaceBytes(problem, config, m))},
                            Role::workspace)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(MoeForwardProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
