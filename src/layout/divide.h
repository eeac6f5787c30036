// Divides: a layout taken apart into tiles and the walk from tile to tile.
//
// All forms hold the same modes in another nesting. With T the tile's modes and R those from tile
// to tile, for a tile of two modes:
//
//   logical   ((T0,R0),(T1,R1),...)    each mode of the layout keeps its place
//   zipped    ((T0,T1),(R0,R1,...))    mode 0 is a tile, mode 1 counts the tiles
//   tiled     ((T0,T1),R0,R1,...)
//   flat      (T0,T1,R0,R1,...)
//
// Divided by a single layout, the whole layout is one mode: logical and zipped give (T,R), tiled
// and flat open R (and T).
#pragma once

#include "layout/algebra.h"

namespace flydsl::layout {

/// composition(A, (B, complement(B, size(A)))): mode 0 walks inside the tile B, mode 1 from tile to
/// tile. Where B does not divide A, the last tile runs past A's end. logicalDivide((4,2,3):(2,1,8),
/// 4:2) = ((2,2),(2,3)):((4,1),(2,8)).
Layout logicalDivide(const Layout &layout, const Layout &tile);
/// Mode by mode; modes under `*` and past the tile's stay: logicalDivide((8,16):(1,8), [4|*]) =
/// ((4,2),16):((1,4),8).
Layout logicalDivide(const Layout &layout, const Tile &tile);

Layout zippedDivide(const Layout &layout, const Layout &tile);
/// Each mode that the tile names must be divided or have two modes of its own.
Layout zippedDivide(const Layout &layout, const Tile &tile);
Layout tiledDivide(const Layout &layout, const Layout &tile);
Layout tiledDivide(const Layout &layout, const Tile &tile);
/// flatDivide((?,?):(?,1), [8|64]) = (8,64,?,?):(?,1,?{div=8},64).
Layout flatDivide(const Layout &layout, const Layout &tile);
Layout flatDivide(const Layout &layout, const Tile &tile);

/// On the outer layout of a composed one.
template <class T> AnyLayout logicalDivide(const AnyLayout &layout, const T &tile) {
  return mapOutermost(layout, [&](const Layout &l) { return logicalDivide(l, tile); });
}
template <class T> AnyLayout zippedDivide(const AnyLayout &layout, const T &tile) {
  return mapOutermost(layout, [&](const Layout &l) { return zippedDivide(l, tile); });
}
template <class T> AnyLayout tiledDivide(const AnyLayout &layout, const T &tile) {
  return mapOutermost(layout, [&](const Layout &l) { return tiledDivide(l, tile); });
}
template <class T> AnyLayout flatDivide(const AnyLayout &layout, const T &tile) {
  return mapOutermost(layout, [&](const Layout &l) { return flatDivide(l, tile); });
}

} // namespace flydsl::layout
