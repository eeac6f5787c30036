#include "depthwise_conv/depthwise_conv_family.h"

#include "blocks/facts/gpu_size.h"
#include "blocks/quant/quant_rules.h"
#include "conv/image_sizes.h"
#include "frame/arguments.h"

#include <bit>
#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Depthwise = Family<DepthwiseConvProblem>;
using std::to_string;

constexpr int kMostMultiplier = 64, kMostOutputs = 16;
/// Sums of a thread, in registers.
constexpr int kMostSums = 64;

/// The most channels of a thread: 16 bytes of the widest operand.
int mostChannels(const DepthwiseConvProblem &problem) {
  int bytes = 2;
  for (const DType type : {problem.x, problem.y, problem.weight})
    bytes = std::max(bytes, type.bytes());
  int most = 16 / bytes;
  while (problem.channels % most || (most > 1 && most * problem.multiplier > kMostSums))
    most /= 2;
  return most;
}
/// The runs of an image, of so many elements of y each.
std::int64_t runsOfImage(const ImageSizes &sizes, int outputs) {
  return sizes.y[0] * sizes.y[1] * ((sizes.y[2] + outputs - 1) / outputs);
}

} // namespace

Support Depthwise::supported(const DepthwiseConvProblem &problem, const Target &) {
  const Support basic = firstRefusal(
      {floatSupported("x", problem.x), floatSupported("weight", problem.weight),
       floatSupported("y", problem.y), axesSupported(problem.rank, workOf(problem).axes),
       rangeSupported("channels", problem.channels, 1, kMostChannels),
       rangeSupported("multiplier", problem.multiplier, 1, kMostMultiplier)});
  return basic;
}

Support Depthwise::supported(const DepthwiseConvProblem &problem, const DepthwiseConvConfig &config,
                             const Target &target) {
  if (const Support fits = blockSupported(config.block, target); !fits)
    return fits;
  const int most = mostChannels(problem);
  if (config.channels < 1 || config.channels > most ||
      !std::has_single_bit(static_cast<unsigned>(config.channels)))
    return Support::no(is("channels", config.channels) +
                       " of a thread; it is a power of two up to " + to_string(most));
  if (config.outputs < 1 || config.outputs > kMostOutputs ||
      !std::has_single_bit(static_cast<unsigned>(config.outputs)))
    return Support::no(is("outputs", config.outputs) + "; it is a power of two up to " +
                       to_string(kMostOutputs));
  const int sums = config.channels * config.outputs * problem.multiplier;
  if (sums > kMostSums)
    return Support::no("a thread has " + to_string(sums) + " sums; it has at most " +
                       to_string(kMostSums));
  return {};
}

DepthwiseConvConfig Depthwise::choose(const DepthwiseConvProblem &problem, std::int64_t m,
                                      const Target &target) {
  // A run of 4 reads what its windows share once, and the filters too; where threads are few, shorter
  // runs keep more of them at work: 256 for each compute unit.
  DepthwiseConvConfig config{.channels = mostChannels(problem)};
  const std::int64_t wanted = 256 * gpuSize(target)->computeUnits,
                     pieces = problem.channels / config.channels;
  while (config.outputs > 1 &&
         (config.channels * config.outputs * problem.multiplier > kMostSums / 2 ||
          (m + config.outputs - 1) / config.outputs * pieces < wanted))
    config.outputs /= 2;
  return config;
}

std::vector<DepthwiseConvConfig> Depthwise::candidates(const DepthwiseConvProblem &problem,
                                                       std::int64_t, const Target &target) {
  std::vector<DepthwiseConvConfig> all;
  for (int channels = mostChannels(problem); channels >= 1; channels /= 2)
    for (const int outputs : {1, 2, 4, 8})
      for (const int block : {64, 256})
        if (const DepthwiseConvConfig config{channels, outputs, block};
            supported(problem, config, target))
          all.push_back(config);
  return all;
}

void Depthwise::launch(const Call<DepthwiseConvProblem> &call) {
  const DepthwiseConvProblem &problem = call.problem;
  const DepthwiseConvConfig &config = call.config;
  const DepthwiseConvArgs &args = call.args;
  const Arguments arguments(FamilyOf<DepthwiseConvProblem>::name, call.where);
  const ImageWork work = workOf(problem);
  const ImageSizes sizes = imageSizes(arguments, work, args.x, args.y);
  const DepthwiseThreads threads(problem, config);
  const std::int64_t ofImage = runsOfImage(sizes, config.outputs), runs = sizes.images * ofImage,
                     filters = problem.filters();
  static constexpr const char *kReason = "as many channels are moved at a time";
  arguments.check(args.x, imagesOfX(problem.x, work, sizes, problem.channels,
                                    (threads.runs - 1) / ofImage + 2, config.channels, kReason));
  static constexpr const char *kOfWeight[] = {"kw, filters", "kh, kw, filters",
                                              "kd, kh, kw, filters"};
  const auto taps = [&](std::size_t axis) { return std::int64_t{work.axes[axis].kernel}; };
  const char *modes = kOfWeight[problem.rank - 1];
  const Shape ofWeight = problem.rank == 1   ? Shape(modes, taps(2), filters)
                         : problem.rank == 2 ? Shape(modes, taps(1), taps(2), filters)
                                             : Shape(modes, taps(0), taps(1), taps(2), filters);
  arguments.check(args.weight, {.name = "weight",
                                .dtype = problem.weight,
                                .shape = ofWeight,
                                .align = config.channels,
                                .reason = kReason});
  arguments.check(args.y, {.name = "y",
                           .dtype = problem.y,
                           .shape = imageShape(problem.rank, kOfY[problem.rank - 1], sizes.images,
                                               sizes.y, filters),
                           .use = Use::written,
                           .align = config.channels,
                           .reason = kReason});
  arguments.checkIf(problem.bias, args.bias,
                    {.name = "bias",
                     .dtype = problem.y,
                     .shape = {"filters", filters},
                     .align = config.channels,
                     .reason = kReason});
  arguments.expectApart();
  if (runs == 0)
    return;
  const std::int64_t blocks = (runs + threads.runs - 1) / threads.runs * threads.ofRun;
  if (blocks > std::numeric_limits<std::int32_t>::max())
    arguments.fail("y takes " + to_string(blocks) +
                   " blocks; a grid has at most 2147483647. Give fewer images a call");
  DepthwiseConvParams<OnHost> params{};
  params.x = stridesOfX(work, args.x);
  params.weight = operandOf<0>(args.weight);
  params.y = operandOf<0>(args.y);
  params.bias.address = address(args.bias);
  for (std::size_t axis = 0; axis < sizes.x.size(); ++axis) {
    params.in[axis] = static_cast<std::int32_t>(sizes.x[axis]);
    params.out[axis] = static_cast<std::int32_t>(sizes.y[axis]);
  }
  params.images = static_cast<std::int32_t>(sizes.images);
  params.m = static_cast<std::int32_t>(sizes.elements());
  call.launches.at(0, kDepthwiseConv)(call.on(blocks, config.block), call.where, params);
}

DepthwiseConvArgs Depthwise::args(const DepthwiseConvProblem &problem, const DepthwiseConvConfig &,
                                  std::int64_t m, const Sampler &sampler) {
  const ImageWork work = workOf(problem);
  const ImageSizes sizes = sampledSizes(work, m);
  const std::int64_t filters = problem.filters();
  const auto taps = [&](std::size_t axis) { return std::int64_t{work.axes[axis].kernel}; };
  const Extents ofWeight = problem.rank == 1   ? Extents{taps(2), filters}
                           : problem.rank == 2 ? Extents{taps(1), taps(2), filters}
                                               : Extents{taps(0), taps(1), taps(2), filters};
  return {
      .x =
          sampler("x", problem.x,
                  imageExtents(problem.rank, sizes.images, sizes.x, problem.channels), Role::input),
      .weight = sampler("weight", problem.weight, ofWeight, Role::input),
      .bias = sampleIf(problem.bias, sampler, "bias", problem.y, Extents{filters}),
      .y = sampler("y", problem.y, imageExtents(problem.rank, sizes.images, sizes.y, filters),
                   Role::output),
  };
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(DepthwiseConvProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
