// Collectives: what the ranks of a group compute together.
#pragma once

#include <flydsl/host/group.h>
#include <flydsl/kernels/plan.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// What a collective computes. Vector x of rank r is x_r; a part is one of as many equal parts of a
/// vector as there are ranks.
enum class CollectiveKind : std::uint8_t {
  all_reduce,     ///< y is the sum of all x, on each rank
  reduce_scatter, ///< y is part r of the sum of all x, on rank r
  all_gather,     ///< part p of y is x_p, on each rank
  broadcast,      ///< y is x of the root, on each rank
  all_to_all,     ///< part p of y is part r of x_p, on rank r
};

/// A collective among the ranks of a group. Sums are made in f32, in the order of the ranks, and are
/// rounded once: all ranks get the same bits, in each run.
struct FLYDSL_API CollectiveProblem {
  CollectiveKind kind = CollectiveKind::all_reduce;
  DType type = bf16; ///< of x and y: f32, f16 or bf16
  int ranks = 2;     ///< 2, 4 or 8
  /// What values are between the ranks, of all_reduce and reduce_scatter: f8E4M3FN or f8E5M2, in
  /// blocks of 32 neighbours with a scale that is a power of two (MX), which is rounded up. None: of
  /// `type`. Each x is rounded so, the own one too, and in two stages the sum once more, so that all
  /// ranks still get the same bits. A block with an infinity or a NaN is NaN.
  DType wire = {};
  friend bool operator==(const CollectiveProblem &, const CollectiveProblem &) = default;
};

/// How the ranks share the work of an all-reduce; other collectives have one stage.
enum class CollectiveStages : std::uint8_t {
  one,   ///< each rank reads all of the others' vectors, and sums them up: the fewest steps
  two,   ///< each rank sums up a part, and reads the others' parts of the sum
  write, ///< the same by writing: parts of x, then of the sum, go into the others' windows
};

/// How the work is shared. All ranks of a group have the same.
struct FLYDSL_API CollectiveConfig {
  CollectiveStages stages = CollectiveStages::one;
  int block = 512; ///< threads of a block
  int blocks = 64; ///< the most blocks of a launch, 1 to GroupMemory::most_blocks
  friend bool operator==(const CollectiveConfig &, const CollectiveConfig &) = default;
};

/// The operands of a rank's call. m is the number of elements of the longer one of x and y. It is a
/// multiple of 16 bytes, and so is a part where there are parts; of 32 elements where there are blocks.
struct FLYDSL_API CollectiveArgs {
  TensorArg x;                  ///< (m), or (m / ranks) of all_gather; contiguous
  TensorArg y;                  ///< (m), or (m / ranks) of reduce_scatter; contiguous. It may be x
  const Group *group = nullptr; ///< the rank's part in its group
  int root = 0;                 ///< of broadcast; x of the other ranks is not read
};

template <> struct FamilyOf<CollectiveProblem> {
  using Config = CollectiveConfig;
  using Args = CollectiveArgs;
  static constexpr std::string_view name = "collective";
};
using CollectivePlan = Plan<CollectiveProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
