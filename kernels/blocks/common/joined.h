// Two numbers of 32 bits as one of 64.
#pragma once

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Two numbers of 32 bits as one, which one instruction compares, stores or exchanges: a pair of registers
/// as it is.
inline Int64 joined(const Numeric &high, const Numeric &low) {
  return Int64(Vector::of({low.bitcast(i32), high.bitcast(i32)}).bitcast(i64).at(0));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
