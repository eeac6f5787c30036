// A block's place in a call of attention, and the rows of operands there.
#pragma once

#include "attention/attention_params.h"
#include "attention/attention_shape.h"
#include "blocks/attention/kv_source.h"
#include "blocks/attention/scores.h"
#include "blocks/products/tile_order.h"

#include <flydsl/flydsl.h>

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

using AttentionTraced = AttentionParams<OnDevice>;

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
                       const AttentionTraced &p, bool parts) {
    const Int32 across = ceildiv(p.size.queries.to<Int32>(), config.tile_q),
                down = p.size.batch.to<Int32>() * problem.q_heads;
    const Int32 tiles = across * down, block = block_idx().x;
    const auto [row, column] =
        tileOf<Int32>(config.order, parts ? Int32(block % tiles) : block, down, across);
    // Under a causal mask the last queries see the most keys: they begin first.
    const Int32 tile = problem.causal ? Int32(across - 1 - column) : column,
                sequence = row / problem.q_heads;
    const auto index = [&](const Strided<OnDevice, 0> &of, const Int32 &i) {
      return uniformIndex(of.address + i.to(i64) * 4);
    };
    const bool cache = problem.cache != KvCache::none, ownKeys = problem.varlen && !cache;
    const Int32 startQ = problem.varlen ? index(p.sequences.startsQ, sequence) : Int32(0),
                endQ = problem.varlen ? index(p.sequences.startsQ, sequence + 1)
                                      : p.size.queries.to<Int32>(),
                startK = ownKeys ? index(p.sequences.startsKv, sequence) : Int32(0),
                endK = ownKeys ? index(p.sequences.startsKv, sequence + 1)
                       : cache ? index(p.sequences.lengthsKv, sequence)
                               : p.size.keys.to<Int32>();
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
};

/// What the kernels of a problem share: the rows of operands.
class AttentionRows {
public:
  AttentionRows(const AttentionProblem &problem, const AttentionConfig &config,
                const AttentionTraced &p, const BlockPlace &place)
      : problem_(problem), config_(config), p_(p), place_(place) {}

  const AttentionTraced &params() const { return p_; }
  /// The address of a query's head in q or o, whose type is given.
  Numeric row(const Strided<OnDevice, 3> &of, DType type, const Int32 &query) const {
    return of.address + (place_.sequence.to(i64) * of.stride[0] + token(query) * of.stride[1] +
                         place_.head.to(i64) * of.stride[2]) *
                            type.bytes();
  }
  /// Writes what was found of a row.
  void storeLse(const Int32 &query, const Numeric &base2) const {
    const Numeric at = p_.lse.address +
                       (place_.sequence.to(i64) * p_.lse.stride[0] +
                        place_.head.to(i64) * p_.lse.stride[1] + token(query) * p_.lse.stride[2]) *
                           4;
    Pointer::from_address(at, f32).store(base2 * static_cast<float>(1 / kLog2E));
  }
  /// The head's sink, times log2(e), if there are sinks.
  std::optional<Numeric> sink() const {
    if (!problem_.sink)
      return std::nullopt;
    return Numeric(ofHead(p_.sink) * static_cast<float>(kLog2E));
  }
  /// The factor of an operand, if it has one.
  std::optional<Numeric> descale(const Strided<OnDevice, 2> &of, DType type) const {
    if (!isFloat8(type))
      return std::nullopt;
    const Numeric place =
        of.address + (place_.sequence.to(i64) * of.stride[0] + kvHead() * of.stride[1]) * 4;
    return rocdl::s_load(Pointer::from_address(place, f32), f32);
  }
  /// The factor of the products.
  std::optional<Numeric> scoreDescale() const {
    const auto q = descale(p_.descale.q, problem_.q), k = descale(p_.descale.k, problem_.kv);
    return q && k ? std::optional<Numeric>(*q * *k) : q ? q : k;
  }
  Numeric ofHead(const Strided<OnDevice, 0> &of) const {
    return rocdl::s_load(Pointer::from_address(of.address + place_.head.to(i64) * 4, f32), f32);
  }
  /// The bias of a query.
  std::function<Numeric(const Int32 &)> bias(const Int32 &query) const {
    const DType type = problem_.bias_type;
    const Strided<OnDevice, 3> &rows = p_.bias.rows;
    const Numeric row =
        rows.address + (place_.sequence.to(i64) * rows.stride[0] +
                        place_.head.to(i64) * rows.stride[1] + token(query) * rows.stride[2]) *
                           type.bytes();
    const Int32 last = p_.bias.columns.to(i32) - 1;
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
    const auto strides = [&](const Strided<OnDevice, 3> &of) -> KvStrides {
      const Numeric start = head * of.stride[2] + place_.startK.to(i64) * of.stride[1];
      const Numeric sequence =
          cache ? start : Numeric(start + place_.sequence.to(i64) * of.stride[0]);
      return {of.address + sequence * bytes, of.stride[0], of.stride[1]};
    };
    const Numeric table = p_.table.address + place_.sequence.to(i64) * p_.table.stride[0] * 4;
    return KvSource(
        {problem_.cache, problem_.page, problem_.pack, vPackOf(problem_), headV(problem_), bytes},
        strides(p_.k), strides(p_.v), table);
  }

  // The workspace of parts of the keys.
  Numeric partRow(const Int32 &part, const Int32 &query) const {
    const Numeric rows = p_.size.tokens * problem_.q_heads;
    return part.to(i64) * rows + tokenOfAll(query) * problem_.q_heads + place_.head.to(i64);
  }
  /// The address of a part's result of a row, in f32.
  Numeric partValues(const Numeric &row) const {
    return p_.workspace + row * (headV(problem_) * 4);
  }
  /// The address of its logarithm.
  Numeric partLse(const Numeric &row) const {
    const Numeric rows = p_.size.tokens * (problem_.q_heads * config_.splits);
    return p_.workspace + (rows * headV(problem_) + row) * 4;
  }

private:
  /// The head of keys and values.
  Numeric kvHead() const { return (place_.head / (problem_.q_heads / problem_.kv_heads)).to(i64); }
  /// The number of a query's token in a tensor, behind its sequence's if that has a mode.
  Numeric token(const Int32 &query) const { return (place_.startQ + query).to(i64); }
  Numeric tokenOfAll(const Int32 &query) const {
    return problem_.varlen ? token(query)
                           : Numeric(place_.sequence.to(i64) * p_.size.queries + query.to(i64));
  }

  const AttentionProblem &problem_;
  const AttentionConfig &config_;
  const AttentionTraced &p_;
  const BlockPlace &place_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
