// Calls of linear attention with random inputs, and what they must give in double precision.
#pragma once

#include "support/structure.h"

#include <flydsl/kernels/delta_rule.h>

namespace kernel_tests {

using fk::DeltaRuleConfig, fk::DeltaRuleProblem;

/// The inputs of a call, by sequence, token and head; what a problem does not have is empty.
struct DeltaInputs {
  std::vector<int> lengths, slots;
  std::vector<double> fresh = {};
  std::int64_t states = 0; ///< slots of the state
  std::vector<double> q = {}, k = {}, v = {}, g = {}, beta = {}, a = {}, bias = {}, skip = {},
                      state = {};

  std::int64_t tokens() const { return std::accumulate(lengths.begin(), lengths.end(), 0); }
};

/// Random inputs: keys of length about 1; decays that are given are from e^-1 to 1, and strengths
/// from 0 to 1. Steps are made of numbers from -4 to 4, and a is from -1 to 0.
inline DeltaInputs randomDelta(const DeltaRuleProblem &problem, std::vector<int> lengths,
                               std::vector<int> slots, std::int64_t states) {
  DeltaInputs inputs{.lengths = lengths, .slots = slots, .states = states};
  const std::int64_t m = inputs.tokens(), heads = problem.heads, ofV = problem.v_heads,
                     channels = problem.by_channel ? problem.key : 1;
  const double size = problem.normalise ? 4 : std::sqrt(3 / double(problem.key));
  const bool steps = problem.decay == fk::DecayGate::softplus;
  inputs.q = uniform(problem.x, m * heads * problem.key, 1);
  inputs.k = uniform(problem.x, m * heads * problem.key, 2, size);
  inputs.v = uniform(problem.x, m * ofV * problem.value, 3);
  inputs.g = uniform(problem.gate, m * ofV * channels, 4, steps ? 4 : 0.5);
  if (!steps)
    for (double &g : inputs.g)
      g = -std::fabs(g);
  if (problem.strength != fk::UpdateStrength::step) {
    inputs.beta = uniform(problem.gate, m * ofV, 5, 0.5);
    if (problem.strength == fk::UpdateStrength::given)
      for (double &beta : inputs.beta)
        beta = std::fabs(beta) * 2;
    inputs.beta = decode(problem.gate, encode(problem.gate, inputs.beta));
  }
  if (steps) {
    inputs.a = uniform(fx::f32, ofV, 7);
    for (double &a : inputs.a)
      a = -std::fabs(a);
    inputs.bias = uniform(fx::f32, ofV * channels, 8);
  }
  if (problem.skip)
    inputs.skip = uniform(fx::f32, ofV, 9);
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
/// with the largest of these over the channels where each has its own g, and with the error of g
/// itself where it is made of a step. The change multiplies s by I - beta k k^T, whose norm is the
/// larger of 1 and |1 - beta k^2|; without a delta it leaves s as it is. A product of `key` terms, of
/// which a lane adds up key / lanes and the lanes add theirs in log2(lanes) steps, is off by
/// c 2^-24 |s| |k|, c = key / lanes + log2(lanes) + 2. A head that is normed has itself an error of
/// n = (c + 6) 2^-24, and beta one of b. So
///
///   E'' = |I - beta k k^T| E' + beta |k| ((c 2^-24 + 2 n) |s| |k| + (3 2^-24 + 2 n)(|v| + |s k|))
///         + b |k| |v - s k| + 2^-24 |s''|
///   y   : scale |q| (E'' + (c 2^-24 + n) |s''|), and the roundings of skip v and of y.
///
/// In chunks, operands are rounded to x, each by u of itself: k, q and the state before the chunk in
/// their products, at most as large as the state ever was, S; a token's change d, whose decayed
/// sum D = sum |k| |d| later tokens see; and what is between q and d. That adds
///
///   E'' : u |k| (4 beta |k| S + 4 |d|)          y: u scale |q| (4 S + 4 D).
///
/// With decays of channels, k and q are rounded once more, after they are decayed, and so are those of
/// the system, which multiplies earlier d: 6 in the places of 4, and S + D in that of S.
class DeltaReference {
public:
  DeltaReference(const DeltaRuleProblem &problem, const DeltaRuleConfig &config,
                 const DeltaInputs &inputs)
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
  /// A number, and how far the kernel's may be from it.
  struct Bounded {
    double value, error = 0;
  };
  const DeltaRuleProblem &problem_;
  const DeltaInputs &inputs_;
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

  std::size_t gateOf(std::int64_t t, int head) const {
    return std::size_t(t * problem_.v_heads + head);
  }
  /// log(1 + e^x) of a sum x that is rounded. The hardware's e^-|x| is right to (|x| + 5) 2^-23, the
  /// logarithm and the sums to 8 2^-23.
  Bounded step(double g, double bias) const {
    const double x = g + bias, dt = std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))),
                 error = dt * (std::min(std::fabs(x), 100.0) + 13) * 0x1p-23 +
                         (std::fabs(g) + std::fabs(bias)) * 0x1p-24;
    const double raised = dt < problem_.dt_min ? problem_.dt_min : dt;
    return {problem_.dt_max > 0 && raised > problem_.dt_max ? problem_.dt_max : raised,
            error + underflow(fx::f32)};
  }
  /// The step of a token, or of a channel of it.
  Bounded stepOf(std::int64_t t, int head, std::int64_t channel) const {
    const std::size_t channels = problem_.by_channel ? std::size_t(problem_.key) : 1,
                      c = std::size_t(channel);
    return step(inputs_.g[gateOf(t, head) * channels + c],
                inputs_.bias[std::size_t(head) * channels + c]);
  }
  /// The logarithm of a decay.
  Bounded logDecay(std::int64_t t, int head, std::int64_t channel) const {
    if (problem_.decay == fk::DecayGate::given)
      return {inputs_.g[problem_.by_channel
                            ? gateOf(t, head) * std::size_t(problem_.key) + std::size_t(channel)
                            : gateOf(t, head)]};
    const Bounded dt = stepOf(t, head, channel);
    const double a = inputs_.a[std::size_t(head)];
    return {a * dt.value, std::fabs(a) * (dt.error + 0x1p-24 * dt.value)};
  }
  Bounded strength(std::int64_t t, int head) const {
    if (problem_.strength == fk::UpdateStrength::step)
      return stepOf(t, head, 0);
    const double beta = inputs_.beta[gateOf(t, head)];
    if (problem_.strength == fk::UpdateStrength::given)
      return {beta};
    const double share = 1 / (1 + std::exp(-beta));
    return {share, share * (std::fabs(beta) + 9) * 0x1p-23};
  }

  void run(std::int64_t begin, std::int64_t end, int slot, int head, int column, bool fresh) {
    const bool isDelta = problem_.update == fk::StateUpdate::delta;
    const std::int64_t key = problem_.key, value = problem_.value;
    const auto place = [&](std::int64_t r) {
      return std::size_t(((slot * problem_.v_heads + head) * key + r) * value + column);
    };
    std::vector<double> s;
    for (std::int64_t r = 0; r < key; ++r)
      s.push_back(fresh ? 0 : inputs_.state[place(r)]);
    double error = 0, largest = std::sqrt(dot(s, s)), changes = 0;
    const double roundings = problem_.by_channel ? 6 : 4;
    const int keyHead = head / (problem_.v_heads / problem_.heads);
    const double scale = problem_.scale ? problem_.scale : isDelta ? 1 / std::sqrt(double(key)) : 1;
    for (std::int64_t t = begin; t < end; ++t) {
      const std::vector<double> k = headOf(inputs_.k, t, keyHead, 1),
                                q = headOf(inputs_.q, t, keyHead, scale);
      const std::size_t gate = gateOf(t, head),
                        at = gate * std::size_t(value) + std::size_t(column);
      const Bounded beta = strength(t, head);
      const double v = inputs_.v[at], before = std::sqrt(dot(s, s));
      double most = 0, off = 0;
      for (std::int64_t r = 0; r < key; ++r) {
        const Bounded g = logDecay(t, head, problem_.by_channel ? r : 0);
        const double decay = std::exp(g.value);
        s[std::size_t(r)] *= decay;
        most = std::max(most, decay);
        off = std::max(off, decay * ((std::fabs(g.value) + 5) * 0x1p-23 + g.error));
      }
      error = most * error + off * before;
      const double known = isDelta ? dot(s, k) : 0, lengthK = std::sqrt(dot(k, k)),
                   lengthS = isDelta ? std::sqrt(dot(s, s)) : 0;
      for (std::size_t r = 0; r < s.size(); ++r)
        s[r] += k[r] * beta.value * (v - known);
      const double change = std::fabs(beta.value * (v - known));
      changes = most * changes + lengthK * change;
      const double now = std::sqrt(dot(s, s)), lengthQ = std::sqrt(dot(q, q)),
                   seen = problem_.by_channel ? largest + changes : largest,
                   ofKnown = isDelta ? beta.value * lengthK * seen : 0;
      error =
          (isDelta ? std::max(1.0, std::fabs(1 - beta.value * lengthK * lengthK)) : 1.0) * error +
          beta.value * lengthK *
              ((steps_ + 2 * norm_) * lengthS * lengthK +
               (3 * 0x1p-24 + 2 * norm_) * (std::fabs(v) + std::fabs(known))) +
          beta.error * lengthK * std::fabs(v - known) + 0x1p-24 * now +
          rounding_ * lengthK * roundings * (ofKnown + change);
      largest = std::max(largest, now);
      const double skipped = problem_.skip ? inputs_.skip[std::size_t(head)] * v : 0;
      y[at] = dot(s, q) + skipped;
      yBound[at] = lengthQ * (error + (steps_ + norm_ + 0x1p-23) * now +
                              roundings * rounding_ * (largest + changes)) +
                   0x1p-23 * std::fabs(skipped) + unit(problem_.y) * std::fabs(y[at]) +
                   underflow(problem_.y);
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
inline void expectDelta(const DeltaRuleProblem &problem, const DeltaInputs &inputs,
                        std::optional<DeltaRuleConfig> given = {}, bool exact = false) {
  const std::int64_t m = inputs.tokens(), heads = problem.heads, ofV = problem.v_heads,
                     n = std::ssize(inputs.lengths),
                     channels = problem.by_channel ? problem.key : 1;
  const DeltaRuleConfig config = given ? *given : fk::choose(problem, m);
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const auto in = [&](fx::DType dtype, std::int64_t rows, std::int64_t columns,
                      const std::vector<double> &values, std::int64_t gap = 0) {
    return Operand::input(dtype, rows, columns, values, gap);
  };
  const std::int64_t gap = 8;
  const bool steps = problem.decay == fk::DecayGate::softplus,
             hasBeta = problem.strength != fk::UpdateStrength::step;
  const Operand q = in(problem.x, m * heads, problem.key, inputs.q, gap),
                k = in(problem.x, m * heads, problem.key, inputs.k, 2 * gap),
                v = in(problem.x, m * ofV, problem.value, inputs.v, gap),
                g = problem.by_channel ? in(problem.gate, m * ofV, channels, inputs.g, gap)
                                       : in(problem.gate, m, ofV, inputs.g, 3),
                beta = in(problem.gate, hasBeta ? m : 0, ofV, inputs.beta),
                a = in(fx::f32, 1, steps ? ofV : 0, inputs.a),
                bias = problem.by_channel ? in(fx::f32, steps ? ofV : 0, channels, inputs.bias)
                                          : in(fx::f32, 1, steps ? ofV : 0, inputs.bias),
                skip = in(fx::f32, 1, problem.skip ? ofV : 0, inputs.skip),
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
      .g = problem.by_channel ? headed(g, m, ofV, channels) : g.tensor(),
      .starts = from.vector(),
      .state = fx::tensor(state.tensor().data(), fx::f32,
                          {inputs.states, ofV, problem.key, problem.value},
                          {ofV * row, row, problem.value, 1}),
      .state_slots = places.vector(),
      .y = headed(y, m, ofV, problem.value),
  };
  if (hasBeta)
    args.beta = beta.tensor();
  if (problem.fresh)
    args.fresh = fresh.vector();
  if (steps) {
    args.a = a.vector();
    args.dt_bias = problem.by_channel ? bias.tensor() : bias.vector();
  }
  if (problem.skip)
    args.skip = skip.vector();
  const fx::Stream stream;
  fk::DeltaRulePlan(problem, config)(args, stream);
  stream.synchronize();

  DeltaReference reference(problem, config, inputs);
  if (exact) {
    std::fill(reference.yBound.begin(), reference.yBound.end(), 0);
    std::fill(reference.stateBound.begin(), reference.stateBound.end(), 0);
  }
  expectWithin(y.values(), reference.y, reference.yBound);
  expectWithin(state.values(), reference.state, reference.stateBound);
}

/// The chunked form with so many waves.
inline DeltaRuleConfig chunksOf(int waves) {
  const int wave = fx::Device::current().target().wave_size();
  return {.key_lanes = wave, .block = waves * wave, .chunks = true};
}

} // namespace kernel_tests
