// Coalesce, composition, complement, inverses.
#pragma once

#include "layout/coord.h"
#include "layout/tile.h"

#include <optional>

namespace flydsl::layout {

/// The same function on [0, size) with as few modes as can be: modes of size 1 vanish, and a mode
/// whose stride is the previous mode's shape * stride joins it. coalesce((2,(1,6)):(1,(6,2))) =
/// 12:1. Only modes that are static throughout join.
Layout coalesce(const Layout &layout);
/// Coalesces by mode: where `profile` has a leaf, that mode becomes one coalesced mode; modes past
/// the profile's stay. coalesce((2,(1,6)):(1,(6,2)), (1,1)) = (2,6):(1,2).
Layout coalesce(const Layout &layout, const IntTuple &profile);
AnyLayout coalesce(const AnyLayout &layout, const std::optional<IntTuple> &profile = std::nullopt);

/// R with R(c) = A(B(c)) for every coordinate c of B, nested like B (a leaf of B may become a tuple
/// of modes of A, modes of size 1 have stride 0, tuples of one mode are unwrapped). A's last mode
/// is taken to go on past its end. B's strides may be axes, which select a mode of A: then R(c) = A
/// at the coordinate B(c). composition((6,2):(8,2), (4,3):(3,1)) = ((2,2),3):((24,2),8).
///
/// A leaf s:d of B must walk through A's modes in steps that layouts can express: each of A's
/// shapes divides the remaining stride or is not left by it, and what is left of s is divisible at
/// each step. A LayoutError says at which mode it isn't so. With dynamic parts this is a
/// precondition on their values.
Layout composition(const Layout &a, const Layout &b);
/// Mode by mode: composition((8,16):(1,8), [4|2]) = (4,2):(1,8). Modes under `*`, and past the
/// tile's, stay.
Layout composition(const Layout &a, const Tile &b);
/// inner o offset o composition(outer, b).
AnyLayout composition(const AnyLayout &a, const Layout &b);
AnyLayout composition(const AnyLayout &a, const Tile &b);

/// The layout of the offsets that A leaves out: C with strictly rising strides such that (A, C)
/// hits each value at most once, and reaches at least `codomain` (default: A's cosize).
/// complement((2,2):(1,6), 24) = (3,2):(2,12). A's strides must be static where it has more than
/// one mode left after coalescing; a layout whose modes interleave so that it hits values twice, or
/// in an order that no layout completes, and strides that are negative or axes, are a LayoutError.
Layout complement(const Layout &layout, const std::optional<Int> &codomain = std::nullopt);

/// R with A(R(i)) = i for each i below R's size, as large as A's contiguous part from 0 is: the
/// modes with stride 1, then with stride shape * 1, and so on. rightInverse((4,8):(8,1)) =
/// (8,4):(4,1). Modes that are dynamic or skip values are left out; 1:0 where nothing is left.
Layout rightInverse(const Layout &layout);
/// L with L(A(i)) = i for each i below A's size, for A that hits each value at most once:
/// leftInverse((4,8):(1,5)) = (5,8):(1,4). Strides must be static, positive and divide one another
/// with room for each mode's shape; a LayoutError otherwise.
Layout leftInverse(const Layout &layout);

/// Tuples of one mode unwrapped, modes of size 1 with stride 0: how results are written.
Layout canonical(const Layout &layout);

} // namespace flydsl::layout
