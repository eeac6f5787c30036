// Numbers that the compiler takes for new ones.
#pragma once

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The same number, of which the compiler does not know that. What is computed or loaded by it is
/// computed or loaded again, and not kept in registers.
inline Numeric computedAgain(const Numeric &number) {
  return rocdl::inline_asm("", "=v,0", number.dtype(), {number}, true);
}
/// The same of a number that all threads of a wave have in common.
inline Numeric scalarAgain(const Numeric &number) {
  return rocdl::inline_asm("", "=s,0", number.dtype(), {number}, true);
}

/// The sums of products, from here on as numbers that the compiler knows nothing of. It would
/// otherwise compute sums that a later branch alone uses in that branch, and keep their operands
/// until then.
inline void computedHere(const Tensor &sums) {
  const Vector values = sums.load();
  sums.store(rocdl::inline_asm("", "=v,0", values.dtype(), values.size(), {values}, true));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
