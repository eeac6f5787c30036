// The call of a product: its arguments are checked, and its kernels launched.
#include "gemm/gemm_family.h"

#include "blocks/products/product_rules.h"
#include "frame/arguments.h"
#include "gemm/mx_operands.h"
#include "gemm/narrow_operands.h"
#include "weight/weight_family.h"

#include <algorithm>
#include <limits>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Gemm = Family<GemmProblem>;
using std::to_string;

/// The extents of a call. Of a product that is not batched, there is one matrix.
struct Sizes {
  std::int64_t batch, m;
};
Sizes sizesOf(const Arguments &arguments, const GemmProblem &problem, const TensorArg &a) {
  if (!problem.batch)
    return {1, arguments.rows(a, "a")};
  if (a.rank() != 3)
    arguments.fail("a has " + to_string(a.rank()) +
                   " modes; the product is batched, and a is (batch, m, k)");
  const Sizes sizes{a.shape()[0], a.shape()[1]};
  if (sizes.batch < 0 || sizes.batch > kMostMatrices)
    arguments.fail("a has " + to_string(sizes.batch) + " matrices; a call has 0 to " +
                   to_string(kMostMatrices));
  if (sizes.m < 0 || sizes.m > kMostRowsOfCall)
    arguments.fail("a has " + to_string(sizes.m) + " rows; at most 2147483647 are expected");
  return sizes;
}

/// Operands as a row says of those of one matrix, and as they are in a batch: with one mode more, in
/// front, whose stride is the caller's.
class OperandRows {
public:
  OperandRows(const GemmProblem &problem, const Sizes &sizes)
      : isBatched_(problem.batch != 0), batch_(sizes.batch) {}

  /// `modes` are those of a batch: "batch, m, k".
  Expected operator()(Expected row, const char *modes) const {
    if (!isBatched_)
      return row;
    Shape shape(modes, batch_, std::int64_t(0), std::int64_t(0));
    shape.rank = row.shape.rank + 1;
    Reach reach = row.reach;
    reach.counts[0] = 0;
    for (int mode = 0; mode < row.shape.rank; ++mode) {
      shape.extents[mode + 1] = row.shape.extents[mode];
      reach.counts[mode + 1] = row.reach.counts[mode];
    }
    row.shape = shape;
    row.reach = reach;
    ++row.free;
    return row;
  }
  /// The stride from a matrix to the next; 0 if there is none.
  std::int64_t stride(const TensorArg &operand) const {
    return isBatched_ ? strideOf(operand, 0) : 0;
  }
  /// A mode of a matrix among those of the operand.
  int mode(int ofMatrix) const { return isBatched_ + ofMatrix; }
  /// Address and strides: from matrix to matrix, then of the leading modes of a matrix.
  template <int Modes>
  Strided<OnHost, Modes> operand(const std::optional<TensorArg> &tensor, int free) const {
    Strided<OnHost, Modes> result{.address = address(tensor), .stride = {}};
    if (!tensor)
      return result;
    result.stride[0] = stride(*tensor);
    for (int of = 0; of < std::min(Modes - 1, free); ++of)
      result.stride[static_cast<std::size_t>(of + 1)] = strideOf(*tensor, mode(of));
    return result;
  }

private:
  bool isBatched_;
  std::int64_t batch_;
};
/// An operand of a product that is not batched.
template <std::size_t... Mode>
Strided<OnHost, static_cast<int>(sizeof...(Mode))>
ofOne(const Strided<OnHost, static_cast<int>(sizeof...(Mode)) + 1> &all,
      std::index_sequence<Mode...>) {
  return {.address = all.address, .stride = {all.stride[Mode + 1]...}};
}
template <int Modes> auto ofOne(const Strided<OnHost, Modes> &all) {
  return ofOne(all, std::make_index_sequence<Modes - 1>());
}

/// The operands of a call as its kernels take them, in batches of one matrix if it is not batched.
struct CallOperands {
  Strided<OnHost, 2> a, b, c, residual;
  Strided<OnHost, 3> scaleA, scaleC;
  Strided<OnHost, 1> scaleB, bias;
  GroupOperands groups;
};

/// A row's worth of scale_a and scale_b of a matrix, and of how many modes the strides are free.
struct ScaleRows {
  Expected a, b;
  const char *modesA, *modesB; ///< the modes of scales in a batch
};
ScaleRows scaleRows(const GemmProblem &problem, const GemmConfig &config, std::int64_t m) {
  const std::int64_t columns = problem.columns();
  if (hasMxScales(problem)) {
    const std::int64_t ofRow = problem.k / kMxBlock;
    const auto expected = [&](const char *name, const char *text, std::int64_t rows,
                              OperandLayout layout) {
      return layout == OperandLayout::prepared ? preparedMxScales(problem, name, rows)
                                               : mxScales(problem, name, {text, rows, ofRow});
    };
    Expected a = expected("scale_a", "m, k / 32", m, problem.scale_a_layout);
    if (problem.batch) {
      a.free = 1;
      a.reach = {.counts = {config.tile_m}, .bytes = kMostBufferBytes, .what = "a tile"};
    }
    return {a, expected("scale_b", "n, k / 32", columns, problem.scale_b_layout),
            "batch, m, k / 32", "batch, n, k / 32"};
  }
  if (hasBlockScales(problem)) {
    // Those of a tile lie in one buffer.
    const std::int64_t blocks = scaleBlocks(problem.k);
    return {
        {.name = "scale_a",
         .dtype = problem.scale,
         .shape = {"m, k / 128", m, blocks},
         .free = 2,
         .reach = {.counts = {config.tile_m, blocks}, .bytes = kMostBufferBytes, .what = "a tile"}},
        {.name = "scale_b",
         .dtype = problem.scale,
         .shape = {"n / 128, k / 128", scaleBlocks(columns), blocks}},
        "batch, m, k / 128",
        "batch, n / 128, k / 128"};
  }
  const bool isOneA = problem.scale_a == Scales::per_tensor,
             isOneB = problem.scale_b == Scales::per_tensor;
  Expected a{.name = "scale_a", .dtype = f32, .shape = isOneA ? Shape{"1", 1} : Shape{"m", m}};
  if (problem.batch && !isOneA) {
    a.free = 1;
    a.reach = {.counts = {config.tile_m}, .bytes = kMostBufferBytes, .what = "a tile"};
  }
  return {a,
          {.name = "scale_b",
           .dtype = f32,
           .shape = isOneB ? Shape{"1", 1} : Shape{"n", columns},
           .align = isOneB ? 1 : storedTogether(problem.n),
           .reason = kStoredGroups},
          isOneA ? "batch, 1" : "batch, m",
          isOneB ? "batch, 1" : "batch, n"};
}

/// The scales of c, which are read, or written for each 128 of its columns.
Expected scalesOfC(const GemmProblem &problem, std::int64_t m) {
  const int block = columnsOfScaleC(problem.scale_c);
  if (!block)
    return {.name = "scale_c", .dtype = f32, .shape = {"1", 1}};
  return {.name = "scale_c",
          .dtype = problem.scale,
          .shape = {block == kMxBlock ? "m, n / 32" : "m, n / 128", m, scalesOfRowOfC(problem)},
          .free = 2,
          .use = Use::written};
}

/// An operand (rows, k) that is not prepared. Inside of a tile's buffer offsets have 32 bits.
Expected unprepared(const GemmProblem &problem, const GemmConfig &config, const char *name,
                    DType dtype, const Shape &shape, OperandLayout layout, int tile,
                    bool far = false) {
  const bool byColumns = layout == OperandLayout::columns;
  // If columns are far, each step has a buffer of its own.
  const std::int64_t columns = (far ? 0 : problem.k / config.split_k) + config.tile_k;
  return {.name = name,
          .dtype = dtype,
          .shape = shape,
          .free = 1,
          // By columns, the end of k is found by the stride. The matrices of a batch may be one.
          .use = byColumns && !problem.batch ? Use::ordered : Use::read,
          .align = kPieceBytes * 8 / dtype.memory_bits(),
          .reason = kLoadedPieces,
          .byColumns = byColumns,
          .reach = {.counts = {byColumns ? 0 : tile, byColumns ? columns : 0},
                    .bytes = kMostBufferBytes,
                    .what = "a tile"}};
}
/// By columns, their starts are aligned only if their number of rows is a multiple; and they do not
/// overlap, in a batch either.
void checkColumns(const Arguments &arguments, const GemmProblem &problem, const Expected &expected,
                  const TensorArg &operand) {
  if (!expected.byColumns)
    return;
  const std::int64_t rows = expected.shape.extents[0];
  if (rows % expected.align) [[unlikely]]
    arguments.fail(std::string(expected.name) + " has " + to_string(rows) +
                   " rows; by columns it has a multiple of " + to_string(expected.align) +
                   ", because " + expected.reason);
  if (problem.batch && operand.rank() == 3 && operand.shape()[2] > 1 && operand.strides()[2] < rows)
      [[unlikely]]
    arguments.fail(std::string(expected.name) + " has columns of " + to_string(rows) +
                   " elements at a stride of " + to_string(operand.strides()[2]) +
                   "; the kernel finds the end by it, so they do not overlap");
}

/// Whether weights are prepared or not is as the problem says: nothing else tells them apart.
void checkLayout(const Arguments &arguments, const GemmProblem &problem, const WeightArg &b) {
  const bool isPrepared = problem.b_layout == OperandLayout::prepared;
  if (b.prepared().has_value() == isPrepared) [[likely]]
    return;
  const char *weight = problem.batch ? "problem.weights(batch)" : "problem.weight()";
  if (isPrepared)
    arguments.fail(
        "b is a plain tensor, and the problem takes prepared weights, whose elements lie in "
        "another order. Pass PreparedWeight{.matrix = " +
        std::string(weight) +
        ", .memory = ...} for memory "
        "that prepare_weight, WeightPlan or another program prepared; weights as they are go with "
        "b_layout = OperandLayout::rows");
  const char *layout = problem.b_layout == OperandLayout::rows ? "rows" : "columns";
  arguments.fail(std::string("b is prepared weights, and the problem takes a tensor (n, k) as it "
                             "lies: b_layout is OperandLayout::") +
                 layout +
                 ". Pass the weights as they were before, or make the plan with b_layout = "
                 "OperandLayout::prepared");
}

/// Checks the operands of a call.
class CallChecks {
public:
  CallChecks(const Arguments &arguments, const GemmProblem &problem, const GemmConfig &config,
             const GemmArgs &args, const Sizes &sizes)
      : arguments_(arguments), problem_(problem), config_(config), args_(args), m_(sizes.m),
        batch_(sizes.batch), rows_(problem, sizes) {}

  CallOperands operands() const {
    const Strided<OnHost, 2> a = matrixA(), b = weights(), c = results();
    const ScaleRows scales = scaleRows(problem_, config_, m_);
    checkIf(problem_.scale_a != Scales::none, args_.scale_a, scales.a, scales.modesA);
    checkIf(problem_.scale_b != Scales::none, args_.scale_b, scales.b, scales.modesB);
    checkIf(problem_.bias, args_.bias,
            {.name = "bias",
             .dtype = problem_.type_of_bias(),
             .shape = {"n", problem_.columns()},
             .align = storedTogether(problem_.n),
             .reason = kStoredGroups},
            "batch, n");
    const Strided<OnHost, 3> scaleC = scalesOfResults();
    const Strided<OnHost, 2> residual = residualRows();
    Strided<OnHost, 3> scaleA = rows_.operand<3>(args_.scale_a, scales.a.free);
    if (problem_.scale_a_layout == OperandLayout::prepared)
      scaleA.stride = {0, PreparedScales::shape(1, problem_.k)[1] * PreparedScales::kBlock,
                       PreparedScales::kBlock};
    else if (hasMxScales(problem_))
      scaleA.stride = {scaleA.stride[0],
                       strideOr(*args_.scale_a, rows_.mode(0), problem_.k / kMxBlock), 1};
    return {.a = a,
            .b = b,
            .c = c,
            .residual = residual,
            .scaleA = scaleA,
            .scaleC = scaleC,
            .scaleB = rows_.operand<1>(args_.scale_b, 0),
            .bias = rows_.operand<1>(args_.bias, 0),
            .groups = groups()};
  }

private:
  void check(const TensorArg &tensor, const Expected &row, const char *modes) const {
    arguments_.check(tensor, rows_(row, modes));
  }
  void checkIf(bool has, const std::optional<TensorArg> &tensor, const Expected &row,
               const char *modes) const {
    arguments_.checkIf(has, tensor, rows_(row, modes));
  }
  /// Matrices as kernels take them, which count elements of 4 bits in pairs.
  Strided<OnHost, 2> lines(const TensorArg &matrices, OperandLayout layout) const {
    const int columns = rows_.mode(1), elements = PackedOperand{matrices.dtype()}.elements();
    const std::int64_t stride = layout == OperandLayout::columns
                                    ? strideOf(matrices, columns)
                                    : strideOr(matrices, rows_.mode(0),
                                               matrices.shape()[static_cast<std::size_t>(columns)]);
    return {.address = address(matrices),
            .stride = {rows_.stride(matrices) / elements, stride / elements}};
  }
  Strided<OnHost, 2> matrixA() const {
    const Expected a = unprepared(problem_, config_, "a", problem_.a, {"m, k", m_, problem_.k},
                                  problem_.a_layout, config_.tile_m);
    checkColumns(arguments_, problem_, a, args_.a);
    check(args_.a, a, "batch, m, k");
    return lines(args_.a, problem_.a_layout);
  }
  Strided<OnHost, 2> weights() const {
    const TensorArg &tensor = args_.b.tensor();
    checkLayout(arguments_, problem_, args_.b);
    if (problem_.b_layout == OperandLayout::prepared) {
      const WeightProblem matrix =
          problem_.batch ? problem_.weights(std::max<std::int64_t>(batch_, 1)) : problem_.weight();
      if (!problem_.batch || batch_)
        checkPrepared(arguments_, "b", *args_.b.prepared(), tensor, matrix, Use::read);
      return {.address = address(tensor),
              .stride = {problem_.batch ? weightsOf(problem_).size() : 0, 0}};
    }
    const Expected b =
        unprepared(problem_, config_, "b", problem_.b, {"n, k", problem_.n, problem_.k},
                   problem_.b_layout, config_.tile_n, hasFarColumns(problem_, config_));
    checkColumns(arguments_, problem_, b, tensor);
    check(tensor, b, "batch, n, k");
    return lines(tensor, problem_.b_layout);
  }
  Strided<OnHost, 2> results() const {
    check(args_.c,
          productRows(problem_.c, m_, problem_.n,
                      {.counts = {config_.tile_m}, .bytes = kMostBufferBytes, .what = "a tile"}),
          "batch, m, n");
    return rowsOf(args_.c);
  }
  Strided<OnHost, 2> rowsOf(const TensorArg &results) const {
    const int elements = PackedOperand{results.dtype()}.elements();
    return {.address = address(results),
            .stride = {rows_.stride(results) / elements,
                       strideOr(results, rows_.mode(0), problem_.n) / elements}};
  }
  Strided<OnHost, 2> residualRows() const {
    Expected row =
        productRows(problem_.type_of_residual(), m_, problem_.n,
                    {.counts = {config_.tile_m}, .bytes = kMostBufferBytes, .what = "a tile"});
    row.name = "residual";
    row.use = Use::read;
    checkIf(problem_.residual, args_.residual, row, "batch, m, n");
    if (!problem_.residual)
      return {};
    return rowsOf(*args_.residual);
  }
  Strided<OnHost, 3> scalesOfResults() const {
    const Expected row = scalesOfC(problem_, m_);
    const int block = columnsOfScaleC(problem_.scale_c);
    checkIf(problem_.scale_c != Scales::none, args_.scale_c, row,
            block == kMxBlock ? "batch, m, n / 32"
            : block           ? "batch, m, n / 128"
                              : "batch, 1");
    return rows_.operand<3>(args_.scale_c, row.free);
  }
  GroupOperands groups() const {
    const std::int64_t count = groupsOf(problem_.b_groups, problem_.k),
                       columns = problem_.columns();
    return checkScaleGroups(arguments_, problem_.b_groups, args_.group_scales, args_.group_zeros,
                            problem_.batch ? Shape{"batch, k / size, n", batch_, count, columns}
                                           : Shape{"k / size, n", count, columns});
  }

  const Arguments &arguments_;
  const GemmProblem &problem_;
  const GemmConfig &config_;
  const GemmArgs &args_;
  std::int64_t m_, batch_;
  OperandRows rows_;
};

/// The launches of a product that is not batched.
void launchOne(const Call<GemmProblem> &call, const CallOperands &all, std::int64_t workspace,
               std::int64_t m, std::int64_t blocks, std::int64_t sumBlocks) {
  const GemmProblem &problem = call.problem;
  const GemmConfig &config = call.config;
  const auto rows = static_cast<std::int32_t>(m);
  const auto a = ofOne(all.a), b = ofOne(all.b), c = ofOne(all.c), residual = ofOne(all.residual);
  const auto scaleA = ofOne(all.scaleA), scaleC = ofOne(all.scaleC);
  const auto scaleB = ofOne(all.scaleB), bias = ofOne(all.bias);
  const Strided<OnHost, 0> memory{.address = workspace, .stride = {}},
      count = operandOf<0>(call.args.rows), seed = operandOf<0>(call.args.seed_memory);
  if (addsInLaunch(config)) {
    const std::int64_t flags =
        PartFlags::place(call.args.workspace->shape()[0], tilesOf(problem, config, m));
    call.launches.at(0, kGemmSplit)(call.on(blocks, config.threads), call.where,
                                    {.a = a,
                                     .b = b,
                                     .c = c,
                                     .scaleA = scaleA,
                                     .scaleB = scaleB,
                                     .bias = bias,
                                     .groupScales = all.groups.scales,
                                     .groupZeros = all.groups.zeros,
                                     .workspace = memory,
                                     .flags = {.address = workspace + flags, .stride = {}},
                                     .seed = call.args.seed,
                                     .m = rows,
                                     .scaleC = scaleC,
                                     .residual = residual,
                                     .rows = count,
                                     .seedMemory = seed});
  } else if (config.split_k > 1) {
    call.launches.at(0, kGemmParts)(call.on(blocks, config.threads), call.where,
                                    {.workspace = memory,
                                     .a = a,
                                     .b = b,
                                     .scaleA = scaleA,
                                     .scaleB = scaleB,
                                     .groupScales = all.groups.scales,
                                     .groupZeros = all.groups.zeros,
                                     .m = rows,
                                     .rows = count});
    call.launches.at(1, kGemmSum)(call.on(sumBlocks, kSumThreads), call.where,
                                  {.workspace = memory,
                                   .c = c,
                                   .scaleA = {.address = scaleA.address, .stride = {}},
                                   .scaleB = scaleB,
                                   .bias = bias,
                                   .seed = call.args.seed,
                                   .m = rows,
                                   .scaleC = scaleC,
                                   .residual = residual,
                                   .rows = count,
                                   .seedMemory = seed});
  } else {
    call.launches.at(0, kGemm)(call.on(blocks, config.threads), call.where,
                               {.a = a,
                                .b = b,
                                .c = c,
                                .scaleA = scaleA,
                                .scaleB = scaleB,
                                .bias = bias,
                                .groupScales = all.groups.scales,
                                .groupZeros = all.groups.zeros,
                                .seed = call.args.seed,
                                .m = rows,
                                .scaleC = scaleC,
                                .residual = residual,
                                .rows = count,
                                .seedMemory = seed});
  }
}

} // namespace

void Gemm::launch(const Call<GemmProblem> &call) {
  const GemmProblem &problem = call.problem;
  const GemmConfig &config = call.config;
  const Arguments arguments(FamilyOf<GemmProblem>::name, call.where);
  const Sizes sizes = sizesOf(arguments, problem, call.args.a);
  const std::int64_t m = sizes.m;
  const CallOperands all = CallChecks(arguments, problem, config, call.args, sizes).operands();
  // One for all matrices of a batch.
  arguments.checkIf(problem.rows, call.args.rows,
                    {.name = "rows", .dtype = i32, .shape = {"1", 1}});
  arguments.checkIf(problem.seed_in_memory, call.args.seed_memory,
                    {.name = "seed_memory", .dtype = i64, .shape = {"1", 1}});
  const std::int64_t workspace =
      arguments.workspace(call.args.workspace, workspaceBytes(problem, config, m));
  arguments.expectApart({{"c", "residual"}});
  if (m == 0 || sizes.batch == 0)
    return;
  const auto grid = [&](std::int64_t tiles) {
    if (tiles > std::numeric_limits<std::int32_t>::max()) [[unlikely]]
      arguments.fail("c has " + to_string(tiles) + " tiles; a grid has at most 2147483647");
    return tiles;
  };
  const std::int64_t blocks = grid(tilesOf(problem, config, m) * config.split_k);
  if (!problem.batch)
    return launchOne(call, all, workspace, m, blocks,
                     grid((m + kSumTileM - 1) / kSumTileM * sumTilesAcross(problem)));
  call.launches.at(0, kGemmBatch)(call.on(Dim3(blocks, sizes.batch), config.threads), call.where,
                                  {.a = all.a,
                                   .b = all.b,
                                   .c = all.c,
                                   .scaleA = all.scaleA,
                                   .scaleB = all.scaleB,
                                   .bias = all.bias,
                                   .groupScales = all.groups.scales,
                                   .groupZeros = all.groups.zeros,
                                   .m = static_cast<std::int32_t>(m),
                                   .scaleC = all.scaleC,
                                   .residual = all.residual,
                                   .rows = operandOf<0>(call.args.rows)});
}

GemmArgs Gemm::args(const GemmProblem &problem, const GemmConfig &config, std::int64_t m,
                    const Sampler &sampler) {
  const bool blocks = hasBlockScales(problem), isMx = hasMxScales(problem);
  const std::int64_t across = scaleBlocks(problem.k), batch = problem.batch;
  using Modes = std::vector<std::int64_t>;
  const auto inBatch = [&](Modes modes) {
    if (batch)
      modes.insert(modes.begin(), batch);
    return Extents(modes);
  };
  const auto scalesOf = [&](std::int64_t ofMatrix, OperandLayout layout) {
    if (layout != OperandLayout::prepared)
      return Modes{ofMatrix, problem.k / kMxBlock};
    const auto shape = PreparedScales::shape(ofMatrix, problem.k);
    return Modes(shape.begin(), shape.end());
  };
  const Modes rows{m}, columns{problem.columns()}, one{1},
      scalesA = isMx                                    ? scalesOf(m, problem.scale_a_layout)
                : blocks                                ? Modes{m, across}
                : problem.scale_a == Scales::per_tensor ? one
                                                        : rows,
      scalesB = isMx     ? scalesOf(problem.columns(), problem.scale_b_layout)
                : blocks ? Modes{scaleBlocks(problem.columns()), across}
                : problem.scale_b == Scales::per_tensor ? one
                                                        : columns,
      groups{groupsOf(problem.b_groups, problem.k), problem.columns()};
  const DType ofScales = typeOfScales(problem);
  const bool isOfBlocks = columnsOfScaleC(problem.scale_c) != 0;
  const auto matrix = [&](const char *name, DType dtype, OperandLayout layout, std::int64_t size) {
    if (layout == OperandLayout::rows)
      return sampler(name, dtype, inBatch({size, problem.k}), Role::input);
    const TensorArg turned = sampler(name, dtype, inBatch({problem.k, size}), Role::input);
    if (turned.rank() != (batch ? 3 : 2))
      return turned; // the sampler's own, which the call refuses
    Modes shape(turned.shape().begin(), turned.shape().end()),
        strides(turned.strides().begin(), turned.strides().end());
    std::swap(shape[shape.size() - 2], shape.back());
    std::swap(strides[strides.size() - 2], strides.back());
    return TensorArg(turned.data(), turned.dtype(), shape, strides);
  };
  const auto weights = [&]() -> WeightArg {
    if (problem.b_layout != OperandLayout::prepared)
      return matrix("b", problem.b, problem.b_layout, problem.n);
    const WeightProblem all = batch ? problem.weights(batch) : problem.weight();
    return PreparedWeight{all, sampleWeights(sampler, all, preshuffled(all))};
  };
  return {
      .a = matrix("a", problem.a, problem.a_layout, m),
      .b = weights(),
      .c = sampler("c", problem.c, inBatch({m, problem.n}), Role::output),
      .scale_a =
          sampleIf(problem.scale_a != Scales::none, sampler, "scale_a", ofScales, inBatch(scalesA)),
      .scale_b =
          sampleIf(problem.scale_b != Scales::none, sampler, "scale_b", ofScales, inBatch(scalesB)),
      .scale_c = sampleIf(problem.scale_c != Scales::none, sampler, "scale_c",
                          isOfBlocks ? problem.scale : DType(f32),
                          isOfBlocks ? inBatch({m, scalesOfRowOfC(problem)}) : inBatch(one),
                          isOfBlocks ? Role::output : Role::input),
      .group_scales = sampleIf(problem.b_groups.size != 0, sampler, "group_scales",
                               problem.b_groups.scale, inBatch(groups)),
      .group_zeros = sampleIf(problem.b_groups.zeros, sampler, "group_zeros", u8, inBatch(groups)),
      .bias = sampleIf(problem.bias, sampler, "bias", problem.type_of_bias(), inBatch(columns)),
      .residual = sampleIf(problem.residual, sampler, "residual", problem.type_of_residual(),
                           inBatch({m, problem.n})),
      .rows = sampleIf(problem.rows, sampler, "rows", i32, Extents{1}, Role::equal(m)),
      .seed_memory = sampleIf(problem.seed_in_memory, sampler, "seed_memory", i64, Extents{1},
                              Role::below(1 << 20)),
      .workspace = sampleIf(config.split_k > 1, sampler, "workspace", u8,
                            Extents{workspaceBytes(problem, config, m)},
                            addsInLaunch(config) ? Role::flagged : Role::workspace)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(GemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
