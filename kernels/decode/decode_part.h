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

/// The one number of a scale of a whole tensor, which is contiguous.
template <int Modes> Numeric tensorScale(const Strided<OnDevice, Modes> &of) {
  const Strided<OnDevice, 0> one{.address = of.address, .stride = {}};
  return one.view(f32, 1)(0);
}
/// The factor of the products of keys: their scale, and that of a q of 8 bits.
inline Numeric scoreScale(const DecodeProblem &problem, const DecodeTraced &p,
                          const Numeric &ofKeys) {
  return scalesQueries(problem) ? Numeric(ofKeys * tensorScale(p.qScale)) : ofKeys;
}

/// A lane's pieces of a row of queries, as the products take them, and by what its scores are
/// multiplied.
struct LaneQuery {
  std::vector<Vector> pieces;
  std::optional<Numeric> scale;
};
/// Of pieces of q's type, which are rounded if the problem says so; `known`: see scoreScale. Lanes
/// that share the row find its largest magnitude together. A row is divided by a power of 2 that
/// brings it to at most the largest number of the type, which costs no division and rounds once. A
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
             const Int32 &sequence, const Int32 &kvHead)
      : problem_(problem), config_(config), p_(p), firstToken_(sequence * problem.queries),
        firstHead_(kvHead * groupOf(problem)) {}

  Int32 token(const Int32 &row) const { return firstToken_ + row / groupOf(problem_); }
  Int32 head(const Int32 &row) const { return firstHead_ + row % groupOf(problem_); }
  /// The number of a token's head among those of all tokens.
  Int32 number(const Int32 &token, const Int32 &head) const {
    return token * problem_.q_heads + head;
  }
  /// A row of q.
  Tensor query(const Int32 &row) const {
    const Tensor q = p_.q.view(problem_.q, {p_.tokens, problem_.q_heads, problem_.head},
                               kPieceBytes); // (m, q_heads, head)
    return q(token(row), head(row), _);      // (head)
  }
  /// The result of a token's head.
  RowResult final(const Int32 &token, const Int32 &head) const {
    const int heads = problem_.q_heads, value = valueOf(problem_);
    const Tensor y = p_.y.view(problem_.y, {p_.tokens, heads, value},
                               kCombineElements * problem_.y.bytes()); // (m, q_heads, value)
    RowResult result{.values = y(token, head, _), .natural = true};
    if (problem_.lse)
      result.lse.emplace(p_.lse.view(f32, {p_.tokens, heads, 1})(token, head, _)); // (1)
    return result;
  }
  /// What a split of the keys leaves of row `row` of the workspace, token * q_heads + head.
  RowResult ofSplit(const Int32 &row, const Int32 &split) const {
    const Int64 rows = p_.tokens * problem_.q_heads;
    const int splits = config_.splits, value = valueOf(problem_);
    const Tensor values = p_.parts.values.view(f32, {rows, splits, value},
                                               16),      // (m q_heads, splits, value)
        lse = p_.parts.lse.view(f32, {rows, splits, 1}); // (m q_heads, splits, 1)
    return {values(row, split, _), lse(row, split, _)};
  }
  /// What part `part` of the workers has of a token's head.
  RowResult ofWorker(const Int32 &token, const Int32 &head, const Int32 &part) const {
    const int parts = 2 * config_.workers, rows = problem_.queries * problem_.q_heads,
              value = valueOf(problem_);
    const Tensor values = p_.parts.values.view(f32, {parts, rows, value},
                                               16),     // (parts, queries q_heads, value)
        lse = p_.parts.lse.view(f32, {parts, rows, 1}); // (parts, queries q_heads, 1)
    const Int32 row = token % problem_.queries * problem_.q_heads + head;
    return {values(part, row, _), lse(part, row, _)};
  }

private:
  const DecodeProblem &problem_;
  const DecodeConfig &config_;
  const DecodeTraced &p_;
  Int32 firstToken_, firstHead_;
};

/// What a block does of a sequence.
struct DecodePart {
  Int32 sequence;
  std::optional<Span<Int32>> keys = {}; ///< none: the block's split
  /// With workers: the part that it leaves, and whether it is the whole sequence instead.
  std::optional<Int32> part = {};
  std::optional<Boolean> whole = {};
};

/// The blocks of a sequence: (blocks).
inline Tensor tableOf(const DecodeTraced &p, const Int32 &sequence) {
  const Tensor tables = p.tables.view(i32, {kAnyBlocks, kAnyBlocks}); // (n, blocks)
  return tables(sequence, _);
}
/// Tokens of a sequence.
inline Int32 contextOf(const DecodeTraced &p, const Int32 &sequence) {
  return p.contexts.view(i32, p.tokens)(sequence).to<Int32>();
}
inline Visibility<Int32> visibilityOf(const DecodeProblem &problem, const DecodeTraced &p,
                                      const Int32 &sequence) {
  return {.causal = true,
          .window = problem.window,
          .queries = Int32(problem.queries),
          .keys = contextOf(p, sequence),
          .left = p.before.to<Int32>(),
          .right = Int32(0)};
}

/// Where a block's results go: to y, or into the workspace.
class DecodeResults {
public:
  DecodeResults(const DecodeConfig &config, const DecodeRows &rows, const DecodePart &part)
      : config_(config), rows_(rows), part_(part) {}

  /// Where a row's result may go.
  struct Row {
    RowResult final, part;
  };
  Row row(const Int32 &row) const {
    const Int32 token = rows_.token(row), head = rows_.head(row);
    return {rows_.final(token, head),
            part_.part ? rows_.ofWorker(token, head, *part_.part)
                       : rows_.ofSplit(rows_.number(token, head), block_idx().x)};
  }
  /// Writes a piece of a row's result; `withLse`: see RowResult.
  void write(const Row &row, const Int32 &piece, const CombinedRow &result,
             bool withLse = true) const {
    const auto final = [&] { row.final.store(kCombineElements, piece, result, withLse); };
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

/// The keys of a block: those of its part, or its split of all that the sequence's queries see,
/// which is whole steps of `step` keys.
inline Span<Int32> keysOfBlock(const DecodeConfig &config, const Visibility<Int32> &visibility,
                               const DecodePart &part, int step) {
  if (part.keys)
    return *part.keys;
  const Span<Int32> all = keysOfSequence(visibility);
  if (config.splits == 1)
    return all;
  const Int32 each = ceildiv(ceildiv(max(all.end - all.first, 0), step), config.splits) * step,
              begin = all.first + block_idx().x * each;
  return {begin, min(begin + each, all.end)};
}

/// Masks the lane's scores of a row's query for a step of keys from `base` on. The block has the keys
/// before `end`.
inline void maskDecode(const Tensor &scores, const Visibility<Int32> &visibility,
                       const Int32 &query, const DecodeLane &lane, const Int32 &base,
                       const Int32 &end) {
  const Span<Int32> seen = visibility.ofQuery(query);
  maskScores(
      scores,
      {.base = base + lane.scoreKey(), .offset = [&lane](int i) { return lane.scoreOffset(i); }},
      {seen.first, Int32(min(seen.end, end))});
}
/// Whether a row does not see all of the `count` keys from `base` on, of those before `end`.
inline Boolean masksDecode(const Visibility<Int32> &visibility, const Int32 &base, int count,
                           const Int32 &end) {
  const Int32 lowEnd = min(visibility.ofQuery(Int32(0)).end, end),
              highFirst = visibility.ofQuery(Int32(visibility.queries - 1)).first;
  return Boolean((base + count > lowEnd) | (base < highFirst));
}

/// The worklist of a call.
class DecodeWorklist {
public:
  DecodeWorklist(const DecodeProblem &problem, const DecodeConfig &config, const DecodeTraced &p)
      : sequences_((p.tokens / problem.queries).to<Int32>()),
        list_(p.worklist.view(i32, sequences_ + (1 + config.workers))), deal{number(sequences_),
                                                                             Int32(
                                                                                 config.workers)} {}

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

/// What a worker does: its units, sequence by sequence.
template <class Body>
void work(const DecodeProblem &problem, const DecodeConfig &config, const DecodeTraced &p,
          Body body) {
  const DecodeWorklist list(problem, config, p);
  const Int32 worker = block_idx().x, end = list.deal.begin(worker + 1);
  const Var<Int32> unit(list.deal.begin(worker)), sequence(list.firstOf(worker));
  while_([&] { return Boolean(unit < end); },
         [&] {
           const Int32 own = sequence, first = list.unitsBefore(own),
                       last = list.unitsBefore(own + 1), from = unit, to = min(last, end);
           const Span<Int32> keys = keysOfSequence(visibilityOf(problem, p, own));
           const Int32 begin = keys.first + (from - first) * config.unit;
           const Int32 later = min(from - list.deal.begin(worker), 1);
           body(DecodePart{
               .sequence = own,
               .keys = Span<Int32>{begin, Int32(min(begin + (to - from) * config.unit, keys.end))},
               .part = Int32(worker * 2 + later),
               .whole = Boolean((from == first) & (to == last))});
           unit = to;
           sequence = own + 1;
           gpu::barrier(AddressSpace::shared); // all threads have read what the waves found
         });
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
