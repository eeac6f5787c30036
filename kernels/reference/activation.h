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
    return std::isnan(x) ? x : std::max(x, 0.0);
  case Activation::silu:
    return x / (1 + std::exp(-x));
  case Activation::gelu_tanh:
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case Activation::relu_squared:
    return std::isnan(x) ? x : std::max(x, 0.0) * std::max(x, 0.0);
  }
  throw Error("an activation of no kind");
}
/// How far an activation is off whose argument x is off by an error. The slopes are at most 1.13, but
/// for that of the square.
inline double passedOn(Activation activation, double x, double error) {
  switch (activation) {
  case Activation::none:
  case Activation::relu:
    return error;
  case Activation::silu:
  case Activation::gelu_tanh:
    return 1.13 * error;
  case Activation::relu_squared:
    return (2 * std::fabs(x) + error) * error;
  }
  throw Error("an activation of no kind");
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
