// The scores of attention: which keys a query sees, and what a score is besides the product.
//
// The keys that a query sees are always neighbours: from `first` to below `end`. Padding, causal
// masks and windows all say no more than where they begin and end. From the queries of a tile
// follows which tiles of keys need not be looked at, and which are seen by all queries in full, so
// that only the others pay for a mask.
//
// The last query sits at the last key (bottom-right): query i of `queries` stands at the key
// i + keys - queries.
//
// The spans are written once for the host's integers and for a kernel's; tests compare the host's
// with the definition.
#pragma once

#include "blocks/common/host_or_traced.h"
#include "blocks/common/logarithms.h"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What scores are, as constants of the code: for query i and key j,
///   s = scale * (q_i . k_j), then cap * tanh(s / cap), then + bias - slope * |at - j|,
/// and then what a kernel of one's own makes of it, where query i stands at the key
/// at = i + keys - queries.
struct ScoreRules {
  double scale = 1;    ///< positive
  double soft_cap = 0; ///< 0: none
  bool bias = false, alibi = false;
  bool descaled = false; ///< products have a factor that the code does not know
  bool staged = false;   ///< a kernel's own function makes scores of scores
  bool causal = false;   ///< a query sees no key after the one that it stands at
  bool window = false;   ///< a query sees so many keys before that key, and so many after it

  /// True if a score is more than a factor times the product.
  bool changed() const { return soft_cap > 0 || bias || alibi || descaled || staged; }
  /// The factor of scores that are changed: log2(e), or 1 for a kernel's own function, which gets them as they
  /// are.
  double unit() const { return staged ? 1 : kLog2E; }
  /// The factor from a score, as it is compared and kept, to its power of 2.
  float factor() const {
    return static_cast<float>(staged ? kLog2E : changed() ? 1 : scale * kLog2E);
  }
};

/// Neighbours: from `first` to below `end`; none if `end` is not above `first`.
template <class Int> struct Span { Int first, end; };

/// The tiles of keys that a tile of queries looks at: those from `first` to below `end`. Of these,
/// all queries see all keys of those from `whole` to below `wholeEnd`.
template <class Int> struct TileSpan { Int first, end, whole, wholeEnd; };

/// More keys than there may be: a window without a limit.
inline constexpr std::int32_t kNoLimit = 1 << 30;

/// Why a call with `left` keys of a window before each query is refused, or nothing: larger windows
/// would leave the numbers of 32 bits that places of keys have.
inline std::string problemWithWindow(bool window, std::int64_t left) {
  if (!window && left != -1)
    return "window_left is given, and the problem has no window";
  if (left < -1 || left >= kNoLimit)
    return "window_left is " + std::to_string(left) +
           "; it is a number of tokens below 2^30, or -1 for all";
  return {};
}

/// Which keys the queries of a sequence see. Lengths are below 2^30.
template <class Int> struct Visibility {
  bool causal, window; ///< see ScoreRules
  Int queries, keys;
  Int left, right; ///< keys of the window on both sides; negative: all; without a window, unused

  /// The keys of query i.
  Span<Int> ofQuery(const Int &i) const {
    const Int at = i + (keys - queries);
    return {window ? greater(at - limit(left), Int(0)) : Int(0), greater(endOf(at), Int(0))};
  }
  /// The tiles of `size` keys for the queries from i to `last`.
  TileSpan<Int> tiles(const Int &i, const Int &last, int size) const {
    const Span<Int> low = ofQuery(i), high = ofQuery(last);
    const Int first = low.first / size, end = (high.end + (size - 1)) / size;
    return {first, greater(end, first), (high.first + (size - 1)) / size, low.end / size};
  }

private:
  static std::int64_t limit(std::int64_t keys) { return keys < 0 ? kNoLimit : keys; }
  static Int32 limit(const Int32 &keys) { return select(keys < 0, kNoLimit, keys); }
  Int endOf(const Int &at) const {
    if (!causal && !window)
      return keys;
    if (!window)
      return lesser(Int(at + 1), keys);
    const Int ahead = causal ? Int(0) : Int(limit(right));
    return lesser(Int(at + ahead + 1), keys);
  }
};

/// Whether a tile needs a mask.
inline Boolean needsMask(const TileSpan<Int32> &tiles, const Int32 &tile) {
  return Boolean((tile < tiles.whole) | (tile >= tiles.wholeEnd));
}

/// The keys of the scores that a lane holds for a query: value i is that of key base + offset(i).
struct ScoreKeys {
  Int32 base;
  std::function<int(int)> offset;
};

/// Makes the scores of keys that the query does not see -infinity: of `count` scores from number
/// `from` on.
inline void maskScores(const Tensor &scores, const ScoreKeys &keys, const Span<Int32> &seen,
                       int from, int count) {
  const Int32 first = seen.first - keys.base, end = seen.end - keys.base;
  for (int i = from; i < from + count; ++i) {
    const int at = keys.offset(i);
    scores(i) = select(Boolean((first <= at) & (end > at)), scores(i),
                       -std::numeric_limits<float>::infinity());
  }
}
/// Makes the scores of keys that the query does not see -infinity: of all scores.
inline void maskScores(const Tensor &scores, const ScoreKeys &keys, const Span<Int32> &seen) {
  maskScores(scores, keys, seen, 0, size(scores).value());
}

/// What is added to scores, for one query and head.
struct ScoreTerms {
  /// The bias of a key, in f32; keys after the last one are asked for too.
  std::function<Numeric(const Int32 &key)> bias = nullptr;
  std::optional<Numeric> slope = {};   ///< ALiBi's slope, in f32
  std::optional<Numeric> descale = {}; ///< the factor of the products, in f32
  Int32 at;                            ///< the key that the query stands at
  /// ScoreRules::staged: what becomes of a key's score; keys after the last one are asked for too.
  std::function<Numeric(const Numeric &score, const Int32 &key)> stage = nullptr;
};

/// Makes of products what the rules say of scores, times ScoreRules::unit: of `count` of them from number
/// `from` on. If the rules change nothing, the products stay what they are, and ScoreRules::factor
/// has the factor.
inline void finishScores(const ScoreRules &rules, const Tensor &scores, const ScoreKeys &keys,
                         const ScoreTerms &terms, int from, int count) {
  if (!rules.changed())
    return;
  const FastMathScope fast(FastMath::afn | FastMath::contract);
  const auto times = [&](double factor) -> Numeric {
    const Float32 known(static_cast<float>(factor));
    return rules.descaled ? Numeric(*terms.descale * known) : Numeric(known);
  };
  const bool capped = rules.soft_cap > 0;
  const Numeric factor =
      times(capped ? 2 * kLog2E * rules.scale / rules.soft_cap : rules.scale * rules.unit());
  const auto scaled = [&](const Numeric &product) -> Numeric {
    if (!capped)
      return product * factor;
    // tanh(x) = 1 - 2 / (e^2x + 1), where e^2x may become 0 or infinite.
    const float cap = static_cast<float>(rules.soft_cap * rules.unit());
    const Numeric power = math::exp2(product * factor) + 1.0f;
    const auto inverse = [&]() -> Numeric {
      const FastMathScope approximate(FastMath::afn); // the hardware's reciprocal
      return 1.0f / power;
    };
    return cap - 2 * cap * inverse();
  };
  for (int i = from; i < from + count; ++i) {
    const Int32 key = keys.base + keys.offset(i);
    std::vector<Numeric> sum{scaled(scores(i))};
    if (rules.bias)
      sum.push_back(sum.back() + terms.bias(key) * static_cast<float>(rules.unit()));
    if (rules.alibi)
      sum.push_back(sum.back() - *terms.slope * math::abs(Int32(terms.at - key)).to(f32) *
                                     static_cast<float>(rules.unit()));
    if (rules.staged) {
      const FastMathScope asWritten(FastMath::none);
      sum.push_back(terms.stage(sum.back(), key));
    }
    scores(i) = sum.back();
  }
}
/// Makes of all products what the rules say of scores.
inline void finishScores(const ScoreRules &rules, const Tensor &scores, const ScoreKeys &keys,
                         const ScoreTerms &terms) {
  finishScores(rules, scores, keys, terms, 0, size(scores).value());
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
