// Products whose tiles a tensor data mover brings to a ring in LDS (gfx1250).
#include "support/groups.h"
#include "support/product.h"
#include "support/size_sweep.h"

#include "blocks/products/mainloop.h"
#include "gemm/gemm_shape.h"

using namespace kernel_tests;

namespace {
namespace impl = fk::impl;
using fk::OperandLayout;

GemmConfig byMover(int tileM, int tileN, int tileK, int stages) {
  return {.tile_m = tileM,
          .tile_n = tileN,
          .tile_k = tileK,
          .threads = 128,
          .stages = stages,
          .dma = true};
}

} // namespace

TEST_CASE("products through rings that the tensor data mover fills", "[.mover]") {
  REQUIRE(here().has(fx::Feature::tensor_mover));
  SweepCounts counts;
  GemmProblem problem{.a = fx::bf16, .b = fx::bf16, .c = fx::f32, .n = 60, .k = 64 * 7 + 8};
  for (const OperandLayout layout : {OperandLayout::rows, OperandLayout::prepared}) {
    problem.b_layout = layout;
    // Steps that end inside of a round of stages, one step, and fewer than there are stages; K and rows end
    // inside of a tile.
    for (const int stages : {2, 3, 8})
      runOnce(problem, byMover(32, 64, 64, stages), 33, counts);
    GemmProblem few = problem;
    for (const std::int64_t k : {24, 64 * 3}) {
      few.k = k;
      runOnce(few, byMover(16, 64, 64, 4), 17, counts);
    }
  }
  // Other elements; waves that share K, rows of waves, parts of K, gated pairs.
  problem.b_layout = OperandLayout::rows;
  for (const fx::DType type : {fx::DType(fx::f8E4M3FN), fx::DType(fx::i8), fx::DType(fx::f32)}) {
    problem.a = problem.b = type;
    problem.k = 512 / type.bytes() + 32;
    runOnce(problem, byMover(32, 64, 256 / type.bytes(), 2), 35, counts);
  }
  problem = {
      .a = fx::f16, .b = fx::f16, .c = fx::f32, .b_layout = OperandLayout::rows, .n = 60, .k = 512};
  GemmConfig shared = byMover(32, 64, 128, 2);
  shared.waves_k = 2;
  runOnce(problem, shared, 35, counts);
  shared.waves_k = 1;
  shared.waves_m = 2;
  shared.split_k = 2;
  runOnce(problem, shared, 35, counts);
  problem.b_layout = OperandLayout::prepared;
  problem.gated = true;
  problem.n = 64;
  runOnce(problem, byMover(32, 128, 64, 3), 35, counts);
  CHECK(counts.compared == 2 * 5 + 3 + 2 + 1);
}

TEST_CASE("rows of tokens that the tensor data mover gathers for experts", "[.mover]") {
  using fk::GroupLayout;
  const std::vector<std::int64_t> rows{32, 0, 1, 17, 45};
  fk::GroupedGemmProblem problem{.a = fx::bf16,
                                 .b = fx::bf16,
                                 .c = fx::f32,
                                 .experts = 5,
                                 .n = 80,
                                 .k = 136,
                                 .unit = 32,
                                 .topk = 3,
                                 .a_rows = fk::GroupedRows::tokens};
  // Waves that gather 4, 8 and 16 rows, of one and several instructions; K ends inside of a step.
  for (const GroupLayout layout : {GroupLayout::units, GroupLayout::masked, GroupLayout::offsets}) {
    problem.groups = layout;
    problem.capacity = layout == GroupLayout::masked ? 64 : 0;
    expectGrouped(problem, byMover(16, 64, 64, 2), rows, 2);
    expectGrouped(problem, byMover(32, 64, 64, 4), rows);
  }
  problem.b_layout = OperandLayout::rows;
  problem.c_rows = fk::GroupedRows::slots;
  GemmConfig two = byMover(32, 64, 64, 3);
  two.threads = 64;
  expectGrouped(problem, two, rows);
  problem.b_layout = OperandLayout::prepared;
  problem.c_rows = fk::GroupedRows::places;
  problem.gated = fk::GatedPairs::halves;
  problem.activation = fk::Activation::silu;
  expectGrouped(problem, byMover(32, 128, 64, 3), rows);
  problem.gated = fk::GatedPairs::none;
  problem.activation = fk::Activation::none;
  problem.a = problem.b = fx::f8E4M3FN;
  problem.k = 256;
  problem.scale_a = problem.scale_b = fk::Scales::per_row;
  expectGrouped(problem, byMover(32, 64, 128, 4), rows);
  // The microscaling formats: pairs of elements, and scales that are gathered besides.
  SweepCounts counts;
  for (const auto &[a, b] : {std::pair{fx::DType(fx::f8E4M3FN), fx::DType(fx::f4E2M1FN)},
                             std::pair{fx::DType(fx::f4E2M1FN), fx::DType(fx::f4E2M1FN)}}) {
    fk::GroupedGemmProblem mx{.a = a,
                              .b = b,
                              .c = fx::f32,
                              .experts = 3,
                              .n = 64,
                              .k = 384,
                              .unit = 32,
                              .topk = 2,
                              .a_rows = fk::GroupedRows::tokens};
    mx.scale_a = mx.scale_b = fk::Scales::mx;
    mx.scale = fx::f8E8M0FNU;
    runOnce(mx, byMover(32, 64, 256, 2), 70, counts);
  }
  CHECK(counts.compared == 2);
}

TEST_CASE("rows of tokens that do not exist are zeros where the mover gathers the others",
          "[.mover]") {
  // Row 0, which comes in their place, is NaN.
  constexpr std::int64_t kK = 64, kN = 16;
  std::vector<double> a = integers(4 * kK, 1, -5, 5);
  std::fill_n(a.begin(), kK, std::nan(""));
  const std::vector<double> b = integers(kN * kK, 2, -5, 5), ids{3, 4, 1, 9, 2, 0xffffff};
  std::vector<double> expected;
  for (const double id : ids)
    for (std::int64_t j = 0; j < kN; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; id < 4 && k < kK; ++k)
        sum += a[std::size_t(std::int64_t(id) * kK + k)] * b[std::size_t(j * kK + k)];
      expected.push_back(sum);
    }
  const fk::GroupedGemmProblem problem{.a = fx::f16,
                                       .b = fx::f16,
                                       .c = fx::f32,
                                       .b_layout = OperandLayout::rows,
                                       .experts = 1,
                                       .n = kN,
                                       .k = kK,
                                       .groups = fk::GroupLayout::offsets,
                                       .topk = 1,
                                       .a_rows = fk::GroupedRows::tokens};
  const Operand left = Operand::input(fx::f16, 4, kK, a),
                right = Operand::input(fx::f16, kN, kK, b), c = Operand::output(fx::f32, 6, kN),
                sorted = Operand::input(fx::i32, 1, 6, ids),
                offsets = Operand::input(fx::i32, 1, 2, std::vector<double>{0, 6});
  const fx::Stream stream;
  fk::GroupedGemmPlan(problem, byMover(16, 64, 64, 2))(
      {.a = left.tensor(),
       .b = fx::tensor(right.vector().data(), fx::f16, {1, kN, kK}),
       .c = c.tensor(),
       .offsets = offsets.vector(),
       .sorted_ids = sorted.vector()},
      stream);
  stream.synchronize();
  CHECK(c.values() == expected);
}

TEST_CASE("rings of a mover that do not fit are refused") {
  const fx::Target target = fx::Target::parse("gfx1250");
  const GemmProblem problem{
      .a = fx::bf16, .b = fx::bf16, .b_layout = OperandLayout::rows, .n = 256, .k = 4096};
  const auto why = [&](const GemmConfig &config) {
    return fk::supported(problem, config, target).why;
  };
  CHECK(why(byMover(64, 64, 64, 4)) == "");
  GemmConfig config = byMover(64, 96, 64, 4);
  config.threads = 96;
  CHECK(why(config) ==
        "tile 64x96x64 of 96 threads: dma: a power of two of waves moves a tile of a, and "
        "the block has 3");
  config = byMover(16, 256, 64, 4);
  config.threads = 1024;
  config.waves_k = 2;
  CHECK(why(config) ==
        "tile 16x256x64 of 1024 threads: dma: the tile of a, 16 rows, is no multiple of the "
        "32 waves that move a part of it each");
  CHECK(why(byMover(256, 256, 128, 4)) == "tile 256x256x128 of 128 threads: the tiles of a and b "
                                          "take 557056 bytes of LDS; there are 327680");
  GemmProblem columns = problem;
  columns.b_layout = OperandLayout::columns;
  CHECK(fk::supported(columns, byMover(64, 64, 128, 2), target).why ==
        "tile 64x64x128 of 128 threads: dma takes operands that lie by rows");
  const fk::GroupedGemmProblem grouped{
      .experts = 2, .n = 64, .k = 64, .unit = 256, .topk = 2, .a_rows = fk::GroupedRows::tokens};
  CHECK(fk::supported(grouped, byMover(128, 64, 64, 2), target).why == "");
  CHECK(fk::supported(grouped, byMover(256, 64, 64, 2), target).why ==
        "dma: each of the 4 waves would gather 64 rows of tokens, and has 32 lanes to number them; "
        "dma=false takes them");
}

namespace {

constexpr std::int64_t kRows = 32, kColumns = 64, kLength = 5 * 64;

/// A tile of five steps, with waits that are weaker where `weaker` says so.
const fx::Kernel multiply_moved{
    "multiply_moved",
    [](fx::Tensor a, fx::Tensor b, fx::Tensor c, fx::Constexpr<impl::RingWaits> weaker) {
      const GemmProblem problem{.a = fx::f16,
                                .b = fx::f16,
                                .c = fx::f32,
                                .b_layout = OperandLayout::rows,
                                .n = kColumns,
                                .k = kLength};
      const GemmConfig config = byMover(kRows, kColumns, 64, 3);
      const impl::LoopShape shape =
          impl::loopShape(problem, config, *impl::gemmForm(problem, config, fx::target()));
      const fx::TiledMma mma = impl::weightsFirst(shape.form, shape.waves, shape.wavesM);
      const impl::Sums sums(shape, mma);
      fx::SharedAllocator shared;
      const auto tile = [&](const fx::Tensor &matrix, std::int64_t rows) { // (rows, K)
        return impl::OperandTile{
            fx::make_view(matrix.iter(), fx::make_layout({rows, kLength}, {fx::Int64(kLength), 1})),
            fx::Int32(static_cast<std::int32_t>(rows)), OperandLayout::rows};
      };
      std::vector<std::unique_ptr<impl::RingOperand>> operands;
      operands.push_back(impl::ringOperandA(shape, mma, tile(a, kRows), shared));
      operands.push_back(impl::ringOperandB(shape, mma, tile(b, kColumns), shared));
      auto fragments = std::make_unique<impl::FragmentsOfRing>(shape, *operands[1]);
      impl::Ring(shape, std::move(operands), std::move(fragments), sums, weaker.value()).run();
      // All sums are stored, so that the compiler leaves no read out.
      for (int j = 0; j < shape.tilesOfHalf(); ++j)
        for (int i = 0; i < shape.tilesM(); ++i)
          for (int v = 0; v < 8; ++v)
            fx::make_view(c.iter(), fx::make_layout(kRows * kColumns))(
                fx::thread_idx().x + 128 * (v + 8 * (i + shape.tilesM() * j))) =
                fx::Numeric(sums.fragment(0)(v, j, i));
    }};

void multiplyWaiting(const impl::RingWaits &weaker) {
  const Operand a = Operand::input(fx::f16, 1, kRows * kLength,
                                   uniform(fx::f16, kRows * kLength, 1)),
                b = Operand::input(fx::f16, 1, kColumns * kLength,
                                   uniform(fx::f16, kColumns * kLength, 2)),
                c = Operand::output(fx::f32, 1, kRows * kColumns);
  const fx::Stream stream;
  multiply_moved(a.tensor(), b.tensor(), c.tensor(), weaker)
      .launch({.grid = 1, .block = 128, .stream = stream});
  stream.synchronize();
}

} // namespace

// Their test passes if the emulator says what is read too early.
TEST_CASE("waits of a ring of moves: first", "[.weak]") { multiplyWaiting({.first = 1}); }
TEST_CASE("waits of a ring of moves: later", "[.weak]") { multiplyWaiting({.later = 1}); }
TEST_CASE("waits of a ring of moves: none is weaker", "[.mover]") { multiplyWaiting({}); }
