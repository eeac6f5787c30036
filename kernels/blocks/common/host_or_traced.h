// Functions of whole numbers that are written once for the host's integers and for a kernel's.
#pragma once

#include <flydsl/flydsl.h>

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline std::int64_t lesser(std::int64_t a, std::int64_t b) { return std::min(a, b); }
inline Int32 lesser(const Int32 &a, const Int32 &b) { return min(a, b); }
inline std::int64_t greater(std::int64_t a, std::int64_t b) { return std::max(a, b); }
inline Int32 greater(const Int32 &a, const Int32 &b) { return max(a, b); }

inline std::int64_t quotientUp(std::int64_t a, int b) { return (a + b - 1) / b; }
inline Int32 quotientUp(const Int32 &a, int b) { return ceildiv(a, b); }
/// A number that counts things: a kernel's may be taken for an unsigned one, whose quotients by
/// powers of two are shifts and which needs no sign in addresses.
inline std::int64_t counted(std::int64_t a) { return a; }
inline Int32 counted(const Int32 &a) {
  assume(a >= 0);
  return a;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
