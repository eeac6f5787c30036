#include "layout/divide.h"

#include "layout/error.h"

namespace flydsl::layout {

Layout logicalDivide(const Layout &layout, const Layout &tile) {
  Layout rest = complement(tile, size(layout));
  return composition(layout, concat({tile, rest}));
}

Layout logicalDivide(const Layout &layout, const Tile &tile) {
  if (tile.isWildcard())
    return layout;
  if (!tile.isList())
    return logicalDivide(layout, tile.toLayout());
  if (tile.rank() > layout.rank())
    fail("divide of ", layout, " by the tile ", tile, ", which has more modes");
  std::vector<Layout> modes;
  for (int i = 0; i < layout.rank(); ++i)
    modes.push_back(i < tile.rank() ? logicalDivide(layout.at(i), tile.at(i)) : layout.at(i));
  return concat(std::move(modes));
}

/// A tuple nested like the tile's lists.
static IntTuple nestingOf(const Tile &tile) {
  if (!tile.isList())
    return 0;
  std::vector<IntTuple> modes;
  for (int i = 0; i < tile.rank(); ++i)
    modes.push_back(nestingOf(tile.at(i)));
  return IntTuple::tuple(std::move(modes));
}

/// Nests the tiles first and the walk from tile to tile second.
static Layout zipDivided(const Layout &divided, const Tile &tile) {
  for (int i = 0; tile.isList() && i < tile.rank(); ++i)
    if (tile.at(i).isWildcard() && divided.at(i).rank() != 2)
      fail("the tile ", tile, " leaves mode ", i, " of ", divided,
           " whole, so it has no tile and rest to sort; give the mode's extent, or leave the last "
           "modes out of the tile");
  IntTuple guide = nestingOf(tile);
  return Layout(zip2By(divided.shape(), guide), zip2By(divided.stride(), guide));
}

Layout zippedDivide(const Layout &layout, const Layout &tile) {
  return logicalDivide(layout, tile);
}
Layout zippedDivide(const Layout &layout, const Tile &tile) {
  return zipDivided(logicalDivide(layout, tile), tile);
}
Layout tiledDivide(const Layout &layout, const Layout &tile) {
  return expand(zippedDivide(layout, tile), {1});
}
Layout tiledDivide(const Layout &layout, const Tile &tile) {
  return expand(zippedDivide(layout, tile), {1});
}
Layout flatDivide(const Layout &layout, const Layout &tile) {
  return expand(zippedDivide(layout, tile), {0, 1});
}
Layout flatDivide(const Layout &layout, const Tile &tile) {
  return expand(zippedDivide(layout, tile), {0, 1});
}

} // namespace flydsl::layout
