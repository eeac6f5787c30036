// Activations of f32 values, by the hardware's exponential and reciprocal.
#pragma once

#include <flydsl/flydsl.h>
#include <flydsl/kernels/activation.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// x / (1 + exp(-scale x)). Below -88 / scale the exponential is infinite and the result 0.
inline Vector sigmoidTimes(const Vector &x, const Vector &scaled) {
  constexpr float kLog2E = 1.44269504088896341f;
  const FastMathScope approximate(FastMath::afn | FastMath::arcp | FastMath::contract);
  return x * (1.0f / (1.0f + math::exp2(scaled * -kLog2E)));
}

/// The activation of each element.
inline Vector activate(Activation activation, const Vector &x) {
  switch (activation) {
  case Activation::none:
    return x;
  case Activation::relu:
    return max(x, 0.0f);
  case Activation::silu:
    return sigmoidTimes(x, x);
  case Activation::gelu_tanh: {
    // 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3) is x / (1 + exp(-2 u)).
    constexpr float kTwice = 2 * 0.797884560802865356f;
    const FastMathScope contracted(FastMath::contract);
    return sigmoidTimes(x, x * (kTwice + (kTwice * 0.044715f) * (x * x)));
  }
  }
  throw Error("an activation of no kind");
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
