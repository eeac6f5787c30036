// e to a power, for softmaxes and scores.
#pragma once

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// e to the power of x by the hardware's exp2, whose results below 2^-126 are 0.
template <class X> X exponential(const X &x) {
  constexpr float kLog2E = 1.44269504088896341f;
  const FastMathScope approximate(FastMath::afn);
  return math::exp2(x * kLog2E);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
