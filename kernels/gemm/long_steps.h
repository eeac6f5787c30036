// Tiles of long steps for gfx1250's dense products, as data.
//
// A tensor data mover brings the tiles of several steps ahead. Of a step of 512 or 1,024 bytes of a row a workgroup waits for memory
// and at barriers half or a quarter as often as of one of 256, and few waves have a tile. FlyDSL's tuned kernels for MI455X
// (aiter's tables: 16x32x1024, 32x32x512, 64x32x512, 64x64x512 of 8 bits, with two to four stages) are of this kind, too.
// (bench/silicon/README.md has the estimates.)
#pragma once

#include "gemm/gemm_table.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The bytes of the steps of most of these tiles. K has whole ones.
inline constexpr int kLongStepBytes = 512;

/// GemmTile::longK for these tiles: they are enough for more than half of the compute units whatever the length of K is.
inline constexpr int kAnyLength = 1;
inline bool isOfLongSteps(const GemmTile &tile) { return tile.longK == kAnyLength; }
constexpr GemmTile longStepTile(int m, int n, int bytesK, int stages = kDmaStages) {
  return {.m = m,
          .n = n,
          .bytesK = bytesK,
          .threads = n > 32 ? 128 : 64,
          .dmaBytes = 8,
          .dmaStages = stages,
          .longK = kAnyLength};
}
/// The same for weights as they are, which come through LDS, too: two rows of waves share them.
constexpr GemmTile sharedLongStepTile(int m, int n, int bytesK, int threads = 128) {
  GemmTile tile = longStepTile(m, n, bytesK);
  tile.threads = threads, tile.wavesM = 2;
  return tile;
}
/// Up to 16 and 32 rows. The last tile is taken if none gives enough work.
inline constexpr GemmTile kLongSteps16[] = {longStepTile(16, 64, 512), longStepTile(16, 32, 1024),
                                            longStepTile(16, 32, 512), longStepTile(16, 32, 1024)};
inline constexpr GemmTile kLongSteps32[] = {longStepTile(32, 64, 512), longStepTile(32, 32, 1024),
                                            longStepTile(32, 32, 512), longStepTile(32, 32, 1024)};
/// More rows. The largest tile of all comes through registers.
inline constexpr GemmTile kLongSteps[] = {
    {.m = 256, .n = 256, .bytesK = 128, .threads = 256, .wavesM = 2},
    longStepTile(128, 256, 128),
    longStepTile(128, 128, 256),
    longStepTile(64, 128, 256),
    longStepTile(64, 64, 512),
    longStepTile(32, 64, 512),
    longStepTile(32, 32, 1024),
    longStepTile(32, 32, 512)};
/// More than kFewRows rows by weights as they are. The last tile leaves the most work for parts of K.
inline constexpr GemmTile kLongStepsOfRows[] = {
    {.m = 256, .n = 256, .bytesK = 128, .threads = 256, .wavesM = 2},
    sharedLongStepTile(128, 256, 128, 256),
    sharedLongStepTile(128, 128, 256),
    longStepTile(64, 128, 256),
    sharedLongStepTile(64, 64, 512),
    longStepTile(32, 64, 512),
    longStepTile(16, 64, 256)};
/// Operands of 4 bits with scales of 32 elements of K.
inline constexpr GemmTile kLongStepsOfMx4[] = {
    longStepTile(128, 256, 128, 3), longStepTile(64, 128, 256), longStepTile(64, 64, 512),
    longStepTile(32, 64, 512),      longStepTile(32, 32, 1024), longStepTile(32, 32, 512)};
/// The same with a of 8 bits, whose steps of 1,024 bytes and tiles of 64 x 64 in steps of 512 spill.
inline constexpr GemmTile kLongSteps16OfMx8[] = {longStepTile(16, 64, 512),
                                                 longStepTile(16, 32, 512)};
inline constexpr GemmTile kLongStepsOfMx8[] = {
    longStepTile(128, 256, 128), longStepTile(64, 128, 256), longStepTile(32, 64, 512),
    longStepTile(32, 32, 512)};

/// Gated products of more than kFewRows rows, half of whose columns are gates; with scales of 32 elements of K, of a of 4 and of 8 bits.
/// Fewer rows keep the tiles of narrow columns whose waves share K.
inline constexpr GemmTile kLongStepsOfGated[] = {
    longStepTile(128, 256, 128), longStepTile(128, 128, 256), longStepTile(64, 128, 512),
    longStepTile(32, 128, 512), longStepTile(16, 128, 512)};
inline constexpr GemmTile kLongStepsOfGatedMx4[] = {
    longStepTile(128, 256, 128, 3), longStepTile(64, 128, 256), longStepTile(32, 128, 512),
    longStepTile(16, 128, 512)};
inline constexpr GemmTile kLongStepsOfGatedMx8[] = {
    longStepTile(128, 256, 128), longStepTile(64, 128, 256), longStepTile(32, 128, 512),
    longStepTile(16, 128, 256)};

/// The most rows for which waves that share K are quicker if no launch adds parts of K: masked rows cost them nothing.
inline constexpr std::int64_t kMostRowsOfSharedK = 8;
/// The fewest steps for which weights as they are have such tiles: of 200 x 768 x 512 they take 3.8 us rather than 3.6.
inline constexpr std::int64_t kFewestLongSteps = 4;
/// The tiles of long steps for m rows of A, from the largest to the smallest; none where those of gemmTiles are taken. Operands of f32 are
/// bound by their matrix instructions, and gain nothing.
inline std::span<const GemmTile> longStepTiles(const Target &target, const GemmProblem &problem,
                                               std::int64_t m) {
  using Tiles = std::span<const GemmTile>;
  const bool isPrepared = problem.b_layout == OperandLayout::prepared,
             areRows = problem.b_layout == OperandLayout::rows && !hasBlockScales(problem) &&
                       !hasMxScales(problem) && !problem.gated && m > kFewRows &&
                       problem.k >= kFewestLongSteps * elementsOf(problem, kLongStepBytes);
  const bool isFor = target.has(Feature::tensor_mover) && !problem.narrow() &&
                     !isOfSingles(problem) && problem.a_layout == OperandLayout::rows &&
                     (isPrepared || areRows) && problem.scale_c != Scales::per_block &&
                     problem.k % elementsOf(problem, kLongStepBytes) == 0;
  if (!isFor || (m <= kMostRowsOfSharedK && !problem.zeroed_workspace))
    return {};
  if (areRows)
    return Tiles(kLongStepsOfRows);
  const bool isOfMx8 = hasMxScales(problem) && !isOfFourBits(problem);
  if (problem.gated && m <= kFewRows)
    return {};
  if (problem.gated)
    return isOfMx8                ? Tiles(kLongStepsOfGatedMx8)
           : hasMxScales(problem) ? Tiles(kLongStepsOfGatedMx4)
                                  : Tiles(kLongStepsOfGated);
  if (m <= 16)
    return isOfMx8 ? Tiles(kLongSteps16OfMx8) : Tiles(kLongSteps16);
  if (isOfMx8)
    return Tiles(kLongStepsOfMx8).subspan(m <= kFewRows ? 2 : 0);
  return m <= kFewRows          ? Tiles(kLongSteps32)
         : hasMxScales(problem) ? Tiles(kLongStepsOfMx4)
                                : Tiles(kLongSteps);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
