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

/// A tile's place in a grid whose tiles come once for each part of what is summed up. WorkTile adds where the
/// tile is in C; attention's HeadTile and BlockPlace add a sequence and a head.
template <class Int> struct GridTile {
  Int number; ///< the tile's number among the tiles of a part
  Int m, n;   ///< the tile's row and column among the tiles
  Int part;   ///< the part's number

  /// The tile of block `block`, of a grid of `down` x `across` tiles. Parts follow one another: all tiles of
  /// the first are dealt before those of the second.
  static GridTile of(const TileOrder &order, const Int &block, const Int &down, const Int &across,
                     bool parts) {
    const Int tiles(down * across);
    const Int number = parts ? Int(block % tiles) : block;
    const auto [m, n] = tileOf<Int>(order, number, down, across);
    return {.number = number, .m = m, .n = n, .part = parts ? Int(block / tiles) : Int(0)};
  }
};

/// A block's work: a tile of C, over a part of K.
template <class Int> struct WorkTile {
  Int number;      ///< the tile's number among the tiles of C
  Int m, n;        ///< the tile's row and column among the tiles of C
  Int part;        ///< the number of the part of K
  Int row, column; ///< the element of C at which the tile begins
  Int rows;        ///< rows of the tile that C has

  /// The same tile with other rows: `count` of them from row `first` of C on.
  WorkTile withRows(const Int &first, const Int &count) const {
    return {.number = number,
            .m = m,
            .n = n,
            .part = part,
            .row = first,
            .column = column,
            .rows = count};
  }
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
    return {.number = number,
            .m = m,
            .n = n,
            .part = part,
            .row = row,
            .column = Int(n * grid_.tileN),
            .rows = lesser(Int(m_ - row), Int(grid_.tileM))};
  }

private:
  TileGrid grid_;
  Int m_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
