// e to a power, and functions that are made of it, for softmaxes, scores and gates.
#pragma once

#include "blocks/common/logarithms.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// e to the power of x by the hardware's exp2, whose results below 2^-126 are 0.
template <class X> X exponential(const X &x) {
  const FastMathScope approximate(FastMath::afn);
  return math::exp2(x * kToBase2);
}

/// log(1 + t) of t from 0 to 1: what rounds off 1 + t is made good by the last factor (Kahan).
inline Numeric logOfOneMore(const Numeric &t) {
  const FastMathScope approximate(FastMath::afn);
  const Numeric one = t + 1.0f, rest = one - 1.0f;
  return select(rest == 0.0f, t, math::log2(one) * kToNatural * (t / rest));
}
/// log(1 + e^x), without an overflow.
inline Numeric softplus(const Numeric &x) {
  return max(x, 0.0f) + logOfOneMore(exponential(Numeric(-math::abs(x))));
}
/// 1 / (1 + e^-x)
inline Numeric sigmoid(const Numeric &x) { return 1.0f / (exponential(Numeric(-x)) + 1.0f); }

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
