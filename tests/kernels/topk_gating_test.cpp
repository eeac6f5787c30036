// The choice of experts: ids to the number, weights against the softmax in double precision.
#include "support/structure.h"

#include <flydsl/kernels/topk_gating.h>

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

TEST_CASE("topk_gating: another run, a graph, a file", "[run]") {
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
  expectNoSpills<TopkGatingProblem>({{.logits = fx::bf16, .experts = 512, .topk = 8}});
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
