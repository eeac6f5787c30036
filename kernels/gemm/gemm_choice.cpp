// Which configuration of a product is chosen, and which are worth measuring.
#include "gemm/gemm_family.h"

#include "blocks/facts/lds_layout.h"
#include "blocks/products/product_rules.h"
#include "blocks/products/tile_order_rules.h"
#include "gemm/gemm_table.h"
#include "gemm/long_steps.h"
#include "gemm/vector_form.h"

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Gemm = Family<GemmProblem>;

/// A tile's configuration by LDS's own loads instead.
GemmConfig byDma(const GemmConfig &config, int stages) {
  GemmConfig dma = config;
  dma.dma = true;
  dma.stages = stages;
  return dma;
}
/// A tile's configuration with waves that share K in so many slices instead.
GemmConfig inSlices(const GemmConfig &config, int lanes, int slices) {
  GemmConfig sliced = config;
  sliced.waves_k = slices;
  sliced.waves_m = std::min(config.waves_m, config.threads / lanes / slices);
  return sliced;
}
/// Groups of rows of tiles and the dies of the GPU, for tiles that share much. Tiles of all rows share
/// no weights: each block reads its own.
TileOrder orderOf(int tileM, std::int64_t rows, const Target &target) {
  if (tileM < 64 && rows <= tileM)
    return {};
  const GpuSize size = *gpuSize(target);
  return {.group = size.group, .xcds = size.xcds};
}
/// True if an operand lies by columns, whose ring by LDS's own loads is for `configs` and tuning.
bool hasColumns(const GemmProblem &problem) {
  return problem.a_layout == OperandLayout::columns || problem.b_layout == OperandLayout::columns;
}
/// True for a tile that is not mostly past the end of C.
bool fits(const GemmTile &tile, const GemmProblem &problem, std::int64_t m) {
  const auto whole = [](std::int64_t size, int unit) { return (size + unit - 1) / unit * unit; };
  return tile.m <= whole(m, 16) && tile.n <= whole(problem.columns(), problem.gated ? 128 : 64);
}

/// The tiles of all matrices of a batch.
std::int64_t blocksOf(const GemmProblem &problem, const GemmConfig &config, std::int64_t m) {
  return tilesOf(problem, config, m) * std::max<std::int64_t>(problem.batch, 1);
}

/// A configuration with parts of K that the last block of a tile adds instead.
GemmConfig byLastBlock(const GemmConfig &config) {
  GemmConfig last = config;
  last.parts_sum = PartsSum::last_block;
  return last;
}
GemmConfig splitOf(const GemmConfig &config, int parts) {
  GemmConfig split = config;
  split.split_k = parts;
  return split;
}
/// True if parts of K have enough steps and few enough sums.
bool worthwhile(const GemmProblem &problem, const GemmConfig &config, std::int64_t m) {
  // Of a column.
  const double sums = 2.0 * 4 * config.split_k * static_cast<double>(m),
               weights = static_cast<double>(problem.k) * problem.b.memory_bits() / 8;
  const int inTurn = config.loop == GemmLoop::registers ? config.waves_k : 1;
  const std::int64_t steps = static_cast<std::int64_t>(kStepsOfPart) * config.split_k * inTurn;
  const bool isSmall = config.parts_sum == PartsSum::last_block &&
                       sums * static_cast<double>(problem.columns()) <= kPartsOfLastBlock;
  return problem.k >= steps * config.tile_k && (isSmall || sums <= kPartsOfWeights * weights);
}
/// True if K is long for the few tiles that there are: the time of its steps, one after another, is more
/// than that of a second kernel and of sums that caches hold.
bool isLongForFewTiles(const GemmProblem &problem, const GemmConfig &config, std::int64_t m,
                       std::int64_t units) {
  const std::int64_t parts = config.split_k, sums = 2 * 4 * parts * m * problem.columns();
  const int inTurn = config.loop == GemmLoop::registers ? config.waves_k : 1;
  const std::int64_t steps = problem.k / (std::int64_t{config.tile_k} * inTurn);
  return tilesOf(problem, splitOf(config, 1), m) * parts <= units && sums <= kPartsOfLastBlock &&
         steps >= kStepsForFewTiles && steps >= kStepsOfLongPart * parts;
}
/// True from CDNA3 on, whose matrix units wait for operands.
bool hasQuickProducts(const Target &target) {
  return target.has(Feature::mfma) && target.has(Feature::fp8_conversions);
}
/// The parts of K that make work for compute units which have none. Parts that the last block of a tile
/// adds are no more than there are units. Those that a second kernel adds cost a launch: they are for
/// fewer than `enough` tiles, and may be more than there are units.
GemmConfig withParts(const GemmProblem &problem, const GemmConfig &whole, std::int64_t m,
                     std::int64_t enough, bool isOfLongSteps, const Target &target) {
  const bool isLast = problem.zeroed_workspace;
  const std::int64_t tiles = tilesOf(problem, whole, m), units = gpuSize(target)->computeUnits;
  // The sums of seven parts take a second kernel longer than a part gains, but from CDNA3 on: 64 x 256 x 7,168 of
  // bf16 takes 13.1 us on RX 7900 XTX rather than 12.3, and 8.4 rather than 9.4 on MI355X (estimates).
  const bool isQuick = hasQuickProducts(target);
  GemmConfig config = whole;
  for (int split : kSplits) {
    const GemmConfig parts = splitOf(whole, split), more = isLast ? byLastBlock(parts) : parts;
    const bool isFilled = isLast ? tiles * split > units : tiles * config.split_k >= enough;
    // A second kernel takes longer than a few long steps.
    const bool isWorth = (worthwhile(problem, more, m) && (isLast || !isOfLongSteps)) ||
                         (!isLast && isLongForFewTiles(problem, more, m, units));
    if (!isFilled && isWorth && (isLast || isQuick || std::has_single_bit(unsigned(split))) &&
        supported(problem, more, target))
      config = more;
  }
  return config;
}

/// True if K is so long that the next smaller tile, which reads the weights twice as often, gains nothing.
bool isLongFor(const GemmTile &tile, const GemmProblem &problem) {
  return tile.longK && problem.k >= std::int64_t(tile.longK) * elementsOf(problem, tile.bytesK);
}
/// The bytes of a tile's step: of its longer ones the longest that K has whole.
int bytesOfStep(const GemmProblem &problem, const GemmTile &tile, std::int64_t rows,
                const Target &target) {
  if (!hasQuickProducts(target) || !hasRoomForLongSteps(problem, tile))
    return tile.bytesK;
  GemmConfig config = configOf(problem, tile);
  const bool isAlone = blocksOf(problem, config, rows) <= gpuSize(target)->computeUnits;
  for (const int bytes : {isAlone ? tile.bytesAlone : 0, tile.bytesLong}) {
    config.tile_k = elementsOf(problem, bytes);
    if (bytes && problem.k % config.tile_k == 0 && Gemm::supported(problem, config, target))
      return bytes;
  }
  return tile.bytesK;
}

/// True if C fills so many tiles. Those that are mostly past its end count by what they have of it.
bool fillsTiles(const GemmProblem &problem, const GemmTile &tile, std::int64_t rows,
                std::int64_t count) {
  return rows * problem.columns() * std::max<std::int64_t>(problem.batch, 1) >=
         count * tile.m * tile.n;
}
/// True if a little more than one tile for two compute units is enough, since one of it takes less time than two of the next
/// smaller one: K is long, or the tile has longer steps, rows of 2,048 bytes and more, and C fills so many tiles. Where each step ends with a
/// multiply-add for each sum, two smaller tiles hide these from each other.
bool isWorthIdleUnits(const GemmProblem &problem, const GemmTile &tile, std::int64_t rows,
                      const Target &target) {
  const bool hasLongSteps = problem.k >= elementsOf(problem, kLongRow) &&
                            !hasBlockScales(problem) &&
                            bytesOfStep(problem, tile, rows, target) > tile.bytesK;
  return isLongFor(tile, problem) ||
         (hasLongSteps && fillsTiles(problem, tile, rows, gpuSize(target)->computeUnits / 2 + 1));
}

/// The fewest tiles for which the next smaller one is not taken. Where b comes through LDS, too, half of
/// the tile reads its other operand as often: from CDNA3 on, whose matrix units wait for operands, and for
/// columns, which are turned on their way, it is worth it where more than every second unit would have no
/// tile. So it is for tiles whose steps are longer then. (bench/silicon/README.md and bench/kernels/README.md have the
/// estimates.)
std::int64_t unitsForTile(const GemmProblem &problem, const GemmTile &tile, std::int64_t rows,
                          std::int64_t units, const Target &target) {
  const bool isLarge = problem.b_layout == OperandLayout::columns ||
                       (hasQuickProducts(target) && problem.b_layout == OperandLayout::rows);
  return isLarge || isWorthIdleUnits(problem, tile, rows, target) ? units / 2 + 1 : units;
}

/// True if prepared weights are multiplied by groups of waves that take turns: each compute unit has a tile.
bool isForGroups(const GemmProblem &problem, std::int64_t rows, const Target &target) {
  const GemmConfig config = configOf(problem, kPreparedGroups);
  return problem.b_layout == OperandLayout::prepared && fits(kPreparedGroups, problem, rows) &&
         blocksOf(problem, config, rows) >= gpuSize(target)->computeUnits &&
         Gemm::supported(problem, config, target);
}

/// True if the tile's elements may come to LDS without registers, where the target has such loads for them.
bool mayComeByDma(const GemmProblem &problem, const GemmTile &tile) {
  return !hasColumns(problem) && (problem.a.memory_bits() + 7) / 8 <= tile.dmaBytes;
}
/// What is taken of a tile's configurations.
GemmConfig ofTile(const GemmProblem &problem, const GemmTile &tile, std::int64_t rows,
                  const Target &target) {
  GemmConfig config = configOf(problem, tile, orderOf(tile.m, rows, target));
  const int bytes = bytesOfStep(problem, tile, rows, target);
  const bool isLong = bytes > tile.bytesK;
  config.tile_k = elementsOf(problem, bytes);
  if (mayComeByDma(problem, tile) && (!isLong || bytes <= kMostBytesByDma))
    for (int stages :
         {isLong ? stagesOfLongSteps(problem, tile) : tile.dmaStages, fewestDmaStages(target)})
      if (const GemmConfig dma = byDma(config, stages); Gemm::supported(problem, dma, target)) {
        config = dma;
        break;
      }
  // Tiles that come by registers gain nothing on LDS of 64 banks.
  const int slices = lds_banks(target) < 64 ? tile.slices : config.dma ? tile.slicesWide : 1;
  if (const GemmConfig sliced = inSlices(config, target.wave_size(), slices);
      slices > 1 && Gemm::supported(problem, sliced, target))
    config = sliced;
  const std::int64_t units = gpuSize(target)->computeUnits;
  return withParts(problem, config, rows,
                   isWorthIdleUnits(problem, tile, rows, target) ? units / 2 + 1 : units,
                   isOfLongSteps(tile), target);
}

/// The bytes of a row from which on its K is long for that: 232 x 513 x 2,048 of bf16 takes 8.3 us in parts on
/// MI355X, by the estimate, and 7.1 without.
constexpr std::int64_t kLongBytesOfParted = 6144;
/// The same by tiles of long steps.
constexpr std::int64_t kLongBytesOfLongSteps = 4096;
/// True if parts of a long K, which the last block of a tile adds, give as many blocks as are enough. Tiles of
/// half the rows would give them without parts, but read the weights twice as often. (Estimates:
/// bench/silicon/README.md.)
bool isFilledByParts(const GemmProblem &problem, const GemmTile &tile, std::int64_t rows,
                     std::int64_t enough, const Target &target) {
  const bool isLong = isOfLongSteps(tile) && tile.bytesK >= kLongStepBytes,
             isPrepared = problem.b_layout == OperandLayout::prepared;
  if (!problem.zeroed_workspace || (!isLong && (isPrepared || tile.m > kMostRowsOfParted)))
    return false;
  const GemmConfig config = ofTile(problem, tile, rows, target);
  const std::int64_t steps = isLong ? kStepsOfPart : kStepsOfLongPart;
  return config.split_k > 1 && tilesOf(problem, config, rows) * config.split_k >= enough &&
         problem.k * problem.a.memory_bits() / 8 >=
             (isLong ? kLongBytesOfLongSteps : kLongBytesOfParted) &&
         problem.k >= steps * config.split_k * config.tile_k;
}
/// True if the problem has a configuration of the tile: by registers, or straight to LDS.
bool hasConfig(const GemmProblem &problem, const GemmTile &tile, const Target &target) {
  const GemmConfig config = configOf(problem, tile);
  return Gemm::supported(problem, config, target) ||
         (mayComeByDma(problem, tile) &&
          Gemm::supported(problem, byDma(config, fewestDmaStages(target)), target));
}
/// The tiles to choose from.
std::span<const GemmTile> tilesFor(const GemmProblem &problem, std::int64_t rows,
                                   const Target &target) {
  const std::span<const GemmTile> tiles = longStepTiles(target, problem, rows);
  const bool hasOne = std::ranges::any_of(tiles, [&](const GemmTile &tile) {
    return fits(tile, problem, rows) && hasConfig(problem, tile, target);
  });
  return hasOne ? tiles : gemmTiles(target, problem, rows);
}

/// Products of few rows of a without matrix instructions. Eight waves have 16 columns of c. With 4 steps of k
/// or more, two waves share k.
GemmConfig vectorConfig(const GemmProblem &problem, std::int64_t rows, const Target &target) {
  const int lanes = target.wave_size(), tileK = lanes * kPieceBytes * 8 / problem.a.memory_bits();
  return {.tile_m = static_cast<int>(std::min<std::int64_t>(rows, kMostVectorRows)),
          .tile_n = 16,
          .tile_k = tileK,
          .threads = 8 * lanes,
          .loop = GemmLoop::vector,
          .waves_k = problem.k >= 4 * tileK ? 2 : 1};
}
/// True if it is taken: more than half of the compute units get a block, or K has few steps. With fewer blocks
/// and a longer K, tiles whose parts of K lie in several blocks are faster, and for three and four rows with a
/// short K too. Those are taken where weights are streamed and each of their bytes takes few products.
/// (bench/silicon/README.md has the estimates.) Any number of rows has it where there are no matrix
/// instructions.
bool isVector(const GemmProblem &problem, const GemmConfig &config, std::int64_t rows,
              const Target &target) {
  if (isForVectorsAlone(problem, target))
    return true;
  const std::int64_t blocks = blocksOf(problem, config, rows),
                     units = gpuSize(target)->computeUnits;
  const bool spread = blocks >= units / 2 + 1,
             isFew = rows <= kVectorRows && (spread || problem.k <= kVectorSteps * config.tile_k),
             isMore = rows <= kMostVectorRows && spread && problem.a.memory_bits() >= 16 &&
                      target.wave_size() == 64;
  return (isFew || isMore) && bool(Gemm::supported(problem, config, target));
}

} // namespace

GemmConfig Gemm::choose(const GemmProblem &problem, std::int64_t m, const Target &target) {
  const std::int64_t units = gpuSize(target)->computeUnits, rows = std::max<std::int64_t>(m, 1);
  if (const GemmConfig config = vectorConfig(problem, rows, target);
      isVector(problem, config, rows, target))
    return config;
  if (isForGroups(problem, rows, target))
    return ofTile(problem, kPreparedGroups, rows, target);
  const GemmTile *last = nullptr, *larger = nullptr;
  for (const GemmTile &tile : tilesFor(problem, rows, target)) {
    if (!hasConfig(problem, tile, target))
      continue;
    if (!fits(tile, problem, rows)) {
      larger = &tile;
      continue;
    }
    if (last && rows <= fewRowsOf(problem, target) && tile.m < last->m)
      break; // the weights would be read more than once
    last = &tile;
    const std::int64_t enough = unitsForTile(problem, tile, rows, units, target);
    if (blocksOf(problem, configOf(problem, tile), rows) >= enough ||
        isFilledByParts(problem, tile, rows, enough, target))
      break;
  }
  // RDNA3 has no tile of 16 rows for gated pairs whose results have scales of blocks.
  if (!last)
    last = larger;
  if (!last)
    throw Error("gemm on " + target.name() + ": no tile of the library's table fits the problem");
  return ofTile(problem, *last, rows, target);
}

std::vector<GemmConfig> Gemm::candidates(const GemmProblem &problem, std::int64_t m,
                                         const Target &target) {
  std::vector<GemmConfig> all;
  const GpuSize size = *gpuSize(target);
  const std::int64_t rows = std::max<std::int64_t>(m, 1);
  if (rows <= kMostVectorRows || isForVectorsAlone(problem, target))
    all.push_back(vectorConfig(problem, rows, target));
  if (isForVectorsAlone(problem, target))
    return all;
  // What would be taken of each tile comes first: the configurations that are most likely to be quick.
  for (const std::span<const GemmTile> &tiles :
       {longStepTiles(target, problem, rows), gemmTiles(target, problem, rows)})
    for (const GemmTile &tile : tiles)
      if (fits(tile, problem, rows))
        all.push_back(ofTile(problem, tile, rows, target));
  const std::size_t likely = all.size();
  for (const GemmTile &tile : gemmTiles(target, problem, rows))
    if (fits(tile, problem, rows)) {
      const TileOrder usual = orderOf(tile.m, rows, target);
      all.push_back(configOf(problem, tile, usual));
      // The orders of a single row of tiles differ in nothing that counts.
      if (rows > tile.m)
        for (const TileOrder &order : {TileOrder{}, TileOrder{.group = size.group},
                                       TileOrder{.group = size.group, .xcds = size.xcds}})
          if (order != usual)
            all.push_back(configOf(problem, tile, order));
    }
  // Those that the target or the problem has no such loads for are filtered out.
  for (std::size_t i = likely, plain = all.size(); i < plain; ++i)
    if (all[i].loop == GemmLoop::ring)
      for (int stages : {2, kDmaStages})
        all.push_back(byDma(all[i], stages));
  for (std::size_t i = likely, whole = all.size(); i < whole; ++i)
    if (all[i].loop == GemmLoop::ring && all[i].tile_m <= kMostSlicedM &&
        all[i].order == orderOf(all[i].tile_m, rows, target))
      for (int slices : kSlices)
        all.push_back(inSlices(all[i], target.wave_size(), slices));
  // Parts of K make work for compute units that have none: as many as find such units, or at most half
  // of that.
  for (std::size_t i = likely, whole = all.size(); i < whole; ++i) {
    std::vector<int> splits;
    for (int split : kSplits)
      if (tilesOf(problem, all[i], rows) * split < 2 * std::int64_t(size.computeUnits) &&
          problem.k % (std::int64_t{split} * all[i].tile_k) == 0 &&
          worthwhile(problem, splitOf(all[i], split), rows))
        splits.push_back(split);
    const int most = splits.empty() ? 0 : splits.back();
    std::erase_if(splits, [&](int split) { return split != most && 2 * split > most; });
    for (std::size_t last = splits.size(), j = last < 2 ? 0 : last - 2; j < last; ++j)
      for (PartsSum sum : {PartsSum::kernel, PartsSum::last_block})
        if (sum == PartsSum::kernel || j + 1 == last) {
          all.push_back(splitOf(all[i], splits[j]));
          all.back().parts_sum = sum;
        }
  }
  // Longer steps, of whole products alone.
  for (const GemmTile &tile : gemmTiles(target, problem, rows))
    for (const int bytes : {tile.bytesLong, tile.bytesAlone})
      if (bytes && hasQuickProducts(target) && fits(tile, problem, rows)) {
        GemmConfig longer = configOf(problem, tile, orderOf(tile.m, rows, target));
        longer.tile_k = elementsOf(problem, bytes);
        all.push_back(longer);
        all.push_back(byDma(longer, kLongStages));
      }
  // Prepared weights by groups of waves that take turns.
  if (problem.b_layout == OperandLayout::prepared && fits(kPreparedGroups, problem, rows))
    all.push_back(configOf(problem, kPreparedGroups, orderOf(kPreparedGroups.m, rows, target)));
  return all;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
