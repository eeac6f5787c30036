// The experts of each token: scores of the experts' logits, and the largest.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/row.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// What the score of an expert is.
enum class GatingScore : std::uint8_t {
  softmax,       ///< its share of the softmax over all experts
  sigmoid,       ///< 1 / (1 + exp(-logit))
  sqrt_softplus, ///< sqrt(log(1 + exp(logit)))
};

/// What the score of a group of experts is.
enum class GroupScore : std::uint8_t {
  largest,     ///< the largest of its experts (DeepSeek-V2)
  two_largest, ///< the sum of the two largest (DeepSeek-V3)
};

/// ids[t, :] are the topk experts of a token that are chosen, the best first and of equal ones the one
/// with the lower number; weights[t, :] are their scores, in f32.
///
/// The best is the one with the largest logit or, with a bias, with the largest sum of score and bias.
/// Of groups, topk_groups are chosen by what their experts are chosen by, and then experts of them
/// alone; of equal groups the first one. The weights of a token are then divided by their sum
/// (renormalise), and multiplied by `scale`. The bias is no part of them.
///
/// A token with a NaN among its logits, or among the sums with the bias, has weights that are NaN, and
/// its ids are different ones of the experts; of the softmax, with +infinity or with -infinity alone
/// too. -infinity in the bias leaves an expert out while there are others.
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
  GatingScore score = GatingScore::softmax;
  bool bias = false; ///< the choice is by score + bias: DeepSeek's e_score_correction_bias
  /// Groups of neighbouring experts, a divisor of the experts, at most 32; and how many of them are
  /// chosen. 1: no groups.
  int groups = 1, topk_groups = 1;
  GroupScore group_score = GroupScore::two_largest;
  float scale = 1; ///< of the weights: DeepSeek's routed_scaling_factor
  /// Shared experts, which each token has besides: they follow the topk ones in the order of their
  /// numbers, from `experts` on, with the weight `shared_weight`.
  int shared = 0;
  float shared_weight = 1;
  /// The ids are given, and their weights alone are computed: for layers that choose by a token's
  /// number (DeepSeek-V4's first ones). There are no groups, no bias and no shared experts then. An
  /// expert -1, and any other that there is not, has the weight 0.
  bool given = false;
  friend bool operator==(const TopkGatingProblem &, const TopkGatingProblem &) = default;
};

/// The tensors of a call, for m tokens; those that the problem does not have are left out.
struct FLYDSL_API TopkGatingArgs {
  TensorArg logits;                          ///< (m, experts), contiguous rows
  TensorArg weights;                         ///< (m, topk + shared), f32, contiguous
  TensorArg ids;                             ///< (m, topk + shared), i32, contiguous
  std::optional<TensorArg> source_rows = {}; ///< (m, topk + shared), i32, contiguous
  std::optional<TensorArg> bias = {};        ///< (experts), f32
};

template <> struct FamilyOf<TopkGatingProblem> {
  using Config = RowConfig;
  using Args = TopkGatingArgs;
  static constexpr std::string_view name = "topk_gating";
};
using TopkGatingPlan = Plan<TopkGatingProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
