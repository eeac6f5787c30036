// Elements that kernels move without looking at them.
#pragma once

#include <flydsl/dtype.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// An unsigned integer as wide as an element of 8, 16, 32 or 64 bits.
inline DType bitsOf(DType type) {
  switch (type.memory_bits()) {
  case 8:
    return u8;
  case 16:
    return u16;
  case 32:
    return u32;
  default:
    return u64;
  }
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
