// The kernel of products with preshuffled weights.
#include "blocks/epilogue.h"
#include "blocks/ring_a_regs_b.h"
#include "blocks/split_k.h"
#include "blocks/tile_order.h"
#include "frame/compile.h"
#include "gemm/gemm_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// A block's place in the product.
struct Place {
  Int32 tileN, part, row, column, rows;

  /// Of a grid that has the tiles of C once for each part of K.
  static Place of(const GemmProblem &problem, const GemmConfig &config, const Int32 &m) {
    const Int32 tilesM = ceildiv(m, config.tile_m), tilesN = Int32(tilesAcross(problem, config));
    const bool split = config.split_k > 1;
    const Int32 tiles = tilesM * tilesN, block = block_idx().x;
    const auto [tileM, tileN] =
        tileOf<Int32>(config.order, split ? Int32(block % tiles) : block, tilesM, tilesN);
    const Int32 row = tileM * config.tile_m;
    return {tileN, split ? Int32(block / tiles) : Int32(0), row, tileN * config.tile_n,
            min(m - row, config.tile_m)};
  }
};

/// The sums of a block's tile over its part of K. Addresses move to its start by 64 bits; inside of
/// it offsets have 32.
Tensor sumsOf(const GemmProblem &problem, const GemmConfig &config, const Place &place,
              const Int64 &a, const Int64 &b, const Int64 &apartA) {
  const RingShape shape = ringShape(problem, config, *gemmForm(problem, config, target()));
  const Preshuffled weights = weightsOf(problem);
  const int bytes = shape.form.bytes(), blocksOfTile = config.tile_n / Preshuffled::kRows;
  const Int64 part = place.part.to(i64) * (shape.k * bytes);
  const TiledMma mma = weightsFirst(shape.form, shape.waves);
  const RowsOfA rowsOfA(shape, a + place.row.to(i64) * apartA * bytes + part, apartA, place.rows);
  const ColumnsOfB columnsOfB(
      shape, weights, mma,
      b + place.tileN.to(i64) * (blocksOfTile * weights.rowOfBlocks() * bytes) +
          part * Preshuffled::kRows,
      Int32(weights.blocksN()) - place.tileN * blocksOfTile);
  return RingARegsB(shape, mma, rowsOfA, columnsOfB).run(); // (V, n, m)
}

/// The addresses of operands of an epilogue; those that the problem does not have are 0.
struct Factors {
  Int64 scaleA, scaleB, bias;
};
std::vector<EpilogueStage> stagesOf(const GemmProblem &problem, const TileOfC &tile,
                                    const Factors &factors) {
  std::vector<EpilogueStage> stages;
  if (problem.scale_a == Scales::per_row)
    stages.push_back(scaleRows(tile, factors.scaleA));
  if (problem.scale_b == Scales::per_row)
    stages.push_back(scaleColumns(tile, factors.scaleB));
  if (problem.bias)
    stages.push_back(addToColumns(tile, factors.bias, problem.c));
  if (problem.activation != Activation::none)
    stages.push_back(applyActivation(problem.activation));
  return stages;
}
TileMemory tileInC(const GemmProblem &problem, const Int64 &c, const Int64 &apartC,
                   const Int32 &row, const Int32 &column) {
  return {c + (row.to(i64) * apartC + column.to(i64)) * problem.c.bytes(), problem.c, apartC};
}

const Kernel gemmKernel{
    kGemm.name(), [](Int64 a, Int64 b, Int64 c, Int64 scaleA, Int64 scaleB, Int64 bias,
                     Int64 apartA, Int64 apartC, Int32 m, Constexpr<Spec<GemmProblem>> spec) {
      const auto &[problem, config] = spec.value();
      const Place place = Place::of(problem, config, m);
      const Tensor sums = sumsOf(problem, config, place, a, b, apartA);
      const TileOfC tile(target().wave_size(), config.tile_m, config.tile_n, config.threads,
                         problem.n, place.row, place.column, place.rows);
      finish(tile, groupsOf(*gemmForm(problem, config, target()), sums),
             stagesOf(problem, tile, {scaleA, scaleB, bias}),
             tileInC(problem, c, apartC, place.row, place.column));
    }};

const Kernel gemmParts{
    kGemmParts.name(), [](Int64 a, Int64 b, Int64 workspace, Int64 apartA, Int32 m,
                          Constexpr<Spec<GemmProblem>> spec) {
      const auto &[problem, config] = spec.value();
      const Place place = Place::of(problem, config, m);
      const Tensor sums = sumsOf(problem, config, place, a, b, apartA);
      const PartsShape parts = partsShape(problem, config);
      const TileOfC tile(target().wave_size(), config.tile_m, config.tile_n, config.threads,
                         parts.columns(), place.row, place.column, place.rows);
      finish(tile, groupsOf(*gemmForm(problem, config, target()), sums), {},
             PartSums(parts, workspace, m).tile(place.part, place.row, place.column));
    }};

const Kernel gemmSum{kGemmSum.name(),
                     [](Int64 workspace, Int64 c, Int64 scaleA, Int64 scaleB, Int64 bias,
                        Int64 apartC, Int32 m, Constexpr<Spec<GemmProblem>> spec) {
                       const auto &[problem, config] = spec.value();
                       const std::int64_t across = sumTilesAcross(problem);
                       const Int32 row = block_idx().x / across * kSumTileM,
                                   column = block_idx().x % across * kSumTileN;
                       const Int32 rows = min(m - row, kSumTileM);
                       const PartsShape parts = partsShape(problem, config);
                       const auto tileOver = [&](std::int64_t n) {
                         return TileOfC(target().wave_size(), kSumTileM, kSumTileN, kSumThreads, n,
                                        row, column, rows);
                       };
                       const TileOfC tile = tileOver(problem.n);
                       finish(tile, PartSums(parts, workspace, m).total(tileOver(parts.columns())),
                              stagesOf(problem, tile, {scaleA, scaleB, bias}),
                              tileInC(problem, c, apartC, row, column));
                     }};

} // namespace

void Family<GemmProblem>::compile(const Compiler<GemmProblem> &compiler) {
  const int threads = compiler.config().threads;
  if (compiler.config().split_k > 1) {
    compiler(kGemmParts, gemmParts, threads);
    compiler(kGemmSum, gemmSum, kSumThreads);
  } else {
    compiler(kGemm, gemmKernel, threads);
  }
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(GemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
