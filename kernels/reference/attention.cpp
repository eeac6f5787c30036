// What attention must give.
#include "reference/attention.h"
#include "reference/reference.h"
#include "reference/rounded.h"
#include "reference/rows.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

Outputs expected(const AttentionProblem &problem, const AttentionConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  if (problem.varlen || problem.cache != KvCache::none)
    return {};
  const std::int64_t count = problem.context ? problem.context : m;
  const std::vector<std::int64_t> length{m}, keys{count};
  const auto values = [&](const char *name) -> std::vector<double> {
    const auto found = inputs.find(name);
    return found == inputs.end() ? std::vector<double>() : found->second;
  };
  // An operand of 8 bits stands for its values times its descale.
  const auto scaled = [&](const char *name, const char *descale, int elements) {
    std::vector<double> all = inputs.at(name);
    const std::vector<double> factor = values(descale);
    // One, one of each head, or one of each head of a token.
    for (std::size_t i = 0; i < all.size() && !factor.empty(); ++i)
      all[i] *= factor[i / static_cast<std::size_t>(elements) % factor.size()];
    return all;
  };
  const std::vector<double> q = scaled("q", "q_scale", problem.head),
                            k = scaled("k", "k_scale", problem.head),
                            v = scaled("v", "v_scale",
                                       problem.head_v ? problem.head_v : problem.head);
  const std::vector<double> bias = values("bias"), slopes = values("alibi_slopes"),
                            sink = values("sink");
  AttentionInputs in{length, keys, -1, -1, q, k, v, bias, slopes, sink};
  if (problem.mask) {
    in.maskColumns = count;
    const std::vector<double> bytes = values("mask");
    for (std::int64_t query = 0; query < m; ++query)
      for (std::int64_t key = 0; key < count; ++key) {
        const double byte = bytes[std::size_t(query * ((count + 7) / 8) + key / 8)];
        in.mask.push_back(static_cast<int>(byte) >> key % 8 & 1);
      }
  }
  const Attended result = attended(problem, config, in);
  Outputs outputs{{"o", result.o}};
  if (problem.lse)
    outputs.emplace("lse", result.lse);
  return outputs;
}

Outputs expected(const MergeStatesProblem &problem, const MergeStatesConfig &, std::int64_t m,
                 const Inputs &inputs) {
  const std::int64_t heads = problem.heads, head = problem.head,
                     states = problem.states ? problem.states : 2;
  // Place `number` of an operand (m, states, ...); two states have an operand each.
  const auto at = [&](std::int64_t token, std::int64_t state, std::int64_t of,
                      const std::string &suffix) -> double {
    const std::int64_t width = suffix.empty() ? heads * head : heads;
    const std::string name = (problem.states || state == 0 ? "a" : "b") + suffix;
    const std::int64_t row = problem.states ? token * states + state : token;
    return inputs.at(name)[std::size_t(row * width + of)];
  };
  const double unitOfScores = problem.base2 ? std::log(2.0) : 1;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Expected y, lse;
  for (std::int64_t row = 0; row < m * heads; ++row) {
    const std::int64_t token = row / heads, h = row % heads;
    const double sink = problem.sink ? inputs.at("sink")[std::size_t(h)] * unitOfScores : -kNone;
    std::vector<double> scores;
    double largest = sink;
    for (std::int64_t i = 0; i < states; ++i) {
      const double score = at(token, i, h, "_lse") * unitOfScores;
      scores.push_back(score == kNone ? -kNone : score);
      largest = std::max(largest, scores.back());
    }
    const auto powerOf = [&](double score) {
      return score == -kNone ? 0 : std::exp(score - largest);
    };
    double total = powerOf(sink);
    for (double score : scores)
      total += powerOf(score);
    // A difference is off by a rounding of itself, and each state scales what came before it.
    const auto errorOf = [&](double score) {
      return (3 * double(states) + 16 + 4 * std::fabs(score - largest)) * kRounding;
    };
    double ofSum = 0;
    for (double score : scores)
      if (powerOf(score) > 0)
        ofSum += powerOf(score) / total * errorOf(score);
    if (problem.sink && powerOf(sink) > 0)
      ofSum += powerOf(sink) / total * errorOf(sink);
    for (std::int64_t e = 0; e < head; ++e) {
      double value = 0, error = 0;
      for (std::int64_t i = 0; i < states; ++i) {
        const double weight = powerOf(scores[std::size_t(i)]);
        if (weight == 0)
          continue;
        const double term = weight / total * at(token, i, h * head + e, "");
        value += term;
        error += std::fabs(term) * (errorOf(scores[std::size_t(i)]) + ofSum);
      }
      add(y, problem.y, value, error);
    }
    const double all = largest + std::log(total);
    if (!problem.lse)
      continue;
    lse.values.push_back(total == 0 ? -kNone : all / unitOfScores);
    lse.bound.push_back(total == 0
                            ? 0
                            : (ofSum + 4 * kRounding * (1 + std::fabs(all) + std::fabs(largest))) /
                                  unitOfScores);
  }
  Outputs outputs{{"y", y}};
  if (problem.lse)
    outputs.emplace("lse", lse);
  return outputs;
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
