// The order in which the blocks of a grid take the tiles of a matrix.
//
// Blocks that run at the same time should share rows and columns of tiles, so that the operands of
// one come from the caches that another has filled. Two steps see to it. The first gives each die
// (XCD) of a GPU, which has an L2 cache of its own, neighbouring tiles: the hardware deals block i
// to die i % xcds, so the numbers are dealt back. The second walks over groups of rows of tiles,
// down the rows of a group first.
//
// The same functions compute with host integers and with a kernel's numbers. Tests prove on the
// host that each tile is taken once.
#pragma once

#include "blocks/common/host_or_traced.h"

#include <flydsl/kernels/tile_order.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The row and the column of a tile.
template <class Int> struct TilePlace {
  Int m, n;
};

/// Deals `count` numbers back to `xcds` dies, where die i % xcds has number i: each die gets a
/// run of neighbours, and the first dies one more if the runs are not equal.
template <class Int> Int dealtBack(const Int &i, const Int &count, int xcds) {
  const Int die = i % xcds, longer = count % xcds;
  return die * (count / xcds) + lesser(die, longer) + i / xcds;
}

/// The place of block `block` in the walk over `count` tiles.
template <class Int> Int placeInWalk(const TileOrder &order, const Int &block, const Int &count) {
  if (order.xcds <= 1)
    return block;
  if (order.chunk <= 0)
    return dealtBack<Int>(block, count, order.xcds);
  // Each die gets runs of `chunk` tiles in turn; the last runs may be shorter.
  const int span = order.xcds * order.chunk;
  const Int first = block / span * span, left = lesser(Int(count - first), Int(span));
  return first + dealtBack<Int>(Int(block - first), left, order.xcds);
}

/// The tile of block `block` of a grid of tilesM x tilesN.
template <class Int>
TilePlace<Int> tileOf(const TileOrder &order, const Int &block, const Int &tilesM,
                      const Int &tilesN) {
  const Int place = counted(placeInWalk<Int>(order, block, Int(tilesM * tilesN)));
  const bool down = order.along == TileOrder::Along::m;
  const Int &rows = down ? tilesM : tilesN, &columns = down ? tilesN : tilesM;
  const auto turned = [&](const Int &row, const Int &column) {
    return down ? TilePlace<Int>{row, column} : TilePlace<Int>{column, row};
  };
  if (order.group <= 1)
    return turned(Int(place / columns), Int(place % columns));
  const Int perGroup = columns * order.group, first = place / perGroup * order.group;
  const Int inGroup = place % perGroup,
            height = counted(lesser(Int(rows - first), Int(order.group)));
  return turned(Int(first + inGroup % height), Int(inGroup / height));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
