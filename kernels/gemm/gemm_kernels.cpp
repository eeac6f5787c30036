// The kernels of products: C = activation(scale_a * scale_b * (A * B^T) + bias).
//
// A block takes a tile of C and a part of K from the TileScheduler, a Mainloop sums it up from
// views of A and B, and an Epilogue finishes the sums and stores them. If K has several parts,
// their sums go through a workspace: the last block of a tile adds them, or a second kernel.
#include "blocks/products/epilogue.h"
#include "blocks/products/mainloop.h"
#include "blocks/products/split_k.h"
#include "blocks/products/tile_scheduler.h"
#include "frame/compile.h"
#include "gemm/gemm_family.h"

#include <functional>
#include <memory>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Tile = WorkTile<Int32>;

Tile tileOfBlock(const GemmProblem &problem, const GemmConfig &config, const Int32 &m) {
  return TileScheduler<Int32>(tileGrid(problem, config), m).at(Int32(block_idx().x));
}

//===-- Operands ------------------------------------------------------------===//

/// An operand with the strides of a contiguous tensor.
template <int Modes> Strided<OnDevice, 0> packed(const Strided<OnDevice, Modes> &operand) {
  return {.address = operand.address, .stride = {}};
}
/// A matrix whose rows along K lie together, or its columns.
Tensor matrixOf(const Strided<OnDevice, 1> &operand, DType type, OperandLayout layout,
                const IntTuple &rows, std::int64_t k) {
  if (layout == OperandLayout::columns)
    return transposed(operand.view(type, {k, rows}, kPieceBytes)); // (rows, K)
  return operand.view(type, {rows, k}, kPieceBytes);               // (rows, K)
}
/// A block's tile of a matrix (rows, K), from a row and the block's part of K on.
OperandTile operandTile(const Tensor &matrix, const LoopShape &shape, OperandLayout layout,
                        int size, const Int32 &row, const Int32 &part, const Int32 &exist) {
  const Int32 first = part * static_cast<std::int32_t>(shape.k);
  return {tileFrom(matrix, {row, first}, {size, shape.k}), exist, layout}; // (size, K)
}
template <class Params>
OperandTile tileOfA(const GemmProblem &problem, const LoopShape &shape, const Tile &tile,
                    const Params &p) {
  const Tensor a = matrixOf(p.a, problem.a, problem.a_layout, p.m, problem.k); // (m, K)
  return operandTile(a, shape, problem.a_layout, shape.tileM, tile.row, tile.part, tile.rows);
}
template <class Params>
OperandTile tileOfB(const GemmProblem &problem, const LoopShape &shape, const Tile &tile,
                    const Params &p) {
  const Tensor b = matrixOf(p.b, problem.b, problem.b_layout, problem.n, problem.k); // (n, K)
  return operandTile(b, shape, problem.b_layout, shape.tileN, tile.column,
                     tile.part, min(Int32(problem.n) - tile.column, shape.tileN));
}
template <class Params>
PreparedTile weightsOfTile(const GemmProblem &problem, const LoopShape &shape, const Tile &tile,
                           const Params &p) {
  const Tensor memory = p.b.view(problem.b, weightsOf(problem).size(), kPieceBytes);
  return preparedTile(memory, weightsOf(problem), shape, tile.n, tile.part);
}

/// The scales of blocks of a tile, from the start of its part of K on.
template <class Params>
BlockScales blockScalesOf(const GemmProblem &problem, const LoopShape &shape, const Tile &tile,
                          const Params &p) {
  const DType type = problem.scale == f32 ? DType(f32) : DType(u8); // bytes that are exponents
  const std::int64_t blocksK = scaleBlocks(problem.k), blocksN = scaleBlocks(problem.columns()),
                     ofPart = scaleBlocks(shape.k);
  const Tensor a = p.scaleA.view(type, {p.m, blocksK});    // (m, K / 128)
  const Tensor b = p.scaleB.view(type, {blocksN, blocksK}); // (n / 128, K / 128)
  const Int32 first = tile.part * static_cast<std::int32_t>(shape.k / kScaleBlock);
  BlockScales scales{tileFrom(a, {tile.row, first}, {shape.tileM, ofPart}), tile.rows, {}, {}};
  for (int half = 0; half < shape.halves; ++half) {
    const Int32 row = rowOfScalesB<Int32>(problem, tile.column, half);
    scales.b.push_back(tileFrom(b, {row, first}, {shape.scalesOfHalf(), ofPart}));
    scales.blocksLeft.push_back(Int32(static_cast<std::int32_t>(blocksN)) - row);
  }
  return scales;
}

//===-- The main loop -------------------------------------------------------===//

template <class Params>
std::unique_ptr<Mainloop> mainloopOf(const GemmProblem &problem, const GemmConfig &config,
                                     const Tile &tile, const Params &p) {
  const LoopShape shape = loopShape(problem, config, *gemmForm(problem, config, target()));
  const TiledMma mma = weightsFirst(shape.form, shape.waves, shape.wavesM, shape.slices());
  const OperandTile a = tileOfA(problem, shape, tile, p);
  std::unique_ptr<Sums> sums = hasBlockScales(problem)
                                   ? std::make_unique<BlockScaledSums>(
                                         shape, mma, blockScalesOf(problem, shape, tile, p))
                                   : std::make_unique<Sums>(shape, mma);
  if (config.loop == GemmLoop::registers)
    return std::make_unique<FewRowsLoop>(shape, mma, std::move(sums), a,
                                         weightsOfTile(problem, shape, tile, p));
  if (problem.b_layout == OperandLayout::prepared)
    return std::make_unique<RingLoop<OperandTile, PreparedTile>>(shape, mma, std::move(sums), a,
                                                    weightsOfTile(problem, shape, tile, p));
  OperandTile b = tileOfB(problem, shape, tile, p);
  if (config.loop == GemmLoop::groups)
    return std::make_unique<HalfTileLoop>(shape, mma, std::move(sums), a, b);
  b.far = hasFarColumns(problem, config);
  return std::make_unique<RingLoop<OperandTile, OperandTile>>(shape, mma, std::move(sums), a, b);
}

//===-- The epilogue --------------------------------------------------------===//

/// What follows the sums of a half of B, but for the activation.
template <class Params>
Epilogue stagesOf(const GemmProblem &problem, const TileOfC &tile, const Params &p, int half) {
  const int halves = problem.gated ? 2 : 1;
  Epilogue epilogue(tile);
  if (problem.scale_a == Scales::per_row)
    epilogue.then(scaleRows(tile, packed(p.scaleA).view(f32, p.m)));
  if (problem.scale_b == Scales::per_row)
    epilogue.then(scaleColumns(tile, p.scaleB.view(f32, {halves, problem.n})(half, _)));
  if (problem.bias)
    epilogue.then(addToColumns(tile, p.bias.view(problem.c, {halves, problem.n})(half, _)));
  return epilogue;
}
/// Finishes a tile of C, given the groups of each half of B.
template <class Params>
void finishTile(const GemmProblem &problem, const TileOfC &tile, const Params &p,
                const std::function<GroupSums(int)> &ofHalf) {
  const Tensor c = p.c.view(problem.c, {p.m, problem.n}); // (m, n)
  const Tensor to =
      tileFrom(c, {tile.firstRow(), tile.firstColumn()}, tile.shape()); // (tileM, tileN)
  const auto half = [&](int number) { return stagesOf(problem, tile, p, number); };
  const GroupSums sums =
      problem.gated ? gatedPairs(problem.activation, half(0), ofHalf(0), half(1), ofHalf(1))
                    : ofHalf(0);
  Epilogue epilogue = problem.gated ? Epilogue(tile) : half(0);
  if (!problem.gated && problem.activation != Activation::none)
    epilogue.then(applyActivation(problem.activation));
  if (problem.rounding == Rounding::stochastic)
    epilogue.then(roundStochastically(problem.c, p.seed));
  epilogue.run(sums, to);
}
/// The tile of a matrix of n columns that a block's sums are.
TileOfC tileOfC(const GemmProblem &problem, const GemmConfig &config, std::int64_t n,
                const Tile &tile) {
  return {target().wave_size(),
          config.tile_m,
          tileAcross(problem, config),
          config.threads / config.waves_k,
          n,
          tile.row,
          tile.column,
          tile.rows,
          config.waves_m};
}

//===-- Kernels -------------------------------------------------------------===//

const FamilyKernel kGemmCode{
    kGemm, [](const GemmParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      const GemmProblem &problem = spec->problem;
      const GemmConfig &config = spec->config;
      const Tile tile = tileOfBlock(problem, config, p.m);
      mainloopOf(problem, config, tile, p)->run([&](const Sums &sums) {
        finishTile(problem, tileOfC(problem, config, problem.n, tile), p,
                   [&](int half) { return sums.groups(half); });
      });
    }};

/// Writes the sums of a block's part of K to the workspace.
template <class Params>
void writePart(const GemmProblem &problem, const GemmConfig &config, const Tile &tile,
               const Params &p, const PartSums &parts) {
  mainloopOf(problem, config, tile, p)->run([&](const Sums &sums) {
    const TileOfC place = tileOfC(problem, config, columnsOfParts(problem, config), tile);
    for (int half = 0; half < (problem.gated ? 2 : 1); ++half)
      Epilogue(place).run(
          sums.groups(half),
          parts.tile(tile.part, place, tile.column + half * static_cast<int>(problem.n)));
  });
}
/// Adds the parts of a tile and finishes it; `inParts` is the tile in the workspace.
template <class Params>
void finishParts(const GemmProblem &problem, const TileOfC &tile, const TileOfC &inParts,
                 const PartSums &parts, const Params &p) {
  finishTile(problem, tile, p,
             [&](int half) { return parts.total(inParts, half * problem.n); });
}

const FamilyKernel kGemmPartsCode{
    kGemmParts, [](const GemmPartsParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      writePart(problem, config, tileOfBlock(problem, config, p.m), p,
                PartSums(partsShape(problem, config), p.workspace, p.m));
    }};

const FamilyKernel kGemmSplitCode{
    kGemmSplit, [](const GemmSplitParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      const GemmProblem &problem = spec->problem;
      const GemmConfig &config = spec->config;
      const Tile tile = tileOfBlock(problem, config, p.m);
      const PartsShape shape = partsShape(problem, config);
      const PartSums parts(shape, p.workspace, p.m);
      writePart(problem, config, tile, p, parts);
      const auto add = [&] {
        finishParts(problem, tileOfC(problem, config, problem.n, tile),
                    tileOfC(problem, config, columnsOfParts(problem, config), tile), parts, p);
      };
      // Of waves that share K, the first ones hold the tile.
      const int holders = config.threads / config.waves_k;
      const Pointer flag = p.flags.view(i64, 1).iter() + tile.number;
      ifLast(shape, flag, tile.part, [&] {
        if (config.waves_k == 1)
          return add();
        if_(thread_idx().x < holders, add);
      });
    }};

const FamilyKernel kGemmSumCode{
    kGemmSum, [](const GemmSumParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const Tile tile = TileScheduler<Int32>({kSumTileM, kSumTileN, problem.n}, p.m)
                            .at(Int32(block_idx().x));
      const auto over = [&](std::int64_t n) {
        return TileOfC(target().wave_size(), kSumTileM, kSumTileN, kSumThreads, n, tile.row,
                       tile.column, tile.rows);
      };
      finishParts(problem, over(problem.n), over(columnsOfParts(problem, config)),
                  PartSums(partsShape(problem, config), p.workspace, p.m), p);
    }};

} // namespace

void Family<GemmProblem>::compile(const Compiler<GemmProblem> &compiler) {
  const int threads = compiler.config().threads;
  if (addsInLaunch(compiler.config())) {
    compiler(kGemmSplitCode, threads);
  } else if (compiler.config().split_k > 1) {
    compiler(kGemmPartsCode, threads);
    compiler(kGemmSumCode, kSumThreads);
  } else {
    compiler(kGemmCode, threads);
  }
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(GemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
