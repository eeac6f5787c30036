// The choice of experts in a kernel, a row of logits after another. What an expert is chosen by and its
// number are one number of 64 bits, whose order is that of the values and, of equal values, of falling
// experts: the largest is found by a maximum, and then taken out, as often as experts are chosen.
#pragma once

#include "blocks/common/exponential.h"
#include "blocks/common/value_order.h"
#include "blocks/rows/row.h"
#include "topk_gating/topk_gating_family.h"

#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace gating {

using Numbers = std::vector<Numeric>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr std::int64_t kNone = INT64_MIN;
/// What is added to the sum of weights by which they are divided, but of a softmax, whose sum is never
/// 0: DeepSeek's.
inline constexpr float kLeastSum = 1e-20f;

/// The number of a value and its expert.
inline Numeric candidate(const Numeric &value, const Numeric &expert) {
  return candidateOf(orderOf(value), expert);
}
inline Numeric valueOfCandidate(const Numeric &candidate) {
  return valueOf(orderOfCandidate(candidate));
}

inline Numeric largestOf(const Numbers &numbers) {
  return combine(numbers, [](const Numeric &a, const Numeric &b) { return max(a, b); });
}
inline Numeric sumOf(const Numbers &numbers) {
  return combine(numbers, [](const Numeric &a, const Numeric &b) { return Numeric(a + b); });
}
inline Numbers without(const Numbers &numbers, const Numeric &one) {
  Numbers rest;
  for (const Numeric &number : numbers)
    rest.push_back(select(number == one, Int64(kNone), number));
  return rest;
}

/// The largest logit of a row, and the sum of the powers of their distances from it.
struct Softmax {
  Numeric largest, sum;
};

/// The score of a logit; of a softmax, e to the power of its distance from the largest one, which is
/// still to be divided by the sum of all.
inline Numeric scoreOf(GatingScore score, const Numeric &logit,
                       const std::optional<Softmax> &softmax) {
  switch (score) {
  case GatingScore::softmax:
    return exponential(logit - softmax->largest);
  case GatingScore::sigmoid:
    return sigmoid(logit);
  case GatingScore::sqrt_softplus:
    return math::sqrt(softplus(logit));
  }
  throw Error("a score of no kind");
}

/// The weights of scores that were chosen: divided by their sum if the problem says so. `whole` is
/// what the scores of a softmax are still to be divided by otherwise.
inline Numbers weightsOf(const TopkGatingProblem &problem, const Numbers &scores,
                         const std::optional<Numeric> &whole) {
  const auto factor = [&]() -> std::optional<Numeric> {
    if (problem.renormalise) {
      const Numeric sum = sumOf(scores);
      if (problem.score != GatingScore::softmax)
        return problem.scale / (sum + kLeastSum);
      // A NaN that was not chosen comes in by the sum of all.
      return problem.scale / (whole ? Numeric(sum + *whole * 0.0f) : sum);
    }
    if (whole)
      return problem.scale / *whole;
    if (problem.scale != 1)
      return Float32(problem.scale);
    return std::nullopt;
  }();
  if (!factor)
    return scores;
  Numbers weights;
  for (const Numeric &score : scores)
    weights.push_back(score * *factor);
  return weights;
}

/// One row of logits, in a thread of it.
class Row {
public:
  /// Of a block whose first row is `first`.
  Row(const TopkGatingParams<OnDevice> &p, const TopkGatingProblem &problem,
      const RowConfig &config, const Int32 &first)
      : problem_(problem), p_(p), shape_(rowShape(problem_)),
        logits_(rowsOf(p.logits, problem_.logits, p.m, shape_)), // (m, experts)
        thread_(shape_, config, p.m, first), reduce_(config) {}

  /// Chooses experts, or weighs those that are given, and writes what comes out.
  void run() {
    if (problem_.given)
      weigh();
    else
      choose();
  }

private:
  /// Chooses experts.
  void choose() {
    const RowValues row = to(thread_.load(logits_, -kInfinity), f32);
    const std::optional<Softmax> softmax = softmaxOf(row);
    const Values values = valuesOf(row, softmax);
    Numbers left = problem_.groups > 1 ? ofBestGroups(values) : values.candidates;
    Numbers experts, chosen, scores;
    for (int k = 0; k < problem_.topk; ++k) {
      const Numeric best = reduce_.max(largestOf(left));
      experts.push_back(placeOfCandidate(best));
      chosen.push_back(valueOfCandidate(best));
      scores.push_back(problem_.bias ? scoreOfExpert(values, best)
                                     : scoreOf(problem_.score, valueOfCandidate(best), softmax));
      left = without(left, best);
    }
    // With a bias, scores of a softmax are divided by their sum already.
    Numbers weights =
        weightsOf(problem_, scores,
                  softmax && !problem_.bias ? std::optional<Numeric>(softmax->sum) : std::nullopt);
    if (marksNaN()) {
      Numbers marked;
      for (const Numeric &weight : weights)
        marked.push_back(select(math::isnan(chosen.front()), kNaN, weight));
      weights = std::move(marked);
    }
    for (int i = 0; i < problem_.shared; ++i) {
      experts.push_back(Int32(static_cast<std::int32_t>(problem_.experts) + i));
      weights.push_back(Float32(problem_.shared_weight));
    }
    store(&experts, weights);
  }

  /// Computes the weights of experts that are given.
  void weigh() {
    const Tensor ids = ofRow(p_.ids, i32); // (topk)
    std::vector<Boolean> known;
    Numbers logits;
    for (int k = 0; k < problem_.topk; ++k) {
      const Int32 id(ids(k));
      known.push_back(Boolean((id >= 0) & (id < static_cast<std::int32_t>(problem_.experts))));
      logits.push_back(if_(
          known.back(), [&] { return Numeric(logits_(thread_.row(), id)).to(f32); },
          [] { return Numeric(Float32(-std::numeric_limits<float>::infinity())); }));
    }
    const std::optional<Softmax> softmax = [&]() -> std::optional<Softmax> {
      if (problem_.score != GatingScore::softmax)
        return std::nullopt;
      if (problem_.renormalise) // over the given ones alone
        return Softmax{largestOf(logits), Float32(1.0f)};
      return softmaxOf(to(thread_.load(logits_, -kInfinity), f32));
    }();
    Numbers scores;
    for (const Numeric &logit : logits)
      scores.push_back(scoreOf(problem_.score, logit, softmax));
    const bool isWhole = softmax && !problem_.renormalise;
    const Numbers weights =
        weightsOf(problem_, scores, isWhole ? std::optional<Numeric>(softmax->sum) : std::nullopt);
    Numbers kept;
    for (std::size_t k = 0; k < weights.size(); ++k)
      kept.push_back(select(known[k], weights[k], Float32(0.0f)));
    store(nullptr, kept);
  }

  /// Of each element of the thread: its expert, its candidate and, with a bias, its score.
  struct Values {
    std::vector<Int32> experts;
    Numbers candidates, scores;
  };

  /// Whether a NaN is chosen first, and then marks the weights: else the sum of a softmax does.
  bool marksNaN() const { return problem_.bias || problem_.score != GatingScore::softmax; }

  /// Nothing for other scores.
  std::optional<Softmax> softmaxOf(const RowValues &row) {
    if (problem_.score != GatingScore::softmax)
      return std::nullopt;
    const Numeric largest = reduce_.max(combine(row, Reduction::max));
    return Softmax{
        largest,
        reduce_.add(combine(mapRow(row, [&](const Vector &v) { return exponential(v - largest); }),
                            Reduction::add))};
  }

  Values valuesOf(const RowValues &row, const std::optional<Softmax> &softmax) {
    const std::optional<Numeric> inverse =
        softmax && problem_.bias ? std::optional<Numeric>(1.0f / softmax->sum) : std::nullopt;
    Values all;
    thread_.visit([&](const RowThread::Cursor &at) {
      const Vector &values = row[at.slot()];
      const std::optional<Boolean> &valid = at.valid();
      const std::optional<Vector> bias =
          problem_.bias ? std::optional<Vector>(at.load(biases(), 0)) : std::nullopt;
      for (std::int64_t i = 0; i < values.size(); ++i) {
        const Numeric logit = values.at(i);
        all.experts.push_back(Int32(at.column() + i));
        if (bias) {
          const Numeric score = scoreOf(problem_.score, logit, softmax);
          all.scores.push_back(inverse ? Numeric(score * *inverse) : score);
        }
        const Numeric value = bias ? Numeric(all.scores.back() + bias->at(i)) : logit;
        const Numeric number = candidate(marksNaN() ? nanFirst(value) : value, all.experts.back());
        all.candidates.push_back(valid ? select(*valid, number, Int64(kNone)) : number);
      }
    });
    return all;
  }

  /// The candidates of the groups that are chosen; kNone for others.
  Numbers ofBestGroups(const Values &values) {
    const int size = static_cast<int>(problem_.experts / problem_.groups);
    std::vector<Int32> groups;
    for (const Int32 &expert : values.experts)
      groups.push_back(Int32(expert / size));
    Numbers left;
    for (int group = 0; group < problem_.groups; ++group) {
      Numbers own;
      for (std::size_t i = 0; i < groups.size(); ++i)
        own.push_back(select(groups[i] == group, values.candidates[i], Int64(kNone)));
      const Numeric best = reduce_.max(largestOf(own));
      const bool isSum = problem_.group_score == GroupScore::two_largest && size > 1;
      const Numeric value =
          isSum ? Numeric(valueOfCandidate(best) +
                          valueOfCandidate(reduce_.max(largestOf(without(own, best)))))
                : valueOfCandidate(best);
      left.push_back(candidate(marksNaN() ? nanFirst(value) : value, Int32{group}));
    }
    const Var<Int32> chosen(Int32(0)); // a bit for each group
    for (int i = 0; i < problem_.topk_groups; ++i) {
      const Numeric best = largestOf(left);
      chosen |= Int32(Int32(1) << placeOfCandidate(best));
      left = without(left, best);
    }
    Numbers kept;
    for (std::size_t i = 0; i < groups.size(); ++i)
      kept.push_back(select(((chosen >> groups[i]) & 1) == 1, values.candidates[i], Int64(kNone)));
    return kept;
  }

  /// The score of the expert of a candidate, which one thread has.
  Numeric scoreOfExpert(const Values &values, const Numeric &candidate) {
    Numbers own;
    for (std::size_t i = 0; i < values.scores.size(); ++i)
      own.push_back(select(values.candidates[i] == candidate, values.scores[i], Float32(0.0f)));
    return reduce_.add(sumOf(own));
  }

  Tensor biases() const { return rowOf(p_.bias, f32, shape_); } // (experts)
  /// A token's slots.
  Tensor ofRow(const Strided<OnDevice, 0> &matrix, DType dtype) const {
    return matrix.view(dtype, {p_.m, slotsOf(problem_)})(thread_.row(), _); // (topk + shared)
  }
  void store(const Numbers *experts, const Numbers &weights) const {
    thread_.once([&] {
      const Tensor to = ofRow(p_.weights, f32);
      for (int k = 0; k < static_cast<int>(weights.size()); ++k) {
        const std::size_t i = static_cast<std::size_t>(k);
        to(k) = weights[i];
        if (experts)
          ofRow(p_.ids, i32)(k) = (*experts)[i];
        if (problem_.source_rows)
          ofRow(p_.sourceRows, i32)(k) = p_.m * k + thread_.row();
      }
    });
  }

  TopkGatingProblem problem_;
  const TopkGatingParams<OnDevice> &p_;
  RowShape shape_;
  Tensor logits_; // (m, experts)
  RowThread thread_;
  RowReduce reduce_;
};

} // namespace gating
} // namespace kernels::impl
FLYDSL_NAMESPACE_END
