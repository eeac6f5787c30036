#include "gemm/gemm_family.h"

#include "blocks/quant_rules.h"
#include "blocks/tile_order_rules.h"
#include "frame/arguments.h"
#include "gemm/gemm_table.h"
#include "weight/weight_family.h"

#include <array>
#include <bit>
#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Gemm = Family<GemmProblem>;

/// A block's rows of A, and of C, lie in a buffer of fewer bytes.
constexpr std::int64_t kMostBufferBytes = 1 << 30;
/// The vector registers that a kernel needs beside its fragments.
constexpr int kOtherRegisters = 48;

constexpr int kMostParts = 64;

std::string text(std::int64_t number) { return std::to_string(number); }

/// The neighbours of a row of C that are stored together.
int alignC(std::int64_t n) { return n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1; }

/// Registers of the sums, of the parts of A and of B on their way, and of what scales of blocks need.
int registersOf(const GemmProblem &problem, const GemmConfig &config, const LoopShape &shape) {
  const int sums = shape.tilesM() * shape.halves * shape.tilesOfHalf() * shape.form.sums();
  const bool ring = config.loop == GemmLoop::ring;
  const int ofA = ring ? 2 * shape.reads() + shape.loadsA() : 2 * shape.parts() * shape.reads();
  const int operands = 4 * (ofA + 2 * shape.parts() * shape.loadsB());
  if (!hasBlockScales(problem))
    return sums + operands;
  return 2 * sums + operands +
         2 * shape.blocksOf(shape.parts()) * (shape.tilesM() + shape.halves * shape.scalesOfHalf());
}
/// Whether scales of blocks, if the problem has them, can be used by the tile.
Support scalesFit(const GemmProblem &problem, const GemmConfig &config, const LoopShape &shape) {
  if (!hasBlockScales(problem))
    return {};
  const int across = shape.tileOfHalf();
  if (config.tile_k % kScaleBlock)
    return Support::no("scales of blocks need a tile_k of a multiple of 128");
  if (kScaleBlock % across && across % kScaleBlock)
    return Support::no("scales of blocks need columns of c in a tile, here " + text(across) +
                       ", that divide 128 or that 128 divides");
  if (kScaleBlock % (16 * shape.waves))
    return Support::no("scales of blocks need 1, 2, 4 or 8 waves side by side");
  return {};
}

GemmConfig configOf(const GemmProblem &problem, const GemmTile &tile, const TileOrder &order) {
  return {.tile_m = tile.m,
          .tile_n = tile.n,
          .tile_k = tile.bytesK * 8 / problem.a.memory_bits(),
          .threads = tile.threads,
          .loop = tile.wavesK ? GemmLoop::registers : GemmLoop::ring,
          .waves_k = std::max(tile.wavesK, 1),
          .order = order};
}
/// Groups of rows of tiles and the dies of the GPU, for tiles that share much; small products
/// depend on the weights alone, which each block reads once.
TileOrder orderOf(const GemmTile &tile, const Target &target) {
  if (tile.m < 64)
    return {};
  return {.group = 4, .xcds = gpuSize(target)->xcds};
}
/// True for a tile that is not mostly past the end of C.
bool fits(const GemmTile &tile, const GemmProblem &problem, std::int64_t m) {
  const auto whole = [](std::int64_t size, int unit) { return (size + unit - 1) / unit * unit; };
  return tile.m <= whole(m, 16) && tile.n <= whole(problem.columns(), problem.gated ? 128 : 64);
}

/// Checks scales of blocks, and gives the distances of scale_a's rows and blocks in elements. Those of
/// a tile lie in one buffer.
std::array<std::int64_t, 2> blockScales(const Arguments &arguments, const GemmProblem &problem,
                                        const GemmConfig &config, const GemmArgs &args,
                                        std::int64_t m) {
  const std::int64_t blocks = scaleBlocks(problem.k);
  arguments.given(args.scale_a, "scale_a", true);
  arguments.given(args.scale_b, "scale_b", true);
  arguments.tensor(*args.scale_a, {"scale_a", problem.scale, 1}, {m, blocks}, 2);
  arguments.compact(*args.scale_b, {"scale_b", problem.scale, 1}, scaleBlocks(problem.columns()),
                    blocks);
  const std::array apart{Arguments::distance(*args.scale_a, 0),
                         Arguments::distance(*args.scale_a, 1)};
  for (std::int64_t distance : apart)
    if (distance < 0) [[unlikely]]
      arguments.fail("scale_a has a distance of " + text(distance) + "; distances are positive");
  if ((apart[0] * config.tile_m + apart[1] * blocks) * problem.scale.bytes() >= kMostBufferBytes)
      [[unlikely]]
    arguments.fail("scale_a has rows " + text(apart[0]) + " and blocks of k " + text(apart[1]) +
                   " elements apart; those of a tile span less than 1 GiB");
  return apart;
}

GemmConfig splitOf(const GemmConfig &config, int parts) {
  GemmConfig split = config;
  split.split_k = parts;
  return split;
}
/// True if parts of K have enough steps and few enough sums.
bool worthwhile(const GemmProblem &problem, const GemmConfig &config, std::int64_t m) {
  const double sums = 2.0 * 4 * config.split_k * static_cast<double>(m),
               weights = static_cast<double>(problem.k) * problem.b.bytes();
  const std::int64_t steps =
      static_cast<std::int64_t>(kStepsOfPart) * config.split_k * config.waves_k;
  return problem.k >= steps * config.tile_k && sums <= kPartsOfWeights * weights;
}

} // namespace

Support Gemm::supported(const GemmProblem &problem, const Target &target) {
  if (!gpuSize(target))
    return Support::no("products have no configurations for this target");
  for (const Support &answer : {weightSupported(problem.weight()), floatSupported("c", problem.c)})
    if (!answer)
      return answer;
  const std::int64_t k = weightsOf(problem).paddedK();
  if (!matrixForm(target, problem.a, problem.b, k, k))
    return Support::no("a is of type " + std::string(problem.a.name()) + " and b of type " +
                       std::string(problem.b.name()) + "; " + productTypes(target));
  if (hasBlockScales(problem) != (problem.scale_b == Scales::per_block))
    return Support::no("one operand has scales of blocks; both have them, or none");
  if (problem.scale != f32 && !(hasBlockScales(problem) && problem.scale == f8E8M0FNU))
    return Support::no("scales are of type " + std::string(problem.scale.name()) +
                       "; f32 is supported, and f8E8M0FNU for scales of blocks");
  if (hasBlockScales(problem) && matrixKind(problem.a) != MatrixKind::float8)
    return Support::no("scales of blocks belong to 8-bit floats; a is of type " +
                       std::string(problem.a.name()));
  if (const int blocks = hasBlockScales(problem) ? kScaleBlock : Preshuffled::kRows;
      problem.gated && problem.n % blocks)
    return Support::no(
        "n is " + text(problem.n) + "; in gated pairs it is a multiple of " + text(blocks) +
        (hasBlockScales(problem) ? ", the rows of a scale" : ", the rows of a block"));
  return {};
}

Support Gemm::supported(const GemmProblem &problem, const GemmConfig &config,
                        const Target &target) {
  const int bytes = problem.a.memory_bits() / 8, threads = config.threads,
            lanes = target.wave_size(), waves = threads / lanes;
  const bool ring = config.loop == GemmLoop::ring;
  const auto no = [&](const std::string &why) {
    return Support::no("tile " + text(config.tile_m) + "x" + text(config.tile_n) + "x" +
                       text(config.tile_k) + " of " + text(threads) + " threads: " + why);
  };
  if (threads < lanes || threads % lanes || threads > target.max_block_size())
    return no("a block is a number of waves of " + text(lanes) + ", up to " +
              text(target.max_block_size()) + " threads");
  if (config.waves_k < 1 || waves % config.waves_k)
    return no("waves_k is " + text(config.waves_k) + "; it divides the waves of a block, " +
              text(waves));
  if (ring && config.waves_k > 1)
    return no("waves_k is " + text(config.waves_k) +
              "; waves share k if operands come straight to registers, GemmLoop::registers");
  const int sideBySide = waves / config.waves_k, halves = problem.gated ? 2 : 1;
  if (config.split_k < 1 || config.split_k > kMostParts)
    return no("split_k is 1 to " + text(kMostParts));
  if (config.tile_m < 16 || config.tile_m > 256 || config.tile_m % 16)
    return no("tile_m is a multiple of 16, up to 256");
  if (config.tile_n < 1 || config.tile_n > 512 || config.tile_n % (16 * sideBySide * halves))
    return no("tile_n is a multiple of " + text(16 * halves) + " for each wave" +
              (problem.gated ? ", 16 gates and 16 ups" : "") + ", up to 512");
  const int rowBytes = config.tile_k * bytes;
  if (rowBytes < 64 || rowBytes > 1024 || !std::has_single_bit(static_cast<unsigned>(rowBytes)))
    return no("a row of tile_k elements is a power of two of bytes, from 64 to 1024");
  if (ring &&
      (rowBytes / kPieceBytes > threads || config.tile_m * rowBytes % (threads * kPieceBytes)))
    return no("the tile of a, " + text(config.tile_m) + " rows of " + text(rowBytes) +
              " bytes, is no multiple of the " + text(threads * kPieceBytes) +
              " bytes that the block loads at a time");
  const LoopShape shape = loopShape(problem, config, *gemmForm(problem, config, target));
  const int lds = ring ? shape.ringBytes() : shape.slicesBytes();
  if (static_cast<std::size_t>(lds) > target.lds_bytes())
    return no((ring ? "two tiles of a" : "the sums of the waves that share k") +
              std::string(" take ") + text(lds) + " bytes of LDS, of which there are " +
              text(static_cast<std::int64_t>(target.lds_bytes())));
  if (const Support answer = scalesFit(problem, config, shape); !answer)
    return no(answer.why);
  const int most = registersOfLane(target, waves) - kOtherRegisters,
            needed = registersOf(problem, config, shape);
  if (needed > most)
    return no("the fragments take " + text(needed) + " registers of a lane, of which " +
              text(most) + " are free");
  const std::int64_t ofParts = static_cast<std::int64_t>(config.split_k) * config.tile_k;
  if (config.split_k > 1 && problem.k % ofParts)
    return no("k is " + text(problem.k) + ", no multiple of split_k * tile_k, " + text(ofParts));
  return orderSupported(config.order);
}

GemmConfig Gemm::choose(const GemmProblem &problem, std::int64_t m, const Target &target) {
  const std::int64_t units = gpuSize(target)->computeUnits, rows = std::max<std::int64_t>(m, 1);
  const GemmTile *last = nullptr;
  std::int64_t tiles = 0;
  for (const GemmTile &tile : gemmTiles(target, rows)) {
    if (!supported(problem, configOf(problem, tile, {}), target) || !fits(tile, problem, rows))
      continue;
    last = &tile;
    tiles = (rows + tile.m - 1) / tile.m * tilesAcross(problem, configOf(problem, tile, {}));
    if (tiles >= units)
      break;
  }
  GemmConfig config = configOf(problem, *last, orderOf(*last, target));
  for (int split : kSplits)
    if (tiles * config.split_k < units)
      if (const GemmConfig more = splitOf(config, split);
          worthwhile(problem, more, rows) && supported(problem, more, target))
        config = more;
  return config;
}

std::vector<GemmConfig> Gemm::candidates(const GemmProblem &problem, std::int64_t m,
                                         const Target &target) {
  std::vector<GemmConfig> all;
  const std::int64_t rows = std::max<std::int64_t>(m, 1);
  for (const GemmTile &tile : gemmTiles(target, rows))
    if (fits(tile, problem, rows))
      for (const TileOrder &order : {TileOrder{}, TileOrder{.group = 4},
                                     TileOrder{.group = 4, .xcds = gpuSize(target)->xcds}})
        all.push_back(configOf(problem, tile, order));
  for (std::size_t i = 0, plain = all.size(); i < plain; ++i)
    for (int split : kSplits)
      if (worthwhile(problem, splitOf(all[i], split), rows))
        all.push_back(splitOf(all[i], split));
  return all;
}

void Gemm::launch(const Call<GemmProblem> &call) {
  const GemmProblem &problem = call.problem;
  const GemmConfig &config = call.config;
  const GemmArgs &args = call.args;
  const Arguments arguments(FamilyOf<GemmProblem>::name, call.where);
  const int piece = kPieceBytes * 8 / problem.a.memory_bits();
  const std::int64_t m = arguments.rows(args.a, "a"), n = problem.n;
  constexpr const char *kPieces = "16 bytes are loaded at a time",
                       *kGroups = "as many of n are moved at a time";
  // Of a single row any distance is right; the kernel tells rows that exist by it.
  const auto apart = [m](std::int64_t distance, std::int64_t columns) {
    return m > 1 ? distance : columns;
  };
  const std::int64_t apartA =
      apart(arguments.matrix(args.a, {"a", problem.a, piece, kPieces}, m, problem.k), problem.k);
  const std::int64_t apartC =
      apart(arguments.matrix(args.c, {"c", problem.c, alignC(n), kGroups}, m, n), n);
  if (apartC < n) [[unlikely]]
    arguments.fail("c has rows " + text(apartC) + " elements apart, which overlap");
  arguments.vector(args.b, {"b", problem.b, piece, kPieces}, weightsOf(problem).size());
  const auto vector = [&](const std::optional<TensorArg> &tensor, const Expected &expected,
                          std::int64_t size, bool needed) {
    if (arguments.given(tensor, expected.name, needed))
      arguments.vector(*tensor, expected, size);
  };
  std::array<std::int64_t, 2> apartScales{};
  if (hasBlockScales(problem)) {
    apartScales = blockScales(arguments, problem, config, args, m);
  } else {
    vector(args.scale_a, {"scale_a", f32, 1}, m, problem.scale_a == Scales::per_row);
    vector(args.scale_b, {"scale_b", f32, alignC(n), kGroups}, problem.columns(),
           problem.scale_b == Scales::per_row);
  }
  vector(args.bias, {"bias", problem.c, alignC(n), kGroups}, problem.columns(), problem.bias);
  if (arguments.given(args.workspace, "workspace", config.split_k > 1))
    arguments.workspace(*args.workspace, workspaceBytes(problem, config, m));
  const auto near = [&](const char *name, std::int64_t apart, DType dtype) {
    if (apart * config.tile_m * dtype.bytes() >= kMostBufferBytes) [[unlikely]]
      arguments.fail(std::string(name) + " has rows " + text(apart) + " elements apart; the " +
                     text(config.tile_m) + " rows of a tile span less than 1 GiB");
  };
  near("a", apartA, problem.a);
  near("c", apartC, problem.c);
  if (m == 0)
    return;
  const auto grid = [&](std::int64_t tiles) {
    if (tiles > std::numeric_limits<std::int32_t>::max()) [[unlikely]]
      arguments.fail("c has " + text(tiles) + " tiles; a grid has at most 2147483647");
    return tiles;
  };
  const std::int64_t blocks =
      grid((m + config.tile_m - 1) / config.tile_m * tilesAcross(problem, config) * config.split_k);
  const auto rows = static_cast<std::int32_t>(m);
  const int threads = config.threads;
  if (config.split_k > 1) {
    call.launches.at(0, kGemmParts)(call.on(blocks, threads), call.where, address(args.a),
                                    address(args.b), address(args.scale_a), address(args.scale_b),
                                    address(args.workspace), apartA, apartScales, rows);
    call.launches.at(1, kGemmSum)(
        call.on(grid((m + kSumTileM - 1) / kSumTileM * sumTilesAcross(problem)), kSumThreads),
        call.where, address(args.workspace), address(args.c), address(args.scale_a),
        address(args.scale_b), address(args.bias), apartC, rows);
  } else {
    call.launches.at(0, kGemm)(call.on(blocks, threads), call.where, address(args.a),
                               address(args.b), address(args.c), address(args.scale_a),
                               address(args.scale_b), address(args.bias), apartA, apartC,
                               apartScales, rows);
  }
}

GemmArgs Gemm::args(const GemmProblem &problem, const GemmConfig &config, std::int64_t m,
                    const Sampler &sampler) {
  const bool blocks = hasBlockScales(problem);
  const std::int64_t across = scaleBlocks(problem.k);
  const Extents rows{m}, columns{problem.columns()},
      scalesA = blocks ? Extents{m, across} : rows,
      scalesB = blocks ? Extents{scaleBlocks(problem.columns()), across} : columns;
  const auto maybe = [&](bool needed, const char *name, DType dtype, const Extents &shape,
                         Role role = Role::input) -> std::optional<TensorArg> {
    if (!needed)
      return std::nullopt;
    return sampler(name, dtype, shape, role);
  };
  return {.a = sampler("a", problem.a, Extents{m, problem.k}, Role::input),
          .b = sampler("b", problem.b, Extents{weightsOf(problem).size()}, Role::input),
          .c = sampler("c", problem.c, Extents{m, problem.n}, Role::output),
          .scale_a = maybe(problem.scale_a != Scales::none, "scale_a", problem.scale, scalesA),
          .scale_b = maybe(problem.scale_b != Scales::none, "scale_b", problem.scale, scalesB),
          .bias = maybe(problem.bias, "bias", problem.c, columns),
          .workspace = maybe(config.split_k > 1, "workspace", u8,
                             Extents{workspaceBytes(problem, config, m)}, Role::workspace)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(GemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
