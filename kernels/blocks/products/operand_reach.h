// How far a block of a product reaches into its operands: the extents of the buffers through which
// it reads and writes them, and which parts of K exist. Past the end of a buffer there are zeros.
//
// The functions compute with a kernel's numbers and with the host's, so that a host's model of the
// kernel proves what the kernel does (tests/kernels/support/product_reach.h).
#pragma once

#include "blocks/common/host_or_traced.h"
#include "blocks/products/loop_shape.h"
#include "blocks/products/preshuffle.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Elements from the start of a tile to the end of its rows of k elements each: `exist` of `size`
/// exist, and at least one.
template <class Int>
Wide<Int> reachOfRows(const Int &exist, int size, const Wide<Int> &stride, std::int64_t k) {
  return Wide<Int>(wide(Int(lesser(exist, Int(size)) - 1)) * stride + k);
}
/// The same of k columns.
template <class Int>
Wide<Int> reachOfColumns(const Int &exist, const Wide<Int> &stride, const Wide<Int> &k) {
  return Wide<Int>((k - 1) * stride + wide(exist));
}

/// The columns of a block's part of K, with those that fill the last block of prepared weights.
inline std::int64_t paddedPart(const LoopShape &shape, const Preshuffled &weights) {
  return Preshuffled{weights.n, shape.k, weights.bytes}.paddedK();
}
/// Elements from the start of a tile of prepared weights, at the block's part of K, to its end;
/// `blocks` blocks of 16 rows exist from there on.
template <class Int>
Wide<Int> reachOfWeights(const LoopShape &shape, const Preshuffled &weights, const Int &blocks) {
  const Int rows(lesser(blocks, Int(shape.tileOfHalf() / Preshuffled::kRows)) - 1);
  return Wide<Int>(wide(rows) * weights.rowOfBlocks() +
                   paddedPart(shape, weights) * Preshuffled::kRows);
}
/// The first element of K, in the block's part of it, that a wave multiplies of a part of a step;
/// `inRound` is the wave's place among those that share a round.
template <class Int>
Int firstOfPart(const LoopShape &shape, const Int &step, int part, Int inRound) {
  return Int(step * shape.tileK + part * shape.round() + inRound);
}

/// Elements from the start of a tile of C, or of sums of parts, to its end: `rows` rows exist, and
/// `columnsLeft` columns from its first one on.
template <class Int>
Wide<Int> reachOfTile(const Int &rows, const Wide<Int> &stride, const Int &columnsLeft) {
  return Wide<Int>(wide(Int(rows - 1)) * stride + wide(columnsLeft));
}

/// The same of scales of blocks of A, which lie at any strides, and of rows of blocks of B.
template <class Int>
Wide<Int> reachOfScalesA(const LoopShape &shape, const Int &rows, const Wide<Int> &rowStride,
                         const Wide<Int> &blockStride) {
  return Wide<Int>(wide(Int(rows - 1)) * rowStride + blockStride * (shape.scaleBlocks() - 1) + 1);
}
template <class Int>
Wide<Int> reachOfScalesB(const LoopShape &shape, const Int &rowsLeft, std::int64_t rowStride) {
  return Wide<Int>(wide(Int(rowsLeft - 1)) * rowStride + shape.scaleBlocks());
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
