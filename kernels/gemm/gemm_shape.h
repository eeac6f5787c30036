// What a product's problem and configuration mean for its kernel, for the host and the kernel.
#pragma once

#include "blocks/facts/matrix_form.h"
#include "blocks/products/blocks_of_waves.h"
#include "blocks/products/loop_shape.h"
#include "blocks/products/narrow_rules.h"
#include "blocks/products/preshuffle.h"
#include "blocks/products/split_k_rules.h"
#include "blocks/products/tile_grid.h"

#include <flydsl/kernels/gemm.h>

#include <numeric>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline Preshuffled weightsOf(const GemmProblem &problem) { return preshuffled(problem.weight()); }
/// The columns of K with those that fill the last block of weights.
inline std::int64_t paddedColumns(const GemmProblem &problem) {
  return weightsOf(problem).paddedK() * weightsOf(problem).bytes * 8 / problem.b.memory_bits();
}
/// The type of b as the matrix unit takes it.
inline DType multipliedB(const GemmProblem &problem) {
  return problem.narrow() ? problem.a : problem.b;
}
/// Whether operands have scales of blocks of 128 elements of K, and of 32.
inline bool hasBlockScales(const GemmProblem &problem) {
  return problem.scale_a == Scales::per_block;
}
inline bool hasMxScales(const GemmProblem &problem) { return problem.scale_a == Scales::mx; }
/// Whether scales of 32 elements of either operand are prepared.
inline bool hasPreparedScales(const GemmProblem &problem) {
  return problem.scale_a_layout == OperandLayout::prepared ||
         problem.scale_b_layout == OperandLayout::prepared;
}
/// Whether both operands are f32, which instructions of their own multiply.
inline bool isOfSingles(const GemmProblem &problem) { return problem.a == f32 && problem.b == f32; }
/// The instruction of operands of f32, which rounds none of them. (Those with the precision of
/// xf32 cut 13 bits off; a router's scores would tell.) None if the target has none (RDNA).
inline std::optional<MatrixForm> singleForm(const Target &target, std::int64_t stepK,
                                            std::int64_t rowK) {
  for (const rocdl::MatrixProduct &product : rocdl::matrix_products(target, f32, f32))
    if (product.m == 16 && product.n == 16 && product.acc == f32 &&
        product.feature != Feature::xf32)
      if (const MatrixForm form(product); stepK % form.part() == 0 && rowK % form.part() == 0)
        return form;
  return std::nullopt;
}
/// The elements of K that share a scale.
inline constexpr int kMxBlock = 32;
/// The scales of 32 elements of `rows` rows of b, with those that fill the last blocks of prepared ones.
inline std::int64_t mxScalesOfB(const GemmProblem &problem, std::int64_t rows) {
  if (problem.scale_b_layout != OperandLayout::prepared)
    return rows * (problem.k / kMxBlock);
  const auto [groups, blocks, bytes] = PreparedScales::shape(rows, problem.k);
  return groups * blocks * bytes;
}
/// The elements of k of a matrix instruction with such scales.
inline constexpr int kMxTileK = kMxBlock * kMxScalesOfPart;
/// How operands are moved: elements of 4 bits in pairs, which are the units of K of a loop's shape.
inline PackedOperand packedA(const GemmProblem &problem) { return {problem.a}; }
inline PackedOperand packedB(const GemmProblem &problem) { return {problem.b}; }
inline PackedOperand packedC(const GemmProblem &problem) { return {problem.c}; }
/// The columns of C that share a scale which the product makes; 0 if it makes none.
constexpr int columnsOfScaleC(Scales scales) {
  return scales == Scales::per_block ? kScaleBlock : scales == Scales::mx ? kMxBlock : 0;
}
/// The matrix instruction of a problem, for steps of so many elements of K; none if the target has
/// none for these types. Powers of two as scales of blocks are for an instruction that takes them.
inline std::optional<MatrixForm> gemmForm(const GemmProblem &problem, std::int64_t stepK,
                                          const Target &target) {
  const bool takesPowers = hasBlockScales(problem) && problem.scale == f8E8M0FNU;
  if (hasMxScales(problem) || takesPowers) {
    const std::optional<MxForms> forms = mxForms(target, problem.a, problem.b);
    if (forms && stepK % forms->a.instruction.k == 0 &&
        paddedColumns(problem) % forms->a.instruction.k == 0)
      return forms->a;
  }
  if (hasMxScales(problem))
    return std::nullopt;
  if (isOfSingles(problem))
    return singleForm(target, stepK, paddedColumns(problem));
  // The products of a group are summed on their own, so that no part of K has two groups.
  if (problem.b_groups.size)
    stepK = std::gcd(stepK, std::int64_t(problem.b_groups.size));
  return matrixForm(target, problem.a, multipliedB(problem), stepK, paddedColumns(problem));
}
/// The same for a tile.
inline std::optional<MatrixForm> gemmForm(const GemmProblem &problem, const GemmConfig &config,
                                          const Target &target) {
  return gemmForm(problem, config.tile_k, target);
}
/// Whether tiles of the ring come by a tensor data mover, where others have LDS's own loads.
inline bool hasMover(const GemmConfig &config, const Target &target) {
  return config.dma && target.has(Feature::tensor_mover);
}
/// The loop of a block, over its part of K. Its K counts units of A.
inline LoopShape loopShape(const GemmProblem &problem, const GemmConfig &config,
                           const MatrixForm &form) {
  return {.form = form,
          .tileM = config.tile_m,
          .tileN = config.tile_n,
          .tileK = config.tile_k / packedA(problem).elements(),
          .waves = config.threads / form.lanes / config.waves_k / config.waves_m,
          .k = problem.k / config.split_k / packedA(problem).elements(),
          .halves = problem.gated ? 2 : 1,
          .wavesM = config.waves_m,
          .wavesK = config.waves_k,
          .sliced = config.loop != GemmLoop::registers && config.loop != GemmLoop::vector,
          .stages = config.stages,
          .dma = config.dma || config.loop == GemmLoop::groups,
          .mover = hasMover(config, form.instruction.target),
          .ringB = problem.b_layout != OperandLayout::prepared || config.loop == GemmLoop::groups,
          .preparedB = problem.b_layout == OperandLayout::prepared};
}
/// The loop's numbers as B counts them, if a byte of B has two elements and a byte of A one (f8 x f4): tileK and
/// k are half as many bytes. None if both count alike.
inline std::optional<LoopShape> loopShapeOfB(const GemmProblem &problem, const LoopShape &shape) {
  const int ofA = packedA(problem).elements(), ofB = packedB(problem).elements();
  if (!hasMxScales(problem) || ofA == ofB)
    return std::nullopt;
  LoopShape shapeB = shape;
  shapeB.form = mxForms(shape.form.instruction.target, problem.a, problem.b)->b;
  shapeB.tileK = shape.tileK * ofA / ofB;
  shapeB.k = shape.k * ofA / ofB;
  return shapeB;
}
/// Scales of a row of C that the product makes.
inline std::int64_t scalesOfRowOfC(const GemmProblem &problem) {
  const int block = columnsOfScaleC(problem.scale_c);
  return block ? (problem.n + block - 1) / block : 0;
}
/// The matrices of a batch: a grid counts them in its second mode.
inline constexpr std::int64_t kMostMatrices = 65535;
/// A block's rows of A, and of C, lie in a buffer of fewer bytes; offsets inside of it have 32
/// bits.
inline constexpr std::int64_t kMostBufferBytes = 1 << 30;
/// True if B lies by columns and a block's part of K spans more than a buffer reaches. Then each step has a
/// buffer of its own.
inline bool hasFarColumns(const GemmProblem &problem, const GemmConfig &config) {
  return problem.b_layout == OperandLayout::columns &&
         (problem.k / config.split_k + config.tile_k) * problem.n * (problem.b.memory_bits() / 8) >=
             kMostBufferBytes;
}
/// Groups of K with scales of their own, in a row of narrow weights.
inline std::int64_t groupsOf(const ScaleGroups &groups, std::int64_t k) {
  return groups.size ? k / groups.size : 0;
}
/// The type of scale_a and scale_b: others than those of blocks are f32.
inline DType typeOfScales(const GemmProblem &problem) {
  return hasBlockScales(problem) || hasMxScales(problem) ? problem.scale : DType(f32);
}
/// Blocks of K with a scale of their own.
inline std::int64_t scaleBlocks(std::int64_t size) {
  return (size + kScaleBlock - 1) / kScaleBlock;
}
/// The sums of the parts of K, if there are several.
inline PartsShape partsShape(const GemmProblem &problem, const GemmConfig &config) {
  return {config.split_k, problem.columns(), problem.a == i8 ? i32 : f32};
}
/// The columns of a tile's rows in the workspace: of each half, if pairs are gated.
inline std::int64_t columnsOfParts(const GemmProblem &problem, const GemmConfig &config) {
  return problem.gated ? problem.n : partsShape(problem, config).columns();
}
/// Shared memory in which waves side by side find the largest magnitudes of scales of blocks of C.
inline int bytesOfScalesOfC(const GemmProblem &problem, const GemmConfig &config,
                            const LoopShape &shape) {
  const int block = columnsOfScaleC(problem.scale_c);
  if (!block || shape.waves == 1)
    return 0;
  return 4 * shape.waves * config.tile_m *
         BlocksOfWaves{16, shape.waves, shape.tilesOfHalf(), block}.ofWave();
}
/// Columns of C that a block computes, and tiles of C side by side.
inline int tileAcross(const GemmProblem &problem, const GemmConfig &config) {
  return problem.gated ? config.tile_n / 2 : config.tile_n;
}
inline TileGrid tileGrid(const GemmProblem &problem, const GemmConfig &config) {
  return {config.tile_m, tileAcross(problem, config), problem.n, config.split_k, config.order};
}
inline std::int64_t tilesAcross(const GemmProblem &problem, const GemmConfig &config) {
  return tileGrid(problem, config).across();
}
/// Tiles of C.
inline std::int64_t tilesOf(const GemmProblem &problem, const GemmConfig &config, std::int64_t m) {
  return (m + config.tile_m - 1) / config.tile_m * tilesAcross(problem, config);
}

/// The row of scales of blocks of B of a half of a tile that begins at a column.
template <class Int> Int rowOfScalesB(const GemmProblem &problem, const Int &column, int half) {
  return Int(column / kScaleBlock + half * static_cast<std::int32_t>(scaleBlocks(problem.n)));
}

/// True if the parts of K are added in the launch that makes them.
inline bool addsInLaunch(const GemmConfig &config) {
  return config.split_k > 1 && config.parts_sum == PartsSum::last_block;
}

/// The tile of the kernel that adds the parts: four or eight neighbours for each thread.
inline constexpr int kSumTileM = 16, kSumTileN = 128, kSumThreads = 256;
inline std::int64_t sumTilesAcross(const GemmProblem &problem) {
  return (problem.n + kSumTileN - 1) / kSumTileN;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
