// Softmax of each row of a matrix.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/row.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// y[i, j] = exp(x[i, j] - max_k x[i, k]) / sum_k exp(x[i, k] - max_k x[i, k]), computed in f32.
/// A row with a NaN, with +infinity or with -infinity alone becomes NaN.
struct FLYDSL_API SoftmaxProblem {
  DType x = f16, y = f16; ///< f32, f16 or bf16
  std::int64_t n = 0;     ///< elements of a row
  /// A power of two: every row of x and of y starts at a multiple of so many elements, up to 16
  /// bytes. 0: the largest up to 16 that divides n, which rows without gaps have.
  int row_align = 0;
  /// The number of rows is in device memory, and m is an upper bound: later rows are neither read nor
  /// written. A captured graph computes the rows that there are when it runs.
  bool rows = false;
  friend bool operator==(const SoftmaxProblem &, const SoftmaxProblem &) = default;
};

/// The tensors of a call; x and y are (m, n) with contiguous rows. y may be x.
struct FLYDSL_API SoftmaxArgs {
  TensorArg x, y;
  std::optional<TensorArg> rows = {}; ///< (1), i32: 0 to m
};

template <> struct FamilyOf<SoftmaxProblem> {
  using Config = RowConfig;
  using Args = SoftmaxArgs;
  static constexpr std::string_view name = "softmax";
};
using SoftmaxPlan = Plan<SoftmaxProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
