// Tensors in a kernel over memory whose address and strides are arguments (flydsl/strided.h).
#pragma once

#include <flydsl/kernel/tensor.h>
#include <flydsl/strided.h>

#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
FLYDSL_API Tensor stridedView(const Int64 &address, std::span<const Int64> strides, DType type,
                              const IntTuple &shape, int alignment, Loc loc);
} // namespace detail

template <class Side, int Modes>
Tensor Strided<Side, Modes>::view(DType type, const IntTuple &shape, int alignment,
                                  std::source_location where) const
  requires std::is_same_v<Side, OnDevice>
{
  return detail::stridedView(address, stride, type, shape, alignment, where);
}

FLYDSL_NAMESPACE_END
