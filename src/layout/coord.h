// Layouts as functions: their sizes, and the maps between indices and coordinates.
#pragma once

#include "layout/layout.h"
#include "layout/tuple_ops.h"

namespace flydsl::layout {

// --- Sizes ---

/// The number of coordinates: the product of the shape. size((4,8):(8,1)) = 32.
Int size(const Layout &layout);
Int size(const AnyLayout &layout);
/// The shape of the codomain: one more than the largest value, per axis. coshape((4,8):(8,1)) = 32,
/// coshape((4,8):(1E0,2E1)) = (4,15). Strides are assumed not to be negative.
IntTuple coshape(const Layout &layout);
/// The product of the coshape: the size of a buffer for the layout's offsets.
Int cosize(const Layout &layout);
/// Zeros, nested like the layout's values: 0 for offsets, (0,0) for coordinates along two axes.
IntTuple coprofile(const Layout &layout);

// --- From coordinates to values ---

/// The layout's value at a coordinate: the sum of coordinate * stride. If the coordinate has a
/// number where the shape has a tuple, the number is spread over the tuple, first mode fastest; the
/// last mode takes the rest, so that an index past the end continues in the last mode. A `*`
/// contributes nothing. For (4,8):(1,4), (2,3) -> 14 and 14 -> 14. Strides along axes give
/// coordinates: (2,3) of (4,8):(1E0,1E1) -> (2,3).
IntTuple crd2idx(const IntTuple &coord, const IntTuple &shape, const IntTuple &stride);
IntTuple crd2idx(const IntTuple &coord, const Layout &layout);
/// The composed function inner(offset + outer(coord)).
IntTuple crd2idx(const IntTuple &coord, const ComposedLayout &layout);
IntTuple crd2idx(const IntTuple &coord, const AnyLayout &layout);
IntTuple crd2idx(const IntTuple &coord, const InnerFunction &function);
/// Throws a LayoutError if a static number of the coordinate is negative or not below its static
/// extent. The extent is that of its mode or, if the number stands for a tuple, that of all modes
/// of the tuple together. Dynamic numbers and `*` are not checked.
void expectInside(const IntTuple &coord, const IntTuple &shape);
/// The position of a coordinate in the order in which the first mode is the fastest, whatever the
/// strides: (2,3) of (4,8) -> 14. A number is its own position.
IntTuple crd2idxColMajor(const IntTuple &coord, const IntTuple &shape);

// --- From values to coordinates ---

/// The coordinate whose value is `index`, for a layout that hits each value once: (index / stride)
/// % shape in each mode. For (4,8):(1,4), 14 -> (2,3). Modes of size 1 and modes of stride 0 give
/// 0. A tuple of indices is converted mode by mode.
IntTuple idx2crd(const IntTuple &index, const IntTuple &shape, const IntTuple &stride);
IntTuple idx2crd(const IntTuple &index, const Layout &layout);
/// The coordinate at a position in the order in which the first mode is the fastest: 14 in (4,8) ->
/// (2,3). The last mode takes the rest.
IntTuple idx2crdColMajor(const IntTuple &index, const IntTuple &shape);
/// The coordinate in the shape `to` that has the same position as `coord` in the shape `from`. If
/// all three are tuples of one rank, it is computed mode by mode.
IntTuple crd2crd(const IntTuple &coord, const IntTuple &from, const IntTuple &to);
/// idx2crd with each top-level mode as one number: 5 in ((2,4),8):((1,2),8) -> (5,0).
IntTuple getFlatCoord(const IntTuple &index, const Layout &layout);
/// The result of idx2crd as one number, its position first mode fastest: 5 in (4,8):(8,1) -> 20.
IntTuple get1dCoord(const IntTuple &index, const Layout &layout);

// --- Parts of layouts ---

/// The modes for which `coord` has `*`: slice((4,8):(1,4), (2,*)) = 8:4. The other modes contribute
/// crd2idx(coord, layout), which is not part of the result.
Layout slice(const Layout &layout, const IntTuple &coord);
/// The open modes of the outer layout. The contribution of the fixed modes goes to the offset of
/// the innermost level: slice(S o 0 o (4,8):(1,4), (2,*)) = S o 2 o 8:4.
ComposedLayout slice(const ComposedLayout &layout, const IntTuple &coord);
AnyLayout slice(const AnyLayout &layout, const IntTuple &coord);
/// The modes where `coord` has a number.
Layout dice(const Layout &layout, const IntTuple &coord);

/// The structure operations of tuple_ops.h, applied to shape and stride alike. For composed layouts
/// they apply to the outer layout.
Layout take(const Layout &layout, int begin, int end);
Layout select(const Layout &layout, const std::vector<int32_t> &modes);
Layout group(const Layout &layout, int begin, int end);
Layout append(const Layout &layout, const Layout &element, int rank = -1);
Layout prepend(const Layout &layout, const Layout &element, int rank = -1);
Layout flatten(const Layout &layout);
Layout expand(const Layout &layout, const std::vector<int32_t> &modes);
Layout zip(const Layout &layout);
/// The layout with modes 1:0 added up to `rank`.
Layout padToRank(const Layout &layout, int rank);

/// The plain layout at the bottom of the outer side.
const Layout &outermost(const AnyLayout &layout);
/// The same layout with another plain layout at the bottom of the outer side.
AnyLayout withOutermost(const AnyLayout &layout, const Layout &outermost);
/// Applies fn to that plain layout; operations on the domain act on composed layouts in this way.
template <class F> AnyLayout mapOutermost(const AnyLayout &layout, F &&fn) {
  return withOutermost(layout, fn(outermost(layout)));
}
/// A composed layout as a plain layout and an offset, which is the value of the origin. The swizzle
/// is applied only to the offset, so it is the same function only if the inner functions act only
/// on the bits of the offset.
std::pair<Layout, IntTuple> decompose(const ComposedLayout &layout);

} // namespace flydsl::layout
