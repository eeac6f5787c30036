// The scores of decoding: what they are besides products, and which of them a row does not see.
#pragma once

#include "decode/decode_part.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline ScoreRules scoreRules(const DecodeProblem &problem) {
  return {.scale = scaleOf(problem),
          .soft_cap = problem.soft_cap,
          .bias = problem.bias,
          .alibi = problem.alibi,
          .causal = true,
          .window = problem.window};
}

/// The scores of a block's rows.
class DecodeScores {
public:
  DecodeScores(const DecodeProblem &problem, const DecodeTraced &p, const DecodeRows &rows,
               const DecodePart &part, const BlockQueries &queries,
               const Visibility<Int32> &visibility)
      : problem_(problem), p_(p), rows_(rows), sequence_(part.sequence), queries_(queries),
        visibility_(visibility), rules_(scoreRules(problem)) {}

  /// See ScoreRules.
  float factor() const { return rules_.factor(); }

  /// Whether a row of the block does not see all of the `count` keys from `base` on, of those
  /// before `end`.
  Boolean masks(const Int32 &base, int count, const Int32 &end) const {
    const Int32 seen = problem_.tree_mask ? firstQuery() : visibility_.ofQuery(queries_.first).end,
                lowEnd = min(seen, end), highFirst = visibility_.ofQuery(queries_.last).first;
    return Boolean((base + count > lowEnd) | (base < highFirst));
  }

  /// Makes scores of a row's products with a step of keys from `base` on, those of the lane. The
  /// block has the keys before `end`. `partial`: see `masks`.
  void finish(const Tensor &scores, const std::function<Int32()> &rowOf, const DecodeLane &lane,
              const Int32 &base, const Int32 &end, const Boolean &partial) const {
    // Computed where they are needed: from before the branch, they would take registers of all
    // steps. So would the row.
    const auto keysOf = [&]() -> ScoreKeys {
      return {base + lane.scoreKey(), [&lane](int i) { return lane.scoreOffset(i); }};
    };
    if (rules_.changed())
      finishScores(rules_, scores, keysOf(), terms(rowOf()));
    if_(partial, [&] {
      const ScoreKeys keys = keysOf();
      const Int32 row = rowOf();
      const Span<Int32> seen = visibility_.ofQuery(rows_.query(row));
      maskScores(scores, keys, {seen.first, Int32(min(seen.end, end))});
      if (problem_.tree_mask)
        maskQueries(scores, row, keys);
    });
  }

private:
  /// The key at which the sequence's first query stands.
  Int32 firstQuery() const { return visibility_.keys - visibility_.queries; }

  ScoreTerms terms(const Int32 &row) const {
    const Int32 head = rows_.head(row);
    ScoreTerms terms{.at = rows_.query(row) + firstQuery()};
    if (problem_.bias) {
      const Tensor all =
          p_.terms.bias.view(problem_.bias_type, {problem_.q_heads, p_.tokens,
                                                  p_.terms.columns}); // (q_heads, m, columns)
      const Tensor own = all(head, rows_.token(row), _);              // (columns)
      const Int32 last = p_.terms.columns.to<Int32>() - 1;
      terms.bias = [own, last](const Int32 &key) {
        const Numeric value = own(min(key, last));
        return value.to(f32);
      };
    }
    if (problem_.alibi) {
      const Tensor slopes =
          p_.terms.slopes.view(f32, {p_.sequences, problem_.q_heads}); // (n, q_heads)
      terms.slope.emplace(slopes(sequence_, head));
    }
    return terms;
  }

  /// Masks the scores of queries that the row's bits hide from it.
  void maskQueries(const Tensor &scores, const Int32 &row, const ScoreKeys &keys) const {
    const Tensor all = p_.terms.mask.view(i32, {p_.tokens, p_.terms.words}); // (m, words)
    const Tensor own = all(rows_.token(row), _);                             // (words)
    const Int32 last = p_.terms.words.to<Int32>() - 1;
    for (int i = 0; i < size(scores).value(); ++i) {
      const Int32 query = keys.base + keys.offset(i) - firstQuery(),
                  word(own(min(max(query, 0) / 32, last)));
      const Boolean hidden((query >= 0) & ((word >> (query & 31) & 1) == 0));
      scores(i) = select(hidden, -std::numeric_limits<float>::infinity(), scores(i));
    }
  }

  const DecodeProblem &problem_;
  const DecodeTraced &p_;
  const DecodeRows &rows_;
  Int32 sequence_;
  BlockQueries queries_;
  const Visibility<Int32> &visibility_;
  ScoreRules rules_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
