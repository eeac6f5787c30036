// The queries of a wave: which keys they look at, what becomes of their scores, and where their results
// go. The loops over keys, which differ in how keys and values reach the products, share it.
#pragma once

#include "attention/attention_rows.h"
#include "blocks/attention/attention_products.h"
#include "blocks/attention/weighed_softmax.h"
#include "blocks/common/groups.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The tiles of keys that a block goes over.
struct TilesOfBlock {
  TileSpan<Int32> seen; ///< by its queries
  Int32 begin, end;     ///< its own of these
};

/// How a lane's results of a query lie among the elements of the head: `length` values are
/// neighbours, those from value i on, a multiple of that, are run `run(i)` of the head's runs.
struct ResultRuns {
  int length;
  std::function<Int32(int i)> run;
};

/// Some of a lane's results of a query: `count` from number `from` on.
using ResultsOf = std::function<Vector(int repeat, int from, int count)>;

/// The keys that a query sees before and after its own place, if there is a window; -1: all.
struct WindowOfKeys {
  Int32 left, right;
};

/// A wave's queries, 16 for each repeat of its instructions. A loop over tiles of keys asks `piece` for
/// their elements, hands the products of a tile to `weights`, which makes probabilities of them, and calls
/// `store` with the sums of values in the end:
///
///   products of a tile   times the scales of keys, with soft cap, bias and slopes: scores.h
///   scores               -infinity where a query does not see a key
///   probabilities        by the softmax so far, which tells the loop how to rescale its sums
class WaveQueries {
public:
  /// `staged`: whether they have a stage.
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
      weighed_.emplace(shape.repeats(), factor(), rounded, overLanes(16));
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

  /// The tiles of keys, or with `parts` the block's part of them.
  TilesOfBlock tiles(bool parts) const {
    const Int32 last = min(place_.first + config_.tile_q, place_.queries) - 1;
    const TileSpan<Int32> seen = visibility_.tiles(place_.first, last, config_.tile_k);
    if (!parts)
      return {seen, seen.first, seen.end};
    const Int32 each = ceildiv(seen.end - seen.first, config_.splits),
                begin = min(seen.first + place_.part * each, seen.end);
    return {seen, begin, min(begin + each, seen.end)};
  }

  /// Piece `i` of lane `lane` of those that share the query of a repeat: they take its pieces in
  /// turn. Past the last query it is loaded again, and after its elements come zeros.
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

  /// The probabilities of a tile, of its products, for each repeat. The scores of a lane lie in runs
  /// of 8 keys. `rescale` is that of OnlineSoftmax.
  std::vector<Vector> weights(const std::vector<Tensor> &scores, const Int32 &tile,
                              const TileSpan<Int32> &seen,
                              const std::function<void(int, const Numeric &)> &rescale) {
    const ScoreKeys keys{tile * config_.tile_k + runs_.first(),
                         [this](int i) { return runs_.offset(i); }};
    const int all = size(scores[0]).value();
    const bool again = !shape_.keep.addresses;
    // Calls `body` with some scores at a time, which the scheduler does not mix with others.
    const auto some = [&](int count, const auto &body) {
      for (int i = 0; i < all; i += count) {
        const ScoreKeys of{again ? Int32(rematerialised(keys.base)) : keys.base, keys.offset};
        body(of, i, std::min(count, all - i));
        if (count < all)
          gpu::schedule_fence();
      }
    };
    // Those of the lane's keys, which are the same in each repeat.
    std::optional<Tensor> ofValues; // (all)
    if (tokenScales_)
      ofValues.emplace(make_rmem_tensor(IntTuple(all), f32)); // (all)
    for (int i = 0; i < all && tokenScales_; ++i) {
      const HeadRows::TokenScales scales = tokenScales_(keys.base + keys.offset(i));
      for (const Tensor &each : scores)
        each(i) = each(i) * scales.key;
      (*ofValues)(i) = scales.value;
    }
    for (std::size_t r = 0; r < scores.size() && rules_.changed(); ++r) {
      const Int32 query = min(queries_[r], place_.queries - 1);
      const ScoreTerms terms{.bias = problem_.bias ? rows_.bias(query) : nullptr,
                             .slope = problem_.alibi ? std::optional(rows_.slope()) : std::nullopt,
                             .descale = descale_,
                             .at = query + (place_.keys - place_.queries),
                             .stage = rules_.staged ? rows_.stage(query) : nullptr};
      some(again ? 8 : all, [&](const ScoreKeys &of, int from, int count) {
        finishScores(rules_, scores[r], of, terms, from, count);
      });
    }
    if_(needsMask(seen, tile), [&] {
      // The scheduler puts all comparisons first. Each takes two scalar registers for 64 lanes, and
      // one for 32.
      const int together = gpu::num_warp_threads() == 64 ? 8 : 16;
      some(again ? 4 : together, [&](const ScoreKeys &of, int from, int count) {
        for (std::size_t r = 0; r < scores.size(); ++r)
          maskScores(scores[r], of, visibility_.ofQuery(queries_[r]), from, count);
      });
    });
    for (std::size_t r = 0; r < scores.size() && problem_.mask; ++r) {
      const auto bits = rows_.mask(min(queries_[r], place_.queries - 1));
      some(again ? RunsOfEight::kRun : all, [&](const ScoreKeys &of, int from, int count) {
        for (int i = from; i < from + count; i += RunsOfEight::kRun)
          maskRun(scores[r], i, Int32(bits(Int32((of.base + of.offset(i)) / 8))));
      });
    }
    return weighed_ ? weighed_->add(scores, ofValues->load(), rescale)
                    : softmax_->add(scores, rescale);
  }

  /// Writes the results, or with `parts` those of a part of the keys into the workspace.
  /// `sums(repeat)` are the sums of the probabilities where the loop keeps them.
  void store(const ResultsOf &results, const ResultRuns &runs, bool parts,
             const std::function<Numeric(int repeat)> &sums = nullptr) const {
    const std::unique_ptr<HeadRows> again = shape_.keep.arguments ? nullptr : rows_.again();
    const HeadRows &rows = again ? *again : rows_;
    const std::optional<Numeric> descale = rows.valueDescale();
    for (std::size_t r = 0; r < queries_.size(); ++r) {
      const int repeat = static_cast<int>(r);
      const std::optional<Numeric> sink = parts ? std::nullopt : rows.sink();
      const SoftmaxEnd end = weighed_ ? weighed_->finish(repeat, sink)
                             : sums   ? softmax_->finishWith(repeat, sums(repeat), sink)
                                      : softmax_->finish(repeat, sink);
      const Numeric factor = descale ? Numeric(end.inverse * *descale) : end.inverse;
      if_(queries_[r] < place_.queries, [&] {
        const RowResult row =
            parts ? rows.resultOfPart(queries_[r], place_.part) : rows.result(queries_[r]);
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
  /// From a score to its power of 2. With a descale of 0 all scores are 0, but masked ones stay
  /// -infinity, for which the factor has to be positive.
  Float32 factor() const {
    const Float32 known(rules_.factor());
    if (rules_.changed() || !descale_)
      return known;
    return Float32(max(*descale_ * known, 0x1p-126f));
  }
  /// Whether the lane is the first of those that share its queries, in the first block that has them.
  Boolean writesLse() const {
    const Boolean isFirst = gpu::lane_id() < 16;
    return shape_.valueParts() > 1 ? Boolean(isFirst & (place_.valuePart == 0)) : isFirst;
  }

  /// Makes those of 8 scores from number `from` on -infinity whose bits are 0.
  static void maskRun(const Tensor &scores, int from, const Int32 &bits) {
    for (int k = 0; k < RunsOfEight::kRun; ++k)
      scores(from + k) = select(Boolean((bits & (1 << k)) == 0),
                                -std::numeric_limits<float>::infinity(), scores(from + k));
  }
  /// Values of a query's result that a lane has.
  int valuesOfQuery() const { return shape_.headV / 16 * shape_.form.sums(); }

  const AttentionProblem &problem_;
  const AttentionConfig &config_;
  const AttentionShape &shape_;
  const BlockPlace &place_;
  const HeadRows &rows_;
  ScoreRules rules_;
  Visibility<Int32> visibility_;
  RunsOfEight runs_;
  std::optional<Numeric> descale_; ///< of the scores
  std::function<HeadRows::TokenScales(const Int32 &)> tokenScales_;
  std::optional<OnlineSoftmax> softmax_;
  std::optional<WeighedSoftmax> weighed_; ///< of values with scales of their own
  std::vector<Int32> queries_;            // of the lane, for each repeat
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
