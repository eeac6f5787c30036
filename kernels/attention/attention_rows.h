// Which queries, head and keys a block has in a call of attention, and the rows of operands there.
#pragma once

#include "attention/attention_params.h"
#include "attention/attention_shape.h"
#include "blocks/attention/head_rows.h"
#include "blocks/attention/kv_source.h"
#include "blocks/attention/scores.h"
#include "blocks/products/tile_scheduler.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/argument.h>
#include <flydsl/kernel/wave_memory.h>

#include <bit>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

using AttentionTraced = AttentionParams<OnDevice>;

/// The number of the thread. If not `kept`, it is a copy that the compiler does not recognise
/// (rematerialised): addresses that follow from it are computed here again, and no register holds them from
/// an earlier phase. The mask tells the compiler how large the number may be.
inline Int32 threadOf(const AttentionShape &shape, bool kept) {
  const Int32 thread = thread_idx().x;
  if (kept)
    return thread;
  return rematerialised(thread) & static_cast<int>(std::bit_ceil(unsigned(shape.threads)) - 1);
}

/// The head of a block of threads, and its tile of queries. The functions compute their numbers where they are
/// called.
struct HeadTile {
  GridTile<Int32> block; ///< the block's row and column in the grid
  Int32 tile;            ///< the number of the tile of queries in its sequence
  Int32 row;             ///< the number of the head among the heads of all sequences
  Int32 sequence;
  int q_heads, tile_q, valueParts;

  /// The tile of block `number` of a grid of `across` tiles of queries for each head of q of `batch`
  /// sequences; if `isSplit`, the grid has each tile once for each part of the keys.
  /// `valueParts`: into how many parts of at most 256 elements head_v is cut. Each part has a block of
  /// its own, and all of these blocks compute the same scores.
  static HeadTile of(const AttentionProblem &problem, const AttentionConfig &config,
                     const Int32 &number, const Int32 &across, const Int32 &batch, bool isSplit,
                     int valueParts) {
    const Int32 down = batch * (problem.q_heads * valueParts);
    // A row of the grid is a head of a sequence, or a part of its values; its columns are tiles of
    // queries.
    const auto block = GridTile<Int32>::of(config.order, number, down, across, isSplit);
    // Under a causal mask the last queries see the most keys: they begin first.
    const Int32 tile = problem.causal ? Int32(across - 1 - block.n) : block.n,
                row = valueParts > 1 ? Int32(block.m / valueParts) : block.m,
                sequence = row / problem.q_heads;
    return {.block = block,
            .tile = tile,
            .row = row,
            .sequence = sequence,
            .q_heads = problem.q_heads,
            .tile_q = config.tile_q,
            .valueParts = valueParts};
  }
  Int32 head() const { return row % q_heads; }
  Int32 first() const { return tile * tile_q; }
  Int32 valuePart() const { return valueParts > 1 ? Int32(block.m % valueParts) : Int32(0); }
};

/// What a block has to do: the tile of queries from `first` on, of a head of a sequence, over a part of the
/// keys, for a part of the values' elements.
struct BlockPlace {
  Int32 sequence, head;
  Int32 first;          ///< the tile's first query in its sequence
  Int32 part;           ///< the number of the part of the keys; 0 if they are not split
  Int32 valuePart;      ///< the number of the part of head_v, below `valueParts`
  Int32 queries, keys;  ///< how many the sequence has
  Int32 startQ, startK; ///< varlen: the sequence's first tokens in q and in k
  Int32 across;         ///< tiles of a sequence that have blocks of their own

  /// `valueParts`: into how many parts of at most 256 elements head_v is cut. Each part has a block of
  /// its own, and all of these blocks compute the same scores. `number`: of the block in such a grid.
  static BlockPlace of(const AttentionProblem &problem, const AttentionConfig &config,
                       const AttentionTraced &p, bool isSplit, int valueParts,
                       const Int32 &number = block_idx().x) {
    const Int32 across = ceildiv(p.size.queries.to<Int32>(), config.tile_q);
    const HeadTile tile = HeadTile::of(problem, config, number, across, p.size.batch.to<Int32>(),
                                       isSplit, valueParts);
    const Int32 &sequence = tile.sequence;
    const auto index = [&](const Strided<OnDevice, 0> &of, const Int32 &i) {
      const Tensor starts = of.view(i32, p.size.batch + 1); // (batch + 1)
      return Int32(gpu::uniform_load(starts, i));
    };
    const bool cache = problem.cache != KvCache::none, ownKeys = problem.varlen && !cache;
    const Int32 startQ = problem.varlen ? index(p.sequences.startsQ, sequence) : Int32(0),
                endQ = problem.varlen ? index(p.sequences.startsQ, sequence + 1)
                                      : p.size.queries.to<Int32>(),
                startK = ownKeys ? index(p.sequences.startsKv, sequence) : Int32(0),
                endK = ownKeys       ? index(p.sequences.startsKv, sequence + 1)
                       : problem.csr ? tokensOf(p.csr, problem.page, Int64(p.size.batch), sequence)
                       : cache       ? index(p.sequences.lengthsKv, sequence)
                                     : p.size.keys.to<Int32>();
    return {.sequence = sequence,
            .head = tile.head(),
            .first = tile.first(),
            .part = tile.block.part,
            .valuePart = tile.valuePart(),
            .queries = endQ - startQ,
            .keys = endK - startK,
            .startQ = startQ,
            .startK = startK,
            .across = across};
  }
  /// The same place with numbers that the compiler does not recognise: what follows from them is computed
  /// again, and no register holds it from one tile of queries to the next. `cutsValues`: values have several
  /// parts; the number of an only part is the constant 0.
  BlockPlace recomputed(bool cutsValues) const {
    const Int32 newPart = cutsValues ? Int32(rematerialised_uniform(valuePart)) : valuePart,
                newQueries(rematerialised_uniform(queries)), newKeys(rematerialised_uniform(keys));
    return with(first, newPart, newQueries, newKeys);
  }
  /// The same block at the tile of queries from `query` on.
  BlockPlace at(const Int32 &query) const { return with(query, valuePart, queries, keys); }
  /// Calls `body` with the block's tile of queries. With varlen a sequence may have more queries than the
  /// host said (max_seqlen_q): its blocks then take further tiles, `across` tiles after the one before.
  template <class Body>
  void eachTile(const AttentionProblem &problem, const AttentionConfig &config, Body body) const {
    if (!problem.varlen)
      return body(*this);
    // If cu_seqlens_q falls, `queries` is negative: the sequence has no tiles.
    for (Int32 from : range(counted(first), Int32(max(queries, 0)), Int32(across * config.tile_q)))
      body(at(from));
  }

private:
  BlockPlace with(const Int32 &newFirst, const Int32 &newPart, const Int32 &newQueries,
                  const Int32 &newKeys) const {
    return {.sequence = sequence,
            .head = head,
            .first = newFirst,
            .part = part,
            .valuePart = newPart,
            .queries = newQueries,
            .keys = newKeys,
            .startQ = startQ,
            .startK = startK,
            .across = across};
  }
};

/// How k and v lie in memory.
inline KvLayout kvLayout(const AttentionProblem &problem) {
  return kvLayoutOf(problem, headV(problem),
                    elementsTogether(problem, problem.kv) * problem.kv.bytes());
}

/// The rows of a call's operands at a block's place.
class AttentionRows final : public HeadRows {
public:
  AttentionRows(const AttentionProblem &problem, const AttentionConfig &config, AttentionTraced p,
                const BlockPlace &place)
      : problem_(problem), config_(config), p_(std::move(p)), place_(place) {}
  std::unique_ptr<HeadRows> withArgumentsReadAgain() const override {
    return std::make_unique<AttentionRows>(problem_, config_, read_again(p_), place_);
  }

  Tensor q(const Int32 &query) const override {
    return row(p_.q, problem_.q, problem_.head, query); // (head)
  }
  RowResult result(const Int32 &query) const override {
    RowResult result{.values = row(p_.o, problem_.y, headV(problem_), query), .natural = true};
    if (problem_.lse) {
      const Tensor all = p_.lse.view(
          f32, {p_.size.batch, tokens(), problem_.q_heads, 1}); // (batch, tokens, q_heads, 1)
      result.lse.emplace(all(place_.sequence, token(query), place_.head, _)); // (1)
    }
    return result;
  }
  /// The result of a part of the keys, in the workspace.
  RowResult resultOfPart(const Int32 &query, const Int32 &part) const override {
    const int splits = config_.splits, heads = problem_.q_heads;
    const Int64 allTokens(p_.size.tokens);
    const Tensor values = p_.parts.values.view(f32, {splits, allTokens, heads, headV(problem_)},
                                               16), // (splits, tokens, q_heads, head_v)
        lse = p_.parts.lse.view(f32, {splits, allTokens, heads, 1}); // (splits, tokens, q_heads, 1)
    const Int32 token = tokenOfAll(query);
    return {.values = values(part, token, place_.head, _),
            .lse = lse(part, token, place_.head, _)}; // (head_v), (1)
  }
  std::optional<Numeric> sink() const override {
    if (!problem_.sink)
      return std::nullopt;
    return Numeric(ofHead(p_.sink) * kToBase2);
  }
  /// The factor of an operand, if it has one.
  std::optional<Numeric> descale(const Strided<OnDevice, 2> &of, bool has) const {
    if (!has)
      return std::nullopt;
    const Tensor factors = of.view(f32, {p_.size.batch, problem_.kv_heads}); // (batch, kv_heads)
    return gpu::uniform_load(factors, {place_.sequence, kvHead()});
  }
  std::optional<Numeric> scoreDescale() const override {
    const auto q = descale(p_.descale.q, scalesQueries(problem_)),
               k = descale(p_.descale.k, scalesKeys(problem_));
    return q && k ? std::optional<Numeric>(*q * *k) : q ? q : k;
  }
  std::optional<Numeric> valueDescale() const override {
    return descale(p_.descale.v, scalesKeys(problem_));
  }
  /// Keys after the last one have the scales of the last one.
  std::function<TokenScales(const Int32 &)> tokenScales() const override {
    if (problem_.scales != KvScales::token)
      return nullptr;
    return [this, source = source()](const Int32 &key) {
      const Int32 token = min(key, place_.keys - 1);
      const auto scale = [&](const Strided<OnDevice, 3> &of) -> Numeric {
        if (problem_.cache == KvCache::none) {
          const Tensor all = of.view(
              f32, {p_.size.batch, p_.size.keys, problem_.kv_heads}); // (batch, keys, kv_heads)
          return all(place_.sequence, place_.startK + token, kvHead());
        }
        const KvPlace at = source.place(token);
        const Tensor all =
            of.view(f32, {kAnyPages, problem_.page, problem_.kv_heads}); // (pages, page, kv_heads)
        return all(at.page, at.token, kvHead());
      };
      return TokenScales{scale(p_.tokenScale.k), scale(p_.tokenScale.v)};
    };
  }
  Numeric ofHead(const Strided<OnDevice, 0> &of) const {
    return gpu::uniform_load(of.view(f32, problem_.q_heads), place_.head); // (q_heads)
  }
  Numeric slope() const override {
    const Tensor all = p_.slopes.view(f32, {p_.size.batch, problem_.q_heads}); // (batch, q_heads)
    return gpu::uniform_load(all, {place_.sequence, place_.head});
  }
  /// Bytes after the last one are the last one again.
  std::function<Numeric(const Int32 &)> mask(const Int32 &query) const override {
    const Tensor all =
        p_.mask.rows.view(u8, {p_.size.batch, tokens(), p_.mask.bytes}); // (batch, tokens, bytes)
    const Tensor row = all(place_.sequence, token(query), _);            // (bytes)
    const Int32 last = p_.mask.bytes.to<Int32>() - 1;
    return [row, last](const Int32 &eight) {
      const Numeric bits = row(min(eight, last));
      return bits.to(i32);
    };
  }
  /// Keys after the last column have the bias of the last column.
  std::function<Numeric(const Int32 &)> bias(const Int32 &query) const override {
    const Tensor all =
        p_.bias.rows.view(problem_.bias_type, {p_.size.batch, problem_.q_heads, tokens(),
                                               p_.bias.columns}); // (batch, q_heads, tokens, keys)
    const Tensor row = all(place_.sequence, place_.head, token(query), _); // (keys)
    const Int32 last = p_.bias.columns.to<Int32>() - 1;
    return [row, last](const Int32 &key) {
      const Numeric value = row(min(key, last));
      return value.to(f32);
    };
  }
  /// None: scores are what the problem says.
  std::function<Numeric(const Numeric &, const Int32 &)> stage(const Int32 &) const override {
    return nullptr;
  }

  /// The keys and values of the head.
  KvSource source() const {
    const KvLayout layout = kvLayout(problem_);
    if (problem_.cache == KvCache::none)
      return {layout, tokensTwice(ofSequence(p_.k, problem_.head)),
              tokensTwice(ofSequence(p_.v, headV(problem_)))};
    const auto table = [&]() -> Tensor {
      if (problem_.csr)
        return pagesOf(p_.csr, Int64(p_.size.batch), place_.sequence);
      const Tensor tables = p_.table.view(i32, {p_.size.batch, kAnyPages}); // (batch, pages)
      return tables(place_.sequence, _);                                    // (pages)
    };
    return {layout, keysOfHead(layout, p_.k, kvHead()), valuesOfHead(layout, p_.v, kvHead()),
            table()};
  }

private:
  /// The head of keys and values that the block's head of q has.
  Int32 kvHead() const { return place_.head / (problem_.q_heads / problem_.kv_heads); }
  /// The extent of the mode of tokens of q: the queries of a sequence. With varlen, where the stride of
  /// sequences is 0, it is the queries of all sequences.
  Int64 tokens() const { return problem_.varlen ? p_.size.tokens : p_.size.queries; }
  Int32 token(const Int32 &query) const { return place_.startQ + query; }
  /// The number of a query among those of all sequences.
  Int32 tokenOfAll(const Int32 &query) const {
    return problem_.varlen ? token(query)
                           : Int32(place_.sequence * p_.size.queries.to<Int32>() + query);
  }
  /// The keys or values of the head, from the sequence's first token on.
  Tensor ofSequence(const Strided<OnDevice, 3> &of, int elements) const {
    const Tensor all =
        of.view(problem_.kv, {p_.size.batch, p_.size.keys, problem_.kv_heads, elements},
                kvLayout(problem_).align);                   // (batch, keys, kv_heads, elements)
    const Tensor own = all(place_.sequence, _, kvHead(), _); // (keys, elements)
    return make_view(own(place_.startK, _).iter(), own.layout()); // (keys, elements)
  }
  Tensor row(const Strided<OnDevice, 3> &of, DType type, int elements, const Int32 &query) const {
    const Tensor all = of.view(type, {p_.size.batch, tokens(), problem_.q_heads, elements},
                               elementsTogether(problem_, type) *
                                   type.bytes());              // (batch, tokens, q_heads, elements)
    return all(place_.sequence, token(query), place_.head, _); // (elements)
  }

  const AttentionProblem &problem_;
  const AttentionConfig &config_;
  const AttentionTraced p_;
  const BlockPlace &place_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
