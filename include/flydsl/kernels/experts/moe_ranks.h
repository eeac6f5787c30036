// A mixture of experts over the ranks of a group, from the logits of its router to the sum of its
// experts' results: one plan and one workspace.
#pragma once

#include <flydsl/kernels/expert_parallel.h>
#include <flydsl/kernels/moe_forward.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// The formula of MoeForwardProblem, whose experts the ranks of a group share: rank r has those from
/// r local() on. Each rank calls with tokens of its own, 0 too, and gets their results.
///
/// One plan launches the kernels of topk_gating, expert_dispatch, grouped_gemm twice, and
/// expert_combine; or, with MoeRanksConfig::fused, two that move rows while they multiply. The results
/// are the same, and those of moe_forward on one device, to the bit, if the products have the same
/// configuration.
struct FLYDSL_API MoeRanksProblem {
  /// That of one device. There are no shared experts, which each rank computes besides, and no
  /// `tokens`; its `local` is 0, because it follows from the ranks.
  MoeForwardProblem mixture = {};
  int ranks = 2;           ///< 2, 4 or 8
  std::int64_t tokens = 0; ///< the most tokens of a rank; the ranks' numbers may differ
  /// Places of a rank, units of the configuration. 0: as many as are enough if all tokens go to one
  /// rank. More slots than there are places are an error of the group (Group::check).
  std::int64_t places = 0;
  /// Not 0: fixed slots. Each expert of a rank has this many places, a multiple of the configuration's
  /// unit, and `places` is 0. They are for decode of few tokens. An expert with more slots is an error
  /// of the group. 0: compact slots.
  std::int64_t capacity = 0;
  DType wire = {}; ///< of results on their way back, as ExpertCombineProblem has it
  /// x and its scales lie in registered memory, as ExpertDispatchProblem has it. They may be written anew
  /// after the call on the rank's stream.
  bool registered = false;

  /// Those of all ranks.
  std::int64_t experts() const { return mixture.router.experts; }
  /// The slots of a token.
  int topk() const { return mixture.router.topk; }
  /// The experts of a rank.
  std::int64_t local() const { return experts() / ranks; }
  /// The mixture with the experts of a rank: of its weights, weight1() and weight2().
  MoeForwardProblem of_rank() const {
    MoeForwardProblem own = mixture;
    own.local = local();
    return own;
  }
  friend bool operator==(const MoeRanksProblem &, const MoeRanksProblem &) = default;
};

/// The configurations of the kernels, and the unit of places that an expert begins at. All ranks of a
/// group have the same.
struct FLYDSL_API MoeRanksConfig {
  int unit = 16; ///< a multiple of the tile_m of both products
  RowConfig router = {};
  ExpertDispatchConfig dispatch = {};
  GemmConfig first = {}, second = {};
  ExpertCombineConfig combine = {};
  /// The rows of a dispatch come in the launch of the first product: `copiers` blocks bring them, and
  /// each tile begins when its rows are there. The second product writes its results into the windows of
  /// their tokens' ranks, and the last blocks of its launch sum up: combine.blocks and combine.rows are
  /// theirs. Without `wire`. Threads of a row of dispatch and combine are as many as those of the
  /// product's block if there are more.
  bool fused = false;
  int copiers = 64; ///< with fused: 1 to 128
  /// With fused: the blocks of each of the two launches, which take one piece of work after another, by
  /// a counter, until none is left: copiers' units, tiles, and sums. Up to 65536. 0: a block for each
  /// piece. The results are the same.
  int persistent = 0;
  friend bool operator==(const MoeRanksConfig &, const MoeRanksConfig &) = default;
};

/// The tensors of a rank's call, for its m tokens; those that the problem does not have are left out.
/// Those of experts are of the rank's. A window of the group has room for what a dispatch gives, and for
/// tokens * topk results (ExpertDispatchArgs, ExpertCombineArgs).
struct FLYDSL_API MoeRanksArgs {
  TensorArg logits;                          ///< (m, experts), contiguous rows
  std::optional<TensorArg> router_bias = {}; ///< (experts), f32: router.bias
  std::optional<TensorArg> ids = {};         ///< (m, topk), i32, contiguous: router.given
  TensorArg x;           ///< (m, hidden), contiguous rows that start at multiples of 16 bytes
  PreparedWeight w1, w2; ///< of problem.of_rank().weight1() and weight2()
  /// These as MoeForwardArgs has them, but scale_x of blocks is a matrix of contiguous rows at any stride.
  std::optional<TensorArg> scale_x = {}, scale_h = {};
  std::optional<TensorArg> scale1 = {}, scale2 = {};
  std::optional<TensorArg> group_scales1 = {}, group_scales2 = {}, group_zeros1 = {},
                           group_zeros2 = {};
  std::optional<TensorArg> bias1 = {}, bias2 = {};
  TensorArg y;                             ///< (m, hidden), contiguous rows
  std::optional<TensorArg> workspace = {}; ///< workspace_bytes, which depends on no m
  const Group *group = nullptr;            ///< the rank's part in its group
};

template <> struct FamilyOf<MoeRanksProblem> {
  using Config = MoeRanksConfig;
  using Args = MoeRanksArgs;
  static constexpr std::string_view name = "moe_ranks";
};
using MoeRanksPlan = Plan<MoeRanksProblem>;

/// Where a rank's registered memory has x and scale_x of a call with `registered`: those of its dispatch
/// (expert_dispatch_registered). Throws Error if that is not supported.
FLYDSL_API ExpertDispatchRegistered moe_ranks_registered(const MoeRanksProblem &problem);

} // namespace kernels
FLYDSL_NAMESPACE_END
