// Products by two groups of waves that take turns at the matrix units of gfx950.
#include "support/hot_loop.h"
#include "support/product.h"

#include "blocks/products/half_tiles.h"
#include "gemm/gemm_shape.h"

using namespace kernel_tests;

namespace {

/// Two groups of four waves that take turns.
GemmConfig inGroups(const GemmProblem &problem, int tileM = 128, int tileN = 128) {
  return {.tile_m = tileM,
          .tile_n = tileN,
          .tile_k = 128 * 8 / problem.a.memory_bits(),
          .threads = 512,
          .loop = fk::GemmLoop::groups,
          .waves_m = 2};
}

GemmProblem byRows(fx::DType type, std::int64_t n, std::int64_t k) {
  return {.a = type, .b = type, .c = type, .b_layout = OperandLayout::rows, .n = n, .k = k};
}

} // namespace

TEST_CASE("products by groups of waves that take turns", "[groups]") {
  for (GemmProblem problem : typed()) {
    problem.b_layout = OperandLayout::rows;
    problem.n = 140;
    // One step, two, a tail, the loop and what follows it.
    for (std::int64_t bytes : {16, 128, 256, 272, 512, 640, 1040}) {
      problem.k = bytes / problem.a.bytes();
      expectProduct(problem, inGroups(problem), bytes % 3 ? 40 : 150, {.a = 16, .c = 4, .b = 16});
    }
  }
  GemmProblem problem = byRows(fx::bf16, 300, 200);
  problem.bias = true;
  problem.activation = Activation::silu;
  expectProduct(problem, inGroups(problem, 256, 256), 270);
  problem.k = 512;
  GemmConfig split = inGroups(problem);
  split.split_k = 2;
  expectProduct(problem, split, 130);
  // Exact sums, no conflicts, each operand is read twice.
  problem = byRows(fx::f16, 256, 384);
  problem.c = fx::f32;
  const std::int64_t m = 256;
  Values values;
  values.a = integers(m * problem.k, 5, -3, 3);
  values.b = integers(problem.n * problem.k, 6, -3, 3);
  CHECK(product(problem, inGroups(problem), m, values) == reference(problem, m, values).c);
  const auto counters = countersOf(problem, inGroups(problem), m);
  REQUIRE(counters.size() == 1);
  INFO(counters[0].str());
  CHECK(counters[0]["SQ_LDS_BANK_CONFLICT"] == 0);
  CHECK(std::int64_t(counters[0]["globalBytesRead"]) == 2 * 2 * (m + problem.n) * problem.k);
  problem = byRows(fx::bf16, 128, 320);
  expectStructure(problem, inGroups(problem), 100);
}

TEST_CASE("products by groups of prepared weights, of pairs and of columns", "[groups]") {
  for (GemmProblem problem : typed()) {
    problem.n = 140;
    // One step, a tail that ends inside of a block of weights, the loop.
    for (std::int64_t bytes : {16, 272, 448, 656}) {
      problem.k = bytes / problem.a.bytes();
      expectProduct(problem, inGroups(problem), bytes % 3 ? 40 : 150, {.a = 16, .c = 4});
    }
  }
  GemmProblem problem{.a = fx::bf16,
                      .b = fx::bf16,
                      .c = fx::bf16,
                      .n = 144,
                      .k = 200,
                      .bias = true,
                      .activation = Activation::silu,
                      .gated = true};
  expectProduct(problem, inGroups(problem), 70);
  using enum OperandLayout;
  for (const auto &[a, b] :
       {std::pair(columns, columns), std::pair(rows, columns), std::pair(columns, prepared)}) {
    problem = {.a = fx::f16, .b = fx::f16, .c = fx::f16, .a_layout = a, .b_layout = b, .n = 136};
    for (std::int64_t k : {8, 136, 328}) {
      problem.k = k;
      expectProduct(problem, inGroups(problem), 72, {.a = 8, .c = 4, .b = b == columns ? 16 : 0});
    }
  }
  // Neither the reads that turn columns nor those of weights meet a bank twice.
  for (const auto &[a, b] : {std::pair(columns, columns), std::pair(rows, prepared)})
    for (int tile : {128, 256}) {
      problem = {
          .a = fx::bf16, .b = fx::bf16, .c = fx::f32, .a_layout = a, .b_layout = b, .n = 256};
      problem.k = 192;
      const auto counters = countersOf(problem, inGroups(problem, tile, tile), 256);
      REQUIRE(counters.size() == 1);
      INFO(counters[0].str());
      CHECK(counters[0]["SQ_LDS_BANK_CONFLICT"] == 0);
    }
}

TEST_CASE("columns by LDS's own loads in a ring", "[groups]") {
  for (const int slices : {1, 2})
    for (std::int64_t k : {72, 456}) {
      const GemmProblem problem{.a = fx::bf16,
                                .b = fx::bf16,
                                .c = fx::bf16,
                                .a_layout = OperandLayout::columns,
                                .b_layout = OperandLayout::columns,
                                .n = 72,
                                .k = k};
      const GemmConfig config{.tile_m = 64,
                              .tile_n = 32,
                              .tile_k = 64,
                              .waves_k = slices,
                              .waves_m = 2,
                              .stages = 4,
                              .dma = true};
      expectProduct(problem, config, 40, {.a = 8, .b = 16});
    }
}

namespace {
/// The hot loop of two steps for a tile of 256 x 256, without a spill.
HotLoop largeLoop(const GemmProblem &problem) {
  const fx::Executable code =
      fk::GemmPlan(problem, inGroups(problem, 256, 256), fx::Target::parse("gfx950"))
          .executables()
          .at(0);
  HotLoop loop = hotLoop(code);
  INFO(fx::to_config(problem).str() << code.summary() << loop.str());
  CHECK(code.spills() == 0);
  CHECK(code.scratch_bytes() == 0);
  CHECK(loop.ldsWrites == 0);
  CHECK(loop.barriers == 2 * 8);
  return loop;
}
} // namespace

TEST_CASE("the hot loop of a product by groups of waves that take turns") {
  // FlyDSL 0.4.2's gemm_a16w16 with half tiles interleaved has 128 matrix instructions, 48 reads of
  // LDS, 16 loads and 16 barriers in its loop of two steps for this tile (bench/kernels/README.md).
  HotLoop loop = largeLoop(byRows(fx::bf16, 2048, 4096));
  CHECK(loop.matrix == 2 * 64);
  CHECK(loop.ldsReads == 2 * 24);
  CHECK(loop.loads == 2 * 8);
  CHECK(loop.vector == 0);
  // FlyDSL's has 42 waits. One for loads ends each phase; others are for the operands from LDS.
  CHECK(loop.waits == 2 * 4);
  // Prepared weights, and gates and ups: as many.
  for (const bool isGated : {false, true}) {
    loop = largeLoop(
        {.a = fx::bf16, .b = fx::bf16, .c = fx::bf16, .n = 2048, .k = 4096, .gated = isGated});
    CHECK(loop.matrix == 2 * 64);
    CHECK(loop.ldsReads == 2 * 24);
    CHECK(loop.loads == 2 * 8);
    CHECK(loop.vector == 0);
  }
  // An instruction that turns columns reads half as much.
  GemmProblem columns = byRows(fx::bf16, 2048, 4096);
  columns.a_layout = columns.b_layout = OperandLayout::columns;
  loop = largeLoop(columns);
  CHECK(loop.matrix == 2 * 64);
  CHECK(loop.ldsReads == 2 * 48);
  CHECK(loop.loads == 2 * 8);
  CHECK(loop.vector == 0);
  // FlyDSL's fp8_gemm_8wave has 32 matrix instructions, 24 reads of LDS and 8 loads for a step of a wave.
  loop = largeLoop({.a = fx::f8E4M3FN, .b = fx::f8E4M3FN, .c = fx::bf16, .n = 2048, .k = 4096});
  CHECK(loop.matrix == 2 * 32);
  CHECK(loop.ldsReads == 2 * 24);
  CHECK(loop.loads == 2 * 8);
  CHECK(loop.vector == 0);
}

TEST_CASE("products by groups say what they do not take") {
  const GemmProblem good = byRows(fx::bf16, 256, 256);
  const auto why = [](const char *target, const GemmProblem &problem, const GemmConfig &config) {
    return fk::supported(problem, config, fx::Target::parse(target)).why;
  };
  const auto with = [&](auto change) {
    GemmConfig config = inGroups(good);
    change(config);
    return why("gfx950", good, config);
  };
  const std::string of = "tile 128x128x64 of 512 threads: GemmLoop::groups ";
  CHECK(why("gfx950", good, inGroups(good)) == "");
  CHECK(why("gfx942", good, inGroups(good)) ==
        of + "needs loads of 16 bytes to LDS, which gfx942 does not have");
  GemmProblem problem = good;
  problem.b = fx::i8;
  problem.b_layout = OperandLayout::prepared;
  CHECK(why("gfx950", problem, inGroups(good)) ==
        of +
            "takes weights of a's bits: narrow ones go straight into registers, by GemmLoop::ring");
  problem = byRows(fx::f8E4M3FN, 256, 256);
  problem.c = fx::bf16;
  problem.scale_a = problem.scale_b = Scales::per_block;
  CHECK(why("gfx950", problem, inGroups(problem)) ==
        "tile 128x128x128 of 512 threads: GemmLoop::groups takes no scales of blocks or of 32 "
        "elements of k");
  problem = good;
  problem.a_layout = problem.b_layout = OperandLayout::columns;
  CHECK(with([](auto &c) { c.loop = fk::GemmLoop::ring; }) == "");
  GemmConfig ring{.tile_m = 96, .tile_n = 64, .tile_k = 64, .waves_m = 2, .dma = true};
  CHECK(why("gfx950", problem, ring) == "tile 96x64x64 of 256 threads: an operand that lies by "
                                        "columns comes by loads of LDS's own in "
                                        "tiles of a power of two of columns, here 96");
  GemmConfig halves = inGroups(problem);
  halves.tile_m = 192;
  CHECK(why("gfx950", problem, halves) ==
        "tile 192x128x64 of 512 threads: an operand that lies by columns comes by loads of LDS's "
        "own in halves of tiles of a power of two of columns, here 96");
  const char *rows = "has two rows of four waves: threads is 512, waves_m 2 and waves_k 1";
  CHECK(with([](auto &c) { c.waves_m = 4; }) == of + rows);
  CHECK(with([](auto &c) { c.waves_k = 2; }) == of + rows);
  CHECK(with([](auto &c) { c.threads = 256; }) ==
        "tile 128x128x64 of 256 threads: GemmLoop::groups " + std::string(rows));
  CHECK(
      with([](auto &c) { c.tile_n = 192; }) ==
      "tile 128x192x64 of 512 threads: GemmLoop::groups has halves of tiles: tile_m is a multiple "
      "of 64 and tile_n of 128");
  CHECK(
      with([](auto &c) { c.tile_m = 64; }) ==
      "tile 64x128x64 of 512 threads: GemmLoop::groups loads 8192 bytes at a time; half of a tile, "
      "with rows of 128 bytes, is no multiple of it");
  CHECK(with([](auto &c) { c.dma = true; }) ==
        "tile 128x128x64 of 512 threads: stages and dma are of GemmLoop::ring");
}

namespace {
namespace impl = fk::impl;

/// Stores all sums of a tile of 128 x 128, so that the compiler leaves no read out.
void storeSums(const impl::LoopShape &shape, const impl::Sums &sums, const fx::Tensor &c) {
  for (int j = 0; j < shape.tilesOfHalf(); ++j)
    for (int i = 0; i < shape.tilesM(); ++i)
      for (int v = 0; v < 4; ++v)
        fx::make_view(c.iter(), fx::make_layout(128 * 128))(
            fx::thread_idx().x + 512 * (v + 4 * (i + shape.tilesM() * j))) =
            fx::Numeric(sums.fragment(0)(v, j, i));
}

/// A tile of five steps, with waits that are weaker where `weaker` says so.
const fx::Kernel multiply_waiting{
    "multiply_waiting",
    [](fx::Tensor a, fx::Tensor b, fx::Tensor c, fx::Constexpr<impl::HalfTileWaits> weaker) {
      const GemmProblem problem = byRows(fx::f16, 128, 5 * 64);
      const GemmConfig config = inGroups(problem);
      const impl::LoopShape shape =
          impl::loopShape(problem, config, *impl::gemmForm(problem, config, fx::target()));
      const fx::TiledMma mma = impl::weightsFirst(shape.form, shape.waves, shape.wavesM);
      const impl::Sums sums(shape, mma);
      fx::SharedAllocator shared;
      const auto strides = fx::make_layout({128, problem.k}, {fx::Int64(problem.k), 1});
      const auto tile = [&](const fx::Tensor &matrix) { // (128, K)
        return impl::OperandTile{fx::make_view(matrix.iter(), strides), fx::Int32(128),
                                 OperandLayout::rows};
      };
      impl::HalfTiles(shape, mma, tile(a), tile(b), shared, sums, weaker.value()).run();
      storeSums(shape, sums, c);
    }};
void multiplyWaiting(const impl::HalfTileWaits &weaker) {
  const std::int64_t count = 128 * 5 * 64;
  const Operand a = Operand::input(fx::f16, 1, count, uniform(fx::f16, count, 1)),
                b = Operand::input(fx::f16, 1, count, uniform(fx::f16, count, 2)),
                c = Operand::output(fx::f32, 1, 128 * 128);
  const fx::Stream stream;
  multiply_waiting(a.tensor(), b.tensor(), c.tensor(), weaker)
      .launch({.grid = 1, .block = 512, .stream = stream});
  stream.synchronize();
}
} // namespace

// Their test passes if the emulator says what is read too early.
TEST_CASE("waits of half tiles: first", "[.weak]") { multiplyWaiting({.first = 1}); }
TEST_CASE("waits of half tiles: loop", "[.weak]") { multiplyWaiting({.loop = 1}); }
TEST_CASE("waits of half tiles: last", "[.weak]") { multiplyWaiting({.last = 1}); }
TEST_CASE("waits of half tiles: reads", "[.weak]") { multiplyWaiting({.reads = 1}); }
TEST_CASE("waits of half tiles: none is weaker", "[groups]") { multiplyWaiting({}); }
