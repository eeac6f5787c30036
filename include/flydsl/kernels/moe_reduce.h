// The sum of a token's expert outputs.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/row.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// y[t, j] = sum over k of weight[t, k] * x[t, k, j], in f32 and in the order of k. Without weights
/// they are 1. With places, x[slot_places[t, k], j] stands for x[t, k, j], and a slot without a place
/// is left out.
struct FLYDSL_API MoeReduceProblem {
  DType x = f16, y = f16; ///< f32, f16 or bf16
  std::int64_t n = 0;     ///< elements of a row
  int topk = 1;           ///< rows of a token, 1 to 64
  bool weights = false;
  bool mask = false; ///< a row whose mask is 0 is left out, and its memory is not read
  /// A power of two: every row starts at a multiple of so many elements, up to 16 bytes. 0: the
  /// largest up to 16 that divides n.
  int row_align = 0;
  bool places = false; ///< rows of x are those of places, as moe_sort names them
  friend bool operator==(const MoeReduceProblem &, const MoeReduceProblem &) = default;
};

/// The tensors of a call, for m tokens; those that the problem does not have are left out.
struct FLYDSL_API MoeReduceArgs {
  TensorArg x;                           ///< (m, topk, n) or (places, n), contiguous rows
  std::optional<TensorArg> weights = {}; ///< (m, topk), f32, contiguous
  std::optional<TensorArg> mask = {};    ///< (m, topk), u8, contiguous
  /// (m, topk), i32, contiguous: the row of x of each slot, or -1
  std::optional<TensorArg> slot_places = {};
  TensorArg y;                           ///< (m, n), contiguous rows
};

template <> struct FamilyOf<MoeReduceProblem> {
  using Config = RowConfig;
  using Args = MoeReduceArgs;
  static constexpr std::string_view name = "moe_reduce";
};
using MoeReducePlan = Plan<MoeReduceProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
