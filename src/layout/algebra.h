// Coalesce, composition, complement and inverses.
#pragma once

#include "layout/coord.h"
#include "layout/tile.h"

#include <optional>

namespace flydsl::layout {

/// The same function on [0, size) with as few modes as possible: modes of size 1 vanish, and a mode
/// joins the previous one if its stride is the previous shape * stride.
/// coalesce((2,(1,6)):(1,(6,2))) = 12:1. Only modes that are completely static are joined.
Layout coalesce(const Layout &layout);
/// Coalesces mode by mode: each mode for which `profile` has a leaf becomes one coalesced mode;
/// modes past those of the profile stay. coalesce((2,(1,6)):(1,(6,2)), (1,1)) = (2,6):(1,2).
Layout coalesce(const Layout &layout, const IntTuple &profile);
AnyLayout coalesce(const AnyLayout &layout, const std::optional<IntTuple> &profile = std::nullopt);

/// The layout R with R(c) = A(B(c)) for every coordinate c of B. It is nested like B: a leaf of B
/// may become a tuple of modes of A, modes of size 1 have stride 0, and tuples of one mode are
/// unwrapped. A's last mode is taken to continue past its end. B's strides may be axes, which
/// select modes of A; then R(c) is A at the coordinate B(c). composition((6,2):(8,2), (4,3):(3,1))
/// = ((2,2),3):((24,2),8).
///
/// A leaf s:d of B must walk through A's modes in steps that layouts can express. At each mode of
/// A, the mode's shape must divide what is left of the stride d or must not be left behind, and
/// what is left of s must be divisible. A LayoutError reports the mode where this fails. For
/// dynamic parts this is a precondition on their values.
Layout composition(const Layout &a, const Layout &b);
/// Composes mode by mode: composition((8,16):(1,8), [4|2]) = (4,2):(1,8). Modes under `*`, and
/// modes past those of the tile, stay as they are.
Layout composition(const Layout &a, const Tile &b);
/// The layout inner o offset o composition(outer, b).
AnyLayout composition(const AnyLayout &a, const Layout &b);
AnyLayout composition(const AnyLayout &a, const Tile &b);

/// The layout of the offsets that A leaves out: the layout C with strictly rising strides such that
/// (A, C) hits each value at most once and reaches at least `codomain` (default: A's cosize).
/// complement((2,2):(1,6), 24) = (3,2):(2,12). A's strides must be static if more than one mode is
/// left after coalescing. It is a LayoutError if A's modes interleave so that they hit values twice
/// or in an order that no layout completes, or if strides are negative or axes.
Layout complement(const Layout &layout, const std::optional<Int> &codomain = std::nullopt);

/// The layout R with A(R(i)) = i for each i below R's size. It is as large as the part of A that is
/// contiguous from 0: the mode with stride 1, then the mode whose stride is that mode's shape, and
/// so on. rightInverse((4,8):(8,1)) = (8,4):(4,1). Modes that are dynamic or skip values are left
/// out; if none is left, the result is 1:0.
Layout rightInverse(const Layout &layout);
/// The layout L with L(A(i)) = i for each i below A's size. A must hit each value at most once:
/// leftInverse((4,8):(1,5)) = (5,8):(1,4). It is a LayoutError unless the strides are static and
/// positive, and each divides the next and leaves room for its mode's shape.
Layout leftInverse(const Layout &layout);

/// The form in which results are written: tuples of one mode are unwrapped, and modes of size 1
/// have stride 0.
Layout canonical(const Layout &layout);

} // namespace flydsl::layout
