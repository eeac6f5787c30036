// An all-reduce, the addition of a residual, and a norm of what that gives, as one kernel.
#pragma once

#include <flydsl/host/group.h>
#include <flydsl/kernels/norm.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// residual_out is the sum of all ranks' x, plus residual; y is its norm, which may be quantised. The
/// results have the bits of an all-reduce in one stage and of a norm with a residual after it, on each
/// rank. Each rank reads x of all ranks: it is for the few rows of a step. A prompt's many rows are
/// quicker by CollectiveProblem, in two stages, and NormProblem.
struct FLYDSL_API CollectiveNormProblem {
  NormProblem norm; ///< with a residual, without statistics and gates
  int ranks = 2;    ///< 2, 4 or 8
  friend bool operator==(const CollectiveNormProblem &, const CollectiveNormProblem &) = default;
};

/// How rows are shared. All ranks of a group have the same.
struct FLYDSL_API CollectiveNormConfig {
  RowConfig rows = {};
  int blocks = 64; ///< the most blocks of a launch, 1 to GroupMemory::most_blocks
  friend bool operator==(const CollectiveNormConfig &, const CollectiveNormConfig &) = default;
};

/// The operands of a rank's call, as those of a norm (NormArgs). A window of the group has room for m
/// rows of x, each of n elements up to a multiple of 16 bytes.
struct FLYDSL_API CollectiveNormArgs {
  TensorArg x;                          ///< (m, n), the rank's part of the sum
  TensorArg weight;                     ///< (n)
  std::optional<TensorArg> bias = {};   ///< (n)
  TensorArg residual;                   ///< (m, n), the same on all ranks
  std::optional<TensorArg> smooth = {}; ///< (n), of norm.smooth_type
  TensorArg y;                          ///< (m, n)
  TensorArg residual_out;               ///< (m, n); it may be residual
  std::optional<TensorArg> scale = {};  ///< as NormArgs has it
  const Group *group = nullptr;         ///< the rank's part in its group
};

template <> struct FamilyOf<CollectiveNormProblem> {
  using Config = CollectiveNormConfig;
  using Args = CollectiveNormArgs;
  static constexpr std::string_view name = "collective_norm";
};
using CollectiveNormPlan = Plan<CollectiveNormProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
