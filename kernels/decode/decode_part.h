// What the blocks of decoding have in common: which rows and keys are theirs, and where results go.
#pragma once

#include "blocks/attention/combine.h"
#include "blocks/attention/decode_wave.h"
#include "blocks/attention/kv_source.h"
#include "blocks/attention/worklist.h"
#include "blocks/quant/quant.h"
#include "decode/decode_family.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/wave_memory.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

using DecodeTraced = DecodeParams<OnDevice>;

/// Keys or values in pages, whose neighbouring tokens span less than kNearBytes, as the host has checked: the
/// stride of tokens as a number that the compiler sees to have 32 bits, so that the place of a token takes one
/// product and not two. (An assumption says as much to the compiler's middle, and is lost before it chooses
/// instructions.)
inline Strided<OnDevice, 3> nearTokens(const DecodeProblem &problem,
                                       const Strided<OnDevice, 3> &of) {
  if (problem.cache != KvCache::pages)
    return of;
  return {.address = of.address,
          .stride = {of.stride[0], Int64(of.stride[1] & (kNearBytes - 1)), of.stride[2]}};
}

/// The scale of a sequence's head, see scalesHeads.
inline Numeric headScale(const DecodeProblem &problem, const DecodeTraced &p,
                         const Strided<OnDevice, 3> &of, const Int32 &sequence,
                         const Int32 &kvHead) {
  const Tensor all = of.view(f32, {p.sequences, 1, problem.kv_heads}); // (n, 1, kv_heads)
  return gpu::uniform_load(all, {sequence, 0, kvHead});
}
/// The factor of all products of keys: their scale, if they have one, and that of a q of 8 bits.
inline std::optional<Numeric> scoreScale(const DecodeProblem &problem, const DecodeTraced &p,
                                         const Int32 &sequence, const Int32 &kvHead) {
  std::optional<Numeric> scale;
  if (scalesHeads(problem))
    scale.emplace(headScale(problem, p, p.kScale, sequence, kvHead));
  if (!scalesQueries(problem))
    return scale;
  const Tensor all = p.qScale.view(f32, {p.sequences, problem.kv_heads}); // (n, kv_heads)
  const Numeric ofQueries = gpu::uniform_load(all, {sequence, kvHead});
  return scale ? Numeric(*scale * ofQueries) : ofQueries;
}

/// A lane's pieces of a row of queries, as the products take them, and the factor of its scores.
struct LaneQuery {
  std::vector<Vector> pieces;
  std::optional<Numeric> scale;
};
/// The query of a lane, of pieces of q's type, which are rounded if the problem says so; `known`: see
/// scoreScale. Lanes that share the row find its largest magnitude together. A row is divided by a power of
/// 2 that brings it to at most the largest number of the type, which costs no division and rounds once. A
/// row with a NaN or an infinity has scores that are NaN or infinite.
inline LaneQuery laneQuery(const DecodeProblem &problem, const ProductLane &lane,
                           const std::vector<Vector> &pieces, const std::optional<Numeric> &known) {
  if (!roundsQueries(problem))
    return {pieces, known};
  const DType type = operandOf(problem);
  std::vector<Vector> largest; // bits have the order of magnitudes
  for (const Vector &piece : pieces) {
    const Vector own = piece.bitcast(u16) & 0x7fff;
    largest.push_back(largest.empty() ? own : max(largest.back(), own));
  }
  const Numeric ofLane = largest.back().reduce(Reduction::max).to(u32),
                ofRow = lane.overGroups(
                    ofLane, [](const Numeric &a, const Numeric &b) { return max(a, b); });
  const BlockExponent exponent =
      blockExponent(ofRow.to(u16).bitcast(problem.q).to(f32).bitcast(u32), type, BlockScale::ceil);
  const Numeric scale = (exponent.byte.to(u32) << 23).bitcast(f32);
  LaneQuery rounded{{}, known ? Numeric(*known * scale) : scale};
  for (const Vector &piece : pieces)
    rounded.pieces.push_back((piece.to(f32) * exponent.inverse).to(type));
  return rounded;
}

/// The queries and the results of the rows of a group of heads of a sequence: row r is query
/// r / group, head r % group.
class DecodeRows {
public:
  DecodeRows(const DecodeProblem &problem, const DecodeConfig &config, const DecodeTraced &p,
             const Int32 &sequence, const Int32 &kvHead, const std::optional<Int32> &endRow = {})
      : problem_(problem), config_(config), p_(p), tokens_(tokensOf(problem, p, sequence)),
        firstHead_(kvHead * groupOf(problem)), endRow_(endRow) {}

  /// The tokens of a sequence's queries.
  static Span<Int32> tokensOf(const DecodeProblem &problem, const DecodeTraced &p,
                              const Int32 &sequence) {
    if (!problem.varlen)
      return {sequence * problem.queries, sequence * problem.queries + problem.queries};
    const Tensor starts = p.starts.view(i32, p.sequences + 1); // (n + 1)
    return {Int32(gpu::uniform_load(starts, sequence)),
            Int32(gpu::uniform_load(starts, sequence + 1))};
  }

  /// The sequence's queries, and its rows, or those before `endRow`.
  Int32 queries() const {
    return problem_.varlen ? Int32(tokens_.end - tokens_.first) : Int32(problem_.queries);
  }
  Int32 count() const {
    const Int32 all = queries() * groupOf(problem_);
    return endRow_ ? Int32(min(all, *endRow_)) : all;
  }
  Int32 query(const Int32 &row) const { return row / groupOf(problem_); }
  /// The number of a token among the sequence's queries.
  Int32 queryOf(const Int32 &token) const {
    return problem_.varlen ? Int32(token - tokens_.first) : Int32(token % problem_.queries);
  }
  Int32 token(const Int32 &row) const { return tokens_.first + query(row); }
  Int32 head(const Int32 &row) const { return firstHead_ + row % groupOf(problem_); }
  /// The number of a token's head among those of all tokens.
  Int32 number(const Int32 &token, const Int32 &head) const {
    return token * problem_.q_heads + head;
  }
  /// A row of q.
  Tensor q(const Int32 &row) const {
    const Tensor q = p_.q.view(problem_.q, {p_.tokens, problem_.q_heads, problem_.head},
                               queryAlign(problem_) * problem_.q.bytes()); // (m, q_heads, head)
    return q(token(row), head(row), _);                                    // (head)
  }
  /// The sink of a head, times log2(e), if there are sinks.
  std::optional<Numeric> sink(const Int32 &head) const {
    if (!problem_.sink)
      return std::nullopt;
    const Numeric own = p_.terms.sink.view(f32, problem_.q_heads)(head); // (q_heads)
    return own * kToBase2;
  }
  /// The result of a token's head.
  RowResult final(const Int32 &token, const Int32 &head) const {
    const int heads = problem_.q_heads, value = valueOf(problem_);
    const Tensor o = p_.o.view(problem_.y, {p_.tokens, heads, value},
                               kCombineElements * problem_.y.bytes()); // (m, q_heads, value)
    RowResult result{.values = o(token, head, _), .natural = true};    // (value)
    if (problem_.lse)
      result.lse.emplace(p_.lse.view(f32, {p_.tokens, heads, 1})(token, head, _)); // (1)
    return result;
  }
  /// What a split of the keys leaves of row `row` of the workspace, token * q_heads + head.
  RowResult ofSplit(const Int32 &row, const Int32 &split) const {
    const Int64 rows = p_.tokens * problem_.q_heads;
    const int splits = config_.splits, value = valueOf(problem_);
    const Tensor values = p_.parts.values.view(partOf(problem_), {rows, splits, value},
                                               16),      // (m q_heads, splits, value)
        lse = p_.parts.lse.view(f32, {rows, splits, 1}); // (m q_heads, splits, 1)
    return {values(row, split, _), lse(row, split, _)};  // (value), (1)
  }
  /// What part `part` of the workers has of a token's head.
  RowResult ofWorker(const Int32 &token, const Int32 &head, const Int32 &part) const {
    const int parts = 2 * config_.workers, rows = problem_.queries * problem_.q_heads,
              value = valueOf(problem_);
    const Tensor values = p_.parts.values.view(partOf(problem_), {parts, rows, value},
                                               16),     // (parts, queries q_heads, value)
        lse = p_.parts.lse.view(f32, {parts, rows, 1}); // (parts, queries q_heads, 1)
    const Int32 row = queryOf(token) * problem_.q_heads + head;
    return {values(part, row, _), lse(part, row, _)}; // (value), (1)
  }

  /// The same rows by arguments that were read again.
  DecodeRows with(const DecodeTraced &p) const {
    return {problem_, config_, p, tokens_, firstHead_, endRow_};
  }

private:
  DecodeRows(const DecodeProblem &problem, const DecodeConfig &config, const DecodeTraced &p,
             const Span<Int32> &tokens, const Int32 &firstHead, const std::optional<Int32> &endRow)
      : problem_(problem), config_(config), p_(p), tokens_(tokens), firstHead_(firstHead),
        endRow_(endRow) {}

  const DecodeProblem &problem_;
  const DecodeConfig &config_;
  const DecodeTraced &p_;
  Span<Int32> tokens_;
  Int32 firstHead_;
  std::optional<Int32> endRow_;
};

/// A block's part of a sequence: which of its rows, and which of its keys.
struct DecodePart {
  Int32 sequence;
  Int32 firstRow; ///< the block has `DecodeConfig::rows` of the sequence's rows from this one on
  std::optional<Span<Int32>> keys = {}; ///< none: the block's split of the keys
  /// With workers: the number of the part in the workspace, and whether it is the whole sequence, whose results
  /// go to o instead.
  std::optional<Int32> part = {};
  std::optional<Boolean> whole = {};
  std::optional<Int32> endRow = {}; ///< the part does not have the sequence's rows from this one on
};

/// The numbers of a sequence's pages: (pages).
inline Tensor tableOf(const DecodeProblem &problem, const DecodeTraced &p, const Int32 &sequence) {
  if (problem.csr)
    return pagesOf(p.csr, p.sequences, sequence);
  const Tensor tables = p.blockTable.view(i32, {kAnyPages, kAnyPages}); // (n, pages)
  return tables(sequence, _);                                           // (pages)
}
/// Tokens of a sequence.
inline Int32 contextOf(const DecodeProblem &problem, const DecodeTraced &p, const Int32 &sequence) {
  if (problem.csr)
    return tokensOf(p.csr, problem.page, p.sequences, sequence);
  return p.seqLens.view(i32, p.sequences)(sequence).to<Int32>(); // (n)
}
inline Visibility<Int32> visibilityOf(const DecodeProblem &problem, const DecodeTraced &p,
                                      const Int32 &sequence, const Int32 &queries) {
  return {.causal = true,
          .window = problem.window,
          .queries = queries,
          .keys = contextOf(problem, p, sequence),
          .left = p.windowLeft.to<Int32>(),
          .right = Int32(0)};
}

/// Where a block's results go: to o, or into the workspace.
class DecodeResults {
public:
  DecodeResults(const DecodeConfig &config, const DecodeRows &rows, const DecodePart &part)
      : config_(config), rows_(rows), part_(part) {}

  /// Where a row's result may go.
  struct Row {
    RowResult final, part;
    std::optional<Numeric> sink;
  };
  Row row(const Int32 &row) const {
    const Int32 token = rows_.token(row), head = rows_.head(row);
    return {rows_.final(token, head),
            part_.part ? rows_.ofWorker(token, head, *part_.part)
                       : rows_.ofSplit(rows_.number(token, head), block_idx().x),
            rows_.sink(head)};
  }
  /// Writes a piece of a row's result; `withLse`: see RowResult.
  void write(const Row &row, const Int32 &piece, const CombinedRow &result,
             bool withLse = true) const {
    const auto final = [&] {
      row.final.store(kCombineElements, piece, row.sink ? withSink(result, *row.sink) : result,
                      withLse);
    };
    const auto part = [&] { row.part.store(kCombineElements, piece, result, withLse); };
    if (part_.whole)
      if_(*part_.whole, final, part);
    else if (config_.splits > 1)
      part();
    else
      final();
  }

private:
  const DecodeConfig &config_;
  const DecodeRows &rows_;
  const DecodePart &part_;
};

/// The queries of a block's rows: the first one, and the last one.
struct BlockQueries {
  Int32 first, last;

  static BlockQueries of(const DecodeProblem &problem, const DecodeConfig &config,
                         const DecodeRows &rows, const DecodePart &part) {
    if (!problem.varlen && rowBlocks(problem, config) == 1)
      return {Int32(0), Int32(problem.queries - 1)};
    return {rows.query(part.firstRow),
            rows.query(min(part.firstRow + (config.rows - 1), rows.count() - 1))};
  }
};

/// The keys of a block: those of its part, or its split of all that its queries see, which is whole
/// steps of `step` keys.
inline Span<Int32> keysOfBlock(const DecodeConfig &config, const Visibility<Int32> &visibility,
                               const BlockQueries &queries, const DecodePart &part, int step) {
  if (part.keys)
    return *part.keys;
  const Span<Int32> all = keysOfQueries(visibility, queries.first, queries.last);
  if (config.splits == 1)
    return all;
  const Int32 each = ceildiv(ceildiv(max(all.end - all.first, 0), step), config.splits) * step,
              begin = all.first + block_idx().x * each;
  return {begin, min(begin + each, all.end)};
}

/// The worklist of a call.
class DecodeWorklist {
public:
  DecodeWorklist(const DecodeConfig &config, const DecodeTraced &p)
      : sequences_(p.sequences.to<Int32>()),
        list_(p.worklist.view(i32,
                              sequences_ + (1 + config.workers))), // (sequences + 1 + workers)
        deal{number(sequences_), Int32(config.workers)} {}

  /// The units before a sequence.
  Int32 unitsBefore(const Int32 &sequence) const { return number(sequence); }
  /// The sequence of a worker's first unit.
  Int32 firstOf(const Int32 &worker) const { return number(sequences_ + 1 + worker); }

private:
  Int32 number(const Int32 &at) const { return list_(at).to<Int32>(); }
  Int32 sequences_;
  Tensor list_; // (n + 1 + workers)

public:
  UnitDeal<Int32> deal;
};

/// What a worker does for the rows from `firstRow` on: its units, sequence by sequence. A sequence that
/// has more queries than the problem says has no parts of these: the worker of its first unit takes them
/// over all of its keys.
template <class Body>
void work(const DecodeProblem &problem, const DecodeConfig &config, const DecodeTraced &p,
          const Int32 &firstRow, Body body) {
  const DecodeWorklist list(config, p);
  const Int32 worker = block_idx().x, end = list.deal.begin(worker + 1);
  const Var<Int32> unit(list.deal.begin(worker)), sequence(list.firstOf(worker));
  while_(
      [&] { return Boolean(unit < end); },
      [&] {
        const Int32 own = sequence, first = list.unitsBefore(own), last = list.unitsBefore(own + 1),
                    from = unit, to = min(last, end);
        const Span<Int32> tokens = DecodeRows::tokensOf(problem, p, own);
        const Int32 queries = tokens.end - tokens.first, rows = queries * groupOf(problem);
        const Span<Int32> keys =
            keysOfSequence(visibilityOf(problem, p, own, queries), problem.varlen);
        const Int32 begin = keys.first + (from - first) * config.unit;
        const Int32 later = min(from - list.deal.begin(worker), 1);
        const auto part = [&] {
          body(DecodePart{
              .sequence = own,
              .firstRow = firstRow,
              .keys = Span<Int32>{begin, Int32(min(begin + (to - from) * config.unit, keys.end))},
              .part = Int32(worker * 2 + later),
              .whole = Boolean((from == first) & (to == last)),
              .endRow = problem.varlen ? std::optional(Int32(rowsOf(problem))) : std::nullopt});
        };
        if (!problem.varlen) {
          part();
        } else {
          if_(firstRow < min(rows, rowsOf(problem)), part);
          const int blocks = rowBlocks(problem, config) * config.rows;
          const Int32 others = select(from == first, firstRow + rowsOf(problem), rows);
          for (Int32 row : range(others, rows, blocks)) {
            gpu::barrier(AddressSpace::shared); // all threads have read what the waves found
            body(DecodePart{.sequence = own,
                            .firstRow = row,
                            .keys = keys,
                            .part = Int32(worker * 2),
                            .whole = Boolean(row >= 0)});
          }
        }
        unit = to;
        sequence = own + 1;
        gpu::barrier(AddressSpace::shared); // all threads have read what the waves found
      });
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
