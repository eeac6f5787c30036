// The call of a product: its arguments are checked, and its kernels launched.
#include "gemm/gemm_family.h"

#include "blocks/products/product_rules.h"
#include "frame/arguments.h"
#include "gemm/narrow_operands.h"
#include "weight/weight_family.h"

#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Gemm = Family<GemmProblem>;
using std::to_string;

/// Checks scales of blocks, and gives scale_a. Those of a tile lie in one buffer.
Strided<OnHost, 2> blockScales(const Arguments &arguments, const GemmProblem &problem,
                               const GemmConfig &config, const GemmArgs &args, std::int64_t m) {
  const std::int64_t blocks = scaleBlocks(problem.k);
  const Strided<OnHost, 2> scaleA = arguments.operandIf<2>(
      true, args.scale_a,
      {.name = "scale_a",
       .dtype = problem.scale,
       .shape = {"m, k / 128", m, blocks},
       .free = 2,
       .reach = {.counts = {config.tile_m, blocks}, .bytes = kMostBufferBytes, .what = "a tile"}});
  arguments.checkIf(true, args.scale_b,
                    {.name = "scale_b",
                     .dtype = problem.scale,
                     .shape = {"n / 128, k / 128", scaleBlocks(problem.columns()), blocks}});
  return scaleA;
}

/// Scales of 32 elements of K, whose rows follow one another.
Expected mxScales(const GemmProblem &problem, const char *name, const Shape &shape) {
  const std::int64_t ofRow = problem.k / kMxBlock;
  return {.name = name,
          .dtype = problem.scale,
          .shape = shape,
          .align = ofRow % 16 ? ofRow & -ofRow : 16,
          .reason = "a lane loads those of several blocks together"};
}

/// The scales of c, which are read, or written for each 128 of its columns.
Strided<OnHost, 2> scalesOfC(const Arguments &arguments, const GemmProblem &problem,
                             const std::optional<TensorArg> &scales, std::int64_t m) {
  const bool isWritten = problem.scale_c == Scales::per_block;
  Expected expected{.name = "scale_c", .dtype = f32, .shape = {"1", 1}};
  if (isWritten)
    expected = {.name = "scale_c",
                .dtype = problem.scale,
                .shape = {"m, n / 128", m, scaleBlocks(problem.n)},
                .free = 2,
                .use = Use::written};
  return arguments.operandIf<2>(problem.scale_c != Scales::none, scales, expected);
}

/// An operand (rows, k) that is not prepared. Inside of a tile's buffer offsets have 32 bits.
Expected unprepared(const GemmProblem &problem, const GemmConfig &config, const char *name,
                    DType dtype, const Shape &shape, OperandLayout layout, int tile,
                    bool far = false) {
  const bool byColumns = layout == OperandLayout::columns;
  // Of far columns, each step has a buffer of its own.
  const std::int64_t columns = (far ? 0 : problem.k / config.split_k) + config.tile_k;
  return {.name = name,
          .dtype = dtype,
          .shape = shape,
          .free = 1,
          // By columns, the end of k is found by the stride.
          .use = byColumns ? Use::ordered : Use::read,
          .align = kPieceBytes * 8 / dtype.memory_bits(),
          .reason = kLoadedPieces,
          .byColumns = byColumns,
          .reach = {.counts = {byColumns ? 0 : tile, byColumns ? columns : 0},
                    .bytes = kMostBufferBytes,
                    .what = "a tile"}};
}
/// Its rows or columns as a kernel takes them, which counts elements of 4 bits in pairs.
Strided<OnHost, 1> lines(const TensorArg &matrix, OperandLayout layout) {
  const std::int64_t stride = layout == OperandLayout::columns
                                  ? strideOf(matrix, 1)
                                  : strideOr(matrix, 0, matrix.shape()[1]);
  return {.address = address(matrix),
          .stride = {stride / PackedOperand{matrix.dtype()}.elements()}};
}
/// By columns, their starts are aligned only if their number of rows is a multiple.
void checkColumns(const Arguments &arguments, const Expected &expected) {
  if (expected.byColumns && expected.shape.extents[0] % expected.align) [[unlikely]]
    arguments.fail(std::string(expected.name) + " has " + to_string(expected.shape.extents[0]) +
                   " rows; by columns it has a multiple of " + to_string(expected.align) +
                   ", because " + expected.reason);
}

/// Whether weights are prepared or not is as the problem says: nothing else tells them apart.
void checkLayout(const Arguments &arguments, const GemmProblem &problem, const WeightArg &b) {
  const bool isPrepared = problem.b_layout == OperandLayout::prepared;
  if (b.prepared().has_value() == isPrepared) [[likely]]
    return;
  if (isPrepared)
    arguments.fail(
        "b is a plain tensor, and the problem takes prepared weights, whose elements lie in "
        "another order. Pass PreparedWeight{.matrix = problem.weight(), .memory = ...} for memory "
        "that prepare_weight, WeightPlan or another program prepared; weights as they are go with "
        "b_layout = OperandLayout::rows");
  const char *layout = problem.b_layout == OperandLayout::rows ? "rows" : "columns";
  arguments.fail(std::string("b is prepared weights, and the problem takes a tensor (n, k) as it "
                             "lies: b_layout is OperandLayout::") +
                 layout +
                 ". Pass the weights as they were before, or make the plan with b_layout = "
                 "OperandLayout::prepared");
}

} // namespace

void Gemm::launch(const Call<GemmProblem> &call) {
  const GemmProblem &problem = call.problem;
  const GemmConfig &config = call.config;
  const GemmArgs &args = call.args;
  const Arguments arguments(FamilyOf<GemmProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.a, "a"), n = problem.n, k = problem.k;
  const Expected a =
      unprepared(problem, config, "a", problem.a, {"m, k", m, k}, problem.a_layout, config.tile_m);
  checkColumns(arguments, a);
  arguments.check(args.a, a);
  const Strided<OnHost, 1> linesA = lines(args.a, problem.a_layout);
  const TensorArg &weights = args.b.tensor();
  Strided<OnHost, 1> linesB{.address = address(weights), .stride = {}};
  checkLayout(arguments, problem, args.b);
  if (problem.b_layout == OperandLayout::prepared) {
    checkPrepared(arguments, "b", *args.b.prepared(), weights, problem.weight(), Use::read);
  } else {
    const Expected b = unprepared(problem, config, "b", problem.b, {"n, k", n, k}, problem.b_layout,
                                  config.tile_n, hasFarColumns(problem, config));
    checkColumns(arguments, b);
    arguments.check(weights, b);
    linesB = lines(weights, problem.b_layout);
  }
  arguments.check(
      args.c,
      productRows(problem.c, m, n,
                  {.counts = {config.tile_m}, .bytes = kMostBufferBytes, .what = "a tile"}));
  const Strided<OnHost, 1> rowsC{.address = address(args.c), .stride = {strideOr(args.c, 0, n)}};
  arguments.disjoint(args.c, "c", args.a, "a");
  arguments.disjoint(args.c, "c", weights, "b");
  Strided<OnHost, 2> scaleA{};
  if (hasMxScales(problem)) {
    const std::int64_t ofRow = k / kMxBlock;
    arguments.checkIf(true, args.scale_a, mxScales(problem, "scale_a", {"m, k / 32", m, ofRow}));
    arguments.checkIf(true, args.scale_b,
                      mxScales(problem, "scale_b", {"n, k / 32", problem.columns(), ofRow}));
    scaleA = {.address = address(args.scale_a), .stride = {ofRow, 1}};
  } else if (hasBlockScales(problem)) {
    scaleA = blockScales(arguments, problem, config, args, m);
  } else {
    const bool isOneA = problem.scale_a == Scales::per_tensor,
               isOneB = problem.scale_b == Scales::per_tensor;
    scaleA = arguments.operandIf<2>(
        problem.scale_a != Scales::none, args.scale_a,
        {.name = "scale_a", .dtype = f32, .shape = isOneA ? Shape{"1", 1} : Shape{"m", m}});
    arguments.checkIf(problem.scale_b != Scales::none, args.scale_b,
                      {.name = "scale_b",
                       .dtype = f32,
                       .shape = isOneB ? Shape{"1", 1} : Shape{"n", problem.columns()},
                       .align = isOneB ? 1 : storedTogether(n),
                       .reason = kStoredGroups});
  }
  arguments.checkIf(problem.bias, args.bias,
                    {.name = "bias",
                     .dtype = problem.type_of_bias(),
                     .shape = {"n", problem.columns()},
                     .align = storedTogether(n),
                     .reason = kStoredGroups});
  const Strided<OnHost, 2> scaleC = scalesOfC(arguments, problem, args.scale_c, m);
  if (problem.scale_c == Scales::per_block) {
    arguments.disjoint(*args.scale_c, "scale_c", args.c, "c");
    arguments.disjoint(*args.scale_c, "scale_c", args.a, "a");
    arguments.disjoint(*args.scale_c, "scale_c", weights, "b");
  }
  const GroupOperands groups =
      checkScaleGroups(arguments, problem.b_groups, args.group_scales, args.group_zeros,
                       {"k / size, n", groupsOf(problem.b_groups, k), problem.columns()});
  const std::int64_t workspace =
      arguments.workspace(args.workspace, workspaceBytes(problem, config, m));
  if (workspace)
    arguments.disjoint(args.c, "c", *args.workspace, "workspace");
  if (m == 0)
    return;
  const auto grid = [&](std::int64_t tiles) {
    if (tiles > std::numeric_limits<std::int32_t>::max()) [[unlikely]]
      arguments.fail("c has " + to_string(tiles) + " tiles; a grid has at most 2147483647");
    return tiles;
  };
  const std::int64_t blocks = grid(tilesOf(problem, config, m) * config.split_k);
  const auto rows = static_cast<std::int32_t>(m);
  const int threads = config.threads;
  const Strided<OnHost, 0> scaleB{.address = address(args.scale_b), .stride = {}},
      bias{.address = address(args.bias), .stride = {}};
  if (addsInLaunch(config)) {
    const std::int64_t flags =
        PartFlags::place(args.workspace->shape()[0], tilesOf(problem, config, m));
    call.launches.at(0, kGemmSplit)(call.on(blocks, threads), call.where,
                                    {.a = linesA,
                                     .b = linesB,
                                     .c = rowsC,
                                     .scaleA = scaleA,
                                     .scaleB = scaleB,
                                     .bias = bias,
                                     .groupScales = groups.scales,
                                     .groupZeros = groups.zeros,
                                     .workspace = {.address = workspace, .stride = {}},
                                     .flags = {.address = workspace + flags, .stride = {}},
                                     .seed = args.seed,
                                     .m = rows,
                                     .scaleC = scaleC});
  } else if (config.split_k > 1) {
    call.launches.at(0, kGemmParts)(call.on(blocks, threads), call.where,
                                    {.workspace = {.address = workspace, .stride = {}},
                                     .a = linesA,
                                     .b = linesB,
                                     .scaleA = scaleA,
                                     .scaleB = scaleB,
                                     .groupScales = groups.scales,
                                     .groupZeros = groups.zeros,
                                     .m = rows});
    call.launches.at(1, kGemmSum)(
        call.on(grid((m + kSumTileM - 1) / kSumTileM * sumTilesAcross(problem)), kSumThreads),
        call.where,
        {.workspace = {.address = workspace, .stride = {}},
         .c = rowsC,
         .scaleA = {.address = scaleA.address, .stride = {}},
         .scaleB = scaleB,
         .bias = bias,
         .seed = args.seed,
         .m = rows,
         .scaleC = scaleC});
  } else {
    call.launches.at(0, kGemm)(call.on(blocks, threads), call.where,
                               {.a = linesA,
                                .b = linesB,
                                .c = rowsC,
                                .scaleA = scaleA,
                                .scaleB = scaleB,
                                .bias = bias,
                                .groupScales = groups.scales,
                                .groupZeros = groups.zeros,
                                .seed = args.seed,
                                .m = rows,
                                .scaleC = scaleC});
  }
}

GemmArgs Gemm::args(const GemmProblem &problem, const GemmConfig &config, std::int64_t m,
                    const Sampler &sampler) {
  const bool blocks = hasBlockScales(problem), isMx = hasMxScales(problem);
  const std::int64_t across = scaleBlocks(problem.k);
  const Extents rows{m}, columns{problem.columns()}, one{1},
      scalesA = isMx                                    ? Extents{m, problem.k / kMxBlock}
                : blocks                                ? Extents{m, across}
                : problem.scale_a == Scales::per_tensor ? one
                                                        : rows,
      scalesB = isMx     ? Extents{problem.columns(), problem.k / kMxBlock}
                : blocks ? Extents{scaleBlocks(problem.columns()), across}
                : problem.scale_b == Scales::per_tensor ? one
                                                        : columns;
  const DType ofScales = typeOfScales(problem);
  const bool isOfBlocks = problem.scale_c == Scales::per_block;
  const auto matrix = [&](const char *name, DType dtype, OperandLayout layout, std::int64_t size) {
    if (layout == OperandLayout::rows)
      return sampler(name, dtype, Extents{size, problem.k}, Role::input);
    const TensorArg turned = sampler(name, dtype, Extents{problem.k, size}, Role::input);
    if (turned.rank() != 2)
      return turned; // the sampler's own, which the call refuses
    const TensorArg::Dims shape = turned.shape(), strides = turned.strides();
    return tensor(turned.data(), turned.dtype(), {shape[1], shape[0]}, {strides[1], strides[0]});
  };
  return {
      .a = matrix("a", problem.a, problem.a_layout, m),
      .b = problem.b_layout == OperandLayout::prepared
               ? WeightArg(PreparedWeight{problem.weight(), sampleWeights(sampler, problem.weight(),
                                                                          weightsOf(problem))})
               : WeightArg(matrix("b", problem.b, problem.b_layout, problem.n)),
      .c = sampler("c", problem.c, Extents{m, problem.n}, Role::output),
      .scale_a = sampleIf(problem.scale_a != Scales::none, sampler, "scale_a", ofScales, scalesA),
      .scale_b = sampleIf(problem.scale_b != Scales::none, sampler, "scale_b", ofScales, scalesB),
      .scale_c = sampleIf(problem.scale_c != Scales::none, sampler, "scale_c",
                          isOfBlocks ? problem.scale : DType(f32),
                          isOfBlocks ? Extents{m, scaleBlocks(problem.n)} : one,
                          isOfBlocks ? Role::output : Role::input),
      .group_scales =
          sampleIf(problem.b_groups.size != 0, sampler, "group_scales", problem.b_groups.scale,
                   Extents{groupsOf(problem.b_groups, problem.k), problem.columns()}),
      .group_zeros = sampleIf(problem.b_groups.zeros, sampler, "group_zeros", u8,
                              Extents{groupsOf(problem.b_groups, problem.k), problem.columns()}),
      .bias = sampleIf(problem.bias, sampler, "bias", problem.type_of_bias(), columns),
      .workspace = sampleIf(config.split_k > 1, sampler, "workspace", u8,
                            Extents{workspaceBytes(problem, config, m)},
                            addsInLaunch(config) ? Role::flagged : Role::workspace)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(GemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
