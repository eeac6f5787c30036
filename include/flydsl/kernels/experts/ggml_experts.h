// Products of tokens with the experts of their slots, whose weights are in ggml's block formats:
// ggml's mul_mat_id.
#pragma once

#include <flydsl/kernels/ggml_gemm.h>
#include <flydsl/kernels/moe_sort.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// c[i, s, j] = act(sum_k a[i, k] * w(b)[ids[i, s], j, k]), where w(b) are the weights that the blocks b
/// stand for: matrices of n rows, one after another. If it is gated, that times the same with w(up).
/// Where each slot has a row of its own, as in the second product of a mixture, a token is a slot:
/// `topk` is 1, and a has a row for each slot.
///
/// An expert of -1 is none: what c holds for its slot stays. Other numbers outside of the experts are
/// left out in the same way, unless the plan is checked (PlanOptions::check_indices), which tells them.
/// Types, rounding and errors are those of ggml_gemm.
struct FLYDSL_API GgmlExpertsProblem {
  GgmlFormat format = GgmlFormat::q4_0;
  GgmlLayout layout = GgmlLayout::blocks;
  DType a = f32;            ///< f32, f16 or bf16
  DType c = f32;            ///< f32, f16 or bf16
  DType product = f16;      ///< what matrix instructions multiply: f16 or bf16
  std::int64_t experts = 0; ///< 1 to 2048
  int topk = 1;             ///< slots of a token, 1 to 64
  std::int64_t n = 0;       ///< rows of an expert's weights: columns of c
  std::int64_t k = 0;       ///< columns of a and of b
  Activation activation = Activation::none;
  bool gated = false;
  bool q8_1 = false; ///< a is rounded to Q8_1 by few rows; weights are quantised ones
  /// The weights b, and up too: those of all experts, whose rows follow one another.
  GgmlWeight weight() const { return {format, layout, experts * n, k}; }
  /// The product of slots that are sorted with units of so many places, or of those in the order of
  /// tokens if it is 0.
  GgmlGemmProblem multiplied(int unit) const {
    return {.format = format,
            .layout = layout,
            .a = a,
            .c = c,
            .product = product,
            .n = n,
            .k = k,
            .activation = activation,
            .gated = gated,
            .q8_1 = q8_1,
            .experts = experts,
            .topk = topk,
            .unit = unit};
  }
  friend bool operator==(const GgmlExpertsProblem &, const GgmlExpertsProblem &) = default;
};

/// Whether slots are sorted first, and the configurations of the kernels.
struct FLYDSL_API GgmlExpertsConfig {
  /// Places of a unit, 1 to 256: the slots of an expert are multiplied together, so many or fewer at a time. 0:
  /// slots are not sorted, and are multiplied one by one.
  int unit = 0;
  MoeSortConfig sort = {}; ///< if they are sorted
  GgmlGemmConfig product = {};
  friend bool operator==(const GgmlExpertsConfig &, const GgmlExpertsConfig &) = default;
};

/// The tensors of a call with m tokens. Rows of a start at multiples of 16 bytes.
struct FLYDSL_API GgmlExpertsArgs {
  TensorArg a;                             ///< (m, k), contiguous rows
  GgmlTensor b;                            ///< of problem.weight()
  std::optional<GgmlTensor> up = {};       ///< as b, if the product is gated
  TensorArg ids;                           ///< (m, topk), i32, contiguous: the expert of each slot
  TensorArg c;                             ///< (m, topk, n), contiguous tokens
  std::optional<TensorArg> workspace = {}; ///< u8, plan.workspace_bytes(m) or more
};

template <> struct FamilyOf<GgmlExpertsProblem> {
  using Config = GgmlExpertsConfig;
  using Args = GgmlExpertsArgs;
  static constexpr std::string_view name = "ggml_experts";
};
using GgmlExpertsPlan = Plan<GgmlExpertsProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
