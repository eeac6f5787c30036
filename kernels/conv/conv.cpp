#include "conv/conv_family.h"

#include "blocks/facts/gpu_size.h"
#include "blocks/products/product_rules.h"
#include "frame/arguments.h"
#include "gemm/gemm_family.h"
#include "gemm/gemm_table.h"

#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Conv = Family<ConvProblem>;
using Gemm = Family<GemmProblem>;
using std::to_string;

constexpr const char *kAxes[kImageModes] = {"depth", "height", "width"};
constexpr int kMostTaps = 64, kMostPadding = 1024, kMostChannels = 1 << 20;

Support axisSupported(const std::string &name, const ConvAxis &axis) {
  return firstRefusal({rangeSupported(name + ".kernel", axis.kernel, 1, kMostTaps),
                       rangeSupported(name + ".stride", axis.stride, 1, kMostTaps),
                       rangeSupported(name + ".dilation", axis.dilation, 1, kMostTaps),
                       rangeSupported(name + ".before", axis.before, 0, kMostPadding),
                       rangeSupported(name + ".after", axis.after, 0, kMostPadding)});
}

/// The first axis that an image of this rank has.
int firstAxis(const ConvProblem &problem) { return kImageModes - problem.rank; }
/// What `make` gives for the extents of images or filters: the axes that a rank has, and what stands
/// before and after them.
template <class Make>
auto ofExtents(const ConvProblem &problem, std::int64_t first,
               const std::array<std::int64_t, kImageModes> &axes, std::int64_t last,
               const Make &make) {
  switch (problem.rank) {
  case 1:
    return make(first, axes[2], last);
  case 2:
    return make(first, axes[1], axes[2], last);
  default:
    return make(first, axes[0], axes[1], axes[2], last);
  }
}
Shape shapeOf(const ConvProblem &problem, const char *modes, std::int64_t first,
              const std::array<std::int64_t, kImageModes> &axes, std::int64_t last) {
  return ofExtents(problem, first, axes, last,
                   [&](auto... extents) { return Shape(modes, extents...); });
}

/// The sizes of a call.
struct Sizes {
  std::int64_t images = 0, m = 0;
  std::array<std::int64_t, kImageModes> in{1, 1, 1}, out{1, 1, 1};
};

Sizes sizesOf(const Arguments &arguments, const ConvProblem &problem, const TensorArg &x) {
  const std::size_t rank = std::size_t(problem.rank) + 2;
  if (x.rank() != int(rank))
    arguments.fail("x has " + to_string(x.rank()) + " modes; a convolution of rank " +
                   to_string(problem.rank) + " takes " + to_string(rank) +
                   ": images, their dimensions, and channels last");
  Sizes sizes;
  sizes.images = sizes.m = x.shape()[0];
  const std::array<ConvAxis, kImageModes> axes = axesOf(problem);
  for (int axis = firstAxis(problem); axis < kImageModes; ++axis) {
    const auto at = std::size_t(axis);
    sizes.in[at] = x.shape()[std::size_t(axis - firstAxis(problem) + 1)];
    sizes.out[at] = axes[at].outputs(sizes.in[at]);
    if (sizes.in[at] > kMostRowsOfCall || sizes.out[at] == 0)
      arguments.fail(std::string(kAxes[at]) + " of x is " + to_string(sizes.in[at]) +
                     "; with its zeros it is at least the " + to_string(axes[at].reach()) +
                     " elements that the taps lie among, and at most 2147483647");
  }
  for (const std::int64_t out : sizes.out) {
    if (sizes.m > kMostRowsOfCall / out)
      arguments.fail("y has more than 2147483647 elements for a filter; give fewer images a call");
    sizes.m *= out;
  }
  return sizes;
}

/// The tiles of the table that fit, from the largest to the smallest.
std::vector<GemmConfig> tilesFor(const ConvProblem &problem, const Target &target) {
  std::vector<GemmConfig> all;
  const GemmProblem product = productOf(problem);
  for (const GemmTile &tile : gemmTiles(target, product, kMostRowsOfCall))
    if (const GemmConfig config = configOf(product, tile); Conv::supported(problem, config, target))
      all.push_back(config);
  return all;
}
std::int64_t blocksOf(const ConvProblem &problem, const GemmConfig &config, std::int64_t m) {
  return problem.groups * config.split_k * tilesOf(productOf(problem), config, m);
}

/// The most parts of K that `choose` makes, and the fewest steps of a part. (FlyDSL: up to 4 parts,
/// where there are fewer tiles than 3/4 of the compute units.)
constexpr int kMostChosenParts = 4, kFewestSteps = 8;

/// The same configuration with K shared by blocks, as many as there are compute units for.
GemmConfig shared(const ConvProblem &problem, const GemmConfig &config, std::int64_t m,
                  const Target &target) {
  const std::int64_t units = gpuSize(target)->computeUnits, k = productOf(problem).k;
  for (int parts = kMostChosenParts; parts > 1; parts /= 2) {
    GemmConfig split = config;
    split.split_k = parts;
    if (blocksOf(problem, split, m) <= units && k >= kFewestSteps * parts * config.tile_k &&
        Conv::supported(problem, split, target))
      return split;
  }
  return config;
}

} // namespace

Support Conv::supported(const ConvProblem &problem, const Target &target) {
  const Support basic =
      firstRefusal({rangeSupported("rank", problem.rank, 1, kImageModes),
                    rangeSupported("channels", problem.channels, 1, kMostChannels),
                    rangeSupported("filters", problem.filters, 1, kMostChannels),
                    rangeSupported("groups", problem.groups, 1, kMostChannels),
                    axisSupported("depth", problem.depth), axisSupported("height", problem.height),
                    axisSupported("width", problem.width)});
  if (!basic)
    return basic;
  for (int axis = 0; axis < firstAxis(problem); ++axis)
    if (!(axesOf(problem)[std::size_t(axis)] == ConvAxis{}))
      return Support::no(std::string(kAxes[axis]) + " is given, and images of rank " +
                         to_string(problem.rank) + " have none");
  if (problem.channels % problem.groups || problem.filters % problem.groups)
    return Support::no(is("groups", problem.groups) + "; it divides channels, " +
                       to_string(problem.channels) + ", and filters, " +
                       to_string(problem.filters));
  const int channels = problem.channels / problem.groups,
            piece = kPieceBytes * 8 / problem.x.memory_bits();
  if (channels % piece)
    return Support::no("a group has " + to_string(channels) + " channels; it has a multiple of " +
                       to_string(piece) + ", because " + kLoadedPieces +
                       ". Pad x and the filters with zeros");
  if (const Support product = Gemm::supported(productOf(problem), target); !product)
    return product;
  if (tilesFor(problem, target).empty())
    return Support::no("no tile of the table fits filters of " + to_string(productOf(problem).k) +
                       " elements");
  return {};
}

Support Conv::supported(const ConvProblem &problem, const GemmConfig &config,
                        const Target &target) {
  if (config.loop != GemmLoop::ring || config.dma)
    return Support::no("windows go through registers into a ring in shared memory: loop is "
                       "GemmLoop::ring, without dma");
  if (config.parts_sum == PartsSum::last_block)
    return Support::no("parts_sum is last_block; a second kernel adds the parts of a convolution");
  const auto rowsOfTile = [&](const char *of, std::int64_t bytes) {
    return bytes * config.tile_m < kMostBufferBytes
               ? Support{}
               : Support::no("the rows of a tile of " + std::string(of) + " span " +
                             to_string(bytes * config.tile_m) + " bytes; they span less than " +
                             to_string(kMostBufferBytes));
  };
  const PartsShape parts = partsOf(problem, config);
  if (const Support rows =
          firstRefusal({rowsOfTile("y", std::int64_t{problem.filters} * problem.y.bytes()),
                        rowsOfTile("the parts of K",
                                   config.split_k == 1 ? 0 : parts.columns() * parts.acc.bytes())});
      !rows)
    return rows;
  return Gemm::supported(productOf(problem), config, target);
}

GemmConfig Conv::choose(const ConvProblem &problem, std::int64_t m, const Target &target) {
  const std::int64_t units = gpuSize(target)->computeUnits, n = productOf(problem).n;
  const std::vector<GemmConfig> tiles = tilesFor(problem, target);
  const GemmConfig *best = nullptr;
  for (const GemmConfig &config : tiles) {
    if (config.tile_m > std::max<std::int64_t>((m + 15) / 16 * 16, 16) ||
        config.tile_n > (n + 63) / 64 * 64)
      continue;
    best = &config;
    if (blocksOf(problem, config, m) >= units)
      break;
  }
  return shared(problem, best ? *best : tiles.back(), m, target);
}

std::vector<GemmConfig> Conv::candidates(const ConvProblem &problem, std::int64_t,
                                         const Target &target) {
  return tilesFor(problem, target);
}

std::int64_t Conv::rows(const A &args) {
  std::int64_t m = 1;
  for (int mode = 0; mode + 1 < args.y.rank(); ++mode)
    m *= args.y.shape()[std::size_t(mode)];
  return m;
}

void Conv::launch(const Call<ConvProblem> &call) {
  const ConvProblem &problem = call.problem;
  const ConvArgs &args = call.args;
  const Arguments arguments(FamilyOf<ConvProblem>::name, call.where);
  const Sizes sizes = sizesOf(arguments, problem, args.x);
  static constexpr const char *kOfX[] = {"n, w, channels", "n, h, w, channels",
                                         "n, d, h, w, channels"};
  static constexpr const char *kOfWeight[] = {"filters, kw, channels", "filters, kh, kw, channels",
                                              "filters, kd, kh, kw, channels"};
  static constexpr const char *kOfY[] = {"n, ow, filters", "n, oh, ow, filters",
                                         "n, od, oh, ow, filters"};
  const auto modes = [&](const auto &names) { return names[problem.rank - 1]; };
  const std::int64_t ofImage = sizes.out[0] * sizes.out[1] * sizes.out[2],
                     images = std::min(sizes.images, (call.config.tile_m - 1) / ofImage + 2);
  Expected x{.name = "x",
             .dtype = problem.x,
             .shape = shapeOf(problem, modes(kOfX), sizes.images, sizes.in, problem.channels),
             .free = problem.rank + 1,
             .align = kPieceBytes * 8 / problem.x.memory_bits(),
             .reason = kLoadedPieces,
             .reach = {.bytes = kMostBufferBytes, .what = "the images of a tile of y"}};
  x.reach.counts[0] = images;
  for (int axis = firstAxis(problem); axis < kImageModes; ++axis)
    x.reach.counts[axis - firstAxis(problem) + 1] = sizes.in[std::size_t(axis)];
  arguments.check(args.x, x);
  const std::array<ConvAxis, kImageModes> axes = axesOf(problem);
  arguments.check(args.weight, {.name = "weight",
                                .dtype = problem.weight,
                                .shape = shapeOf(problem, modes(kOfWeight), problem.filters,
                                                 {axes[0].kernel, axes[1].kernel, axes[2].kernel},
                                                 problem.channels / problem.groups),
                                .align = kPieceBytes * 8 / problem.weight.memory_bits(),
                                .reason = kLoadedPieces});
  const int together = storedTogether(productOf(problem).n);
  arguments.check(args.y,
                  {.name = "y",
                   .dtype = problem.y,
                   .shape = shapeOf(problem, modes(kOfY), sizes.images, sizes.out, problem.filters),
                   .use = Use::written,
                   .align = together,
                   .reason = kStoredGroups});
  arguments.checkIf(problem.bias, args.bias,
                    {.name = "bias",
                     .dtype = problem.y,
                     .shape = {"filters", problem.filters},
                     .align = together,
                     .reason = kStoredGroups});
  arguments.disjoint(args.y, "y", args.x, "x");
  arguments.disjoint(args.y, "y", args.weight, "weight");
  const std::int64_t workspace =
      arguments.workspace(args.workspace, workspaceBytes(problem, call.config, sizes.m));
  if (workspace)
    arguments.disjoint(args.y, "y", *args.workspace, "workspace");
  if (sizes.m == 0)
    return;
  const std::int64_t blocks = blocksOf(problem, call.config, sizes.m);
  if (blocks > std::numeric_limits<std::int32_t>::max())
    arguments.fail("y has " + to_string(blocks) + " tiles; a grid has at most 2147483647");
  ConvParams<OnHost> params{};
  params.x.address = address(args.x);
  params.x.stride[0] = strideOf(args.x, 0);
  for (int axis = 0; axis < kImageModes; ++axis) {
    const auto at = std::size_t(axis);
    params.in[at] = static_cast<std::int32_t>(sizes.in[at]);
    params.out[at] = static_cast<std::int32_t>(sizes.out[at]);
    if (axis >= firstAxis(problem))
      params.x.stride[at + 1] = strideOf(args.x, axis - firstAxis(problem) + 1);
  }
  params.weight = operandOf<0>(args.weight);
  params.y = operandOf<0>(args.y);
  params.bias.address = address(args.bias);
  params.images = static_cast<std::int32_t>(sizes.images);
  params.m = static_cast<std::int32_t>(sizes.m);
  params.parts.address = workspace;
  const LaunchConfig all = call.on(blocks, call.config.threads);
  if (call.config.split_k == 1)
    return call.launches.at(0, kConv)(all, call.where, params);
  call.launches.at(0, kConvParts)(all, call.where, params);
  const std::int64_t sums =
      problem.groups * ((sizes.m + kSumTileM - 1) / kSumTileM) * sumTilesAcross(productOf(problem));
  call.launches.at(1, kConvSum)(call.on(sums, kSumThreads), call.where, params);
}

ConvArgs Conv::args(const ConvProblem &problem, const GemmConfig &config, std::int64_t m,
                    const Sampler &sampler) {
  // One image, or none, whose last dimension has as many elements as make up m.
  const std::array<ConvAxis, kImageModes> axes = axesOf(problem);
  std::array<std::int64_t, kImageModes> in{1, 1, 1}, out{1, 1, 1};
  const auto least = [&](const ConvAxis &axis, std::int64_t outputs) {
    return std::max<std::int64_t>(1, (outputs - 1) * axis.stride + axis.reach() - axis.before -
                                         axis.after);
  };
  std::int64_t others = 1;
  for (int axis = firstAxis(problem); axis + 1 < kImageModes; ++axis) {
    const auto at = std::size_t(axis);
    in[at] = least(axes[at], 1);
    out[at] = axes[at].outputs(in[at]);
    others *= out[at];
  }
  in[2] = least(axes[2], std::max<std::int64_t>(1, (m + others - 1) / others));
  out[2] = axes[2].outputs(in[2]);
  const auto extents = [&](std::int64_t first,
                           const std::array<std::int64_t, kImageModes> &dimensions,
                           std::int64_t last) {
    return ofExtents(problem, first, dimensions, last,
                     [](auto... extents) { return Extents{extents...}; });
  };
  const std::int64_t images = m ? 1 : 0;
  return {
      .x = sampler("x", problem.x, extents(images, in, problem.channels), Role::input),
      .weight = sampler("weight", problem.weight,
                        extents(problem.filters, {axes[0].kernel, axes[1].kernel, axes[2].kernel},
                                problem.channels / problem.groups),
                        Role::input),
      .bias = sampleIf(problem.bias, sampler, "bias", problem.y, Extents{problem.filters}),
      .y = sampler("y", problem.y, extents(images, out, problem.filters), Role::output),
      .workspace = sampleIf(config.split_k > 1, sampler, "workspace", u8,
                            Extents{static_cast<std::int64_t>(workspaceBytes(
                                problem, config, images * out[0] * out[1] * out[2]))},
                            Role::workspace),
  };
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(ConvProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
