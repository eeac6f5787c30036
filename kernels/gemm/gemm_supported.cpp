// Which products the kernels support, and which configurations fit a problem and a target.
#include "gemm/gemm_family.h"

#include "blocks/facts/lds_layout.h"
#include "blocks/products/product_rules.h"
#include "blocks/products/tile_order_rules.h"
#include "blocks/quant/quant_rules.h"
#include "gemm/gemm_table.h"
#include "gemm/narrow_operands.h"
#include "gemm/vector_form.h"
#include "weight/weight_family.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
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

/// The elements of k of a matrix instruction with scales of 32 of them.
constexpr int kMxTileK = 128;

/// Elements of a column of b: the shortest tiles have 128 columns, of two bytes, in a buffer.
constexpr std::int64_t kMostColumnsOfB = kMostBufferBytes / 256 - 8;

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
    const int rows = shape.tilesM() + shape.halves * shape.tilesOfHalf(),
              ofPart = mxWords(problem.k / kMxBlock, shape.parts()) ? 1 : shape.form.scalesOfLane();
    kept.push_back({"scales of 32 elements of k", (2 * shape.parts() * ofPart + 1) * rows});
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

/// The bytes of a row of a tile of A or B.
int rowBytesOf(const GemmProblem &problem, const GemmConfig &config) {
  return config.tile_k * problem.a.memory_bits() / 8;
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

/// Whether c has its scales, and its type and that of the bias exist.
Support resultsSupported(const GemmProblem &problem) {
  const std::string isOfType = "c is of type " + std::string(problem.c.name());
  const DType bias = problem.bias_type;
  if (bias && !problem.bias)
    return Support::no("bias_type is " + std::string(bias.name()) + ", and there is no bias");
  if (problem.bias)
    if (const Support answer = floatSupported("bias", problem.type_of_bias()); !answer)
      return answer;
  const bool isOfFour = problem.c == f4E2M1FN;
  if (problem.c.memory_bits() != 8 && !isOfFour) {
    if (problem.scale_c != Scales::none)
      return Support::no(isOfType + ", and scale_c is of c of 4 or 8 bits");
    return floatSupported("c", problem.c);
  }
  if (isOfFour && problem.scale_c != Scales::mx)
    return Support::no(isOfType + "; it has scales of 32 of its columns, scale_c of Scales::mx");
  if (const Support answer = isOfFour ? Support() : quantisedSupported("c", problem.c); !answer)
    return answer;
  if (problem.rounding != Rounding::nearest)
    return Support::no(isOfType + "; stochastic rounding is for f16 and bf16");
  switch (problem.scale_c) {
  case Scales::none:
    return Support::no(isOfType + ", which needs a scale: scale_c is per_tensor, per_block or mx");
  case Scales::per_row:
    return Support::no(
        "scale_c is per_row, and no block has all columns of a row; it is per_tensor, "
        "per_block or mx. A row's scale is made by quantise (ScaleOf::row), of c in 16 bits");
  case Scales::per_tensor:
    return {};
  case Scales::mx:
    if (problem.scale != f8E8M0FNU)
      return Support::no("scale is " + std::string(problem.scale.name()) +
                         "; with scale_c of Scales::mx it is f8E8M0FNU");
    [[fallthrough]];
  case Scales::per_block:
    if (problem.c == i8)
      return Support::no("c is of type i8; scales of blocks belong to 8-bit floats");
    if (problem.narrow() || problem.b_layout != OperandLayout::prepared ||
        problem.a_layout != OperandLayout::rows)
      return Support::no(
          "scales of blocks of c are of products of rows of a and prepared weights that are "
          "not narrow");
    if (const int block = columnsOfScaleC(problem.scale_c); problem.n % block)
      return Support::no("n is " + to_string(problem.n) +
                         "; with scales of blocks of c it is a multiple of " + to_string(block));
    return {};
  }
  throw Error("scales of no kind");
}

/// Whether a residual may be added.
Support residualSupported(const GemmProblem &problem) {
  if (!problem.residual) {
    if (problem.residual_type)
      return Support::no("residual_type is " + std::string(problem.residual_type.name()) +
                         ", and there is no residual");
    if (problem.beta != 1)
      return Support::no("beta is of a residual, and there is none");
    return {};
  }
  if (problem.gated)
    return Support::no(
        "a residual is added before the activation, which gated pairs have inside; add it to the "
        "product that follows");
  if (!std::isfinite(problem.beta))
    return Support::no("beta is a finite number");
  return floatSupported("residual", problem.type_of_residual());
}

/// Whether the problem may have a batch of matrices.
Support batchSupported(const GemmProblem &problem) {
  if (!problem.batch)
    return {};
  if (problem.batch < 0 || problem.batch > kMostMatrices)
    return Support::no("batch is " + to_string(problem.batch) +
                       "; it is 0, or about how many "
                       "matrices a call has, up to " +
                       to_string(kMostMatrices));
  if (problem.rounding != Rounding::nearest)
    return Support::no("stochastic rounding is of products that are not batched");
  if (problem.b_layout == OperandLayout::prepared && problem.columns() % Preshuffled::kRows)
    return Support::no("b has " + to_string(problem.columns()) +
                       " rows; prepared weights of a batch have a multiple of 16 each");
  return {};
}

/// Whether operands with scales of 32 elements of k exist, and how their products may lie.
Support mxSupported(const GemmProblem &problem, const Target &target) {
  const DType a = problem.a, b = problem.b;
  const std::string ofTypes =
      "a is of type " + std::string(a.name()) + " and b of type " + std::string(b.name());
  if (problem.scale_a != problem.scale_b)
    return Support::no(
        "one operand has scales of 32 elements of k, Scales::mx; both have them, or none");
  for (const DType each : {a, b})
    if (each != f8E4M3FN && each != f8E5M2 && each != f4E2M1FN)
      return Support::no(ofTypes +
                         "; with Scales::mx each is f8E4M3FN, f8E5M2 or f4E2M1FN. f8E4M3FN has "
                         "all numbers of the floats of 6 bits, too");
  if (!hasMxInstructions(target))
    return Support::no(
        target.name() +
        " has no matrix instructions that this library gives scales of 32 elements of k. "
        "With a of bf16 or f16, b may be such weights: b_groups is {32, f8E8M0FNU}");
  if (a.memory_bits() < b.memory_bits())
    return Support::no(ofTypes +
                       "; of elements of 4 and 8 bits, b has those of 4. Give the operands "
                       "the other way round for the transposed product");
  if (problem.scale != f8E8M0FNU)
    return Support::no("scale is " + std::string(problem.scale.name()) +
                       "; with Scales::mx it is f8E8M0FNU");
  if (const int unit = b.memory_bits() == 8 ? kMxTileK : kMxBlock; problem.k % unit)
    return Support::no("k is " + to_string(problem.k) + "; with Scales::mx" +
                       (unit == kMxBlock ? " it is a multiple of 32"
                                         : " and b of 8 bits it is a multiple of 128"));
  if (problem.a_layout != OperandLayout::rows || problem.b_layout == OperandLayout::columns)
    return Support::no("with Scales::mx, a lies by rows, and b is prepared or lies by rows");
  if (problem.b_layout == OperandLayout::rows && a.memory_bits() != b.memory_bits())
    return Support::no(ofTypes + "; b of elements shorter than a's is prepared");
  if (problem.columns() * (problem.k / kMxBlock) >= kMostBufferBytes)
    return Support::no("the scales of b span more than 1 GiB");
  return {};
}

/// Whether narrow weights of these types and groups exist, and how their products may lie.
Support narrowSupported(const GemmProblem &problem) {
  const NarrowType *type = narrowType(problem.b);
  const ScaleGroups &groups = problem.b_groups;
  const auto ofType = [&] { return "b is of type " + std::string(problem.b.name()); };
  if (!type)
    return Support::no(ofType() +
                       "; narrow weights, under a of 16 bits, are u4, i4, u8, i8, f4E2M1FN or "
                       "8-bit floats");
  if (problem.a.memory_bits() == 8) {
    if (groups.zeros)
      return Support::no("b_groups.zeros, and a has 8 bits; zero points are of narrow weights "
                         "under a of 16 bits. Give the codes less their zero point as i4");
    if (problem.a == i8 && groups.size)
      return Support::no("b_groups.size is " + to_string(groups.size) +
                         " and a is i8, whose sums are integers over all of k; scales are of "
                         "rows, scale_b. Groups go with a of an 8-bit float");
    if (problem.b == u4 && (problem.a == f8E5M2 || problem.a == f8E5M2FNUZ))
      return Support::no("b is of type u4 and a of type " + std::string(problem.a.name()) +
                         ", which does not have 9, 11, 13 and 15; i4 it has, and f8E4M3 has both");
  }
  if (problem.b_layout != OperandLayout::prepared || problem.a_layout != OperandLayout::rows)
    return Support::no("narrow weights are prepared, and a lies by rows");
  if (problem.scale_b == Scales::per_block || problem.scale_a == Scales::per_block)
    return Support::no(
        "scales of blocks belong to operands of 8 bits; narrow weights have b_groups, in "
        "which neighbouring rows may hold the same scale");
  if (problem.columns() % Preshuffled::kRows || problem.n % 8)
    return Support::no("b has " + to_string(problem.columns()) +
                       " rows; of narrow weights they are a multiple of 16");
  if (groups.size == 0) {
    if (groups != ScaleGroups{})
      return Support::no(
          "b_groups has a type of scales or zero points and no size; sizes are 32, 64 and "
          "128");
    return type->grouped
               ? Support::no(ofType() + ", which has groups: b_groups.size is 32 in MXFP4")
               : Support{};
  }
  if (groups.size == 16)
    return Support::no(
        "b_groups.size is 16, as of NVFP4; 32, 64 and 128 are supported. An element times "
        "the scale of its group (f8E4M3FN) has 6 bits of a fraction at most: make weights of "
        "a's type of them, and of the scale of the tensor scale_b");
  if (groups.size != 32 && groups.size != 64 && groups.size != 128)
    return Support::no("b_groups.size is " + to_string(groups.size) +
                       "; 32, 64 and 128 are supported");
  if (problem.k % groups.size)
    return Support::no("k is " + to_string(problem.k) + ", no multiple of b_groups.size, " +
                       to_string(groups.size));
  if (groups.scale != f32 && groups.scale != f16 && groups.scale != bf16 &&
      groups.scale != f8E8M0FNU)
    return Support::no("b_groups.scale is " + std::string(groups.scale.name()) +
                       "; f32, f16, bf16 and f8E8M0FNU are supported");
  if (groups.zeros && problem.b != u4 && problem.b != u8)
    return Support::no(ofType() + "; zero points are of weights of type u4 or u8");
  if (groupsOf(groups, problem.k) * problem.columns() * groups.scale.memory_bits() / 8 >=
      kMostBufferBytes)
    return Support::no("the scales of groups span more than 1 GiB");
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

/// Whether there is a tile for any number of rows whose scales and zero points leave a lane room for the
/// rest. (RDNA3's lanes have all of a tile's.)
/// Sums of i8 are integers of 32 bits, which hold so many products of the largest magnitudes.
Support integersFit(const GemmProblem &problem) {
  if (problem.a != i8)
    return {};
  const std::int64_t largest = problem.b == u4   ? 15
                               : problem.b == i4 ? 8
                                                 : 128,
                     most = std::numeric_limits<std::int32_t>::max() / (128 * largest);
  if (problem.k <= most)
    return {};
  return Support::no(is("k", problem.k) + ", and sums of i8 are integers of 32 bits, which hold " +
                     to_string(most) + " products with b of type " + std::string(problem.b.name()) +
                     ". Multiply parts of k by themselves, each with the result of the one before "
                     "as its residual");
}

bool hasTile(const GemmProblem &problem, const Target &target) {
  return std::ranges::all_of(std::array{1, fewRowsOf(problem, target) + 1}, [&](std::int64_t rows) {
    return std::ranges::any_of(gemmTiles(target, problem, rows), [&](const GemmTile &tile) {
      return bool(Gemm::supported(problem, configOf(problem, tile), target));
    });
  });
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

Support Gemm::supported(const GemmProblem &problem, const Target &target) {
  if (!gpuSize(target))
    return Support::no("products have no configurations for this target");
  if (problem.narrow())
    if (const Support answer = narrowSupported(problem); !answer)
      return answer;
  if (!problem.narrow() && problem.b_groups != ScaleGroups{})
    return Support::no(
        "b_groups are of narrow weights: a is f16 or bf16, and b has 4 or 8 bits, or a has 8 bits "
        "and b is u4 or i4; here a is of type " +
        std::string(problem.a.name()) + " and b of type " + std::string(problem.b.name()));
  const auto ofTypes = [&] {
    const bool hasSingles = singleForm(target, 64, 64).has_value();
    if (isOfSingles(problem) && !hasSingles)
      return Support::no("a and b are of type f32; " + target.name() +
                         " has no matrix instructions of f32, and multiplies them where both lie "
                         "by rows. Leave b as it lies (OperandLayout::rows), or give both as f16 "
                         "or bf16");
    const bool ofFour = problem.a == f4E2M1FN || problem.b == f4E2M1FN;
    return Support::no(
        "a is of type " + std::string(problem.a.name()) + " and b of type " +
        std::string(problem.b.name()) + "; " + productTypes(target) +
        (hasSingles ? ", or both f32" : "") +
        (ofFour ? ". Operands of f4E2M1FN have scale_a and scale_b of Scales::mx" : ""));
  };
  // The types come first: what weights of others are prepared for are not products.
  const bool isMx = problem.scale_a == Scales::mx || problem.scale_b == Scales::mx;
  if (isMx) {
    if (const Support answer = mxSupported(problem, target); !answer)
      return answer;
  } else if (!isOfSingles(problem) &&
             (!matrixKind(problem.a) || !matrixKind(multipliedB(problem)))) {
    return ofTypes();
  }
  for (const Support &answer :
       {weightSupported(problem.weight()), integersFit(problem), resultsSupported(problem),
        residualSupported(problem), batchSupported(problem)})
    if (!answer)
      return answer;
  const auto form = vectorForm(problem, paddedColumns(problem), target);
  if (!form && problem.b_groups.size && fewestOfK(target, problem.a, problem.a))
    return Support::no("b_groups.size is " + to_string(problem.b_groups.size) +
                       ", and a is of type " + std::string(problem.a.name()) + ": " +
                       target.name() + " multiplies " +
                       to_string(fewestOfK(target, problem.a, problem.a)) +
                       " elements of k at a time, and no group is shorter than that. Under a of "
                       "f16 or bf16 groups may have 32 elements");
  if (!form)
    return ofTypes();
  if (problem.a_layout == OperandLayout::prepared)
    return Support::no("a is never prepared; it lies by rows or by columns");
  for (const auto &[name, layout] :
       {std::pair("a", problem.a_layout), std::pair("b", problem.b_layout)})
    if (layout == OperandLayout::columns && problem.a.memory_bits() != 16)
      return Support::no(std::string(name) + " lies by columns and is of type " +
                         std::string(problem.a.name()) + "; f16 and bf16 may do so");
  if (problem.b_layout == OperandLayout::columns && problem.n % 8)
    return Support::no("n is " + to_string(problem.n) +
                       "; it is a multiple of 8 where b lies by columns");
  if (problem.b_layout == OperandLayout::columns && problem.n > kMostColumnsOfB)
    return Support::no("n is " + to_string(problem.n) + "; it is up to " +
                       to_string(kMostColumnsOfB) + " where b lies by columns");
  if (problem.rounding == Rounding::stochastic && problem.c == f32)
    return Support::no("c is of type f32, which is not rounded; stochastic rounding is for f16 and "
                       "bf16");
  if (problem.seed_in_memory && problem.rounding != Rounding::stochastic)
    return Support::no("seed_in_memory is of stochastic rounding, and c is rounded to nearest");
  if (problem.gated && problem.b_layout != OperandLayout::prepared)
    return Support::no("gated pairs take prepared weights");
  if (hasBlockScales(problem) != (problem.scale_b == Scales::per_block))
    return Support::no("one operand has scales of blocks; both have them, or none");
  const bool hasBlocks = hasBlockScales(problem) || isMx || columnsOfScaleC(problem.scale_c);
  if (problem.scale != f32 && !(hasBlocks && problem.scale == f8E8M0FNU))
    return Support::no("scales are of type " + std::string(problem.scale.name()) +
                       "; f32 is supported, and f8E8M0FNU for scales of blocks");
  if (hasBlockScales(problem) && matrixKind(problem.a) != MatrixKind::float8)
    return Support::no("scales of blocks belong to 8-bit floats; a is of type " +
                       std::string(problem.a.name()));
  if (const int blocks = hasBlockScales(problem) ? kScaleBlock : Preshuffled::kRows;
      problem.gated && problem.n % blocks)
    return Support::no(
        "n is " + to_string(problem.n) + "; in gated pairs it is a multiple of " +
        to_string(blocks) +
        (hasBlockScales(problem) ? ", the rows of a scale" : ", the rows of a block"));
  if (problem.narrow() && !hasTile(problem, target))
    return Support::no("scales and zero points of groups of " + to_string(problem.b_groups.size) +
                       ", of type " + std::string(problem.b_groups.scale.name()) +
                       ", leave a lane of " + target.name() +
                       " no room in any tile; larger groups and scales of 16 bits take less");
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
