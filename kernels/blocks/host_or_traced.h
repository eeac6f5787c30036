// Functions of whole numbers that are written once for the host's integers and for a kernel's.
#pragma once

#include <flydsl/flydsl.h>

#include <algorithm>
#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline std::int64_t lesser(std::int64_t a, std::int64_t b) { return std::min(a, b); }
inline Int32 lesser(const Int32 &a, const Int32 &b) { return min(a, b); }
inline std::int64_t greater(std::int64_t a, std::int64_t b) { return std::max(a, b); }
inline Int32 greater(const Int32 &a, const Int32 &b) { return max(a, b); }

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
