// Activations in double precision, by the definitions in flydsl/kernels/activation.h.
#pragma once

#include <flydsl/error.h>
#include <flydsl/kernels/activation.h>

#include <algorithm>
#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

inline double activated(Activation activation, double x) {
  switch (activation) {
  case Activation::none:
    return x;
  case Activation::relu:
    return std::max(x, 0.0);
  case Activation::silu:
    return x / (1 + std::exp(-x));
  case Activation::gelu_tanh:
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  throw Error("an activation of no kind");
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
