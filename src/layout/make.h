// Layouts made from shapes, and layouts of the same elements counted in other units.
#pragma once

#include "layout/coord.h"

#include <cstdint>

namespace flydsl::layout {

/// Strides that count a shape's coordinates with the first mode fastest, from `start` on:
/// compactColMajor((4,(2,8))) = (1,(4,8)).
IntTuple compactColMajor(const IntTuple &shape, const Int &start = 1);
/// shape : compactColMajor(shape).
Layout makeLayout(const IntTuple &shape);
/// Compact strides where modes with smaller order run faster: makeOrderedLayout((8,16), (1,0)) =
/// (8,16):(16,1). `order` is nested no deeper than the shape; the modes under one leaf of it run
/// first mode fastest. Modes with equal static order start at the same stride; dynamic orders come
/// after all static ones, from left to right.
Layout makeOrderedLayout(const IntTuple &shape, const IntTuple &order);
/// Compact, with the order of `layout`'s strides; stride 0 stays 0's cost: modes that it repeats do
/// not take space. makeLayoutLike((4,8):(16,2)) = (4,8):(8,1).
Layout makeLayoutLike(const Layout &layout);
/// Each coordinate to itself: (4,8):(1E0,1E1); of a single number, 4:1.
Layout makeIdentityLayout(const IntTuple &shape);
/// A compact layout of registers for a thread's part of a tensor: mode 0 (the values of one
/// instruction) is first and compact, the others follow in the order of their strides; modes of
/// stride 0 in mode 0 take no space. Needs a static shape.
Layout makeFragmentLayout(const Layout &layout);

/// The same memory counted in elements of `newBits` instead of `oldBits` bits (both positive). To
/// larger elements (upcast by n): a stride that n divides is divided, a shape that steps inside an
/// element shrinks; to smaller ones (downcast by n): the contiguous mode's shape grows, other
/// strides are multiplied. recastLayout((8,4):(1,8), 16, 32) = (4,4):(1,4). Shapes, strides or
/// offsets that elements would cut are a LayoutError, as are strides along axes.
Layout recastLayout(const Layout &layout, int64_t oldBits, int64_t newBits);
/// Outer layout, offset and inner function alike; a swizzle's bits move.
ComposedLayout recastLayout(const ComposedLayout &layout, int64_t oldBits, int64_t newBits);
AnyLayout recastLayout(const AnyLayout &layout, int64_t oldBits, int64_t newBits);
/// The steps of it: n old elements are one new one, one old element is n new ones.
Layout upcast(const Layout &layout, int64_t n);
Layout downcast(const Layout &layout, int64_t n);

} // namespace flydsl::layout
