// The rows of a call: as many as its tensors have, or fewer, by a number in device memory.
#pragma once

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The rows of a call: all m if they are not counted, and otherwise as many as `rows` (1) says, at most m.
inline Int32 rowsOfCall(bool counted, const Strided<OnDevice, 0> &rows, const Int32 &m) {
  if (!counted)
    return m;
  return Int32(min(gpu::uniform(Int32(rows.view(i32, 1)(0))), m).to(i32)); // (1)
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
