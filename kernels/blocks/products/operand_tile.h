// A block's tile of an operand in global memory.
#pragma once

#include "blocks/products/loop_shape.h"
#include "blocks/products/preshuffle.h"
#include "blocks/products/views.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/gemm.h>

#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Rows of A, or columns of the product as rows of B, over the block's part of K. Whether its rows
/// or its columns along K lie together is how its strides are.
struct OperandTile {
  Tensor tile; // (size, K)
  Int32 exist; ///< rows of it
  OperandLayout layout;
  /// By columns: the tiles of all steps span more than a buffer, and each has its own.
  bool far = false;

  DType dtype() const { return tile.dtype(); }
  int size() const { return static_cast<int>(flydsl::size(tile, 0).value()); }
  /// Half of it.
  OperandTile half(int number) const {
    const int rows = size() / 2;
    const Tensor halves = flat_divide(tile, {rows, flydsl::size(tile, 1)}); // (size / 2, K, 2, 1)
    return {halves(_, _, number, 0), Int32(exist - number * rows), layout, far};
  }
};

/// Rows of A that indices name: row i of the tile is row `indices(i)` of the matrix, or zeros if
/// the matrix has no such row.
struct GatheredTile {
  Tensor matrix;  // (rows, K), with rows along K
  Int32 rows;     ///< of the matrix
  Tensor indices; // (size), i32
  Int32 exist;    ///< of the indices

  DType dtype() const { return matrix.dtype(); }
  int size() const { return static_cast<int>(flydsl::size(indices).value()); }
  /// -1 past the end of the indices.
  Int32 indexOf(const Int32 &row) const {
    return if_(row < exist, [&] { return Int32(indices(row)); }, [] { return Int32(-1); });
  }
};

/// Prepared weights of a block's tile.
struct PreparedTile {
  Preshuffled weights;
  std::vector<Tensor> halves; // ((16, blocks), (piece, 4, k)): from the start of a tile on
  Int32 blocks;               ///< of 16 rows that exist from there on

  DType dtype() const { return halves.front().dtype(); }
};

/// The tile of the first step, as a buffer of all steps': they follow along K. It may be that none
/// of its rows exist.
inline Tensor firstStepOf(const LoopShape &shape, const OperandTile &operand) {
  const int size = operand.size();
  const Tensor first = tileFrom(operand.tile, {0, 0}, {size, shape.tileK}); // (size, tileK)
  const Int32 rows = min(operand.exist, size);
  return bufferOf(first, {rows, shape.k}, operand.exist > 0); // (size, tileK)
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
