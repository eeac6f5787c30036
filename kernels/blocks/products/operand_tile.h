// A block's tile of an operand in global memory.
#pragma once

#include "blocks/common/read_once.h"
#include "blocks/products/loop_shape.h"
#include "blocks/products/preshuffle.h"
#include "blocks/products/views.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/gemm.h>

#include <functional>
#include <optional>
#include <variant>
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
  ReadOnce once = {}; ///< whether no other block reads it

  DType dtype() const { return tile.dtype(); }
  int size() const { return static_cast<int>(flydsl::size(tile, 0).value()); }
  /// Half of it, `rows` rows.
  OperandTile half(int number, int rows) const {
    const Tensor halves = flat_divide(tile, {rows, flydsl::size(tile, 1)}); // (size / 2, K, 2, 1)
    return {halves(_, _, number, 0), Int32(exist - number * rows), layout, far,
            once}; // (size / 2, K)
  }
};

/// Rows of A that indices name: row i of the tile is row `indices(i)` of the matrix, or zeros if
/// the matrix has no such row.
struct GatheredTile {
  Tensor matrix;  // (rows, K), with rows along K
  Int32 rows;     ///< of the matrix
  Tensor indices; // (size), i32
  Int32 exist;    ///< of the indices
  /// The bits of an index that are a row's number; the others say something else. -1: all.
  std::int32_t mask = -1;

  DType dtype() const { return matrix.dtype(); }
  int size() const { return static_cast<int>(flydsl::size(indices).value()); }
  /// Half of it, `ofHalf` rows.
  GatheredTile half(int number, int ofHalf) const {
    return {matrix, rows, tileFrom(indices, number * ofHalf, ofHalf), // (size / 2)
            Int32(exist - number * ofHalf), mask};
  }
  /// -1 past the end of the indices.
  Int32 indexOf(const Int32 &row) const {
    return if_(
        row < exist,
        [&] { return mask == -1 ? Int32(indices(row)) : Int32(Int32(indices(row)) & mask); },
        [] { return Int32(-1); });
  }
};

/// Rows of A, one way or the other.
using RowsOfA = std::variant<OperandTile, GatheredTile>;

/// What narrow weights have besides their bytes.
struct NarrowTile {
  DType dtype;
  /// Zero points of groups (groups, tileN / halves) from the start of a tile on, u8, of each half; empty
  /// if there are none.
  std::vector<Tensor> zeros;
  int group = 0; ///< elements of K that share one
};

/// Rows of prepared weights, a whole number of blocks, over the block's part of K.
struct PreparedRows {
  Preshuffled weights;
  Tensor from;  // ((16, blocks), (piece, 4, k)): from their start on
  Int32 blocks; ///< of 16 rows that exist from there on
  int size;     ///< rows

  DType dtype() const { return from.dtype(); }
};

/// Prepared weights of a block's tile; of narrow ones, `weights` is the matrix of their bytes.
struct PreparedTile {
  Preshuffled weights;
  std::vector<Tensor> halves; // ((16, blocks), (piece, 4, k)): from the start of a tile on
  Int32 blocks;               ///< of 16 rows that exist from there on
  std::optional<NarrowTile> narrow = {};
  /// The loop in units of the weights, if these are other elements of K than those of A.
  std::optional<LoopShape> shape = {};
  ReadOnce once = {}; ///< whether no other block, and no other wave, reads them

  DType dtype() const { return halves.front().dtype(); }
  /// Half of the tile's rows, of `size`: gates or ups where pairs are gated.
  PreparedRows half(int number, int size) const {
    if (halves.size() > 1)
      return {weights, halves[static_cast<std::size_t>(number)], blocks, size};
    const int first = number * (size / Preshuffled::kRows);
    const Tensor &all = halves.front();
    return {weights,
            make_view(all.iter() + all.layout()(make_coord(0, first), make_coord(0, 0, 0)),
                      all.layout()),
            Int32(blocks - first), size}; // (W, n, k)
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

/// Where the rows of a tile are: a buffer, and places in it.
class RowPlaces {
public:
  RowPlaces(const LoopShape &shape, const OperandTile &tile)
      : buffer_(firstStepOf(shape, tile)),
        place_([](const Tensor &buffer, const Int32 &row, const Int32 &column) {
          return Int32(buffer.layout()(row, column));
        }) {}
  RowPlaces(const LoopShape &shape, const GatheredTile &tile)
      : buffer_(bufferOf(tile.matrix, {tile.rows, shape.k}, tile.rows > 0)),
        place_([tile](const Tensor &buffer, const Int32 &row, const Int32 &column) {
          const Int32 index = tile.indexOf(row);
          const Boolean there = (index >= 0) & (index < tile.rows);
          return insideOf(buffer, there, Int32(buffer.layout()(index, column)));
        }) {}

  /// Of the tile of the first step and those that follow along K, or of all of the matrix.
  const Tensor &buffer() const { return buffer_; }
  /// The elements from the start of the buffer to an element of the tile; past its end if there is
  /// no such row.
  Int32 at(const Int32 &row, const Int32 &column) const { return place_(buffer_, row, column); }

private:
  Tensor buffer_;
  std::function<Int32(const Tensor &, const Int32 &, const Int32 &)> place_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
