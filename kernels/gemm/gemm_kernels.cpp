// The kernel of products with preshuffled weights.
#include "blocks/products/epilogue.h"
#include "blocks/products/half_tiles.h"
#include "blocks/products/registers_ab.h"
#include "blocks/products/ring.h"
#include "blocks/products/slice_k.h"
#include "blocks/products/split_k.h"
#include "frame/compile.h"
#include "gemm/gemm_family.h"
#include "gemm/gemm_place.h"

#include <array>
#include <functional>
#include <memory>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Place = GemmPlace<Int32>;

Place placeOf(const GemmProblem &problem, const GemmConfig &config, const Int32 &m) {
  return Place::of(problem, config, m, Int32(block_idx().x));
}

/// The addresses of what the loop reads, and distances in elements: of the rows, or columns, of a
/// and of b if it is not prepared, and of the rows and the blocks of K of scale_a.
struct Operands {
  Int64 a, b, scaleA, scaleB, apartA, apartB;
  std::array<Int64, 2> apartScales;
};

template <class Params> Operands operandsOf(const Params &p) {
  return {p.a.address,   p.b.address,   p.scaleA.address, p.scaleB.address,
          p.a.stride[0], p.b.stride[0], p.scaleA.stride};
}

/// The scales of blocks of a tile, from the start of its part of K on.
BlockScales blockScalesOf(const GemmProblem &problem, const LoopShape &shape, const Place &place,
                          const Operands &operands) {
  const int bytes = problem.scale.memory_bits() / 8;
  const auto &[rowsApart, blocksApart] = operands.apartScales;
  const std::int64_t across = scaleBlocks(problem.k);
  const Int64 part = place.part.to(i64) * (shape.k / kScaleBlock);
  BlockScales scales{.type = problem.scale,
                     .a = operands.scaleA +
                          (place.row.to(i64) * rowsApart + part * blocksApart) * bytes,
                     .rowsApart = rowsApart,
                     .blocksApart = blocksApart,
                     .rows = place.rows,
                     .b = {},
                     .blocksLeft = {},
                     .apartB = across};
  for (int half = 0; half < shape.halves; ++half) {
    const Int32 row = rowOfScalesB<Int32>(problem, place.column, half);
    scales.b.push_back(operands.scaleB + (row.to(i64) * across + part) * bytes);
    scales.blocksLeft.push_back(Int32(scaleBlocks(problem.columns())) - row);
  }
  return scales;
}
std::unique_ptr<Sums> sumsOf(const GemmProblem &problem, const LoopShape &shape,
                             const TiledMma &mma, const Place &place, const Operands &operands) {
  if (!hasBlockScales(problem))
    return std::make_unique<Sums>(shape, mma);
  return std::make_unique<BlockScaledSums>(shape, mma,
                                           blockScalesOf(problem, shape, place, operands));
}

/// Sums up a block's tile over its part of K; `finish` runs in the waves that hold the sums.
/// Addresses move to the tile's start by 64 bits; inside of it offsets have 32.
void multiply(const GemmProblem &problem, const GemmConfig &config, const Place &place,
              const Operands &operands, const std::function<void(const Sums &)> &finish) {
  const LoopShape shape = loopShape(problem, config, *gemmForm(problem, config, target()));
  const Preshuffled weights = weightsOf(problem);
  const int bytes = shape.form.bytes();
  const TiledMma mma = weightsFirst(shape.form, shape.waves, shape.wavesM, shape.slices());
  // The compiler must see that a wave's lanes agree on their step, or their part of it.
  const bool shared = shape.wavesK > 1;
  const Int32 thread = shared ? Int32(thread_idx().x % shape.threads()) : Int32(thread_idx().x),
              wave = shared ? Int32(gpu::uniform(thread_idx().x / shape.threads())) : Int32(0);
  const Int64 part = place.firstK(shape);
  // The start of a tile of an operand that is not prepared, at a row and the block's part of K.
  const auto tileAt = [&](DType dtype, int size, OperandLayout layout, const Int64 &address,
                          const Int64 &apart, const Int32 &row, const Int32 &exist) {
    return OperandTile{dtype, size,  address + startOfTile<Int32>(layout, row, part, apart) * bytes,
                       apart, exist, layout};
  };
  const OperandTile tileA = tileAt(problem.a, config.tile_m, problem.a_layout, operands.a,
                                   operands.apartA, place.row, place.rows);
  const std::unique_ptr<Sums> sums = sumsOf(problem, shape, mma, place, operands);
  SharedAllocator allocator;
  const auto memoryOfSums = [&](SharedAllocator &from) {
    return from.allocate(shape.slicesBytes(), kPieceBytes);
  };
  // Runs the ring that `make` allocates. The sums of waves that share K take the place of its
  // tiles, if they are not loaded by LDS's own loads.
  const auto runRing = [&](const std::function<std::unique_ptr<Ring>(SharedAllocator &)> &make) {
    if (!shared) {
      make(allocator)->run();
      return finish(*sums);
    }
    // The compiler would wait for each load to a tile that may be what it reads.
    if (shape.dma) {
      make(allocator)->run();
      return withTotal(shape, *sums, memoryOfSums(allocator), wave, thread, [&] { finish(*sums); });
    }
    const auto [ring, memory] = allocator.overlay(make, memoryOfSums);
    ring->run();
    gpu::barrier();
    withTotal(shape, *sums, memory, wave, thread, [&] { finish(*sums); });
  };
  if (shape.ringB) {
    OperandTile tileB =
        tileAt(problem.b, config.tile_n, problem.b_layout, operands.b, operands.apartB,
               place.column, min(Int32(problem.n) - place.column, config.tile_n));
    tileB.far = hasFarColumns(problem, config);
    if (config.loop == GemmLoop::groups) {
      HalfTiles(shape, mma, tileA, tileB, allocator, *sums).run();
      return finish(*sums);
    }
    return runRing([&](SharedAllocator &from) {
      auto a = ringOperandA(shape, mma, tileA, from);
      return std::make_unique<Ring>(shape, mma, std::move(a), ringOperandB(shape, mma, tileB, from),
                                    nullptr, *sums);
    });
  }
  std::vector<Int64> firstB;
  for (int half = 0; half < shape.halves; ++half)
    firstB.push_back(operands.b + startOfWeights<Int32>(problem, shape, place.tileN, half, part));
  const ColumnsOfB columns(shape, weights, mma, shape.sliced ? Int32(thread_idx().x) : thread,
                           firstB, blocksOfWeightsLeft<Int32>(problem, shape, place.tileN));
  if (config.loop == GemmLoop::ring)
    return runRing([&](SharedAllocator &from) {
      return std::make_unique<Ring>(shape, mma, ringOperandA(shape, mma, tileA, from), nullptr,
                                    &columns, *sums);
    });
  const RowsInRegisters rows(shape, thread % shape.form.lanes, tileA.first, tileA.distance,
                             tileA.exist);
  RegistersAB(shape, mma, wave, rows, columns, *sums).run();
  if (!shared)
    return finish(*sums);
  withTotal(shape, *sums, memoryOfSums(allocator), wave, thread, [&] { finish(*sums); });
}

/// The addresses of operands of an epilogue; those that the problem does not have are 0.
struct Factors {
  Int64 scaleA, scaleB, bias;
  Int64 seed; ///< of stochastic rounding
};
template <class Params> Factors factorsOf(const Params &p) {
  return {p.scaleA.address, p.scaleB.address, p.bias.address, p.seed};
}
/// What follows the sums of a half of B, but for the activation.
std::vector<EpilogueStage> stagesOf(const GemmProblem &problem, const TileOfC &tile,
                                    const Factors &factors, int half) {
  std::vector<EpilogueStage> stages;
  if (problem.scale_a == Scales::per_row)
    stages.push_back(scaleRows(tile, factors.scaleA));
  if (problem.scale_b == Scales::per_row)
    stages.push_back(scaleColumns(tile, factors.scaleB + half * problem.n * f32.bytes()));
  if (problem.bias)
    stages.push_back(
        addToColumns(tile, factors.bias + half * problem.n * problem.c.bytes(), problem.c));
  return stages;
}
/// Finishes a tile of C, given the groups of each half of B.
void finishTile(const GemmProblem &problem, const TileOfC &tile, const Factors &factors,
                const std::function<GroupSums(int)> &ofHalf, const TileMemory &c) {
  std::vector<EpilogueStage> stages = stagesOf(problem, tile, factors, 0), last;
  if (problem.rounding == Rounding::stochastic)
    last.push_back(roundStochastically(tile, problem.c, factors.seed));
  if (problem.gated)
    return finish(tile,
                  gatedPairs(problem.activation, {ofHalf(0), stages},
                             {ofHalf(1), stagesOf(problem, tile, factors, 1)}),
                  last, c);
  if (problem.activation != Activation::none)
    stages.push_back(applyActivation(problem.activation));
  stages.insert(stages.end(), last.begin(), last.end());
  finish(tile, ofHalf(0), stages, c);
}
TileMemory tileInC(const GemmProblem &problem, const Strided<OnDevice, 1> &c, const Int32 &row,
                   const Int32 &column) {
  const Int64 &stride = c.stride[0];
  return {c.address + (row.to(i64) * stride + column.to(i64)) * problem.c.bytes(), problem.c,
          stride};
}
TileOfC tileOfC(const GemmProblem &problem, const GemmConfig &config, std::int64_t n,
                const Place &place) {
  return {target().wave_size(),
          config.tile_m,
          tileAcross(problem, config),
          config.threads / config.waves_k,
          n,
          place.row,
          place.column,
          place.rows,
          config.waves_m};
}

const FamilyKernel kGemmCode{
    kGemm, [](const GemmParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const Place place = placeOf(problem, config, p.m);
      multiply(problem, config, place, operandsOf(p),
               [&, &problem = problem, &config = config](const Sums &sums) {
                 finishTile(
                     problem, tileOfC(problem, config, problem.n, place), factorsOf(p),
                     [&](int half) {
                       return groupsOf(*gemmForm(problem, config, target()), sums.of(half));
                     },
                     tileInC(problem, p.c, place.row, place.column));
               });
    }};

/// Writes the sums of a block's part of K to the workspace.
void writePart(const GemmProblem &problem, const GemmConfig &config, const Place &place,
               const Operands &operands, const PartSums &parts) {
  multiply(problem, config, place, operands, [&](const Sums &sums) {
    const TileOfC tile = tileOfC(problem, config, columnsOfParts(problem, config), place);
    for (int half = 0; half < (problem.gated ? 2 : 1); ++half)
      finish(tile, groupsOf(*gemmForm(problem, config, target()), sums.of(half)), {},
             parts.tile(place.part, place.row, place.column + half * static_cast<int>(problem.n)));
  });
}
/// Adds the parts of a tile and finishes it; `inParts` is the tile in the workspace.
void finishParts(const GemmProblem &problem, const TileOfC &tile, const TileOfC &inParts,
                 const PartSums &parts, const Factors &factors, const TileMemory &c) {
  finishTile(
      problem, tile, factors, [&](int half) { return parts.total(inParts, half * problem.n); }, c);
}

const FamilyKernel kGemmPartsCode{
    kGemmParts, [](const GemmPartsParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      writePart(problem, config, placeOf(problem, config, p.m), operandsOf(p),
                PartSums(partsShape(problem, config), p.workspace, p.m));
    }};

const FamilyKernel kGemmSplitCode{
    kGemmSplit, [](const GemmSplitParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const Place place = placeOf(problem, config, p.m);
      const PartsShape shape = partsShape(problem, config);
      const PartSums parts(shape, p.workspace, p.m);
      writePart(problem, config, place, operandsOf(p), parts);
      const auto add = [&, &problem = problem, &config = config] {
        finishParts(problem, tileOfC(problem, config, problem.n, place),
                    tileOfC(problem, config, columnsOfParts(problem, config), place), parts,
                    factorsOf(p), tileInC(problem, p.c, place.row, place.column));
      };
      // Of waves that share K, the first ones hold the tile.
      const int holders = config.threads / config.waves_k;
      ifLast(shape, p.flags + place.tile.to(i64) * PartFlags::kBytes, place.part,
             [&, &config = config] {
               if (config.waves_k == 1)
                 return add();
               if_(thread_idx().x < holders, add);
             });
    }};

const FamilyKernel kGemmSumCode{
    kGemmSum, [](const GemmSumParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const std::int64_t across = sumTilesAcross(problem);
      const Int32 row = block_idx().x / across * kSumTileM,
                  column = block_idx().x % across * kSumTileN;
      const Int32 rows = min(p.m - row, kSumTileM);
      const auto tileOver = [&](std::int64_t n) {
        return TileOfC(target().wave_size(), kSumTileM, kSumTileN, kSumThreads, n, row, column,
                       rows);
      };
      finishParts(problem, tileOver(problem.n), tileOver(columnsOfParts(problem, config)),
                  PartSums(partsShape(problem, config), p.workspace, p.m), factorsOf(p),
                  tileInC(problem, p.c, row, column));
    }};

} // namespace

void Family<GemmProblem>::compile(const Compiler<GemmProblem> &compiler) {
  const int threads = compiler.config().threads;
  if (addsInLaunch(compiler.config())) {
    compiler(kGemmSplitCode, threads);
  } else if (compiler.config().split_k > 1) {
    compiler(kGemmPartsCode, threads);
    compiler(kGemmSumCode, kSumThreads);
  } else {
    compiler(kGemmCode, threads);
  }
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(GemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
