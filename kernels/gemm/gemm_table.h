// The tiles of products, as data.
//
// The tiles are those that FlyDSL's CI and its commit messages use for its preshuffled product
// (scripts/run_benchmark.sh: 16x64x512, 32x64x512, 64x256x128 and 128x128x128 of 8 bits; 128x256 by
// 128 bytes was the fastest of bf16 on gfx950), and sizes between them. FlyDSL leaves the choice to
// the caller. Here it follows the ladder that FlyDSL has for RDNA3: the largest tile that gives
// as many blocks as the GPU has compute units, otherwise the smallest that fits.
#pragma once

#include "blocks/facts/gpu_size.h"
#include "blocks/facts/matrix_form.h"
#include "gemm/gemm_shape.h"

#include <flydsl/kernels/gemm.h>

#include <algorithm>
#include <array>
#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The stages of tiles that come to LDS without registers, unless a tile has another number.
inline constexpr int kDmaStages = 4;
/// A tile of C, the bytes of a row of A that a step loads, the threads that share it, and how many
/// of their waves share K; 0: a tile of the ring, shared by wavesM rows of waves.
struct GemmTile {
  int m, n, bytesK, threads, wavesK = 0, wavesM = 1;
  /// The bytes of the largest elements whose tiles come to LDS without registers, where the target has
  /// loads of 16 bytes or a mover for it: those that are estimated faster then, in dmaStages stages (longer steps in
  /// kLongStages), or in fewer if LDS has no room for more (bench/kernels/README.md). 0: none.
  int dmaBytes = 0, dmaStages = kDmaStages;
  /// Waves of the ring that share K, where the problem and the target let them: if LDS has 32
  /// banks, and if it has 64, gives twice the fragments at a time, and loads the tiles by itself.
  int slices = 1, slicesWide = 1;
  bool groups = false; ///< GemmLoop::groups
  /// Steps of K from which on tiles for more than half of the compute units are enough, because the next
  /// smaller one reads the weights twice as often; 0: never. (Estimates: bench/silicon/README.md.)
  int longK = 0;
  /// Longer steps, in bytes of a row, which dense products take where K has whole ones: always, and where no compute unit
  /// has two tiles, so that nothing else hides the end of a step. 0: none. Such a tile may be
  /// taken from more than half as many tiles as compute units on (isWorthIdleUnits in gemm_choice.cpp).
  int bytesLong = 0, bytesAlone = 0;
};
/// Into how many slices waves of the ring may share K, and the highest tiles whose waves may.
inline constexpr int kSlices[] = {2, 4}, kMostSlicedM = 64;
/// The fewest of such stages. Rings of two stages that a mover fills are estimated slower than those
/// by registers.
inline int fewestDmaStages(const Target &target) {
  return target.has(Feature::tensor_mover) ? 3 : 2;
}
/// Tiles of CDNA's ring, from the largest to the smallest. The longer steps are for CDNA3, whose waves wait for memory rather than for
/// matrix units. (bench/kernels/README.md has the estimates, and those of CDNA4.)
inline constexpr GemmTile kCdnaTiles[] = {
    {.m = 128, .n = 256, .bytesK = 128, .threads = 256},
    {.m = 128, .n = 128, .bytesK = 128, .threads = 256},
    {.m = 64, .n = 256, .bytesK = 128, .threads = 256},
    {.m = 64, .n = 128, .bytesK = 128, .threads = 256, .bytesLong = 256},
    {.m = 32, .n = 256, .bytesK = 128, .threads = 256, .bytesLong = 256},
    {.m = 64, .n = 64, .bytesK = 256, .threads = 256, .slices = 2, .bytesAlone = 512},
    {.m = 32, .n = 128, .bytesK = 256, .threads = 256, .bytesAlone = 512},
    {.m = 32, .n = 64, .bytesK = 512, .threads = 256, .slices = 2, .longK = 8},
    {.m = 16, .n = 128, .bytesK = 256, .threads = 256},
    {.m = 16, .n = 64, .bytesK = 512, .threads = 256},
};
/// The same on CDNA4, whose LDS has room for longer steps of more stages, given the longer steps of the largest tile. FlyDSL's products that
/// were measured to be quickest on MI355X have such steps: 64x128x256 and 128x128x256 of 8 bits up to 2,048 rows (aiter's tables).
constexpr std::array<GemmTile, 10> cdna4Tiles(int longOfLargest) {
  return {{{.m = 128,
            .n = 256,
            .bytesK = 128,
            .threads = 256,
            .dmaBytes = 1,
            .bytesLong = longOfLargest,
            .bytesAlone = 256},
           {.m = 128, .n = 128, .bytesK = 128, .threads = 256, .dmaBytes = 2, .bytesAlone = 256},
           {.m = 64, .n = 256, .bytesK = 128, .threads = 256, .dmaBytes = 2, .bytesAlone = 256},
           {.m = 64,
            .n = 128,
            .bytesK = 128,
            .threads = 256,
            .dmaBytes = 2,
            .bytesLong = 256,
            .bytesAlone = 512},
           {.m = 32, .n = 256, .bytesK = 128, .threads = 256, .dmaBytes = 2, .bytesLong = 256},
           {.m = 64, .n = 64, .bytesK = 256, .threads = 256, .bytesLong = 512},
           {.m = 32, .n = 128, .bytesK = 256, .threads = 256, .dmaBytes = 1, .bytesLong = 512},
           {.m = 32, .n = 64, .bytesK = 512, .threads = 256, .longK = 8},
           {.m = 16, .n = 128, .bytesK = 256, .threads = 256},
           {.m = 16, .n = 64, .bytesK = 512, .threads = 256}}};
}
inline constexpr std::array kCdna4Tiles = cdna4Tiles(0), kCdna4TilesOf8 = cdna4Tiles(256);
/// The stages of such steps of up to so many bytes by LDS's own loads; longer ones come by registers.
inline constexpr int kLongStages = 3, kMostBytesByDma = 256;
/// The bytes of a row from which on such a tile is taken though units idle: what a launch begins and ends with is most of a shorter K.
inline constexpr int kLongRow = 2048;
/// The most sums of a tile with such steps where operands have scales of blocks or of the microscaling formats: more of them, and
/// their scales, leave a lane no registers for a longer step. Of operands of 4 bits the largest tile takes less time with them all the
/// same: 2,048 x 8,192 x 8,192 of MXFP4 on MI355X 63 us rather than 75 (estimates: bench/silicon/README.md).
inline constexpr int kMostSumsOfScaled = 64 * 128, kLargestSums = 128 * 256;
/// True if a and b have 4 bits.
inline bool isOfFourBits(const GemmProblem &problem) {
  return problem.a.memory_bits() == 4 && problem.b.memory_bits() == 4;
}
/// True if a lane has the registers for longer steps of the tile.
inline bool hasRoomForLongSteps(const GemmProblem &problem, const GemmTile &tile) {
  const int sums = tile.m * tile.n;
  return !(hasBlockScales(problem) || hasMxScales(problem)) || sums <= kMostSumsOfScaled ||
         (isOfFourBits(problem) && sums == kLargestSums);
}
/// The stages of longer steps by LDS's own loads. Scales of 32 elements that lie by rows leave a lane of the largest tile no registers
/// for the addresses of a third one: 2,048 x 4,096 x 8,192 of MXFP4 spills 50 to 62 of them, and takes 71 us rather than 42.
inline int stagesOfLongSteps(const GemmProblem &problem, const GemmTile &tile) {
  const bool isByRows = hasMxScales(problem) && (problem.scale_a_layout == OperandLayout::rows ||
                                                 problem.scale_b_layout == OperandLayout::rows);
  return isByRows && tile.m * tile.n == kLargestSums ? kLongStages - 1 : kLongStages;
}
/// The first of CDNA's that products with scales of blocks of K take: each step ends with a multiply-add for each sum, which other
/// waves hide, and with larger tiles a SIMD has registers for one wave. (bench/kernels/README.md has the estimates.)
inline constexpr std::size_t kCdnaOfBlockScales = 3, kCdna4OfBlockScales = 2;
/// Tiles for a of 8 bits with prepared scales, whose blocks have 256 elements of K. Weights of 8 bits do not take the
/// first one, for which a lane has no room but in gated products of gathered rows (grouped_gemm_supported.cpp). They take the
/// second one only if the scales of a lie by rows, which each wave loads for all rows of its tile.
/// (bench/silicon/README.md has the estimates.)
inline constexpr GemmTile kCdnaPreparedScales[] = {
    {.m = 128, .n = 256, .bytesK = 256, .threads = 256},
    {.m = 64, .n = 256, .bytesK = 256, .threads = 256},
    {.m = 128, .n = 128, .bytesK = 256, .threads = 256},
    {.m = 64, .n = 128, .bytesK = 256, .threads = 256},
    {.m = 64, .n = 64, .bytesK = 256, .threads = 256, .slices = 2},
    {.m = 32, .n = 128, .bytesK = 256, .threads = 256},
    {.m = 32, .n = 64, .bytesK = 512, .threads = 256},
    {.m = 16, .n = 128, .bytesK = 256, .threads = 256},
    {.m = 16, .n = 64, .bytesK = 512, .threads = 256},
};
/// Groups of waves that take turns, over prepared weights (gfx950), where each compute unit has such a tile.
inline constexpr GemmTile kPreparedGroups = {
    .m = 256, .n = 256, .bytesK = 128, .threads = 512, .wavesM = 2, .groups = true};
/// Sums take twice as many registers of a lane in waves of 32 lanes, and an instruction can
/// name 256 of them: tiles are smaller.
inline constexpr GemmTile kRdnaTiles[] = {
    {.m = 64, .n = 128, .bytesK = 64, .threads = 128},
    {.m = 32, .n = 128, .bytesK = 128, .threads = 128},
    {.m = 64, .n = 64, .bytesK = 64, .threads = 128},
    {.m = 32, .n = 64, .bytesK = 128, .threads = 128},
    {.m = 16, .n = 128, .bytesK = 128, .threads = 128},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 128},
};
/// Tiles for up to kFewRows rows, where reading the weights is all the work: a tile has all rows,
/// so that the weights are read once. A wave has a kilobyte or more of them on its way; narrower
/// tiles are more blocks, and each of them reads A.
inline constexpr int kFewRows = 32;
/// The rows for which such tiles are taken of narrow weights, but for RDNA: tiles of 32 rows without LDS read them twice, and are
/// estimated up to 1.8 times as fast as those of the ring, which are enough for all units only
/// if they read the weights four times. (17.3 us become 9.5 with 64 rows, 4096 x 4096, MXFP4, MI355X.)
inline constexpr int kFewRowsOfNarrow = 64;
inline int fewRowsOf(const GemmProblem &problem, const Target &target) {
  const bool isWide = target.has(Feature::mfma) || lds_banks(target) == 64;
  return problem.narrow() && isWide ? kFewRowsOfNarrow : kFewRows;
}
inline constexpr GemmTile kCdnaFewRows[] = {
    {.m = 32, .n = 64, .bytesK = 256, .threads = 256, .wavesK = 4},
    {.m = 32, .n = 32, .bytesK = 256, .threads = 256, .wavesK = 4},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 256, .wavesK = 4},
    {.m = 16, .n = 32, .bytesK = 256, .threads = 256, .wavesK = 4},
    {.m = 16, .n = 32, .bytesK = 256, .threads = 512, .wavesK = 8},
    {.m = 16, .n = 16, .bytesK = 512, .threads = 512, .wavesK = 8}};
inline constexpr GemmTile kRdnaFewRows[] = {
    {.m = 32, .n = 64, .bytesK = 64, .threads = 128, .wavesK = 4},
    {.m = 32, .n = 32, .bytesK = 64, .threads = 128, .wavesK = 4},
    {.m = 32, .n = 32, .bytesK = 128, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 64, .bytesK = 128, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 32, .bytesK = 128, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 32, .bytesK = 128, .threads = 256, .wavesK = 8},
    {.m = 16, .n = 16, .bytesK = 128, .threads = 256, .wavesK = 8}};
/// Tiles whose operands both go through the ring. Rows of 256 bytes are for columns on gfx950,
/// which has twice the banks. Those of RDNA are the ladder of FlyDSL's RDNA3 kernel
/// (rdna3_f16_gemm_autotune.py), and tiles of longer rows for columns.
inline constexpr GemmTile kCdnaUnprepared[] = {
    {.m = 256, .n = 256, .bytesK = 128, .threads = 512, .wavesM = 2, .groups = true},
    {.m = 128, .n = 256, .bytesK = 128, .threads = 256, .wavesM = 2, .dmaBytes = 2},
    {.m = 128, .n = 128, .bytesK = 128, .threads = 256, .wavesM = 2, .dmaBytes = 2},
    {.m = 128, .n = 128, .bytesK = 256, .threads = 256, .wavesM = 2},
    {.m = 64,
     .n = 128,
     .bytesK = 128,
     .threads = 256,
     .wavesM = 2,
     .dmaBytes = 2,
     .slices = 2,
     .slicesWide = 2},
    {.m = 64, .n = 128, .bytesK = 256, .threads = 256, .wavesM = 2},
    {.m = 64,
     .n = 64,
     .bytesK = 128,
     .threads = 256,
     .wavesM = 2,
     .dmaBytes = 2,
     .slices = 2,
     .slicesWide = 2},
    {.m = 64,
     .n = 64,
     .bytesK = 256,
     .threads = 256,
     .wavesM = 2,
     .dmaBytes = 2,
     .slices = 2,
     .slicesWide = 2},
    {.m = 32, .n = 64, .bytesK = 256, .threads = 256, .dmaBytes = 2, .slices = 2, .slicesWide = 2},
    {.m = 32, .n = 64, .bytesK = 128, .threads = 256, .dmaBytes = 2, .slices = 2, .slicesWide = 2},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 256, .dmaBytes = 2, .slices = 4, .slicesWide = 4},
};
inline constexpr GemmTile kRdnaUnprepared[] = {
    {.m = 256, .n = 256, .bytesK = 64, .threads = 512, .wavesM = 4},
    {.m = 128, .n = 128, .bytesK = 64, .threads = 128, .wavesM = 2},
    {.m = 128, .n = 128, .bytesK = 128, .threads = 256, .wavesM = 2},
    {.m = 128, .n = 64, .bytesK = 64, .threads = 128, .wavesM = 2},
    {.m = 64, .n = 64, .bytesK = 128, .threads = 128, .wavesM = 2},
    {.m = 32, .n = 64, .bytesK = 128, .threads = 64},
    {.m = 32, .n = 32, .bytesK = 128, .threads = 32},
    {.m = 16, .n = 64, .bytesK = 128, .threads = 128}};
/// Tiles of narrow weights, whose steps are whole blocks of 128 elements of 4 bits.
inline constexpr GemmTile kCdnaNarrow[] = {{.m = 128, .n = 128, .bytesK = 256, .threads = 256},
                                           {.m = 64, .n = 256, .bytesK = 256, .threads = 256},
                                           {.m = 64, .n = 128, .bytesK = 256, .threads = 256},
                                           {.m = 64, .n = 64, .bytesK = 256, .threads = 256},
                                           {.m = 32, .n = 128, .bytesK = 256, .threads = 256},
                                           {.m = 32, .n = 64, .bytesK = 256, .threads = 256},
                                           {.m = 16, .n = 128, .bytesK = 256, .threads = 256},
                                           {.m = 16, .n = 64, .bytesK = 256, .threads = 256}};
/// The first of them for weights whose groups have scales: with larger ones a SIMD has registers for one wave, and nothing hides the
/// instructions that make numbers of 16 bits of the weights. (bench/kernels/README.md has the estimates.)
inline constexpr std::size_t kCdnaNarrowOfGroups = 2;
inline constexpr GemmTile kRdnaNarrow[] = {{.m = 64, .n = 128, .bytesK = 256, .threads = 128},
                                           {.m = 64, .n = 64, .bytesK = 256, .threads = 128},
                                           {.m = 32, .n = 128, .bytesK = 256, .threads = 128},
                                           {.m = 32, .n = 64, .bytesK = 256, .threads = 128},
                                           {.m = 16, .n = 128, .bytesK = 256, .threads = 128},
                                           {.m = 16, .n = 64, .bytesK = 256, .threads = 128}};
inline constexpr GemmTile kRdnaNarrowFewRows[] = {
    {.m = 32, .n = 64, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 32, .n = 32, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 32, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 16, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 128},
    {.m = 16, .n = 128, .bytesK = 256, .threads = 128}};
/// Tiles of gfx1250, whose waves of 32 lanes can name 1,024 registers, and whose LDS has 64 banks:
/// four waves have a tile that takes four of CDNA's. Rows of less than 128 bytes would meet banks
/// twice, and columns need rows of 256. FlyDSL's tuned tiles for it (256x256x128, 128x256x128,
/// 64x32x512, 16x64x256 of 8 bits) are of this kind; which is quickest has not been measured here.
inline constexpr GemmTile kGfx1250Tiles[] = {
    {.m = 256, .n = 256, .bytesK = 128, .threads = 256, .wavesM = 2},
    {.m = 128, .n = 256, .bytesK = 128, .threads = 128},
    {.m = 128, .n = 128, .bytesK = 128, .threads = 128},
    {.m = 64, .n = 256, .bytesK = 128, .threads = 128},
    {.m = 64, .n = 128, .bytesK = 128, .threads = 128},
    {.m = 64, .n = 64, .bytesK = 256, .threads = 128, .dmaBytes = 8},
    {.m = 32, .n = 128, .bytesK = 256, .threads = 128, .dmaBytes = 8},
    {.m = 32, .n = 64, .bytesK = 256, .threads = 128, .dmaBytes = 8},
    {.m = 16, .n = 128, .bytesK = 256, .threads = 128, .dmaBytes = 8},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 128, .dmaBytes = 8},
};
inline constexpr GemmTile kGfx1250FewRows[] = {
    {.m = 32, .n = 64, .bytesK = 512, .threads = 128, .wavesK = 4},
    {.m = 32, .n = 64, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 32, .n = 32, .bytesK = 512, .threads = 128, .wavesK = 4},
    {.m = 32, .n = 32, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 64, .bytesK = 512, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 32, .bytesK = 512, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 32, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 32, .bytesK = 512, .threads = 256, .wavesK = 8},
    {.m = 16, .n = 16, .bytesK = 512, .threads = 256, .wavesK = 8},
    {.m = 16, .n = 16, .bytesK = 1024, .threads = 256, .wavesK = 8},
};
/// Tiles of operands with scales of 32 elements of K: an instruction takes scales from the first 256
/// registers alone, so that tiles of four waves with more sums spill. The first is for weights of 4 bits.
inline constexpr GemmTile kGfx1250Mx[] = {
    {.m = 128, .n = 256, .bytesK = 128, .threads = 256, .wavesM = 2},
    {.m = 128, .n = 128, .bytesK = 128, .threads = 256, .wavesM = 2},
    {.m = 64, .n = 128, .bytesK = 128, .threads = 128},
    {.m = 64, .n = 64, .bytesK = 256, .threads = 128, .dmaBytes = 8},
    {.m = 32, .n = 128, .bytesK = 256, .threads = 128, .dmaBytes = 8},
    {.m = 32, .n = 64, .bytesK = 256, .threads = 128, .dmaBytes = 8},
    {.m = 16, .n = 128, .bytesK = 256, .threads = 128, .dmaBytes = 8},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 128, .dmaBytes = 8},
};
inline constexpr GemmTile kGfx1250Narrow[] = {
    {.m = 128, .n = 256, .bytesK = 256, .threads = 128},
    {.m = 128, .n = 128, .bytesK = 256, .threads = 128},
    {.m = 64, .n = 256, .bytesK = 256, .threads = 128},
    {.m = 64, .n = 128, .bytesK = 256, .threads = 128},
    {.m = 64, .n = 64, .bytesK = 256, .threads = 128},
    {.m = 32, .n = 128, .bytesK = 256, .threads = 128},
    {.m = 32, .n = 64, .bytesK = 256, .threads = 128},
    {.m = 16, .n = 128, .bytesK = 256, .threads = 128},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 128},
};
inline constexpr GemmTile kGfx1250NarrowFewRows[] = {
    {.m = 32, .n = 64, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 32, .n = 32, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 32, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 16, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 128, .bytesK = 256, .threads = 128},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 128},
};
/// Tiles for narrow weights that are 8-bit floats: conversions read the first 128 registers alone, so
/// that waves with more columns spill.
inline constexpr GemmTile kGfx1250NarrowFloats[] = {
    {.m = 64, .n = 128, .bytesK = 256, .threads = 256},
    {.m = 64, .n = 64, .bytesK = 256, .threads = 128},
    {.m = 32, .n = 128, .bytesK = 256, .threads = 128},
    {.m = 32, .n = 64, .bytesK = 256, .threads = 128},
    {.m = 16, .n = 128, .bytesK = 256, .threads = 128},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 128},
};
inline constexpr GemmTile kGfx1250NarrowFloatsFewRows[] = {
    {.m = 32, .n = 128, .bytesK = 256, .threads = 128},
    {.m = 32, .n = 64, .bytesK = 256, .threads = 128},
    {.m = 16, .n = 32, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 16, .bytesK = 256, .threads = 128, .wavesK = 4},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 128},
};
inline constexpr GemmTile kGfx1250Unprepared[] = {
    {.m = 256, .n = 256, .bytesK = 128, .threads = 256, .wavesM = 2},
    {.m = 256, .n = 256, .bytesK = 256, .threads = 512, .wavesM = 4},
    {.m = 128, .n = 128, .bytesK = 128, .threads = 128, .wavesM = 2, .dmaBytes = 8},
    {.m = 128, .n = 128, .bytesK = 256, .threads = 256, .wavesM = 2},
    {.m = 128, .n = 64, .bytesK = 128, .threads = 128, .wavesM = 2, .dmaBytes = 8},
    {.m = 64, .n = 64, .bytesK = 128, .threads = 128, .wavesM = 2, .dmaBytes = 8},
    {.m = 64, .n = 64, .bytesK = 256, .threads = 128, .wavesM = 2, .dmaBytes = 8},
    {.m = 32, .n = 64, .bytesK = 256, .threads = 128, .dmaBytes = 8},
    {.m = 16, .n = 64, .bytesK = 256, .threads = 128, .dmaBytes = 8},
};
/// Tiles of whole blocks of 128 columns of C, also where half of a tile's columns are gates.
inline constexpr GemmTile kCdnaBlocksOfC[] = {{.m = 64, .n = 256, .bytesK = 128, .threads = 256},
                                              {.m = 64, .n = 128, .bytesK = 128, .threads = 256},
                                              {.m = 32, .n = 256, .bytesK = 256, .threads = 256},
                                              {.m = 32, .n = 128, .bytesK = 256, .threads = 256},
                                              {.m = 16, .n = 256, .bytesK = 256, .threads = 256},
                                              {.m = 16, .n = 128, .bytesK = 256, .threads = 256}};
/// The same for CDNA4, with longer steps, given those of the largest tile. (bench/kernels/README.md has the estimates.)
constexpr std::array<GemmTile, 6> cdna4BlocksOfC(int bytesOfLargest) {
  return {{{.m = 64, .n = 256, .bytesK = bytesOfLargest, .threads = 256},
           {.m = 64, .n = 128, .bytesK = 256, .threads = 256},
           {.m = 32, .n = 256, .bytesK = 256, .threads = 256},
           {.m = 32, .n = 128, .bytesK = 256, .threads = 256},
           {.m = 16, .n = 256, .bytesK = 256, .threads = 256},
           {.m = 16, .n = 128, .bytesK = 256, .threads = 256}}};
}
inline constexpr std::array kCdna4BlocksOfC = cdna4BlocksOfC(256);
/// For gated products and those without scales of blocks of K, where the largest tile would leave a SIMD registers for one wave.
inline constexpr std::array kCdna4ShortBlocksOfC = cdna4BlocksOfC(128);
/// Tiles of whole blocks of 128 columns of C for RDNA.
inline constexpr GemmTile kRdnaBlocksOfC[] = {{.m = 32, .n = 256, .bytesK = 128, .threads = 128},
                                              {.m = 64, .n = 128, .bytesK = 64, .threads = 128},
                                              {.m = 32, .n = 128, .bytesK = 128, .threads = 128},
                                              {.m = 16, .n = 256, .bytesK = 128, .threads = 128},
                                              {.m = 16, .n = 128, .bytesK = 128, .threads = 128},
                                              {.m = 32, .n = 256, .bytesK = 128, .threads = 256},
                                              {.m = 16, .n = 256, .bytesK = 256, .threads = 256}};
/// The same for gfx1250. Products of the microscaling formats do not take the first tile: their matrix instructions take
/// scales from the first 256 registers alone.
inline constexpr GemmTile kGfx1250BlocksOfC[] = {
    {.m = 64, .n = 128, .bytesK = 256, .threads = 128},
    {.m = 32, .n = 256, .bytesK = 256, .threads = 128},
    {.m = 32, .n = 128, .bytesK = 256, .threads = 128},
    {.m = 16, .n = 256, .bytesK = 256, .threads = 256},
    {.m = 16, .n = 128, .bytesK = 256, .threads = 128}};
/// The most rows of A of a product without matrix instructions, which each wave keeps in registers, and
/// up to how many rows it is chosen.
inline constexpr int kMostVectorRows = 4, kVectorRows = 2;
/// The steps of K for which it is chosen even if half of the compute units have no block.
inline constexpr int kVectorSteps = 4;
/// The tiles of CDNA's ring over prepared weights.
inline std::span<const GemmTile> cdnaTiles(const Target &target, const GemmProblem &problem) {
  using Tiles = std::span<const GemmTile>;
  const bool is4 = lds_banks(target) == 64;
  const Tiles all = !is4                           ? Tiles(kCdnaTiles)
                    : problem.a.memory_bits() <= 8 ? Tiles(kCdna4TilesOf8)
                                                   : Tiles(kCdna4Tiles);
  return hasBlockScales(problem) ? all.subspan(is4 ? kCdna4OfBlockScales : kCdnaOfBlockScales)
                                 : all;
}

/// The tiles for m rows of A, from the largest to the smallest.
inline std::span<const GemmTile> gemmTiles(const Target &target, const GemmProblem &problem,
                                           std::int64_t m) {
  const bool few = m <= fewRowsOf(problem, target) && problem.a_layout == OperandLayout::rows;
  using Tiles = std::span<const GemmTile>;
  const bool isWide = target.has(Feature::wmma) && lds_banks(target) == 64; // gfx1250
  if (problem.narrow()) {
    if (isWide && matrixKind(problem.b) == MatrixKind::float8)
      return few ? Tiles(kGfx1250NarrowFloatsFewRows) : Tiles(kGfx1250NarrowFloats);
    if (isWide)
      return few ? Tiles(kGfx1250NarrowFewRows) : Tiles(kGfx1250Narrow);
    if (target.has(Feature::mfma))
      return few ? Tiles(kCdnaFewRows)
                 : Tiles(kCdnaNarrow).subspan(problem.b_groups.size ? kCdnaNarrowOfGroups : 0);
    return few ? Tiles(kRdnaNarrowFewRows) : Tiles(kRdnaNarrow);
  }
  const bool isPreparedOfEight = hasPreparedScales(problem) && problem.a.memory_bits() == 8;
  if (problem.scale_c == Scales::per_block && target.has(Feature::mfma) &&
      lds_banks(target) == 64) {
    const bool isScaled = hasBlockScales(problem) || hasMxScales(problem);
    return isPreparedOfEight || (isScaled && !problem.gated) ? Tiles(kCdna4BlocksOfC)
                                                             : Tiles(kCdna4ShortBlocksOfC);
  }
  if (problem.scale_c == Scales::per_block)
    return isWide ? Tiles(kGfx1250BlocksOfC).subspan(hasMxScales(problem) ? 1 : 0)
           : target.has(Feature::mfma) ? Tiles(kCdnaBlocksOfC)
                                       : Tiles(kRdnaBlocksOfC);
  if (isWide && hasMxScales(problem) && !few)
    return Tiles(kGfx1250Mx).subspan(problem.b.memory_bits() < 8 ? 0 : 1);
  if (isWide)
    return problem.b_layout != OperandLayout::prepared ? Tiles(kGfx1250Unprepared)
           : few                                       ? Tiles(kGfx1250FewRows)
                                                       : Tiles(kGfx1250Tiles);
  if (isPreparedOfEight && !few && problem.b_layout == OperandLayout::prepared)
    return Tiles(kCdnaPreparedScales)
        .subspan(problem.b.memory_bits() < 8                     ? 0
                 : problem.scale_a_layout == OperandLayout::rows ? 1
                                                                 : 2);
  if (target.has(Feature::mfma))
    return problem.b_layout != OperandLayout::prepared ? Tiles(kCdnaUnprepared)
           : few                                       ? Tiles(kCdnaFewRows)
                                                       : cdnaTiles(target, problem);
  return problem.b_layout != OperandLayout::prepared ? Tiles(kRdnaUnprepared)
         : few                                       ? Tiles(kRdnaFewRows)
                                                     : Tiles(kRdnaTiles);
}

/// The elements of a step that has so many bytes of a row of A.
inline int elementsOf(const GemmProblem &problem, int bytes) {
  return bytes * 8 / problem.a.memory_bits();
}

/// The configuration of a tile.
inline GemmConfig configOf(const GemmProblem &problem, const GemmTile &tile,
                           const TileOrder &order = {}) {
  return {.tile_m = tile.m,
          .tile_n = tile.n,
          .tile_k = elementsOf(problem, tile.bytesK),
          .threads = tile.threads,
          .loop = tile.groups   ? GemmLoop::groups
                  : tile.wavesK ? GemmLoop::registers
                                : GemmLoop::ring,
          .waves_k = std::max(tile.wavesK, 1),
          .waves_m = tile.wavesM,
          .order = order};
}

/// Into how many parts K may be split where there are fewer tiles than compute units. Widths of models are
/// multiples of 7 too: 7,168 are 14 steps of 512.
inline constexpr int kSplits[] = {2, 4, 7, 8, 14, 16};
/// The steps that a part has at least.
inline constexpr int kStepsOfPart = 2;
/// Of fewer tiles than compute units, whose sums may be more than a fraction of the weights: the steps that
/// K has at least, and those of a part.
inline constexpr int kStepsForFewTiles = 24, kStepsOfLongPart = 6;
/// The highest tiles of a long K whose parts in one launch are taken rather than smaller tiles.
inline constexpr int kMostRowsOfParted = 32;
/// The sums of parts, written and read, are at most this fraction of the bytes of the weights.
inline constexpr double kPartsOfWeights = 0.25;
/// The same in bytes where the last block of a tile adds them, which costs no launch: such products wait
/// for latencies, and not for this memory.
inline constexpr std::int64_t kPartsOfLastBlock = 4 << 20;

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
