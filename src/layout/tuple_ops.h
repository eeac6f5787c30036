// Operations on nested tuples: structure (get, take, select, ...), arithmetic, comparison.
//
// Structure operations whose result has a single mode return the mode itself, not a tuple of one.
// Ranges are [begin, end); end -1 stands for the rank. It is a LayoutError to name a mode that does
// not exist.
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
/// Makes the modes [begin, end) one mode: group((2,3,4), 0, 2) = ((2,3),4). A leaf stays as it is,
/// and so does a tuple with an empty range.
IntTuple group(const IntTuple &t, int begin, int end);
/// Adds `element` at the end, once or (if `rank` is not -1) as often as it takes to reach the rank
/// `rank`: append((2,3), 1, 4) = (2,3,1,1). A rank below the present one is a LayoutError.
IntTuple append(const IntTuple &t, const IntTuple &element, int rank = -1);
/// The same at the front.
IntTuple prepend(const IntTuple &t, const IntTuple &element, int rank = -1);
/// The modes where `coord` has `*`, in order: slice((2,(3,4)), (0,(*,1))) = 3. If coord has a leaf
/// for a mode, the mode is taken or left out whole. It is a LayoutError if no mode is left.
IntTuple slice(const IntTuple &t, const IntTuple &coord);
/// The modes where `coord` has no `*`: dice((2,(3,4)), (0,(*,1))) = (2,4).
IntTuple dice(const IntTuple &t, const IntTuple &coord);
/// All leaves in one level; a leaf stays a leaf: flatten((2,(3,(4)))) = (2,3,4).
IntTuple flatten(const IntTuple &t);
/// The elements of `flat` nested like `profile`: unflatten((1,2,3), (0,(0,0))) = (1,(2,3)). Their
/// number must be the profile's number of leaves.
IntTuple unflatten(const IntTuple &flat, const IntTuple &profile);
/// Replaces the modes of these numbers by their own modes: expand(((2,3),(4,5)), {1}) =
/// ((2,3),4,5).
IntTuple expand(const IntTuple &t, const std::vector<int32_t> &modes);
/// Transposes a tuple of tuples of equal rank: zip(((1,2),(3,4))) = ((1,3),(2,4)). A tuple whose
/// first mode is a leaf stays as it is.
IntTuple zip(const IntTuple &t);
IntTuple zip(const IntTuple &a, const IntTuple &b);
/// `t` has a pair where `guide` has a leaf. The first and the second elements of the pairs are
/// collected; modes of `t` past those of the guide join the second elements:
/// zip2By(((1,2),(3,4),5), (*,*)) = ((1,3),(2,4,5)).
IntTuple zip2By(const IntTuple &t, const IntTuple &guide);
/// Replaces leaves of `t` by 1 where `guide` has a static 0.
IntTuple filterZero(const IntTuple &guide, const IntTuple &t);

// --- Arithmetic ---

/// Arithmetic, leaf by leaf. Modes that only one side has are kept as they are. A leaf against a
/// tuple is a LayoutError, except that a static 0 adds nothing. In sums an axis such as `2E1`
/// counts as the coordinate (0,2), so that 1E0 + 1E1 = (1,1).
IntTuple add(const IntTuple &a, const IntTuple &b);
IntTuple sub(const IntTuple &a, const IntTuple &b);
IntTuple mul(const IntTuple &a, const IntTuple &b);
IntTuple div(const IntTuple &a, const IntTuple &b);
IntTuple mod(const IntTuple &a, const IntTuple &b);
IntTuple min(const IntTuple &a, const IntTuple &b);
IntTuple max(const IntTuple &a, const IntTuple &b);
/// The coordinate that an axis stands for: 3E1 -> (0,3), 2E0E1 -> ((0,2)).
IntTuple basisToTuple(const IntTuple &axis);

/// The sum of all leaves, which may be axes: sum((1E0,1E1)) = (1,1).
IntTuple sum(const IntTuple &t);
/// The product of all leaves: product((2,(3,4))) = 24.
Int product(const IntTuple &t);
/// The product of each mode: productEach((2,(3,4))) = (2,12). A leaf stays as it is.
IntTuple productEach(const IntTuple &t);
/// One product for each leaf of `guide`: productLike(((2,3),(4,5)), (0,0)) = (6,20).
IntTuple productLike(const IntTuple &t, const IntTuple &guide);
/// The sum of the products of leaves; `b` may contain axes: innerProduct((2,3), (8,1)) = 19.
IntTuple innerProduct(const IntTuple &a, const IntTuple &b);

/// Quotients of shapes, rounded up. A tuple divided by a number uses up the number from the left; a
/// number divided by a tuple is divided by the tuple's product; a tuple divided by a tuple is
/// divided mode by mode, and modes past the divisor's stay. ceilDiv((4,8), 8) = (1,4): the 4 uses
/// up a factor 4 of the 8, and the 8 is divided by the 2 that is left.
IntTuple ceilDiv(const IntTuple &a, const IntTuple &b);
/// The same for shapes that divide each other: at each step, one of the two numbers must divide the
/// other. It is a LayoutError if static numbers do not.
IntTuple shapeDiv(const IntTuple &a, const IntTuple &b);

// --- Comparison ---

/// 1 if each leaf of `a` is less than its counterpart in `b`, otherwise 0. It is 0 if `a` has more
/// modes than `b`.
Int elemLess(const IntTuple &a, const IntTuple &b);
/// 1 if the nesting is the same and all leaves are equal, otherwise 0.
Int equal(const IntTuple &a, const IntTuple &b);

} // namespace flydsl::layout
