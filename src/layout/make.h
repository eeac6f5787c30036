// Makes layouts from shapes, and layouts of the same elements counted in other units.
#pragma once

#include "layout/coord.h"

#include <cstdint>

namespace flydsl::layout {

/// Strides that count the coordinates of a shape, first mode fastest, from `start` on:
/// compactColMajor((4,(2,8))) = (1,(4,8)).
IntTuple compactColMajor(const IntTuple &shape, const Int &start = 1);
/// The layout shape : compactColMajor(shape).
Layout makeLayout(const IntTuple &shape);
/// The compact layout in which modes with a smaller order run faster: makeOrderedLayout((8,16),
/// (1,0)) = (8,16):(16,1). `order` may not be nested deeper than the shape; the modes under one
/// leaf of it run first mode fastest. Modes with equal static order start at the same stride.
/// Dynamic orders come after all static ones, from left to right.
Layout makeOrderedLayout(const IntTuple &shape, const IntTuple &order);
/// The compact layout of the same shape whose strides have the order of `layout`'s strides. A mode
/// of stride 0 keeps stride 0, so that it takes no space. makeLayoutLike((4,8):(16,2)) =
/// (4,8):(8,1).
Layout makeLayoutLike(const Layout &layout);
/// The layout that maps each coordinate to itself: (4,8):(1E0,1E1); for a single number, 4:1.
Layout makeIdentityLayout(const IntTuple &shape);
/// A compact layout of registers for a thread's part of a tensor. Mode 0 (the values of one
/// instruction) comes first and is compact; the others follow in the order of their strides. Modes
/// of stride 0 inside mode 0 take no space. The shape must be static.
Layout makeFragmentLayout(const Layout &layout);

/// The layout of the same memory, counted in elements of `newBits` instead of `oldBits` bits (both
/// positive). For larger elements (upcast by n), a stride that n divides is divided, and the shape
/// of a mode that steps inside an element shrinks. For smaller elements (downcast by n), the shape
/// of the contiguous mode grows, and other strides are multiplied. recastLayout((8,4):(1,8), 16,
/// 32) = (4,4):(1,4). It is a LayoutError if an element would be cut by shapes, strides or offsets,
/// or if strides are axes.
Layout recastLayout(const Layout &layout, int64_t oldBits, int64_t newBits);
/// Recasts the outer layout, the offset and the inner function; the bits of a swizzle move.
ComposedLayout recastLayout(const ComposedLayout &layout, int64_t oldBits, int64_t newBits);
AnyLayout recastLayout(const AnyLayout &layout, int64_t oldBits, int64_t newBits);
/// The two steps of a recast: upcast makes one new element of n old ones, downcast makes n new
/// elements of one old one.
Layout upcast(const Layout &layout, int64_t n);
Layout downcast(const Layout &layout, int64_t n);

} // namespace flydsl::layout
