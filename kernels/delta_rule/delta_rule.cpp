#include "delta_rule/chunk_shape.h"

#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

#include <bit>
#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Delta = Family<DeltaRuleProblem>;

constexpr int kLargestKey = 256, kLargestValue = 512, kMostHeads = 65535;
/// The most rows of a state that a lane holds: 128 registers, which leave room for k and q.
constexpr int kMostRowsOfLane = 32;

Support sizeSupported(const char *name, int size, int most) {
  if (size >= 16 && size <= most && size % 16 == 0)
    return {};
  return Support::no(is(name, size) + "; it is a multiple of 16 from 16 to " +
                     std::to_string(most));
}

Support chunksSupported(const DeltaRuleProblem &problem, const DeltaRuleConfig &config,
                        const Target &target) {
  const auto form = problem.x == f32 ? std::nullopt : chunkForm(problem, target);
  if (!form || problem.key % 128)
    return Support::no(is("key", problem.key) + " and x of type " + std::string(problem.x.name()) +
                       "; chunks take keys of 128 or 256 elements of f16 or bf16");
  if (problem.by_channel && problem.key != 128)
    return Support::no(is("key", problem.key) +
                       " and by_channel is true; chunks of such decays take keys of 128 elements");
  // 8 elements of a token at a time; all threads have as many.
  const int wave = target.wave_size(), pieces = ChunkShape::tokensOf(*form) * problem.key / 8;
  if (config.key_lanes != wave || pieces % config.block)
    return Support::no(is("key_lanes", config.key_lanes) + " and " + is("block", config.block) +
                       "; in chunks key_lanes is " + std::to_string(wave) + ", and block divides " +
                       std::to_string(pieces));
  if (const std::int64_t bytes = ChunkShape(problem, config, *form).bytes(target),
      most = static_cast<std::int64_t>(target.lds_bytes());
      bytes > most)
    return Support::no("a chunk takes " + std::to_string(bytes) + " bytes of shared memory; " +
                       target.name() + " has " + std::to_string(most) +
                       ", and the recurrent form takes none");
  return {};
}

/// Whether what makes the gates fits together.
Support gatesSupported(const DeltaRuleProblem &problem) {
  const bool steps = problem.decay == DecayGate::softplus;
  const auto finite = [](double value) {
    return value >= 0 && std::isfinite(static_cast<float>(value));
  };
  if (problem.strength == UpdateStrength::step && !steps)
    return Support::no("strength is step; the step dt is made with decay=softplus");
  if (problem.strength == UpdateStrength::step && problem.by_channel)
    return Support::no("strength is step and by_channel is true; a head has one step then");
  if (!finite(problem.dt_min) || !finite(problem.dt_max) ||
      (problem.dt_max > 0 && problem.dt_max < problem.dt_min))
    return Support::no("dt_min is " + std::to_string(problem.dt_min) + " and dt_max is " +
                       std::to_string(problem.dt_max) +
                       "; they are finite, at least 0, and dt_max is 0 for no limit or at least "
                       "dt_min");
  if (!steps && (problem.dt_min != 0 || problem.dt_max != 0))
    return Support::no("dt_min or dt_max is given; they are limits of the step, which is made with "
                       "decay=softplus");
  if (!std::isfinite(static_cast<float>(problem.scale)))
    return Support::no("scale is " + std::to_string(problem.scale) + "; it is finite");
  return {};
}

/// The operands of a call, checked, as the kernel takes them.
class Operands {
public:
  explicit Operands(const Call<DeltaRuleProblem> &call)
      : arguments_(FamilyOf<DeltaRuleProblem>::name, call.where) {
    const DeltaRuleProblem &problem = call.problem;
    const DeltaRuleArgs &args = call.args;
    const std::int64_t m = leading(args.q, "q"), heads = problem.heads, ofV = problem.v_heads;
    sequences_ = leading(args.state_slots, "state_slots");
    params.slots = leading(args.state, "state");
    params.tokens = static_cast<std::int32_t>(m);
    const auto ofTokens = [&](const char *name, DType dtype, const Shape &shape, Use use) {
      return Expected{.name = name,
                      .dtype = dtype,
                      .shape = shape,
                      .free = 2,
                      .use = use,
                      .align = kDeltaAlign,
                      .reason = kPieces};
    };
    const auto gates = [&](const char *name) {
      return Expected{
          .name = name, .dtype = problem.gate, .shape = {"m, v_heads", m, ofV}, .free = 1};
    };
    const auto ofHeads = [&](const char *name) {
      return Expected{.name = name, .dtype = f32, .shape = {"v_heads", ofV}};
    };
    const bool steps = problem.decay == DecayGate::softplus;
    const Shape keys{"m, heads, key", m, heads, problem.key},
        values{"m, v_heads, value", m, ofV, problem.value};
    params.q = arguments_.operand<2>(args.q, ofTokens("q", problem.x, keys, Use::read));
    params.k = arguments_.operand<2>(args.k, ofTokens("k", problem.x, keys, Use::read));
    params.v = arguments_.operand<2>(args.v, ofTokens("v", problem.x, values, Use::read));
    params.y = arguments_.operand<2>(args.y, ofTokens("y", problem.y, values, Use::written));
    params.g = arguments_.operand<2>(
        args.g, problem.by_channel ? ofTokens("g", problem.gate,
                                              {"m, v_heads, key", m, ofV, problem.key}, Use::read)
                                   : gates("g"));
    params.beta =
        arguments_.operandIf<1>(problem.strength != UpdateStrength::step, args.beta, gates("beta"));
    params.a = arguments_.operandIf<0>(steps, args.a, ofHeads("a"));
    params.dtBias = arguments_.operandIf<0>(
        steps, args.dt_bias,
        problem.by_channel ? Expected{.name = "dt_bias",
                                      .dtype = f32,
                                      .shape = {"v_heads, key", ofV, problem.key},
                                      .align = kDeltaAlign,
                                      .reason = kPieces}
                           : ofHeads("dt_bias"));
    params.skip = arguments_.operandIf<0>(problem.skip, args.skip, ofHeads("skip"));
    params.state = arguments_.operand<2>(
        args.state,
        {.name = "state",
         .dtype = f32,
         .shape = {"slots, v_heads, key, value", params.slots, ofV, problem.key, problem.value},
         .free = 2,
         .use = Use::written,
         .align = kDeltaAlign,
         .reason = kPieces});
    params.stateSlots = arguments_.operand<0>(
        args.state_slots, {.name = "state_slots", .dtype = i32, .shape = {"n", sequences_}});
    params.starts = arguments_.operand<0>(
        args.starts, {.name = "starts", .dtype = i32, .shape = {"n + 1", sequences_ + 1}});
    params.fresh = arguments_.operandIf<0>(
        problem.fresh, args.fresh, {.name = "fresh", .dtype = u8, .shape = {"n", sequences_}});
    arguments_.expectApart();
  }
  std::int64_t sequences() const { return sequences_; }

  DeltaRuleParams<OnHost> params{};

private:
  static constexpr const char *kPieces = "a lane loads four neighbours at a time";
  /// The extent of the first mode, which a 32-bit index must reach.
  std::int64_t leading(const TensorArg &tensor, const char *name) const {
    const std::int64_t extent = tensor.shape()[0];
    if (extent > 0x7fffffff)
      arguments_.fail(is(name, extent) + " long; 2147483647 is the most");
    return extent;
  }

  Arguments arguments_;
  std::int64_t sequences_ = 0;
};

} // namespace

Support Delta::supported(const DeltaRuleProblem &problem, const Target &) {
  const Support basic = firstRefusal(
      {floatSupported("x", problem.x), floatSupported("y", problem.y),
       floatSupported("gate", problem.gate), sizeSupported("key", problem.key, kLargestKey),
       sizeSupported("value", problem.value, kLargestValue), gatesSupported(problem)});
  if (!basic)
    return basic;
  if (problem.key > kMostRowsOfLane * 4 && problem.key % 32)
    return Support::no(is("key", problem.key) + "; above " + std::to_string(kMostRowsOfLane * 4) +
                       " it is a multiple of 32");
  if (problem.heads < 1 || problem.v_heads < problem.heads || problem.v_heads % problem.heads ||
      problem.v_heads > kMostHeads)
    return Support::no(is("heads", problem.heads) + " and " + is("v_heads", problem.v_heads) +
                       "; v_heads is a multiple of heads, up to " + std::to_string(kMostHeads));
  return {};
}

Support Delta::supported(const DeltaRuleProblem &problem, const DeltaRuleConfig &config,
                         const Target &target) {
  if (const Support fits = blockSupported(config.block, target); !fits)
    return fits;
  if (config.chunks)
    return chunksSupported(problem, config, target);
  const int wave = target.wave_size();
  if (config.key_lanes < 1 || config.key_lanes > wave ||
      !std::has_single_bit(static_cast<unsigned>(config.key_lanes)) ||
      problem.key % config.key_lanes || problem.key / config.key_lanes > kMostRowsOfLane ||
      problem.key / config.key_lanes % 4)
    return Support::no(is("key_lanes", config.key_lanes) + "; it is a power of two up to " +
                       std::to_string(wave) + ", and each lane has a multiple of 4 of the " +
                       std::to_string(problem.key) + " rows, at most " +
                       std::to_string(kMostRowsOfLane));
  return {};
}

DeltaRuleConfig Delta::choose(const DeltaRuleProblem &problem, std::int64_t, const Target &target) {
  const DeltaRuleConfig chunked{
      .key_lanes = target.wave_size(), .block = 4 * target.wave_size(), .chunks = true};
  if (problem.prefill && supported(problem, chunked, target))
    return chunked;
  // Rows of a state in whole lines of 128 bytes, if the registers hold what a lane then has.
  int lanes = std::max(4, target.wave_size() / 8);
  while (problem.key / lanes > kMostRowsOfLane / 2)
    lanes *= 2;
  while (problem.key % lanes || problem.key / lanes % 4)
    lanes /= 2;
  // As many waves as have columns, up to four.
  const int wave = target.wave_size(), columns = wave / lanes * kDeltaColumns,
            waves = std::clamp((problem.value + columns - 1) / columns, 1, 4);
  return {.key_lanes = lanes, .block = waves * wave};
}

std::vector<DeltaRuleConfig> Delta::candidates(const DeltaRuleProblem &problem, std::int64_t,
                                               const Target &target) {
  std::vector<DeltaRuleConfig> all;
  for (int lanes : {4, 8, 16})
    for (int waves : {1, 2, 4})
      all.push_back({.key_lanes = lanes, .block = waves * target.wave_size()});
  // With a state of long keys, a wave has no registers to bring more than a quarter of a chunk; with
  // decays of channels, for no more than half of one.
  for (int waves = problem.key > 128 ? 4 : problem.by_channel ? 2 : 1; waves <= 8; waves *= 2)
    all.push_back(
        {.key_lanes = target.wave_size(), .block = waves * target.wave_size(), .chunks = true});
  return all;
}

void Delta::launch(const Call<DeltaRuleProblem> &call) {
  const Operands operands(call);
  if (operands.sequences() == 0)
    return;
  const Dim3 grid(blocksOfHead(call.problem, call.config), call.problem.v_heads,
                  operands.sequences());
  call.launches.at(0, kDeltaRule)(call.on(grid, call.config.block), call.where, operands.params);
}

DeltaRuleArgs Delta::args(const DeltaRuleProblem &problem, const DeltaRuleConfig &, std::int64_t m,
                          const Sampler &sampler) {
  // A step of m sequences with one token each; or one sequence of m tokens.
  const std::int64_t n = problem.prefill ? 1 : m;
  const bool steps = problem.decay == DecayGate::softplus;
  const Extents ofQ{m, problem.heads, problem.key}, ofV{m, problem.v_heads, problem.value},
      gates{m, problem.v_heads}, channels{m, problem.v_heads, problem.key},
      ofHeads{problem.v_heads}, biases{problem.v_heads, problem.key},
      state{n, problem.v_heads, problem.key, problem.value}, sequences{n}, starts{n + 1};
  return {
      .q = sampler("q", problem.x, ofQ, Role::input),
      .k = sampler("k", problem.x, ofQ, Role::input),
      .v = sampler("v", problem.x, ofV, Role::input),
      .g = sampler("g", problem.gate, problem.by_channel ? channels : gates, Role::input),
      .beta =
          sampleIf(problem.strength != UpdateStrength::step, sampler, "beta", problem.gate, gates),
      .starts = sampler("starts", i32, starts, Role::steps(problem.prefill ? m : 1)),
      .state = sampler("state", f32, state, Role::both),
      .state_slots = sampler("state_slots", i32, sequences, Role::index),
      .fresh = sampleIf(problem.fresh, sampler, "fresh", u8, sequences, Role::equal(0)),
      .a = sampleIf(steps, sampler, "a", f32, ofHeads, Role::equal(-1)),
      .dt_bias = sampleIf(steps, sampler, "dt_bias", f32, problem.by_channel ? biases : ofHeads),
      .skip = sampleIf(problem.skip, sampler, "skip", f32, ofHeads),
      .y = sampler("y", problem.y, ofV, Role::output),
  };
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(DeltaRuleProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
