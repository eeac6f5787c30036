// The run-time arguments of the kernels of attention.
#pragma once

#include <flydsl/error.h>

#include <array>
#include <cstddef>
#include <cstdint>

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
  // For each descale the address, and the distances of sequences and heads.
  kAttentionQDescale,
  kAttentionKDescale = kAttentionQDescale + 3,
  kAttentionVDescale = kAttentionKDescale + 3,
  kAttentionWorkspace = kAttentionVDescale + 3,
  kAttentionQueries, ///< of a sequence; varlen: the largest number
  kAttentionKeys,    ///< of a sequence, where all have the same
  kAttentionTokens,  ///< queries of all sequences
  kAttentionBatch,   ///< sequences
  kAttentionLeft,
  kAttentionRight,
  kAttentionNumbers,
};
using AttentionNumbers = std::array<std::int64_t, kAttentionNumbers>;

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
