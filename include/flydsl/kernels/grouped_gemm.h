// Products of groups of rows, each with weights of its own: the experts of a mixture.
#pragma once

#include <flydsl/kernels/gemm.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// Which rows an expert has. Rows stand in the order of experts; the number of a row in this order
/// is its place.
enum class GroupLayout : std::uint8_t {
  /// Contiguous layout of moe_sort: each expert begins at a multiple of `unit` places.
  units,
  masked,  ///< masked layout of moe_sort: each expert has `capacity` places
  offsets, ///< expert e has the places from offsets[e] to below offsets[e + 1], any numbers
};

/// Where the row of a place is.
enum class GroupedRows : std::uint8_t {
  places, ///< place after place
  /// The row of the place's token. Of a matrix a (tokens, k), nothing is read for padding. To a matrix
  /// c (tokens, n) rows are added, by atomic operations: c holds what they are added to before the
  /// call, such as zeros or the results of a shared expert. The order of the additions is that of the
  /// device, and each rounds to c's type, so that the bits of c may differ from call to call.
  tokens,
  /// c alone: the row of the place's token and slot, of a tensor (tokens, topk, n). A slot that has
  /// no place is not written.
  slots,
};

/// What the weights of places, which a router gave, are multiplied by.
enum class RoutedWeights : std::uint8_t {
  none,
  input,  ///< the rows of a: the scaled sums, before bias and activation
  output, ///< the rows of c, after everything else
};

/// The two rows of weights of an element of c where pairs are gated.
enum class GatedPairs : std::uint8_t {
  none,
  halves,      ///< the n gates of an expert, then its n ups. Prepared weights
  interleaved, ///< gate, up, gate, up and so on
};

/// For each expert e and each of its places p, with x = a's row of p:
///
///   s[j] = scale_a[p] * scale_b[e, j] * sum_k x[k] * b[e, j, k] + bias[e, j]
///   c's row of p, element j: act(s[j])
///
/// Gated, with g and u the sums of gate j and up j: act(g') * (u' + up_offset), where g' is g and u'
/// is u, or with a limit min(g, limit) and u kept from -limit to limit. silu is
/// g / (1 + exp(-alpha g)). gpt-oss has alpha 1.702, limit 7 and up_offset 1.
///
/// Sums are in f32, or exactly in i32 if a and b are i8. Scales of blocks and Scales::mx are inside of
/// the sum, as in GemmProblem. Rows without a place, such as padding, are neither read nor written.
struct FLYDSL_API GroupedGemmProblem {
  DType a = bf16, b = bf16; ///< as GemmProblem has them
  DType c = bf16;           ///< f32, f16 or bf16; with scale_c i8, a float of 8 bits or f4E2M1FN
  OperandLayout b_layout = OperandLayout::prepared; ///< or rows
  std::int64_t experts = 0;                         ///< 1 to 2048
  std::int64_t n = 0; ///< columns of c; b has twice as many rows where pairs are gated
  std::int64_t k = 0; ///< columns of a and b; a row of them is a multiple of 16 bytes
  GroupLayout groups = GroupLayout::units;
  int unit = 32;             ///< GroupLayout::units: 16 to 256, a multiple of 16
  std::int64_t capacity = 0; ///< GroupLayout::masked: a multiple of 16
  int topk = 1;              ///< slots of a token in `sorted_ids`, 1 to 64
  GroupedRows a_rows = GroupedRows::places;
  GroupedRows c_rows = GroupedRows::places;
  RoutedWeights weights = RoutedWeights::none;
  Scales scale_a = Scales::none, scale_b = Scales::none;
  Scales scale_c = Scales::none; ///< as GemmProblem has it; of blocks, c's rows are those of places
  /// Of scales of blocks: f32, or f8E8M0FNU, powers of two, which those of Scales::mx are.
  DType scale = f32;
  /// Of Scales::mx: rows, or prepared on gfx950, which are loaded in a fraction of the time. The scales of each expert's
  /// weights are prepared by themselves (prepare_expert_scales). Those of a are of places, in units or masked, also
  /// where the rows of a are those of tokens (MoeSortProblem::scales).
  OperandLayout scale_a_layout = OperandLayout::rows, scale_b_layout = OperandLayout::rows;
  /// Of scale_c of Scales::mx: rows, or prepared, as a second product takes them for scale_a. n is a multiple of 256
  /// then, and the unit or the capacity one of 32. Groups of 32 places that have rows are written as a whole.
  OperandLayout scale_c_layout = OperandLayout::rows;
  ScaleGroups b_groups = {}; ///< of narrow weights, as GemmProblem has them
  bool bias = false;         ///< one element for each row of b
  DType bias_type = {};      ///< f32, f16 or bf16; none: the type of c
  Activation activation = Activation::none;
  GatedPairs gated = GatedPairs::none;
  float alpha = 1;     ///< of silu, where pairs are gated
  float limit = 0;     ///< of gated pairs; 0: none
  float up_offset = 0; ///< of gated pairs

  /// Rows of an expert's weights.
  std::int64_t columns() const { return gated == GatedPairs::none ? n : 2 * n; }
  /// The weights of all experts, if they are prepared: those of one expert after those of another.
  WeightProblem weight() const { return weights_under(a, b, experts * columns(), k); }
  /// Whether b is narrow weights.
  bool narrow() const { return is_narrow(a, b); }
  /// The type of the bias.
  DType type_of_bias() const { return bias_type ? bias_type : c; }
  /// Whether places have tokens and slots.
  bool has_ids() const { return a_rows == GroupedRows::tokens || c_rows != GroupedRows::places; }
  friend bool operator==(const GroupedGemmProblem &, const GroupedGemmProblem &) = default;
};

/// The tensors of a call; those that the problem does not have are left out. `places` is the number of
/// rows of the sorted order, and m of `choose` and `configs`.
struct FLYDSL_API GroupedGemmArgs {
  TensorArg a; ///< (places, k) or (tokens, k), contiguous rows that start at multiples of 16 bytes
  /// A PreparedWeight of problem.weight(), or a tensor (experts, rows of b, k) with contiguous rows.
  WeightArg b;
  TensorArg c; ///< (places, n), (tokens, topk, n), or (tokens, n), added to; contiguous rows
  /// (places / unit), i32, GroupLayout::units: the expert of each unit of places, or -1
  std::optional<TensorArg> unit_experts = {};
  /// (experts + 1), i32, but for GroupLayout::masked: the first place of each expert, and the end of
  /// the last
  std::optional<TensorArg> offsets = {};
  /// (experts), i32, but for GroupLayout::offsets: the places of each expert that are taken, which are
  /// its first
  std::optional<TensorArg> counts = {};
  /// (places), i32: slot << 24 | token, if a's rows are those of tokens, or c's those of slots or
  /// tokens
  std::optional<TensorArg> sorted_ids = {};
  std::optional<TensorArg> weights = {}; ///< (places), f32
  /// Of rows: one for each row of a, and (experts, rows of b), f32; of tensors (1) and (experts). Of
  /// blocks: (rows of a, k / 128) and (experts, rows of b / 128, k / 128); of Scales::mx (rows of a,
  /// k / 32) and (experts, rows of b, k / 32), prepared (places / 32, k / 256, 256) and (experts,
  /// rows of b / 32, k / 256, 256). Groups of 32 places without rows are not read. Contiguous; quotients are rounded up.
  std::optional<TensorArg> scale_a = {}, scale_b = {};
  /// (1), f32, read; or of blocks (places, n / 128), of Scales::mx (places, n / 32), prepared (places / 32,
  /// n / 256, 256), of type scale, written, contiguous.
  std::optional<TensorArg> scale_c = {};
  /// (experts, k / size, rows of b) of the groups of b, contiguous: of type b_groups.scale, and u8.
  std::optional<TensorArg> group_scales = {}, group_zeros = {};
  std::optional<TensorArg> bias = {}; ///< (experts, rows of b), contiguous
};

template <> struct FamilyOf<GroupedGemmProblem> {
  using Config = GemmConfig;
  using Args = GroupedGemmArgs;
  static constexpr std::string_view name = "grouped_gemm";
};
using GroupedGemmPlan = Plan<GroupedGemmProblem>;

/// Scales of 32 elements of the weights of experts (experts, rows, k), row after row, in the order of
/// PreparedScales: those of one expert after those of another, each as prepare_scales makes them. Where an expert
/// has a multiple of 32 rows, they are those of one matrix of all rows. Throws Error unless there are
/// experts * rows * k / 32 scales.
FLYDSL_API std::vector<std::uint8_t> prepare_expert_scales(std::int64_t experts, std::int64_t rows,
                                                           std::int64_t k,
                                                           std::span<const std::uint8_t> scales);

} // namespace kernels
FLYDSL_NAMESPACE_END
