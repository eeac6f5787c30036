// Values of f32 as integers that have their order, and a value with its place as one number: the
// maximum of such numbers is the largest value and, of equal ones, the first place.
#pragma once

#include "blocks/common/joined.h"

#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Every NaN is the one that is larger than all numbers.
inline Numeric nanFirst(const Numeric &value) {
  return select(math::isnan(value), std::numeric_limits<float>::quiet_NaN(), value);
}
/// Bits of a float as an integer that has the order of the floats: negative ones have their lower bits
/// inverted. It is its own inverse.
inline Numeric orderedBits(const Numeric &bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }
/// A zero that is added makes -0 the same as 0.
inline Numeric orderOf(const Numeric &value) { return orderedBits((value + 0.0f).bitcast(i32)); }
inline Numeric valueOf(const Numeric &order) { return orderedBits(order).bitcast(f32); }

/// An order and a place, from 0 on, as a number of 64 bits.
inline Numeric candidateOf(const Numeric &order, const Numeric &place) {
  return joined(order, 0x7fffffff - place);
}
inline Numeric orderOfCandidate(const Numeric &candidate) { return (candidate >> 32).to(i32); }
inline Int32 placeOfCandidate(const Numeric &candidate) {
  return Int32(0x7fffffff - candidate.to(i32));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
