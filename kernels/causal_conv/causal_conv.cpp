#include "causal_conv/causal_conv_family.h"

#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Conv = Family<CausalConvProblem>;

constexpr int kMostChannels = 1 << 20, kMostWidth = 8, kMostDrafts = 15, kMostTokens = 64;
/// Filters, and the tokens of a run, stay in registers: channels of a thread times taps.
constexpr int kMostTapsOfThread = 32;

/// The most channels of a thread: 16 bytes of the widest operand.
int mostChannels(const CausalConvProblem &problem) {
  int bytes = 2;
  for (const DType type : {problem.x, problem.y, problem.weight, problem.state})
    bytes = std::max(bytes, type.bytes());
  const auto taps = static_cast<int>(std::bit_ceil(static_cast<unsigned>(problem.width)));
  return std::min({16 / bytes, alignOf(problem), kMostTapsOfThread / taps});
}

/// The operands of a call, checked, as the kernel takes them.
class Operands {
public:
  explicit Operands(const Call<CausalConvProblem> &call)
      : arguments_(FamilyOf<CausalConvProblem>::name, call.where) {
    const CausalConvProblem &problem = call.problem;
    const CausalConvArgs &args = call.args;
    const std::int64_t m = arguments_.rows(args.x, "x"), channels = problem.channels,
                       align = call.config.channels;
    tokens_ = m;
    const auto ofTokens = [&](const char *name, DType dtype, Use use) {
      return Expected{.name = name,
                      .dtype = dtype,
                      .shape = {"m, channels", m, channels},
                      .free = 1,
                      .use = use,
                      .align = align};
    };
    params.x = arguments_.operand<1>(args.x, ofTokens("x", problem.x, Use::read));
    params.y = arguments_.operand<1>(args.y, ofTokens("y", problem.y, Use::written));
    params.weight =
        arguments_.operand<0>(args.weight, {.name = "weight",
                                            .dtype = problem.weight,
                                            .shape = {"channels, width", channels, problem.width},
                                            .align = align});
    params.bias = arguments_.operandIf<0>(
        problem.bias, args.bias,
        {.name = "bias", .dtype = problem.weight, .shape = {"channels", channels}, .align = align});
    sequences_ = leading(args.starts, "starts") - 1;
    if (sequences_ < 0)
      arguments_.fail("starts is empty; (n + 1) numbers are expected for n sequences");
    const std::int64_t n = sequences_;
    params.starts = arguments_.operand<0>(
        args.starts, {.name = "starts", .dtype = i32, .shape = {"n + 1", n + 1}});
    const auto bySequence = [&](const char *name, DType dtype) {
      return Expected{.name = name, .dtype = dtype, .shape = {"n", n}};
    };
    if (arguments_.given(args.state, "state", !problem.stateless))
      params.state = arguments_.operand<2>(*args.state, ofState(problem, *args.state, align));
    params.stateSlots = arguments_.operandIf<0>(!problem.stateless, args.state_slots,
                                                bySequence("state_slots", i32));
    params.fresh = arguments_.operandIf<0>(problem.fresh, args.fresh, bySequence("fresh", u8));
    params.accepted =
        arguments_.operandIf<0>(problem.drafts > 0, args.accepted, bySequence("accepted", i32));
    params.tokens = static_cast<std::int32_t>(m);
    params.sequences = static_cast<std::int32_t>(n);
    arguments_.expectApart();
  }
  /// The blocks of `tokens` tokens that there may be at most: where sequences start is in device
  /// memory. Sequence i has those from number starts[i] / tokens + i on.
  std::int64_t runs(int tokens) const { return tokens_ / tokens + sequences_; }
  bool isEmpty() const { return tokens_ == 0 || sequences_ == 0; }

  CausalConvParams<OnHost> params{};

private:
  Expected ofState(const CausalConvProblem &problem, const TensorArg &state, std::int64_t align) {
    const std::int64_t slots = leading(state, "state"), columns = columnsOf(problem),
                       channels = problem.channels;
    params.slots = slots;
    const bool channelsLast = problem.order == ConvStateOrder::channels_last;
    return {.name = "state",
            .dtype = problem.state,
            .shape = channelsLast ? Shape{"slots, columns, channels", slots, columns, channels}
                                  : Shape{"slots, channels, columns", slots, channels, columns},
            .free = channelsLast ? 2 : 1,
            .use = Use::written,
            .align = align};
  }
  /// The extent of the first mode, which a 32-bit index must reach.
  std::int64_t leading(const TensorArg &tensor, const char *name) const {
    if (tensor.rank() == 0)
      arguments_.fail(std::string(name) + " has no modes");
    const std::int64_t extent = tensor.shape()[0];
    if (extent > kMostRowsOfCall)
      arguments_.fail(is(name, extent) + " long; " + std::to_string(kMostRowsOfCall) +
                      " is the most");
    return extent;
  }

  Arguments arguments_;
  std::int64_t tokens_ = 0, sequences_ = 0;
};

} // namespace

Support Conv::supported(const CausalConvProblem &problem, const Target &) {
  const Support basic = firstRefusal(
      {floatSupported("x", problem.x), floatSupported("y", problem.y),
       floatSupported("weight", problem.weight), floatSupported("state", problem.state),
       rangeSupported("channels", problem.channels, 1, kMostChannels),
       rangeSupported("width", problem.width, 2, kMostWidth),
       rangeSupported("drafts", problem.drafts, 0, kMostDrafts),
       alignSupported(problem.row_align)});
  if (!basic)
    return basic;
  if (problem.row_align && problem.channels % problem.row_align)
    return Support::no(is("channels", problem.channels) + " and " +
                       is("row_align", problem.row_align) +
                       "; a state's columns follow one another, so row_align divides channels");
  if (problem.stateless && problem.fresh)
    return Support::no(
        "fresh and stateless are both true; without a state all sequences are fresh");
  if (problem.stateless && problem.drafts)
    return Support::no(is("drafts", problem.drafts) +
                       " and stateless is true; drafts are kept in a state");
  if (problem.prefill && problem.drafts)
    return Support::no(is("drafts", problem.drafts) +
                       " and prefill is true; a sequence with drafts has few tokens. Prefill takes "
                       "the first width - 1 columns of the same state, without drafts");
  return {};
}

Support Conv::supported(const CausalConvProblem &problem, const CausalConvConfig &config,
                        const Target &target) {
  if (const Support fits = blockSupported(config.block, target); !fits)
    return fits;
  const int most = mostChannels(problem), least = std::max(problem.width - 1, problem.drafts + 1);
  if (config.channels < 1 || config.channels > most ||
      !std::has_single_bit(static_cast<unsigned>(config.channels)))
    return Support::no(is("channels", config.channels) +
                       " of a thread; it is a power of two up to " + std::to_string(most));
  return rangeSupported("tokens", config.tokens, least, kMostTokens);
}

CausalConvConfig Conv::choose(const CausalConvProblem &problem, std::int64_t m,
                              const Target &target) {
  const int wave = target.wave_size(), channels = mostChannels(problem),
            threads = (problem.channels + channels - 1) / channels,
            least = std::max(problem.width - 1, problem.drafts + 1);
  // A run of 16 tokens reads width - 1 of them twice, which caches serve. With fewer tokens than
  // that for each compute unit, shorter runs keep more threads at work.
  const bool isLong = problem.prefill && m >= 1024;
  return {.channels = channels,
          .tokens = std::max(least, isLong            ? 16
                                    : problem.prefill ? 8
                                                      : 4),
          .block = std::clamp((threads + wave - 1) / wave, 1, 4) * wave};
}

std::vector<CausalConvConfig> Conv::candidates(const CausalConvProblem &problem, std::int64_t,
                                               const Target &target) {
  std::vector<CausalConvConfig> all;
  for (int channels = mostChannels(problem); channels >= 1; channels /= 2)
    for (const int tokens : {4, 8, 16, 32})
      for (const int waves : {1, 2, 4})
        all.push_back(
            {.channels = channels, .tokens = tokens, .block = waves * target.wave_size()});
  return all;
}

void Conv::launch(const Call<CausalConvProblem> &call) {
  const Operands operands(call);
  if (operands.isEmpty())
    return;
  const std::int64_t blocks =
      operands.runs(call.config.tokens) * blocksOfRun(call.problem, call.config);
  call.launches.at(0, kCausalConv)(call.on(blocks, call.config.block), call.where, operands.params);
}

CausalConvArgs Conv::args(const CausalConvProblem &problem, const CausalConvConfig &,
                          std::int64_t m, const Sampler &sampler) {
  // A step of m sequences with one token each; or one sequence of m tokens.
  const std::int64_t n = problem.prefill ? 1 : m, channels = problem.channels;
  const bool channelsLast = problem.order == ConvStateOrder::channels_last;
  const std::int64_t columns = columnsOf(problem);
  const Extents tokens{m, channels}, filters{channels, problem.width}, sequences{n}, starts{n + 1},
      vector{channels},
      state{n, channelsLast ? columns : channels, channelsLast ? channels : columns};
  const bool kept = !problem.stateless;
  return {
      .x = sampler("x", problem.x, tokens, Role::input),
      .weight = sampler("weight", problem.weight, filters, Role::input),
      .bias = sampleIf(problem.bias, sampler, "bias", problem.weight, vector),
      .starts = sampler("starts", i32, starts, Role::steps(problem.prefill ? m : 1)),
      .state = sampleIf(kept, sampler, "state", problem.state, state, Role::both),
      .state_slots = sampleIf(kept, sampler, "state_slots", i32, sequences, Role::index),
      .fresh = sampleIf(problem.fresh, sampler, "fresh", u8, sequences, Role::equal(0)),
      .accepted = sampleIf(problem.drafts > 0, sampler, "accepted", i32, sequences, Role::equal(1)),
      .y = sampler("y", problem.y, tokens, Role::output),
  };
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(CausalConvProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
