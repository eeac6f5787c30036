// Layouts as functions: sizes, and the ways between indices and coordinates.
#pragma once

#include "layout/layout.h"
#include "layout/tuple_ops.h"

namespace flydsl::layout {

// --- Sizes ---

/// Number of coordinates: the product of the shape. size((4,8):(8,1)) = 32.
Int size(const Layout &layout);
Int size(const AnyLayout &layout);
/// The codomain's shape: one more than the largest value, per axis. coshape((4,8):(8,1)) = 32,
/// coshape((4,8):(1E0,2E1)) = (4,15). Strides are taken as not negative.
IntTuple coshape(const Layout &layout);
/// Product of the coshape: what a buffer for the layout's offsets must hold.
Int cosize(const Layout &layout);
/// Zeros, nested like the layout's values: 0 for offsets, (0,0) for coordinates along two axes.
IntTuple coprofile(const Layout &layout);

// --- From coordinates to values ---

/// The layout's value at a coordinate: sum of coordinate * stride. Where the coordinate has a
/// number and the shape a tuple, the number is spread over it, first mode fastest; the last mode
/// takes what is left, so that an index past the end goes on in the last mode. A `*` contributes
/// nothing. For (4,8):(1,4), (2,3) -> 14 and 14 -> 14. Strides along axes give coordinates: (2,3)
/// of (4,8):(1E0,1E1) -> (2,3).
IntTuple crd2idx(const IntTuple &coord, const IntTuple &shape, const IntTuple &stride);
IntTuple crd2idx(const IntTuple &coord, const Layout &layout);
/// inner(offset + outer(coord)).
IntTuple crd2idx(const IntTuple &coord, const ComposedLayout &layout);
IntTuple crd2idx(const IntTuple &coord, const AnyLayout &layout);
IntTuple crd2idx(const IntTuple &coord, const InnerFunction &function);
/// A LayoutError where a static number of the coordinate is negative or not below the static extent
/// that it stands for: of its mode, or of all modes together where it stands for a tuple. What is
/// dynamic, and `*`, is taken as it is.
void expectInside(const IntTuple &coord, const IntTuple &shape);
/// The position of a coordinate in first-mode-fastest order, whatever the strides: (2,3) of (4,8)
/// -> 14. A number is its own position.
IntTuple crd2idxColMajor(const IntTuple &coord, const IntTuple &shape);

// --- From values to coordinates ---

/// The coordinate whose value is `index`, for layouts that hit each value once: (index / stride) %
/// shape in each mode. For (4,8):(1,4), 14 -> (2,3). Modes of size 1 and of stride 0 give 0. A
/// tuple of indices goes mode by mode.
IntTuple idx2crd(const IntTuple &index, const IntTuple &shape, const IntTuple &stride);
IntTuple idx2crd(const IntTuple &index, const Layout &layout);
/// The coordinate at a position in first-mode-fastest order: 14 in (4,8) -> (2,3). The last mode
/// takes what is left.
IntTuple idx2crdColMajor(const IntTuple &index, const IntTuple &shape);
/// A coordinate of one shape as the coordinate of another at the same position, mode by mode where
/// all three are tuples of one rank.
IntTuple crd2crd(const IntTuple &coord, const IntTuple &from, const IntTuple &to);
/// idx2crd with each top-level mode as one number: 5 in ((2,4),8):((1,2),8) -> (5,0).
IntTuple getFlatCoord(const IntTuple &index, const Layout &layout);
/// idx2crd as one number, the position in first-mode-fastest order: 5 in (4,8):(8,1) -> 20.
IntTuple get1dCoord(const IntTuple &index, const Layout &layout);

// --- Parts of layouts ---

/// The modes that `coord` leaves open with `*`: slice((4,8):(1,4), (2,*)) = 8:4. What the other
/// modes contribute is crd2idx(coord, layout).
Layout slice(const Layout &layout, const IntTuple &coord);
/// Open modes of the outer layout; what the fixed modes contribute goes to the offset of the
/// innermost level: slice(S o 0 o (4,8):(1,4), (2,*)) = S o 2 o 8:4.
ComposedLayout slice(const ComposedLayout &layout, const IntTuple &coord);
AnyLayout slice(const AnyLayout &layout, const IntTuple &coord);
/// The modes where `coord` has a number.
Layout dice(const Layout &layout, const IntTuple &coord);

/// The structure operations of tuple_ops.h on shape and stride alike. For composed layouts they act
/// on the outer layout.
Layout take(const Layout &layout, int begin, int end);
Layout select(const Layout &layout, const std::vector<int32_t> &modes);
Layout group(const Layout &layout, int begin, int end);
Layout append(const Layout &layout, const Layout &element, int rank = -1);
Layout prepend(const Layout &layout, const Layout &element, int rank = -1);
Layout flatten(const Layout &layout);
Layout expand(const Layout &layout, const std::vector<int32_t> &modes);
Layout zip(const Layout &layout);
/// A layout with modes of size 1 and stride 0 up to `rank`.
Layout padToRank(const Layout &layout, int rank);

/// The plain layout at the bottom of the outer side, and the same layout with another one there.
const Layout &outermost(const AnyLayout &layout);
AnyLayout withOutermost(const AnyLayout &layout, const Layout &outermost);
/// fn applied to that plain layout: how an operation on the domain acts on composed layouts.
template <class F> AnyLayout mapOutermost(const AnyLayout &layout, F &&fn) {
  return withOutermost(layout, fn(outermost(layout)));
}
/// A composed layout as a plain one and an offset: the value of the origin, with the swizzle
/// applied to the offset alone. It is the same function only where inner functions act on the
/// offset's bits alone.
std::pair<Layout, IntTuple> decompose(const ComposedLayout &layout);

} // namespace flydsl::layout
