// The Hadamard transform of rows, quantised or not: rotations that spread outliers over a row.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/quantisation.h>
#include <flydsl/kernels/row.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// y[i, j] = scale * sum over k of (-1)^(number of bits that j and k have both) x[i, k]: the product with
/// Sylvester's matrix, as scipy.linalg.hadamard and Dao's fast-hadamard-transform have it. It is computed
/// in f32, in log2 n steps of sums and differences. With scale = 1 / sqrt(n) it is a rotation, and its own
/// inverse.
///
/// If y is quantised, it is that over a scale, see Quantisation; groups are those of NormProblem.
struct FLYDSL_API HadamardProblem {
  DType x = bf16;     ///< f32, f16 or bf16
  DType y = bf16;     ///< f32, f16 or bf16; if y is quantised, i8 or a float of 8 bits
  std::int64_t n = 0; ///< elements of a row: a power of two from 2 to 32768
  double scale = 1;   ///< a finite number, rounded to f32
  Quantisation quantise = Quantisation::none;
  /// Quantisation::row: neighbours of a row that have a scale of their own, a power of two from 16 on;
  /// 0: all of the row.
  int group = 0;
  /// Of groups: f32, or f8E8M0FNU, powers of two, with which y may be f4E2M1FN, too.
  DType group_scale = f32;
  BlockScale block = BlockScale::ceil; ///< the rule of scales of f8E8M0FNU
  /// A power of two: every row of x and y starts at a multiple of so many elements, up to 16 bytes. 0:
  /// the largest up to 16 that divides n.
  int row_align = 0;
  /// The number of rows is in device memory, and m is an upper bound: later rows are neither read nor
  /// written. A captured graph computes the rows that there are when it runs.
  bool rows = false;
  friend bool operator==(const HadamardProblem &, const HadamardProblem &) = default;
};

/// The tensors of a call. Matrices have contiguous rows at any distance; y may be x.
struct FLYDSL_API HadamardArgs {
  TensorArg x, y; ///< (m, n)
  /// f32. Quantisation::fixed: (1), read; Quantisation::row: (m), written. Of groups, of group_scale:
  /// (m, n / group), written; rows and columns may lie at any distance.
  std::optional<TensorArg> scale = {};
  std::optional<TensorArg> rows = {}; ///< (1), i32: 0 to m
};

template <> struct FamilyOf<HadamardProblem> {
  using Config = RowConfig;
  using Args = HadamardArgs;
  static constexpr std::string_view name = "hadamard";
};
using HadamardPlan = Plan<HadamardProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
