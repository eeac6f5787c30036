// The other forms of linear attention against their definitions in double precision: Mamba-2's SSD,
// sums without a delta, decays of channels (KDA), and gates as models compute them.
#include "linear/delta_case.h"

using namespace kernel_tests;

namespace {

using fk::DecayGate, fk::StateUpdate, fk::UpdateStrength;

/// Mamba-2's SSD: steps by softplus, states that add up, and D.
DeltaRuleProblem ssd(int groups, int heads, int state, int head) {
  return {.x = fx::bf16,
          .y = fx::f32,
          .heads = groups,
          .v_heads = heads,
          .key = state,
          .value = head,
          .update = StateUpdate::add,
          .decay = DecayGate::softplus,
          .strength = UpdateStrength::step,
          .skip = true};
}
DeltaRuleProblem forPrompts(DeltaRuleProblem problem) {
  problem.prefill = true;
  return problem;
}
/// Kimi Delta Attention: a decay of each channel, by softplus.
DeltaRuleProblem kda(int heads, int head) {
  return {.x = fx::bf16,
          .y = fx::f32,
          .heads = heads,
          .v_heads = heads,
          .key = head,
          .value = head,
          .normalise = true,
          .decay = DecayGate::softplus,
          .strength = UpdateStrength::sigmoid,
          .by_channel = true};
}

} // namespace

TEST_CASE("a step of Mamba-2's SSD", "[run]") {
  DeltaRuleProblem problem = ssd(1, 2, 64, 32);
  expectDelta(problem, randomDelta(problem, {1, 1, 1}, {3, 0, 2}, 4));
  problem = ssd(2, 4, 16, 48);
  problem.x = problem.gate = fx::f16;
  problem.fresh = true;
  expectDelta(problem, randomDelta(problem, {1, 3, 0, 2, 1}, {3, 0, -1, 2, 9}, 4));
}

TEST_CASE("Mamba-2's SSD in chunks", "[run]") {
  DeltaRuleProblem problem = forPrompts(ssd(1, 2, 128, 48));
  CHECK(fk::choose(problem, 100).chunks);
  expectDelta(problem, randomDelta(problem, {40, 0, 1, 70, 32}, {1, 2, 0, 3, -1}, 4), chunksOf(4));
  problem.x = fx::f16;
  problem.fresh = true;
  problem.dt_min = 0.25;
  problem.dt_max = 1.5;
  expectDelta(problem, randomDelta(problem, {33, 17}, {0, 1}, 2), chunksOf(2));
  problem = forPrompts(ssd(1, 1, 256, 16));
  expectDelta(problem, randomDelta(problem, {37}, {0}, 1), chunksOf(1));
}

TEST_CASE("linear attention that adds up, with gates that are given", "[run]") {
  DeltaRuleProblem problem{.heads = 1,
                           .v_heads = 1,
                           .key = 128,
                           .value = 32,
                           .scale = 0.125,
                           .update = StateUpdate::add,
                           .prefill = true};
  expectDelta(problem, randomDelta(problem, {35, 3}, {1, 0}, 2), chunksOf(2));
  problem.normalise = true;
  problem.prefill = false;
  expectDelta(problem, randomDelta(problem, {2, 1}, {1, 0}, 2));
}

TEST_CASE("Mamba-2's SSD of integers is exact", "[run]") {
  // A step that is kept between 1 and 1 is 1, and with a = 0 nothing decays: the state adds up
  // products of small integers.
  for (const bool chunks : {false, true}) {
    DeltaRuleProblem problem = ssd(1, 1, 128, 32);
    problem.prefill = chunks;
    problem.dt_min = problem.dt_max = 1;
    DeltaInputs inputs = randomDelta(problem, {chunks ? 45 : 9}, {0}, 1);
    const std::int64_t m = inputs.tokens();
    inputs.q = integers(m * 128, 1, -1, 1);
    inputs.k = integers(m * 128, 2, -1, 1);
    inputs.v = integers(m * 32, 3, -3, 3);
    inputs.state = integers(128 * 32, 4, -9, 9);
    inputs.a = {0};
    inputs.skip = {3};
    expectDelta(problem, inputs, chunks ? std::optional(chunksOf(2)) : std::nullopt, true);
  }
}

TEST_CASE("steps of all sizes", "[run]") {
  // Numbers whose softplus is 0, tiny, about 1, and the number itself; a that forgets all or nothing.
  for (const bool chunks : {false, true}) {
    DeltaRuleProblem problem = ssd(1, 2, 128, 16);
    problem.prefill = chunks;
    DeltaInputs inputs = randomDelta(problem, {6}, {0}, 1);
    inputs.g = {-1000, 80, -30, 0, -87, -3, 3000, 20.5, -14, 1, 5, -0.25};
    inputs.bias = {0, 0};
    inputs.a = {-2, -1e-6};
    const auto config = chunks ? std::optional(chunksOf(1)) : std::nullopt;
    expectDelta(problem, inputs, config);
    inputs.a = {0, -1000};
    for (double &x : inputs.state)
      x *= 0x1p20;
    expectDelta(problem, inputs, config);
  }
}

TEST_CASE("a NaN of a step stays in its head", "[run]") {
  DeltaRuleProblem problem = ssd(1, 2, 32, 16);
  problem.dt_min = 0.1;
  problem.dt_max = 2;
  DeltaInputs inputs = randomDelta(problem, {2, 2}, {0, 1}, 2);
  inputs.g[1] = std::nan(""); // of the first sequence's first token and second head
  expectDelta(problem, inputs);
}

TEST_CASE("Kimi Delta Attention: a decay of each channel", "[run]") {
  DeltaRuleProblem problem = kda(2, 32);
  expectDelta(problem, randomDelta(problem, {1, 5, 0, 1}, {2, 0, -1, 1}, 3));
  problem = kda(1, 128);
  problem.gate = fx::bf16;
  problem.fresh = true;
  expectDelta(problem, randomDelta(problem, {7, 2}, {0, 1}, 2));
  problem = kda(1, 64);
  problem.decay = DecayGate::given;
  problem.strength = UpdateStrength::given;
  expectDelta(problem, randomDelta(problem, {3}, {0}, 1));
  problem.update = StateUpdate::add; // gated linear attention
  expectDelta(problem, randomDelta(problem, {3}, {0}, 1));
}

TEST_CASE("Kimi Delta Attention in chunks", "[run]") {
  DeltaRuleProblem problem = forPrompts(kda(2, 128));
  CHECK(fk::choose(problem, 100).chunks);
  problem.value = 48;
  expectDelta(problem, randomDelta(problem, {40, 0, 1, 70, 32}, {1, 2, 0, 3, -1}, 4), chunksOf(4));
  problem = forPrompts(kda(1, 128)); // gates of the model as they are, one head of q for two of v
  problem.x = problem.gate = fx::f16;
  problem.v_heads = 2;
  problem.value = 16;
  problem.fresh = true;
  problem.normalise = false;
  problem.decay = DecayGate::given;
  problem.strength = UpdateStrength::given;
  expectDelta(problem, randomDelta(problem, {33, 17}, {0, 1}, 2), chunksOf(2));
  problem.update = StateUpdate::add; // gated linear attention
  problem.v_heads = 1;
  expectDelta(problem, randomDelta(problem, {35, 3}, {1, 0}, 2), chunksOf(1));
}

TEST_CASE("channels that forget and channels that keep, in chunks", "[run]") {
  // Logarithms whose sums over a chunk are past the range of f32's powers, next to small ones.
  DeltaRuleProblem problem = forPrompts(kda(1, 128));
  problem.value = 16;
  problem.decay = DecayGate::given;
  DeltaInputs inputs = randomDelta(problem, {45}, {0}, 1);
  const double kinds[] = {0, -1e-6, -0.25, -5, -60, -88, -200, -1e6};
  for (std::size_t i = 0; i < inputs.g.size(); ++i)
    inputs.g[i] = kinds[(i * 7 + i / 128 * 3 + i / 1024) % 8];
  expectDelta(problem, inputs, chunksOf(4));
  // Each channel has one kind for all tokens: each token is decayed by e^-5 as fla's safe gates are.
  for (std::size_t i = 0; i < inputs.g.size(); ++i)
    inputs.g[i] = kinds[i % 128 % 8];
  expectDelta(problem, inputs, chunksOf(2));
}

TEST_CASE("Kimi Delta Attention of integers is exact in chunks", "[run]") {
  // Channels keep all or forget all. Keys are unit vectors: see the gated delta rule of integers.
  DeltaRuleProblem problem{
      .y = fx::f32, .heads = 1, .key = 128, .value = 32, .scale = 1, .by_channel = true};
  DeltaInputs inputs{.lengths = {75}, .slots = {0}, .states = 1};
  inputs.q = integers(75 * 128, 1, -3, 3);
  inputs.v = integers(75 * 32, 2, -9, 9);
  inputs.state = integers(128 * 32, 3, -9, 9);
  inputs.beta = integers(75, 4, 0, 1);
  for (const double forgets : integers(75 * 128, 5, 0, 7))
    inputs.g.push_back(forgets == 7 ? -1000 : 0);
  inputs.k.assign(75 * 128, 0);
  for (std::size_t t = 0; t < 75; ++t)
    inputs.k[t * 128 + (t * 5) % 16] = 1;
  expectDelta(problem, inputs, chunksOf(2), true);
}

TEST_CASE("the gated delta rule with gates as Qwen3-Next computes them", "[run]") {
  DeltaRuleProblem problem{.heads = 1,
                           .v_heads = 2,
                           .key = 128,
                           .value = 16,
                           .normalise = true,
                           .decay = DecayGate::softplus,
                           .strength = UpdateStrength::sigmoid};
  expectDelta(problem, randomDelta(problem, {1, 2}, {1, 0}, 2));
  problem.prefill = true;
  expectDelta(problem, randomDelta(problem, {34}, {0}, 1), chunksOf(1));
}

TEST_CASE("state spaces: another run, a graph, a file", "[run]") {
  expectStructure<DeltaRuleProblem>(ssd(1, 2, 64, 32), {.key_lanes = 8, .block = 64}, 3);
  expectStructure<DeltaRuleProblem>(kda(2, 32), {.key_lanes = 4, .block = 64}, 3);
  const fx::Target target = fx::Device::current().target();
  // gfx90a spills scalars of chunks into lanes of a vector register.
  if (target.family() != fx::Family::cdna2) {
    expectStructure<DeltaRuleProblem>(forPrompts(ssd(1, 1, 128, 32)), chunksOf(2), 40);
    expectStructure<DeltaRuleProblem>(forPrompts(kda(1, 128)), chunksOf(2), 40);
  }
}

TEST_CASE("state spaces of the largest heads spill none") {
  expectNoSpills<DeltaRuleProblem>({ssd(8, 128, 128, 64), ssd(1, 24, 256, 64), kda(32, 128)});
  expectNoSpillsOf<DeltaRuleProblem>(forPrompts(ssd(8, 128, 128, 64)), 1,
                                     fx::Target::parse("gfx1100"));
}

TEST_CASE("what the gates of linear attention do not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const auto &change) {
    DeltaRuleProblem problem = ssd(1, 1, 128, 64);
    change(problem);
    return fk::supported(problem, target).why;
  };
  CHECK(why([](auto &p) { p.decay = DecayGate::given; }) ==
        "strength is step; the step dt is made with decay=softplus");
  CHECK(why([](auto &p) { p.by_channel = true; }) ==
        "strength is step and by_channel is true; a head has one step then");
  const std::string limits = "; they are finite, at least 0, and dt_max is 0 for no limit or at "
                             "least dt_min";
  CHECK(why([](auto &p) { p.dt_min = -1; }) ==
        "dt_min is -1.000000 and dt_max is 0.000000" + limits);
  CHECK(why([](auto &p) {
          p.dt_min = 1;
          p.dt_max = 0.5;
        }) == "dt_min is 1.000000 and dt_max is 0.500000" + limits);
  CHECK(why([](auto &p) { p.dt_max = std::numeric_limits<double>::infinity(); }) ==
        "dt_min is 0.000000 and dt_max is inf" + limits);
  CHECK(why([](auto &p) {
          p.decay = DecayGate::given;
          p.strength = UpdateStrength::given;
          p.dt_max = 1;
        }) == "dt_min or dt_max is given; they are limits of the step, which is made with "
              "decay=softplus");
  CHECK(why([](auto &p) { p.scale = std::nan(""); }) == "scale is nan; it is finite");
  const DeltaRuleConfig chunks{.key_lanes = 64, .block = 256, .chunks = true};
  CHECK(fk::supported(kda(1, 128), chunks, target).why == "");
  CHECK(fk::supported(kda(1, 64), chunks, target).why ==
        "key is 64 and x of type bf16; chunks take keys of 128 or 256 elements of f16 or bf16");
  CHECK(fk::supported(kda(1, 256), chunks, target).why ==
        "key is 256 and by_channel is true; chunks of such decays take keys of 128 elements");
  CHECK(
      fk::supported(kda(1, 128), {.key_lanes = 64, .block = 512, .chunks = true}, target).why ==
      "a chunk takes 69888 bytes of shared memory; gfx942 has 65536, and the recurrent form takes "
      "none");
}

TEST_CASE("operands of the gates of linear attention") {
  const DeltaRuleProblem problem = ssd(1, 2, 16, 16);
  const fk::DeltaRulePlan plan(problem, fk::choose(problem, 2));
  Operands<DeltaRuleProblem> operands(problem, plan.config(), 2);
  const auto message = [&](const auto &change) {
    fk::DeltaRuleArgs args = operands.args();
    change(args);
    return messageOf([&] { plan(args); });
  };
  const auto contains = [](const std::string &text, const char *part) {
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(contains(message([](auto &args) { args.beta = args.g; }),
                 "beta is given, and the problem does not have it"));
  CHECK(contains(message([](auto &args) { args.a = {}; }), "a is missing; the problem has it"));
  CHECK(contains(message([](auto &args) { args.dt_bias = args.g; }),
                 "dt_bias has the shape (2, 2); (v_heads) = (2) is expected"));
  CHECK(contains(message([](auto &args) { args.skip = args.state_slots; }), "skip is of type i32"));

  const DeltaRuleProblem channels = kda(2, 32);
  const fk::DeltaRulePlan other(channels, fk::choose(channels, 2));
  Operands<DeltaRuleProblem> wide(channels, other.config(), 2);
  fk::DeltaRuleArgs args = wide.args();
  args.g = *args.beta;
  CHECK(contains(messageOf([&] { other(args); }),
                 "g has the shape (2, 2); (m, v_heads, key) = (2, 2, 32) is expected"));
}
