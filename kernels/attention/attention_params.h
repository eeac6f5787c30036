// The run-time arguments of the kernels of attention.
#pragma once

#include "blocks/attention/csr_pages.h"

#include <flydsl/strided.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct AttentionBias {
  Strided<Side, 3> rows;      ///< the strides of sequences, heads and queries
  Param<Side, Int64> columns; ///< keys of a row of the bias
};
template <class Side> struct AttentionMask {
  Strided<Side, 2> rows;    ///< the strides of sequences and queries
  Param<Side, Int64> bytes; ///< the bytes of a query's bits
};
/// Where sequences are among all tokens, and how many keys they have in a cache.
template <class Side> struct AttentionSequences {
  Strided<Side, 0> startsQ, startsKv; ///< (batch + 1): cu_seqlens_q, cu_seqlens_kv
  Strided<Side, 0> lengthsKv;         ///< (batch): seq_lens
};
/// Factors of operands of 8 bits: (batch, kv_heads), or one.
template <class Side> struct AttentionDescales { Strided<Side, 2> q, k, v; };
/// KvScales::token: the strides of pages, tokens and heads; without a cache, of sequences (varlen: 0), tokens
/// and heads.
template <class Side> struct AttentionTokenScales { Strided<Side, 3> k, v; };
template <class Side> struct AttentionSizes {
  Param<Side, Int64> queries; ///< the queries of a sequence; varlen: their largest number
  Param<Side, Int64> keys;    ///< the keys of a sequence, if all sequences have the same number
  Param<Side, Int64> tokens;  ///< the queries of all sequences
  Param<Side, Int64> batch;   ///< the number of sequences
};
/// The keys that a query sees before and after its own place; -1: all.
template <class Side> struct AttentionWindow { Param<Side, Int64> left, right; };

/// The results of parts of the keys, in the workspace, in f32.
template <class Side> struct AttentionParts {
  Strided<Side, 0> values; ///< (splits, tokens, q_heads, head_v)
  Strided<Side, 0> lse;    ///< (splits, tokens, q_heads)
};

/// The arguments of all kernels of attention.
template <class Side> struct AttentionParams {
  /// The strides of sequences, of tokens and of heads. With varlen there is no mode of sequences: its stride
  /// is 0. Keys and values in a cache have pages instead of sequences, and KvCache::packed has no stride of
  /// tokens.
  Strided<Side, 3> q, k, v, o;
  AttentionBias<Side> bias;
  Strided<Side, 3> lse; ///< the strides of sequences, queries and heads
  AttentionSequences<Side> sequences;
  Strided<Side, 1> table;  ///< (batch, pages)
  CsrPages<Side> csr;      ///< replaces the table and the lengths
  Strided<Side, 1> slopes; ///< (batch, q_heads)
  Strided<Side, 0> sink;   ///< (q_heads)
  AttentionMask<Side> mask;
  AttentionDescales<Side> descale;
  AttentionTokenScales<Side> tokenScale;
  AttentionParts<Side> parts;
  AttentionSizes<Side> size;
  AttentionWindow<Side> window;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
