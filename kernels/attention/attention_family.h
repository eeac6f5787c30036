// Attention of many queries, between its host file and its kernels.
#pragma once

#include "attention/attention_shape.h"
#include "frame/family.h"

#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The run-time arguments of the kernels by place: addresses, distances in elements, and numbers.
enum AttentionNumber : std::size_t {
  // For each tensor of heads its address, and the distances of sequences (of blocks in a cache), of
  // tokens and of heads.
  kAttentionQ,
  kAttentionK = kAttentionQ + 4,
  kAttentionV = kAttentionK + 4,
  kAttentionO = kAttentionV + 4,
  // The address, the distances of sequences, heads and queries, and the number of columns.
  kAttentionBias = kAttentionO + 4,
  // The address, and the distances of sequences, heads and queries.
  kAttentionLse = kAttentionBias + 5,
  kAttentionStartsQ = kAttentionLse + 4, ///< cu_seqlens_q
  kAttentionStartsKv,                    ///< cu_seqlens_kv
  kAttentionLengthsKv,                   ///< seqlens_kv
  kAttentionTable,                       ///< the address, and the distance of rows
  kAttentionSlopes = kAttentionTable + 2,
  kAttentionSink,
  kAttentionQDescale,
  kAttentionKDescale,
  kAttentionVDescale,
  kAttentionWorkspace,
  kAttentionQueries, ///< of a sequence; varlen: the largest number
  kAttentionKeys,    ///< of a sequence, where all have the same
  kAttentionTokens,  ///< queries of all sequences
  kAttentionBatch,   ///< sequences
  kAttentionLeft,
  kAttentionRight,
  kAttentionNumbers,
};
using AttentionNumbers = std::array<std::int64_t, kAttentionNumbers>;
inline constexpr KernelName<AttentionNumbers> kAttention{"attention"};
/// A part of the keys for each block, into the workspace; and what combines the parts.
inline constexpr KernelName<AttentionNumbers> kAttentionParts{"attention_parts"};
inline constexpr KernelName<AttentionNumbers> kAttentionCombine{"attention_combine"};

template <> struct Family<AttentionProblem> : FamilyDefaults<AttentionProblem> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &problem, const C &config, std::int64_t m) {
    return partialRows(problem, config).bytes(m);
  }
  static KernelNames kernels(const P &, const C &config) {
    if (config.splits > 1)
      return {&kAttentionParts, &kAttentionCombine};
    return {&kAttention};
  }
  static void launch(const Call<P> &call);
  static std::int64_t rows(const A &args);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
