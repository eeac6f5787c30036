// The gradients of RMS norm and layer norm.
#pragma once

#include <flydsl/kernels/norm.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// With xhat of each row as in NormProblem and g = dy * weight, computed in f32:
///   rms:    dx = rstd * (g - xhat * mean(g * xhat))
///   layer:  dx = rstd * (g - mean(g) - xhat * mean(g * xhat))
///   dweight = sum over rows of dy * xhat,  dbias = sum over rows of dy
/// x is what was normalised: residual_out where there was a residual, whose own gradient is added
/// to dx then.
struct FLYDSL_API NormBackwardProblem {
  NormKind kind = NormKind::rms;
  DType x = f16;         ///< f32, f16 or bf16
  DType weight = f16;    ///< the same, also of dweight and dbias
  DType dy = f16;        ///< the same, also of dresidual and dx
  std::int64_t n = 0;    ///< elements of a row
  bool bias = false;     ///< dbias is written
  bool residual = false; ///< dresidual is added to dx
  /// A power of two: every row of all matrices and the vectors start at a multiple of so many
  /// elements, up to 16 bytes. 0: the largest up to 16 that divides n.
  int row_align = 0;
  friend bool operator==(const NormBackwardProblem &, const NormBackwardProblem &) = default;
};

/// As RowConfig; a block takes one row after another and adds up its part of dweight and dbias.
struct FLYDSL_API NormBackwardConfig {
  int threads = 256, block = 256;
  bool resident = true; ///< also the sums of dweight and dbias stay in registers
  int programs = 256;   ///< blocks at most, which share the rows
  /// True if blocks add their sums to one place by atomics, in any order: results may differ in the
  /// last bits from run to run. Otherwise each writes its own, and a second kernel adds them up.
  bool atomic = false;
  friend bool operator==(const NormBackwardConfig &, const NormBackwardConfig &) = default;
};

/// The tensors of a call; those that the problem does not have are left out. Matrices are (m, n)
/// with contiguous rows, vectors contiguous.
struct FLYDSL_API NormBackwardArgs {
  TensorArg x, weight, dy;                 ///< (m, n), (n), (m, n)
  TensorArg rstd;                          ///< (m), f32, as the norm wrote it
  std::optional<TensorArg> mean = {};      ///< (m), f32: of a layer norm
  std::optional<TensorArg> dresidual = {}; ///< (m, n)
  TensorArg dx, dweight;                   ///< (m, n), (n)
  std::optional<TensorArg> dbias = {};     ///< (n)
  TensorArg workspace;                     ///< u8 (plan.workspace_bytes(m)) or more
};

template <> struct FamilyOf<NormBackwardProblem> {
  using Config = NormBackwardConfig;
  using Args = NormBackwardArgs;
  static constexpr std::string_view name = "norm_backward";
};
using NormBackwardPlan = Plan<NormBackwardProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
