// The layout of preshuffled weights: a matrix (n, k) as blocks of 16 rows by 64 bytes, in which the
// 16 bytes that a lane loads are neighbours, and a wave's loads are one run of 1,024 bytes.
//
//   byte (n, k): [n / 16][k / 64][k % 64 / 16][n % 16][k % 16]
//
// It is what FlyDSL and aiter call shuffle_weight((16, 16)). Rows and columns that the blocks have
// beyond the matrix are zero.
#pragma once

#include <flydsl/dtype.h>

#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The extents of a preshuffled matrix.
struct Preshuffled {
  static constexpr int kRows = 16, kPieces = 4, kPieceBytes = 16;

  std::int64_t n, k; ///< of the matrix
  int bytes;         ///< of an element

  /// Elements of a piece of 16 bytes, and of a block's row.
  int piece() const { return kPieceBytes / bytes; }
  int blockK() const { return kPieces * piece(); }
  std::int64_t blocksN() const { return (n + kRows - 1) / kRows; }
  std::int64_t blocksK() const { return (k + blockK() - 1) / blockK(); }
  /// The columns with those that fill the last block.
  std::int64_t paddedK() const { return blocksK() * blockK(); }
  /// Elements of a block, and of a row of blocks.
  int block() const { return kRows * blockK(); }
  std::int64_t rowOfBlocks() const { return block() * blocksK(); }
  /// Elements of all blocks.
  std::int64_t size() const { return rowOfBlocks() * blocksN(); }
  /// The place of the matrix's element (row, column).
  std::int64_t place(std::int64_t row, std::int64_t column) const {
    return row / kRows * rowOfBlocks() + column / blockK() * block() +
           column % blockK() / piece() * kRows * piece() + row % kRows * piece() + column % piece();
  }
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
