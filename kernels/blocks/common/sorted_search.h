// Search in numbers that do not fall, such as where sequences start.
#pragma once

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The last of the first n numbers that is not above `value`, or 0 if all are; by halves. `numbers` (n or
/// more) are i32.
inline Int32 lastNotAbove(const Tensor &numbers, const Int32 &n, const Int32 &value) {
  const Var<Int32> low(Int32(0)), high(n);
  while_([&] { return Boolean(high - low > 1); },
         [&] {
           const Int32 middle = (low + high) / 2;
           const Boolean beyond(numbers(middle) > value);
           low = select(beyond, low.get(), middle);
           high = select(beyond, middle, high.get());
         });
  return low.get();
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
