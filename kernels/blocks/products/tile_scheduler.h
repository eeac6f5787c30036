// Which tile of a product a block computes, and over which part of K. Attention deals its tiles of
// queries by the same rule, and parts of the keys.
//
// The functions compute with a kernel's numbers and with the host's, so that a host's model of the
// kernel proves what the kernel reads.
#pragma once

#include "blocks/products/tile_grid.h"
#include "blocks/products/tile_order.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A tile of a grid whose tiles come once for each part of what is summed up.
template <class Int> struct GridTile {
  Int number; ///< among the tiles
  Int m, n;   ///< its row and column
  Int part;

  /// That of block `block`, of a grid of `down` x `across` tiles. Parts follow one another: all tiles of
  /// the first are dealt before those of the second.
  static GridTile of(const TileOrder &order, const Int &block, const Int &down, const Int &across,
                     bool parts) {
    const Int tiles(down * across);
    const Int number = parts ? Int(block % tiles) : block;
    const auto [m, n] = tileOf<Int>(order, number, down, across);
    return {number, m, n, parts ? Int(block / tiles) : Int(0)};
  }
};

/// A block's work.
template <class Int> struct WorkTile {
  Int number;      ///< of the tile among those of C
  Int m, n;        ///< its row and column among them
  Int part;        ///< of K
  Int row, column; ///< of C, at which it begins
  Int rows;        ///< of it that exist
};

/// The tiles of m rows of C. A grid has them once for each part of K.
template <class Int> class TileScheduler {
public:
  TileScheduler(const TileGrid &grid, const Int &m) : grid_(grid), m_(m) {}

  /// The work of a block of the grid, given its number.
  WorkTile<Int> at(const Int &number) const {
    const Int block = counted(number), down = quotientUp(counted(m_), grid_.tileM),
              across = Int(grid_.across());
    const auto [ofTile, m, n, part] =
        GridTile<Int>::of(grid_.order, block, down, across, grid_.parts > 1);
    return tile(ofTile, m, n, part);
  }
  /// The tile at (m, n), which has this number, and a part of K.
  WorkTile<Int> tile(const Int &number, const Int &m, const Int &n, const Int &part) const {
    const Int row(m * grid_.tileM);
    return {number, m,   n,
            part,   row, Int(n * grid_.tileN),
            lesser(Int(m_ - row), Int(grid_.tileM))};
  }

private:
  TileGrid grid_;
  Int m_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
