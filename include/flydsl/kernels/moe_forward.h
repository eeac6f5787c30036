// A mixture of experts, from the logits of its router to the sum of its experts' results.
#pragma once

#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/moe_reduce.h>
#include <flydsl/kernels/moe_sort.h>
#include <flydsl/kernels/topk_gating.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// y[t] = sum over the experts e that the router gives token t of
///
///   weight[t, e] * (h[t, e] w2[e]^T + bias2[e]), with h[t, e] = act(x[t] w1[e]^T + bias1[e])
///
/// where act is of pairs of gates and ups if they are gated: see GroupedGemmProblem. h is rounded to
/// the type of x, and with scales of rows to expert_type() first. The weighted result of an expert is
/// rounded to expert_type(), and the sum of a token's, in f32 and in the order of the router, to y's type.
///
/// In 4 and 8 bits, x, w1 and w2 have scales, and so has h: of blocks, one for each 128 of a row, which the
/// first product makes on the way out (DeepSeek-V3, Kimi-K2, Qwen3 and GLM in f8E4M3FN), or those of OCP's
/// microscaling formats, one for each 32 of a row, which it makes, too (Scales::mx); or of rows, which a
/// launch after the first product makes; or one number that is given. Results of experts and biases have
/// 16 bits then, see expert_type().
///
/// With `any_order`, the second product may add its rows to y by atomic operations instead, see
/// MoeForwardConfig::adds: y is rounded to its type after each addition then, and these come in the order
/// of the device, so that bits may differ from call to call.
///
/// One plan launches the kernels of topk_gating, moe_sort, grouped_gemm twice, and moe_reduce, the first
/// two as one for few tokens; with scales of rows there is one kernel more between the products, and where
/// the scales of x are sorted one before them. How many rows an expert has stays on the device.
struct FLYDSL_API MoeForwardProblem {
  /// The router: its numbers of experts and of slots, its formula, the type of logits. Its shared
  /// experts are the last ones of w1 and w2.
  TopkGatingProblem router = {};
  /// Of x and h: f16 or bf16, or of 8 bits: i8 or the target's floats; with Scales::mx f8E4M3FN,
  /// f8E5M2 or f4E2M1FN.
  DType x = bf16;
  /// Of x of 4 and 8 bits, its weights and h: per_row, per_block of 8-bit floats, per_tensor, or mx.
  Scales scales = Scales::none;
  DType scale = f32; ///< of scales of blocks: f32, or f8E8M0FNU, powers of two
  /// Of the scales of w1 and w2 with Scales::mx: rows, or prepared on gfx950 (GroupedGemmProblem::scale_b_layout).
  OperandLayout w_scale_layout = OperandLayout::rows;
  /// Of w1 and w2: x's type if there is none; f4E2M1FN under x of 8 bits with Scales::mx; or narrow ones
  /// (GroupedGemmProblem): gpt-oss's f4E2M1FN with w_groups {32, f8E8M0FNU}, or u4 and i4 under 8 bits (W4A8).
  DType w = {};
  ScaleGroups w_groups = {};      ///< of narrow weights
  Scales w_scales = Scales::none; ///< or per_row, of narrow weights: scale1 and scale2
  DType y = bf16;                 ///< f32, f16 or bf16
  std::int64_t hidden = 0;        ///< elements of a token, and of a result
  std::int64_t inner = 0;         ///< elements of h
  bool bias = false;              ///< both products have one
  RoutedWeights weights = RoutedWeights::output; ///< or input: of the first product (Llama 4)
  Activation activation = Activation::silu;
  GatedPairs gated = GatedPairs::halves;
  float alpha = 1, limit = 0, up_offset = 0; ///< of gated pairs
  /// Not 0: expert parallelism. w1 and w2 are those of so many experts, which `expert_map` names; y is
  /// the sum of their results alone, to be added to those of other ranks.
  std::int64_t local = 0;
  bool tokens = false;    ///< the number of tokens is in device memory, m is an upper bound
  bool any_order = false; ///< the results of a token's experts may be added in any order

  /// The experts that the router tells apart, and those whose weights are here.
  std::int64_t experts() const { return router.experts + router.shared; }
  std::int64_t experts_here() const { return local ? local : experts(); }
  /// Whether x, the weights and h have 4 or 8 bits.
  bool quantised() const { return x.memory_bits() <= 8; }
  /// The type of biases and of results of experts: x's; of x of 4 and 8 bits f16 if y is, otherwise bf16.
  DType expert_type() const { return !quantised() ? x : y == f16 ? DType(f16) : DType(bf16); }
  /// The slots of a token.
  int topk() const { return router.topk + router.shared; }
  /// The type of w1 and w2, and whether they are narrow.
  DType weight_type() const { return w ? w : x; }
  bool narrow() const { return is_narrow(x, weight_type()); }
  /// The rows of w1 of an expert.
  std::int64_t rows1() const { return gated == GatedPairs::none ? inner : 2 * inner; }
  /// The weights of both products.
  WeightProblem weight1() const {
    return weights_under(x, weight_type(), experts_here() * rows1(), hidden);
  }
  WeightProblem weight2() const {
    return weights_under(x, weight_type(), experts_here() * hidden, inner);
  }
  friend bool operator==(const MoeForwardProblem &, const MoeForwardProblem &) = default;
};

/// The configurations of the kernels, and the unit of places that an expert begins at.
struct FLYDSL_API MoeForwardConfig {
  /// A multiple of the tile_m of both products. If tokens are dealt evenly, `choose` takes the smallest of 16, 32, 64 and 128 that
  /// holds all rows of an expert. It takes 64 for 129 to 512 rows, because the empty places in units of 128 would cost more time than
  /// the larger tiles save, and 128 for more rows.
  int unit = 16;
  RowConfig router = {};
  MoeSortConfig sort = {};
  GemmConfig first = {}, second = {};
  RowConfig reduce = {};
  /// The second product adds its rows to y, which the sorting sets to 0, and there is no reduction:
  /// one launch less, and no results of slots in memory. With any_order.
  bool adds = false;
  /// One kernel chooses the experts and sorts the slots, by one block, and there is no launch of
  /// `router`: for few tokens (MoeSortProblem::router).
  bool routes = false;
  /// The scales of x are sorted along and prepared (MoeSortProblem::scales), of Scales::mx on gfx950: one
  /// launch more, after which the first product loads them in a fraction of the time. For experts of many
  /// rows. The results are the same to the bit.
  bool sorts_scales = false;
  friend bool operator==(const MoeForwardConfig &, const MoeForwardConfig &) = default;
};

/// The tensors of a call, for m tokens; those that the problem does not have are left out.
struct FLYDSL_API MoeForwardArgs {
  TensorArg logits;                          ///< (m, router.experts), contiguous rows
  std::optional<TensorArg> router_bias = {}; ///< (router.experts), f32: router.bias
  std::optional<TensorArg> ids = {};         ///< (m, topk), i32, contiguous: router.given
  TensorArg x;           ///< (m, hidden), contiguous rows that start at multiples of 16 bytes
  PreparedWeight w1, w2; ///< of problem.weight1() and weight2()
  /// Of scales: (1), f32; of rows (m), f32; of blocks (m, hidden / 128), of mx (m, hidden / 32),
  /// contiguous. Of h, per_tensor alone: (1), f32
  std::optional<TensorArg> scale_x = {}, scale_h = {};
  /// (experts here, rows of w1 of an expert) and (experts here, hidden), f32, contiguous: of rows.
  /// Of scales: (experts here), f32; of blocks (experts here, rows / 128, columns / 128), of mx
  /// (experts here, rows, columns / 32), prepared (experts here, rows / 32, columns / 256, 256). Quotients are
  /// rounded up.
  std::optional<TensorArg> scale1 = {}, scale2 = {};
  /// (experts here, hidden / size, rows of w1 of an expert) and (experts here, inner / size, hidden) of the
  /// groups, contiguous: of type w_groups.scale, and u8.
  std::optional<TensorArg> group_scales1 = {}, group_scales2 = {}, group_zeros1 = {},
                           group_zeros2 = {};
  /// (experts here, rows of w1 of an expert) and (experts here, hidden), contiguous, of expert_type()
  std::optional<TensorArg> bias1 = {}, bias2 = {};
  std::optional<TensorArg> expert_map = {}; ///< (experts), i32: the local number, or -1
  std::optional<TensorArg> tokens = {};     ///< (1), i32: 0 to m
  TensorArg y;                              ///< (m, hidden), contiguous rows; past `tokens` 0
  std::optional<TensorArg> workspace = {};  ///< u8, plan.workspace_bytes(m) or more
};

template <> struct FamilyOf<MoeForwardProblem> {
  using Config = MoeForwardConfig;
  using Args = MoeForwardArgs;
  static constexpr std::string_view name = "moe_forward";
};
using MoeForwardPlan = Plan<MoeForwardProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
