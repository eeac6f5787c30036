// Which configurations of products fit a problem and a target.
#include "gemm/gemm_family.h"

#include "blocks/facts/lds_layout.h"
#include "blocks/products/product_rules.h"
#include "blocks/products/tile_order_rules.h"
#include "blocks/quant/quant_rules.h"
#include "gemm/gemm_table.h"
#include "gemm/mx_operands.h"
#include "gemm/narrow_operands.h"
#include "gemm/vector_form.h"
#include "weight/weight_family.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Gemm = Family<GemmProblem>;
using std::to_string;

/// The vector registers that a kernel needs besides its fragments.
constexpr int kOtherRegisters = 48;

constexpr int kMostParts = 64;

/// The most tiles of a ring.
constexpr int kMostStages = 8;

/// What a lane keeps in registers while the loop runs.
struct Kept {
  const char *what;
  int registers;
};
/// Registers of narrow weights: the pieces of two steps as they are, and the numbers of a part.
int narrowRegisters(const GemmProblem &problem, const LoopShape &shape) {
  const int tiles = shape.halves * shape.tilesOfHalf(),
            pieces =
                shape.tileK / narrowBlockK(problem.b) * Preshuffled::kPieces / shape.form.across;
  return 4 * 2 * tiles * pieces + 4 * shape.loadsB();
}
std::vector<Kept> keptBy(const GemmProblem &problem, const GemmConfig &config,
                         const LoopShape &shape) {
  const int sums = shape.tilesM() * shape.halves * shape.tilesOfHalf() * shape.form.sums();
  // Pieces of 16 bytes are four registers. Half tiles hold half of A and both halves of B.
  if (config.loop == GemmLoop::groups)
    return {{"sums", sums},
            {"fragments of a", 4 * shape.parts() * (shape.reads() / 2)},
            {"fragments of b", 4 * shape.parts() * shape.loadsB()}};
  // Operands that go through the ring have fragments of two parts, others of two steps.
  const auto fragments = [&](bool isInRing, int ofPart) {
    return 4 * 2 * ofPart * (isInRing ? 1 : shape.parts());
  };
  const auto underWay = [&](bool isInRing, int rows) {
    return isInRing && !shape.dma ? 4 * shape.loadsOf(rows) : 0;
  };
  // Columns are turned on their way, which takes as many registers again, and a few.
  const auto turned = [&](OperandLayout layout, int rows) {
    return layout == OperandLayout::columns && !shape.dma ? 4 * shape.loadsOf(rows) + 4 : 0;
  };
  const bool ringA = config.loop == GemmLoop::ring, ringB = shape.ringB;
  const int loadsOfB = loopShapeOfB(problem, shape).value_or(shape).loadsB();
  std::vector<Kept> kept{
      {"sums", sums},
      {"fragments of a", fragments(ringA, shape.reads())},
      {"fragments of b",
       problem.narrow() ? narrowRegisters(problem, shape) : fragments(ringB, loadsOfB)},
      {"tiles under way", underWay(ringA, shape.tileM) + underWay(ringB, shape.tileN)},
      {"columns that are turned",
       turned(problem.a_layout, shape.tileM) + turned(problem.b_layout, shape.tileN)}};
  if (const ScaleGroups &groups = problem.b_groups; groups.size) {
    const int tiles = shape.halves * shape.tilesOfHalf() * (shape.tileK / groups.size),
              ofTile = shape.form.interleaved() ? 16 : shape.form.sums();
    kept.push_back({"sums of a group of k", sums});
    kept.push_back({"scales and zero points of groups",
                    2 * tiles * (ofTile * groups.scale.memory_bits() / 32 + groups.zeros)});
  }
  if (hasMxScales(problem)) {
    // Of a tile of 16 rows: those of two steps, and an address. A prepared word has two parts.
    const int ofPart = mxWords(problem.k / kMxBlock, shape.parts()) ? 1 : shape.form.scalesOfLane();
    const auto registers = [&](OperandLayout layout, int tiles, bool pairs) {
      if (layout == OperandLayout::rows)
        return (2 * shape.parts() * ofPart + 1) * tiles;
      return pairs ? (shape.parts() + 1) * (tiles / 2) : (shape.parts() + 2) * tiles;
    };
    const bool wholeB = hasWholeGroups(shape.tileOfHalf(), (shape.halves - 1) * problem.n);
    kept.push_back({"scales of 32 elements of k",
                    registers(problem.scale_a_layout, shape.tilesM(),
                              shape.wavesM == 1 && hasWholeGroups(shape.tileM)) +
                        registers(problem.scale_b_layout, shape.halves * shape.tilesOfHalf(),
                                  shape.waves == 1 && wholeB)});
  }
  if (hasBlockScales(problem)) {
    kept.push_back({"sums of a block of k", sums});
    kept.push_back(
        {"scales of blocks", 2 * shape.blocksOf(shape.parts()) *
                                 (shape.tilesM() + shape.halves * shape.scalesOfHalf())});
  }
  return kept;
}
/// The same of a loop without matrix instructions.
std::vector<Kept> keptByVector(const GemmConfig &config, const LoopShape &shape) {
  const int own = config.tile_n / shape.waves;
  return {{"sums", 4 * config.tile_m * own}, {"pieces of a and b", 4 * 2 * (config.tile_m + own)}};
}
/// Whether a lane has registers for all of it.
Support registersFit(const std::vector<Kept> &kept, int most) {
  int needed = 0;
  for (const Kept &one : kept)
    needed += one.registers;
  if (needed <= most)
    return {};
  std::string parts;
  for (const Kept &one : kept)
    if (one.registers)
      parts += (parts.empty() ? "" : ", ") + to_string(one.registers) + " of " + one.what;
  return Support::no("a lane keeps " + to_string(needed) + " registers (" + parts + "); " +
                     to_string(most) + " are free");
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
    return Support::no("scales of blocks need columns of c in a tile, here " + to_string(across) +
                       ", that divide 128 or that 128 divides");
  if (kScaleBlock % (16 * shape.waves))
    return Support::no("scales of blocks need 1, 2, 4 or 8 waves side by side");
  return {};
}

/// Whether a tile makes the scales of blocks of C, if the problem has them.
Support scalesOfCFit(const GemmProblem &problem, const GemmConfig &config, const LoopShape &shape) {
  const int block = columnsOfScaleC(problem.scale_c);
  if (!block)
    return {};
  if (!BlocksOfWaves{16, shape.waves, shape.tilesOfHalf(), block}.whole()) {
    const std::string columns = to_string(block);
    return Support::no("scales of " + columns + " columns of c need tiles of a multiple of " +
                       columns + " columns of c, here " + to_string(shape.tileOfHalf()) +
                       ", and 1, 2, 4 or 8 waves side by side, here " + to_string(shape.waves));
  }
  if (config.split_k > 1 || (config.waves_k > 1 && shape.waves > 1))
    return Support::no(
        "scales of blocks of c are made of whole sums by all waves side by side; split_k is "
        "1, and waves_k is 1 or waves share nothing else");
  return {};
}

/// What operands with scales of 32 elements of k need of a tile.
Support mxFits(const GemmProblem &problem, const GemmConfig &config) {
  if (!hasMxScales(problem))
    return {};
  constexpr int kPrepared = kMxBlock * PreparedScales::kScales;
  if (hasPreparedScales(problem) &&
      (config.tile_k % kPrepared ||
       (config.split_k > 1 && problem.k % (config.split_k * kPrepared))))
    return Support::no(
        "blocks of prepared scales have 256 elements of k; tile_k and the k of each part are "
        "multiples of that");
  if (config.tile_k % kMxTileK)
    return Support::no(
        "matrix instructions with scales of 32 elements of k take 128 of k; tile_k is a "
        "multiple of that");
  if (config.loop == GemmLoop::ring && config.waves_k > 1)
    return Support::no(
        "scales of 32 elements of k are of whole steps, which waves of the ring do not "
        "share; waves_k is 1");
  return {};
}

/// What narrow weights need of a tile.
Support narrowFits(const GemmProblem &problem, const GemmConfig &config) {
  if (!problem.narrow())
    return {};
  if (config.loop == GemmLoop::ring && config.waves_k > 1)
    return Support::no(
        "narrow weights come in pieces of several instructions, which waves of the ring do "
        "not share; waves_k is 1");
  const int unit = std::max(narrowBlockK(problem.b), problem.b_groups.size);
  if (config.tile_k % unit)
    return Support::no("narrow weights of type " + std::string(problem.b.name()) +
                       " come in blocks and groups of k; tile_k is a multiple of " +
                       to_string(unit));
  return {};
}

/// The bytes of a row of a tile of A or B; the most that there are where tile_k is far too long.
int rowBytesOf(const GemmProblem &problem, const GemmConfig &config) {
  return static_cast<int>(std::min<std::int64_t>(
      std::int64_t{config.tile_k} * problem.a.memory_bits() / 8, std::numeric_limits<int>::max()));
}

/// What two groups of waves that take turns take.
Support groupsFit(const GemmProblem &problem, const GemmConfig &config, const Target &target) {
  const auto no = [](const std::string &why) { return Support::no("GemmLoop::groups " + why); };
  if (!target.has(Feature::buffer_to_lds_wide))
    return no("needs loads of 16 bytes to LDS, which " + target.name() + " does not have");
  if (problem.narrow())
    return no(
        "takes weights of a's bits: narrow ones go straight into registers, by GemmLoop::ring");
  if (hasBlockScales(problem) || hasMxScales(problem))
    return no("takes no scales of blocks or of 32 elements of k");
  if (config.threads != 8 * target.wave_size() || config.waves_m != 2 || config.waves_k != 1)
    return no("has two rows of four waves: threads is " + to_string(8 * target.wave_size()) +
              ", waves_m 2 and waves_k 1");
  if (config.tile_m % 64 || config.tile_n % 128)
    return no("has halves of tiles: tile_m is a multiple of 64 and tile_n of 128");
  const int pass = config.threads * kPieceBytes, rowBytes = rowBytesOf(problem, config);
  if (std::min(config.tile_m, config.tile_n) / 2 * rowBytes % pass)
    return no("loads " + to_string(pass) + " bytes at a time; half of a tile, with rows of " +
              to_string(rowBytes) + " bytes, is no multiple of it");
  return {};
}

/// What a loop without matrix instructions takes. Its tiles are checked here alone.
Support vectorFits(const GemmProblem &problem, const GemmConfig &config, const Target &target) {
  const auto no = [](const std::string &why) { return Support::no("GemmLoop::vector " + why); };
  const int lanes = target.wave_size(), waves = config.threads / lanes,
            across = waves / config.waves_k, rowBytes = rowBytesOf(problem, config);
  if (problem.a_layout != OperandLayout::rows || problem.b_layout != OperandLayout::rows)
    return no("takes operands that lie by rows");
  if (hasBlockScales(problem) || hasMxScales(problem) || columnsOfScaleC(problem.scale_c))
    return no("takes no scales of blocks or of 32 elements of k");
  if (config.waves_m != 1 || config.split_k != 1)
    return no("has no rows of waves and no parts of k: waves_m and split_k are 1");
  if (config.tile_m < 1 || config.tile_m > kMostVectorRows)
    return no("keeps all rows of a in registers: tile_m is 1 to " + to_string(kMostVectorRows));
  if (config.tile_n < 16 || config.tile_n % 16 || config.tile_n > 16 * waves ||
      config.tile_n % across)
    return no("finishes 16 columns by a wave: tile_n is a multiple of 16, up to " +
              to_string(16 * waves) + ", and of the waves that do not share k, " +
              to_string(across));
  if (rowBytes != lanes * kPieceBytes)
    return no("loads 16 bytes of a row by each lane: a row of tile_k elements has " +
              to_string(lanes * kPieceBytes) + " bytes, here " + to_string(rowBytes));
  return {};
}

/// What each of the main loops takes, but for the sizes of GemmLoop::groups (groupsFit).
Support loopFits(const GemmProblem &problem, const GemmConfig &config, const Target &target) {
  const bool ring = config.loop == GemmLoop::ring, registers = config.loop == GemmLoop::registers;
  if (registers && config.waves_m > 1)
    return Support::no("waves_m is of GemmLoop::ring and GemmLoop::groups");
  if (!ring && (config.dma || config.stages != 2))
    return Support::no("stages and dma are of GemmLoop::ring");
  if (registers &&
      (problem.a_layout != OperandLayout::rows || problem.b_layout != OperandLayout::prepared))
    return Support::no("GemmLoop::registers takes rows of a and prepared weights");
  if (config.stages != 2 && !(config.dma && config.stages > 2 && config.stages <= kMostStages))
    return Support::no("stages is " + to_string(config.stages) + "; it is 2, or with dma 2 to " +
                       to_string(kMostStages));
  if (config.dma && !target.has(Feature::buffer_to_lds_wide) && !hasMover(config, target))
    return Support::no("dma: " + target.name() +
                       " has neither loads of 16 bytes to LDS nor a tensor data mover");
  if (hasMover(config, target) &&
      (problem.a_layout == OperandLayout::columns || problem.b_layout == OperandLayout::columns))
    return Support::no("dma takes operands that lie by rows");
  return {};
}

/// The sizes of a tile, and the number of parts of K.
Support tileFits(const GemmProblem &problem, const GemmConfig &config, const Target &target) {
  const int waves = config.threads / target.wave_size(),
            sideBySide = waves / config.waves_k / config.waves_m, halves = problem.gated ? 2 : 1;
  if (config.tile_m < 16 || config.tile_m > 256 || config.tile_m % (16 * config.waves_m))
    return Support::no("tile_m is a multiple of 16" +
                       std::string(config.waves_m > 1 ? " for each row of waves" : "") +
                       ", up to 256");
  if (config.tile_n < 1 || config.tile_n > 512 || config.tile_n % (16 * sideBySide * halves))
    return Support::no("tile_n is a multiple of " + to_string(16 * halves) + " for each wave" +
                       (problem.gated ? ", 16 gates and 16 ups" : "") + ", up to 512");
  const int rowBytes = rowBytesOf(problem, config);
  if (rowBytes < 64 || rowBytes > 1024 || !std::has_single_bit(static_cast<unsigned>(rowBytes)))
    return Support::no("a row of tile_k elements is a power of two of bytes, from 64 to 1024");
  return {};
}

/// Whether the block loads `rows` rows of the operand `name` in whole passes of all threads.
Support loadsWhole(const char *name, int rows, int rowBytes, int threads) {
  const int pass = threads * kPieceBytes;
  if (rowBytes / kPieceBytes <= threads && rows * rowBytes % pass == 0)
    return {};
  return Support::no("the tile of " + std::string(name) + ", " + to_string(rows) + " rows of " +
                     to_string(rowBytes) + " bytes, is no multiple of the " + to_string(pass) +
                     " bytes that the block loads at a time");
}

/// Whether an operand that lies by columns comes in whole passes of turned blocks, and has rows
/// that cover all banks.
Support columnsFit(int rows, int rowBytes, int threads, const Target &target) {
  const int loads = rows * rowBytes / threads / kPieceBytes;
  if (loads > 8 ? loads % 8 : !std::has_single_bit(static_cast<unsigned>(loads)))
    return Support::no("an operand that lies by columns is loaded by 1, 2, 4 or a multiple of 8 "
                       "times 16 bytes a thread, here " +
                       to_string(loads));
  if (rowBytes < 4 * lds_banks(target))
    return Support::no("an operand that lies by columns needs rows of " +
                       to_string(4 * lds_banks(target)) + " bytes, as many as LDS has banks for");
  return {};
}

/// The same for loads of LDS's own, whose tiles are turned by the reads of LDS: `tiles` of so many
/// rows. GemmLoop::groups has halves of tiles.
Support dmaColumnsFit(const char *tiles, int rows, const Target &target) {
  if (!target.has(Feature::lds_transpose_read))
    return Support::no("dma: " + target.name() + " has no reads of LDS that turn columns");
  if (!std::has_single_bit(static_cast<unsigned>(rows)))
    return Support::no("an operand that lies by columns comes by loads of LDS's own in " +
                       std::string(tiles) + " of a power of two of columns, here " +
                       to_string(rows));
  return {};
}

/// Whether the waves of a block move equal parts of `rows` rows of the operand `name` each.
Support movesWhole(const char *name, int rows, int waves) {
  if (!std::has_single_bit(static_cast<unsigned>(waves)))
    return Support::no("dma: a power of two of waves moves a tile of " + std::string(name) +
                       ", and the block has " + to_string(waves));
  if (rows % waves)
    return Support::no("dma: the tile of " + std::string(name) + ", " + to_string(rows) +
                       " rows, is no multiple of the " + to_string(waves) +
                       " waves that move a part of it each");
  return {};
}

/// How the threads of a block load the tiles that go through LDS.
Support loadsFit(const GemmProblem &problem, const GemmConfig &config, const Target &target) {
  const int threads = config.threads, rowBytes = rowBytesOf(problem, config);
  if (config.loop == GemmLoop::groups)
    if (const Support answer = groupsFit(problem, config, target); !answer)
      return answer;
  const auto comesWhole = [&](const char *name, int rows) {
    return hasMover(config, target) ? movesWhole(name, rows, threads / target.wave_size())
                                    : loadsWhole(name, rows, rowBytes, threads);
  };
  if (config.loop == GemmLoop::ring)
    if (const Support answer = comesWhole("a", config.tile_m); !answer)
      return answer;
  if (problem.b_layout != OperandLayout::prepared)
    if (const Support answer = comesWhole("b", config.tile_n); !answer)
      return answer;
  for (const auto &[layout, rows] :
       {std::pair(problem.a_layout, config.tile_m), std::pair(problem.b_layout, config.tile_n)})
    if (layout == OperandLayout::columns)
      if (const Support answer = config.loop == GemmLoop::groups
                                     ? dmaColumnsFit("halves of tiles", rows / 2, target)
                                 : config.dma ? dmaColumnsFit("tiles", rows, target)
                                              : columnsFit(rows, rowBytes, threads, target);
          !answer)
        return answer;
  return {};
}

/// Whether a tile of weights lies in a buffer of offsets of 32 bits, past whose end are the offsets
/// of what does not exist.
Support weightsReach(const GemmProblem &problem, const LoopShape &shape) {
  if (problem.b_layout == OperandLayout::columns &&
      shape.tileK * problem.n * shape.form.bytes() >= kMostBufferBytes)
    return Support::no(to_string(shape.tileK) + " columns of b of " + to_string(problem.n) +
                       " elements span more than 1 GiB");
  const Preshuffled weights = weightsOf(problem);
  if (problem.b_layout != OperandLayout::prepared ||
      shape.tileOfHalf() * weights.paddedK() * weights.bytes <= kMostBufferBytes)
    return {};
  return Support::no(to_string(shape.tileOfHalf()) + " rows of weights of " + to_string(problem.k) +
                     " elements span more than 1 GiB");
}

/// What LDS and the registers of a lane must hold.
Support memoryFits(const GemmProblem &problem, const GemmConfig &config, const LoopShape &shape,
                   const Target &target) {
  if (config.tile_k % shape.round())
    return Support::no("waves_k is " + to_string(config.waves_k) +
                       "; waves of the ring share tile_k by " + to_string(shape.form.part()) +
                       " elements each");
  // Fragments take turns from part to part, and stages from step to step.
  if (shape.stages % 2 && shape.parts() % 2)
    return Support::no("stages is " + to_string(shape.stages) + " and a step has " +
                       to_string(shape.parts()) +
                       " parts of k; one of both is even, because fragments take turns");
  const int lds = shape.ldsBytes() + bytesOfScalesOfC(problem, config, shape) +
                  (config.parts_sum == PartsSum::last_block ? kArrivedBytes : 0);
  if (static_cast<std::size_t>(lds) > target.lds_bytes())
    return Support::no((shape.ldsBytes() == shape.slicesBytes()
                            ? "the sums of the waves that share k"
                        : shape.ringB ? "the tiles of a and b"
                                      : to_string(shape.stages) + " tiles of a") +
                       std::string(" take ") + to_string(lds) + " bytes of LDS; there are " +
                       to_string(static_cast<std::int64_t>(target.lds_bytes())));
  for (const Support &answer : {scalesFit(problem, config, shape),
                                scalesOfCFit(problem, config, shape), weightsReach(problem, shape)})
    if (!answer)
      return answer;
  const int waves = config.threads / target.wave_size();
  return registersFit(keptBy(problem, config, shape),
                      registers_of_lane(target, waves) - kOtherRegisters);
}

/// The same for a loop without matrix instructions.
Support vectorMemoryFits(const GemmProblem &problem, const GemmConfig &config,
                         const Target &target) {
  const LoopShape shape = loopShape(problem, config, *vectorForm(problem, config.tile_k, target));
  const int lds = vectorSumsBytes(shape);
  if (static_cast<std::size_t>(lds) > target.lds_bytes())
    return Support::no("the sums of the waves take " + to_string(lds) +
                       " bytes of LDS; there are " +
                       to_string(static_cast<std::int64_t>(target.lds_bytes())));
  return registersFit(keptByVector(config, shape),
                      registers_of_lane(target, config.threads / target.wave_size()) -
                          kOtherRegisters);
}

/// How blocks share K.
Support partsFit(const GemmProblem &problem, const GemmConfig &config) {
  if (problem.batch && config.split_k > 1)
    return Support::no("split_k is " + to_string(config.split_k) +
                       "; blocks do not share the K of a product of a batch, it is 1");
  if (config.parts_sum == PartsSum::last_block && config.split_k == 1)
    return Support::no("parts_sum is of split_k > 1");
  if (config.parts_sum == PartsSum::last_block && config.split_k > PartFlags::kMostParts)
    return Support::no("split_k is up to " + to_string(PartFlags::kMostParts) +
                       " with PartsSum::last_block");
  const std::int64_t ofParts = static_cast<std::int64_t>(config.split_k) * config.tile_k;
  if (config.split_k > 1 && problem.k % ofParts)
    return Support::no("k is " + to_string(problem.k) + ", no multiple of split_k * tile_k, " +
                       to_string(ofParts));
  return {};
}

/// A refusal of a configuration.
Support named(const GemmConfig &config, const Support &answer) {
  return Support::no("tile " + to_string(config.tile_m) + "x" + to_string(config.tile_n) + "x" +
                     to_string(config.tile_k) + " of " + to_string(config.threads) +
                     " threads: " + answer.why);
}
/// What a block, its loop and its tiles take, whatever the matrix instruction. Each check relies on
/// those before it.
Support blockFits(const GemmProblem &problem, const GemmConfig &config, const Target &target) {
  if (const Support answer = wavesFit(config, target); !answer)
    return answer;
  if (const Support answer = loopFits(problem, config, target); !answer)
    return answer;
  if (config.loop == GemmLoop::vector)
    return vectorFits(problem, config, target);
  if (isForVectorsAlone(problem, target))
    return Support::no("a and b are of type f32, which " + target.name() +
                       " multiplies without matrix instructions: loop is GemmLoop::vector");
  if (const Support answer = tileFits(problem, config, target); !answer)
    return answer;
  for (const Support &answer : {mxFits(problem, config), narrowFits(problem, config)})
    if (!answer)
      return answer;
  return loadsFit(problem, config, target);
}
/// What a loop with this matrix instruction takes.
Support formFits(const GemmProblem &problem, const GemmConfig &config, const MatrixForm &form,
                 const Target &target) {
  const LoopShape shape = loopShape(problem, config, form);
  if (const Support answer = memoryFits(problem, config, shape, target); !answer)
    return named(config, answer);
  if (const Support answer = partsFit(problem, config); !answer)
    return named(config, answer);
  return orderSupported(config.order);
}

} // namespace

Support wavesFit(const GemmConfig &config, const Target &target) {
  for (const auto &[field, value] :
       {std::pair{"tile_m", config.tile_m}, {"tile_n", config.tile_n}, {"tile_k", config.tile_k}})
    if (value < 1)
      return Support::no(is(field, value) + "; it is 1 at least");
  if (config.split_k < 1 || config.split_k > kMostParts)
    return Support::no("split_k is 1 to " + to_string(kMostParts));
  const int threads = config.threads, lanes = target.wave_size(), waves = threads / lanes;
  if (threads < lanes || threads % lanes || threads > target.max_block_size())
    return Support::no("a block is a number of waves of " + to_string(lanes) + ", up to " +
                       to_string(target.max_block_size()) + " threads");
  if (config.waves_k < 1 || waves % config.waves_k)
    return Support::no("waves_k is " + to_string(config.waves_k) +
                       "; it divides the waves of a block, " + to_string(waves));
  if (config.waves_m < 1 || waves / config.waves_k % config.waves_m)
    return Support::no("waves_m is " + to_string(config.waves_m) +
                       "; it divides the waves of a block, " + to_string(waves));
  return {};
}

Support Gemm::supported(const GemmProblem &problem, const GemmConfig &config,
                        const Target &target) {
  if (const Support answer = blockFits(problem, config, target); !answer)
    return named(config, answer);
  if (config.loop != GemmLoop::vector)
    return formFits(problem, config, *gemmForm(problem, config, target), target);
  if (const Support answer = partsFit(problem, config); !answer)
    return named(config, answer);
  if (const Support answer = vectorMemoryFits(problem, config, target); !answer)
    return named(config, answer);
  return orderSupported(config.order);
}
Support Gemm::supported(const GemmProblem &problem, const GemmConfig &config,
                        const MatrixForm &form, const Target &target) {
  if (const Support answer = blockFits(problem, config, target); !answer)
    return named(config, answer);
  return formFits(problem, config, form, target);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
