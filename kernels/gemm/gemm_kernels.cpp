// The kernels of products: C = activation(scale_a * scale_b * (A * B^T) + bias).
//
// A block takes a tile of C and a part of K from the TileScheduler, a Mainloop sums it up from
// views of A and B, and an Epilogue finishes the sums and stores them. If K has several parts,
// their sums go through a workspace: the last block of a tile adds them, or a second kernel.
//
//   kernel      K of a block   what it does with the sums
//   gemm        all            finishes them
//   gemm_batch  all            the same, of one matrix of a batch
//   gemm_parts  a part         writes them to the workspace
//   gemm_sum                   adds those of all parts, and finishes them
//   gemm_split  a part         both: writes them, and the last block of a tile does the rest
//
// samples/04-preshuffle-gemm.cpp is this kernel for one size and without options: read it first.
//
//   a block                                                      the file (of blocks/products/)
//   its tile (tileM, tileN) of C, and its part of K              tile_scheduler.h, tile_order.h
//   A (tileM, K) and B (tileN, K) as views                       operand_tile.h; gemm/gemm_block.h makes them
//   the loop of GemmConfig::loop                                 mainloop.h
//   for each step of tileK columns (ring):                       loop_schedule.h: when; ring.h: a step
//     A (tileM, tileK): memory -> registers -> LDS               ring_operand.h
//                       or memory -> LDS                         dma_operand.h, moved_rows.h
//     B (tileN, tileK): memory -> registers, if it is prepared   register_operand.h; narrow_weights.h
//                       otherwise as A
//     for each part of the step: LDS -> A (V, m, k), B (V, n, k) ring_operand.h; fragments_of_b.h
//       sums (V, n, m) += B A^T                                  product_sums.h; with scales of groups:
//                                                                group_scaled_sums.h, of MX: gemm/mx_sums.h
//   waves that share K: sums -> LDS -> the first of these waves  slice_k.h
//   C (tileM, tileN): scales, bias, activation in f32, -> memory epilogue.h; c of 4 and 8 bits: quantised_tile.h
//   parts of K: sums -> workspace -> the sum of all              split_k.h
//
// operand.h says why the product is transposed. kernels/README.md has the words and the waits, loop_shape.h the
// numbers.
#include "blocks/common/call_rows.h"
#include "blocks/products/split_k.h"
#include "blocks/products/vector_rows.h"
#include "frame/compile.h"
#include "gemm/gemm_block.h"
#include "gemm/gemm_family.h"
#include "gemm/vector_form.h"

#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// The tile of C, and the part of K, of this block.
BlockTile tileOfBlock(const GemmProblem &problem, const GemmConfig &config, const Int32 &m) {
  return TileScheduler<Int32>(tileGrid(problem, config), m).at(Int32(block_idx().x));
}

/// Calls `body` with a tile as far as there are rows: of all m, or as many as device memory says.
template <class Params, class Body>
void withRows(const GemmProblem &problem, const BlockTile &tile, const Params &p,
              const Body &body) {
  if (!problem.rows)
    return body(tile);
  const Int32 rows = rowsOfCall(true, p.rows, p.m);
  if_(tile.row < rows,
      [&] { body(tile.withRows(tile.row, Int32(min(tile.rows, rows - tile.row)))); });
}

//===-- The epilogue --------------------------------------------------------===//

/// Finishes a tile of C and stores it. `ofHalf` gives the sums of a half of B: gates (0) and ups (1)
/// if pairs are gated, and half 0 alone otherwise.
template <class Params>
void finishTile(const GemmProblem &problem, const TileOfC &tile, const Params &p,
                const std::function<SumsAt(int)> &ofHalf) {
  const auto half = [&](int number) { return stagesOf(problem, tile, p, number); };
  const SumsAt sums = problem.gated
                          ? gatedPairs({problem.activation}, half(0), ofHalf(0), half(1), ofHalf(1))
                          : ofHalf(0);
  Epilogue epilogue = problem.gated ? Epilogue(tile) : half(0);
  if (!problem.gated && problem.activation != Activation::none)
    epilogue.then(applyActivation(problem.activation));
  if (problem.rounding == Rounding::stochastic)
    epilogue.then(roundStochastically(
        problem.c, problem.seed_in_memory ? Int64(p.seedMemory.view(i64, 1)(0)) : p.seed)); // (1)
  storeTile(problem, tile, epilogue, sums, tileOfResults(problem, tile, p), p);
}

//===-- Kernels -------------------------------------------------------------===//

/// A tile of few rows without matrix units.
void vectorTile(const GemmProblem &problem, const GemmConfig &config, const BlockTile &tile,
                const Boolean &readsBOnce, const GemmParams<OnDevice> &p) {
  const LoopShape shape = loopShape(problem, config, *vectorForm(problem, config.tile_k, target()));
  const auto ofThreads = [&](int threads) {
    // The tile of C is 16 rows high, and only the block's rows are stored.
    return TileOfC({.lanes = target().wave_size(),
                    .tileM = 16,
                    .tileN = config.tile_n,
                    .threads = threads,
                    .n = problem.n},
                   placeInC(tile));
  };
  VectorRows(shape, tileOfA(problem, shape, tile, p),
             tileOfB(problem, config, shape, tile, readsBOnce, p))
      .run(ofThreads, [&](const TileOfC &ofC, const SumsAt &sums) {
        finishTile(problem, ofC, p, [&](int) { return sums; });
      });
}
/// A tile, of all of K. `readsBOnce`: no other block reads this block's rows of B; see `readOnce`.
void wholeTile(const Spec<GemmProblem> &spec, const Boolean &readsBOnce,
               const GemmParams<OnDevice> &p) {
  const auto &[problem, config] = spec;
  withRows(problem, tileOfBlock(problem, config, p.m), p, [&](const BlockTile &tile) {
    if (config.loop == GemmLoop::vector)
      return vectorTile(problem, config, tile, readsBOnce, p);
    mainloopOf(problem, config, tile, readsBOnce, p)->run([&](const Sums &sums) {
      finishTile(problem, tileOfC(problem, config, problem.n, tile), p,
                 [&](int half) { return sums.groups(half); });
    });
  });
}
const FamilyKernel kGemmCode{
    kGemm, [](const GemmParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      wholeTile(spec.value(), p.m <= spec->config.tile_m, p);
    }};

/// The operands of a matrix of a batch, as those of a product of its own.
GemmParams<OnDevice> ofMatrix(const GemmProblem &problem, const GemmBatchParams<OnDevice> &p,
                              const Int32 &number) {
  // Numbers of groups are contiguous, those of one matrix after those of another.
  const auto ofGroups = [&](const Strided<OnDevice, 0> &all, DType type) -> Strided<OnDevice, 0> {
    const std::int64_t count = groupsOf(problem.b_groups, problem.k) * problem.columns();
    return {.address = Int64(all.address + number * Int64(count * type.memory_bits() / 8)),
            .stride = {}};
  };
  const DType ofScales = typeOfScales(problem),
              ofScaleC = columnsOfScaleC(problem.scale_c) ? problem.scale : DType(f32);
  return {.a = entryOf(p.a, number, packedA(problem).unit()),
          .b = entryOf(p.b, number, problem.narrow() ? DType(u8) : packedB(problem).unit()),
          .c = entryOf(p.c, number, packedC(problem).unit()),
          .scaleA = entryOf(p.scaleA, number, ofScales),
          .scaleB = entryOf(p.scaleB, number, ofScales),
          .bias = entryOf(p.bias, number, problem.type_of_bias()),
          .groupScales = ofGroups(p.groupScales, problem.b_groups.scale),
          .groupZeros = ofGroups(p.groupZeros, u8),
          .seed = Int64(0),
          .m = p.m,
          .scaleC = entryOf(p.scaleC, number, ofScaleC),
          .residual = entryOf(p.residual, number, problem.type_of_residual()),
          .rows = p.rows,
          .seedMemory = {.address = Int64(0), .stride = {}}};
}
const FamilyKernel kGemmBatchCode{
    kGemmBatch, [](const GemmBatchParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      // All matrices may have one B.
      wholeTile(spec.value(), (p.m <= spec->config.tile_m) & (p.b.stride[0] != 0),
                ofMatrix(spec->problem, p, Int32(block_idx().y)));
    }};

/// Writes the sums of a block's part of K to the workspace.
template <class Params>
void writePart(const GemmProblem &problem, const GemmConfig &config, const BlockTile &tile,
               const Params &p, const PartSums &parts) {
  mainloopOf(problem, config, tile, p.m <= config.tile_m, p)->run([&](const Sums &sums) {
    const TileOfC place =
        tileOfC(problem, config, columnsOfParts(problem, config), tile); // in (m, columns)
    for (int half = 0; half < (problem.gated ? 2 : 1); ++half)
      Epilogue(place).run(
          sums.groups(half),
          parts.tile(tile.part, place, tile.column + half * static_cast<int>(problem.n)));
  });
}
/// Adds the parts of a tile and finishes it; `inParts` is the tile in the workspace.
template <class Params>
void finishParts(const GemmProblem &problem, const TileOfC &tile, const TileOfC &inParts,
                 const PartSums &parts, const Params &p) {
  finishTile(problem, tile, p, [&](int half) { return parts.total(inParts, half * problem.n); });
}

/// The sums of a part of K.
const FamilyKernel kGemmPartsCode{
    kGemmParts, [](const GemmPartsParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      withRows(problem, tileOfBlock(problem, config, p.m), p, [&](const BlockTile &tile) {
        writePart(problem, config, tile, p,
                  PartSums(partsShape(problem, config), p.workspace, p.m));
      });
    }};

/// The sums of a part of K, and in the last block of a tile the sum of all parts.
const FamilyKernel kGemmSplitCode{
    kGemmSplit, [](const GemmSplitParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      const GemmProblem &problem = spec->problem;
      const GemmConfig &config = spec->config;
      const PartsShape shape = partsShape(problem, config);
      const PartSums parts(shape, p.workspace, p.m);
      // All blocks of a tile have rows, or none: flags of others stay as they are.
      withRows(problem, tileOfBlock(problem, config, p.m), p, [&](const BlockTile &tile) {
        writePart(problem, config, tile, p, parts);
        const auto add = [&] {
          finishParts(problem, tileOfC(problem, config, problem.n, tile),
                      tileOfC(problem, config, columnsOfParts(problem, config), tile), parts, p);
        };
        // If waves share K, the first ones hold the tile.
        const int holders = config.threads / config.waves_k;
        const Pointer flag = p.flags.view(i64, 1).iter() + flagOf(tile.number); // (flags)
        ifLast(shape, flag, tile.part, [&] {
          if (config.waves_k == 1)
            return add();
          if_(thread_idx().x < holders, add);
        });
      });
    }};

/// The sum of all parts, in a kernel of its own, whose tiles are small: there is little work.
const FamilyKernel kGemmSumCode{
    kGemmSum, [](const GemmSumParams<OnDevice> &p, const Constexpr<Spec<GemmProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const BlockTile whole =
          TileScheduler<Int32>({kSumTileM, kSumTileN, problem.n}, p.m).at(Int32(block_idx().x));
      withRows(problem, whole, p, [&](const BlockTile &tile) {
        finishParts(problem, tileOfSum(problem.n, tile),
                    tileOfSum(columnsOfParts(problem, config), tile),
                    PartSums(partsShape(problem, config), p.workspace, p.m), p);
      });
    }};

} // namespace

void Family<GemmProblem>::compile(const Compiler<GemmProblem> &compiler) {
  const int threads = compiler.config().threads;
  if (compiler.problem().batch) {
    compiler(kGemmBatchCode, threads);
  } else if (addsInLaunch(compiler.config())) {
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
