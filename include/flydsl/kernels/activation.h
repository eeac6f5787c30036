// Functions that kernels apply to their results.
#pragma once

#include <flydsl/export.h>

#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// A function of each element of a result, computed in f32 before the result is rounded.
enum class Activation : std::uint8_t {
  none,
  relu,      ///< max(x, 0)
  silu,      ///< x / (1 + exp(-x))
  gelu_tanh, ///< 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  relu_squared, ///< max(x, 0)^2
};

} // namespace kernels
FLYDSL_NAMESPACE_END
