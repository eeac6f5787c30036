// A block's tile of an operand that is not prepared, in global memory.
#pragma once

#include "blocks/products/loop_shape.h"
#include "blocks/products/views.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/gemm.h>

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
