// The work of a block of a product: views of its operands, its main loop, and the stages after it.
//
// `p` are the arguments of a kernel: the operands that its problem has, by the names of GemmParams.
#pragma once

#include "blocks/products/epilogue.h"
#include "blocks/products/group_scaled_sums.h"
#include "blocks/products/mainloop.h"
#include "blocks/products/quantised_tile.h"
#include "blocks/products/tile_scheduler.h"
#include "gemm/gemm_params.h"
#include "gemm/gemm_shape.h"
#include "gemm/mx_operands.h"
#include "gemm/mx_sums.h"

#include <memory>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

using BlockTile = WorkTile<Int32>;

inline PlaceInC placeInC(const BlockTile &tile) {
  return {.row = tile.row, .column = tile.column, .rows = tile.rows};
}

//===-- Operands ------------------------------------------------------------===//

/// An operand with the strides of a contiguous tensor.
template <int Modes> Strided<OnDevice, 0> packed(const Strided<OnDevice, Modes> &operand) {
  return {.address = operand.address, .stride = {}};
}
/// An operand as a matrix (rows, K), however it lies in memory. Elements of 4 bits are counted in pairs, as
/// bytes; the stride counts them so too.
inline Tensor matrixOf(const Strided<OnDevice, 1> &operand, DType element, OperandLayout layout,
                       const IntTuple &rows, std::int64_t elements) {
  const PackedOperand packed{element};
  const DType type = packed.unit();
  const std::int64_t k = elements / packed.elements();
  if (layout == OperandLayout::columns)
    return transposed(operand.view(type, {k, rows}, kPieceBytes)); // (rows, K)
  return operand.view(type, {rows, k}, kPieceBytes);               // (rows, K)
}
/// A block's tile (size, K) of a matrix (rows, K), from a row and the block's part of K on.
inline OperandTile operandTile(const Tensor &matrix, const LoopShape &shape, OperandLayout layout,
                               int size, const Int32 &row, const Int32 &part,
                               const Int32 &validRows) {
  const Int32 first = part * static_cast<std::int32_t>(shape.k);
  return {tileFrom(matrix, {row, first}, {size, shape.k}), validRows, layout}; // (size, K)
}
/// The rows of a that loads bring. By columns a load brings 16 bytes of neighbouring rows, so that the number
/// of valid rows is rounded up; the results of the surplus rows are not stored.
inline Int32 rowsOfLoads(const GemmProblem &problem, OperandLayout layout, const Int32 &validRows) {
  if (layout != OperandLayout::columns)
    return validRows;
  const int piece = kPieceBytes / packedA(problem).unit().bytes();
  return (validRows + (piece - 1)) & -piece;
}
/// A block's tile of a, (tileM, K).
template <class Params>
OperandTile tileOfA(const GemmProblem &problem, const LoopShape &shape, const BlockTile &tile,
                    const Params &p) {
  const Tensor a = matrixOf(p.a, problem.a, problem.a_layout, p.m, problem.k); // (m, K)
  // The matrix has whole pieces by columns. A number in device memory may end inside of one.
  const Int32 rows = problem.rows ? rowsOfLoads(problem, problem.a_layout, tile.rows) : tile.rows;
  return operandTile(a, shape, problem.a_layout, shape.tileM, tile.row, tile.part, rows);
}
/// Whether loads of b keep no cache lines, because a launch reads each line once. `readsBOnce`: no other block
/// reads this block's rows of B. Then other blocks have other lines, and a load must have whole ones.
template <class Params>
ReadOnce readOnce(const GemmProblem &problem, const GemmConfig &config, const LoopShape &shape,
                  const Boolean &readsBOnce, const Params &p) {
  // Loops whose sums have scales of their own on the way take longer in two copies than they gain.
  const bool isScaled =
      hasBlockScales(problem) || hasMxScales(problem) || problem.b_groups.size != 0;
  // In two rounds of a vector's loop, which begin at once, the choice takes longer than it gains.
  const bool isShort = config.loop == GemmLoop::vector && shape.steps() <= 2 * shape.wavesK;
  if (isScaled || isShort || config.loop == GemmLoop::groups || config.tile_m > kMostRowsOfOnce)
    return {};
  if (problem.b_layout == OperandLayout::prepared) // A load has a block of them, a kilobyte.
    return shape.wavesM == 1 ? ReadOnce(readsBOnce) : ReadOnce();
  const bool byRows = problem.b_layout == OperandLayout::rows;
  const int unit = packedB(problem).unit().bytes(),
            together = byRows ? shape.rowBytes() : shape.tileN * unit;
  // Columns that are turned in registers are loaded by parts of lines.
  if (together % kCacheLine != 0 || (!byRows && !shape.dma))
    return {};
  return ReadOnce(readsBOnce & ((Int64(p.b.stride[0]) * unit & (kCacheLine - 1)) == 0));
}
/// A block's tile of b that is not prepared, (tileN, K).
template <class Params>
OperandTile tileOfB(const GemmProblem &problem, const GemmConfig &config, const LoopShape &shape,
                    const BlockTile &tile, const Boolean &readsBOnce, const Params &p) {
  const Tensor b = matrixOf(p.b, problem.b, problem.b_layout, problem.n, problem.k); // (n, K)
  const OperandTile ofB = operandTile(b, shape, problem.b_layout, shape.tileN, tile.column,
                                      tile.part, min(Int32(problem.n) - tile.column, shape.tileN));
  return {ofB.tile, ofB.validRows, ofB.layout, hasFarColumns(problem, config),
          readOnce(problem, config, shape, readsBOnce, p)};
}
/// Numbers of the groups of narrow weights (groups, columns) as buffers, over the block's part of K: from
/// the start of the tile on, of each half.
inline std::vector<Tensor> groupsOfTile(const GemmProblem &problem, const LoopShape &shape,
                                        const BlockTile &tile, const Strided<OnDevice, 0> &numbers,
                                        DType type) {
  const std::int64_t ofPart = groupsOf(problem.b_groups, shape.k);
  const Tensor all = numbers.view(
      type, {groupsOf(problem.b_groups, problem.k), problem.columns()}); // (groups, columns)
  const Int32 first = tile.part * static_cast<std::int32_t>(ofPart);
  std::vector<Tensor> halves;
  for (int half = 0; half < shape.halves; ++half) {
    const Tensor from =
        tileFrom(all, {first, tile.column + half * static_cast<std::int32_t>(problem.n)},
                 {ofPart, shape.tileOfHalf()}); // (groups, tileN / halves)
    halves.push_back(bufferOf(from, {ofPart, min(Int32(problem.n) - tile.column,
                                                 shape.tileOfHalf())})); // (groups, tileN / halves)
  }
  return halves;
}
/// A block's tile of prepared b: in each half (tileN / halves, K), as blocks ((16, blocks), (piece, 4, k)).
template <class Params>
PreparedTile weightsOfTile(const GemmProblem &problem, const GemmConfig &config,
                           const LoopShape &shape, const BlockTile &tile, const Boolean &readsBOnce,
                           const Params &p) {
  const Preshuffled weights = weightsOf(problem);
  const bool isNarrow = problem.narrow();
  const Tensor memory = p.b.view(isNarrow ? DType(u8) : packedB(problem).unit(), weights.size(),
                                 kPieceBytes); // (elements of all blocks)
  const std::optional<LoopShape> shapeB = loopShapeOfB(problem, shape);
  PreparedTile prepared = preparedTile(memory, weights, shapeB ? *shapeB : shape, tile.n, tile.part,
                                       isNarrow ? narrowBlockK(problem.b) : weights.blockK(),
                                       readOnce(problem, config, shape, readsBOnce, p));
  prepared.shapeB = shapeB;
  if (isNarrow) {
    prepared.narrow.emplace(
        NarrowTile{.dtype = problem.b, .zeros = {}, .group = problem.b_groups.size});
    if (problem.b_groups.zeros)
      prepared.narrow->zeros = groupsOfTile(problem, shape, tile, p.groupZeros, u8);
  }
  return prepared;
}

/// The scales of blocks of a tile, from the start of its part of K on, given those of a (m, K / 128)
/// and of b (n / 128, K / 128).
inline BlockScales blockScalesFrom(const GemmProblem &problem, const LoopShape &shape,
                                   const BlockTile &tile, const Tensor &a, const Tensor &b) {
  const std::int64_t ofPart = scaleBlocks(shape.k);
  const auto rowsOfB = static_cast<std::int32_t>(scaleBlocks(problem.columns()));
  const Int32 first = tile.part * static_cast<std::int32_t>(shape.k / kScaleBlock);
  BlockScales scales{
      tileFrom(a, {tile.row, first}, {shape.tileM, ofPart}), tile.rows, {}, {}}; // (tileM, K / 128)
  for (int half = 0; half < shape.halves; ++half) {
    const Int32 row = rowOfScalesB<Int32>(problem, tile.column, half);
    scales.b.push_back(tileFrom(b, {row, first},
                                {shape.scalesOfHalf(), ofPart})); // (tileN / halves / 128, K / 128)
    scales.blocksLeft.push_back(Int32(rowsOfB) - row);
  }
  return scales;
}
template <class Params>
BlockScales blockScalesOf(const GemmProblem &problem, const LoopShape &shape, const BlockTile &tile,
                          const Params &p) {
  const DType type = problem.scale == f32 ? DType(f32) : DType(u8); // bytes that are exponents
  const std::int64_t blocksK = scaleBlocks(problem.k), blocksN = scaleBlocks(problem.columns());
  const Tensor a = p.scaleA.view(type, {p.m, blocksK});     // (m, K / 128)
  const Tensor b = p.scaleB.view(type, {blocksN, blocksK}); // (n / 128, K / 128)
  return blockScalesFrom(problem, shape, tile, a, b);
}
/// The scales of rows of A that are gathered, by the indices of the rows.
inline GatheredTile gatheredScales(const GatheredTile &rows, const Tensor &scales) {
  return {.matrix = scales,
          .rows = rows.rows,
          .indices = rows.indices,
          .validRows = rows.validRows,
          .mask = rows.mask};
}
/// The scales of blocks of a tile with these rows of A: the scales of gathered rows are gathered as they are.
template <class Params>
BlockScales blockScalesOf(const RowsOfA &rows, const GemmProblem &problem, const LoopShape &shape,
                          const BlockTile &tile, const Params &p) {
  BlockScales scales = blockScalesOf(problem, shape, tile, p);
  if (const auto *gathered = std::get_if<GatheredTile>(&rows))
    scales.gathered.emplace(gatheredScales(
        *gathered, p.scaleA.view(scales.a.dtype(),
                                 {gathered->rows, scaleBlocks(problem.k)}))); // (rows, K / 128)
  return scales;
}

/// Which rows and columns of a matrix (rows, k) prepared scales are of.
struct MxRowsOfBlock {
  Int32 rows;         ///< rows of the matrix
  std::int64_t k;     ///< columns of the matrix
  Int32 firstRow;     ///< the first row of the block's tile
  int tileRows;       ///< rows of the tile
  bool isWhole;       ///< the tile has whole groups of 32 rows
  int elementsOfPart; ///< columns of the block's part of k
  Int32 part;         ///< the number of this part
};
/// Prepared scales of a block's tile.
template <int Modes>
PreparedMxTile preparedMxTile(const Strided<OnDevice, Modes> &scales, const MxRowsOfBlock &of) {
  constexpr int kRows = PreparedScales::kRows, kBlock = PreparedScales::kBlock;
  const auto blocksOf = [](std::int64_t elements) {
    return static_cast<int>(PreparedScales::shape(1, elements)[1]);
  };
  const int blocks = blocksOf(of.elementsOfPart),
            ofTile = of.isWhole ? of.tileRows / kRows : (of.tileRows + kRows - 1) / kRows + 1;
  const Int32 groups = ceildiv(of.rows, kRows), group = of.firstRow / kRows;
  const Tensor all = scales.view(u8, {groups, blocksOf(of.k), kBlock}); // (groups, blocks, block)
  return {.scales = tileFrom(all, {group, of.part * blocks, 0},
                             {ofTile, blocks, kBlock}), // (groups, blocks, block)
          .validGroups = min(groups - group, ofTile),
          .blocks = blocks,
          .first = of.isWhole ? Int32(0) : Int32(of.firstRow / 16 % 2),
          .isWhole = of.isWhole};
}

/// The scales of 32 elements of K of a tile, from the start of its part of K on: (tileM, K / 32) of A, and
/// (tileN / halves, K / 32) of a half of B. Prepared ones of A are those of the tile's places, also where its rows are
/// gathered.
template <class Params>
MxScalesOfRows mxScalesOfA(const RowsOfA &rows, const GemmProblem &problem, const LoopShape &shape,
                           const BlockTile &tile, const Params &p) {
  const int elementsOfPart = static_cast<int>(shape.k) * packedA(problem).elements();
  if (problem.scale_a_layout == OperandLayout::prepared)
    return preparedMxTile(p.scaleA, {.rows = Int32(p.m),
                                     .k = problem.k,
                                     .firstRow = tile.row,
                                     .tileRows = shape.tileM,
                                     .isWhole = hasWholeGroups(shape.tileM),
                                     .elementsOfPart = elementsOfPart,
                                     .part = tile.part});
  const std::int64_t ofRow = problem.k / kMxBlock, ofPart = elementsOfPart / kMxBlock;
  const Int32 first = tile.part * static_cast<std::int32_t>(ofPart);
  const Tensor all = p.scaleA.view(u8, {p.m, ofRow});                           // (m, K / 32)
  MxTile own{.scales = tileFrom(all, {tile.row, first}, {shape.tileM, ofPart}), // (tileM, K / 32)
             .validRows = tile.rows,
             .ofRow = ofRow,
             .ofPart = ofPart};
  if (const auto *gathered = std::get_if<GatheredTile>(&rows))
    own.gathered.emplace(
        gatheredScales(*gathered, p.scaleA.view(u8, {gathered->rows, ofRow}))); // (rows, K / 32)
  return own;
}
template <class Params>
MxScalesOfRows mxScalesOfB(int half, const GemmProblem &problem, const LoopShape &shape,
                           const BlockTile &tile, const Params &p) {
  const int elementsOfPart = static_cast<int>(shape.k) * packedA(problem).elements(),
            across = shape.tileOfHalf();
  const Int32 column = tile.column + half * static_cast<std::int32_t>(problem.n);
  if (problem.scale_b_layout == OperandLayout::prepared)
    return preparedMxTile(p.scaleB, {.rows = Int32(static_cast<std::int32_t>(problem.columns())),
                                     .k = problem.k,
                                     .firstRow = column,
                                     .tileRows = across,
                                     .isWhole = hasWholeGroups(across, half * problem.n),
                                     .elementsOfPart = elementsOfPart,
                                     .part = tile.part});
  const std::int64_t ofRow = problem.k / kMxBlock, ofPart = elementsOfPart / kMxBlock;
  const Int32 first = tile.part * static_cast<std::int32_t>(ofPart);
  const Tensor all = p.scaleB.view(u8, {problem.columns(), ofRow}); // (columns, K / 32)
  return MxTile{.scales =
                    tileFrom(all, {column, first}, {across, ofPart}), // (tileN / halves, K / 32)
                .validRows = min(Int32(problem.n) - tile.column, across),
                .ofRow = ofRow,
                .ofPart = ofPart};
}
template <class Params>
MxScales mxScalesOf(const RowsOfA &rows, const GemmProblem &problem, const LoopShape &shape,
                    const BlockTile &tile, const Params &p) {
  std::vector<MxScalesOfRows> b;
  for (int half = 0; half < shape.halves; ++half)
    b.push_back(mxScalesOfB(half, problem, shape, tile, p));
  return {mxScalesOfA(rows, problem, shape, tile, p), b, problem.a, problem.b};
}

/// The scales of groups of narrow weights, (groups, tileN / halves) of each half.
template <class Params>
GroupScales groupScalesOf(const GemmProblem &problem, const LoopShape &shape, const BlockTile &tile,
                          const Params &p) {
  const DType type = problem.b_groups.scale;
  return {type, problem.b_groups.size,
          groupsOfTile(problem, shape, tile, p.groupScales, type == f8E8M0FNU ? DType(u8) : type)};
}

//===-- The main loop -------------------------------------------------------===//

/// The loop of a block, given its rows of A. `readsBOnce`: no other block reads this block's rows of B, see
/// `readOnce`.
template <class Params>
std::unique_ptr<Mainloop> mainloopOver(const RowsOfA &a, const GemmProblem &problem,
                                       const GemmConfig &config, const BlockTile &tile,
                                       const Boolean &readsBOnce, const Params &p) {
  const LoopShape shape = loopShape(problem, config, *gemmForm(problem, config, target()));
  // The product is transposed: the tile of the mma is (16 waves, 16 wavesM, a round of K).
  const TiledMma mma = weightsFirst(shape.form, shape.waves, shape.wavesM, shape.slices());
  std::unique_ptr<Sums> sums;
  if (hasBlockScales(problem))
    sums = std::make_unique<BlockScaledSums>(shape, mma, blockScalesOf(a, problem, shape, tile, p));
  else if (hasMxScales(problem))
    sums = std::make_unique<MxSums>(shape, mma, mxScalesOf(a, problem, shape, tile, p));
  else if (problem.b_groups.size)
    sums = std::make_unique<GroupScaledSums>(shape, mma, groupScalesOf(problem, shape, tile, p));
  else
    sums = std::make_unique<Sums>(shape, mma);
  return makeMainloop(
      config.loop, shape, mma, std::move(sums), a,
      [&] { return weightsOfTile(problem, config, shape, tile, readsBOnce, p); },
      [&] { return tileOfB(problem, config, shape, tile, readsBOnce, p); });
}
/// The loop of a block whose rows of A follow one another.
template <class Params>
std::unique_ptr<Mainloop> mainloopOf(const GemmProblem &problem, const GemmConfig &config,
                                     const BlockTile &tile, const Boolean &readsBOnce,
                                     const Params &p) {
  const LoopShape shape = loopShape(problem, config, *gemmForm(problem, config, target()));
  return mainloopOver(tileOfA(problem, shape, tile, p), problem, config, tile, readsBOnce, p);
}

//===-- The epilogue --------------------------------------------------------===//

/// The one scale of a tensor.
inline Numeric scaleOfTensor(const Strided<OnDevice, 0> &scale) {
  return scale.view(f32, 1)(0); // (1)
}
/// Adds the stages of the columns of a half of B: their scales and their bias.
template <class Params>
void addColumnStages(Epilogue &epilogue, const GemmProblem &problem, const TileOfC &tile,
                     const Params &p, int half) {
  const int halves = problem.gated ? 2 : 1;
  if (problem.scale_b == Scales::per_row)
    epilogue.then(scaleColumns(tile, p.scaleB.view(f32, {halves, problem.n})(half, _))); // (n)
  if (problem.scale_b == Scales::per_tensor)
    epilogue.then(scaleAllBy(scaleOfTensor(p.scaleB)));
  if (problem.bias)
    epilogue.then(addToColumns(
        tile, p.bias.view(problem.type_of_bias(), {halves, problem.n})(half, _))); // (n)
}
/// A factor for each row, (M). In a batch they lie at a stride.
template <class Params> Tensor scalesOfRows(const GemmProblem &problem, const Params &p) {
  if constexpr (requires { p.scaleA.stride[0]; })
    if (problem.batch)
      return Strided<OnDevice, 1>{p.scaleA.address, {p.scaleA.stride[0]}}.view(f32, p.m); // (M)
  return packed(p.scaleA).view(f32, p.m);                                                 // (M)
}
/// What follows the sums of a half of B, but for the activation.
template <class Params>
Epilogue stagesOf(const GemmProblem &problem, const TileOfC &tile, const Params &p, int half) {
  Epilogue epilogue(tile);
  if (problem.scale_a == Scales::per_row)
    epilogue.then(scaleRows(tile, scalesOfRows(problem, p)));
  if (problem.scale_a == Scales::per_tensor)
    epilogue.then(scaleAllBy(scaleOfTensor(packed(p.scaleA))));
  addColumnStages(epilogue, problem, tile, p, half);
  if (problem.residual)
    epilogue.then(addMatrix(tile, p.residual.view(problem.type_of_residual(), {p.m, problem.n}),
                            problem.beta)); // (m, n)
  return epilogue;
}
/// The tile of a matrix of n columns that a block's sums are.
inline TileOfC tileOfC(const GemmProblem &problem, const GemmConfig &config, std::int64_t n,
                       const BlockTile &tile) {
  // Two groups of waves fill all registers of a lane: nothing is kept for what comes after their loop.
  const Int32 thread = config.loop == GemmLoop::groups
                           ? Int32(rematerialised(Int32(thread_idx().x)) & (config.threads - 1))
                           : Int32(thread_idx().x);
  return {{.lanes = target().wave_size(),
           .tileM = config.tile_m,
           .tileN = tileAcross(problem, config),
           .threads = config.threads / config.waves_k,
           .n = n,
           .wavesM = config.waves_m},
          placeInC(tile),
          thread};
}
/// The tile of C of a block that adds the parts of K, in a matrix of n columns: of C, or of a part's sums.
inline TileOfC tileOfSum(std::int64_t n, const BlockTile &tile) {
  return TileOfC({.lanes = target().wave_size(),
                  .tileM = kSumTileM,
                  .tileN = kSumTileN,
                  .threads = kSumThreads,
                  .n = n},
                 placeInC(tile));
}
/// How a group of sums becomes elements of C, if it needs no scales but one. `p` has that.
template <class Params> Conversion conversionOf(const GemmProblem &problem, const Params &p) {
  if (problem.scale_c == Scales::per_tensor)
    return overScale(problem.c, scaleOfTensor(packed(p.scaleC)));
  return roundTo(problem.c);
}
/// The tile (tileM, tileN) of C; of elements of 4 bits, two of them in a byte, (tileM, tileN / 2).
template <class Params>
Tensor tileOfResults(const GemmProblem &problem, const TileOfC &tile, const Params &p) {
  const PackedOperand packed{problem.c};
  const bool isPacked = packed.elements() > 1;
  const TileOfC units = isPacked ? tile.pairs() : tile;
  const Tensor c = p.c.view(isPacked ? DType(u8) : problem.c, {p.m, units.n()}); // (m, n)
  return tileFrom(c, {units.firstRow(), units.firstColumn()}, units.shape());    // (tileM, tileN)
}
/// Stores a tile of C, `to` as tileOfResults gives it, in its type. `p` has the scales of C.
template <class Params>
void storeTile(const GemmProblem &problem, const TileOfC &tile, const Epilogue &epilogue,
               const SumsAt &sums, const Tensor &to, const Params &p) {
  const int block = columnsOfScaleC(problem.scale_c);
  if (!block)
    return epilogue.run(sums, to, conversionOf(problem, p));
  const DType type = problem.scale == f32 ? DType(f32) : DType(u8); // bytes that are exponents
  storeInBlocks(tile, epilogue, sums, to, problem.c,
                p.scaleC.view(type, {p.m, (tile.n() + block - 1) / block}),
                block); // (m, n / block)
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
