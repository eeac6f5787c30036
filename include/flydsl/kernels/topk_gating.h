// The experts of each token: softmax over the experts' logits, and the largest.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/row.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// ids[t, :] are the topk experts with the largest logits of a token, the largest first and of
/// equal ones the one with the lower number; weights[t, :] are their shares of the softmax over all
/// experts, in f32. A token with a NaN among its logits has weights that are NaN; with +infinity or
/// with -infinity alone too.
struct FLYDSL_API TopkGatingProblem {
  DType logits = f32;       ///< f32, f16 or bf16
  std::int64_t experts = 0; ///< up to 2048
  int topk = 1;             ///< 1 to the experts, at most 64
  bool renormalise = false; ///< the weights of a token are divided by their sum
  bool source_rows =
      false; ///< source_rows[t, k] = k * m + t is written: vLLM's token_expert_indices
  /// A power of two: every row of logits starts at a multiple of so many elements, up to 16 bytes.
  /// 0: the largest up to 16 that divides the experts.
  int row_align = 0;
  friend bool operator==(const TopkGatingProblem &, const TopkGatingProblem &) = default;
};

/// The tensors of a call, for m tokens.
struct FLYDSL_API TopkGatingArgs {
  TensorArg logits;                          ///< (m, experts), contiguous rows
  TensorArg weights;                         ///< (m, topk), f32, contiguous
  TensorArg ids;                             ///< (m, topk), i32, contiguous
  std::optional<TensorArg> source_rows = {}; ///< (m, topk), i32, contiguous
};

template <> struct FamilyOf<TopkGatingProblem> {
  using Config = RowConfig;
  using Args = TopkGatingArgs;
  static constexpr std::string_view name = "topk_gating";
};
using TopkGatingPlan = Plan<TopkGatingProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
