// A tile of keys or values in LDS as loads that write LDS themselves leave it, on gfx950.
//
// Such a load writes the lanes' pieces of 16 bytes one after another, so rows follow
// one another without gaps. Which piece of its row a place holds is free: a lane loads
// the piece that belongs to its place. The number of a piece is xored with a number of
// its row such that the lanes that LDS serves together (lds_layout.h) find their pieces in
// different banks. LDS has 64 banks of 4 bytes, which are 16 pieces.
#pragma once

#include <flydsl/dtype.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The rows of a tile, which are keys, of elements of 1 or 2 bytes. All sizes are powers of two.
struct DmaTile {
  static constexpr int kPiece = 16;  ///< bytes
  static constexpr int kAtOnce = 16; ///< pieces that LDS serves together

  int rows, rowBytes, elementBytes;

  int pieces() const { return rowBytes / kPiece; } ///< the pieces of a row: 4, 8 or 16
  int bytes() const { return rows * rowBytes; }
  /// Loads of a thread for the tile.
  int loads(int threads) const { return bytes() / (kPiece * threads); }
  /// Rows that lie side by side in the banks.
  int rowsAtOnce() const { return kAtOnce / pieces(); }

  /// The number that a row of keys is xored with. A matrix instruction reads a piece each of the
  /// rows 8 b + a, a and b below 4 (rowsInRuns), and in another read of 4 more. Rows with b of 0 and
  /// 3 are read together in one column with those of 1 and 2 in the next one. Their numbers differ,
  /// as far as the rows do not lie side by side: also once that column has xored 1.
  template <class Int> Int ofKeys(const Int &row) const {
    if (rowsAtOnce() == 4)
      return row / 8 % 2 * 2;
    return row % 4 / rowsAtOnce() + row / 8 % 4 * (4 / rowsAtOnce());
  }
  /// The number that a row of values is xored with. A transposing read takes 16 elements each of 8 rows
  /// that begin at a multiple of 8, and of the 8 after them: if they have one byte, a piece of each row. Of
  /// elements of two bytes it takes two pieces side by side, of every other four rows.
  template <class Int> Int ofValues(const Int &row) const {
    if (elementBytes == 1)
      return row % kAtOnce / rowsAtOnce();
    return (row % 4 / rowsAtOnce() + row / 8 % 2 * (4 / rowsAtOnce())) * 2;
  }
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
