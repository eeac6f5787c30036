// Decode's options: what scores have besides products, values of another size, any number of queries.
#include "support/decode_case.h"

using namespace kernel_tests;
using namespace kernel_tests::decoding;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Small heads in one group, two queries.
DecodeProblem small() {
  return {.q_heads = 2, .kv_heads = 1, .head = 32, .queries = 2, .lse = true};
}
/// All that scores can have.
DecodeProblem everything() {
  return {.q_heads = 4,
          .kv_heads = 2,
          .head = 64,
          .head_v = 32,
          .queries = 3,
          .soft_cap = 3,
          .window = true,
          .bias = true,
          .bias_type = fx::f16,
          .alibi = true,
          .sink = true,
          .tree_mask = true,
          .lse = true};
}
DecodeConfig inParts(int splits) { return {.block = 2 * wave(), .splits = splits}; }

} // namespace

TEST_CASE("decoding with a soft cap, a bias, ALiBi, sinks and masks, each by itself", "[run]") {
  for (int which = 0; which < 5; ++which)
    for (int splits : {1, 2}) {
      DecodeProblem problem = small();
      problem.soft_cap = which == 0 ? 0.75 : 0;
      problem.bias = which == 1;
      problem.alibi = which == 2;
      problem.sink = which == 3;
      problem.tree_mask = which == 4;
      expectDecode(problem, random(problem, {2, 40, 70}), inParts(splits));
    }
}

TEST_CASE("decoding with all that scores can have, by parts and by workers", "[run]") {
  const DecodeProblem problem = everything();
  const Inputs inputs = random(problem, {3, 150, 40, 64}, 45);
  for (int splits : {1, 3})
    expectDecode(problem, inputs, inParts(splits));
  for (int workers : {2, 3})
    expectDecode(problem, inputs, DecodeConfig{.block = wave(), .workers = workers, .unit = 32});
  // Slopes, and scales of the cache, of each sequence and head.
  DecodeProblem quantised = problem;
  quantised.kv = fx::f8E4M3FNUZ;
  quantised.scales = KvScales::head;
  Inputs scaled = random(quantised, {3, 150, 40, 64}, 45);
  scaled.slopes = uniform(fx::f32, 4 * 4, 7, 0.25);
  expectDecode(quantised, scaled, inParts(1));
}

TEST_CASE("latent decoding with all that scores can have", "[run]") {
  DecodeProblem problem = everything();
  problem.q_heads = 16;
  problem.kv_heads = 1;
  problem.head = 192;
  problem.head_v = 0;
  problem.latent = 128;
  problem.queries = 2;
  const Inputs inputs = random(problem, {2, 90}, 45);
  expectDecode(problem, inputs, DecodeConfig{.block = 2 * wave(), .rows = 32});
  expectDecode(problem, inputs, DecodeConfig{.block = wave(), .rows = 16, .splits = 3});
}

TEST_CASE("a query that sees no key has the sink alone", "[run]") {
  DecodeProblem problem = small();
  problem.sink = problem.bias = true;
  // The first query of each sequence stands before its first token; a bias hides all from others.
  Inputs inputs = random(problem, {1, 0, 20});
  std::fill(inputs.bias.begin(), inputs.bias.end(), -kInfinity);
  for (int splits : {1, 2})
    expectDecode(problem, inputs, inParts(splits));
  inputs.sink[0] = -kInfinity; // nothing at all
  expectDecode(problem, inputs, inParts(1));
}

TEST_CASE("decoding of values of another size than keys", "[run]") {
  for (const auto &[head, value] : {std::pair(192, 128), {64, 96}, {32, 256}, {256, 64}}) {
    DecodeProblem problem{.q_heads = 3, .kv_heads = 1, .head = head, .head_v = value, .lse = true};
    expectDecode(problem, random(problem, {45}), inParts(2));
    problem.cache = KvCache::packed;
    expectDecode(problem, random(problem, {45}));
  }
}

TEST_CASE("decoding of many queries, of a sequence's own prompt, too", "[run]") {
  for (int queries : {5, 33, 70}) {
    DecodeProblem problem = small();
    problem.queries = queries;
    expectDecode(problem, random(problem, {queries, 100}), inParts(queries == 33 ? 2 : 1));
    problem.tree_mask = problem.window = true;
    expectDecode(problem, random(problem, {queries, 100}, 20),
                 DecodeConfig{.block = wave(), .rows = 32, .workers = queries == 33 ? 3 : 0});
  }
}

TEST_CASE("decoding of sequences with their own numbers of queries", "[run]") {
  DecodeProblem problem = small();
  problem.varlen = true;
  // Sequences with more queries than the problem says, with none, and with more than keys.
  const Inputs inputs = random(problem, {40, 12, 70, 1, 0, 65}, -1, {1, 0, 37, 3, 2, 2});
  for (int splits : {1, 3})
    for (int rows : {16, 32})
      expectDecode(problem, inputs,
                   DecodeConfig{.block = 2 * wave(), .rows = rows, .splits = splits});
  DecodeProblem all = everything();
  all.varlen = true;
  expectDecode(all, random(all, {40, 70, 5}, 25, {1, 37, 2}), inParts(2));
  DecodeProblem latent{.q_heads = 16, .head = 192, .varlen = true, .latent = 128, .lse = true};
  expectDecode(latent, random(latent, {40, 9, 33}, -1, {1, 4, 0}),
               DecodeConfig{.block = 2 * wave(), .rows = 32, .splits = 2});
}

TEST_CASE("decoding with more arguments than scalar registers have room for", "[run]") {
  // On CDNA the code reads them again for each part of a block's rows.
  const DecodeProblem problem{.q_heads = 16,
                              .kv_heads = 2,
                              .head = 256,
                              .varlen = true,
                              .bias = true,
                              .alibi = true,
                              .tree_mask = true,
                              .lse = true};
  const Inputs inputs = random(problem, {20, 5}, -1, {3, 1});
  for (int splits : {1, 2})
    expectDecode(problem, inputs, inParts(splits));
}

TEST_CASE("decoding leaves tokens alone that no sequence has", "[run]") {
  const DecodeProblem problem{
      .q_heads = 2, .kv_heads = 1, .head = 32, .varlen = true, .context = 8};
  for (int splits : {1, 2}) {
    const fk::DecodePlan plan(problem, {.block = wave(), .splits = splits});
    Operands<DecodeProblem> operands(problem, plan.config(), 4);
    operands.fill(1);
    fk::DecodeArgs args = operands.args();
    const Operand starts = Operand::input(fx::i32, 1, 5, std::vector<double>{1, 1, 2, 2, 3}),
                  y = Operand::output(problem.y, 4 * 2, 32);
    args.cu_seqlens_q = starts.vector();
    args.o = fx::tensor(y.tensor().data(), problem.y, {4, 2, 32});
    const std::vector<double> before = y.values();
    plan(args);
    fx::Stream().synchronize();
    fx::Device::current().synchronize();
    const std::vector<double> got = y.values();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool owned = i >= 64 && i < 3 * 64;
      const bool same = got[i] == before[i] || (std::isnan(got[i]) && std::isnan(before[i]));
      CHECK(same != owned);
    }
  }
}
