// How the keys of a step of decoding are dealt to blocks: evenly,
// whatever the lengths of sequences.
#pragma once

#include <flydsl/kernels/plan.h>

#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// The keys of all sequences, one sequence after another, are cut into units, and each worker gets
/// a run of neighbouring units; no two workers differ by more than one unit. A sequence has at
/// least one unit, also if nothing is seen of it or it has no queries. One worklist serves all layers of a step.
///
/// The worklist is a vector of n + 1 + workers numbers: the units before each sequence and those of
/// all, then for each worker the sequence of its first unit (n if it has none).
struct FLYDSL_API WorklistProblem {
  int workers = 1;     ///< blocks that share each head of keys: 1 to 65535
  int unit = 256;      ///< keys of a unit: a multiple of 32
  int queries = 1;     ///< see DecodeProblem
  bool window = false; ///< see DecodeProblem
  bool varlen = false; ///< sequences have queries of their own numbers: cu_seqlens_q
  friend bool operator==(const WorklistProblem &, const WorklistProblem &) = default;
};

/// The worklist is made by one block.
struct FLYDSL_API WorklistConfig {
  int block = 256; ///< threads
  friend bool operator==(const WorklistConfig &, const WorklistConfig &) = default;
};

/// The tensors of a call with n sequences.
struct FLYDSL_API WorklistArgs {
  TensorArg seq_lens; ///< (n), i32: tokens of each sequence
  /// varlen: where the queries of sequences start, and the end: (n + 1), i32.
  std::optional<TensorArg> cu_seqlens_q = {};
  std::int64_t window_left = -1; ///< with a window: see DecodeArgs
  TensorArg worklist;            ///< (n + 1 + workers), i32
};

template <> struct FamilyOf<WorklistProblem> {
  using Config = WorklistConfig;
  using Args = WorklistArgs;
  static constexpr std::string_view name = "worklist";
};
using WorklistPlan = Plan<WorklistProblem>;

/// The same worklist, made on the host; cu_seqlens_q is that of a problem with varlen. Throws Error if
/// the problem is not supported, and for numbers that do not fit one another.
FLYDSL_API std::vector<std::int32_t> make_worklist(const WorklistProblem &problem,
                                                   std::span<const std::int32_t> seq_lens,
                                                   std::int64_t window_left = -1,
                                                   std::span<const std::int32_t> cu_seqlens_q = {});

} // namespace kernels
FLYDSL_NAMESPACE_END
