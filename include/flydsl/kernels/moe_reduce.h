// The sum of a token's expert outputs.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/row.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// y[t, j] = sum over k of weight[t, k] * x[t, k, j], in f32 and in the order of k. Without weights
/// they are 1. With places, x[slot_places[t, k], j] stands for x[t, k, j], and a slot without a place
/// is left out. Rows of 8-bit floats have scales, one for each `group` neighbours of a row, by which
/// they are multiplied first: MXFP8 rows as products with Scales::mx write them (32), FlyDSL's (8), and
/// those of scales of blocks (128).
struct FLYDSL_API MoeReduceProblem {
  DType x = f16, y = f16; ///< f32, f16 or bf16; x also an 8-bit float, with a group
  std::int64_t n = 0;     ///< elements of a row
  int topk = 1;           ///< rows of a token, 1 to 64
  bool weights = false;
  bool mask = false; ///< a row whose mask is 0 is left out, and its memory is not read
  /// A power of two: every row starts at a multiple of so many elements, up to 16 bytes. 0: the
  /// largest up to 16 that divides n.
  int row_align = 0;
  bool places = false; ///< rows of x are those of places, as moe_sort names them
  /// Of x of 8 bits: so many neighbours share a scale, 8, 16, 32, 64 or 128, which divide n.
  int group = 0;
  DType group_scale = f8E8M0FNU; ///< of groups: f8E8M0FNU or f32
  /// Not 0: the number of experts, by which rows are left out. A slot whose id is none of
  /// them, or whose expert has the mask 0, is left out, and its memory is not read. A checked plan tells
  /// of ids that are neither -1 nor an expert's.
  std::int64_t experts = 0;
  friend bool operator==(const MoeReduceProblem &, const MoeReduceProblem &) = default;
};

/// The tensors of a call, for m tokens; those that the problem does not have are left out.
struct FLYDSL_API MoeReduceArgs {
  TensorArg x;                           ///< (m, topk, n) or (places, n), contiguous rows
  std::optional<TensorArg> weights = {}; ///< (m, topk), f32, contiguous
  std::optional<TensorArg> mask = {};    ///< (m, topk), u8, contiguous
  /// (m, topk), i32, contiguous: the row of x of each slot, or -1
  std::optional<TensorArg> slot_places = {};
  /// (m, topk, n / group) or (places, n / group), contiguous rows: scales of x
  std::optional<TensorArg> x_scale = {};
  /// (m, topk) and (experts), i32, contiguous: the expert of each slot, and whether it counts
  std::optional<TensorArg> ids = {}, expert_mask = {};
  TensorArg y; ///< (m, n), contiguous rows
};

template <> struct FamilyOf<MoeReduceProblem> {
  using Config = RowConfig;
  using Args = MoeReduceArgs;
  static constexpr std::string_view name = "moe_reduce";
};
using MoeReducePlan = Plan<MoeReduceProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
