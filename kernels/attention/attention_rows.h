// A block's place in a call of attention, and the rows of operands there.
#pragma once

#include "attention/attention_numbers.h"
#include "attention/attention_shape.h"
#include "blocks/attention/kv_source.h"
#include "blocks/attention/scores.h"
#include "blocks/products/tile_order.h"

#include <flydsl/flydsl.h>

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

using AttentionTraced = std::array<Int64, kAttentionNumbers>;

/// The number of the thread. If the code is as thrifty as `from`, the compiler knows no more of
/// it than how large it may be, and keeps nothing that it has computed from another one.
inline Int32 threadOf(const AttentionShape &shape, Thrift from) {
  const Int32 thread = thread_idx().x;
  if (shape.thrift < from)
    return thread;
  return rematerialised(thread) & static_cast<int>(std::bit_ceil(unsigned(shape.threads)) - 1);
}

/// The number of an index that is the same for the block, at an address.
inline Int32 uniformIndex(const Numeric &address) {
  return rocdl::s_load(Pointer::from_address(address, i32), i32);
}

/// A block's place: its sequence, head and tile of queries, and its part of the keys.
struct BlockPlace {
  Int32 sequence, head, first, part;
  Int32 queries, keys;  ///< of the sequence
  Int32 startQ, startK; ///< varlen: the sequence's first tokens
  Int32 across;         ///< tiles of a sequence that have blocks of their own

  static BlockPlace of(const AttentionProblem &problem, const AttentionConfig &config,
                       const AttentionTraced &numbers, bool parts) {
    const Int32 across = ceildiv(number(numbers, kAttentionQueries), config.tile_q),
                down = number(numbers, kAttentionBatch) * problem.q_heads;
    const Int32 tiles = across * down, block = block_idx().x;
    const auto [row, column] =
        tileOf<Int32>(config.order, parts ? Int32(block % tiles) : block, down, across);
    // Under a causal mask the last queries see the most keys: they begin first.
    const Int32 tile = problem.causal ? Int32(across - 1 - column) : column,
                sequence = row / problem.q_heads;
    const auto index = [&](AttentionNumber at, const Int32 &i) {
      return uniformIndex(numbers[at] + i.to(i64) * 4);
    };
    const bool cache = problem.cache != KvCache::none, ownKeys = problem.varlen && !cache;
    const Int32 startQ = problem.varlen ? index(kAttentionStartsQ, sequence) : Int32(0),
                endQ = problem.varlen ? index(kAttentionStartsQ, sequence + 1)
                                      : number(numbers, kAttentionQueries),
                startK = ownKeys ? index(kAttentionStartsKv, sequence) : Int32(0),
                endK = ownKeys ? index(kAttentionStartsKv, sequence + 1)
                       : cache ? index(kAttentionLengthsKv, sequence)
                               : number(numbers, kAttentionKeys);
    return {sequence,
            row % problem.q_heads,
            tile * config.tile_q,
            parts ? Int32(block / tiles) : Int32(0),
            endQ - startQ,
            endK - startK,
            startQ,
            startK,
            across};
  }
  /// The same place, for which everything is computed again: nothing is kept from one tile of
  /// queries to the next.
  BlockPlace again() const {
    return {sequence,
            head,
            first,
            part,
            rematerialised_uniform(queries),
            rematerialised_uniform(keys),
            startQ,
            startK,
            across};
  }
  /// Calls `body` with each tile of queries that the block has, as a place. If sequences have their
  /// own lengths, one may be longer than the host said: its blocks take the tiles behind, too.
  template <class Body>
  void eachTile(const AttentionProblem &problem, const AttentionConfig &config, Body body) const {
    if (!problem.varlen)
      return body(*this);
    for (Int32 from : range(first, queries, Int32(across * config.tile_q)))
      body(BlockPlace{sequence, head, from, part, queries, keys, startQ, startK, across});
  }
  static Int32 number(const AttentionTraced &numbers, AttentionNumber at) {
    return numbers[at].to(i32);
  }
};

/// What the kernels of a problem share: the rows of operands.
class AttentionRows {
public:
  AttentionRows(const AttentionProblem &problem, const AttentionConfig &config,
                const AttentionTraced &numbers, const BlockPlace &place)
      : problem_(problem), config_(config), numbers_(numbers), place_(place) {}

  /// The address of a query's head in q or o, whose type is given.
  Numeric row(AttentionNumber at, DType type, const Int32 &query) const {
    return numbers_[at] +
           (place_.sequence.to(i64) * numbers_[at + 1] + token(query) * numbers_[at + 2] +
            place_.head.to(i64) * numbers_[at + 3]) *
               type.bytes();
  }
  /// Writes what was found of a row.
  void storeLse(const Int32 &query, const Numeric &base2) const {
    const Numeric at =
        numbers_[kAttentionLse] + (place_.sequence.to(i64) * numbers_[kAttentionLse + 1] +
                                   place_.head.to(i64) * numbers_[kAttentionLse + 2] +
                                   token(query) * numbers_[kAttentionLse + 3]) *
                                      4;
    Pointer::from_address(at, f32).store(base2 * static_cast<float>(1 / kLog2E));
  }
  /// The head's sink, times log2(e), if there are sinks.
  std::optional<Numeric> sink() const {
    if (!problem_.sink)
      return std::nullopt;
    return Numeric(ofHead(kAttentionSink) * static_cast<float>(kLog2E));
  }
  /// The factor of an operand, if it has one.
  std::optional<Numeric> descale(AttentionNumber at, DType type) const {
    if (!isFloat8(type))
      return std::nullopt;
    const Numeric place =
        numbers_[at] +
        (place_.sequence.to(i64) * numbers_[at + 1] + kvHead() * numbers_[at + 2]) * 4;
    return rocdl::s_load(Pointer::from_address(place, f32), f32);
  }
  /// The factor of the products.
  std::optional<Numeric> scoreDescale() const {
    const auto q = descale(kAttentionQDescale, problem_.q),
               k = descale(kAttentionKDescale, problem_.kv);
    return q && k ? std::optional<Numeric>(*q * *k) : q ? q : k;
  }
  Numeric ofHead(AttentionNumber at) const {
    return rocdl::s_load(Pointer::from_address(numbers_[at] + place_.head.to(i64) * 4, f32), f32);
  }
  /// The bias of a query.
  std::function<Numeric(const Int32 &)> bias(const Int32 &query) const {
    const DType type = problem_.bias_type;
    const Numeric row =
        numbers_[kAttentionBias] + (place_.sequence.to(i64) * numbers_[kAttentionBias + 1] +
                                    place_.head.to(i64) * numbers_[kAttentionBias + 2] +
                                    token(query) * numbers_[kAttentionBias + 3]) *
                                       type.bytes();
    const Int32 last = numbers_[kAttentionBias + 4].to(i32) - 1;
    return [row, last, type](const Int32 &key) {
      const Numeric at = row + Int32(min(key, last)).to(i64) * type.bytes();
      const Numeric value = Pointer::from_address(at, type).load();
      return type == f32 ? value : value.to(f32);
    };
  }

  /// The keys and values of the head.
  KvSource source() const {
    const int bytes = problem_.kv.bytes();
    const Numeric head = kvHead();
    const bool cache = problem_.cache != KvCache::none;
    const auto strides = [&](AttentionNumber at) -> KvStrides {
      const Numeric start = head * numbers_[at + 3] + place_.startK.to(i64) * numbers_[at + 2];
      const Numeric sequence =
          cache ? start : Numeric(start + place_.sequence.to(i64) * numbers_[at + 1]);
      return {numbers_[at] + sequence * bytes, numbers_[at + 1], numbers_[at + 2]};
    };
    const Numeric table =
        numbers_[kAttentionTable] + place_.sequence.to(i64) * numbers_[kAttentionTable + 1] * 4;
    return KvSource(
        {problem_.cache, problem_.page, problem_.pack, vPackOf(problem_), headV(problem_), bytes},
        strides(kAttentionK), strides(kAttentionV), table);
  }

  // The workspace of parts of the keys.
  Numeric partRow(const Int32 &part, const Int32 &query) const {
    const Numeric rows = numbers_[kAttentionTokens] * problem_.q_heads;
    return part.to(i64) * rows + tokenOfAll(query) * problem_.q_heads + place_.head.to(i64);
  }
  /// The address of a part's result of a row, in f32.
  Numeric partValues(const Numeric &row) const {
    return numbers_[kAttentionWorkspace] + row * (headV(problem_) * 4);
  }
  /// The address of its logarithm.
  Numeric partLse(const Numeric &row) const {
    const Numeric rows = numbers_[kAttentionTokens] * (problem_.q_heads * config_.splits);
    return numbers_[kAttentionWorkspace] + (rows * headV(problem_) + row) * 4;
  }

private:
  /// The head of keys and values.
  Numeric kvHead() const { return (place_.head / (problem_.q_heads / problem_.kv_heads)).to(i64); }
  /// The number of a query's token in a tensor, behind its sequence's if that has a mode.
  Numeric token(const Int32 &query) const { return (place_.startQ + query).to(i64); }
  Numeric tokenOfAll(const Int32 &query) const {
    return problem_.varlen
               ? token(query)
               : Numeric(place_.sequence.to(i64) * numbers_[kAttentionQueries] + query.to(i64));
  }

  const AttentionProblem &problem_;
  const AttentionConfig &config_;
  const AttentionTraced &numbers_;
  const BlockPlace &place_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
