// The choice of experts: ids to the number, weights against the formulas in double precision.
#include "support/structure.h"

#include <flydsl/kernels/topk_gating.h>

#include <set>

using namespace kernel_tests;

namespace {

using fk::TopkGatingProblem;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The bound of a weight is that of a softmax: (|x - max| + log2 n + n / threads + 4) 2^-23 of it;
/// renormalised, twice that.
void expectGating(const TopkGatingProblem &problem, std::int64_t m, std::vector<double> logits,
                  std::optional<fk::RowConfig> given = {}, std::int64_t gap = 0) {
  const fk::RowConfig config = given ? *given : fk::choose(problem, m);
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const std::int64_t experts = problem.experts, k = problem.topk;
  logits = decode(problem.logits, encode(problem.logits, logits));
  const Operand in = Operand::input(problem.logits, m, experts, logits, gap),
                weights = Operand::output(fx::f32, m, k), ids = Operand::output(fx::i32, m, k),
                rows = Operand::output(fx::i32, m, k);
  const fx::Stream stream;
  fk::TopkGatingArgs args{.logits = in.tensor(), .weights = weights.tensor(), .ids = ids.tensor()};
  if (problem.source_rows)
    args.source_rows = rows.tensor();
  fk::TopkGatingPlan(problem, config)(args, stream);
  stream.synchronize();

  std::vector<double> wantIds, wantRows, wantWeights, bound;
  for (std::int64_t t = 0; t < m; ++t) {
    const std::span<const double> row =
        std::span(logits).subspan(std::size_t(t * experts), std::size_t(experts));
    std::vector<int> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      const double left = row[std::size_t(a)], right = row[std::size_t(b)];
      return left > right || (left == right && a < b);
    });
    const double largest = row[std::size_t(order[0])];
    double sum = 0, chosen = 0;
    for (double v : row)
      sum += std::exp(v - largest);
    for (std::int64_t i = 0; i < k; ++i)
      chosen += std::exp(row[std::size_t(order[std::size_t(i)])] - largest);
    for (std::int64_t i = 0; i < k; ++i) {
      const int id = order[std::size_t(i)];
      const double v = row[std::size_t(id)];
      const double weight = std::exp(v - largest) / (problem.renormalise ? chosen : sum);
      const double steps =
          largest - v + std::log2(double(experts)) + double(experts) / config.threads + 4;
      wantIds.push_back(id);
      wantRows.push_back(double(i * m + t));
      wantWeights.push_back(weight);
      bound.push_back((std::isfinite(steps) ? 2 * weight * steps * 0x1p-23 : 0) +
                      underflow(fx::f32));
    }
  }
  const std::vector<double> none(wantIds.size());
  expectWithin(ids.values(), wantIds, none);
  expectWithin(weights.values(), wantWeights, bound);
  if (problem.source_rows)
    expectWithin(rows.values(), wantRows, none);
}
void expectGating(const TopkGatingProblem &problem, std::int64_t m) {
  expectGating(problem, m, uniform(problem.logits, m * problem.experts, 1, 6));
}

} // namespace

TEST_CASE("the choice of experts", "[run]") {
  expectGating({.experts = 8, .topk = 2}, 37);
  expectGating({.logits = fx::bf16, .experts = 64, .topk = 6, .renormalise = true}, 9);
  expectGating({.logits = fx::f16, .experts = 128, .topk = 8, .source_rows = true}, 5);
  expectGating({.experts = 60, .topk = 4}, 3);
  expectGating({.experts = 257, .topk = 9, .renormalise = true, .source_rows = true}, 3);
  expectGating({.logits = fx::bf16, .experts = 384, .topk = 8}, 2);
  expectGating({.experts = 513, .topk = 1}, 2);
  expectGating({.experts = 5, .topk = 5}, 70);
}

TEST_CASE("the choice of experts among equal logits, and with infinities", "[run]") {
  const TopkGatingProblem problem{.logits = fx::f32, .experts = 160, .topk = 6};
  std::vector<double> x(4 * 160); // row 0: all equal, the first six
  for (std::size_t i = 0; i < 160; ++i) {
    x[160 + i] = double(i % 3);             // many equal ones in other threads
    x[320 + i] = i == 100 ? 1 : -kInfinity; // one, then those of weight 0 in their order
    x[480 + i] = i % 2 ? -0.0 : 0.0;        // both zeros are equal
  }
  expectGating(problem, 4, x);
  expectGating({.logits = fx::f32, .experts = 160, .topk = 6, .row_align = 4}, 4, x,
               fk::RowConfig{.threads = 4, .block = 64}, 4);
}

TEST_CASE("a NaN among the logits shows in the weights", "[run]") {
  for (bool renormalise : {false, true})
    for (double sign : {1.0, -1.0}) {
      const TopkGatingProblem problem{.experts = 32, .topk = 2, .renormalise = renormalise};
      std::vector<double> x = uniform(fx::f32, 32, 5);
      x[17] = std::copysign(std::nan(""), sign);
      const Operand in = Operand::input(fx::f32, 1, 32, x),
                    weights = Operand::output(fx::f32, 1, 2), ids = Operand::output(fx::i32, 1, 2);
      fk::run(problem, {.logits = in.tensor(), .weights = weights.tensor(), .ids = ids.tensor()});
      fx::Device::current().synchronize();
      for (double weight : weights.values())
        CHECK(std::isnan(weight));
      const std::vector<double> chosen = ids.values();
      CHECK(chosen[0] != chosen[1]);
      CHECK(std::max(chosen[0], chosen[1]) < 32);
    }
}

namespace {

/// What the routers of models give for one row, in double precision. Each is written as transformers
/// 5.24 has it (models/NAME/modeling_NAME.py), and none of them shares code with the others.
struct Routed {
  std::vector<int> ids;
  std::vector<double> weights;
};
using Row = std::span<const double>;

std::vector<int> topOf(const std::vector<double> &values, int k) {
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return values[std::size_t(a)] > values[std::size_t(b)]; });
  order.resize(std::size_t(k));
  return order;
}
std::vector<double> softmaxOf(Row x) {
  std::vector<double> all;
  double sum = 0;
  for (double v : x)
    sum += std::exp(v);
  for (double v : x)
    all.push_back(std::exp(v) / sum);
  return all;
}
std::vector<double> gather(const std::vector<double> &values, const std::vector<int> &ids) {
  std::vector<double> all;
  for (int id : ids)
    all.push_back(values[std::size_t(id)]);
  return all;
}
std::vector<double> divided(std::vector<double> weights, double by) {
  for (double &weight : weights)
    weight /= by;
  return weights;
}
double total(const std::vector<double> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}
/// mixtral, qwen3_moe, qwen3_next with norm_topk_prob.
Routed mixtral(Row x, int k) {
  const std::vector<double> probabilities = softmaxOf(x);
  const std::vector<int> ids = topOf(probabilities, k);
  const std::vector<double> top = gather(probabilities, ids);
  return {ids, divided(top, total(top))};
}
/// gpt_oss: the softmax of the logits that were chosen.
Routed gptOss(Row x, int k) {
  const std::vector<int> ids = topOf({x.begin(), x.end()}, k);
  return {ids, softmaxOf(gather({x.begin(), x.end()}, ids))};
}
/// llama4: the sigmoid of the logits that were chosen.
Routed llama4(Row x, int k) {
  const std::vector<int> ids = topOf({x.begin(), x.end()}, k);
  std::vector<double> weights;
  for (int id : ids)
    weights.push_back(1 / (1 + std::exp(-x[std::size_t(id)])));
  return {ids, weights};
}
/// deepseek_v2, group_limited_greedy.
Routed deepseekV2(Row x, int k, int groups, int topkGroups, double scale) {
  std::vector<double> scores = softmaxOf(x), best;
  const std::size_t size = scores.size() / std::size_t(groups);
  for (int g = 0; g < groups; ++g)
    best.push_back(*std::max_element(scores.begin() + std::ptrdiff_t(std::size_t(g) * size),
                                     scores.begin() + std::ptrdiff_t(std::size_t(g + 1) * size)));
  const std::vector<int> chosen = topOf(best, topkGroups);
  for (std::size_t e = 0; e < scores.size(); ++e)
    if (std::find(chosen.begin(), chosen.end(), int(e / size)) == chosen.end())
      scores[e] = 0;
  const std::vector<int> ids = topOf(scores, k);
  return {ids, divided(gather(scores, ids), 1 / scale)};
}
/// deepseek_v3, kimi_k2, kimi_linear, glm4_moe.
Routed deepseekV3(Row x, Row bias, int k, int groups, int topkGroups, double scale) {
  std::vector<double> scores, forChoice, best;
  for (std::size_t e = 0; e < x.size(); ++e) {
    scores.push_back(1 / (1 + std::exp(-x[e])));
    forChoice.push_back(scores[e] + bias[e]);
  }
  const std::size_t size = x.size() / std::size_t(groups);
  for (int g = 0; g < groups; ++g) {
    const std::vector<double> own(forChoice.begin() + std::ptrdiff_t(std::size_t(g) * size),
                                  forChoice.begin() + std::ptrdiff_t(std::size_t(g + 1) * size));
    best.push_back(total(gather(own, topOf(own, 2))));
  }
  const std::vector<int> chosen = topOf(best, topkGroups);
  for (std::size_t e = 0; e < forChoice.size(); ++e)
    if (std::find(chosen.begin(), chosen.end(), int(e / size)) == chosen.end())
      forChoice[e] = -kInfinity;
  const std::vector<int> ids = topOf(forChoice, k);
  const std::vector<double> top = gather(scores, ids);
  return {ids, divided(top, (total(top) + 1e-20) / scale)};
}
/// deepseek_v4, its layers with a choice.
Routed deepseekV4(Row x, Row bias, int k, double scale) {
  std::vector<double> scores, forChoice;
  for (std::size_t e = 0; e < x.size(); ++e) {
    scores.push_back(std::sqrt(std::log1p(std::exp(x[e]))));
    forChoice.push_back(scores[e] + bias[e]);
  }
  const std::vector<int> ids = topOf(forChoice, k);
  const std::vector<double> top = gather(scores, ids);
  return {ids, divided(top, (total(top) + 1e-20) / scale)};
}
/// ernie4_5_moe.
Routed ernie(Row x, Row bias, int k) {
  const std::vector<double> probabilities = softmaxOf(x);
  std::vector<double> forChoice(probabilities);
  for (std::size_t e = 0; e < x.size(); ++e)
    forChoice[e] += bias[e];
  const std::vector<int> ids = topOf(forChoice, k);
  const std::vector<double> top = gather(probabilities, ids);
  return {ids, divided(top, total(top))};
}

/// A call of the kernel: ids and weights of all tokens.
struct Gated {
  std::vector<double> ids, weights;
};
Gated gate(const TopkGatingProblem &problem, std::int64_t m, std::span<const double> logits,
           std::span<const double> bias = {}, std::span<const double> given = {},
           std::optional<fk::RowConfig> config = {}) {
  const std::int64_t slots = problem.topk + problem.shared;
  const Operand in = Operand::input(problem.logits, m, problem.experts, logits),
                biases = Operand::input(fx::f32, 1, std::ssize(bias), bias),
                weights = Operand::output(fx::f32, m, slots),
                ids = problem.given ? Operand::input(fx::i32, m, slots, given)
                                    : Operand::output(fx::i32, m, slots);
  fk::TopkGatingArgs args{.logits = in.tensor(), .weights = weights.tensor(), .ids = ids.tensor()};
  if (problem.bias)
    args.bias = biases.vector();
  const fx::Stream stream;
  fk::TopkGatingPlan(problem, config ? *config : fk::choose(problem, m))(args, stream);
  stream.synchronize();
  return {ids.values(), weights.values()};
}

/// Requires what a router gives. A weight may be off by 2^-23 of it for each unit of the logits and
/// some roundings more: a power has the error of its argument.
template <class Router>
void expectRouted(const TopkGatingProblem &problem, std::int64_t m, std::span<const double> logits,
                  std::span<const double> bias, const Router &router) {
  INFO(fx::to_config(problem).str() << " m=" << m);
  const Gated got = gate(problem, m, logits, bias);
  std::vector<double> ids, weights, bound;
  for (std::int64_t t = 0; t < m; ++t) {
    const Row row = logits.subspan(std::size_t(t * problem.experts), std::size_t(problem.experts));
    Routed routed = router(row);
    for (int i = 0; i < problem.shared; ++i) {
      routed.ids.push_back(int(problem.experts) + i);
      routed.weights.push_back(problem.shared_weight);
    }
    for (std::size_t k = 0; k < routed.ids.size(); ++k) {
      ids.push_back(routed.ids[k]);
      weights.push_back(routed.weights[k]);
      bound.push_back(std::fabs(routed.weights[k]) * 64 * 0x1p-23);
    }
  }
  expectWithin(got.ids, ids, std::vector<double>(ids.size()));
  expectWithin(got.weights, weights, bound);
}

} // namespace

TEST_CASE("the routers of models", "[run]") {
  using enum fk::GatingScore;
  const auto logitsOf = [](std::int64_t m, std::int64_t experts, std::uint64_t seed) {
    return uniform(fx::f32, m * experts, seed, 6);
  };
  const auto biasOf = [](std::int64_t experts, std::uint64_t seed) {
    return uniform(fx::f32, experts, seed, 0.3);
  };
  for (const auto &[experts, k] : {std::pair(8, 2), std::pair(128, 8), std::pair(512, 10)})
    expectRouted({.experts = experts, .topk = k, .renormalise = true}, 5, logitsOf(5, experts, 1),
                 {}, [&, k = k](Row x) { return mixtral(x, k); });
  expectRouted({.experts = 128, .topk = 4, .renormalise = true}, 5, logitsOf(5, 128, 2), {},
               [](Row x) { return gptOss(x, 4); });
  for (int k : {1, 3})
    expectRouted({.experts = 16, .topk = k, .score = sigmoid, .shared = 1}, 7, logitsOf(7, 16, 3),
                 {}, [&](Row x) { return llama4(x, k); });
  expectRouted({.experts = 160,
                .topk = 6,
                .groups = 8,
                .topk_groups = 3,
                .group_score = fk::GroupScore::largest,
                .scale = 16,
                .shared = 2},
               5, logitsOf(5, 160, 4), {}, [](Row x) { return deepseekV2(x, 6, 8, 3, 16); });
  const std::vector<double> bias = biasOf(256, 6);
  expectRouted({.experts = 256,
                .topk = 8,
                .renormalise = true,
                .score = sigmoid,
                .bias = true,
                .groups = 8,
                .topk_groups = 4,
                .scale = 2.5f,
                .shared = 1},
               5, logitsOf(5, 256, 5), bias,
               [&](Row x) { return deepseekV3(x, bias, 8, 8, 4, 2.5); });
  const std::vector<double> wide = biasOf(384, 8);
  expectRouted({.experts = 384,
                .topk = 8,
                .renormalise = true,
                .score = sigmoid,
                .bias = true,
                .scale = 2.75f,
                .shared = 1,
                .shared_weight = 0.5f},
               3, logitsOf(3, 384, 7), wide,
               [&](Row x) { return deepseekV3(x, wide, 8, 1, 1, 2.75); });
  expectRouted({.experts = 256,
                .topk = 6,
                .renormalise = true,
                .score = sqrt_softplus,
                .bias = true,
                .scale = 1.5f},
               5, logitsOf(5, 256, 9), bias, [&](Row x) { return deepseekV4(x, bias, 6, 1.5); });
  const std::vector<double> small = biasOf(64, 11);
  expectRouted({.experts = 64, .topk = 6, .renormalise = true, .bias = true}, 5,
               logitsOf(5, 64, 10), small, [&](Row x) { return ernie(x, small, 6); });
}

TEST_CASE("scores far from 0 are those of the formula", "[run]") {
  using enum fk::GatingScore;
  const std::vector<double> x{-100, -60, -20, -8, -1e-3, 0, 1e-3, 8, 20, 60, 100, -kInfinity};
  const std::int64_t experts = std::ssize(x);
  for (const fk::GatingScore score : {sigmoid, sqrt_softplus}) {
    const Gated got = gate({.experts = experts, .topk = int(experts), .score = score}, 1, x);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double v = x[std::size_t(got.ids[k])],
                   exact = score == sigmoid ? 1 / (1 + std::exp(-v))
                                            : std::sqrt(std::log1p(std::exp(v))),
                   wanted = v > 90 && score == sqrt_softplus ? std::sqrt(v) : exact;
      INFO(v << ": " << got.weights[k] << ", expected " << wanted);
      // Powers below 2^-126 are 0.
      CHECK(std::fabs(got.weights[k] - wanted) <=
            wanted * 128 * 0x1p-23 + (score == sigmoid ? 0x1p-126 : 0x1p-63));
    }
  }
  const Gated infinite = gate({.experts = 3, .topk = 2, .score = sigmoid}, 1,
                              std::vector<double>{0, kInfinity, -kInfinity});
  CHECK(infinite.ids == std::vector<double>{1, 0});
  CHECK(infinite.weights == std::vector<double>{1, 0.5});
}

TEST_CASE("equal sums with a bias, and equal groups, are taken in their order", "[run]") {
  const TopkGatingProblem problem{.experts = 32,
                                  .topk = 6,
                                  .score = fk::GatingScore::sigmoid,
                                  .bias = true,
                                  .groups = 8,
                                  .topk_groups = 2};
  std::vector<double> bias(32, 0.25), logits(64);
  for (std::size_t e = 0; e < 4; ++e)
    logits[32 + 20 + e] = 2; // row 1: the experts of group 5 are the best
  for (const fk::RowConfig &config :
       {fk::RowConfig{.threads = 1, .block = 64}, fk::RowConfig{.threads = 8, .block = 64}}) {
    const Gated got = gate(problem, 2, logits, bias, {}, config);
    CHECK(got.ids == std::vector<double>{0, 1, 2, 3, 4, 5, 20, 21, 22, 23, 0, 1});
  }
  // -infinity leaves experts out; where no others are left, they come in their order.
  std::fill(bias.begin(), bias.end(), -kInfinity);
  bias[9] = -1;
  const Gated left = gate(
      {.experts = 32, .topk = 3, .score = fk::GatingScore::sigmoid, .bias = true}, 2, logits, bias);
  CHECK(std::vector<double>(left.ids.begin(), left.ids.begin() + 3) ==
        std::vector<double>{9, 0, 1});
  CHECK(left.weights[0] == 0.5); // the bias is no part of it
}

TEST_CASE("a NaN marks all weights of a token, whatever the score is", "[run]") {
  using enum fk::GatingScore;
  for (const fk::GatingScore score : {softmax, sigmoid, sqrt_softplus})
    for (const bool bias : {false, true})
      for (const int groups : {1, 4})
        for (const double sign : {1.0, -1.0}) {
          const TopkGatingProblem problem{.experts = 32,
                                          .topk = 3,
                                          .score = score,
                                          .bias = bias,
                                          .groups = groups,
                                          .topk_groups = groups / 2 + 1};
          std::vector<double> x = uniform(fx::f32, 64, 5), b = uniform(fx::f32, 32, 6);
          x[17] = std::copysign(std::nan(""), sign);
          const Gated got = gate(problem, 2, x, bias ? b : std::vector<double>());
          INFO(fx::to_config(problem).str());
          std::set<double> ids(got.ids.begin(), got.ids.begin() + 3);
          CHECK(ids.size() == 3);
          CHECK(*ids.begin() >= 0);
          CHECK(*ids.rbegin() < 32);
          for (std::size_t k = 0; k < 3; ++k) {
            CHECK(std::isnan(got.weights[k]));
            CHECK(std::isfinite(got.weights[3 + k])); // of the other token
          }
        }
}

TEST_CASE("the weights of ids that are given", "[run]") {
  using enum fk::GatingScore;
  const std::vector<double> x = uniform(fx::f32, 3 * 40, 12, 5),
                            given{0, 39, 7, 7, 20, 1, -1, 40, 3};
  for (const fk::GatingScore score : {softmax, sigmoid, sqrt_softplus})
    for (const bool renormalise : {false, true}) {
      const TopkGatingProblem problem{.experts = 40,
                                      .topk = 3,
                                      .renormalise = renormalise,
                                      .score = score,
                                      .scale = 1.5f,
                                      .given = true};
      INFO(fx::to_config(problem).str());
      const Gated got = gate(problem, 3, x, {}, given);
      for (std::size_t t = 0; t < 3; ++t) {
        const Row row = Row(x).subspan(t * 40, 40);
        const std::vector<double> shares = softmaxOf(row);
        std::vector<double> scores;
        for (std::size_t k = 0; k < 3; ++k) {
          const double id = given[t * 3 + k];
          const bool isExpert = id >= 0 && id < 40;
          const std::size_t e = isExpert ? std::size_t(id) : 0;
          scores.push_back(!isExpert          ? 0
                           : score == softmax ? shares[e]
                           : score == sigmoid ? 1 / (1 + std::exp(-row[e]))
                                              : std::sqrt(std::log1p(std::exp(row[e]))));
        }
        const double sum = renormalise ? total(scores) : 1;
        for (std::size_t k = 0; k < 3; ++k) {
          const double wanted = scores[k] / sum * 1.5;
          CHECK(std::fabs(got.weights[t * 3 + k] - wanted) <= wanted * 64 * 0x1p-23);
        }
      }
    }
  const Gated none = gate({.experts = 40, .topk = 3, .renormalise = true, .given = true}, 1,
                          std::span(x).first(40), {}, std::vector<double>{-1, -1, 99});
  CHECK(none.weights == std::vector<double>(3));
}

TEST_CASE("topk_gating: another run, a graph, a file", "[run]") {
  expectStructure<TopkGatingProblem>({.experts = 64,
                                      .topk = 4,
                                      .renormalise = true,
                                      .score = fk::GatingScore::sigmoid,
                                      .bias = true,
                                      .groups = 8,
                                      .topk_groups = 3,
                                      .shared = 1},
                                     {.threads = 16, .block = 64}, 5);
  expectStructure<TopkGatingProblem>(
      {.experts = 64, .topk = 4, .score = fk::GatingScore::sqrt_softplus, .given = true},
      {.threads = 16, .block = 64}, 5);
  expectStructure<TopkGatingProblem>(
      {.experts = 64, .topk = 4, .renormalise = true, .source_rows = true},
      {.threads = 16, .block = 64}, 5);
}

TEST_CASE("topk_gating reads the logits once", "[run]") {
  const TopkGatingProblem problem{.logits = fx::f16, .experts = 256, .topk = 8};
  expectTraffic(problem, fk::choose(problem, 64), 64);
}

TEST_CASE("topk_gating has a configuration for every problem that it supports") {
  std::vector<TopkGatingProblem> problems;
  for (std::int64_t experts = 1; experts <= 2048; ++experts)
    problems.push_back({.experts = experts, .topk = int(std::min<std::int64_t>(experts, 8))});
  for (int align : {1, 2, 8})
    problems.push_back({.logits = fx::bf16, .experts = 2048, .topk = 64, .row_align = align});
  expectTotal(problems);
}

TEST_CASE("topk_gating of the most experts spills none") {
  expectNoSpills<TopkGatingProblem>({{.logits = fx::bf16, .experts = 512, .topk = 8},
                                     {.logits = fx::bf16,
                                      .experts = 384,
                                      .topk = 8,
                                      .renormalise = true,
                                      .score = fk::GatingScore::sigmoid,
                                      .bias = true,
                                      .groups = 8,
                                      .topk_groups = 4}});
}

TEST_CASE("topk_gating says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx1100");
  CHECK(fk::supported(TopkGatingProblem{.experts = 4096, .topk = 8}, target).why ==
        "experts is 4096; 1 to 2048 are supported");
  CHECK(fk::supported(TopkGatingProblem{.experts = 4, .topk = 5}, target).why ==
        "topk is 5; 1 to 4 of 4 experts can be chosen");
  CHECK(fk::supported(TopkGatingProblem{.experts = 64, .topk = 5}, {.threads = 64, .block = 64},
                      target)
            .why ==
        "threads=64 resident=true: the logits of a token stay in the registers of a part "
        "of a wave");
  const auto why = [&](const TopkGatingProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({.experts = 64, .topk = 2, .groups = 7}) ==
        "groups is 7; a divisor of 64 experts up to 32 is supported");
  CHECK(why({.experts = 64, .topk = 2, .groups = 64}) ==
        "groups is 64; a divisor of 64 experts up to 32 is supported");
  CHECK(why({.experts = 64, .topk = 2, .groups = 4, .topk_groups = 5}) ==
        "topk_groups is 5; 1 to 4 groups can be chosen");
  CHECK(why({.experts = 64, .topk = 20, .groups = 4}) ==
        "topk is 20; the groups that are chosen have 16 experts");
  CHECK(why({.experts = 64, .topk = 60, .shared = 5}) ==
        "shared is 5; a token has 0 to 4 shared experts besides 60 others");
  CHECK(why({.experts = 64, .topk = 2, .shared = 2147483647}) == // two more are below 0 in 32 bits
        "shared is 2147483647; a token has 0 to 62 shared experts besides 2 others");
  CHECK(why({.experts = 64, .topk = 2, .scale = HUGE_VALF}) ==
        "scale is inf; a finite number is expected");
  CHECK(why({.experts = 64, .topk = 2, .bias = true, .given = true}) ==
        "bias with ids that are given: it is for the choice of ids");
  CHECK(why({.experts = 64, .topk = 2, .groups = 2, .given = true}) ==
        "groups with ids that are given: it is for the choice of ids");
  CHECK(why({.experts = 64, .topk = 2, .shared = 2, .given = true}) ==
        "shared with ids that are given: it is for the choice of ids");
  CHECK(why({.experts = 64, .topk = 2, .source_rows = true, .given = true}) ==
        "source_rows with ids that are given: it is for the choice of ids");
  CHECK(why({.experts = 64, .topk = 2, .score = fk::GatingScore(9)}) ==
        "score is 9, which is none of the values that it has");
  const TopkGatingProblem problem{.experts = 64, .topk = 2};
  const fk::TopkGatingPlan plan(problem, fk::choose(problem, 2));
  const Operand logits = Operand::input(fx::f32, 2, 64, std::vector<double>(128)),
                weights = Operand::output(fx::f32, 2, 2, 1), ids = Operand::output(fx::i32, 2, 2);
  CHECK(
      messageOf([&] {
        plan({.logits = logits.tensor(), .weights = weights.tensor(), .ids = ids.tensor()});
      })
          .find(
              "weights has the shape (2, 2) and the strides (3, 1); the stride of m is 2, as in a "
              "contiguous tensor") != std::string::npos);
}
