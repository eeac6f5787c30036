// The call of a grouped product: its arguments are checked, and its kernel launched.
#include "grouped_gemm/grouped_gemm_family.h"

#include "blocks/products/product_rules.h"
#include "frame/arguments.h"
#include "gemm/mx_operands.h"
#include "gemm/narrow_operands.h"
#include "weight/weight_family.h"

#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Grouped = Family<GroupedGemmProblem>;
using std::to_string;

/// The extents of a call.
struct Sizes {
  std::int64_t places, tokens; ///< tokens: 0 if places have no ids
};
Sizes sizesOf(const Arguments &arguments, const GroupedGemmProblem &problem,
              const GroupedGemmArgs &args) {
  const std::int64_t rows = arguments.rows(args.a, "a");
  arguments.given(args.sorted_ids, "sorted_ids", problem.has_ids());
  if (!problem.has_ids())
    return {rows, 0};
  const std::int64_t places = args.sorted_ids->rank() == 1 ? args.sorted_ids->shape()[0] : -1;
  if (places < 0 || places > kMostRowsOfCall)
    arguments.fail("sorted_ids is a vector of up to 2147483647 places");
  if (problem.a_rows == GroupedRows::tokens)
    return {places, rows};
  const bool isSlots = problem.c_rows == GroupedRows::slots;
  if (args.c.rank() != (isSlots ? 3 : 2))
    arguments.fail(isSlots ? "c is a tensor (tokens, topk, n), because its rows are those of slots"
                           : "c is a matrix (tokens, n), because its rows are those of tokens");
  return {places, args.c.shape()[0]};
}

/// The places of the layout.
void checkPlaces(const Arguments &arguments, const GroupedGemmProblem &problem,
                 const Sizes &sizes) {
  const std::int64_t places = sizes.places;
  const std::string found =
      (problem.has_ids() ? "sorted_ids has " : "a has ") + to_string(places) + " places; ";
  if (problem.groups == GroupLayout::units && places % problem.unit)
    arguments.fail(found + "units have " + to_string(problem.unit) + " each");
  if (problem.groups == GroupLayout::masked && places != problem.experts * problem.capacity)
    arguments.fail(found + to_string(problem.experts) + " experts of " +
                   to_string(problem.capacity) + " each have " +
                   to_string(problem.experts * problem.capacity));
  if (sizes.tokens > kIdTokens)
    arguments.fail((problem.a_rows == GroupedRows::tokens ? "a has " : "c has ") +
                   to_string(sizes.tokens) + " tokens; a number of 24 bits counts them, " +
                   to_string(kIdTokens) + " are the most");
}

/// Units of places, which have numbers of experts; 0 in the other layouts, whose problems may have any unit.
std::int64_t unitsOf(const GroupedGemmProblem &problem, std::int64_t places) {
  return problem.groups == GroupLayout::units ? places / problem.unit : 0;
}

/// Rows that are gathered lie in one buffer.
void checkGathered(const Arguments &arguments, const GroupedGemmProblem &problem,
                   const TensorArg &a, std::int64_t tokens) {
  const std::int64_t bytes = tokens * strideOr(a, 0, problem.k) * problem.a.memory_bits() / 8;
  if (bytes >= kMostBufferBytes)
    arguments.fail("a spans " + to_string(bytes) +
                   " bytes; rows of tokens span less than 1 GiB. Call the plan for parts of the "
                   "tokens");
}

Strided<OnHost, 1> checkA(const Arguments &arguments, const GroupedGemmProblem &problem,
                          const GemmConfig &config, const TensorArg &a, const Sizes &sizes) {
  const bool isGathered = problem.a_rows == GroupedRows::tokens;
  Expected expected{.name = "a",
                    .dtype = problem.a,
                    .shape = {"places, k", sizes.places, problem.k},
                    .free = 1,
                    .align = kPieceBytes * 8 / problem.a.memory_bits(),
                    .reason = kLoadedPieces};
  if (isGathered)
    expected.shape = {"tokens, k", sizes.tokens, problem.k};
  else
    expected.reach = {.counts = {config.tile_m}, .bytes = kMostBufferBytes, .what = "a tile"};
  arguments.check(a, expected);
  if (isGathered)
    checkGathered(arguments, problem, a, sizes.tokens);
  return {.address = address(a),
          .stride = {strideOr(a, 0, problem.k) / PackedOperand{problem.a}.elements()}};
}

Strided<OnHost, 2> checkB(const Arguments &arguments, const GroupedGemmProblem &problem,
                          const GemmConfig &config, const WeightArg &b) {
  const TensorArg &memory = b.tensor();
  const bool isPrepared = problem.b_layout == OperandLayout::prepared;
  if (isPrepared != b.prepared().has_value())
    arguments.fail(
        isPrepared
            ? "b is a plain tensor, and the problem takes prepared weights, whose elements lie in "
              "another order. Pass PreparedWeight{.matrix = problem.weight(), .memory = ...}; "
              "weights as they are go with b_layout = OperandLayout::rows"
            : "b is prepared weights, and the problem takes a tensor (experts, n, k) as it lies. "
              "Make the plan with b_layout = OperandLayout::prepared");
  if (isPrepared) {
    checkPrepared(arguments, "b", *b.prepared(), memory, problem.weight(), Use::read);
    return {.address = address(memory), .stride = {}};
  }
  arguments.check(
      memory,
      {.name = "b",
       .dtype = problem.b,
       .shape = {"experts, n, k", problem.experts, problem.columns(), problem.k},
       .free = 2,
       .align = kPieceBytes * 8 / problem.b.memory_bits(),
       .reason = kLoadedPieces,
       .reach = {.counts = {0, config.tile_n}, .bytes = kMostBufferBytes, .what = "a tile"}});
  const int elements = PackedOperand{problem.b}.elements();
  return {.address = address(memory),
          .stride = {strideOf(memory, 0) / elements, strideOr(memory, 1, problem.k) / elements}};
}

Strided<OnHost, 2> checkC(const Arguments &arguments, const GroupedGemmProblem &problem,
                          const GemmConfig &config, const TensorArg &c, const Sizes &sizes) {
  const std::int64_t n = problem.n;
  if (problem.c_rows == GroupedRows::slots)
    return arguments.operand<2>(c, {.name = "c",
                                    .dtype = problem.c,
                                    .shape = {"tokens, topk, n", sizes.tokens, problem.topk, n},
                                    .free = 2,
                                    .use = Use::written,
                                    .align = storedTogether(n),
                                    .reason = kStoredGroups});
  if (problem.c_rows == GroupedRows::tokens)
    return arguments.operand<2>(c, {.name = "c",
                                    .dtype = problem.c,
                                    .shape = {"tokens, n", sizes.tokens, n},
                                    .free = 1,
                                    .use = Use::written,
                                    .align = storedTogether(n),
                                    .reason = kStoredGroups});
  Expected expected =
      productRows(problem.c, sizes.places, n,
                  {.counts = {config.tile_m}, .bytes = kMostBufferBytes, .what = "a tile"});
  expected.shape.modes = "places, n";
  arguments.check(c, expected);
  return {.address = address(c),
          .stride = {strideOr(c, 0, n) / PackedOperand{problem.c}.elements(), 0}};
}

/// What says which places experts have.
void checkGroups(const Arguments &arguments, const GroupedGemmProblem &problem,
                 const GroupedGemmArgs &args, const Sizes &sizes) {
  const auto numbers = [&](bool has, const std::optional<TensorArg> &tensor, const char *name,
                           const Shape &shape, DType dtype = i32) {
    arguments.checkIf(has, tensor, {.name = name, .dtype = dtype, .shape = shape});
  };
  numbers(problem.groups == GroupLayout::units, args.unit_experts, "unit_experts",
          {"places / unit", unitsOf(problem, sizes.places)});
  numbers(problem.groups != GroupLayout::masked, args.offsets, "offsets",
          {"experts + 1", problem.experts + 1});
  numbers(problem.groups != GroupLayout::offsets, args.counts, "counts",
          {"experts", problem.experts});
  numbers(problem.has_ids(), args.sorted_ids, "sorted_ids", {"places", sizes.places});
  numbers(problem.weights != RoutedWeights::none, args.weights, "weights", {"places", sizes.places},
          f32);
}

/// Scales and bias; gives scale_a.
Strided<OnHost, 2> checkScales(const Arguments &arguments, const GroupedGemmProblem &problem,
                               const GroupedGemmArgs &args, const Sizes &sizes) {
  const std::int64_t experts = problem.experts, columns = problem.columns(),
                     rows = problem.a_rows == GroupedRows::tokens ? sizes.tokens : sizes.places;
  const std::int64_t blocks = scaleBlocks(problem.k);
  arguments.checkIf(problem.bias, args.bias,
                    {.name = "bias",
                     .dtype = problem.type_of_bias(),
                     .shape = {"experts, n", experts, columns},
                     .align = storedTogether(columns),
                     .reason = kStoredGroups});
  if (problem.scale_a == Scales::mx) {
    const std::int64_t ofRow = problem.k / kMxBlock;
    const GemmProblem product = productOf(problem);
    const bool isPreparedA = problem.scale_a_layout == OperandLayout::prepared,
               isPreparedB = problem.scale_b_layout == OperandLayout::prepared;
    arguments.checkIf(true, args.scale_b,
                      isPreparedB ? preparedMxScales(product, "scale_b", experts, columns)
                                  : mxScales(product, "scale_b",
                                             {"experts, n, k / 32", experts, columns, ofRow}));
    arguments.checkIf(true, args.scale_a,
                      isPreparedA ? preparedMxScales(product, "scale_a", sizes.places,
                                                     "places / 32, k / 256, 256")
                                  : mxScales(product, "scale_a", {"m, k / 32", rows, ofRow}));
    if (isPreparedA) {
      const auto shape = PreparedScales::shape(sizes.places, problem.k);
      return {.address = address(args.scale_a), .stride = {shape[1] * shape[2], shape[2]}};
    }
    return {.address = address(args.scale_a), .stride = {ofRow, 1}};
  }
  if (problem.scale_a == Scales::per_block) {
    arguments.checkIf(
        true, args.scale_b,
        {.name = "scale_b",
         .dtype = problem.scale,
         .shape = {"experts, n / 128, k / 128", experts, scaleBlocks(columns), blocks}});
    arguments.checkIf(
        true, args.scale_a,
        {.name = "scale_a", .dtype = problem.scale, .shape = {"m, k / 128", rows, blocks}});
    return {.address = address(args.scale_a), .stride = {blocks, 1}};
  }
  const bool isOneA = problem.scale_a == Scales::per_tensor,
             isOneB = problem.scale_b == Scales::per_tensor;
  arguments.checkIf(
      problem.scale_b != Scales::none, args.scale_b,
      {.name = "scale_b",
       .dtype = f32,
       .shape = isOneB ? Shape{"experts", experts} : Shape{"experts, n", experts, columns},
       .align = isOneB ? 1 : storedTogether(columns),
       .reason = kStoredGroups});
  arguments.checkIf(
      problem.scale_a != Scales::none, args.scale_a,
      {.name = "scale_a", .dtype = f32, .shape = isOneA ? Shape{"1", 1} : Shape{"m", rows}});
  return {.address = address(args.scale_a), .stride = {}};
}

/// The scales of c, which are read, or written for each 128 of its columns.
Strided<OnHost, 0> scalesOfC(const Arguments &arguments, const GroupedGemmProblem &problem,
                             const GroupedGemmArgs &args, const Sizes &sizes) {
  Expected expected{.name = "scale_c", .dtype = f32, .shape = {"1", 1}};
  const int block = columnsOfScaleC(problem.scale_c);
  if (block)
    expected = {.name = "scale_c",
                .dtype = problem.scale,
                .shape = {block == kMxBlock ? "places, n / 32" : "places, n / 128", sizes.places,
                          scalesOfRowOfC(problem)},
                .use = Use::written};
  if (problem.scale_c_layout == OperandLayout::prepared)
    expected = writtenPreparedScales(arguments, "scale_c", "places / 32, n / 256, 256",
                                     sizes.places, problem.n, "places");
  arguments.checkIf(problem.scale_c != Scales::none, args.scale_c, expected);
  return {.address = address(args.scale_c), .stride = {}};
}

/// What a call that tools and tests make has: experts with as many places each as there may be; the
/// last ones are padding.
struct Sample {
  std::int64_t places, each, experts, taken;
};
Sample sampleOf(const GroupedGemmProblem &problem, std::int64_t m) {
  switch (problem.groups) {
  case GroupLayout::units: {
    const std::int64_t units = (m + problem.unit - 1) / problem.unit,
                       experts = std::min(problem.experts, units),
                       each = experts ? units / experts * problem.unit : 0;
    return {units * problem.unit, each, experts, each - problem.unit / 2};
  }
  case GroupLayout::masked:
    return {problem.experts * problem.capacity, problem.capacity, problem.experts,
            std::min(problem.capacity, (m + problem.experts - 1) / problem.experts)};
  case GroupLayout::offsets: {
    const std::int64_t experts = std::min(problem.experts, m), each = experts ? m / experts : 0;
    return {m, each, experts, each};
  }
  }
  throw Error("a layout of groups of no kind");
}

} // namespace

void Grouped::launch(const Call<GroupedGemmProblem> &call) { launch(call, prepare(call)); }

void Grouped::launch(const Call<GroupedGemmProblem> &call, const Work &work) {
  if (work.blocks)
    call.launches.at(0, kGroupedGemm)(call.on(work.blocks, call.config.threads), call.where,
                                      work.params);
}

Grouped::Work Grouped::prepare(const Call<GroupedGemmProblem> &call, bool storesC) {
  const GroupedGemmProblem &problem = call.problem;
  const GemmConfig &config = call.config;
  const GroupedGemmArgs &args = call.args;
  const Arguments arguments(FamilyOf<GroupedGemmProblem>::name, call.where);
  const Sizes sizes = sizesOf(arguments, problem, args);
  checkPlaces(arguments, problem, sizes);
  const Strided<OnHost, 1> a = checkA(arguments, problem, config, args.a, sizes);
  const Strided<OnHost, 2> b = checkB(arguments, problem, config, args.b),
                           c = storesC ? checkC(arguments, problem, config, args.c, sizes)
                                       : Strided<OnHost, 2>{};
  checkGroups(arguments, problem, args, sizes);
  const Strided<OnHost, 2> scaleA = checkScales(arguments, problem, args, sizes);
  const Strided<OnHost, 0> scaleC = scalesOfC(arguments, problem, args, sizes);
  const GroupOperands groups =
      checkScaleGroups(arguments, problem.b_groups, args.group_scales, args.group_zeros,
                       {"experts, k / size, n", problem.experts,
                        groupsOf(problem.b_groups, problem.k), problem.columns()});
  arguments.expectApart();
  if (sizes.places == 0)
    return {};
  const std::int64_t blocks =
      tilesDown(problem, config, sizes.places) * tilesAcross(productOf(problem), config);
  if (blocks > std::numeric_limits<std::int32_t>::max())
    arguments.fail("c has up to " + to_string(blocks) + " tiles; a grid has at most 2147483647");
  return {.blocks = blocks,
          .params = {.a = a,
                     .b = b,
                     .c = c,
                     .places = static_cast<std::int32_t>(sizes.places),
                     .tokens = static_cast<std::int32_t>(sizes.tokens),
                     .unitExperts = operandOf<0>(args.unit_experts),
                     .offsets = operandOf<0>(args.offsets),
                     .counts = operandOf<0>(args.counts),
                     .sortedIds = operandOf<0>(args.sorted_ids),
                     .weights = operandOf<0>(args.weights),
                     .scaleA = scaleA,
                     .scaleB = operandOf<0>(args.scale_b),
                     .bias = operandOf<0>(args.bias),
                     .groupScales = groups.scales,
                     .groupZeros = groups.zeros,
                     .scaleC = scaleC}};
}

GroupedGemmArgs Grouped::args(const GroupedGemmProblem &problem, const GemmConfig &, std::int64_t m,
                              const Sampler &sampler) {
  const Sample sample = sampleOf(problem, m);
  const std::int64_t experts = problem.experts, columns = problem.columns(), n = problem.n,
                     k = problem.k, places = sample.places, across = scaleBlocks(k),
                     slots = sample.experts * sample.taken,
                     tokens = (slots + problem.topk - 1) / problem.topk,
                     rows = problem.a_rows == GroupedRows::tokens ? tokens : places;
  const bool blocks = problem.scale_a == Scales::per_block,
             isOneA = problem.scale_a == Scales::per_tensor,
             isOneB = problem.scale_b == Scales::per_tensor, isMx = problem.scale_a == Scales::mx,
             blocksOfC = columnsOfScaleC(problem.scale_c) != 0;
  const DType ofScales = typeOfScales(productOf(problem));
  const auto prepared = [](OperandLayout layout) { return layout == OperandLayout::prepared; };
  const auto shapeB = PreparedScales::shape(columns, k), shapeC = PreparedScales::shape(places, n);
  const Extents scalesB = prepared(problem.scale_b_layout)
                              ? Extents{experts, shapeB[0], shapeB[1], shapeB[2]}
                              : Extents{experts, columns, k / kMxBlock},
                scalesA =
                    scalesOfRowsOfA(problem, prepared(problem.scale_a_layout) ? places : rows),
                scalesC = prepared(problem.scale_c_layout)
                              ? Extents(shapeC)
                              : Extents{places, scalesOfRowOfC(problem)};
  const auto numbers = [&](bool has, const char *name, std::int64_t count, Role role) {
    return sampleIf(has, sampler, name, i32, Extents{count}, role);
  };
  return {.a = sampler("a", problem.a, Extents{rows, k}, Role::input),
          .b = problem.b_layout == OperandLayout::prepared
                   ? WeightArg(PreparedWeight{
                         problem.weight(),
                         sampleWeights(sampler, problem.weight(), preshuffled(problem.weight()))})
                   : WeightArg(sampler("b", problem.b, Extents{experts, columns, k}, Role::input)),
          .c = problem.c_rows == GroupedRows::slots
                   ? sampler("c", problem.c, Extents{tokens, problem.topk, n}, Role::output)
               : problem.c_rows == GroupedRows::tokens
                   ? sampler("c", problem.c, Extents{tokens, n}, Role::both)
                   : sampler("c", problem.c, Extents{places, n}, Role::output),
          .unit_experts = numbers(problem.groups == GroupLayout::units, "unit_experts",
                                  unitsOf(problem, places),
                                  Role::quotients(unitsOf(problem, sample.each), sample.experts)),
          .offsets = numbers(problem.groups != GroupLayout::masked, "offsets", experts + 1,
                             Role::steps(sample.each, sample.experts)),
          .counts = numbers(problem.groups != GroupLayout::offsets, "counts", experts,
                            Role::equal(sample.taken, sample.experts)),
          .sorted_ids =
              numbers(problem.has_ids(), "sorted_ids", places,
                      Role::slots(sample.each, sample.experts, sample.taken, tokens, problem.topk)),
          .weights = sampleIf(problem.weights != RoutedWeights::none, sampler, "weights", f32,
                              Extents{places}),
          .scale_a = sampleIf(problem.scale_a != Scales::none, sampler, "scale_a", ofScales,
                              isMx || blocks ? scalesA
                              : isOneA       ? Extents{1}
                                             : Extents{rows}),
          .scale_b = sampleIf(problem.scale_b != Scales::none, sampler, "scale_b", ofScales,
                              isMx     ? scalesB
                              : blocks ? Extents{experts, scaleBlocks(columns), across}
                              : isOneB ? Extents{experts}
                                       : Extents{experts, columns}),
          .scale_c =
              sampleIf(problem.scale_c != Scales::none, sampler, "scale_c",
                       blocksOfC ? problem.scale : DType(f32), blocksOfC ? scalesC : Extents{1},
                       blocksOfC ? Role::output : Role::input),
          .group_scales =
              sampleIf(problem.b_groups.size != 0, sampler, "group_scales", problem.b_groups.scale,
                       Extents{experts, groupsOf(problem.b_groups, k), columns}),
          .group_zeros = sampleIf(problem.b_groups.zeros, sampler, "group_zeros", u8,
                                  Extents{experts, groupsOf(problem.b_groups, k), columns}),
          .bias = sampleIf(problem.bias, sampler, "bias", problem.type_of_bias(),
                           Extents{experts, columns})};
}

} // namespace kernels::impl

namespace kernels {

std::vector<std::uint8_t> prepare_expert_scales(std::int64_t experts, std::int64_t rows,
                                                std::int64_t k,
                                                std::span<const std::uint8_t> scales) {
  const auto size = static_cast<std::int64_t>(scales.size());
  if (experts < 0 || (experts ? size % experts : size))
    throw Error("prepare_expert_scales: there are " + std::to_string(size) + " scales of " +
                std::to_string(experts) + " experts; each has as many as the others");
  std::vector<std::uint8_t> all;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const auto own = scales.subspan(static_cast<std::size_t>(expert * (size / experts)),
                                    static_cast<std::size_t>(size / experts));
    const std::vector<std::uint8_t> prepared = prepare_scales(rows, k, own);
    all.insert(all.end(), prepared.begin(), prepared.end());
  }
  return all;
}

FLYDSL_KERNEL_FAMILY(GroupedGemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
