// Expert parallelism: the ranks of a group share the experts of a mixture. Tokens go to the ranks that
// have their experts (dispatch), and the experts' results come back and are summed up (combine).
//
// Rank r of a group of `ranks` has the experts from r local() on, local() of them. Between dispatch
// and combine stand two products of groups of rows (GroupedGemmProblem), which take what dispatch
// writes. No count comes back to the host, and sums have a fixed order: the results are those of one
// device, to the bit, if the products round alike.
#pragma once

#include <flydsl/host/group.h>
#include <flydsl/kernels/moe_sort.h>
#include <flydsl/kernels/row.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// Brings each token to the places of its experts. A slot is one of the `topk` experts of a token, a
/// place is a row of y. The slots of an expert stand in the order of ranks, of tokens and of slots.
///
/// Compact slots (`capacity` is 0): experts follow one another, and each begins at a multiple of
/// `unit` places; products have GroupLayout::units. Fixed slots: each expert has `capacity` places;
/// products have GroupLayout::masked. More slots than there are places are an error of the group
/// (Group::check), and nothing is written outside of y.
struct FLYDSL_API ExpertDispatchProblem {
  DType x = bf16;            ///< f32, f16, bf16, i8, an 8-bit float, or f4E2M1FN
  std::int64_t n = 0;        ///< elements of a token
  std::int64_t experts = 0;  ///< of all ranks: a multiple of `ranks`, 1 to 2048 on each
  int topk = 1;              ///< slots of a token, 1 to 64
  int ranks = 2;             ///< 2, 4 or 8
  std::int64_t tokens = 0;   ///< the most tokens of a rank; the ranks' numbers may differ
  int unit = 32;             ///< places of a unit, 1 to 256
  std::int64_t capacity = 0; ///< places of each expert, a multiple of `unit`; 0: compact slots
  bool weights = true;       ///< the weights of slots go along
  DType scale = {};          ///< of the scales that go along: f32 or f8E8M0FNU. None without scales
  std::int64_t scales = 0;   ///< of a token
  /// What made the tokens has written x and scales into the rank's registered memory (Group::registered),
  /// where expert_dispatch_registered has their places: the other ranks read them there, and the call
  /// makes no copy. They stay as they are until the next call of the group on the rank's stream has ended.
  bool registered = false;

  /// The experts of a rank.
  std::int64_t local() const { return experts / ranks; }
  friend bool operator==(const ExpertDispatchProblem &, const ExpertDispatchProblem &) = default;
};

/// How the work is shared. All ranks of a group have the same.
struct FLYDSL_API ExpertDispatchConfig {
  RowConfig rows = {};
  /// The most blocks that meet those of other ranks, 1 to GroupMemory::most_blocks.
  int blocks = 64;
  MoeSortConfig sort = {}; ///< of the slots of all ranks
  friend bool operator==(const ExpertDispatchConfig &, const ExpertDispatchConfig &) = default;
};

/// The tensors of a rank's call, for its m tokens; those that the problem does not have are left out.
/// Those that are no rows are contiguous. A rank without tokens calls, too. A window of the group has
/// room for x, ids, weights and scales of `tokens` tokens, without x and scales if they are registered.
struct FLYDSL_API ExpertDispatchArgs {
  TensorArg x;                           ///< (m, n), contiguous rows
  TensorArg ids;                         ///< (m, topk), i32: the expert of each slot, or -1
  std::optional<TensorArg> weights = {}; ///< (m, topk), f32
  std::optional<TensorArg> scales = {};  ///< (m, scales), contiguous rows
  TensorArg y; ///< (places, n), contiguous rows. Rows without a slot are not written
  std::optional<TensorArg> sorted_weights = {}; ///< (places), f32; 0 where there is no slot
  std::optional<TensorArg> sorted_scales = {};  ///< (places, scales), contiguous rows
  /// (places / unit), i32, compact slots: the expert of each unit among those of the rank, or -1
  std::optional<TensorArg> unit_experts = {};
  TensorArg counts; ///< (local), i32: the places of each expert that are taken
  /// (local + 1), i32, compact slots: the first place of each expert, and the end of the last
  std::optional<TensorArg> offsets = {};
  /// (3), i32: the places in use with their padding; ranks * tokens; slots without a place
  TensorArg totals;
  /// (ranks, tokens, topk), i32: the place of each slot of each rank here, or -1; for combine
  TensorArg slot_places;
  std::optional<TensorArg> workspace = {}; ///< u8, plan.workspace_bytes(m) of any m
  const Group *group = nullptr;            ///< the rank's part in its group
};

template <> struct FamilyOf<ExpertDispatchProblem> {
  using Config = ExpertDispatchConfig;
  using Args = ExpertDispatchArgs;
  static constexpr std::string_view name = "expert_dispatch";
};
using ExpertDispatchPlan = Plan<ExpertDispatchProblem>;

/// Where a rank's registered memory has the operands of a dispatch with `registered`, in bytes. x begins
/// where the memory begins.
struct FLYDSL_API ExpertDispatchRegistered {
  std::int64_t row = 0;       ///< from a row of x to the next: a multiple of 16
  std::int64_t scales_at = 0; ///< the first row of scales
  std::int64_t scale_row = 0; ///< from a row of scales to the next; 0 without scales
  std::int64_t bytes = 0;     ///< of all: GroupOptions::registered has at least as many
};
/// Throws Error for a problem that is not supported.
FLYDSL_API ExpertDispatchRegistered
expert_dispatch_registered(const ExpertDispatchProblem &problem);

/// The fewest places that hold the slots of all ranks, whatever their experts are. Fewer are enough as
/// a rule: that many if all tokens go to one rank. Throws Error for a problem that is not supported.
FLYDSL_API std::int64_t expert_dispatch_places(const ExpertDispatchProblem &problem);

/// y[t, j] = sum over k of weight[t, k] * r[t, k, j], in f32 and in the order of k, where r[t, k] is
/// the row of x, on the rank that has expert ids[t, k], of the place of that slot. Without weights
/// they are 1, and the products have applied them. Slots whose expert is -1 are left out.
///
/// With `wire`, rows are codes of 8 bits between the ranks, in blocks of 32 neighbours with a scale of
/// type f8E8M0FNU that is rounded up: OCP's MX formats, as those of CollectiveProblem::wire, whose
/// errors they have. Rows of the rank's own experts are rounded so, too.
struct FLYDSL_API ExpertCombineProblem {
  DType x = bf16, y = bf16; ///< f32, f16 or bf16
  std::int64_t n = 0;       ///< elements of a row
  std::int64_t experts = 0; ///< these four as ExpertDispatchProblem has them
  int topk = 1;
  int ranks = 2;
  std::int64_t tokens = 0;
  bool weights = false;
  DType wire = {}; ///< none, f8E4M3FN or f8E5M2; n is a multiple of 32 then
  friend bool operator==(const ExpertCombineProblem &, const ExpertCombineProblem &) = default;
};

/// How the work is shared. All ranks of a group have the same.
struct FLYDSL_API ExpertCombineConfig {
  RowConfig rows = {};
  int blocks = 64; ///< the most blocks of a launch, 1 to GroupMemory::most_blocks
  friend bool operator==(const ExpertCombineConfig &, const ExpertCombineConfig &) = default;
};

/// The tensors of a rank's call, for its m tokens. A window of the group has room for tokens * topk
/// rows of x, each up to a multiple of 16 bytes; with `wire` for as many rows of codes and of scales.
struct FLYDSL_API ExpertCombineArgs {
  TensorArg x;           ///< (places, n), contiguous rows: the results of the rank's experts
  TensorArg slot_places; ///< (ranks, tokens, topk), i32, as dispatch wrote it
  TensorArg ids;         ///< (m, topk), i32, as dispatch read it
  std::optional<TensorArg> weights = {}; ///< (m, topk), f32
  TensorArg y;                           ///< (m, n), contiguous rows
  const Group *group = nullptr;          ///< the rank's part in its group
};

template <> struct FamilyOf<ExpertCombineProblem> {
  using Config = ExpertCombineConfig;
  using Args = ExpertCombineArgs;
  static constexpr std::string_view name = "expert_combine";
};
using ExpertCombinePlan = Plan<ExpertCombineProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
