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

/// A block's tile (size, K) of A, or of B, over its part of K. `layout` says which mode has stride 1 in
/// memory: K (rows), or the first one (columns).
struct OperandTile {
  Tensor tile;     // (size, K)
  Int32 validRows; ///< rows of the tile that the matrix has; none if this is not positive
  OperandLayout layout;
  /// By columns: the tiles of all steps span more than a buffer reaches, and each step has its own.
  bool far = false;
  ReadOnce once = {}; ///< whether no other block reads it

  DType dtype() const { return tile.dtype(); }
  int size() const { return static_cast<int>(flydsl::size(tile, 0).value()); }
  /// A half tile: the first or the second `rows` rows.
  OperandTile halfTile(int number, int rows) const {
    const Tensor halves = flat_divide(tile, {rows, flydsl::size(tile, 1)}); // (size / 2, K, 2, 1)
    return {halves(_, _, number, 0), Int32(validRows - number * rows), layout, far,
            once}; // (size / 2, K)
  }
};

/// Rows of A that indices name: row i of the tile is row `indices(i)` of the matrix, or zeros if
/// the matrix has no such row.
struct GatheredTile {
  Tensor matrix;   // (rows, K), with rows along K
  Int32 rows;      ///< rows of the matrix
  Tensor indices;  // (size), i32
  Int32 validRows; ///< indices of the tile that there are
  /// The bits of an index that are a row's number; the others say something else. -1: all.
  std::int32_t mask = -1;

  DType dtype() const { return matrix.dtype(); }
  int size() const { return static_cast<int>(flydsl::size(indices).value()); }
  /// A half tile: the first or the second `count` rows.
  GatheredTile halfTile(int number, int count) const {
    return {matrix, rows, tileFrom(indices, number * count, count), // (size / 2)
            Int32(validRows - number * count), mask};
  }
  /// The index of a row of the tile; -1 past the end of the indices.
  Int32 indexOf(const Int32 &row) const {
    return if_(
        row < validRows,
        [&] { return mask == -1 ? Int32(indices(row)) : Int32(Int32(indices(row)) & mask); },
        [] { return Int32(-1); });
  }
  /// The row of the matrix that is row `row` of the tile, and whether the matrix has it.
  struct Found {
    Int32 row;
    Boolean valid;
  };
  Found find(const Int32 &row) const {
    const Int32 index = indexOf(row);
    return {index, (index >= 0) & (index < rows)};
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
  Tensor from;       // ((16, blocks), (piece, 4, k)): from the tile's start on
  Int32 validBlocks; ///< blocks of 16 rows that the weights have from there on
  int size;          ///< rows of the tile

  DType dtype() const { return from.dtype(); }
};

/// Prepared weights of a block's tile; of narrow ones, `weights` is the matrix of their bytes.
struct PreparedTile {
  Preshuffled weights;
  std::vector<Tensor>
      halves;        // ((16, blocks), (piece, 4, k)): from the tile's start on, of each half
  Int32 validBlocks; ///< blocks of 16 rows that each half has from there on
  std::optional<NarrowTile> narrow = {};
  /// The loop's numbers as B counts them (loopShapeOfB); none if A and B count alike.
  std::optional<LoopShape> shapeB = {};
  ReadOnce once = {}; ///< whether no other block, and no other wave, reads them

  DType dtype() const { return halves.front().dtype(); }
  /// A half tile of `size` rows: gates or ups if pairs are gated, otherwise the first or the second rows.
  PreparedRows halfTile(int number, int size) const {
    if (halves.size() > 1)
      return {weights, halves[static_cast<std::size_t>(number)], validBlocks, size};
    const int first = number * (size / Preshuffled::kRows);
    const Tensor &all = halves.front();
    return {weights,
            make_view(all.iter() + all.layout()(make_coord(0, first), make_coord(0, 0, 0)),
                      all.layout()), // ((16, blocks), (piece, 4, k))
            Int32(validBlocks - first), size};
  }
};

/// The tile of step 0, (size, tileK), as a buffer that ends with the block's part of K of the last row. Step
/// s is the same view with the scalar offset `s * tileK` (CopyOptions::soffset), so that a lane computes its
/// address once for all steps. Rows past the last one are read as zeros; if the tile has no rows, all are.
inline Tensor firstStepOf(const LoopShape &shape, const OperandTile &operand) {
  const int size = operand.size();
  const Tensor first = tileFrom(operand.tile, {0, 0}, {size, shape.tileK}); // (size, tileK)
  const Int32 rows = min(operand.validRows, size);
  return bufferOf(first, {rows, shape.k}, operand.validRows > 0); // (size, tileK)
}

/// Where the rows of a tile are: a buffer, and the offsets of elements in it.
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
          const GatheredTile::Found found = tile.find(row);
          return insideOf(buffer, found.valid, Int32(buffer.layout()(found.row, column)));
        }) {}

  /// The buffer of firstStepOf, or that of all of the matrix if rows are gathered.
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
