// The gated delta rule against its definition in double precision.
#include "support/structure.h"

#include <flydsl/kernels/delta_rule.h>

using namespace kernel_tests;

namespace {

using fk::DeltaRuleConfig, fk::DeltaRuleProblem;

/// The inputs of a call, by sequence, token and head.
struct Inputs {
  std::vector<int> lengths, slots;
  std::vector<double> fresh = {};
  std::int64_t states = 0; ///< slots of the state
  std::vector<double> q = {}, k = {}, v = {}, g = {}, beta = {}, state = {};

  std::int64_t tokens() const { return std::accumulate(lengths.begin(), lengths.end(), 0); }
};

/// Random inputs: keys of length about 1, decays from e^-1 to 1, strengths from 0 to 1.
Inputs random(const DeltaRuleProblem &problem, std::vector<int> lengths, std::vector<int> slots,
              std::int64_t states) {
  Inputs inputs{.lengths = lengths, .slots = slots, .states = states};
  const std::int64_t m = inputs.tokens(), heads = problem.heads, ofV = problem.v_heads;
  const double size = problem.normalise ? 4 : std::sqrt(3 / double(problem.key));
  inputs.q = uniform(problem.x, m * heads * problem.key, 1);
  inputs.k = uniform(problem.x, m * heads * problem.key, 2, size);
  inputs.v = uniform(problem.x, m * ofV * problem.value, 3);
  inputs.g = uniform(problem.gate, m * ofV, 4, 0.5);
  inputs.beta = uniform(problem.gate, m * ofV, 5, 0.5);
  for (std::size_t i = 0; i < inputs.g.size(); ++i) {
    inputs.g[i] = -std::fabs(inputs.g[i]);
    inputs.beta[i] = std::fabs(inputs.beta[i]) * 2;
  }
  inputs.beta = decode(problem.gate, encode(problem.gate, inputs.beta));
  inputs.state = uniform(fx::f32, states * ofV * problem.key * problem.value, 6);
  for (std::size_t i = 0; problem.fresh && i < lengths.size(); ++i)
    inputs.fresh.push_back(double(i % 2));
  return inputs;
}

/// What y and the state must be, and how far the kernel may be from them. The error of a column s of
/// the state is kept as a bound E of its length. Before a token's change it is
///
///   E' = e^g (E + (|g| + 5) 2^-23 |s|),           exp2 is right to 2^-22, its argument is rounded
///
/// and the change multiplies s by I - beta k k^T, whose norm is the larger of 1 and |1 - beta k^2|.
/// A product of `key` terms, of which a lane adds up key / lanes and the lanes add theirs in
/// log2(lanes) steps, is off by c 2^-24 |s| |k|, c = key / lanes + log2(lanes) + 2. A head that is
/// normed has itself an error of n = (c + 6) 2^-24. So
///
///   E'' = |I - beta k k^T| E' + beta |k| ((c 2^-24 + 2 n) |s| |k| + (3 2^-24 + 2 n)(|v| + |s k|))
///         + 2^-24 |s''|
///   y   : scale |q| (E'' + (c 2^-24 + n) |s''|), and the rounding of y.
///
/// In chunks, operands are rounded to x, each by u of itself: k, q and the state before the chunk in
/// their products, at most as large as the state ever was, S; a token's change d, of which later
/// tokens see the decayed sum D = sum |k| |d|; and what is between q and d. That adds
///
///   E'' : u |k| (4 beta |k| S + 4 |d|)          y: u scale |q| (4 S + 4 D).
class Reference {
public:
  Reference(const DeltaRuleProblem &problem, const DeltaRuleConfig &config, const Inputs &inputs)
      : problem_(problem), inputs_(inputs), state(inputs.state), stateBound(inputs.state.size()) {
    const double lanes = config.chunks ? 4 : config.key_lanes;
    if (config.chunks)
      rounding_ = unit(problem.x);
    steps_ = (problem.key / lanes + std::log2(lanes) + 2) * 0x1p-24;
    norm_ = problem.normalise ? steps_ + 6 * 0x1p-24 : 0;
    const std::size_t elements = std::size_t(inputs.tokens() * problem.v_heads * problem.value);
    y.assign(elements, std::nan(""));
    yBound.assign(elements, 0);
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < inputs.lengths.size(); begin += inputs.lengths[i++])
      if (inputs.slots[i] >= 0 && inputs.slots[i] < inputs.states)
        for (int head = 0; head < problem.v_heads; ++head)
          for (int column = 0; column < problem.value; ++column)
            run(begin, begin + inputs.lengths[i], inputs.slots[i], head, column,
                problem.fresh && inputs.fresh[i] != 0);
  }

private:
  const DeltaRuleProblem &problem_;
  const Inputs &inputs_;
  double steps_, norm_, rounding_ = 0;

  std::vector<double> headOf(const std::vector<double> &x, std::int64_t t, int head,
                             double scale) const {
    const std::int64_t key = problem_.key;
    const auto first = x.begin() + (t * problem_.heads + head) * key;
    std::vector<double> row(first, first + key);
    if (problem_.normalise) {
      double sum = 1e-6;
      for (double v : row)
        sum += v * v;
      scale /= std::sqrt(sum);
    }
    for (double &v : row)
      v *= scale;
    return row;
  }
  static double dot(const std::vector<double> &a, const std::vector<double> &b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }

  void run(std::int64_t begin, std::int64_t end, int slot, int head, int column, bool fresh) {
    const std::int64_t key = problem_.key, value = problem_.value;
    const auto place = [&](std::int64_t r) {
      return std::size_t(((slot * problem_.v_heads + head) * key + r) * value + column);
    };
    std::vector<double> s;
    for (std::int64_t r = 0; r < key; ++r)
      s.push_back(fresh ? 0 : inputs_.state[place(r)]);
    double error = 0, largest = std::sqrt(dot(s, s)), changes = 0;
    const int keyHead = head / (problem_.v_heads / problem_.heads);
    const double scale = problem_.scale ? problem_.scale : 1 / std::sqrt(double(key));
    for (std::int64_t t = begin; t < end; ++t) {
      const std::vector<double> k = headOf(inputs_.k, t, keyHead, 1),
                                q = headOf(inputs_.q, t, keyHead, scale);
      const std::size_t gate = std::size_t(t * problem_.v_heads + head);
      const double g = inputs_.g[gate], beta = inputs_.beta[gate],
                   v = inputs_.v[gate * std::size_t(value) + std::size_t(column)];
      error = std::exp(g) * (error + (std::fabs(g) + 5) * 0x1p-23 * std::sqrt(dot(s, s)));
      for (double &x : s)
        x *= std::exp(g);
      const double known = dot(s, k), lengthK = std::sqrt(dot(k, k)),
                   lengthS = std::sqrt(dot(s, s));
      for (std::size_t r = 0; r < s.size(); ++r)
        s[r] += k[r] * beta * (v - known);
      const double change = std::fabs(beta * (v - known));
      changes = std::exp(g) * changes + lengthK * change;
      const double now = std::sqrt(dot(s, s)), lengthQ = std::sqrt(dot(q, q));
      error = std::max(1.0, std::fabs(1 - beta * lengthK * lengthK)) * error +
              beta * lengthK *
                  ((steps_ + 2 * norm_) * lengthS * lengthK +
                   (3 * 0x1p-24 + 2 * norm_) * (std::fabs(v) + std::fabs(known))) +
              0x1p-24 * now + rounding_ * lengthK * 4 * (beta * lengthK * largest + change);
      largest = std::max(largest, now);
      const double exact = dot(s, q);
      const std::size_t at = gate * std::size_t(value) + std::size_t(column);
      y[at] = exact;
      yBound[at] = lengthQ * (error + (steps_ + norm_ + 0x1p-23) * now +
                              4 * rounding_ * (largest + changes)) +
                   unit(problem_.y) * std::fabs(exact) + underflow(problem_.y);
    }
    for (std::int64_t r = 0; r < key; ++r) {
      state[place(r)] = s[std::size_t(r)];
      stateBound[place(r)] = error + underflow(fx::f32);
    }
  }

public:
  std::vector<double> y, yBound, state, stateBound;
};

/// Runs a call whose tokens and heads have gaps between them, and compares.
void expectDelta(const DeltaRuleProblem &problem, const Inputs &inputs,
                 std::optional<DeltaRuleConfig> given = {}, bool exact = false) {
  const std::int64_t m = inputs.tokens(), heads = problem.heads, ofV = problem.v_heads,
                     n = std::ssize(inputs.lengths);
  const DeltaRuleConfig config = given ? *given : fk::choose(problem, m);
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const auto in = [&](fx::DType dtype, std::int64_t rows, std::int64_t columns,
                      const std::vector<double> &values, std::int64_t gap = 0) {
    return Operand::input(dtype, rows, columns, values, gap);
  };
  const std::int64_t gap = 8;
  const Operand q = in(problem.x, m * heads, problem.key, inputs.q, gap),
                k = in(problem.x, m * heads, problem.key, inputs.k, 2 * gap),
                v = in(problem.x, m * ofV, problem.value, inputs.v, gap),
                g = in(problem.gate, m, ofV, inputs.g, 3),
                beta = in(problem.gate, m, ofV, inputs.beta),
                fresh = in(fx::u8, 1, problem.fresh ? n : 0, inputs.fresh),
                state = Operand::both(fx::f32, inputs.states * ofV, problem.key * problem.value,
                                      inputs.state, gap),
                y = Operand::output(problem.y, m * ofV, problem.value, gap);
  std::vector<double> starts{0}, slots(inputs.slots.begin(), inputs.slots.end());
  for (int length : inputs.lengths)
    starts.push_back(starts.back() + length);
  const Operand from = in(fx::i32, 1, n + 1, starts), places = in(fx::i32, 1, n, slots);
  const auto headed = [](const Operand &operand, std::int64_t outer, std::int64_t count,
                         std::int64_t size) {
    const std::int64_t row = operand.tensor().strides()[0];
    return fx::tensor(operand.tensor().data(), operand.dtype(), {outer, count, size},
                      {count * row, row, 1});
  };
  const std::int64_t row = state.tensor().strides()[0];
  fk::DeltaRuleArgs args{
      .q = headed(q, m, heads, problem.key),
      .k = headed(k, m, heads, problem.key),
      .v = headed(v, m, ofV, problem.value),
      .g = g.tensor(),
      .beta = beta.tensor(),
      .starts = from.vector(),
      .state = fx::tensor(state.tensor().data(), fx::f32,
                          {inputs.states, ofV, problem.key, problem.value},
                          {ofV * row, row, problem.value, 1}),
      .state_slots = places.vector(),
      .y = headed(y, m, ofV, problem.value),
  };
  if (problem.fresh)
    args.fresh = fresh.vector();
  const fx::Stream stream;
  fk::DeltaRulePlan(problem, config)(args, stream);
  stream.synchronize();

  Reference reference(problem, config, inputs);
  if (exact) {
    std::fill(reference.yBound.begin(), reference.yBound.end(), 0);
    std::fill(reference.stateBound.begin(), reference.stateBound.end(), 0);
  }
  expectWithin(y.values(), reference.y, reference.yBound);
  expectWithin(state.values(), reference.state, reference.stateBound);
}

} // namespace

TEST_CASE("the gated delta rule, a token of each sequence", "[run]") {
  const DeltaRuleProblem problem{.heads = 1, .v_heads = 2, .key = 64, .value = 32};
  expectDelta(problem, random(problem, {1, 1, 1}, {3, 0, 2}, 4));
  const DeltaRuleProblem normed{.x = fx::f16,
                                .y = fx::f32,
                                .gate = fx::bf16,
                                .heads = 2,
                                .v_heads = 2,
                                .key = 128,
                                .value = 16,
                                .normalise = true};
  expectDelta(normed, random(normed, {1, 1}, {1, 0}, 2));
}

TEST_CASE("the gated delta rule, sequences of several tokens and of none", "[run]") {
  DeltaRuleProblem problem{
      .y = fx::f16, .heads = 1, .v_heads = 1, .key = 32, .value = 48, .normalise = true};
  // Slots that are negative or past the state leave their sequences alone.
  expectDelta(problem, random(problem, {3, 0, 17, 2, 1}, {1, 2, 0, -1, 7}, 4));
  problem = {.x = fx::f32, .y = fx::f32, .key = 16, .value = 80, .scale = 0.5, .fresh = true};
  expectDelta(problem, random(problem, {5, 4, 1}, {2, 0, 1}, 3),
              DeltaRuleConfig{.key_lanes = 2, .block = 64});
  expectDelta(problem, random(problem, {2}, {0}, 1), DeltaRuleConfig{.key_lanes = 4, .block = 128});
}

TEST_CASE("the gated delta rule in chunks", "[run]") {
  const fx::Target target = fx::Device::current().target();
  const int wave = target.wave_size();
  DeltaRuleProblem problem{
      .heads = 1, .v_heads = 2, .key = 128, .value = 48, .normalise = true, .prefill = true};
  const auto chunks = [&](int waves) {
    return DeltaRuleConfig{.key_lanes = wave, .block = waves * wave, .chunks = true};
  };
  if (target.family() == fx::Family::gfx1250) {
    CHECK(fk::supported(problem, chunks(4), target).why ==
          "chunks are for matrix instructions that take 8 tokens of a lane; those of gfx1250 take "
          "more");
    CHECK(!fk::choose(problem, 100).chunks);
    return;
  }
  CHECK(fk::choose(problem, 100).chunks);
  expectDelta(problem, random(problem, {40, 0, 1, 70, 32}, {1, 2, 0, 3, -1}, 4), chunks(4));
  problem.x = fx::f16;
  problem.y = fx::f32;
  problem.normalise = false;
  problem.fresh = true;
  expectDelta(problem, random(problem, {33, 17}, {0, 1}, 2), chunks(2));
  problem = {.y = fx::f32, .heads = 2, .v_heads = 2, .key = 256, .value = 16, .scale = 0.25};
  expectDelta(problem, random(problem, {37}, {0}, 1), chunks(1));
}

TEST_CASE("the gated delta rule of integers is exact", "[run]") {
  // Keys are unit vectors, nothing decays: a token replaces a row of the state by v where beta is 1,
  // keeps it where beta is 0, and reflects it where beta is 2.
  const DeltaRuleProblem problem{.y = fx::f32, .heads = 1, .key = 32, .value = 32, .scale = 1};
  Inputs inputs{.lengths = {9}, .slots = {0}, .states = 1};
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
  const fx::Target target = fx::Device::current().target();
  const DeltaRuleProblem wide{.y = fx::f32, .heads = 1, .key = 128, .value = 32, .scale = 1};
  Inputs many{.lengths = {45}, .slots = {0}, .states = 1};
  many.q = integers(45 * 128, 1, -3, 3);
  many.v = integers(45 * 32, 2, -9, 9);
  many.state = integers(128 * 32, 3, -9, 9);
  many.beta = integers(45, 4, 0, 1);
  many.g.assign(45, 0);
  many.k.assign(45 * 128, 0);
  for (std::size_t t = 0; t < 45; ++t)
    many.k[t * 128 + (t * 5) % 16] = 1;
  expectDelta(wide, many,
              DeltaRuleConfig{
                  .key_lanes = target.wave_size(), .block = 2 * target.wave_size(), .chunks = true},
              true);
}

TEST_CASE("the gated delta rule forgets, and keeps", "[run]") {
  const DeltaRuleProblem problem{.y = fx::f32, .heads = 1, .key = 32, .value = 16};
  Inputs inputs = random(problem, {6}, {0}, 1);
  inputs.g = {-1000, 0, -200, -80, 0, -1e-6}; // e^-1000 and e^-200 are 0 in f32
  inputs.beta = {1, 0, 0, 1, 1, 0};
  expectDelta(problem, inputs);
  // The first token finds a large state, of which nothing is left.
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
        {.key_lanes = target.wave_size(), .block = 2 * target.wave_size(), .chunks = true}, 40);
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
      for (bool normalise : {false, true}) {
        const DeltaRuleProblem problem{.x = normalise ? fx::bf16 : fx::f16,
                                       .key = key,
                                       .value = normalise ? 128 : 48,
                                       .normalise = normalise,
                                       .fresh = !normalise,
                                       .prefill = true};
        CHECK(fk::choose(problem, 1000, target).chunks);
        for (const DeltaRuleConfig &config : fk::configs(problem, 1000, target)) {
          // gfx90a spills up to four scalars into lanes of a vector register: of long keys, and
          // where a wave brings a whole chunk.
          const bool scalars = target.family() == fx::Family::cdna2 &&
                               (key == 256 || config.block == target.wave_size());
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
  CHECK(messageOf([&] { plan(args); }).find("starts has the shape (2); (n + 1) = (3) is expected") !=
        std::string::npos);
  args = operands.args();
  args.fresh = args.state_slots;
  CHECK(messageOf([&] { plan(args); }).find("fresh is given, and the problem does not have it") !=
        std::string::npos);
  args = operands.args();
  args.state = args.q;
  CHECK(messageOf([&] { plan(args); }).find("state has the shape (2, 1, 16)") != std::string::npos);
}
