// The causal convolution against its definition in double precision.
#include "reference/reference.h"
#include "support/structure.h"

#include <flydsl/kernels/causal_conv.h>

using namespace kernel_tests;

namespace {

using fk::CausalConvConfig, fk::CausalConvProblem, fk::ConvStateOrder;
using Values = std::vector<double>;

/// The sequences of a call: how many tokens they have, and their slots of the state.
struct Sequences {
  std::vector<int> lengths, slots;
  std::int64_t states = 0;
  Values fresh = {}, accepted = {};

  std::int64_t tokens() const { return std::accumulate(lengths.begin(), lengths.end(), 0); }
  std::int64_t count() const { return std::ssize(lengths); }
};

std::int64_t columnsOf(const CausalConvProblem &problem) {
  return problem.width - 1 + problem.drafts;
}

/// Random numbers, or integers whose sums are exact.
fk::reference::Inputs inputsOf(const CausalConvProblem &problem, const Sequences &sequences,
                               bool exact = false) {
  const std::int64_t m = sequences.tokens(), channels = problem.channels;
  const auto numbers = [&](fx::DType type, std::int64_t count, std::uint64_t seed) {
    return exact ? integers(count, seed, -7, 7) : uniform(type, count, seed, 2);
  };
  fk::reference::Inputs inputs{{"x", numbers(problem.x, m * channels, 1)},
                               {"weight", numbers(problem.weight, channels * problem.width, 2)}};
  if (problem.bias)
    inputs["bias"] = numbers(problem.weight, channels, 3);
  Values starts{0};
  for (const int length : sequences.lengths)
    starts.push_back(starts.back() + length);
  inputs["starts"] = starts;
  if (!problem.stateless) {
    inputs["state"] = numbers(problem.state, sequences.states * columnsOf(problem) * channels, 4);
    inputs["state_slots"] = Values(sequences.slots.begin(), sequences.slots.end());
  }
  if (problem.fresh)
    inputs["fresh"] = sequences.fresh;
  if (problem.drafts)
    inputs["accepted"] = sequences.accepted;
  return inputs;
}

struct Results {
  Values y, state;
};

/// Runs a call whose rows, slots and columns have gaps between them.
Results run(const CausalConvProblem &problem, const CausalConvConfig &config,
            const fk::reference::Inputs &inputs, std::int64_t m) {
  const std::int64_t channels = problem.channels, columns = columnsOf(problem), gap = 16;
  const std::int64_t n = std::ssize(inputs.at("starts")) - 1;
  const auto in = [&](const char *name, fx::DType type, std::int64_t rows, std::int64_t width,
                      std::int64_t between = 0) {
    const auto found = inputs.find(name);
    return found == inputs.end() ? Operand::input(type, 0, 0, {})
                                 : Operand::input(type, rows, width, found->second, between);
  };
  const Operand x = in("x", problem.x, m, channels, gap),
                weight = in("weight", problem.weight, channels, problem.width),
                bias = in("bias", problem.weight, 1, channels),
                starts = in("starts", fx::i32, 1, n + 1), fresh = in("fresh", fx::u8, 1, n),
                accepted = in("accepted", fx::i32, 1, n), slots = in("state_slots", fx::i32, 1, n),
                y = Operand::output(problem.y, m, channels, 2 * gap);
  fk::CausalConvArgs args{
      .x = x.tensor(), .weight = weight.tensor(), .starts = starts.vector(), .y = y.tensor()};
  if (problem.bias)
    args.bias = bias.vector();
  if (problem.fresh)
    args.fresh = fresh.vector();
  if (problem.drafts)
    args.accepted = accepted.vector();
  std::optional<Operand> state;
  if (!problem.stateless) {
    args.state_slots = slots.vector();
    const std::int64_t states = std::ssize(inputs.at("state")) / (columns * channels);
    const bool channelsLast = problem.order == ConvStateOrder::channels_last;
    // Columns of channels may lie at any distance; the columns of a channel are neighbours.
    state = channelsLast
                ? Operand::both(problem.state, states * columns, channels, inputs.at("state"), gap)
                : Operand::both(problem.state, states, columns * channels, inputs.at("state"), gap);
    const std::int64_t row = state->tensor().strides()[0];
    args.state = channelsLast ? fx::tensor(state->tensor().data(), problem.state,
                                           {states, columns, channels}, {columns * row, row, 1})
                              : fx::tensor(state->tensor().data(), problem.state,
                                           {states, channels, columns}, {row, columns, 1});
  }
  const fx::Stream stream;
  fk::CausalConvPlan(problem, config)(args, stream);
  stream.synchronize();
  return {y.values(), state ? state->values() : Values{}};
}

void expectConv(const CausalConvProblem &problem, const Sequences &sequences,
                std::optional<CausalConvConfig> given = {}, bool exact = false) {
  const std::int64_t m = sequences.tokens();
  const CausalConvConfig config = given ? *given : fk::choose(problem, m);
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  fk::reference::Inputs inputs = inputsOf(problem, sequences, exact);
  fk::reference::Outputs reference = fk::reference::expected(problem, config, m, inputs);
  // The memory of a state that begins anew is not read.
  if (problem.fresh)
    for (std::size_t i = 0; i < sequences.slots.size(); ++i)
      if (sequences.fresh[i] != 0 && sequences.lengths[i] > 0 && sequences.slots[i] >= 0) {
        const auto size = std::size_t(columnsOf(problem) * problem.channels);
        std::fill_n(inputs.at("state").begin() + std::ssize(Values(size)) * sequences.slots[i],
                    size, std::nan(""));
      }
  if (exact)
    for (auto &[name, output] : reference)
      for (double &bound : output.bound)
        bound = std::min(bound, 0.0);
  const Results got = run(problem, config, inputs, m);
  expectWithin(got.y, reference.at("y").values, reference.at("y").bound);
  if (!problem.stateless)
    expectWithin(got.state, reference.at("state").values, reference.at("state").bound);
}

const Sequences kStep{{1, 1, 1, 1}, {3, -1, 0, 9}, 5}; // two of them have no slot
const Sequences kRagged{{3, 0, 21, 1, 4, 40, 2}, {1, 2, 0, 4, -1, 3, 6}, 8, {1, 1, 0, 0, 0, 1, 0}};

} // namespace

TEST_CASE("a causal convolution, a token of each sequence", "[run]") {
  expectConv({.channels = 96, .bias = true, .activation = fk::Activation::silu}, kStep);
  expectConv({.channels = 8 * 300, .width = 3}, kStep);
  expectConv({.x = fx::f32,
              .y = fx::f16,
              .weight = fx::f32,
              .state = fx::f32,
              .channels = 37,
              .order = ConvStateOrder::columns_last,
              .fresh = true},
             {{1, 1, 1}, {2, 1, 0}, 3, {0, 1, 0}});
}

TEST_CASE("a causal convolution of sequences of different lengths", "[run]") {
  CausalConvProblem problem{.channels = 72,
                            .bias = true,
                            .activation = fk::Activation::silu,
                            .fresh = true,
                            .prefill = true};
  const int wave = fx::Device::current().target().wave_size();
  expectConv(problem, kRagged);
  for (const int tokens : {3, 4, 16, 40})
    expectConv(problem, kRagged, CausalConvConfig{.channels = 4, .tokens = tokens, .block = wave});
  problem.order = ConvStateOrder::columns_last;
  problem.x = problem.weight = fx::f16;
  problem.y = fx::f32;
  expectConv(problem, kRagged);
  for (const int width : {2, 3, 5, 8}) {
    problem.width = width;
    expectConv(problem, kRagged);
  }
  // One sequence, long enough for several runs; the state is not there at all.
  expectConv({.channels = 24, .stateless = true, .prefill = true}, {{75, 2}, {}, 0});
}

TEST_CASE("a causal convolution of drafts", "[run]") {
  CausalConvProblem problem{.channels = 40, .activation = fk::Activation::silu, .drafts = 3};
  const Sequences sequences{
      {4, 1, 2, 3, 4, 0}, {1, 5, 0, -1, 3, 2}, 6, {0, 1, 0, 0, 0, 0}, {1, 2, 4, 1, 3, 1}};
  expectConv(problem, sequences);
  problem.fresh = true;
  problem.order = ConvStateOrder::columns_last;
  expectConv(problem, sequences);
  problem.width = 2;
  expectConv(problem, sequences);
  // Numbers past those that there are count as the nearest of them.
  problem.fresh = false;
  expectConv(problem, {{1, 1, 2}, {0, 1, 2}, 3, {}, {0, 5, -7}});
}

TEST_CASE("a causal convolution of integers is exact", "[run]") {
  const CausalConvProblem problem{.y = fx::f32, .channels = 40, .bias = true, .prefill = true};
  expectConv(problem, {{30, 2, 5}, {1, 0, 2}, 3}, {}, true);
}

TEST_CASE("a causal convolution keeps what is not finite to its tokens and channels", "[run]") {
  const CausalConvProblem problem{.y = fx::f32, .channels = 16, .prefill = true};
  const Sequences sequences{{20, 9}, {0, 1}, 2};
  fk::reference::Inputs inputs = inputsOf(problem, sequences);
  inputs.at("x")[18 * 16 + 3] = std::nan(""); // token 18 of the first, channel 3
  inputs.at("x")[22 * 16 + 5] = INFINITY;     // token 2 of the second, channel 5
  const CausalConvConfig config = fk::choose(problem, 29);
  const auto reference = fk::reference::expected(problem, config, 29, inputs);
  const Results got = run(problem, config, inputs, 29);
  for (std::size_t i = 0; i < got.y.size(); ++i)
    CHECK(std::isfinite(got.y[i]) == std::isfinite(reference.at("y").values[i]));
  CHECK(std::isnan(got.y[19 * 16 + 3]));
  CHECK(std::isfinite(got.y[20 * 16 + 3]));
}

TEST_CASE("a causal convolution in steps is that of all tokens", "[run]") {
  // A prompt of 9 tokens, then steps with drafts. Some are right: the tokens that count give
  // the same bits as in one call.
  const std::int64_t channels = 24, total = 9 + 1 + 3 + 2;
  CausalConvProblem whole{.channels = int(channels), .activation = fk::Activation::silu};
  const Sequences all{{int(total)}, {0}, 1};
  fk::reference::Inputs inputs = inputsOf(whole, all);
  const Results expected = run(whole, fk::choose(whole, total), inputs, total);

  CausalConvProblem step = whole;
  step.drafts = 3;
  const auto rows = [&](std::int64_t first, std::int64_t count) {
    const Values &x = inputs.at("x");
    return Values(x.begin() + first * channels, x.begin() + (first + count) * channels);
  };
  fk::reference::Inputs prompt = inputs;
  prompt["x"] = rows(0, 9);
  prompt["starts"] = {0, 9};
  const Results begun = run(whole, fk::choose(whole, 9), prompt, 9);
  Values state(std::size_t(6 * channels), 0.0);
  std::copy(begun.state.begin(), begun.state.end(), state.begin());
  Values got = begun.y;
  std::int64_t done = 9, accepted = 1;
  for (const std::int64_t right : {1, 3, 2}) {
    // Four tokens: the first `right` are the sequence's, and the others are wrong.
    fk::reference::Inputs call = inputs;
    call["x"] = rows(done, right);
    const Values wrong = uniform(fx::bf16, (4 - right) * channels, std::uint64_t(done), 2);
    call["x"].insert(call["x"].end(), wrong.begin(), wrong.end());
    call["starts"] = {0, 4};
    call["state"] = state;
    call["accepted"] = {double(accepted)};
    const Results now = run(step, fk::choose(step, 4), call, 4);
    got.insert(got.end(), now.y.begin(), now.y.begin() + right * channels);
    state = now.state;
    accepted = right;
    done += right;
  }
  CHECK(got == expected.y);
}

TEST_CASE("causal_conv: another run, a graph, a file", "[run]") {
  const int wave = fx::Device::current().target().wave_size();
  expectStructure<CausalConvProblem>({.channels = 64, .bias = true},
                                     {.channels = 8, .tokens = 4, .block = wave}, 3);
  expectStructure<CausalConvProblem>(
      {.channels = 64, .order = ConvStateOrder::columns_last, .drafts = 1},
      {.channels = 8, .tokens = 4, .block = wave}, 3);
}

TEST_CASE("causal_conv reads tokens and states once") {
  const CausalConvProblem step{.channels = 1024, .bias = true};
  const auto counters = countersOf(step, fk::choose(step, 16), 16).at(0);
  const std::uint64_t row = 1024 * 2;
  INFO(counters.str());
  CHECK(counters["globalBytesWritten"] == 16 * row * (1 + 3));
  CHECK(double(counters["globalBytesTouched"]) <= 1.05 * double(row * (16 * (1 + 1 + 3) + 4 + 1)));
  // A run of 16 tokens reads the three before it a second time.
  const CausalConvProblem prompt{.channels = 1024, .prefill = true};
  const auto many = countersOf(prompt, {.channels = 8, .tokens = 16, .block = 128}, 64).at(0);
  INFO(many.str());
  CHECK(many["globalBytesRead"] <= row * (64 + 4 * 3 + 3 + 5 * 4) + 1024 * 64);
}

TEST_CASE("causal_conv has a configuration for every problem that it supports") {
  std::vector<CausalConvProblem> problems;
  for (const int channels : {1, 2, 12, 256, 8192, 10240, 1 << 20})
    for (int width = 2; width <= 8; ++width)
      for (const int drafts : {0, 1, 7, 15})
        for (const bool prefill : {false, true})
          if (!prefill || !drafts)
            for (const fx::DType x : {fx::DType(fx::bf16), fx::DType(fx::f32)})
              problems.push_back({.x = x,
                                  .channels = channels,
                                  .width = width,
                                  .drafts = drafts,
                                  .prefill = prefill});
  expectTotal(problems);
}

TEST_CASE("causal_conv spills none") {
  expectNoSpills<CausalConvProblem>(
      {{.channels = 8192, .bias = true, .activation = fk::Activation::silu, .prefill = true},
       {.channels = 8192, .width = 8, .order = ConvStateOrder::columns_last, .prefill = true},
       {.channels = 8192, .order = ConvStateOrder::columns_last, .drafts = 7},
       {.channels = 8192, .fresh = true}});
}

TEST_CASE("causal_conv says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const CausalConvProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({}) == "channels is 0; it is 1 to 1048576");
  CHECK(why({.channels = 8, .width = 1}) == "width is 1; it is 2 to 8");
  CHECK(why({.channels = 8, .width = 9}) == "width is 9; it is 2 to 8");
  CHECK(why({.channels = 8, .drafts = 16}) == "drafts is 16; it is 0 to 15");
  CHECK(why({.state = fx::i8, .channels = 8}) ==
        "state is of type i8; f32, f16 and bf16 are supported");
  CHECK(why({.channels = 12, .row_align = 8}) ==
        "channels is 12 and row_align is 8; a state's columns follow one another, so row_align "
        "divides channels");
  CHECK(why({.channels = 8, .stateless = true, .fresh = true}) ==
        "fresh and stateless are both true; without a state all sequences are fresh");
  CHECK(why({.channels = 8, .stateless = true, .drafts = 1}) ==
        "drafts is 1 and stateless is true; drafts are kept in a state");
  CHECK(why({.channels = 8, .drafts = 2, .prefill = true}).find("Prefill takes the first") !=
        std::string::npos);
  const auto whyConfig = [&](const CausalConvProblem &problem, const CausalConvConfig &config) {
    return fk::supported(problem, config, target).why;
  };
  CHECK(whyConfig({.channels = 12}, {.channels = 8}) ==
        "channels is 8 of a thread; it is a power of two up to 4");
  CHECK(whyConfig({.channels = 8, .width = 6}, {.channels = 1, .tokens = 4}) ==
        "tokens is 4; it is 5 to 64");
  CHECK(whyConfig({.channels = 8, .drafts = 7}, {.channels = 1, .tokens = 4}) ==
        "tokens is 4; it is 8 to 64");
  CHECK(whyConfig({.channels = 8}, {.block = 96}) ==
        "block is 96; it is a multiple of 64 up to 1024");

  const CausalConvProblem problem{.channels = 16};
  const fk::CausalConvPlan plan(problem, fk::choose(problem, 1));
  Operands<CausalConvProblem> operands(problem, plan.config(), 2);
  const auto message = [&](const auto &change) {
    fk::CausalConvArgs args = operands.args();
    change(args);
    return messageOf([&] { plan(args); });
  };
  using A = fk::CausalConvArgs;
  expectPart(message([](A &a) { a.y = a.x; }), "y shares memory with x, which is read while");
  expectPart(message([](A &a) { a.starts = *a.state_slots; }),
             "state_slots has the shape (2); (n) = (1) is expected");
  expectPart(message([](A &a) { a.state.reset(); }), "state is missing");
  expectPart(message([](A &a) { a.accepted = a.state_slots; }),
             "accepted is given, and the problem does not have it");
  expectPart(message([](A &a) { a.state = a.x; }), "state has the shape (2, 16)");
  expectPart(message([](A &a) { a.weight = a.x; }), "weight has the shape (2, 16)");
}
