#include "ggml/ggml_gemm_family.h"

#include "blocks/common/expert_ids.h"
#include "blocks/facts/gpu_size.h"
#include "blocks/quant/quant_rules.h"
#include "ggml/ggml_operands.h"

#include <algorithm>
#include <bit>
#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using GgmlGemm = Family<GgmlGemmProblem>;

/// The most rows of a that are multiplied as blocks of weights come
/// by: their sums stay in registers.
constexpr int kMostVectorRows = 8;
/// What `choose` takes of the vector form, for waves and for units of weights of this size
/// or more. From 2 rows on matrix instructions with numbers in registers are estimated to be as fast or
/// faster, see bench/kernels/README.md. More sums spill.
struct GgmlVectorLimits {
  int wave, unit;
  int rows;     ///< the most rows of a; more are multiplied by matrix instructions
  int together; ///< the most of them that are multiplied together
  int sums;     ///< the most sums of a thread
  // The most rows of weights of a thread where a has 16 bits. Eight units are loaded at a time
  // and widened: each row of units of 64 takes 70 registers then.
  int ofOne16, ofMore16; ///< where one row of a is multiplied, and where more are
};
constexpr GgmlVectorLimits kVectorLimits[] = {
    {32, 64, 1, 1, 4, 2, 2},  {32, 32, 1, 1, 4, 4, 4},   {64, 64, 1, 1, 8, 2, 2},
    {64, 32, 1, 1, 16, 4, 2}, {64, 8, 2, 2, 16, 16, 16}, {0, 0, kMostVectorRows, 8, 16, 16, 16}};

/// The same with a in Q8_1, which no thread has in registers. Of 4096 x 4096 in Q4_K, 1, 2, 4 and 8 rows are
/// estimated at 6.0, 7.7, 10.9 and 13.9 us on MI300X and at 18.2, 18.5, 21.6 and 34.9 on RX 9070 XT; matrix
/// instructions take 11.5 and 20 to 22.5 for 2 to 8.
constexpr int kMostQ8Rows = 4;
constexpr GgmlVectorLimits kQ8Limits32{32, 0, kMostQ8Rows, kMostQ8Rows, 16, 16, 16},
    kQ8Limits64{64, 0, kMostQ8Rows, kMostQ8Rows, 8, 8, 8};
/// Blocks of a compute unit whose rows of a in Q8_1 are to be in shared memory. RDNA's compute units
/// have twice what a block may have.
constexpr int kQ8Blocks32 = 1, kQ8Blocks64 = 2;

const GgmlVectorLimits &vectorLimits(const GgmlGemmProblem &problem, const Target &target) {
  if (problem.q8_1)
    return target.wave_size() == 32 ? kQ8Limits32 : kQ8Limits64;
  const auto *limits = std::begin(kVectorLimits);
  while (limits->wave && (limits->wave != target.wave_size() ||
                          ggmlRow(problem.format).unitWeights() < limits->unit))
    ++limits;
  return *limits;
}

/// The most lanes that share a row of weights where so many blocks are left. Rows over 64 lanes are
/// estimated up to 2.1 times as slow on gfx942 for 8192 rows of Q4_K and Q8_0, but as fast or faster
/// where 2048 rows leave compute units idle.
constexpr int kMostLanes = 32;
constexpr std::int64_t kManyBlocks = 256;

/// How often the vector form may read the weights and still be worth measuring, with numbers of a as
/// they are and in Q8_1.
constexpr int kMostPasses = 2, kMostPassesOfQ8 = 4;

std::string text(std::int64_t number) { return std::to_string(number); }

bool isPower(int x) { return x > 0 && std::has_single_bit(static_cast<unsigned>(x)); }

/// Tiles of the kernel with matrix instructions, from the largest to the smallest. A GPU wants many
/// blocks, and the weights of a tile are taken apart once for all of its rows.
struct GgmlTile {
  int m, n;
  int waves, waves32; ///< of a block, by waves of 64 and of 32 lanes
  int unit32;         ///< the most weights of a unit with waves of 32: more spill
};
constexpr GgmlTile kGgmlTiles[] = {
    {64, 128, 4, 8, 32}, {64, 64, 4, 4, 32}, {32, 64, 4, 4, 64}, {16, 64, 4, 4, 64}};
/// RDNA's lanes spill with more sums of a tile than these; CDNA has other registers for them.
constexpr int kMostSums32 = 32;
/// Fewer blocks leave most of a GPU without work, and smaller tiles are faster then: estimated for
/// 64 rows and n of 576 to 2048 on gfx942 and gfx1201, see bench/kernels/README.md.
constexpr std::int64_t kFewBlocks = 48;

/// When `choose` takes matrix instructions with numbers in registers, and how: as measured by estimates for
/// 1 to 256 rows and 2048 x 2048 and 8192 x 4096 weights, see bench/kernels/README.md.
struct GgmlRegistersChoice {
  int wave;
  std::int64_t mostRows; ///< more are multiplied by tiles in shared memory
  /// A block of up to 16 rows of a has 32 rows of weights where that leaves so many blocks, otherwise 16.
  std::int64_t wideBlocks;
  int threads; ///< of a block, where all blocks run at once
};
/// The threads of a block where compute units have several blocks after each other.
constexpr int kThreadsOfMany = 256;
constexpr GgmlRegistersChoice kRegistersChoices[] = {{64, 256, 256, 512}, {32, 64, 48, 256}};

const GgmlRegistersChoice &registersChoice(const Target &target) {
  return *std::ranges::find(kRegistersChoices, target.wave_size(), &GgmlRegistersChoice::wave);
}
GgmlGemmConfig registersConfig(const GgmlGemmProblem &problem, std::int64_t m,
                               const Target &target) {
  const GgmlRegistersChoice &choice = registersChoice(target);
  GgmlGemmConfig config{.matrix = true, .registers = true};
  // The weights of two tiles and 32 rows of a spill with waves of 32 lanes.
  const bool few = m <= 16 || problem.unit == 16 || (problem.gated && target.wave_size() == 32);
  const auto blocksOf = [&](int tileM, int tileN) {
    return (m + tileM - 1) / tileM * ((problem.n + tileN - 1) / tileN);
  };
  const int wide = problem.gated ? 16 : 32; // a gated tile has as many rows of weights again
  const std::optional<GpuSize> gpu = gpuSize(target);
  const std::int64_t units = gpu ? gpu->computeUnits : 0;
  if (few) {
    config.tile_m = 16;
    config.tile_n = blocksOf(16, wide) >= choice.wideBlocks ? wide : 16;
  } else {
    // The smallest tiles that are no more than there are compute units. Larger tiles would leave more units
    // without work.
    const bool once16 = blocksOf(16, 16) <= units, once = once16 || blocksOf(16, wide) <= units;
    config.tile_m = once ? 16 : 32;
    config.tile_n = once16 ? 16 : wide;
  }
  config.threads = blocksOf(config.tile_m, config.tile_n) > units ? kThreadsOfMany : choice.threads;
  // No more waves than have units, and one for each row of tiles.
  const auto shape = ggmlRegistersShape(problem, config, target);
  if (shape)
    while (config.threads / 2 >= shape->tilesM() * shape->form.lanes &&
           config.threads / 2 / shape->form.lanes * shape->unitsOfWave() >= shape->units)
      config.threads /= 2;
  return config;
}
GgmlGemmConfig matrixConfig(const GgmlTile &tile, const Target &target) {
  const int wave = target.wave_size(), waves = wave == 32 ? tile.waves32 : tile.waves;
  return {.matrix = true, .tile_m = tile.m, .tile_n = tile.n, .threads = waves * wave};
}

/// The sums of a lane.
int sumsOf(const GgmlMatrixShape &shape) {
  return shape.tileM / 16 * (shape.rowsB / 16 / shape.waves()) * shape.form.sums();
}

/// Whether the tile leaves registers for what is loaded.
bool fitsRegisters(const GgmlGemmProblem &problem, const GgmlTile &tile, const Target &target) {
  const auto shape = ggmlMatrixShape(problem, matrixConfig(tile, target), target);
  return target.wave_size() != 32 || (shape && sumsOf(*shape) <= kMostSums32 &&
                                      ggmlRow(problem.format).unitWeights() <= tile.unit32);
}

/// Whether a block's rows of a have room in shared memory.
Support q8Fits(int rows, std::int64_t k, const Target &target) {
  const std::int64_t bytes = q8Bytes(rows, k), most = static_cast<std::int64_t>(target.lds_bytes());
  return bytes <= most
             ? Support{}
             : Support::no("k is " + text(k) + "; the rows of a of a tile take " + text(bytes) +
                           " bytes of LDS in Q8_1, and there are " + text(most));
}

/// The threads of a row of weights: as many as still have work most of the time.
int lanesOf(const GgmlGemmProblem &problem, const Target &target) {
  const std::int64_t units = problem.k / ggmlRow(problem.format).unitWeights();
  int best = 1;
  for (int lanes = 1; lanes <= target.wave_size(); lanes *= 2) {
    const std::int64_t rounds = (units + lanes - 1) / lanes;
    if (4 * units >= 3 * lanes * rounds)
      best = lanes;
  }
  return best;
}
GgmlGemmConfig vectorConfig(const GgmlGemmProblem &problem, int m, int rows, const Target &target) {
  return {.tile_m = m, .lanes = lanesOf(problem, target), .rows = rows, .threads = 256};
}

/// A token's results follow one another, and each has a number of 32 bits.
constexpr std::int64_t kMostResultsOfToken = std::numeric_limits<std::int32_t>::max();

Support expertsSupported(const GgmlGemmProblem &problem) {
  if (!problem.experts) {
    if (problem.topk != 1 || problem.unit)
      return Support::no("topk is " + text(problem.topk) + " and unit is " + text(problem.unit) +
                         "; without experts they are 1 and 0");
    return {};
  }
  const std::int64_t results = problem.topk * problem.n;
  return firstRefusal(
      {rangeSupported("experts", problem.experts, 1, kMostExperts),
       rangeSupported("topk", problem.topk, 1, kMostSlotsOfToken),
       rangeSupported("unit", problem.unit, 0, kLargestUnit),
       results <= kMostResultsOfToken
           ? Support{}
           : Support::no("topk * n is " + text(results) + "; a token has at most " +
                         text(kMostResultsOfToken) +
                         " results. Give each slot a row of its own, with topk = 1")});
}
/// Whether tiles of slots are parts of units.
Support unitsSupported(const GgmlGemmProblem &problem, const GgmlGemmConfig &config) {
  if (!problem.experts)
    return {};
  if (!problem.unit)
    return !config.matrix && config.tile_m == 1
               ? Support{}
               : Support::no("unit is 0, so that each slot is multiplied by itself, which takes a "
                             "configuration with tile_m = 1 and without matrix instructions");
  return config.tile_m > 0 && problem.unit % config.tile_m == 0
             ? Support{}
             : Support::no("tile_m is " + text(config.tile_m) +
                           "; the rows of a tile are of one unit, which has " + text(problem.unit) +
                           " places");
}

Support noMatrixInstruction(const GgmlGemmProblem &problem, const Target &target) {
  return Support::no(target.name() + " has no matrix instruction for " +
                     std::string(problem.product.name()));
}

/// What a lane of the kernel with numbers in registers has at most: sums, and tiles of a, whose rows of a
/// block are some.
constexpr int kMostRegisterSums = 64, kMostRegisterTile = 64;

Support registersSupported(const GgmlGemmProblem &problem, const GgmlGemmConfig &config,
                           const Target &target) {
  if (!config.matrix)
    return Support::no(
        "registers is set without matrix, whose instructions multiply what they hold");
  for (const auto &[name, size] : {std::pair("tile_m", config.tile_m), {"tile_n", config.tile_n}})
    if (size < 16 || size > kMostRegisterTile || size % 16)
      return Support::no(std::string(name) + " is " + text(size) +
                         "; it is a multiple of 16, up to " + text(kMostRegisterTile) +
                         ", with numbers in registers");
  const auto shape = ggmlRegistersShape(problem, config, target);
  if (!shape)
    return noMatrixInstruction(problem, target);
  if (shape->waves() < shape->tilesM())
    return Support::no("threads is " + text(config.threads) + "; " + text(shape->tilesM()) +
                       " waves add the sums of " + text(config.tile_m) + " rows, and there are " +
                       text(shape->waves()));
  if (const int sums = shape->tilesM() * shape->tilesB() * shape->form.sums();
      sums > kMostRegisterSums)
    return Support::no("a lane has " + text(sums) + " sums; " + text(kMostRegisterSums) +
                       " fit its registers");
  if (static_cast<std::size_t>(shape->sharedBytes()) > target.lds_bytes())
    return Support::no("the rows of a and the sums of the waves take " +
                       text(shape->sharedBytes()) + " bytes of LDS; there are " +
                       text(static_cast<std::int64_t>(target.lds_bytes())));
  return {};
}

/// About so many rows are multiplied of m rows of a: slots, with their padding.
std::int64_t rowsMultiplied(const GgmlGemmProblem &problem, std::int64_t m) {
  if (!problem.experts)
    return m;
  const std::int64_t slots = m * problem.topk, unit = std::max(problem.unit, 1);
  return std::max((slots + unit - 1) / unit, std::min(slots, problem.experts)) * unit;
}
/// The most rows of a tile: all, or those of a unit.
int mostTogether(const GgmlGemmProblem &problem) {
  return !problem.experts ? std::numeric_limits<int>::max() : std::max(problem.unit, 1);
}

std::int64_t tokensOf(const GgmlGemmProblem &, const GgmlGemmArgs &args) {
  return args.a.shape()[0];
}

/// Checks what says which slots there are, and gives the number of rows that are multiplied.
std::int64_t checkSlots(const Arguments &arguments, const GgmlGemmProblem &problem,
                        const GgmlGemmArgs &args, std::int64_t m) {
  const std::int64_t topk = problem.topk, unit = problem.unit,
                     sorted = args.sorted_ids && args.sorted_ids->rank() == 1
                                  ? args.sorted_ids->shape()[0]
                                  : 0,
                     places = unit ? sorted : m * topk;
  arguments.checkIf(!unit, args.ids, {.name = "ids", .dtype = i32, .shape = {"m, topk", m, topk}});
  arguments.checkIf(unit, args.sorted_ids,
                    {.name = "sorted_ids", .dtype = i32, .shape = {"places", places}});
  if (unit && places % unit) [[unlikely]]
    arguments.fail("sorted_ids has " + text(places) + " places; units have " + text(unit) +
                   " each");
  if (places > kMostPlaces) [[unlikely]]
    arguments.fail("there are " + text(places) + " slots, whose numbers are past 32 bits");
  arguments.checkIf(
      unit, args.unit_experts,
      {.name = "unit_experts", .dtype = i32, .shape = {"places / unit", unit ? places / unit : 0}});
  return places;
}

Strided<OnHost, 1> checkResidual(const Arguments &arguments, const GgmlGemmProblem &problem,
                                 const GgmlGemmConfig &config, const GgmlGemmArgs &args,
                                 std::int64_t m) {
  Expected rows =
      productRows(problem.c, m, problem.n,
                  {.counts = {config.tile_m}, .bytes = kMostTileBytes, .what = "a tile"});
  rows.name = "residual";
  rows.use = Use::read;
  arguments.checkIf(problem.residual, args.residual, rows);
  if (!problem.residual)
    return {};
  return {.address = address(*args.residual), .stride = {strideOr(*args.residual, 0, problem.n)}};
}

} // namespace

Support GgmlGemm::supported(const GgmlGemmProblem &problem, const Target &target) {
  // Each of these makes the numbers of the next one small enough to multiply.
  if (const Support own = ggmlSupported({problem.format, problem.layout, problem.n, problem.k});
      !own)
    return own;
  if (const Support experts = expertsSupported(problem); !experts)
    return experts;
  const Support basic =
      firstRefusal({ggmlSupported(problem.weight()), floatSupported("a", problem.a),
                    floatSupported("c", problem.c)});
  if (!basic)
    return basic;
  if (problem.product != f16 && problem.product != bf16)
    return Support::no("product is " + std::string(problem.product.name()) +
                       "; matrix instructions multiply f16 or bf16 here");
  if (problem.k * problem.a.bytes() % kPieceBytes)
    return Support::no("k is " + text(problem.k) + "; rows of a of type " +
                       std::string(problem.a.name()) + " are multiples of 16 bytes");
  if (problem.gated && problem.activation == Activation::none)
    return Support::no("a gated product has an activation, and there is none");
  if (problem.residual && (problem.gated || problem.experts))
    return Support::no(
        "residual is set; it is not added to gated products, which have an activation "
        "inside, nor to those with experts. Add it to the result");
  if (!problem.q8_1)
    return {};
  if (const GgmlRow &row = ggmlRow(problem.format); !row.factors)
    return Support::no("q8_1 is set, and weights of " + std::string(row.name) +
                       " are no whole numbers, by which a in Q8_1 is multiplied");
  return q8Fits(1, problem.k, target);
}

Support GgmlGemm::supported(const GgmlGemmProblem &problem, const GgmlGemmConfig &config,
                            const Target &target) {
  const int wave = target.wave_size(), threads = config.threads;
  if (threads < wave || threads % wave || threads > target.max_block_size())
    return Support::no("threads is " + text(threads) + "; a block is a number of waves of " +
                       text(wave) + ", up to " + text(target.max_block_size()) + " threads");
  if (const Support answer = unitsSupported(problem, config); !answer)
    return answer;
  if (config.registers)
    return registersSupported(problem, config, target);
  if (!config.matrix) {
    if (config.tile_m < 1 || config.tile_m > kMostVectorRows)
      return Support::no("tile_m is " + text(config.tile_m) + "; 1 to " + text(kMostVectorRows) +
                         " rows are multiplied together without matrix instructions");
    if (!isPower(config.lanes) || config.lanes > wave)
      return Support::no("lanes is " + text(config.lanes) + "; it is a power of two up to " +
                         text(wave));
    const std::int64_t sums = std::int64_t{config.rows} * config.tile_m * (problem.gated ? 2 : 1);
    if (config.rows < 1 || sums > 32)
      return Support::no("rows is " + text(config.rows) + "; a thread has 1 to 32 sums, not " +
                         text(sums));
    return problem.q8_1 ? q8Fits(config.tile_m, problem.k, target) : Support{};
  }
  if (config.tile_m < 16 || config.tile_m > 256 || config.tile_m % 16)
    return Support::no("tile_m is " + text(config.tile_m) +
                       "; it is a multiple of 16, up to 256, with matrix instructions");
  if (config.tile_n < 1 || config.tile_n > 512 || config.tile_n % (16 * (threads / wave)))
    return Support::no("tile_n is " + text(config.tile_n) +
                       "; it is a multiple of 16 for each of " + text(threads / wave) +
                       " waves, up to 512");
  const auto shape = ggmlMatrixShape(problem, config, target);
  if (!shape)
    return noMatrixInstruction(problem, target);
  if (problem.k % 8)
    return Support::no("k is " + text(problem.k) +
                       "; with matrix instructions it is a multiple of 8");
  if (static_cast<std::size_t>(shape->sharedBytes()) > target.lds_bytes())
    return Support::no("the tiles take " + text(shape->sharedBytes()) +
                       " bytes of LDS; there are " +
                       text(static_cast<std::int64_t>(target.lds_bytes())));
  const int sums = sumsOf(*shape);
  if (sums > 128)
    return Support::no("a lane has " + text(sums) + " sums; 128 fit its registers");
  return {};
}

GgmlGemmConfig GgmlGemm::choose(const GgmlGemmProblem &problem, std::int64_t rowsOfA,
                                const Target &target) {
  const GgmlVectorLimits &limits = vectorLimits(problem, target);
  const std::int64_t m = rowsMultiplied(problem, rowsOfA);
  const std::int64_t rowsTogether = std::min<std::int64_t>(m, mostTogether(problem));
  if (rowsTogether > limits.rows) {
    if (const GgmlGemmConfig config = registersConfig(problem, m, target);
        rowsTogether <= registersChoice(target).mostRows && supported(problem, config, target))
      return config;
    for (const GgmlTile &tile : kGgmlTiles) {
      const GgmlGemmConfig config = matrixConfig(tile, target);
      const std::int64_t blocks = (m + tile.m - 1) / tile.m * ((problem.n + tile.n - 1) / tile.n);
      if ((tile.m == 16 || (tile.m <= m && blocks >= kFewBlocks)) &&
          (tile.n <= problem.n || tile.n == 64) && fitsRegisters(problem, tile, target) &&
          supported(problem, config, target))
        return config;
    }
  }
  int together = static_cast<int>(
      std::bit_ceil(static_cast<unsigned>(std::clamp<std::int64_t>(m, 1, limits.together))));
  while (problem.experts && mostTogether(problem) % together)
    together /= 2;
  const int blocks = target.wave_size() == 32 ? kQ8Blocks32 : kQ8Blocks64;
  while (problem.q8_1 && together > 1 &&
         blocks * q8Bytes(together, problem.k) > static_cast<std::int64_t>(target.lds_bytes()))
    together /= 2;
  // Rows that a thread has side by side share the loads of a; few rows of weights are shared
  // among more threads instead.
  int rows = problem.n >= 16384 ? 4 : problem.n >= 512 ? 2 : 1;
  const int weights = problem.gated ? 2 : 1,
            most16 = together > 1 ? limits.ofMore16 : limits.ofOne16,
            mostWeights = problem.a.bytes() == 2 ? most16 : limits.sums;
  while (rows > 1 && (rows * together * weights > limits.sums || rows * weights > mostWeights))
    rows /= 2;
  GgmlGemmConfig config = vectorConfig(problem, together, rows, target);
  const std::int64_t ofBlock = config.threads / kMostLanes * rows;
  if (config.lanes > kMostLanes &&
      (m + together - 1) / together * ((problem.n + ofBlock - 1) / ofBlock) >= kManyBlocks)
    config.lanes = kMostLanes;
  return config;
}

std::vector<GgmlGemmConfig> GgmlGemm::candidates(const GgmlGemmProblem &problem,
                                                 std::int64_t rowsOfA, const Target &target) {
  const std::int64_t m =
      std::min<std::int64_t>(rowsMultiplied(problem, rowsOfA), mostTogether(problem));
  std::vector<GgmlGemmConfig> all;
  if (m > 1) {
    for (const GgmlTile &tile : kGgmlTiles)
      all.push_back(matrixConfig(tile, target));
    for (int tileN : {16, 32})
      for (int threads : {256, 512})
        all.push_back({.matrix = true,
                       .registers = true,
                       .tile_m = m <= 16 ? 16 : 32,
                       .tile_n = tileN,
                       .threads = threads});
  }
  // Without matrix instructions each `together` rows read and widen the weights anew: more than
  // twice wins nowhere, nor do more rows together than there are.
  const bool matrix = std::any_of(all.begin(), all.end(), [&](const GgmlGemmConfig &config) {
    return supported(problem, config, target).ok;
  });
  const int passes = problem.q8_1 ? kMostPassesOfQ8 : kMostPasses;
  for (int together : {1, 2, 4, 8}) {
    const bool rereads = m > passes * together, onlyOne = together == kMostVectorRows && !matrix,
               tooMany = together > 1 && m <= together / 2;
    if (tooMany || (rereads && !onlyOne))
      continue;
    for (int rows : {1, 2, 4})
      for (int lanes : {4, 8, 16, 32, 64}) {
        GgmlGemmConfig config = vectorConfig(problem, together, rows, target);
        config.lanes = lanes;
        all.push_back(config);
      }
  }
  return all;
}

void GgmlGemm::launch(const Call<GgmlGemmProblem> &call) {
  const GgmlGemmProblem &problem = call.problem;
  const GgmlGemmConfig &config = call.config;
  const GgmlGemmArgs &args = call.args;
  const Arguments arguments(FamilyOf<GgmlGemmProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.a, "a"), n = problem.n, k = problem.k;
  checkGgmlOperands(arguments, problem, config.tile_m, args, m);
  const Strided<OnHost, 1> residual = checkResidual(arguments, problem, config, args, m);
  const std::int64_t places = problem.experts ? checkSlots(arguments, problem, args, m) : m;
  if (!problem.experts) {
    (void)arguments.given(args.ids, "ids", false);
    (void)arguments.given(args.sorted_ids, "sorted_ids", false);
    (void)arguments.given(args.unit_experts, "unit_experts", false);
  }
  arguments.expectApart({{"c", "residual"}});
  if (places == 0 || m == 0)
    return;
  const std::int64_t across = ggmlColumnsOfBlock(config);
  const std::int64_t grid =
      (places + config.tile_m - 1) / config.tile_m * ((n + across - 1) / across);
  if (grid > std::numeric_limits<std::int32_t>::max()) [[unlikely]]
    arguments.fail("c has " + text(grid) + " tiles; a grid has at most 2147483647");
  const GgmlGemmParams<OnHost> product{
      .a = {.address = address(args.a), .stride = {strideOr(args.a, 0, k)}},
      .c = {.address = address(args.c), .stride = {strideOr(args.c, 0, problem.topk * n)}},
      .b = operandOf<0>(args.b.bytes),
      .up = args.up ? operandOf<0>(args.up->bytes) : Strided<OnHost, 0>{},
      .residual = residual,
      .m = static_cast<std::int32_t>(m)};
  const LaunchConfig on = call.on(grid, config.threads);
  if (!problem.experts) [[likely]]
    return call.launches.at(0, ggmlKernel(config))(on, call.where, product);
  call.launches.at(0, ggmlExpertsKernel(config))(
      on, call.where,
      {.product = product,
       .ids = operandOf<0>(problem.unit ? args.sorted_ids : args.ids),
       .unitExperts = operandOf<0>(args.unit_experts),
       .places = static_cast<std::int32_t>(places)});
}

std::vector<GgmlGemm::IndexRow> GgmlGemm::indexRows(const GgmlGemmProblem &problem,
                                                    const GgmlGemmConfig &) {
  if (!problem.experts)
    return {};
  if (!problem.unit)
    return {expertIdsRow<P, A>(problem)};
  return {unitExpertsRow<P, A>(), sortedIdsRow<P, A, tokensOf>()};
}

GgmlGemmArgs GgmlGemm::args(const GgmlGemmProblem &problem, const GgmlGemmConfig &, std::int64_t m,
                            const Sampler &sampler) {
  const std::int64_t experts = problem.experts, topk = problem.topk;
  const auto weights = [&](const char *name) {
    return GgmlTensor{problem.weight(), sampler(name, u8, Extents{weight_bytes(problem.weight())},
                                                Role::blocks(problem.format, problem.layout))};
  };
  // All experts have the same number of slots, and padding after them.
  const bool sorted = experts && problem.unit;
  const std::int64_t unit = std::max(problem.unit, 1), slots = m * topk,
                     those = std::clamp<std::int64_t>(slots, 1, std::max<std::int64_t>(experts, 1)),
                     taken = (slots + those - 1) / those,
                     each = std::max<std::int64_t>((taken + unit - 1) / unit, 1) * unit,
                     places = slots ? those * each : 0;
  return {.a = sampler("a", problem.a, Extents{m, problem.k}, Role::input),
          .b = weights("b"),
          .up = problem.gated ? std::optional(weights("up")) : std::nullopt,
          .ids = sampleIf(experts && !sorted, sampler, "ids", i32, Extents{m, topk},
                          Role::below(std::max<std::int64_t>(experts, 1))),
          .sorted_ids = sampleIf(sorted, sampler, "sorted_ids", i32, Extents{places},
                                 Role::slots(each, those, taken, m, topk)),
          .unit_experts = sampleIf(sorted, sampler, "unit_experts", i32, Extents{places / unit},
                                   Role::quotients(each / unit, those)),
          .residual = sampleIf(problem.residual, sampler, "residual", problem.c,
                               Extents{m, problem.n}, Role::input),
          .c =
              sampler("c", problem.c, experts ? Extents{m, topk, problem.n} : Extents{m, problem.n},
                      Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(GgmlGemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
