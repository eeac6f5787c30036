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

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
