// What attention must give, in double precision.
#pragma once

#include "host/values.h"
#include "reference/expected.h"

#include <flydsl/kernels/attention.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

/// The operands of a call, as they are rounded.
struct AttentionInputs {
  const std::vector<std::int64_t> &queries, &keys; ///< of each sequence
  std::int64_t left, right;                        ///< of the window
  const std::vector<double> &q, &k, &v;            ///< (token, head, element) of all sequences
  const std::vector<double> &bias;                 ///< (head, token, key) with `columns` keys
  const std::vector<double> &slopes, &sink;        ///< slopes: (head), or (sequence, head)
  /// (token, key) with `maskColumns` keys: 0 hides the key; none: all are seen.
  std::vector<double> mask = {};
  std::int64_t maskColumns = 0;
};

struct Attended {
  Expected o, lse;
};

/// The scores of a query.
class ReferenceScores {
public:
  ReferenceScores(const AttentionProblem &problem, const AttentionInputs &in, std::size_t sequence,
                  std::int64_t firstToken, std::int64_t firstKey, std::int64_t query,
                  std::int64_t head)
      : problem_(problem), in_(in), sequence_(std::int64_t(sequence)), firstKey_(firstKey),
        token_(firstToken + query), head_(head),
        at_(query + in.keys[sequence] - in.queries[sequence]) {
    largest = problem.sink ? in.sink[std::size_t(head)] : -kNone;
    for (std::int64_t key = 0; key < in.keys[sequence]; ++key)
      values.push_back(sees(key) ? score(key) : -kNone);
    for (double value : values)
      largest = std::max(largest, value);
    total = problem.sink ? std::exp(in.sink[std::size_t(head)] - largest) : 0;
    for (double value : values)
      total += value == -kNone ? 0 : std::exp(value - largest);
  }

  static constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<double> values;
  double largest = 0, total = 0;
  double error = 0; ///< of any of them

private:
  bool sees(std::int64_t key) const {
    if (problem_.causal && key > at_)
      return false;
    if (problem_.mask && in_.mask[std::size_t(token_ * in_.maskColumns + key)] == 0)
      return false;
    return !problem_.window ||
           ((in_.left < 0 || key >= at_ - in_.left) && (in_.right < 0 || key <= at_ + in_.right));
  }
  double score(std::int64_t key) {
    const std::int64_t elements = problem_.head, heads = problem_.q_heads, kv = problem_.kv_heads;
    const double
        *q = &in_.q[std::size_t((token_ * heads + head_) * elements)],
        *k = &in_.k[std::size_t(((firstKey_ + key) * kv + head_ / (heads / kv)) * elements)];
    double sum = 0, size = 0;
    for (std::int64_t e = 0; e < elements; ++e) {
      sum += q[e] * k[e];
      size += std::fabs(q[e] * k[e]);
    }
    const double scale = problem_.scale != 0 ? problem_.scale : 1 / std::sqrt(double(elements));
    double value = sum * scale, magnitude = size * scale;
    if (problem_.soft_cap > 0) {
      value = problem_.soft_cap * std::tanh(value / problem_.soft_cap);
      magnitude += 8 * problem_.soft_cap;
    }
    const auto add = [&](double term) {
      value += term;
      magnitude += std::isfinite(term) ? std::fabs(term) : 0;
    };
    if (problem_.bias) {
      const std::int64_t tokens = std::int64_t(in_.q.size()) / (heads * elements),
                         columns = std::int64_t(in_.bias.size()) / (heads * tokens);
      add(in_.bias[std::size_t((head_ * tokens + token_) * columns + key)]);
    }
    if (problem_.alibi)
      add(-in_.slopes[std::size_t((std::ssize(in_.slopes) > heads ? sequence_ * heads : 0) +
                                  head_)] *
          double(std::llabs(at_ - key)));
    error = std::max(error, (double(elements) / 16 + 8) * 0x1p-23 * magnitude + 0x1p-22);
    return value;
  }

  const AttentionProblem &problem_;
  const AttentionInputs &in_;
  std::int64_t sequence_, firstKey_, token_, head_, at_;
};

/// An error d of a score is a relative error of its exponential, twice, because the sum has it too;
/// rounding an exponential to x counts twice likewise. Each tile rounds the sums, and parts of the
/// keys do once more.
inline Attended attended(const AttentionProblem &problem, const AttentionConfig &config,
                         const AttentionInputs &given) {
  const std::int64_t heads = problem.q_heads, kv = problem.kv_heads,
                     size = problem.head_v ? problem.head_v : problem.head,
                     tokens = std::int64_t(given.q.size()) / (heads * problem.head);
  const DType wide = problem.type_of_products();
  // Queries in f32 are rounded before they are multiplied.
  const std::vector<double> rounded =
      problem.q == f32 ? host::decode(wide, host::encode(wide, given.q)) : std::vector<double>();
  const AttentionInputs in{given.queries,
                           given.keys,
                           given.left,
                           given.right,
                           problem.q == f32 ? rounded : given.q,
                           given.k,
                           given.v,
                           given.bias,
                           given.slopes,
                           given.sink,
                           given.mask,
                           given.maskColumns};
  const double u = host::unit(wide), ofResult = host::unit(problem.y),
               least = host::underflow(problem.y);
  // What is lost of exponentials, which are relative to one of at least 1.
  const double rounding = problem.float8_products ? host::unit(f8E4M3FN) : u;
  // With scales of tokens, to the largest product of both, which differ by 2^4 here.
  const double spread = problem.scales == KvScales::token ? 16 : 1;
  const double lost = spread * (problem.float8_products ? 0x1p-15
                                : wide == f16           ? 0x1p-25
                                                        : 0x1p-126);
  Attended result;
  for (Expected *each : {&result.o, &result.lse}) {
    each->values.resize(std::size_t(tokens * heads * (each == &result.o ? size : problem.lse)));
    each->bound.resize(each->values.size());
  }
  std::int64_t firstToken = 0, firstKey = 0;
  for (std::size_t s = 0; s < in.queries.size();
       firstToken += in.queries[s], firstKey += in.keys[s], ++s)
    for (std::int64_t row = 0; row < in.queries[s] * heads; ++row) {
      const std::int64_t head = row % heads, token = firstToken + row / heads;
      const ReferenceScores scores(problem, in, s, firstToken, firstKey, row / heads, head);
      const double relative = 2 * scores.error + 2 * rounding +
                              0x1p-22 * (double(in.keys[s]) / config.tile_k + 8 + config.splits);
      for (std::int64_t e = 0; e < size; ++e) {
        double value = 0, magnitude = 0, all = 0;
        for (std::int64_t j = 0; j < in.keys[s]; ++j) {
          if (scores.values[std::size_t(j)] == -ReferenceScores::kNone)
            continue;
          const double element =
              in.v[std::size_t(((firstKey + j) * kv + head / (heads / kv)) * size + e)];
          const double term =
              std::exp(scores.values[std::size_t(j)] - scores.largest) / scores.total * element;
          value += term;
          magnitude += std::fabs(term);
          all += std::fabs(element);
        }
        const std::size_t to = std::size_t((token * heads + head) * size + e);
        result.o.values[to] = value;
        result.o.bound[to] =
            relative * magnitude + 2 * lost * all + ofResult * std::fabs(value) + least;
      }
      if (!problem.lse)
        continue;
      const std::size_t to = std::size_t(token * heads + head);
      const double lse = scores.largest + std::log(scores.total);
      result.lse.values[to] = scores.total == 0 ? -ReferenceScores::kNone : lse;
      result.lse.bound[to] =
          scores.total == 0 ? 0
                            : relative + lost * double(in.keys[s]) + 0x1p-21 * (1 + std::fabs(lse));
    }
  return result;
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
