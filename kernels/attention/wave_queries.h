// The queries of a wave: which keys they see, their scores and probabilities, and the end of the kernel, where
// their results are divided and stored. The loops over keys, which differ in how keys and values reach the
// products, share it.
#pragma once

#include "attention/attention_rows.h"
#include "blocks/attention/attention_products.h"
#include "blocks/attention/value_scaled_softmax.h"
#include "blocks/common/groups.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The tiles of keys that a block goes over.
struct TilesOfBlock {
  TileSpan<Int32> seen; ///< the tiles that its queries see
  Int32 begin, end;     ///< the block takes those of these tiles from `begin` to below `end`
};

/// How a lane's results of a query lie among the elements of the head: `length` values are neighbours. Those
/// from value i on, a multiple of `length`, are run `run(i)` of the head's runs.
struct ResultRuns {
  int length;
  std::function<Int32(int i)> run;
};

/// Gives some of a lane's results of a query: `count` values from value `from` on.
using ResultsOf = std::function<Vector(int repeat, int from, int count)>;

/// The keys that a query sees before and after its own place, if there is a window; -1: all.
struct WindowOfKeys {
  Int32 left, right;
};

/// A wave's queries, 16 for each repeat of its instructions. A loop over tiles of keys asks `piece` for
/// their elements, hands the products of a tile to `probabilities`, and in the end calls `store` with the
/// sums of values:
///
///   products of a tile   times the scales of keys, with soft cap, bias and slopes: scores.h
///   scores               -infinity where a query does not see a key
///   probabilities        by the softmax so far, which tells the loop how to rescale its sums
class WaveQueries {
public:
  /// `staged`: whether a function of the kernel's own changes scores (ScoreRules::staged).
  WaveQueries(const AttentionProblem &problem, const AttentionConfig &config,
              const AttentionShape &shape, const BlockPlace &place, const HeadRows &rows,
              const WindowOfKeys &window, bool staged = false)
      : problem_(problem), config_(config), shape_(shape), place_(place),
        rows_(rows), rules_{.scale = scaleOf(problem),
                            .soft_cap = problem.soft_cap,
                            .bias = problem.bias,
                            .alibi = problem.alibi,
                            .descaled = problem.scales == KvScales::token,
                            .staged = staged,
                            .causal = problem.causal,
                            .window = problem.window},
        visibility_{problem.causal, problem.window, place.queries,
                    place.keys,     window.left,    window.right},
        runs_(RunsOfEight::of(shape.form)), descale_(rows.scoreDescale()) {
    const DType rounded = probabilityType(problem);
    tokenScales_ = rows.tokenScales();
    if (tokenScales_)
      scaled_.emplace(shape.repeats(), factor(), rounded, overLanes(16));
    else
      softmax_.emplace(shape.repeats(), factor(), rounded, overLanes(16),
                       config.loop != AttentionLoop::groups);
    if (tokenScales_ && !descale_)
      descale_.emplace(Float32(1.0f));
    rules_.descaled = rules_.changed() && descale_;
    const Int32 thread = threadOf(shape, shape.keep.acrossTiles);
    for (int r = 0; r < shape.repeats(); ++r)
      queries_.push_back(place.first + r * shape.queriesAtOnce() + thread / shape.form.lanes * 16 +
                         thread % 16);
  }

  /// The tiles of keys: all that its queries see or, if `isSplit`, the block's part of these.
  TilesOfBlock tiles(bool isSplit) const {
    const Int32 last = min(place_.first + config_.tile_q, place_.queries) - 1;
    const TileSpan<Int32> seen = visibility_.tiles(place_.first, last, config_.tile_k);
    if (!isSplit)
      return {seen, seen.first, seen.end};
    const Int32 each = ceildiv(seen.end - seen.first, config_.splits),
                begin = min(seen.first + place_.part * each, seen.end);
    return {seen, begin, min(begin + each, seen.end)};
  }

  /// The piece `i` of a repeat's query for lane `lane` of those that share it: they take its pieces in turn.
  /// Lanes past the last query load the last one again. Elements past the query's are zeros.
  Vector piece(int repeat, const Int32 &lane, int i) const {
    const Int32 query = min(queries_[std::size_t(repeat)], place_.queries - 1);
    const int piece = shape_.form.piece(), lanes = shape_.form.across;
    if ((i + 1) * piece * lanes > shape_.keyElements)
      return pieceOrZeros(rows_.q(query), lane + i * lanes, piece);
    const Tensor pieces =
        composition(rows_.q(query),
                    make_layout({piece, lanes,
                                 shape_.keyElements / (piece * lanes)})); // (piece, lanes, pieces)
    return pieces(_, lane, i).load();                                     // (piece)
  }

  /// The probabilities of a tile for each repeat, of its products `scores`, which become scores. A lane's
  /// scores are of runs of 8 keys. `rescale` is that of OnlineSoftmax::add.
  std::vector<Vector> probabilities(const std::vector<Tensor> &scores, const Int32 &tile,
                                    const TileSpan<Int32> &seen,
                                    const std::function<void(int, const Numeric &)> &rescale) {
    const ScoreKeys keys{tile * config_.tile_k + runs_.first(),
                         [this](int i) { return runs_.offset(i); }};
    const std::optional<Tensor> ofValues = scaleByTokens(scores, keys); // KvScales::token
    addTerms(scores, keys);                                             // scale, cap, bias, slopes
    if_(needsMask(seen, tile), [&] { hideUnseen(scores, keys); });      // causal, window, last key
    hideByBits(scores, keys);                                           // AttentionProblem::mask
    return scaled_ ? scaled_->add(scores, ofValues->load(), rescale)
                   : softmax_->add(scores, rescale);
  }

  /// The epilogue: divides the results by the sums of the probabilities and writes them; if `isSplit`, those of
  /// a part of the keys into the workspace. `sums(repeat)` are the sums of the probabilities if the loop has
  /// computed them.
  void store(const ResultsOf &results, const ResultRuns &runs, bool isSplit,
             const std::function<Numeric(int repeat)> &sums = nullptr) const {
    const std::unique_ptr<HeadRows> readAgain =
        shape_.keep.arguments ? nullptr : rows_.withArgumentsReadAgain();
    const HeadRows &rows = readAgain ? *readAgain : rows_;
    const std::optional<Numeric> descale = rows.valueDescale();
    for (std::size_t r = 0; r < queries_.size(); ++r) {
      const int repeat = static_cast<int>(r);
      const std::optional<Numeric> sink = isSplit ? std::nullopt : rows.sink();
      const SoftmaxEnd end = scaled_ ? scaled_->finish(repeat, sink)
                             : sums  ? softmax_->finishWith(repeat, sums(repeat), sink)
                                     : softmax_->finish(repeat, sink);
      const Numeric factor = descale ? Numeric(end.inverse * *descale) : end.inverse;
      if_(queries_[r] < place_.queries, [&] {
        const RowResult row =
            isSplit ? rows.resultOfPart(queries_[r], place_.part) : rows.result(queries_[r]);
        const int runsOfTile = shape_.headV / runs.length;
        for (int i = 0; i < valuesOfQuery(); i += runs.length) {
          const Int32 own = runs.run(i), run = shape_.valueParts() > 1
                                                   ? Int32(own + place_.valuePart * runsOfTile)
                                                   : own;
          const auto store = [&] {
            row.storeRun(runs.length, run, results(repeat, i, runs.length) * factor);
          };
          if (shape_.padsValues())
            if_(run < shape_.valueElements / runs.length, store);
          else
            store();
        }
        row.storeLse(writesLse(), end.lse);
      });
    }
  }

private:
  /// Calls `body` with `count` scores at a time, which the scheduler does not mix with others, and with their
  /// keys: computed again for these scores if addresses are not kept.
  template <class Body>
  void inTurns(const std::vector<Tensor> &scores, const ScoreKeys &keys, int count,
               const Body &body) const {
    const int all = size(scores[0]).value();
    for (int i = 0; i < all; i += count) {
      const ScoreKeys own{fewRegisters() ? Int32(rematerialised(keys.base)) : keys.base,
                          keys.offset};
      body(own, i, std::min(count, all - i));
      if (count < all)
        gpu::schedule_fence();
    }
  }
  bool fewRegisters() const { return !shape_.keep.addresses; }
  /// How many scores are finished at a time: all, or few if there are few registers.
  int atATime(const std::vector<Tensor> &scores, int few) const {
    return fewRegisters() ? few : static_cast<int>(size(scores[0]).value());
  }

  /// Multiplies scores by the scales of the lane's keys, which are the same in each repeat. Gives the scales
  /// of these keys' values.
  std::optional<Tensor> scaleByTokens(const std::vector<Tensor> &scores,
                                      const ScoreKeys &keys) const {
    if (!tokenScales_)
      return std::nullopt;
    const int all = size(scores[0]).value();
    const Tensor ofValues = make_rmem_tensor(IntTuple(all), f32); // (all)
    for (int i = 0; i < all; ++i) {
      const HeadRows::TokenScales scales = tokenScales_(keys.base + keys.offset(i));
      for (const Tensor &each : scores)
        each(i) = each(i) * scales.key;
      ofValues(i) = scales.value;
    }
    return ofValues;
  }
  /// Makes of products what the rules say of scores.
  void addTerms(const std::vector<Tensor> &scores, const ScoreKeys &keys) const {
    for (std::size_t r = 0; r < scores.size() && rules_.changed(); ++r) {
      const Int32 query = min(queries_[r], place_.queries - 1);
      const ScoreTerms terms{.bias = problem_.bias ? rows_.bias(query) : nullptr,
                             .slope = problem_.alibi ? std::optional(rows_.slope()) : std::nullopt,
                             .descale = descale_,
                             .at = query + (place_.keys - place_.queries),
                             .stage = rules_.staged ? rows_.stage(query) : nullptr};
      inTurns(scores, keys, atATime(scores, 8), [&](const ScoreKeys &own, int from, int count) {
        finishScores(rules_, scores[r], own, terms, from, count);
      });
    }
  }
  /// Makes the scores of keys that a query does not see -infinity.
  void hideUnseen(const std::vector<Tensor> &scores, const ScoreKeys &keys) const {
    // The scheduler puts all comparisons first. Each takes two scalar registers for 64 lanes, and
    // one for 32.
    const int together = gpu::num_warp_threads() == 64 ? 8 : 16;
    inTurns(scores, keys, fewRegisters() ? 4 : together,
            [&](const ScoreKeys &own, int from, int count) {
              for (std::size_t r = 0; r < scores.size(); ++r)
                maskScores(scores[r], own, visibility_.ofQuery(queries_[r]), from, count);
            });
  }
  /// Makes scores -infinity whose bits in the problem's mask are 0.
  void hideByBits(const std::vector<Tensor> &scores, const ScoreKeys &keys) const {
    constexpr int kRun = RunsOfEight::kRun;
    for (std::size_t r = 0; r < scores.size() && problem_.mask; ++r) {
      const auto bits = rows_.mask(min(queries_[r], place_.queries - 1));
      inTurns(scores, keys, atATime(scores, kRun), [&](const ScoreKeys &own, int from, int count) {
        for (int i = from; i < from + count; i += kRun)
          maskRun(scores[r], i, Int32(bits(Int32((own.base + own.offset(i)) / 8))));
      });
    }
  }

  /// The factor from a score to its power of 2. With a descale of 0 all scores are 0, but masked ones stay
  /// -infinity, for which the factor has to be positive.
  Float32 factor() const {
    const Float32 known(rules_.factor());
    if (rules_.changed() || !descale_)
      return known;
    return Float32(max(*descale_ * known, 0x1p-126f));
  }
  /// Whether the lane writes the logarithm of its queries: the first of the lanes that share them, in the first
  /// block that has them.
  Boolean writesLse() const {
    const Boolean isFirst = gpu::lane_id() < 16;
    return shape_.valueParts() > 1 ? Boolean(isFirst & (place_.valuePart == 0)) : isFirst;
  }

  /// Makes scores -infinity whose bits are 0: of 8 scores from number `from` on.
  static void maskRun(const Tensor &scores, int from, const Int32 &bits) {
    for (int k = 0; k < RunsOfEight::kRun; ++k)
      scores(from + k) = select(Boolean((bits & (1 << k)) == 0),
                                -std::numeric_limits<float>::infinity(), scores(from + k));
  }
  /// The number of a query's results that a lane has.
  int valuesOfQuery() const { return shape_.headV / 16 * shape_.form.sums(); }

  const AttentionProblem &problem_;
  const AttentionConfig &config_;
  const AttentionShape &shape_;
  const BlockPlace &place_;
  const HeadRows &rows_;
  ScoreRules rules_;
  Visibility<Int32> visibility_;
  RunsOfEight runs_;
  std::optional<Numeric> descale_; ///< the factor of the scores
  std::function<HeadRows::TokenScales(const Int32 &)> tokenScales_;
  std::optional<OnlineSoftmax> softmax_;
  std::optional<ValueScaledSoftmax> scaled_; ///< if tokens' values have scales of their own
  std::vector<Int32> queries_;               ///< the lane's query of each repeat
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
