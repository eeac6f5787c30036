// Activations of f32 values, by the hardware's exponential and reciprocal.
#pragma once

#include "blocks/common/logarithms.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/activation.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// x / (1 + exp(-scale x)). Below -88 / scale the exponential is infinite and the result 0.
inline Vector sigmoidTimes(const Vector &x, const Vector &scaled) {
  const FastMathScope approximate(FastMath::afn | FastMath::arcp | FastMath::contract);
  return x * (1.0f / (1.0f + math::exp2(scaled * -kToBase2)));
}

/// The elements, those above `most` as `most`. A NaN stays one: fx::min would take it for the limit.
inline Vector atMost(const Vector &x, float most) { return select(x > most, most, x); }
/// The elements, those below `least` as `least`. A NaN stays one.
inline Vector atLeast(const Vector &x, float least) { return select(x < least, least, x); }

/// The activation of each element, NaN of a NaN.
inline Vector activate(Activation activation, const Vector &x) {
  switch (activation) {
  case Activation::none:
    return x;
  case Activation::relu:
    return atLeast(x, 0.0f);
  case Activation::silu:
    return sigmoidTimes(x, x);
  case Activation::gelu_tanh: {
    // 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3) is x / (1 + exp(-2 u)).
    constexpr float kTwice = 2 * 0.797884560802865356f;
    const FastMathScope contracted(FastMath::contract);
    return sigmoidTimes(x, x * (kTwice + (kTwice * 0.044715f) * (x * x)));
  }
  case Activation::relu_squared: {
    const Vector positive = atLeast(x, 0.0f);
    return positive * positive;
  }
  }
  throw Error("an activation of no kind");
}

/// How a gate and an up become an element of c, see GroupedGemmProblem.
struct Gating {
  Activation activation;
  float alpha = 1, limit = 0, upOffset = 0;
};
/// The elements of gates and ups.
inline Vector gatedBy(const Gating &gating, const Vector &gate, const Vector &up) {
  const bool isLimited = gating.limit != 0;
  const Vector g = isLimited ? atMost(gate, gating.limit) : gate;
  const Vector kept = isLimited ? atLeast(atMost(up, gating.limit), -gating.limit) : up;
  const Vector u = gating.upOffset != 0 ? kept + gating.upOffset : kept;
  const Vector active =
      gating.alpha == 1 ? activate(gating.activation, g) : sigmoidTimes(g, g * gating.alpha);
  return active * u;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
