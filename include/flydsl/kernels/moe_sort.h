// The slots of tokens sorted by expert: the order in which grouped products read and write rows.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/topk_gating.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// A slot is one of the `topk` experts of a token; a place is a row of the sorted order. Slots of an
/// expert are neighbours, in the order of tokens and, of one token, of slots: the same in each run.
/// Each place has an id, `slot << 24 | token`, which FlyDSL's and aiter's moe_sorting write, too; a
/// place without a slot is padding, has the id `topk << 24 | tokens` and the weight 0.
///
/// Contiguous layout (`capacity` is 0): experts follow one another, and each begins at a multiple of
/// `unit`, so that a unit of places has one expert. Masked layout: each expert has `capacity` places,
/// whose first ones are taken. Slots past the capacity are dropped, the last tokens first.
///
/// A slot whose expert is -1 has no place; nor has one of an expert that another rank has (`local`),
/// or one of a token past `tokens`. Other numbers outside of the experts are left out in the same
/// way, unless the plan is checked (PlanOptions::check_indices), which tells them.
struct FLYDSL_API MoeSortProblem {
  std::int64_t experts = 0;  ///< 1 to 2048: the numbers that ids have
  int topk = 1;              ///< slots of a token, 1 to 64
  int unit = 32;             ///< places of a unit, 1 to 256; 1: no padding
  std::int64_t capacity = 0; ///< places of each expert in the masked layout; 0: contiguous
  /// Not 0: this rank has so many of the experts, which `expert_map` names. Units, counts and offsets
  /// are those of its experts, by their local numbers. 0: it has all of them.
  std::int64_t local = 0;
  bool weights = true; ///< the weights of slots are sorted along
  bool tokens = false; ///< the number of tokens is in device memory, m is an upper bound
  bool places = false; ///< the place of each slot is written
  /// Not 0: rows of so many bytes, one of each of the m tokens, are set to 0 along the way, a multiple of
  /// 16: those that a product adds to (GroupedRows::tokens).
  std::int64_t zeros = 0;
  /// Not 0: the rows of tokens have so many scales of f8E8M0FNU, one for each 32 elements. Those of each
  /// place's token are sorted along, in the order of PreparedScales, by a launch after the sorting: what
  /// products of gathered rows take (GroupedGemmProblem::scale_a_layout). The unit, or the capacity, is a
  /// multiple of 16.
  std::int64_t scales = 0;
  /// With experts: the experts of tokens are chosen from logits first, by one kernel with the sorting, for
  /// few tokens. `ids` and `weights` are then written, as topk_gating gives them; ids are read where
  /// they are given. `experts` and `topk` count the router's shared ones, too.
  TopkGatingProblem router = {};
  /// Whether experts are chosen along the way.
  bool routes() const { return router.experts != 0; }
  friend bool operator==(const MoeSortProblem &, const MoeSortProblem &) = default;
};

/// One block sorts all slots by one kernel, or several blocks do so by three. Scales are sorted along by one more.
struct FLYDSL_API MoeSortConfig {
  int block = 256; ///< threads
  int blocks = 1;  ///< that share the slots, 1 to 1024; 1 with a router
  int threads =
      0; ///< that choose the experts of a token, a power of two up to a wave; 0 without a router
  friend bool operator==(const MoeSortConfig &, const MoeSortConfig &) = default;
};

/// The tensors of a call, for m tokens; those that the problem does not have are left out. All are
/// contiguous. `places` is any number from moe_sort_places on, and all places are written; `local` is
/// the number of experts here.
struct FLYDSL_API MoeSortArgs {
  TensorArg ids;                                ///< (m, topk), i32: the expert of each slot, or -1
  std::optional<TensorArg> weights = {};        ///< (m, topk), f32
  std::optional<TensorArg> expert_map = {};     ///< (experts), i32: the local number, or -1
  std::optional<TensorArg> tokens = {};         ///< (1), i32: 0 to m
  TensorArg sorted_ids;                         ///< (places), i32
  std::optional<TensorArg> sorted_weights = {}; ///< (places), f32
  /// (places / unit), i32, contiguous layout: the expert of each unit, -1 past the last one
  std::optional<TensorArg> unit_experts = {};
  TensorArg counts; ///< (local), i32: the places of each expert that are taken
  /// (local + 1), i32, contiguous layout: the first place of each expert, and the end of the last
  std::optional<TensorArg> offsets = {};
  /// (3), i32: the places in use with their padding, which is a multiple of the unit; the tokens;
  /// slots that were dropped
  TensorArg totals;
  std::optional<TensorArg> slot_places = {}; ///< (m, topk), i32: the place of each slot, or -1
  std::optional<TensorArg> zeros = {};       ///< (m, zeros), u8, contiguous rows
  std::optional<TensorArg> scales = {};      ///< (m, scales), f8E8M0FNU, contiguous rows
  /// (places / 32, scales / 8, 256), quotients rounded up, f8E8M0FNU, at a multiple of 4 bytes, written:
  /// a group of 32 places as a whole, if one of them has a slot. Padding, and what is past the scales of a row,
  /// is 0, which stands for 2^-127.
  std::optional<TensorArg> sorted_scales = {};
  std::optional<TensorArg> logits = {};      ///< (m, router.experts), contiguous rows: a router
  std::optional<TensorArg> router_bias = {}; ///< (router.experts), f32: router.bias
  std::optional<TensorArg> workspace = {};   ///< u8, plan.workspace_bytes(m) or more
};

template <> struct FamilyOf<MoeSortProblem> {
  using Config = MoeSortConfig;
  using Args = MoeSortArgs;
  static constexpr std::string_view name = "moe_sort";
};
using MoeSortPlan = Plan<MoeSortProblem>;

/// The fewest places that hold the slots of m tokens, whatever their experts are: a multiple of the
/// unit, or `capacity` for each expert. Throws Error for a problem that is not supported.
FLYDSL_API std::int64_t moe_sort_places(const MoeSortProblem &problem, std::int64_t m);

} // namespace kernels
FLYDSL_NAMESPACE_END
