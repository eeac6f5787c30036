#include "conv/conv_family.h"

#include "blocks/facts/gpu_size.h"
#include "blocks/products/product_rules.h"
#include "conv/image_reach.h"
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

/// The rows of an image along each dimension: elements of y; of a transposed convolution those of a
/// phase; images have as many of them as fill the largest one.
std::array<std::int64_t, kImageModes> rowsOf(const ImageWork &work, const ImageSizes &sizes) {
  std::array<std::int64_t, kImageModes> rows;
  for (std::size_t axis = 0; axis < rows.size(); ++axis)
    rows[axis] = (sizes.y[axis] + work.phases(axis) - 1) / work.phases(axis);
  return rows;
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
/// The blocks of so many rows of the product.
std::int64_t blocksOf(const ConvProblem &problem, const GemmConfig &config, std::int64_t rows) {
  return std::int64_t{problem.groups} * phasesOf(problem) * config.split_k *
         tilesOf(productOf(problem), config, rows);
}
/// About as many rows as there are for m elements of y.
std::int64_t rowsFor(const ConvProblem &problem, std::int64_t m) {
  return (m + phasesOf(problem) - 1) / phasesOf(problem);
}

/// The most parts of K that `choose` makes, and the fewest steps of a part. (FlyDSL: up to 4 parts,
/// where there are fewer tiles than 3/4 of the compute units.)
constexpr int kMostChosenParts = 4, kFewestSteps = 8;

/// The same configuration with K shared by blocks, as many as there are compute units for.
GemmConfig shared(const ConvProblem &problem, const GemmConfig &config, std::int64_t rows,
                  const Target &target) {
  const std::int64_t units = gpuSize(target)->computeUnits, k = productOf(problem).k;
  for (int parts = kMostChosenParts; parts > 1; parts /= 2) {
    GemmConfig split = config;
    split.split_k = parts;
    if (blocksOf(problem, split, rows) <= units && k >= kFewestSteps * parts * config.tile_k &&
        Conv::supported(problem, split, target))
      return split;
  }
  return config;
}

} // namespace

Support Conv::supported(const ConvProblem &problem, const Target &target) {
  const Support basic =
      firstRefusal({axesSupported(problem.rank, axesOf(problem)),
                    rangeSupported("channels", problem.channels, 1, kMostChannels),
                    rangeSupported("filters", problem.filters, 1, kMostChannels),
                    rangeSupported("groups", problem.groups, 1, kMostChannels)});
  if (!basic)
    return basic;
  if (problem.channels % problem.groups || problem.filters % problem.groups)
    return Support::no(is("groups", problem.groups) + "; it divides channels, " +
                       to_string(problem.channels) + ", and filters, " +
                       to_string(problem.filters));
  if (problem.scale_x != Scales::none && problem.scale_x != Scales::per_tensor)
    return Support::no("scale_x has scales of rows or blocks; a convolution takes none, or "
                       "Scales::per_tensor");
  if (problem.scale_weight != Scales::none && problem.scale_weight != Scales::per_tensor &&
      problem.scale_weight != Scales::per_row)
    return Support::no("scale_weight has scales of blocks; a convolution takes none, "
                       "Scales::per_tensor, or Scales::per_row, one for each filter");
  // Products have no such operands, and their refusal names the types that they have.
  if (problem.x.memory_bits() < 8)
    return Gemm::supported(productOf(problem), target);
  const int channels = problem.channels / problem.groups,
            piece = kPieceBytes * 8 / problem.x.memory_bits();
  if (channels % piece)
    return Support::no("a group has " + to_string(channels) + " channels; it has a multiple of " +
                       to_string(piece) + ", because " + kLoadedPieces +
                       ". Pad x and the filters with zeros" +
                       (problem.groups == problem.channels && !problem.transposed
                            ? ", or take depthwise_conv, whose groups have one channel each"
                            : ""));
  if (productOf(problem).a == f32)
    return Support::no("x is of type f32; convolutions are of operands of 16 and 8 bits");
  if (const Support product = Gemm::supported(productOf(problem), target); !product)
    return product;
  if (tilesFor(problem, target).empty())
    return Support::no("no tile of the table fits filters of " + to_string(productOf(problem).k) +
                       " elements");
  return {};
}

Support Conv::supported(const ConvProblem &problem, const GemmConfig &config,
                        const Target &target) {
  if (const Support answer = wavesFit(config, target); !answer)
    return answer;
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
  const std::int64_t ofFilter =
      problem.taps() * (problem.channels / problem.groups) * problem.weight.bytes();
  const Support filters =
      !problem.transposed || ofFilter * config.tile_n < kMostBufferBytes
          ? Support{}
          : Support::no("the filters of a tile span " + to_string(ofFilter * config.tile_n) +
                        " bytes; they span less than " + to_string(kMostBufferBytes));
  const PartsShape parts = partsOf(problem, config);
  if (const Support rows =
          firstRefusal({filters, rowsOfTile("y", std::int64_t{problem.filters} * problem.y.bytes()),
                        rowsOfTile("the parts of K",
                                   config.split_k == 1 ? 0 : parts.columns() * parts.acc.bytes())});
      !rows)
    return rows;
  const std::optional<MatrixForm> form = convForm(problem, config, target);
  if (!form)
    return Support::no("no instruction of " + target.name() + " multiplies steps of " +
                       to_string(config.tile_k / config.waves_k) + " of K");
  return Gemm::supported(productOf(problem), config, *form, target);
}

GemmConfig Conv::choose(const ConvProblem &problem, std::int64_t m, const Target &target) {
  const std::int64_t units = gpuSize(target)->computeUnits, n = productOf(problem).n,
                     rows = rowsFor(problem, m);
  const std::vector<GemmConfig> tiles = tilesFor(problem, target);
  const GemmConfig *best = nullptr;
  for (const GemmConfig &config : tiles) {
    if (config.tile_m > std::max<std::int64_t>((rows + 15) / 16 * 16, 16) ||
        config.tile_n > (n + 63) / 64 * 64)
      continue;
    best = &config;
    if (blocksOf(problem, config, rows) >= units)
      break;
  }
  return shared(problem, best ? *best : tiles.back(), rows, target);
}

std::vector<GemmConfig> Conv::candidates(const ConvProblem &problem, std::int64_t,
                                         const Target &target) {
  return tilesFor(problem, target);
}

void Conv::launch(const Call<ConvProblem> &call) {
  const ConvProblem &problem = call.problem;
  const ConvArgs &args = call.args;
  const Arguments arguments(FamilyOf<ConvProblem>::name, call.where);
  const ImageWork work = workOf(problem);
  const ImageSizes sizes = imageSizes(arguments, work, args.x, args.y);
  const std::array<std::int64_t, kImageModes> rows = rowsOf(work, sizes);
  const std::int64_t ofImage = rows[0] * rows[1] * rows[2], m = sizes.images * ofImage;
  static constexpr const char *kOfWeight[] = {"filters, kw, channels", "filters, kh, kw, channels",
                                              "filters, kd, kh, kw, channels"};
  Expected x =
      imagesOfX(problem.x, work, sizes, problem.channels, (call.config.tile_m - 1) / ofImage + 2,
                kPieceBytes * 8 / problem.x.memory_bits(), kLoadedPieces);
  const bool far = m > 0 && isFar(work, sizes, rows, call.config.tile_m, args.x);
  if (far)
    x.reach = {};
  arguments.check(args.x, x);
  const std::array<ConvAxis, kImageModes> axes = axesOf(problem);
  arguments.check(args.weight,
                  {.name = "weight",
                   .dtype = problem.weight,
                   .shape = imageShape(problem.rank, kOfWeight[problem.rank - 1], problem.filters,
                                       {axes[0].kernel, axes[1].kernel, axes[2].kernel},
                                       problem.channels / problem.groups),
                   .align = kPieceBytes * 8 / problem.weight.memory_bits(),
                   .reason = kLoadedPieces});
  const int together = storedTogether(productOf(problem).n);
  arguments.check(args.y, {.name = "y",
                           .dtype = problem.y,
                           .shape = imageShape(problem.rank, kOfY[problem.rank - 1], sizes.images,
                                               sizes.y, problem.filters),
                           .use = Use::written,
                           .align = together,
                           .reason = kStoredGroups});
  arguments.checkIf(problem.bias, args.bias,
                    {.name = "bias",
                     .dtype = problem.y,
                     .shape = {"filters", problem.filters},
                     .align = together,
                     .reason = kStoredGroups});
  const auto scale = [](const char *name, std::int64_t count) {
    return Expected{.name = name, .dtype = f32, .shape = {count == 1 ? "1" : "filters", count}};
  };
  arguments.checkIf(problem.scale_x != Scales::none, args.scale_x, scale("scale_x", 1));
  arguments.checkIf(
      problem.scale_weight != Scales::none, args.scale_weight,
      scale("scale_weight", problem.scale_weight == Scales::per_row ? problem.filters : 1));
  const std::int64_t workspace =
      arguments.workspace(args.workspace, workspaceBytes(problem, call.config, sizes.elements()));
  arguments.expectApart();
  if (m == 0)
    return;
  const std::int64_t blocks = blocksOf(problem, call.config, m);
  if (blocks > std::numeric_limits<std::int32_t>::max())
    arguments.fail("y has " + to_string(blocks) + " tiles; a grid has at most 2147483647");
  ConvParams<OnHost> params{};
  params.x = stridesOfX(work, args.x);
  for (std::size_t axis = 0; axis < rows.size(); ++axis) {
    params.in[axis] = static_cast<std::int32_t>(sizes.x[axis]);
    params.out[axis] = static_cast<std::int32_t>(rows[axis]);
    params.ofY[axis] = static_cast<std::int32_t>(sizes.y[axis]);
  }
  params.weight = operandOf<0>(args.weight);
  params.y = operandOf<0>(args.y);
  params.bias.address = address(args.bias);
  params.images = static_cast<std::int32_t>(sizes.images);
  params.m = static_cast<std::int32_t>(m);
  params.far = far;
  params.parts.address = workspace;
  params.scaleX.address = address(args.scale_x);
  params.scaleWeight.address = address(args.scale_weight);
  const LaunchConfig all = call.on(blocks, call.config.threads);
  if (call.config.split_k == 1)
    return call.launches.at(0, kConv)(all, call.where, params);
  call.launches.at(0, kConvParts)(all, call.where, params);
  const std::int64_t sums = problem.groups * ((sizes.elements() + kSumTileM - 1) / kSumTileM) *
                            sumTilesAcross(productOf(problem));
  call.launches.at(1, kConvSum)(call.on(sums, kSumThreads), call.where, params);
}

ConvArgs Conv::args(const ConvProblem &problem, const GemmConfig &config, std::int64_t m,
                    const Sampler &sampler) {
  // One image, or none, whose last dimension has as many elements as make up m.
  const std::array<ConvAxis, kImageModes> axes = axesOf(problem);
  const ImageSizes sizes = sampledSizes(workOf(problem), m);
  const auto extents = [&](std::int64_t first, const auto &of, std::int64_t last) {
    return imageExtents(problem.rank, first, of, last);
  };
  return {
      .x = sampler("x", problem.x, extents(sizes.images, sizes.x, problem.channels), Role::input),
      .weight = sampler("weight", problem.weight,
                        extents(problem.filters,
                                std::array<std::int64_t, kImageModes>{
                                    axes[0].kernel, axes[1].kernel, axes[2].kernel},
                                problem.channels / problem.groups),
                        Role::input),
      .bias = sampleIf(problem.bias, sampler, "bias", problem.y, Extents{problem.filters}),
      .y = sampler("y", problem.y, extents(sizes.images, sizes.y, problem.filters), Role::output),
      .workspace = sampleIf(
          config.split_k > 1, sampler, "workspace", u8,
          Extents{static_cast<std::int64_t>(workspaceBytes(problem, config, sizes.elements()))},
          Role::workspace),
      .scale_x = sampleIf(problem.scale_x != Scales::none, sampler, "scale_x", f32, Extents{1}),
      .scale_weight =
          sampleIf(problem.scale_weight != Scales::none, sampler, "scale_weight", f32,
                   Extents{problem.scale_weight == Scales::per_row ? problem.filters : 1}),
  };
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(ConvProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
