// Numbers of 64 bits made of numbers of 32. Operators, loops and indices of tensors widen what meets a
// number of 64 bits by themselves; these are for the places where nothing does.
#pragma once

#include <flydsl/flydsl.h>

#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A whole number as one of 64 bits: for an address computed from a number and a constant, or a sum
/// of many numbers.
inline std::int64_t wide(std::int64_t a) { return a; }
inline Numeric wide(const Numeric &a) { return a.to(i64); }
inline Int64 wide(const Int32 &a) { return Int64(a.to(i64)); }
/// The type of such numbers.
template <class Int> using Wide = decltype(wide(Int(0)));

/// Two numbers of 32 bits as one, which one instruction compares, stores or exchanges. The low one
/// has no sign, or is not negative.
inline Int64 joined(const Numeric &high, const Numeric &low) {
  return Int64((wide(high) << 32) | wide(low));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
