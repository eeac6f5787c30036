// Operations on nested tuples: structure (get, take, select, ...), arithmetic, comparison.
//
// Structure operations that end with one mode return the mode itself, not a tuple of one. Ranges
// are [begin, end), with end -1 for the rank. A mode that is not there is a LayoutError.
#pragma once

#include "layout/int_tuple.h"

#include <utility>
#include <vector>

namespace flydsl::layout {

// --- Structure ---

/// Modes [begin, end): take(((2,3),4,5), 1, 3) = (4,5).
IntTuple take(const IntTuple &t, int begin, int end);
/// The modes with these numbers, in this order: select((2,3,4), {2,0}) = (4,2).
IntTuple select(const IntTuple &t, const std::vector<int32_t> &modes);
/// Modes [begin, end) become one: group((2,3,4), 0, 2) = ((2,3),4). A leaf, and an empty range,
/// stay.
IntTuple group(const IntTuple &t, int begin, int end);
/// `element` at the end, or so often that the rank becomes `rank` (-1: once): append((2,3), 1, 4) =
/// (2,3,1,1). A rank below the present one is a LayoutError.
IntTuple append(const IntTuple &t, const IntTuple &element, int rank = -1);
/// The same at the front.
IntTuple prepend(const IntTuple &t, const IntTuple &element, int rank = -1);
/// The modes where `coord` has `*`, in order: slice((2,(3,4)), (0,(*,1))) = 3. A mode where coord
/// is a leaf is taken or left whole. None at all is a LayoutError.
IntTuple slice(const IntTuple &t, const IntTuple &coord);
/// The modes where `coord` has no `*`: dice((2,(3,4)), (0,(*,1))) = (2,4).
IntTuple dice(const IntTuple &t, const IntTuple &coord);
/// All leaves in one level; a leaf stays a leaf: flatten((2,(3,(4)))) = (2,3,4).
IntTuple flatten(const IntTuple &t);
/// The elements of `flat` nested like `profile`: unflatten((1,2,3), (0,(0,0))) = (1,(2,3)). Their
/// number must be the profile's number of leaves.
IntTuple unflatten(const IntTuple &flat, const IntTuple &profile);
/// The named modes are replaced by their own modes: expand(((2,3),(4,5)), {1}) = ((2,3),4,5).
IntTuple expand(const IntTuple &t, const std::vector<int32_t> &modes);
/// A tuple of tuples of equal rank, transposed: zip(((1,2),(3,4))) = ((1,3),(2,4)). A tuple whose
/// first mode is a leaf stays.
IntTuple zip(const IntTuple &t);
IntTuple zip(const IntTuple &a, const IntTuple &b);
/// Where `guide` has a leaf, `t` has a pair; the firsts and the seconds are collected, and modes of
/// `t` past the guide's go to the seconds: zip2By(((1,2),(3,4),5), (*,*)) = ((1,3),(2,4,5)).
IntTuple zip2By(const IntTuple &t, const IntTuple &guide);
/// Leaves of `t` under a static 0 of `guide` become 1.
IntTuple filterZero(const IntTuple &guide, const IntTuple &t);

// --- Arithmetic ---

/// Leaf by leaf. Where one side has more modes, they are kept as they are. A leaf against a tuple
/// is a LayoutError, except that a static 0 adds nothing. In sums an axis such as `2E1` counts as
/// the coordinate (0,2), so 1E0 + 1E1 = (1,1).
IntTuple add(const IntTuple &a, const IntTuple &b);
IntTuple sub(const IntTuple &a, const IntTuple &b);
IntTuple mul(const IntTuple &a, const IntTuple &b);
IntTuple div(const IntTuple &a, const IntTuple &b);
IntTuple mod(const IntTuple &a, const IntTuple &b);
IntTuple min(const IntTuple &a, const IntTuple &b);
IntTuple max(const IntTuple &a, const IntTuple &b);
/// The coordinate that an axis stands for: 3E1 -> (0,3), 2E0E1 -> ((0,2)).
IntTuple basisToTuple(const IntTuple &axis);

/// Sum of all leaves, which may be axes: sum((1E0,1E1)) = (1,1).
IntTuple sum(const IntTuple &t);
/// Product of all leaves: product((2,(3,4))) = 24.
Int product(const IntTuple &t);
/// Product of each mode: productEach((2,(3,4))) = (2,12). A leaf stays.
IntTuple productEach(const IntTuple &t);
/// Products where `guide` has leaves: productLike(((2,3),(4,5)), (0,0)) = (6,20).
IntTuple productLike(const IntTuple &t, const IntTuple &guide);
/// Sum of the products of leaves; `b` may hold axes: innerProduct((2,3), (8,1)) = 19.
IntTuple innerProduct(const IntTuple &a, const IntTuple &b);

/// Quotients of shapes, rounded up. A tuple by a number uses the number up from the left, a number
/// by a tuple divides by the product, tuples go mode by mode, modes past the divisor's stay:
/// ceilDiv((4,8), 8) = (1,4), where the 8 takes all of the 4 and 2 of the 8.
IntTuple ceilDiv(const IntTuple &a, const IntTuple &b);
/// The same where one must divide the other at each step; a LayoutError where static numbers do
/// not.
IntTuple shapeDiv(const IntTuple &a, const IntTuple &b);

// --- Comparison ---

/// Each leaf of `a` is less than its counterpart of `b`: 0 or 1. More modes in `a` than in `b`: 0.
Int elemLess(const IntTuple &a, const IntTuple &b);
Int elemLessEqual(const IntTuple &a, const IntTuple &b);
Int elemGreater(const IntTuple &a, const IntTuple &b);
Int elemGreaterEqual(const IntTuple &a, const IntTuple &b);
/// Same nesting and equal leaves: 0 or 1.
Int equal(const IntTuple &a, const IntTuple &b);

} // namespace flydsl::layout
