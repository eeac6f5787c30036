// Which grouped products the kernel supports, and which configurations are chosen and measured.
#include "grouped_gemm/grouped_gemm_family.h"

#include "blocks/common/expert_ids.h"
#include "blocks/facts/gpu_size.h"
#include "gemm/gemm_family.h"
#include "gemm/gemm_table.h"
#include "gemm/mx_operands.h"
#include "gemm/vector_form.h"

#include <cmath>
#include <limits>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// The fewest bytes of a row of a step that the loop of few rows is given: one load of 16 bytes by eight lanes.
constexpr int kShortestRow = 128;

using Grouped = Family<GroupedGemmProblem>;
using Gemm = Family<GemmProblem>;
using std::to_string;

constexpr int kLeastTile = 16;

Support within(const char *name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most)
    return {};
  return Support::no(is(name, value) + "; " + to_string(least) + " to " + to_string(most) +
                     " are supported");
}

/// The numbers of the layout.
Support groupsSupported(const GroupedGemmProblem &problem) {
  if (problem.groups == GroupLayout::units &&
      (problem.unit < kLeastTile || problem.unit > kLargestUnit || problem.unit % kLeastTile))
    return Support::no(is("unit", problem.unit) +
                       "; it is a multiple of 16 up to 256, because a tile has the rows of one "
                       "expert. Other numbers of rows go with GroupLayout::offsets");
  const bool isMasked = problem.groups == GroupLayout::masked;
  if (isMasked != (problem.capacity != 0))
    return Support::no(is("capacity", problem.capacity) +
                       "; GroupLayout::masked has one, and no other layout has");
  if (isMasked && (problem.capacity < 0 || problem.capacity % kLeastTile ||
                   problem.capacity > kMostRowsOfCall / problem.experts))
    return Support::no(is("capacity", problem.capacity) +
                       "; it is a multiple of 16, and the places of all experts have 31 bits");
  return {};
}

/// Gated pairs and their numbers.
Support pairsSupported(const GroupedGemmProblem &problem) {
  const bool isGated = problem.gated != GatedPairs::none;
  if (!isGated && (problem.alpha != 1 || problem.limit != 0 || problem.up_offset != 0))
    return Support::no("alpha, limit and up_offset are of gated pairs");
  if (problem.alpha != 1 && problem.activation != Activation::silu)
    return Support::no("alpha is of Activation::silu");
  if (!std::isfinite(problem.alpha) || !std::isfinite(problem.up_offset))
    return Support::no("alpha and up_offset are finite numbers");
  if (!(problem.limit >= 0) || !std::isfinite(problem.limit))
    return Support::no("limit is a finite number from 0 on; 0 is none");
  return {};
}

/// Whether the scales of a may be prepared: experts begin at multiples of 16 places.
Support scalesOfASupported(const GroupedGemmProblem &problem) {
  if (problem.scale_a_layout == OperandLayout::rows)
    return {};
  if (problem.groups == GroupLayout::offsets)
    return Support::no(
        "scale_a_layout is prepared and groups is offsets, by which an expert begins at any "
        "place; prepared scales are of groups that begin at multiples of 16: scale_a_layout "
        "is rows, or groups is units or masked");
  return {};
}

/// Whether scales of c are prepared for a second product, if they are.
Support scalesOfCSupported(const GroupedGemmProblem &problem, const Target &target) {
  constexpr int kColumns = kMxBlock * PreparedScales::kScales;
  if (problem.scale_c_layout == OperandLayout::rows)
    return {};
  const auto no = [](const std::string &why) {
    return Support::no("scale_c_layout is prepared" + why);
  };
  if (problem.scale_c_layout == OperandLayout::columns)
    return Support::no("scale_c_layout is columns; scales of c lie by rows or are prepared");
  if (problem.scale_c != Scales::mx || problem.scale_a != Scales::mx ||
      !takesPreparedScales(target, problem.a, problem.b))
    return no(
        "; scales that are prepared are those of Scales::mx of a, b and c, on gfx950. Others lie "
        "by rows");
  if (problem.n % kColumns)
    return no(" and " + is("n", problem.n) + "; blocks of prepared scales have " +
              to_string(kColumns) +
              " columns, and n is a multiple of that. By rows it is one of 32");
  if (problem.groups == GroupLayout::offsets)
    return no(" and groups is offsets, by which an expert begins at any place; groups is units or "
              "masked, or scale_c_layout is rows");
  const bool isUnits = problem.groups == GroupLayout::units;
  if (const std::int64_t rows = isUnits ? problem.unit : problem.capacity;
      rows % PreparedScales::kRows)
    return no(" and " + is(isUnits ? "unit" : "capacity", rows) +
              "; prepared scales are of groups of 32 places, and it is a multiple of that");
  return {};
}

/// From how many rows on tiles are dealt to the dies.
constexpr int kOrderedTileM = 64;

/// The tile for a K that is shorter than what its waves take together: a step is no longer than K needs, and
/// as few waves share K as there are steps. Others would wait for them. (bench/silicon/README.md has the
/// estimates.) On CDNA: gfx1250's tables have longer steps, with which two waves are slower than eight are with
/// shorter ones, and RDNA gains nothing.
GemmConfig withoutIdleWaves(GemmConfig config, const GemmProblem &product, const Target &target) {
  if (config.loop != GemmLoop::registers || !target.has(Feature::mfma))
    return config;
  const int shortest = kShortestRow * 8 / product.a.memory_bits();
  while (config.tile_k / 2 >= std::max<std::int64_t>(product.k, shortest))
    config.tile_k /= 2;
  const std::int64_t steps = (product.k + config.tile_k - 1) / config.tile_k;
  while (config.waves_k > 1 && config.waves_k / 2 >= steps) {
    config.waves_k /= 2;
    config.threads /= 2;
  }
  return config;
}

/// The same with steps of half as many bytes, for tiles of 32 rows whose elements have 4 bits: with longer ones a
/// lane has 260 registers, and a SIMD holds one wave of more than 256. (bench/silicon/README.md has the estimates.)
/// Dense products have fewer, and gain nothing.
GemmConfig inStepsForTwoWaves(GemmConfig config, const GemmProblem &product, const Target &target) {
  if (target.has(Feature::mfma) && config.loop == GemmLoop::registers && isOfFourBits(product) &&
      config.tile_m == 32 && config.tile_n == 64)
    config.tile_k /= 2;
  return config;
}

/// The same with steps of twice as many bytes on CDNA4, for the largest tile of operands of up to 8 bits: a SIMD has one of its waves,
/// which waits for LDS and at barriers as often as there are steps. Operands of 16 bits and those whose steps end with scales of
/// blocks spill then; smaller tiles take up to a third longer, and a K of one such step of 8 bits an eighth. (bench/silicon/README.md
/// has the estimates.)
GemmConfig inLongSteps(GemmConfig config, const GemmTile &tile, const GemmProblem &product,
                       const Target &target) {
  const int step = 2 * config.tile_k;
  if (target.has(Feature::mfma) && lds_banks(target) == 64 && config.loop == GemmLoop::ring &&
      tile.bytesK == 128 && tile.m * tile.n == kLargestSums && product.a.memory_bits() <= 8 &&
      !hasBlockScales(product) && product.k % step == 0 &&
      (isOfFourBits(product) || product.k > step))
    config.tile_k = step;
  return config;
}

/// The same with tiles that a tensor data mover brings, where those of products of this tile are faster so
/// (bench/kernels/README.md has the estimates).
GemmConfig byMover(const GemmConfig &config, const GemmTile &tile,
                   const GroupedGemmProblem &problem, const Target &target) {
  if (!target.has(Feature::tensor_mover) || config.loop != GemmLoop::ring ||
      (problem.a.memory_bits() + 7) / 8 > tile.dmaBytes)
    return config;
  for (const int stages : {kDmaStages, fewestDmaStages(target)}) {
    GemmConfig moved = config;
    moved.dma = true;
    moved.stages = stages;
    if (Grouped::supported(problem, moved, target))
      return moved;
  }
  return config;
}

/// The same with tiles that LDS's own loads bring on CDNA4, for a of 8 bits whose scales of 32 elements lie by rows and weights of 4 bits, in
/// tiles of 64 x 256: through registers a lane has 268 of them, and a SIMD holds one wave of more than 256. 48 experts of 192 rows, n 512,
/// k 7,168, take 86.6 us rather than 109.3 (estimates). With prepared scales a lane has fewer.
GemmConfig byLdsLoads(const GemmConfig &config, const GroupedGemmProblem &problem,
                      const Target &target) {
  const bool isFor =
      target.has(Feature::mfma) && lds_banks(target) == 64 && problem.scale_a == Scales::mx &&
      problem.scale_a_layout == OperandLayout::rows && problem.a.memory_bits() == 8 &&
      problem.b.memory_bits() == 4 && config.tile_m == 64 && config.tile_n == 256;
  GemmConfig loaded = config;
  loaded.dma = true;
  return isFor && Grouped::supported(problem, loaded, target) ? loaded : config;
}

/// The tiles of the product's table. Gated products of 8 bits by 8 whose rows are gathered and whose scales are prepared on both
/// sides have registers for the largest tile, which others of 8 bits by 8 spill. (bench/silicon/README.md has the estimates.)
std::span<const GemmTile> tilesOfTable(const GroupedGemmProblem &problem,
                                       const GemmProblem &product, bool few, const Target &target) {
  constexpr OperandLayout kPrepared = OperandLayout::prepared;
  const bool isOfEight = problem.a.memory_bits() == 8 && problem.b.memory_bits() == 8,
             hasPrepared = problem.scale_a_layout == kPrepared &&
                           problem.scale_b_layout == kPrepared && problem.b_layout == kPrepared;
  if (!few && isOfEight && hasPrepared && product.gated && problem.a_rows == GroupedRows::tokens &&
      problem.scale_c != Scales::per_block)
    return kCdnaPreparedScales;
  return gemmTiles(target, product, few ? kFewRows : kMostRowsOfCall);
}

/// The tiles that fit the problem, from the largest to the smallest: of the table for so many rows of
/// an expert, or of the other one if it has none. In long steps, if these are asked for, where they are quicker.
std::vector<GemmConfig> tilesFor(const GroupedGemmProblem &problem, std::int64_t rows,
                                 const Target &target, bool inLong = true) {
  std::vector<GemmConfig> all;
  const GemmProblem product = productOf(problem);
  const bool isFew = rows <= kFewRows;
  for (const bool few : {isFew, !isFew}) {
    if (!all.empty())
      break;
    for (const GemmTile &tile : tilesOfTable(problem, product, few, target)) {
      const GemmConfig plain = configOf(product, tile);
      for (const GemmConfig &config :
           {withoutIdleWaves(
                inStepsForTwoWaves(inLong ? inLongSteps(plain, tile, product, target) : plain,
                                   product, target),
                product, target),
            plain})
        if (Grouped::supported(problem, config, target)) {
          all.push_back(byLdsLoads(byMover(config, tile, problem, target), problem, target));
          break;
        }
    }
  }
  return all;
}

/// How many rows an expert has, if m places are dealt evenly, and how many experts have some.
struct Load {
  std::int64_t experts, rows;
};
Load loadOf(const GroupedGemmProblem &problem, std::int64_t m) {
  const std::int64_t places = std::max<std::int64_t>(m, 1),
                     unit = problem.groups == GroupLayout::units ? problem.unit : 1,
                     experts = std::min(problem.experts, (places + unit - 1) / unit);
  return {experts, (places + experts - 1) / experts};
}
/// Tiles that have rows.
std::int64_t tilesOfLoad(const GroupedGemmProblem &problem, const GemmConfig &config,
                         const Load &load) {
  return load.experts * ((load.rows + config.tile_m - 1) / config.tile_m) *
         tilesAcross(productOf(problem), config);
}
/// Groups of rows of tiles and the dies of the GPU, for large tiles of experts that have several: these
/// share weights. (bench/silicon/README.md has the estimates.)
GemmConfig inOrder(GemmConfig config, const Load &load, const Target &target) {
  if (const GpuSize size = *gpuSize(target);
      config.tile_m >= kOrderedTileM && load.rows > config.tile_m && size.xcds > 1)
    config.order = {.group = size.group, .xcds = size.xcds};
  return config;
}
/// How many tiles of a configuration a load must have; with fewer, a smaller tile is taken. This is one for each
/// unit, and four of 64 x 256 where elements have 4 bits and K is long. (bench/silicon/README.md has the estimates.)
std::int64_t enoughTiles(const GroupedGemmProblem &problem, const GemmConfig &config,
                         const Target &target) {
  constexpr std::int64_t kLongK = 5120; // elements
  const std::int64_t units = gpuSize(target)->computeUnits;
  const bool isOfFour = problem.a.memory_bits() == 4 && problem.b.memory_bits() == 4,
             isWide = config.tile_m == 64 && config.tile_n == 256, isLong = problem.k >= kLongK;
  return target.has(Feature::mfma) && isOfFour && isWide && isLong ? 4 * units : units;
}
/// True for a tile that is not mostly past the rows of an expert, or past the columns of c.
bool fits(const GroupedGemmProblem &problem, const GemmConfig &config, const Load &load) {
  const std::int64_t columns = productOf(problem).columns();
  return config.tile_m <= (load.rows + 15) / 16 * 16 &&
         config.tile_n <= (columns + 127) / 128 * 128;
}

} // namespace

Support Grouped::supported(const GroupedGemmProblem &problem, const Target &target) {
  for (const Support &answer :
       {within("experts", problem.experts, 1, kMostExperts),
        within("topk", problem.topk, 1, kMostSlotsOfToken),
        within("n", problem.n, 1, std::numeric_limits<std::int32_t>::max() / 2)})
    if (!answer)
      return answer;
  if (problem.a_rows == GroupedRows::slots)
    return Support::no("a_rows is slots; a's rows are those of places or of tokens");
  if (problem.c_rows == GroupedRows::tokens && problem.scale_c != Scales::none)
    return Support::no(
        "c_rows is tokens, to whose rows results are added, and scale_c is of results "
        "that are stored; c is f32, f16 or bf16 then");
  for (const Support &answer : {groupsSupported(problem), pairsSupported(problem)})
    if (!answer)
      return answer;
  if (problem.b_layout == OperandLayout::columns)
    return Support::no("b lies by columns; it is prepared or lies by rows");
  if (problem.n % 8 || problem.columns() % 16)
    return Support::no(is("n", problem.n) +
                       "; an expert's weights have a multiple of 16 rows, and n "
                       "is a multiple of 8");
  if (problem.scale_a == Scales::per_block && problem.columns() % kScaleBlock)
    return Support::no(is("n", problem.n) + "; with scales of blocks an expert's weights have a "
                                            "multiple of 128 rows");
  if (const int block = columnsOfScaleC(problem.scale_c); block) {
    const std::string kind = problem.scale_c == Scales::mx ? "mx" : "per_block";
    if (problem.c_rows != GroupedRows::places)
      return Support::no("scale_c is " + kind +
                         " and c_rows is slots; scales of blocks of c are of rows of places");
    if (problem.n % block)
      return Support::no(is("n", problem.n) + "; with scales of blocks of c it is a multiple of " +
                         to_string(block));
  }
  if (isForVectorsAlone(productOf(problem), target))
    return Support::no("a and b are of type f32; " + target.name() +
                       " has no matrix instructions of f32, by which groups are multiplied. Give "
                       "them as f16 or bf16");
  for (const Support &answer : {Gemm::supported(productOf(problem), target),
                                scalesOfASupported(problem), scalesOfCSupported(problem, target)})
    if (!answer)
      return answer;
  if (tilesFor(problem, kMostRowsOfCall, target).empty())
    return Support::no("no tile has as few rows as a unit, or as many as k has room for");
  return {};
}

Support Grouped::supported(const GroupedGemmProblem &problem, const GemmConfig &config,
                           const Target &target) {
  if (config.loop == GemmLoop::vector)
    return Support::no("GemmLoop::vector is GemmPlan's; groups are multiplied by matrix "
                       "instructions, as loop=ring does");
  if (config.split_k != 1)
    return Support::no("split_k is " + to_string(config.split_k) +
                       "; blocks do not share the K of a group, it is 1");
  if (problem.groups == GroupLayout::units && problem.unit % std::max(config.tile_m, 1))
    return Support::no(is("tile_m", config.tile_m) + "; it divides the unit, " +
                       to_string(problem.unit));
  if (problem.groups == GroupLayout::masked && problem.capacity % std::max(config.tile_m, 1))
    return Support::no(is("tile_m", config.tile_m) + "; it divides the capacity, " +
                       to_string(problem.capacity));
  if (problem.scale_c_layout == OperandLayout::prepared && config.tile_m % PreparedScales::kRows)
    return Support::no(
        is("tile_m", config.tile_m) +
        "; with prepared scales of c, of groups of 32 places, it is a multiple of 32");
  if (hasMover(config, target) && problem.a_rows == GroupedRows::tokens) {
    // A lane of the wave gives the number of each row that the wave gathers (rocdl::tensor_rows).
    const int lanes = target.wave_size(), waves = std::max(config.threads / lanes, 1);
    if (config.tile_m / waves > lanes)
      return Support::no("dma: each of the " + to_string(waves) + " waves would gather " +
                         to_string(config.tile_m / waves) + " rows of tokens, and has " +
                         to_string(lanes) + " lanes to number them; dma=false takes them");
  }
  if (const int block = columnsOfScaleC(problem.scale_c);
      block && problem.gated == GatedPairs::interleaved) {
    const auto waves =
        static_cast<int>(config.threads / target.wave_size() /
                         std::max<std::int64_t>(std::int64_t{config.waves_k} * config.waves_m, 1));
    // The columns of c are pairs: half as many as the product's.
    if (waves < 1 || !BlocksOfWaves{8, waves, config.tile_n / 16 / waves, block}.whole())
      return Support::no(is("tile_n", config.tile_n) + "; with scales of " + to_string(block) +
                         " columns of c, which are pairs, it is a multiple of " +
                         to_string(2 * block) + ", and waves lie side by side in it");
  }
  return Gemm::supported(productOf(problem), config, target);
}

GemmConfig Grouped::choose(const GroupedGemmProblem &problem, std::int64_t m,
                           const Target &target) {
  const Load load = loadOf(problem, m);
  const std::vector<GemmConfig> tiles = tilesFor(problem, load.rows, target);
  const GemmConfig *best = nullptr;
  for (const GemmConfig &config : tiles) {
    if (!fits(problem, config, load))
      continue;
    if (best && load.rows <= kFewRows && config.tile_m < best->tile_m)
      break; // the weights would be read more than once
    best = &config;
    if (tilesOfLoad(problem, config, load) >= enoughTiles(problem, config, target))
      break;
  }
  return inOrder(best ? *best : tiles.back(), load, target);
}

std::vector<GemmConfig> Grouped::candidates(const GroupedGemmProblem &problem, std::int64_t m,
                                            const Target &target) {
  const Load load = loadOf(problem, m);
  const GpuSize size = *gpuSize(target);
  std::vector<GemmConfig> all, tiles = tilesFor(problem, load.rows, target);
  for (const GemmConfig &config : tilesFor(problem, load.rows, target, false))
    if (std::find(tiles.begin(), tiles.end(), config) == tiles.end())
      tiles.push_back(config);
  for (const GemmConfig &config : tiles)
    if (fits(problem, config, load)) {
      all.push_back(config);
      if (load.rows > config.tile_m)
        for (const TileOrder &order :
             {TileOrder{.group = size.group}, TileOrder{.group = size.group, .xcds = size.xcds}}) {
          all.push_back(config);
          all.back().order = order;
        }
    }
  for (std::size_t i = 0, plain = all.size(); i < plain; ++i)
    if (all[i].loop == GemmLoop::ring)
      for (const auto &[dma, stages] :
           {std::pair{false, 2}, std::pair{true, 2}, std::pair{true, kDmaStages}})
        if (dma != all[i].dma || stages != all[i].stages) {
          all.push_back(all[i]);
          all.back().dma = dma;
          all.back().stages = stages;
        }
  return all;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
