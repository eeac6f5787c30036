// The kernel of products with preshuffled weights.
#include "blocks/epilogue.h"
#include "blocks/ring_a_regs_b.h"
#include "blocks/tile_order.h"
#include "frame/compile.h"
#include "gemm/gemm_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// The operands of a kernel; the addresses of those that the problem does not have are 0.
struct GemmOperands {
  Int64 a, b, c, scaleA, scaleB, bias;
  Int64 apartA, apartC; ///< elements from row to row
  Int32 m;
};

void gemmTile(const GemmProblem &problem, const GemmConfig &config, const GemmOperands &operands) {
  const RingShape shape = ringShape(problem, config, *gemmForm(problem, config, target()));
  const Preshuffled weights = weightsOf(problem);
  const int bytes = shape.form.bytes(), blocksOfTile = config.tile_n / Preshuffled::kRows;

  // Which tile. Addresses move to its start by 64 bits; inside of it offsets have 32.
  const auto [tileM, tileN] =
      tileOf<Int32>(config.order, block_idx().x, ceildiv(operands.m, config.tile_m),
                    Int32(tilesAcross(problem, config)));
  const Int32 row = tileM * config.tile_m, column = tileN * config.tile_n;
  const Int32 rows = min(operands.m - row, config.tile_m);
  const Int64 firstA = operands.a + row.to(i64) * operands.apartA * bytes;
  const Int64 firstB = operands.b + tileN.to(i64) * (blocksOfTile * weights.rowOfBlocks() * bytes);
  const Int64 firstC =
      operands.c + (row.to(i64) * operands.apartC + column.to(i64)) * problem.c.bytes();

  const TiledMma mma = weightsFirst(shape.form, config.waves);
  const RowsOfA a(shape, firstA, operands.apartA, rows);
  const ColumnsOfB b(shape, weights, mma, firstB, Int32(weights.blocksN()) - tileN * blocksOfTile);
  const Tensor sums = RingARegsB(shape, mma, a, b).run(); // (V, n, m)

  const TileOfC tile(config.tile_m, config.tile_n, config.waves, problem.n, row, column, rows);
  std::vector<EpilogueStage> stages;
  if (problem.scale_a == Scales::per_row)
    stages.push_back(scaleRows(tile, operands.scaleA));
  if (problem.scale_b == Scales::per_row)
    stages.push_back(scaleColumns(tile, operands.scaleB));
  if (problem.bias)
    stages.push_back(addToColumns(tile, operands.bias, problem.c));
  if (problem.activation != Activation::none)
    stages.push_back(applyActivation(problem.activation));
  finish(tile, sums, stages, firstC, problem.c, operands.apartC);
}

const Kernel gemmKernel{
    kGemm.name(), [](Int64 a, Int64 b, Int64 c, Int64 scaleA, Int64 scaleB, Int64 bias,
                     Int64 apartA, Int64 apartC, Int32 m, Constexpr<Spec<GemmProblem>> spec) {
      gemmTile(spec->problem, spec->config, {a, b, c, scaleA, scaleB, bias, apartA, apartC, m});
    }};

} // namespace

void Family<GemmProblem>::compile(const Compiler<GemmProblem> &compiler) {
  compiler(kGemm, gemmKernel, compiler.config().waves * 64);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(GemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
