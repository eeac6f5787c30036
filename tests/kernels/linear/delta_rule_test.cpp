// The gated delta rule against its definition in double precision.
#include "linear/delta_case.h"
#include "support/structure.h"

using namespace kernel_tests;

TEST_CASE("the gated delta rule, a token of each sequence", "[run]") {
  const DeltaRuleProblem problem{.heads = 1, .v_heads = 2, .key = 64, .value = 32};
  expectDelta(problem, randomDelta(problem, {1, 1, 1}, {3, 0, 2}, 4));
  const DeltaRuleProblem normed{.x = fx::f16,
                                .y = fx::f32,
                                .gate = fx::bf16,
                                .heads = 2,
                                .v_heads = 2,
                                .key = 128,
                                .value = 16,
                                .normalise = true};
  expectDelta(normed, randomDelta(normed, {1, 1}, {1, 0}, 2));
}

TEST_CASE("the gated delta rule, sequences of several tokens and of none", "[run]") {
  DeltaRuleProblem problem{
      .y = fx::f16, .heads = 1, .v_heads = 1, .key = 32, .value = 48, .normalise = true};
  // Slots that are negative or past the state leave their sequences alone.
  expectDelta(problem, randomDelta(problem, {3, 0, 17, 2, 1}, {1, 2, 0, -1, 7}, 4));
  problem = {.x = fx::f32, .y = fx::f32, .key = 16, .value = 80, .scale = 0.5, .fresh = true};
  expectDelta(problem, randomDelta(problem, {5, 4, 1}, {2, 0, 1}, 3),
              DeltaRuleConfig{.key_lanes = 2, .block = 64});
  expectDelta(problem, randomDelta(problem, {2}, {0}, 1),
              DeltaRuleConfig{.key_lanes = 4, .block = 128});
}

TEST_CASE("the gated delta rule in chunks", "[run]") {
  DeltaRuleProblem problem{
      .heads = 1, .v_heads = 2, .key = 128, .value = 48, .normalise = true, .prefill = true};
  CHECK(fk::choose(problem, 100).chunks);
  expectDelta(problem, randomDelta(problem, {40, 0, 1, 70, 32}, {1, 2, 0, 3, -1}, 4), chunksOf(4));
  problem.x = fx::f16;
  problem.y = fx::f32;
  problem.normalise = false;
  problem.fresh = true;
  expectDelta(problem, randomDelta(problem, {33, 17}, {0, 1}, 2), chunksOf(2));
  problem = {.y = fx::f32, .heads = 2, .v_heads = 2, .key = 256, .value = 16, .scale = 0.25};
  expectDelta(problem, randomDelta(problem, {37}, {0}, 1), chunksOf(1));
}

TEST_CASE("the gated delta rule of integers is exact", "[run]") {
  // Keys are unit vectors, nothing decays: a token replaces a row of the state by v where beta is 1,
  // keeps it where beta is 0, and reflects it where beta is 2.
  const DeltaRuleProblem problem{.y = fx::f32, .heads = 1, .key = 32, .value = 32, .scale = 1};
  DeltaInputs inputs{.lengths = {9}, .slots = {0}, .states = 1};
  inputs.q = integers(9 * 32, 1, -3, 3);
  inputs.v = integers(9 * 32, 2, -9, 9);
  inputs.state = integers(32 * 32, 3, -9, 9);
  inputs.beta = integers(9, 4, 0, 2);
  inputs.g.assign(9, 0);
  inputs.k.assign(9 * 32, 0);
  for (std::size_t t = 0; t < 9; ++t)
    inputs.k[t * 32 + (t * 5) % 32] = 1;
  expectDelta(problem, inputs, {}, true);
  // In chunks too: products of such keys are small integers.
  const DeltaRuleProblem wide{.y = fx::f32, .heads = 1, .key = 128, .value = 32, .scale = 1};
  DeltaInputs many{.lengths = {45}, .slots = {0}, .states = 1};
  many.q = integers(45 * 128, 1, -3, 3);
  many.v = integers(45 * 32, 2, -9, 9);
  many.state = integers(128 * 32, 3, -9, 9);
  many.beta = integers(45, 4, 0, 1);
  many.g.assign(45, 0);
  many.k.assign(45 * 128, 0);
  for (std::size_t t = 0; t < 45; ++t)
    many.k[t * 128 + (t * 5) % 16] = 1;
  expectDelta(wide, many, chunksOf(2), true);
}

TEST_CASE("the gated delta rule forgets, and keeps", "[run]") {
  const DeltaRuleProblem problem{.y = fx::f32, .heads = 1, .key = 32, .value = 16};
  DeltaInputs inputs = randomDelta(problem, {6}, {0}, 1);
  inputs.g = {-1000, 0, -200, -80, 0, -1e-6}; // e^-1000 and e^-200 are 0 in f32
  inputs.beta = {1, 0, 0, 1, 1, 0};
  expectDelta(problem, inputs);
  // The first token finds a large state, and nothing is left of it.
  for (double &x : inputs.state)
    x *= 0x1p100;
  expectDelta(problem, inputs);
}

TEST_CASE("delta_rule: another run, a graph, a file", "[run]") {
  expectStructure<DeltaRuleProblem>({.heads = 1, .v_heads = 2, .key = 64, .value = 32},
                                    {.key_lanes = 8, .block = 64}, 3);
  const fx::Target target = fx::Device::current().target();
  // gfx90a spills scalars of chunks into lanes of a vector register.
  if (target.family() != fx::Family::cdna2)
    expectStructure<DeltaRuleProblem>(
        {.heads = 1, .v_heads = 1, .key = 128, .value = 32, .normalise = true, .prefill = true},
        chunksOf(2), 40);
}

TEST_CASE("delta_rule reads and writes a state once", "[run]") {
  const DeltaRuleProblem problem{.heads = 1, .v_heads = 1, .key = 64, .value = 64};
  const std::uint64_t m = 4, state = m * 64 * 64 * 4, vectors = m * (3 * 64 * 2 + 64 * 2);
  const auto counters = countersOf(problem, fk::choose(problem, m), m).at(0);
  INFO(counters.str());
  CHECK(counters["globalBytesWritten"] == state + m * 64 * 2);
  CHECK(double(counters["globalBytesTouched"]) <= 1.05 * double(state + vectors));
  // Each lane of columns has q, k and the gates for itself: 16 of them, which one line serves.
  CHECK(counters["globalBytesRead"] <= state + 64 / 4 * m * (2 * 64 * 2 + 8 * 64));
}

TEST_CASE("delta_rule has a configuration for every problem that it supports") {
  std::vector<DeltaRuleProblem> problems;
  for (int key = 16; key <= 256; key += key < 128 ? 16 : 32)
    for (int value : {16, 48, 64, 128, 512})
      for (bool prefill : {false, true})
        problems.push_back(
            {.heads = 2, .v_heads = 4, .key = key, .value = value, .prefill = prefill});
  expectTotal(problems);
}

TEST_CASE("delta_rule of the largest heads spills none") {
  expectNoSpills<DeltaRuleProblem>(
      {{.key = 128, .value = 128, .normalise = true}, {.x = fx::f32, .key = 256, .value = 256}});
  expectNoSpillsOf<DeltaRuleProblem>({.normalise = true, .prefill = true}, 1,
                                     fx::Target::parse("gfx1100"));
}

TEST_CASE("delta_rule in chunks spills none", "[spills]") {
  for (const fx::Target &target : targets())
    for (int key : {128, 256})
      for (int kind = 0; kind < 3; ++kind) {
        const bool normalise = kind > 0;
        const DeltaRuleProblem problem{.x = normalise ? fx::bf16 : fx::f16,
                                       .key = key,
                                       .value = normalise ? 128 : 48,
                                       .normalise = normalise,
                                       .fresh = !normalise,
                                       .by_channel = kind == 2,
                                       .prefill = true};
        if (problem.by_channel && key == 256)
          continue;
        CHECK(fk::choose(problem, 1000, target).chunks);
        for (const DeltaRuleConfig &config : fk::configs(problem, 1000, target)) {
          // gfx90a spills scalars into lanes of a vector register: of long keys, of decays of
          // channels, and where a wave brings a whole chunk.
          const bool scalars =
              target.family() == fx::Family::cdna2 &&
              (key == 256 || problem.by_channel || config.block == target.wave_size());
          if (config.chunks && !scalars)
            expectNoSpillsWith(problem, config, target);
        }
      }
}

TEST_CASE("delta_rule says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const DeltaRuleProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({.key = 24}) == "key is 24; it is a multiple of 16 from 16 to 256");
  CHECK(why({.key = 144}) == "key is 144; above 128 it is a multiple of 32");
  CHECK(why({.value = 528}) == "value is 528; it is a multiple of 16 from 16 to 512");
  CHECK(why({.x = fx::i8}) == "x is of type i8; f32, f16 and bf16 are supported");
  CHECK(why({.heads = 2, .v_heads = 3}) ==
        "heads is 2 and v_heads is 3; v_heads is a multiple of heads, up to 65535");
  CHECK(fk::supported(DeltaRuleProblem{.key = 64}, {.key_lanes = 32, .block = 64}, target).why ==
        "key_lanes is 32; it is a power of two up to 64, and each lane has a multiple of 4 of the "
        "64 rows, at most 32");
  const auto chunks = [&](const DeltaRuleProblem &problem, const char *name, int block) {
    const fx::Target on = fx::Target::parse(name);
    return fk::supported(problem, {.key_lanes = on.wave_size(), .block = block, .chunks = true}, on)
        .why;
  };
  CHECK(chunks({.key = 64}, "gfx942", 256) ==
        "key is 64 and x of type bf16; chunks take keys of 128 or 256 elements of f16 or bf16");
  CHECK(chunks({.x = fx::f32}, "gfx942", 256).find("chunks take keys") != std::string::npos);
  CHECK(chunks({}, "gfx1100", 128) == "");
  CHECK(chunks({}, "gfx942", 192) ==
        "key_lanes is 64 and block is 192; in chunks key_lanes is 64, and block divides 512");
  CHECK(fk::supported(DeltaRuleProblem{}, {.key_lanes = 8, .block = 96}, target).why ==
        "block is 96; it is a multiple of 64 up to 1024");

  const DeltaRuleProblem problem{.heads = 1, .v_heads = 1, .key = 16, .value = 16};
  const fk::DeltaRulePlan plan(problem, fk::choose(problem, 1));
  Operands<DeltaRuleProblem> operands(problem, plan.config(), 2);
  fk::DeltaRuleArgs args = operands.args();
  args.starts = args.state_slots;
  CHECK(messageOf([&] {
          plan(args);
        }).find("starts has the shape (2); (n + 1) = (3) is expected") != std::string::npos);
  args = operands.args();
  args.fresh = args.state_slots;
  CHECK(messageOf([&] { plan(args); }).find("fresh is given, and the problem does not have it") !=
        std::string::npos);
  args = operands.args();
  args.state = args.q;
  CHECK(messageOf([&] { plan(args); }).find("state has the shape (2, 1, 16)") != std::string::npos);
}
