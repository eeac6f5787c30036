// RMS norm and layer norm of each row of a matrix, with a residual added before, a gate, and
// quantisation after.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/quantisation.h>
#include <flydsl/kernels/row.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// The statistics by which a row is normalised.
enum class NormKind : std::uint8_t {
  rms,   ///< xhat = x / sqrt(mean(x^2) + eps)
  layer, ///< xhat = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps)
};

/// A function of the elements of a matrix, by which a norm multiplies. Gated norms follow linear
/// attention and the scans of state-space models, one row for each head or group.
enum class NormGate : std::uint8_t {
  none,
  silu,    ///< gate / (1 + exp(-gate)): Gated DeltaNet, Mamba-2
  sigmoid, ///< 1 / (1 + exp(-gate)): Kimi Linear
};

/// y = xhat * weight + bias for each row, computed in f32; x is x + residual if there is one. The
/// sum is rounded to the type of x first, written to residual_out, and that number is normalised.
/// With `modulation`, y becomes y * (1 + gain) + shift, with a row of each for a batch of rows (adaLN).
/// With a gate, y is that number times a function of the gate. If y is quantised, it is that number times `smooth` over a scale, see Quantisation.
struct FLYDSL_API NormProblem {
  NormKind kind = NormKind::rms;
  DType x = f16;      ///< f32, f16 or bf16, also of residual, residual_out, gate, gain and shift
  DType weight = f16; ///< f32, f16 or bf16, also of bias
  DType y = f16;      ///< f32, f16 or bf16; if y is quantised, i8 or a float of 8 bits
  std::int64_t n = 0; ///< elements of a row
  double eps = 1e-5;  ///< at least 0, rounded to f32
  bool bias = false;
  bool residual = false;
  bool statistics = false; ///< rstd = 1 / sqrt(...) of each row is written, and a layer norm's mean
  Quantisation quantise = Quantisation::none;
  /// Quantisation::row: neighbours of a row that have a scale of their own, a power of two from 16 on:
  /// 128 is what products with scales of blocks take of their rows, 32 the microscaling formats'
  /// block. 0: all of the row.
  int group = 0;
  /// Of groups: f32, or f8E8M0FNU, powers of two, with which y may be f4E2M1FN, too. Two elements of it
  /// share a byte; the first has the low bits.
  DType group_scale = f32;
  BlockScale block = BlockScale::ceil; ///< the rule of scales of f8E8M0FNU
  bool smooth = false;     ///< quantised y is multiplied by smooth, one factor a column, first
  DType smooth_type = f32; ///< f32, f16 or bf16
  NormGate gate = NormGate::none;
  /// The function of the gate multiplies x instead, and the product is normalised, as Mamba-2 has it.
  bool gate_first = false;
  bool modulation = false; ///< there are gain and shift
  /// A power of two: every row of all matrices starts at a multiple of so many elements, up to 16
  /// bytes, and so do the vectors. 0: the largest up to 16 that divides n.
  int row_align = 0;
  /// The number of rows is in device memory, and m is an upper bound: later rows are neither read nor
  /// written. A captured graph computes the rows that there are when it runs.
  bool rows = false;
  friend bool operator==(const NormProblem &, const NormProblem &) = default;
};

/// The tensors of a call; those that the problem does not have are left out. Matrices are (m, n)
/// with contiguous rows, vectors contiguous. y and residual_out may be x or residual; without a
/// residual, y may be the gate.
struct FLYDSL_API NormArgs {
  TensorArg x;
  TensorArg weight;                           ///< (n)
  std::optional<TensorArg> bias = {};         ///< (n)
  std::optional<TensorArg> residual = {};     ///< (m, n)
  std::optional<TensorArg> smooth = {};       ///< (n), of smooth_type
  TensorArg y;                                ///< (m, n)
  std::optional<TensorArg> residual_out = {}; ///< (m, n)
  /// f32. Quantisation::fixed: (1), read; Quantisation::row: (m), written. Of groups, of group_scale:
  /// (m, n / group), written; rows and columns may lie at any distance.
  std::optional<TensorArg> scale = {};
  std::optional<TensorArg> rstd = {}, mean = {}; ///< (m), f32
  std::optional<TensorArg> gate = {};            ///< (m, n)
  /// (batches, n), contiguous rows: neighbouring rows of x, m / batches of them, have one row of these.
  std::optional<TensorArg> gain = {}, shift = {};
  std::optional<TensorArg> rows = {}; ///< (1), i32: 0 to m
};

template <> struct FamilyOf<NormProblem> {
  using Config = RowConfig;
  using Args = NormArgs;
  static constexpr std::string_view name = "norm";
};
using NormPlan = Plan<NormProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
