// Products: a layout is repeated as another layout says.
//
// With B for modes of the block and T for modes of the tiler, two modes each:
//
//   logical   ((B0,B1),(T0,T1))      mode 0 is the block, mode 1 goes from repetition to repetition
//   zipped    the same
//   tiled     ((B0,B1),T0,T1)
//   flat      (B0,B1,T0,T1)
//   blocked   ((B0,T0),(B1,T1))      a matrix of blocks: block coordinates run fastest
//   raked     ((T0,B0),(T1,B1))      the blocks interleaved: tiler coordinates run fastest
#pragma once

#include "layout/algebra.h"

namespace flydsl::layout {

/// The layout (A, composition(complement(A, size(A) * cosize(B)), B)): A, then the free offsets in
/// the order of B. logicalProduct((2,2):(4,1), 6:1) = ((2,2),(2,3)):((4,1),(2,8)).
Layout logicalProduct(const Layout &block, const Layout &tiler);
Layout zippedProduct(const Layout &block, const Layout &tiler);
Layout tiledProduct(const Layout &block, const Layout &tiler);
Layout flatProduct(const Layout &block, const Layout &tiler);
/// Both layouts are brought to the larger rank with modes 1:0. blockedProduct((2,5):(5,1),
/// (3,4):(1,3)) = ((2,3),(5,4)):((5,10),(1,30)).
Layout blockedProduct(const Layout &block, const Layout &tiler);
/// rakedProduct((2,5):(5,1), (3,4):(1,3)) = ((3,2),(4,5)):((10,5),(30,1)).
Layout rakedProduct(const Layout &block, const Layout &tiler);

/// Repeats the block to fill `shape`, rounded up to whole blocks; the repetitions follow one
/// another in `order` (make.h, makeOrderedLayout): tileToShape((2,2):(1,2), (4,6), (0,1)) =
/// ((2,2),(2,3)):((1,4),(2,8)).
Layout tileToShape(const Layout &block, const IntTuple &shape, const IntTuple &order);

/// Multiplies the outer layout of a composed block.
AnyLayout logicalProduct(const AnyLayout &block, const Layout &tiler);
AnyLayout zippedProduct(const AnyLayout &block, const Layout &tiler);
AnyLayout tiledProduct(const AnyLayout &block, const Layout &tiler);
AnyLayout flatProduct(const AnyLayout &block, const Layout &tiler);
AnyLayout blockedProduct(const AnyLayout &block, const Layout &tiler);
AnyLayout rakedProduct(const AnyLayout &block, const Layout &tiler);
AnyLayout tileToShape(const AnyLayout &block, const IntTuple &shape, const IntTuple &order);

} // namespace flydsl::layout
