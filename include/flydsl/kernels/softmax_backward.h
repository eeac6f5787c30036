// The gradient of a softmax.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/row.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// dx[i, j] = y[i, j] * (dy[i, j] - sum_k dy[i, k] * y[i, k]), computed in f32, where y is the
/// softmax of x.
struct FLYDSL_API SoftmaxBackwardProblem {
  DType y = f16, dy = f16, dx = f16; ///< f32, f16 or bf16
  std::int64_t n = 0;                ///< elements of a row
  /// A power of two: every row of all matrices starts at a multiple of so many elements, up to 16
  /// bytes. 0: the largest up to 16 that divides n.
  int row_align = 0;
  friend bool operator==(const SoftmaxBackwardProblem &, const SoftmaxBackwardProblem &) = default;
};

/// Which operands of a row stay in registers between the two passes. Memory is read once for each
/// of them, and twice for each other.
enum class Resident : std::uint8_t { both, y, none };

/// As RowConfig, with `resident` for two operands.
struct FLYDSL_API SoftmaxBackwardConfig {
  int threads = 256, block = 256;
  Resident resident = Resident::both;
  friend bool operator==(const SoftmaxBackwardConfig &, const SoftmaxBackwardConfig &) = default;
};

/// The tensors of a call, each (m, n) with contiguous rows. dx may be y or dy of the same type.
struct FLYDSL_API SoftmaxBackwardArgs {
  TensorArg y, dy, dx;
};

template <> struct FamilyOf<SoftmaxBackwardProblem> {
  using Config = SoftmaxBackwardConfig;
  using Args = SoftmaxBackwardArgs;
  static constexpr std::string_view name = "softmax_backward";
};
using SoftmaxBackwardPlan = Plan<SoftmaxBackwardProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
