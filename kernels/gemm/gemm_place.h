// Where a block of a product works: its tile of C, its part of K, and where these begin in the
// operands. The functions compute with a kernel's numbers and with the host's.
#pragma once

#include "blocks/products/operand_reach.h"
#include "blocks/products/tile_order.h"
#include "gemm/gemm_shape.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A block's place in the product.
template <class Int> struct GemmPlace {
  Int tile, tileN, part, row, column, rows;

  /// Of a grid that has the tiles of C once for each part of K.
  static GemmPlace of(const GemmProblem &problem, const GemmConfig &config, const Int &m,
                      const Int &block) {
    const Int tilesM = quotientUp(m, config.tile_m), tilesN = Int(tilesAcross(problem, config));
    const bool split = config.split_k > 1;
    const Int tiles(tilesM * tilesN);
    const Int tile = split ? Int(block % tiles) : block;
    const auto [tileM, tileN] = tileOf<Int>(config.order, tile, tilesM, tilesN);
    return at(problem, config, m, tile, tileM, tileN, split ? Int(block / tiles) : Int(0));
  }
  /// Of the tile `number` at (tileM, tileN), and a part of K.
  static GemmPlace at(const GemmProblem &problem, const GemmConfig &config, const Int &m,
                      const Int &number, const Int &tileM, const Int &tileN, const Int &part) {
    const Int row(tileM * config.tile_m);
    return {number,
            tileN,
            part,
            row,
            Int(tileN * tileAcross(problem, config)),
            lesser(Int(m - row), Int(config.tile_m))};
  }
  /// The first element of K of the block's part.
  Wide<Int> firstK(const LoopShape &shape) const { return Wide<Int>(wide(part) * shape.k); }
};

/// The element of an operand that is not prepared at which a tile begins: a row, or column, and an
/// element of K.
template <class Int>
Wide<Int> startOfTile(OperandLayout layout, const Int &row, const Wide<Int> &k,
                      const Wide<Int> &stride) {
  return layout == OperandLayout::rows ? Wide<Int>(wide(row) * stride + k)
                                       : Wide<Int>(k * stride + wide(row));
}
/// The byte of prepared weights at which a half of a tile begins, and the blocks of 16 rows that
/// exist from there on.
template <class Int>
Wide<Int> startOfWeights(const GemmProblem &problem, const LoopShape &shape, const Int &tileN,
                         int half, const Wide<Int> &k) {
  const Preshuffled weights = weightsOf(problem);
  const Wide<Int> block(wide(tileN) * (shape.tileOfHalf() / Preshuffled::kRows) +
                        half * (problem.n / Preshuffled::kRows));
  return Wide<Int>(block * (weights.rowOfBlocks() * weights.bytes) +
                   k * (Preshuffled::kRows * weights.bytes));
}
template <class Int>
Int blocksOfWeightsLeft(const GemmProblem &problem, const LoopShape &shape, const Int &tileN) {
  return Int(Int(weightsOf(problem).blocksN() / shape.halves) -
             tileN * (shape.tileOfHalf() / Preshuffled::kRows));
}
/// The row of scales of blocks of B of a half of a tile that begins at a column.
template <class Int> Int rowOfScalesB(const GemmProblem &problem, const Int &column, int half) {
  return Int(column / kScaleBlock + half * scaleBlocks(problem.n));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
