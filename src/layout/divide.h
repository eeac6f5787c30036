// Divides: a layout is taken apart into tiles and the walk from tile to tile.
//
// All forms contain the same modes in different nestings. With T for modes of the tile and R for
// modes from tile to tile, and a tile of two modes:
//
//   logical   ((T0,R0),(T1,R1),...)    each mode of the layout keeps its place
//   zipped    ((T0,T1),(R0,R1,...))    mode 0 is a tile, mode 1 counts the tiles
//   tiled     ((T0,T1),R0,R1,...)
//   flat      (T0,T1,R0,R1,...)
//
// If the divisor is a single layout, the whole layout is one mode: logical and zipped give (T,R),
// tiled opens R, and flat opens R and T.
#pragma once

#include "layout/algebra.h"

namespace flydsl::layout {

/// The layout composition(A, (B, complement(B, size(A)))): mode 0 walks inside the tile B, mode 1
/// from tile to tile. If B does not divide A, the last tile runs past A's end.
/// logicalDivide((4,2,3):(2,1,8), 4:2) = ((2,2),(2,3)):((4,1),(2,8)).
Layout logicalDivide(const Layout &layout, const Layout &tile);
/// Divides mode by mode; modes under `*` and modes past those of the tile stay:
/// logicalDivide((8,16):(1,8), [4|*]) = ((4,2),16):((1,4),8).
Layout logicalDivide(const Layout &layout, const Tile &tile);

Layout zippedDivide(const Layout &layout, const Layout &tile);
/// Each mode for which the tile has an entry must be divided or have two modes of its own.
Layout zippedDivide(const Layout &layout, const Tile &tile);
Layout tiledDivide(const Layout &layout, const Layout &tile);
Layout tiledDivide(const Layout &layout, const Tile &tile);
/// Example: flatDivide((?,?):(?,1), [8|64]) = (8,64,?,?):(?,1,?{div=8},64).
Layout flatDivide(const Layout &layout, const Layout &tile);
Layout flatDivide(const Layout &layout, const Tile &tile);

/// Divides the outer layout of a composed layout.
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
