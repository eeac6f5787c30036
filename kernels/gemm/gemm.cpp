#include "gemm/gemm_family.h"

#include "blocks/lds_layout.h"
#include "blocks/product_rules.h"
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

/// Registers of the sums, of the parts of A and of B on their way,
/// and of what scales of blocks need.
int registersOf(const GemmProblem &problem, const GemmConfig &config, const LoopShape &shape) {
  const int sums = shape.tilesM() * shape.halves * shape.tilesOfHalf() * shape.form.sums();
  if (config.loop == GemmLoop::groups) // half of A and both halves of B
    return sums + 4 * shape.parts() * (shape.reads() / 2 + shape.loadsB());
  const bool ring = config.loop == GemmLoop::ring;
  const auto staged = [&](int rows, int reads) {
    return 2 * reads + (shape.dma ? 0 : shape.loadsOf(rows));
  };
  const int ofA = ring ? staged(shape.tileM, shape.reads()) : 2 * shape.parts() * shape.reads();
  const int ofB =
      shape.ringB ? staged(shape.tileN, shape.loadsB()) : 2 * shape.parts() * shape.loadsB();
  // Columns are turned on their way, which takes as many registers again, and a few.
  const auto turned = [&](OperandLayout layout, int rows) {
    return layout == OperandLayout::columns ? 4 * shape.loadsOf(rows) + 4 : 0;
  };
  const int operands = 4 * (ofA + ofB) + turned(problem.a_layout, shape.tileM) +
                       turned(problem.b_layout, shape.tileN);
  if (!hasBlockScales(problem))
    return sums + operands;
  return 2 * sums + operands +
         2 * shape.blocksOf(shape.parts()) * (shape.tilesM() + shape.halves * shape.scalesOfHalf());
}
/// Whether scales of blocks, if the problem has them, can be used by the tile.
Support scalesFit(const GemmProblem &problem, const GemmConfig &config, const LoopShape &shape) {
  if (!hasBlockScales(problem))
    return {};
  if (shape.slices() > 1)
    return Support::no("scales of blocks are of whole steps, which waves of the ring do not share; "
                       "waves_k is 1");
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

/// What two groups of waves that take turns take.
Support groupsFit(const GemmProblem &problem, const GemmConfig &config, const Target &target) {
  const auto no = [](const std::string &why) { return Support::no("GemmLoop::groups " + why); };
  if (!target.has(Feature::buffer_to_lds_wide))
    return no("needs loads of 16 bytes to LDS, which " + target.name() + " has not");
  if (problem.a_layout != OperandLayout::rows || problem.b_layout != OperandLayout::rows)
    return no("takes operands that lie by rows");
  if (hasBlockScales(problem))
    return no("takes no scales of blocks");
  if (config.threads != 8 * target.wave_size() || config.waves_m != 2 || config.waves_k != 1)
    return no("has two rows of four waves: threads is " + text(8 * target.wave_size()) +
              ", waves_m 2 and waves_k 1");
  if (config.tile_m % 64 || config.tile_n % 128)
    return no("has halves of tiles: tile_m is a multiple of 64 and tile_n of 128");
  const int pass = config.threads * kPieceBytes,
            rowBytes = config.tile_k * problem.a.memory_bits() / 8;
  if (std::min(config.tile_m, config.tile_n) / 2 * rowBytes % pass)
    return no("loads " + text(pass) + " bytes at a time; half of a tile, with rows of " +
              text(rowBytes) + " bytes, is no multiple of it");
  return {};
}

/// The same tile by LDS's own loads.
GemmConfig byDma(const GemmConfig &config, int stages) {
  GemmConfig dma = config;
  dma.dma = true;
  dma.stages = stages;
  return dma;
}
/// The same tile, whose waves share K in so many slices.
GemmConfig inSlices(const GemmConfig &config, int lanes, int slices) {
  GemmConfig sliced = config;
  sliced.waves_k = slices;
  sliced.waves_m = std::min(config.waves_m, config.threads / lanes / slices);
  return sliced;
}
GemmConfig configOf(const GemmProblem &problem, const GemmTile &tile, const TileOrder &order) {
  return {.tile_m = tile.m,
          .tile_n = tile.n,
          .tile_k = tile.bytesK * 8 / problem.a.memory_bits(),
          .threads = tile.threads,
          .loop = tile.groups   ? GemmLoop::groups
                  : tile.wavesK ? GemmLoop::registers
                                : GemmLoop::ring,
          .waves_k = std::max(tile.wavesK, 1),
          .waves_m = tile.wavesM,
          .order = order};
}
/// Groups of rows of tiles and the dies of the GPU, for tiles that share much; small products
/// depend on the weights alone, which each block reads once.
TileOrder orderOf(int tileM, const Target &target) {
  if (tileM < 64)
    return {};
  const GpuSize &size = *gpuSize(target);
  return {.group = size.group, .xcds = size.xcds};
}
/// True for a tile that is not mostly past the end of C.
bool fits(const GemmTile &tile, const GemmProblem &problem, std::int64_t m) {
  const auto whole = [](std::int64_t size, int unit) { return (size + unit - 1) / unit * unit; };
  return tile.m <= whole(m, 16) && tile.n <= whole(problem.columns(), problem.gated ? 128 : 64);
}

/// Checks scales of blocks, and gives the distances of scale_a's rows and blocks in elements. Those
/// of a tile lie in one buffer.
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

/// Checks an operand (rows, k) that is not prepared, and gives the distance of its rows or columns.
/// By columns, it is checked as its transpose.
std::int64_t unprepared(const Arguments &arguments, const TensorArg &matrix,
                        const Expected &expected, OperandLayout layout, std::int64_t rows,
                        std::int64_t k) {
  if (layout == OperandLayout::rows)
    return arguments.rowsApart(matrix, expected, rows, k);
  if (matrix.rank() != 2) [[unlikely]]
    arguments.fail(std::string(expected.name) + " is no matrix");
  if (rows % expected.align) [[unlikely]]
    arguments.fail(std::string(expected.name) + " has " + text(rows) +
                   " rows; by columns it has a multiple of " + text(expected.align) + ", because " +
                   expected.reason);
  const std::string name = "the transpose of " + std::string(expected.name);
  const TensorArg turned =
      tensor(matrix.data(), matrix.dtype(), {matrix.shape()[1], matrix.shape()[0]},
             {matrix.strides()[1], matrix.strides()[0]});
  return arguments.matrix(turned, {name.c_str(), expected.dtype, expected.align, expected.reason},
                          k, rows);
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
  const int inTurn = config.loop == GemmLoop::registers ? config.waves_k : 1;
  const std::int64_t steps = static_cast<std::int64_t>(kStepsOfPart) * config.split_k * inTurn;
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
  if (problem.a_layout == OperandLayout::prepared)
    return Support::no("a is never prepared; it lies by rows or by columns");
  for (const auto &[name, layout] :
       {std::pair("a", problem.a_layout), std::pair("b", problem.b_layout)})
    if (layout == OperandLayout::columns && problem.a.memory_bits() != 16)
      return Support::no(std::string(name) + " lies by columns and is of type " +
                         std::string(problem.a.name()) + "; f16 and bf16 may do so");
  if (problem.b_layout == OperandLayout::columns && problem.n % 8)
    return Support::no("n is " + text(problem.n) +
                       "; it is a multiple of 8 where b lies by columns");
  if (problem.rounding == Rounding::stochastic && problem.c == f32)
    return Support::no("c is of type f32, which is not rounded; stochastic rounding is for f16 and "
                       "bf16");
  if (problem.gated && problem.b_layout != OperandLayout::prepared)
    return Support::no("gated pairs take prepared weights");
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
  if (config.waves_m < 1 || waves / config.waves_k % config.waves_m)
    return no("waves_m is " + text(config.waves_m) + "; it divides the waves of a block, " +
              text(waves));
  const bool registers = config.loop == GemmLoop::registers, groups = !ring && !registers;
  if (registers && config.waves_m > 1)
    return no("waves_m is of GemmLoop::ring and GemmLoop::groups");
  if (!ring && (config.dma || config.stages != 2))
    return no("stages and dma are of GemmLoop::ring");
  if (registers &&
      (problem.a_layout != OperandLayout::rows || problem.b_layout != OperandLayout::prepared))
    return no("GemmLoop::registers takes rows of a and prepared weights");
  if (config.stages != 2 && !(config.dma && config.stages == 4))
    return no("stages is 2, or 4 with dma");
  if (config.dma && !target.has(Feature::buffer_to_lds_wide))
    return no("dma: " + target.name() + " has no loads of 16 bytes to LDS");
  if (config.dma &&
      (problem.a_layout == OperandLayout::columns || problem.b_layout == OperandLayout::columns))
    return no("dma takes operands that lie by rows");
  const int sideBySide = waves / config.waves_k / config.waves_m, halves = problem.gated ? 2 : 1;
  if (config.split_k < 1 || config.split_k > kMostParts)
    return no("split_k is 1 to " + text(kMostParts));
  if (config.tile_m < 16 || config.tile_m > 256 || config.tile_m % (16 * config.waves_m))
    return no("tile_m is a multiple of 16" +
              std::string(config.waves_m > 1 ? " for each row of waves" : "") + ", up to 256");
  if (config.tile_n < 1 || config.tile_n > 512 || config.tile_n % (16 * sideBySide * halves))
    return no("tile_n is a multiple of " + text(16 * halves) + " for each wave" +
              (problem.gated ? ", 16 gates and 16 ups" : "") + ", up to 512");
  const int rowBytes = config.tile_k * bytes;
  if (rowBytes < 64 || rowBytes > 1024 || !std::has_single_bit(static_cast<unsigned>(rowBytes)))
    return no("a row of tile_k elements is a power of two of bytes, from 64 to 1024");
  const auto loadsWhole = [&](const char *name, int rows) {
    if (rowBytes / kPieceBytes <= threads && rows * rowBytes % (threads * kPieceBytes) == 0)
      return Support();
    return no("the tile of " + std::string(name) + ", " + text(rows) + " rows of " +
              text(rowBytes) + " bytes, is no multiple of the " + text(threads * kPieceBytes) +
              " bytes that the block loads at a time");
  };
  if (const Support answer = groupsFit(problem, config, target); groups && !answer)
    return no(answer.why);
  if (const Support answer = loadsWhole("a", config.tile_m); ring && !answer)
    return answer;
  if (const Support answer = loadsWhole("b", config.tile_n);
      problem.b_layout != OperandLayout::prepared && !answer)
    return answer;
  // Whole passes of turned blocks, and rows that cover all banks.
  for (const auto &[layout, rows] :
       {std::pair(problem.a_layout, config.tile_m), std::pair(problem.b_layout, config.tile_n)})
    if (layout == OperandLayout::columns) {
      const int loads = rows * rowBytes / threads / kPieceBytes;
      if (loads > 8 ? loads % 8 : !std::has_single_bit(static_cast<unsigned>(loads)))
        return no("an operand that lies by columns is loaded by 1, 2, 4 or a multiple of 8 times "
                  "16 bytes a thread, here " +
                  text(loads));
      if (rowBytes < 4 * ldsBanks(target))
        return no("an operand that lies by columns needs rows of " + text(4 * ldsBanks(target)) +
                  " bytes, as many as LDS has banks for");
    }
  const LoopShape shape = loopShape(problem, config, *gemmForm(problem, config, target));
  if (config.tile_k % shape.round())
    return no("waves_k is " + text(config.waves_k) + "; waves of the ring share tile_k by " +
              text(shape.form.part()) + " elements each");
  const int lds = shape.ldsBytes() + (config.parts_sum == PartsSum::last_block ? kArrivedBytes : 0);
  if (static_cast<std::size_t>(lds) > target.lds_bytes())
    return no((shape.ldsBytes() == shape.slicesBytes() ? "the sums of the waves that share k"
               : shape.ringB                           ? "the tiles of a and b"
               : shape.stages == 2                     ? "two tiles of a"
                                                       : "four tiles of a") +
              std::string(" take ") + text(lds) + " bytes of LDS, of which there are " +
              text(static_cast<std::int64_t>(target.lds_bytes())));
  if (const Support answer = scalesFit(problem, config, shape); !answer)
    return no(answer.why);
  const int most = registersOfLane(target, waves) - kOtherRegisters,
            needed = registersOf(problem, config, shape);
  if (needed > most)
    return no("the fragments take " + text(needed) + " registers of a lane, of which " +
              text(most) + " are free");
  if (config.parts_sum == PartsSum::last_block && config.split_k == 1)
    return no("parts_sum is of split_k > 1");
  if (config.parts_sum == PartsSum::last_block && config.split_k > PartFlags::kMostParts)
    return no("split_k is up to " + text(PartFlags::kMostParts) + " with PartsSum::last_block");
  const std::int64_t ofParts = static_cast<std::int64_t>(config.split_k) * config.tile_k;
  if (config.split_k > 1 && problem.k % ofParts)
    return no("k is " + text(problem.k) + ", no multiple of split_k * tile_k, " + text(ofParts));
  return orderSupported(config.order);
}

GemmConfig Gemm::choose(const GemmProblem &problem, std::int64_t m, const Target &target) {
  const std::int64_t units = gpuSize(target)->computeUnits, rows = std::max<std::int64_t>(m, 1);
  const GemmTile *last = nullptr;
  std::int64_t tiles = 0;
  for (const GemmTile &tile : gemmTiles(target, problem, rows)) {
    if (!supported(problem, configOf(problem, tile, {}), target) || !fits(tile, problem, rows))
      continue;
    if (last && rows <= kFewRows && tile.m < last->m)
      break; // the weights would be read more than once
    last = &tile;
    tiles = (rows + tile.m - 1) / tile.m * tilesAcross(problem, configOf(problem, tile, {}));
    if (tiles >= units)
      break;
  }
  GemmConfig config = configOf(problem, *last, orderOf(last->m, target));
  if (problem.a.memory_bits() / 8 <= last->dmaBytes)
    for (int stages : {kDmaStages, 2})
      if (const GemmConfig dma = byDma(config, stages); supported(problem, dma, target)) {
        config = dma;
        break;
      }
  // Tiles that come by registers gain nothing on LDS of 64 banks.
  const int slices = ldsBanks(target) < 64 ? last->slices : config.dma ? last->slicesWide : 1;
  if (const GemmConfig sliced = inSlices(config, target.wave_size(), slices);
      slices > 1 && supported(problem, sliced, target))
    config = sliced;
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
  const GpuSize &size = *gpuSize(target);
  const std::int64_t rows = std::max<std::int64_t>(m, 1);
  for (const GemmTile &tile : gemmTiles(target, problem, rows))
    if (fits(tile, problem, rows)) {
      const TileOrder usual = orderOf(tile.m, target);
      all.push_back(configOf(problem, tile, usual));
      // The orders of a single row of tiles differ in nothing that counts.
      if (rows > tile.m)
        for (const TileOrder &order : {TileOrder{}, TileOrder{.group = size.group},
                                       TileOrder{.group = size.group, .xcds = size.xcds}})
          if (order != usual)
            all.push_back(configOf(problem, tile, order));
    }
  // Those that the target or the problem has no such loads for are filtered out.
  for (std::size_t i = 0, plain = all.size(); i < plain; ++i)
    if (all[i].loop == GemmLoop::ring)
      for (int stages : {2, kDmaStages})
        all.push_back(byDma(all[i], stages));
  for (std::size_t i = 0, whole = all.size(); i < whole; ++i)
    if (all[i].loop == GemmLoop::ring && all[i].tile_m <= kMostSlicedM &&
        all[i].order == orderOf(all[i].tile_m, target))
      for (int slices : kSlices)
        all.push_back(inSlices(all[i], target.wave_size(), slices));
  // Parts of K make work for compute units that have none: as many as
  // find such units, or half of that.
  for (std::size_t i = 0, whole = all.size(); i < whole; ++i) {
    std::vector<int> splits;
    for (int split : kSplits)
      if (tilesOf(problem, all[i], rows) * split < 2 * std::int64_t(size.computeUnits) &&
          worthwhile(problem, splitOf(all[i], split), rows))
        splits.push_back(split);
    for (std::size_t last = splits.size(), j = last < 2 ? 0 : last - 2; j < last; ++j)
      for (PartsSum sum : {PartsSum::kernel, PartsSum::last_block})
        if (sum == PartsSum::kernel || j + 1 == last) {
          all.push_back(splitOf(all[i], splits[j]));
          all.back().parts_sum = sum;
        }
  }
  return all;
}

void Gemm::launch(const Call<GemmProblem> &call) {
  const GemmProblem &problem = call.problem;
  const GemmConfig &config = call.config;
  const GemmArgs &args = call.args;
  const Arguments arguments(FamilyOf<GemmProblem>::name, call.where);
  const int piece = kPieceBytes * 8 / problem.a.memory_bits();
  const std::int64_t m = arguments.rows(args.a, "a"), n = problem.n;
  constexpr const char *kPieces = "16 bytes are loaded at a time";
  const std::int64_t apartA = unprepared(arguments, args.a, {"a", problem.a, piece, kPieces},
                                         problem.a_layout, m, problem.k);
  std::int64_t apartB = 0;
  if (problem.b_layout == OperandLayout::prepared)
    arguments.vector(args.b, {"b", problem.b, piece, kPieces}, weightsOf(problem).size());
  else
    apartB = unprepared(arguments, args.b, {"b", problem.b, piece, kPieces}, problem.b_layout, n,
                        problem.k);
  const std::int64_t apartC = productRows(arguments, args.c, problem.c, m, n);
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
    vector(args.scale_b, {"scale_b", f32, storedTogether(n), kStoredGroups}, problem.columns(),
           problem.scale_b == Scales::per_row);
  }
  vector(args.bias, {"bias", problem.c, storedTogether(n), kStoredGroups}, problem.columns(),
         problem.bias);
  if (arguments.given(args.workspace, "workspace", config.split_k > 1))
    arguments.workspace(*args.workspace, workspaceBytes(problem, config, m));
  // Inside of a tile's buffer offsets have 32 bits.
  const auto near = [&](const char *name, std::int64_t apart, int tile, OperandLayout layout,
                        DType dtype) {
    const bool columns = layout == OperandLayout::columns;
    const std::int64_t lines = columns ? problem.k / config.split_k + config.tile_k : tile;
    if (apart * lines * dtype.bytes() >= kMostBufferBytes) [[unlikely]]
      arguments.fail(std::string(name) + " has " + (columns ? "columns " : "rows ") + text(apart) +
                     " elements apart; the " + text(lines) + (columns ? " columns" : " rows") +
                     " of a tile span less than 1 GiB");
  };
  near("a", apartA, config.tile_m, problem.a_layout, problem.a);
  near("b", apartB, config.tile_n, problem.b_layout, problem.b);
  near("c", apartC, config.tile_m, OperandLayout::rows, problem.c);
  if (m == 0)
    return;
  const auto grid = [&](std::int64_t tiles) {
    if (tiles > std::numeric_limits<std::int32_t>::max()) [[unlikely]]
      arguments.fail("c has " + text(tiles) + " tiles; a grid has at most 2147483647");
    return tiles;
  };
  const std::int64_t blocks = grid(tilesOf(problem, config, m) * config.split_k);
  const auto rows = static_cast<std::int32_t>(m);
  const int threads = config.threads;
  if (addsInLaunch(config)) {
    const std::int64_t workspace = address(args.workspace),
                       flags = PartFlags::place(args.workspace->shape()[0],
                                                tilesOf(problem, config, m));
    call.launches.at(0, kGemmSplit)(
        call.on(blocks, threads), call.where, address(args.a), address(args.b), address(args.c),
        address(args.scale_a), address(args.scale_b), address(args.bias), workspace,
        workspace + flags, apartA, apartB, apartC, apartScales, args.seed, rows);
  } else if (config.split_k > 1) {
    call.launches.at(0, kGemmParts)(call.on(blocks, threads), call.where, address(args.a),
                                    address(args.b), address(args.scale_a), address(args.scale_b),
                                    address(args.workspace), apartA, apartB, apartScales, rows);
    call.launches.at(1, kGemmSum)(
        call.on(grid((m + kSumTileM - 1) / kSumTileM * sumTilesAcross(problem)), kSumThreads),
        call.where, address(args.workspace), address(args.c), address(args.scale_a),
        address(args.scale_b), address(args.bias), apartC, args.seed, rows);
  } else {
    call.launches.at(0, kGemm)(call.on(blocks, threads), call.where, address(args.a),
                               address(args.b), address(args.c), address(args.scale_a),
                               address(args.scale_b), address(args.bias), apartA, apartB, apartC,
                               apartScales, args.seed, rows);
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
  const auto matrix = [&](const char *name, DType dtype, OperandLayout layout, std::int64_t size) {
    if (layout == OperandLayout::rows)
      return sampler(name, dtype, Extents{size, problem.k}, Role::input);
    const TensorArg turned = sampler(name, dtype, Extents{problem.k, size}, Role::input);
    return tensor(turned.data(), dtype, {size, problem.k}, {1, size});
  };
  return {.a = matrix("a", problem.a, problem.a_layout, m),
          .b = problem.b_layout == OperandLayout::prepared
                   ? sampler("b", problem.b, Extents{weightsOf(problem).size()}, Role::input)
                   : matrix("b", problem.b, problem.b_layout, problem.n),
          .c = sampler("c", problem.c, Extents{m, problem.n}, Role::output),
          .scale_a = maybe(problem.scale_a != Scales::none, "scale_a", problem.scale, scalesA),
          .scale_b = maybe(problem.scale_b != Scales::none, "scale_b", problem.scale, scalesB),
          .bias = maybe(problem.bias, "bias", problem.c, columns),
          .workspace = maybe(config.split_k > 1, "workspace", u8,
                             Extents{workspaceBytes(problem, config, m)},
                             addsInLaunch(config) ? Role::flagged : Role::workspace)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(GemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
