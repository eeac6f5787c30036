// Logits of many query heads and one key head against their definition in double precision.
#include "support/structure.h"

#include <flydsl/kernels/mqa_logits.h>

using namespace kernel_tests;

namespace {

using fk::MqaLogitsConfig, fk::MqaLogitsProblem;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The types that the emulated target multiplies.
std::vector<fx::DType> types() {
  const fx::Target target = fx::Device::current().target();
  std::vector<fx::DType> all{fx::bf16, fx::f16};
  if (target.has(fx::feature::fnuz_fp8))
    all.insert(all.end(), {fx::f8E4M3FNUZ, fx::f8E5M2FNUZ});
  if (target.has(fx::feature::ocp_fp8))
    all.insert(all.end(), {fx::f8E4M3FN, fx::f8E5M2});
  return all;
}

/// The inputs of a call with m tokens and n keys.
struct Inputs {
  std::int64_t m, n;
  std::vector<double> q = {}, k = {}, scales = {}, weights = {}, first = {}, last = {}, bias = {};
};

Inputs random(const MqaLogitsProblem &problem, std::int64_t m, std::int64_t n) {
  Inputs inputs{.m = m, .n = n};
  inputs.q = uniform(problem.x, m * problem.heads * problem.head, 1);
  inputs.k = uniform(problem.x, n * problem.head, 2);
  inputs.scales = uniform(fx::f32, n, 3);
  inputs.weights = uniform(fx::f32, m * problem.heads, 4);
  // Windows as of several causal sequences side by side; one is empty and one has all keys.
  for (std::int64_t i = 0; i < m; ++i) {
    inputs.first.push_back(double(i * 7 % (n + 1)));
    inputs.last.push_back(double(std::min(n, std::int64_t(inputs.first.back()) + i * 13)));
  }
  inputs.last[0] = inputs.first[0];
  if (m > 1) {
    inputs.first[1] = 0;
    inputs.last[1] = double(n);
  }
  if (problem.bias) {
    // A causal mask, as far as the last tokens, among numbers; one token sees nothing.
    inputs.bias = uniform(problem.bias_type, m * n, 5);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        if (i == 2 || j > n - m + i)
          inputs.bias[std::size_t(i * n + j)] = -kInfinity;
  }
  return inputs;
}

/// A product of `head` terms is added up with a rounding a term, those of a logit's heads too, and
/// the weight and the scale round once each: (head + heads + 4) 2^-24 of the magnitudes. Half of
/// the instructions round twice as much.
void expectLogits(const MqaLogitsProblem &problem, const Inputs &inputs,
                  std::optional<MqaLogitsConfig> given = {}, bool exact = false) {
  const std::int64_t m = inputs.m, n = inputs.n, heads = problem.heads, head = problem.head;
  const MqaLogitsConfig config = given ? *given : fk::choose(problem, m);
  INFO(fx::to_config(problem).str()
       << " m=" << m << " n=" << n << " " << fx::to_config(config).str());
  const Operand q = Operand::input(problem.x, m * heads, head, inputs.q, 16),
                k = Operand::input(problem.x, n, head, inputs.k, 16),
                scales = Operand::input(fx::f32, 1, n, inputs.scales),
                weights = Operand::input(fx::f32, m, heads, inputs.weights, 3),
                first = Operand::input(fx::i32, 1, m, inputs.first),
                last = Operand::input(fx::i32, 1, m, inputs.last),
                bias = Operand::input(problem.bias_type, m, problem.bias ? n : 0, inputs.bias, 7),
                logits = Operand::output(fx::f32, m, n, 5);
  const std::int64_t row = q.tensor().strides()[0];
  fk::MqaLogitsArgs args{
      .q = fx::tensor(q.tensor().data(), problem.x, {m, heads, head}, {heads * row, row, 1}),
      .k = k.tensor(),
      .weights = weights.tensor(),
      .logits = logits.tensor()};
  if (problem.windows) {
    args.first = first.vector();
    args.last = last.vector();
  }
  if (problem.bias)
    args.bias = bias.tensor();
  if (problem.k_scale)
    args.k_scale = scales.vector();
  const fx::Stream stream;
  fk::MqaLogitsPlan(problem, config)(args, stream);
  stream.synchronize();

  std::vector<double> expected, bound;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const double added = problem.bias ? inputs.bias[std::size_t(i * n + j)] : 0;
      if (added == -kInfinity || (problem.windows && (double(j) < inputs.first[std::size_t(i)] ||
                                                      double(j) >= inputs.last[std::size_t(i)]))) {
        expected.push_back(-kInfinity);
        bound.push_back(0);
        continue;
      }
      double sum = 0, magnitude = 0;
      for (std::int64_t h = 0; h < heads; ++h) {
        double score = 0, size = 0;
        for (std::int64_t d = 0; d < head; ++d) {
          const double term = inputs.q[std::size_t((i * heads + h) * head + d)] *
                              inputs.k[std::size_t(j * head + d)];
          score += term;
          size += std::fabs(term);
        }
        const double weight = inputs.weights[std::size_t(i * heads + h)];
        sum += weight * (score < 0 ? 0 : score);
        magnitude += std::fabs(weight) * size;
      }
      const double scale = problem.k_scale ? inputs.scales[std::size_t(j)] : 1;
      expected.push_back(sum * scale + added);
      bound.push_back(exact ? 0
                            : double(head + heads + 4) * 0x1p-23 * magnitude * std::fabs(scale) +
                                  0x1p-24 * std::fabs(added) + underflow(fx::f32));
    }
  expectWithin(logits.values(), expected, bound);
}

} // namespace

TEST_CASE("logits of an indexer, in all types that the target multiplies", "[run]") {
  for (fx::DType type : types()) {
    const MqaLogitsProblem problem{.x = type, .heads = 32, .head = 64};
    expectLogits(problem, random(problem, 5, 83));
  }
}

TEST_CASE("logits of all sizes and shares of the work", "[run]") {
  MqaLogitsProblem problem{.x = types().back(), .heads = 64, .head = 128};
  expectLogits(problem, random(problem, 3, 300));
  problem.k_scale = false;
  expectLogits(problem, random(problem, 1, 1));
  const int wave = fx::Device::current().target().wave_size();
  problem = {.x = fx::bf16, .heads = 16, .head = 64};
  for (int tiles : {1, 2, 4})
    expectLogits(problem, random(problem, 9, 65 + tiles),
                 MqaLogitsConfig{.keys = 2 * 16 * tiles, .block = 2 * wave, .rows = 4});
  problem.head = 192;
  expectLogits(problem, random(problem, 2, 40));
}

TEST_CASE("logits with a bias, with and without windows", "[run]") {
  const int wave = fx::Device::current().target().wave_size();
  for (fx::DType type : {fx::f32, fx::f16, fx::bf16})
    for (bool windows : {true, false}) {
      const MqaLogitsProblem problem{.x = fx::f16,
                                     .heads = 32,
                                     .head = 64,
                                     .k_scale = windows,
                                     .windows = windows,
                                     .bias = true,
                                     .bias_type = type};
      expectLogits(problem, random(problem, 5, 83));
    }
  MqaLogitsProblem problem{.x = fx::bf16, .heads = 16, .head = 64, .windows = false, .bias = true};
  for (int tiles : {1, 2, 4})
    expectLogits(problem, random(problem, 9, 65 + tiles),
                 MqaLogitsConfig{.keys = 2 * 16 * tiles, .block = 2 * wave, .rows = 4});
  problem.bias = false;
  expectLogits(problem, random(problem, 3, 70));
}

TEST_CASE("a NaN of a bias shows, and one of q does not where the bias is -infinity", "[run]") {
  const MqaLogitsProblem problem{
      .x = fx::bf16, .heads = 16, .head = 64, .windows = false, .bias = true};
  Inputs inputs = random(problem, 3, 20);
  inputs.bias[20 + 4] = std::nan("");
  for (std::size_t head = 0; head < 16; ++head)
    inputs.q[(2 * 16 + head) * 64 + 1] = std::nan("");
  expectLogits(problem, inputs);
}

TEST_CASE("logits of integers are exact", "[run]") {
  const MqaLogitsProblem problem{.x = types().back(), .heads = 32, .head = 128};
  Inputs inputs = random(problem, 3, 70);
  inputs.q = integers(std::ssize(inputs.q), 5, -2, 2);
  inputs.k = integers(std::ssize(inputs.k), 6, -2, 2);
  inputs.weights = integers(std::ssize(inputs.weights), 7, -3, 3);
  inputs.scales = integers(std::ssize(inputs.scales), 8, 0, 4);
  expectLogits(problem, inputs, {}, true);
}

TEST_CASE("a NaN of q shows in its token's logits alone", "[run]") {
  const MqaLogitsProblem problem{.x = fx::bf16, .heads = 16, .head = 64, .k_scale = false};
  Inputs inputs = random(problem, 3, 20);
  for (std::size_t i = 0; i < 3; ++i) {
    inputs.first[i] = 0;
    inputs.last[i] = 20;
  }
  inputs.q[16 * 64 + 5] = std::nan("");
  expectLogits(problem, inputs);
}

TEST_CASE("mqa_logits: another run, a graph, a file", "[run]") {
  const int wave = fx::Device::current().target().wave_size();
  for (bool masked : {false, true})
    expectStructure<MqaLogitsProblem>(
        {.x = fx::bf16, .heads = 16, .head = 64, .windows = !masked, .bias = masked},
        {.keys = 64, .block = 2 * wave, .rows = 8}, 40);
}

TEST_CASE("mqa_logits reads each key once for a block of tokens", "[run]") {
  const MqaLogitsProblem problem{.x = types().back(), .heads = 16, .head = 64};
  const auto counters = countersOf(problem, fk::choose(problem, 64), 64).at(0);
  INFO(counters.str());
  const std::uint64_t operands = 64 * (17 * 64 * std::uint64_t(problem.x.bytes()) + 16 * 4 + 12);
  CHECK(counters["globalBytesWritten"] == 64 * 64 * 4);
  CHECK(double(counters["globalBytesTouched"]) <= 1.05 * double(operands + 64 * 64 * 4));
  CHECK(counters["SQ_LDS_BANK_CONFLICT"] == 0);
}

TEST_CASE("mqa_logits has a configuration for every problem that it supports") {
  std::vector<MqaLogitsProblem> problems;
  for (int heads : {16, 48, 64, 128})
    for (int head : {64, 128, 192, 256})
      problems.push_back({.x = fx::bf16, .heads = heads, .head = head});
  expectTotal(problems);
}

TEST_CASE("mqa_logits of the largest heads spills none") {
  expectNoSpills<MqaLogitsProblem>(
      {{.x = fx::bf16, .heads = 64, .head = 128},
       {.x = fx::f16, .heads = 128, .head = 128},
       {.x = fx::f16, .heads = 64, .head = 192},
       {.x = fx::f16, .heads = 128, .head = 256},
       {.x = fx::f16, .heads = 128, .head = 256, .windows = false, .bias = true}});
}

TEST_CASE("mqa_logits says what it does not support") {
  const auto why = [&](const MqaLogitsProblem &problem, const char *target) {
    return fk::supported(problem, fx::Target::parse(target)).why;
  };
  CHECK(why({.heads = 24}, "gfx950") == "heads is 24; it is a multiple of 16 from 16 to 128");
  CHECK(why({.head = 32}, "gfx950") == "head is 32; it is a multiple of 64 from 64 to 256");
  CHECK(why({.windows = false, .paged = true}, "gfx950") ==
        "paged is true and windows false; a token of a sequence sees the keys up to its own");
  CHECK(why({.bias = true, .bias_type = fx::i8}, "gfx950") ==
        "bias_type is of type i8; f32, f16 and bf16 are supported");
  CHECK(why({}, "gfx942").find("x is of type f8E4M3FN; gfx942 has products where both are f16") ==
        0);
  CHECK(why({.x = fx::i8}, "gfx942").find("scores are sums in f32") != std::string::npos);
  const fx::Target target = fx::Target::parse("gfx950");
  const auto config = [&](const MqaLogitsConfig &config) {
    return fk::supported(MqaLogitsProblem{.head = 256}, config, target).why;
  };
  CHECK(config({.keys = 96, .block = 128}) == "keys is 96; each of 2 waves has 16, 32 or 64");
  CHECK(config({.keys = 64, .block = 96}) == "block is 96; it is a multiple of 64 up to 1024");
  CHECK(config({.rows = 0}) == "rows is 0; a block has 1 to 1024");

  const MqaLogitsProblem problem{.x = fx::bf16, .heads = 16, .head = 64};
  const fk::MqaLogitsPlan plan(problem, fk::choose(problem, 1));
  const Operands<MqaLogitsProblem> operands(problem, plan.config(), 4);
  fk::MqaLogitsArgs args = operands.args();
  args.k_scale.reset();
  CHECK(messageOf([&] { plan(args); }).find("k_scale is missing; the problem has it") !=
        std::string::npos);
  args = operands.args();
  args.bias = args.weights;
  CHECK_THAT(messageOf([&] { plan(args); }), Catch::Contains("bias is given"));
  args = operands.args();
  args.logits = args.weights;
  CHECK(messageOf([&] {
          plan(args);
        }).find("k has the shape (4, 64); (n, head) = (16, 64) is expected") != std::string::npos);
  const MqaLogitsProblem masked{
      .x = fx::bf16, .heads = 16, .head = 64, .windows = false, .bias = true};
  const fk::MqaLogitsPlan maskedPlan(masked, fk::choose(masked, 1));
  const Operands<MqaLogitsProblem> maskedOperands(masked, maskedPlan.config(), 4);
  args = maskedOperands.args();
  args.bias.reset();
  CHECK_THAT(messageOf([&] { maskedPlan(args); }),
             Catch::Contains("bias is missing; the problem has it"));
  args = maskedOperands.args();
  args.bias = args.weights;
  CHECK_THAT(messageOf([&] { maskedPlan(args); }),
             Catch::Contains("bias has the shape (4, 16); (m, n) = (4, 4) is expected"));
  args = maskedOperands.args();
  args.first = operands.args().first;
  CHECK_THAT(messageOf([&] { maskedPlan(args); }), Catch::Contains("first is given"));

  // Nothing is at the places past the end, and the call does not come to them.
  args = operands.args();
  args.logits = fx::tensor(nullptr, fx::f32, {4, 2147483647});
  CHECK_THAT(messageOf([&] { plan(args); }),
             Catch::Contains("logits has 2147483647 keys; " +
                             std::to_string(2147483647 - plan.config().keys) +
                             " are the most for blocks of " + std::to_string(plan.config().keys)));
}
