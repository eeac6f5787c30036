// The configurations of products, and the code that they give.
#include "support/hot_loop.h"
#include "support/product.h"

#include "gemm/gemm_table.h"

#include <algorithm>
#include <bit>

using namespace kernel_tests;

TEST_CASE("the hot loop of a product has the instructions that it needs") {
  // For a step: instructions of K / k by tiles of 16 x 16; a read of LDS and a load of weights for
  // 16 rows by as many pieces of 16 bytes as lanes share a row; loads and writes of A of 16 bytes a
  // thread. A round has two steps. Sample 04 and FlyDSL's kernel have the same numbers for f16 with
  // 128x128x64.
  struct Case {
    const char *target;
    fx::DType type;
    GemmConfig config;
    int k;          // of the instruction
    int across = 4; // lanes that share a row
  };
  for (const Case &c : std::initializer_list<Case>{
           {"gfx942", fx::f16, {.tile_m = 128, .tile_n = 128, .tile_k = 64}, 16},
           {"gfx90a", fx::bf16, {.tile_m = 128, .tile_n = 128, .tile_k = 64}, 16},
           {"gfx950", fx::bf16, {.tile_m = 128, .tile_n = 256, .tile_k = 64}, 32},
           {"gfx942", fx::f8E4M3FNUZ, {.tile_m = 64, .tile_n = 256, .tile_k = 128}, 32},
           {"gfx942", fx::i8, {.tile_m = 64, .tile_n = 256, .tile_k = 128}, 32},
           {"gfx950", fx::f8E4M3FN, {.tile_m = 128, .tile_n = 256, .tile_k = 128}, 128},
           {"gfx950", fx::i8, {.tile_m = 16, .tile_n = 64, .tile_k = 512}, 64},
           {"gfx1100", fx::f16, {.tile_m = 64, .tile_n = 128, .tile_k = 32, .threads = 128}, 16, 1},
           {"gfx1201",
            fx::bf16,
            {.tile_m = 64, .tile_n = 128, .tile_k = 32, .threads = 128},
            16,
            2},
           {"gfx1201",
            fx::f8E4M3FN,
            {.tile_m = 64, .tile_n = 128, .tile_k = 64, .threads = 128},
            16,
            2}}) {
    const GemmProblem problem{.a = c.type,
                              .b = c.type,
                              .c = fx::bf16,
                              .n = 1024,
                              .k = 8192,
                              .scale_a = Scales::per_row,
                              .scale_b = Scales::per_row,
                              .bias = true,
                              .activation = Activation::silu};
    const fk::GemmPlan plan(problem, c.config, fx::Target::parse(c.target));
    const std::vector<fx::Executable> codes = plan.executables();
    REQUIRE(codes.size() == 1);
    const HotLoop loop = hotLoop(codes[0]);
    const int tileM = c.config.tile_m, tileN = c.config.tile_n, tileK = c.config.tile_k,
              threads = c.config.threads;
    const int bytes = tileK * c.type.bytes();
    INFO(codes[0].name() << " for " << c.target << "\n" << codes[0].summary() << loop.str());
    CHECK(codes[0].spills() == 0);
    CHECK(codes[0].scratch_bytes() == 0);
    const int waves = threads / fx::Target::parse(c.target).wave_size(), row = 16 * 16 * c.across;
    CHECK(loop.matrix == 2 * (tileK / c.k) * (tileM / 16) * (tileN / 16 / waves));
    CHECK(loop.ldsReads == 2 * tileM * bytes / row);
    CHECK(loop.ldsWrites == 2 * tileM * bytes / 16 / threads);
    CHECK(loop.loads == 2 * (tileM * bytes / 16 / threads + tileN / waves * bytes / row));
    CHECK(loop.barriers == 2);
    CHECK(loop.vector == 0);
    // Offsets of what is fetched, the test, and the first halves of RDNA4's barriers; FlyDSL has 7
    // on CDNA, and on gfx1201 10 to 14 for bf16 and 6 to 23 for fp8.
    CHECK(loop.scalar <= 14);
    CHECK(loop.by.count("v_mfma_scale_f32_16x16x128_f8f6f4") == 0);
  }
}

namespace {
/// The tiles of CDNA's ring over prepared weights of a type, each with each of its steps in bytes.
std::vector<std::pair<fk::impl::GemmTile, int>> tilesAndSteps(const char *target, fx::DType type) {
  std::vector<std::pair<fk::impl::GemmTile, int>> all;
  const GemmProblem problem{.a = type, .b = type, .c = fx::bf16, .n = 2048, .k = 4096};
  for (const fk::impl::GemmTile &tile : fk::impl::cdnaTiles(fx::Target::parse(target), problem))
    for (const int bytes : {tile.bytesK, tile.bytesLong, tile.bytesAlone})
      if (bytes)
        all.push_back({tile, bytes});
  return all;
}
} // namespace

TEST_CASE("the hot loop of every tile that CDNA chooses has FlyDSL's instructions or fewer") {
  // FlyDSL 0.4.2's preshuffle_gemm for the same tiles (bench/kernels/README.md) has as
  // many matrix instructions, reads and writes of LDS, loads and barriers, by the
  // formulas below, and 6 to 24 other vector instructions. Of i8 on gfx950 it has twice
  // as many matrix instructions, of half the k.
  struct Case {
    const char *target;
    fx::DType type;
    int k; // of the instruction
  };
  for (const Case &c : std::initializer_list<Case>{{"gfx942", fx::f16, 16},
                                                   {"gfx942", fx::f8E4M3FNUZ, 32},
                                                   {"gfx942", fx::i8, 32},
                                                   {"gfx950", fx::bf16, 32},
                                                   {"gfx950", fx::f8E4M3FN, 128},
                                                   {"gfx950", fx::i8, 64}})
    for (const auto &[tile, bytes] : tilesAndSteps(c.target, c.type)) {
      const GemmConfig config{.tile_m = tile.m,
                              .tile_n = tile.n,
                              .tile_k = bytes / c.type.bytes(),
                              .threads = tile.threads};
      const GemmProblem problem{.a = c.type, .b = c.type, .c = fx::bf16, .n = 2048, .k = 4096};
      const fx::Executable code =
          fk::GemmPlan(problem, config, fx::Target::parse(c.target)).executables().at(0);
      const HotLoop loop = hotLoop(code);
      INFO(code.name() << " for " << c.target << "\n" << code.summary() << loop.str());
      CHECK(code.spills() == 0);
      CHECK(code.scratch_bytes() == 0);
      const int waves = tile.threads / 64;
      CHECK(loop.matrix == 2 * (config.tile_k / c.k) * (tile.m / 16) * (tile.n / 16 / waves));
      CHECK(loop.ldsReads == 2 * tile.m * bytes / 1024);
      CHECK(loop.ldsWrites == 2 * tile.m * bytes / 16 / tile.threads);
      CHECK(loop.loads == 2 * (tile.m * bytes / 16 / tile.threads + tile.n / waves * bytes / 1024));
      CHECK(loop.barriers == 2);
      // Of the longest steps of the largest tile, whose lanes have up to 500 registers, some move between the halves of the file.
      CHECK(loop.vector <= (bytes > 128 && tile.m * tile.n == 128 * 256 ? 45 : 6));
    }
}

TEST_CASE("a tile's steps are the longest that K has whole, and longer where each compute unit has "
          "one tile") {
  // MI355X has 256 units, MI300X 304.
  const auto chosen = [](const char *target, GemmProblem problem, std::int64_t m) {
    return fk::choose(problem, m, fx::Target::parse(target));
  };
  const auto of = [](fx::DType type, std::int64_t n, std::int64_t k) {
    return GemmProblem{.a = type, .b = type, .c = fx::bf16, .n = n, .k = k};
  };
  const auto expect = [](const GemmConfig &config, int m, int n, int k, int stages) {
    CHECK(config.tile_m == m);
    CHECK(config.tile_n == n);
    CHECK(config.tile_k == k);
    CHECK(config.stages == stages);
    CHECK(config.dma == (stages > 2));
  };
  expect(chosen("gfx950", of(fx::f8E4M3FN, 4096, 4096), 512), 64, 128, 512, 2); // 256 tiles
  expect(chosen("gfx950", of(fx::f8E4M3FN, 4096, 4096 + 256), 512), 64, 128, 256, 3);
  expect(chosen("gfx950", of(fx::f8E4M3FN, 4096, 4096 + 128), 512), 64, 128, 128, 4);
  expect(chosen("gfx950", of(fx::bf16, 4096, 4096), 512), 64, 128, 256, 2);
  expect(chosen("gfx950", of(fx::bf16, 3072, 4096), 512), 64, 128, 256, 2); // 192 tiles
  expect(chosen("gfx950", of(fx::f8E4M3FN, 4096, 4096), 2048), 128, 256, 256, 3);
  expect(chosen("gfx950", of(fx::bf16, 4096, 4096), 2048), 128, 256, 128, 2);
  expect(chosen("gfx950", of(fx::bf16, 6144, 4096), 2048), 128, 256, 64, 2); // 384 tiles
  expect(chosen("gfx950", of(fx::bf16, 4096, 4096), 1024), 128, 128, 128, 3);
  expect(chosen("gfx942", of(fx::f8E4M3FNUZ, 19 * 128, 4096), 1024), 64, 128, 256, 2);
  expect(chosen("gfx90a", of(fx::bf16, 13 * 128, 4096), 512), 64, 128, 64,
         2); // MI210 gains nothing
  // 144 tiles of 128 x 128, of which half have 8 rows, are less work than 216 of 64 x 128 (aiter's tables have the size).
  expect(chosen("gfx950", of(fx::f8E4M3FN, 9216, 4096), 136), 64, 128, 512, 2);
  // Scales on their way take registers, so that large tiles keep short steps.
  GemmProblem scaled = of(fx::f8E4M3FN, 4096, 4096);
  scaled.scale_a = scaled.scale_b = fk::Scales::mx;
  scaled.scale = fx::f8E8M0FNU;
  CHECK(chosen("gfx950", scaled, 2048).tile_k == 128);
  CHECK(chosen("gfx950", scaled, 256).tile_k == 512);
}

TEST_CASE("the hot loop of every tile of RDNA for weights as they are has FlyDSL's instructions or "
          "fewer") {
  // FlyDSL 0.4.2's rdna3_f16_gemm for the same tiles and waves (bench/kernels/README.md) has as
  // many matrix instructions, reads and writes of LDS, loads and barriers on gfx1100, by the
  // formulas below, and 10 to 19 other vector instructions a step.
  struct Case {
    const char *target;
    fx::DType type;
    int across; // lanes that share a row
  };
  for (const Case &c :
       std::initializer_list<Case>{{"gfx1100", fx::f16, 1}, {"gfx1201", fx::bf16, 2}})
    for (const fk::impl::GemmTile &tile : fk::impl::kRdnaUnprepared) {
      const GemmConfig config{.tile_m = tile.m,
                              .tile_n = tile.n,
                              .tile_k = tile.bytesK / 2,
                              .threads = tile.threads,
                              .waves_m = tile.wavesM};
      const GemmProblem problem{.a = c.type,
                                .b = c.type,
                                .c = fx::bf16,
                                .b_layout = OperandLayout::rows,
                                .n = 2048,
                                .k = 4096};
      const fx::Target target = fx::Target::parse(c.target);
      if (!fk::supported(problem, config, target))
        continue; // the largest tile takes more registers than an instruction of gfx1100 can name
      const fx::Executable code = fk::GemmPlan(problem, config, target).executables().at(0);
      const HotLoop loop = hotLoop(code);
      INFO(code.name() << " for " << c.target << "\n" << code.summary() << loop.str());
      CHECK(code.spills() == 0);
      CHECK(code.scratch_bytes() == 0);
      const int rowsOfTiles = tile.m / 16 / tile.wavesM,
                columnsOfTiles = tile.n / 16 / (tile.threads / 32 / tile.wavesM);
      CHECK(loop.matrix == 2 * (config.tile_k / 16) * rowsOfTiles * columnsOfTiles);
      CHECK(loop.ldsReads == 2 * (rowsOfTiles + columnsOfTiles) * tile.bytesK / 16 / c.across);
      CHECK(loop.ldsWrites == 2 * (tile.m + tile.n) * tile.bytesK / 16 / tile.threads);
      CHECK(loop.loads == loop.ldsWrites);
      CHECK(loop.barriers <= 2); // a single wave needs none
      CHECK(loop.invalidates == 0);
      CHECK(loop.vector <= 20);
    }
}

TEST_CASE("the hot loop of every tile of RDNA for prepared weights has what it needs alone") {
  // FlyDSL 0.4.2's rdna_fp8_preshuffle_gemm keeps both operands in registers, reads 8 bytes at a
  // time and has 10 to 79 other vector instructions a step for the same tiles
  // (bench/kernels/README.md). Its blocks have one to four waves; loads and reads of LDS together
  // are fewer here for a block's step.
  struct Case {
    const char *target;
    fx::DType type;
    int across; // lanes that share a row
    bool blocks = false;
  };
  for (const Case &c : std::initializer_list<Case>{{"gfx1100", fx::f16, 1},
                                                   {"gfx1201", fx::bf16, 2},
                                                   {"gfx1201", fx::f8E4M3FN, 2},
                                                   {"gfx1201", fx::f8E4M3FN, 2, true}})
    for (std::span<const fk::impl::GemmTile> tiles :
         {std::span<const fk::impl::GemmTile>(fk::impl::kRdnaTiles),
          std::span<const fk::impl::GemmTile>(fk::impl::kRdnaFewRows)})
      for (const fk::impl::GemmTile &tile : tiles) {
        const GemmConfig config{.tile_m = tile.m,
                                .tile_n = tile.n,
                                .tile_k = tile.bytesK / c.type.bytes(),
                                .threads = tile.threads,
                                .loop = tile.wavesK ? fk::GemmLoop::registers : fk::GemmLoop::ring,
                                .waves_k = std::max(tile.wavesK, 1)};
        const Scales scales = c.blocks ? Scales::per_block : Scales::none;
        const GemmProblem problem{.a = c.type,
                                  .b = c.type,
                                  .c = fx::bf16,
                                  .n = 2048,
                                  .k = 8192,
                                  .scale_a = scales,
                                  .scale_b = scales};
        const fx::Target target = fx::Target::parse(c.target);
        if (!fk::supported(problem, config, target))
          continue; // steps shorter than a scale's block, or too many registers
        const fx::Executable code = fk::GemmPlan(problem, config, target).executables().at(0);
        const HotLoop loop = hotLoop(code);
        INFO(code.name() << " for " << c.target << "\n" << code.summary() << loop.str());
        CHECK(code.spills() == 0);
        CHECK(code.scratch_bytes() == 0);
        const bool ring = tile.wavesK == 0;
        const int columns = tile.n / 16 / (ring ? tile.threads / 32 : 1), rows = tile.m / 16,
                  row = 16 * 16 * c.across, blocks = c.blocks ? config.tile_k / 128 : 0;
        const int piecesA = tile.m * tile.bytesK / row, piecesB = 16 * columns * tile.bytesK / row;
        CHECK(loop.matrix == 2 * (config.tile_k / 16) * rows * columns);
        CHECK(loop.ldsReads == (ring ? 2 * piecesA : 0));
        CHECK(loop.ldsWrites == (ring ? 2 * tile.m * tile.bytesK / 16 / tile.threads : 0));
        CHECK(loop.loads ==
              loop.ldsWrites + (ring ? 0 : 2 * piecesA) + 2 * piecesB + 2 * blocks * (rows + 1));
        CHECK(loop.barriers == (ring ? 2 : 0));
        CHECK(loop.invalidates == 0); // a barrier lets loads go on
        // With scales: eight sums of each tile of 16 x 16, a factor for
        // each row of them, and zeros.
        CHECK(loop.vector <= 2 * blocks * (8 * rows * columns + rows));
      }
}

TEST_CASE("the hot loop of a product with tiles by LDS's own loads") {
  // The tile of A takes no registers and no writes; nothing waits for loads that may be under way.
  const GemmProblem problem{.a = fx::bf16, .b = fx::bf16, .c = fx::bf16, .n = 2048, .k = 4096};
  for (int stages : {2, 4}) {
    const GemmConfig config{
        .tile_m = 128, .tile_n = 128, .tile_k = 64, .stages = stages, .dma = true};
    const fx::Executable code =
        fk::GemmPlan(problem, config, fx::Target::parse("gfx950")).executables().at(0);
    const HotLoop loop = hotLoop(code);
    INFO(code.summary() << loop.str());
    CHECK(code.spills() == 0);
    CHECK(loop.matrix == stages * 32);
    CHECK(loop.ldsReads == stages * 16);
    CHECK(loop.ldsWrites == 0);
    CHECK(loop.loads == stages * (4 + 4));
    CHECK(loop.barriers == stages);
    CHECK(loop.vector == 0);
  }
}

TEST_CASE("the hot loop of a product with scales of blocks") {
  // Beside the instructions of one without: a load of scales for each row of tiles and each 128
  // columns, and for each tile of 16 x 16 the products with scales added, one or two values at a
  // time. gfx950's instruction takes exponents as they are.
  struct Case {
    const char *target;
    fx::DType type, scale;
    GemmConfig config;
    int matrix, scales, most; // of a round of two steps; other vector instructions
  };
  for (const Case &c :
       std::initializer_list<Case>{{"gfx942",
                                    fx::f8E4M3FNUZ,
                                    fx::f32,
                                    {.tile_m = 64, .tile_n = 256, .tile_k = 128},
                                    128,
                                    12,
                                    144},
                                   {"gfx950",
                                    fx::f8E4M3FN,
                                    fx::f32,
                                    {.tile_m = 64, .tile_n = 256, .tile_k = 128},
                                    32,
                                    12,
                                    144},
                                   {"gfx950",
                                    fx::f8E4M3FN,
                                    fx::f8E8M0FNU,
                                    {.tile_m = 64, .tile_n = 256, .tile_k = 128},
                                    32,
                                    12,
                                    0},
                                   {"gfx1201",
                                    fx::f8E4M3FN,
                                    fx::f32,
                                    {.tile_m = 32, .tile_n = 128, .tile_k = 128, .threads = 128},
                                    64,
                                    6,
                                    100}}) {
    const GemmProblem problem{.a = c.type,
                              .b = c.type,
                              .c = fx::bf16,
                              .n = 1024,
                              .k = 8192,
                              .scale_a = Scales::per_block,
                              .scale_b = Scales::per_block,
                              .scale = c.scale};
    const fk::GemmPlan plan(problem, c.config, fx::Target::parse(c.target));
    const fx::Executable code = plan.executables().at(0);
    const HotLoop loop = hotLoop(code);
    INFO(code.name() << " for " << c.target << "\n" << code.summary() << loop.str());
    CHECK(code.spills() == 0);
    CHECK(code.scratch_bytes() == 0);
    const int bytes = c.config.tile_k, lanes = fx::Target::parse(c.target).wave_size(),
              waves = c.config.threads / lanes, row = 16 * lanes;
    CHECK(loop.matrix == c.matrix);
    CHECK(loop.loads == c.scales + 2 * (c.config.tile_m * bytes / 16 / c.config.threads +
                                        c.config.tile_n / waves * bytes / row));
    CHECK(loop.barriers == 2);
    CHECK(loop.vector <= c.most);
    CHECK(loop.by.count("v_accvgpr_read_b32") == 0);
  }
}

TEST_CASE("a product has a configuration for every problem that it supports") {
  for (const fx::Target &target : targets()) {
    for (fx::DType type : {fx::f16, fx::i8, fx::f8E4M3FN, fx::f8E5M2FNUZ})
      for (std::int64_t n : {1, 16, 63, 64, 257, 1000, 4096, 14336, 1 << 20})
        for (std::int64_t k : {16, 48, 64, 208, 1024, 4096, 8320, 1 << 20}) {
          GemmProblem problem{.a = type, .b = type, .c = fx::bf16, .n = n, .k = k};
          if (!fk::supported(problem, target)) {
            CHECK((type.is_float() || k > 131071)); // sums of i8 hold no more products
            continue;
          }
          problem.gated = n % 128 == 0 && n < 20000;
          if (n % 8 == 0 && !problem.gated && type.bits() == 16) {
            problem.a_layout = k % 3 ? OperandLayout::columns : OperandLayout::rows;
            problem.b_layout = k % 5 ? OperandLayout::columns : OperandLayout::rows;
          }
          if (type.bits() == 8 && type.is_float() && k != 1024)
            problem.scale_a = problem.scale_b = Scales::per_block;
          if (problem.scale_a == Scales::per_block && n == 257)
            problem.scale = fx::f8E8M0FNU;
          for (std::int64_t m = 0; m < 20000; m += m < 70 ? 1 : 331)
            if (const auto fits = fk::supported(problem, fk::choose(problem, m, target), target);
                !fits)
              FAIL(fits.why);
          for (const GemmConfig &config : fk::configs(problem, 1000, target))
            if (!fk::supported(problem, config, target))
              FAIL("a configuration is not supported");
        }
  }
  SUCCEED();
}

TEST_CASE("the tile of a product grows with the work") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto tile = [&](std::int64_t m, std::int64_t n) {
    const GemmConfig config = fk::choose(GemmProblem{.n = n, .k = 4096}, m, target);
    return std::pair(config.tile_m, config.tile_n);
  };
  const auto split = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return fk::choose(GemmProblem{.n = n, .k = k}, m, target).split_k;
  };
  CHECK(split(96, 1024, 8192) == 4);
  CHECK(split(64, 1024, 4096) == 4); // more would write too many sums
  CHECK(split(4096, 4096, 4096) == 1);
  CHECK(tile(64, 14336) ==
        std::pair(64, 64)); // 224 tiles of 304 units, with long steps; 32 x 64 are 448
  CHECK(split(64, 14336, 4096) == 1);
  CHECK(tile(4096, 4096) == std::pair(128, 256));
  CHECK(tile(1024, 4096) == std::pair(64, 128));
  // Few rows: waves share K, a tile has all rows, so that the weights are read once, and blocks are
  // as narrow as it takes to have work for all units.
  const auto few = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const GemmConfig config = fk::choose(GemmProblem{.n = n, .k = k}, m, target);
    CHECK(config.loop == fk::GemmLoop::registers);
    CHECK(config.tile_m == (m <= 16 ? 16 : 32));
    return std::array{config.tile_n, config.waves_k, config.split_k};
  };
  CHECK(few(1, 4096, 4096) == std::array{16, 8, 1});   // 256 tiles
  CHECK(few(16, 4096, 14336) == std::array{16, 8, 2}); // and 56 steps
  CHECK(few(16, 32000, 4096) == std::array{64, 4, 1}); // 500 tiles of 64
  CHECK(few(4, 14336, 4096) == std::array{32, 4, 1});
  CHECK(few(17, 4096, 14336) == std::array{32, 4, 4});
  CHECK(few(32, 32000, 4096) == std::array{64, 4, 1});
  CHECK(fk::choose(GemmProblem{.n = 4096, .k = 4096}, 33, target).loop == fk::GemmLoop::ring);
}

TEST_CASE("the hot loop of few rows has loads and products alone") {
  // Of 8-bit floats on RDNA, too, where LLVM would copy fragments at each turn of a loop whose test
  // stands first.
  struct Case {
    const char *target;
    fx::DType type;
    GemmConfig config;
    int matrix, loads; // of a round of two steps
  };
  const auto shape = [](int tileM, int tileN, int tileK, int lanes) {
    return GemmConfig{.tile_m = tileM,
                      .tile_n = tileN,
                      .tile_k = tileK,
                      .threads = 4 * lanes,
                      .loop = fk::GemmLoop::registers,
                      .waves_k = 4};
  };
  for (const Case &c :
       std::initializer_list<Case>{{"gfx942", fx::f16, shape(16, 32, 128, 64), 32, 24},
                                   {"gfx942", fx::f16, shape(32, 32, 128, 64), 64, 32},
                                   {"gfx942", fx::f8E4M3FNUZ, shape(32, 32, 256, 64), 64, 32},
                                   {"gfx1201", fx::f8E4M3FN, shape(16, 64, 128, 32), 64, 40},
                                   {"gfx1201", fx::bf16, shape(32, 32, 64, 32), 32, 32}}) {
    const GemmProblem problem{.a = c.type, .b = c.type, .c = fx::bf16, .n = 4096, .k = 8192};
    const fx::Executable code =
        fk::GemmPlan(problem, c.config, fx::Target::parse(c.target)).executables().at(0);
    const HotLoop loop = hotLoop(code);
    INFO(code.name() << " for " << c.target << "\n" << code.summary() << loop.str());
    CHECK(code.spills() == 0);
    CHECK(loop.matrix == c.matrix);
    CHECK(loop.loads == c.loads);
    CHECK(loop.ldsReads + loop.ldsWrites + loop.barriers == 0);
    CHECK(loop.vector == 0);
  }
}

TEST_CASE("tiles are loaded by LDS's own loads where that is estimated faster") {
  const auto stages = [](const char *target, fx::DType type, std::int64_t n,
                         OperandLayout layout = OperandLayout::rows) {
    const GemmProblem problem{.a = type, .b = type, .a_layout = layout, .n = n, .k = 4096};
    const GemmConfig config = fk::choose(problem, 1024, fx::Target::parse(target));
    return config.dma ? config.stages : 0;
  };
  const auto asTheyAre = [](fx::DType type, std::int64_t n) {
    const GemmProblem problem{
        .a = type, .b = type, .b_layout = OperandLayout::rows, .n = n, .k = 4096};
    const GemmConfig config = fk::choose(problem, 1024, fx::Target::parse("gfx950"));
    return config.dma ? config.stages : 0;
  };
  CHECK(stages("gfx950", fx::f8E4M3FN, 8192) == 3); // 128 x 256, steps of 256 bytes
  CHECK(stages("gfx950", fx::bf16, 8192) == 0);
  CHECK(stages("gfx950", fx::bf16, 4096) == 3); // 128 x 128, one for each unit
  CHECK(stages("gfx950", fx::bf16, 4096, OperandLayout::columns) == 0);
  CHECK(asTheyAre(fx::bf16, 2048) == 4);
  CHECK(asTheyAre(fx::bf16, 8192) == 2); // 128 x 256: four tiles of a and b are too much for LDS
  CHECK(stages("gfx942", fx::f8E4M3FNUZ, 8192) == 0); // has no such loads
  // All forms are worth measuring; sums of parts in one launch are, too, but not chosen, because
  // they ask for a workspace that was set to zero.
  const GemmProblem problem{.a = fx::bf16, .b = fx::bf16, .n = 2048, .k = 4096};
  int dma[5] = {}, oneLaunch = 0;
  for (const GemmConfig &config : fk::configs(problem, 64, fx::Target::parse("gfx950"))) {
    dma[config.dma ? config.stages : 0] += 1;
    oneLaunch += config.parts_sum == fk::PartsSum::last_block;
  }
  CHECK(dma[2] > 0);
  CHECK(dma[4] > 0);
  CHECK(oneLaunch > 0);
  CHECK(fk::choose(problem, 64, fx::Target::parse("gfx950")).parts_sum == fk::PartsSum::kernel);
}

TEST_CASE("a workspace that is promised to be zero lets the last block add the parts of K") {
  for (const fx::Target &target : targets())
    for (const fk::OperandLayout b : {fk::OperandLayout::prepared, fk::OperandLayout::rows})
      for (const std::int64_t m : {1, 16, 40, 104, 192, 1024, 8192})
        for (const std::int64_t n : {64, 128, 1536, 4096}) {
          GemmProblem problem{.b_layout = b, .n = n, .k = 6144};
          const GemmConfig without = fk::choose(problem, m, target);
          CHECK(without.parts_sum == fk::PartsSum::kernel);
          problem.zeroed_workspace = true;
          const GemmConfig with = fk::choose(problem, m, target);
          INFO(target.name() << ": " << fx::to_config(problem).str() << " m=" << m << ": "
                             << fx::to_config(with).str());
          CHECK((with.parts_sum == fk::PartsSum::last_block) == (with.split_k > 1));
          CHECK(fk::supported(problem, with, target));
          // There are no more blocks than units. The tile is the one without the promise, or a larger one whose parts of
          // K are blocks enough, so that weights are read less often: of long steps on
          // gfx1250, and elsewhere of 32 rows for weights that lie by rows.
          if (with.tile_m != without.tile_m || with.tile_n != without.tile_n) {
            CHECK(with.tile_m * with.tile_n >= without.tile_m * without.tile_n);
            CHECK(with.split_k > 1);
            const bool isOfLongSteps = with.dma && target.has(fx::feature::tensor_mover);
            CHECK((isOfLongSteps || (b == fk::OperandLayout::rows && with.tile_m == 32)));
          }
        }
  const fx::Target target = fx::Target::parse("gfx950");
  const auto parts = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return fk::choose(GemmProblem{.a = fx::bf16,
                                  .b = fx::bf16,
                                  .c = fx::bf16,
                                  .b_layout = fk::OperandLayout::rows,
                                  .n = n,
                                  .k = k,
                                  .zeroed_workspace = true},
                      m, target)
        .split_k;
  };
  CHECK(parts(192, 128, 6144) == 16); // 12 tiles
  CHECK(parts(104, 1024, 7168) == 4); // 64 tiles: more parts would be more blocks than units
  CHECK(parts(64, 16384, 6656) == 1); // units enough
  // No power of two divides 14 steps of 512 but 2.
  CHECK(parts(16, 512, 7168) == 14);
  CHECK(parts(16, 2112, 7168) == 7); // 33 tiles
  // Parts that a second kernel adds are seven only from CDNA3 on.
  const auto added = [](const char *name) {
    return fk::choose(GemmProblem{.a = fx::bf16, .b = fx::bf16, .c = fx::bf16, .n = 256, .k = 7168},
                      64, fx::Target::parse(name))
        .split_k;
  };
  CHECK(added("gfx950") % 7 == 0);
  for (const char *name : {"gfx90a", "gfx1100"})
    CHECK(std::has_single_bit(static_cast<unsigned>(added(name))));
}

TEST_CASE("tuning measures parts of K that divide it, in both forms") {
  const fx::Target target = fx::Target::parse("gfx942");
  const GemmProblem problem{.a = fx::bf16,
                            .b = fx::bf16,
                            .c = fx::bf16,
                            .b_layout = fk::OperandLayout::rows,
                            .n = 5120,
                            .k = 4096,
                            .zeroed_workspace = true};
  const auto all = fk::configs(problem, 16, target);
  const auto has = [&](int split, fk::PartsSum sum) {
    return std::ranges::any_of(all, [&](const fk::GemmConfig &config) {
      return config.split_k == split && config.parts_sum == sum;
    });
  };
  CHECK(has(4, fk::PartsSum::last_block));
  CHECK(has(4, fk::PartsSum::kernel));
  CHECK(has(2, fk::PartsSum::kernel));
}

TEST_CASE("tuning a product measures a bounded number of configurations") {
  for (const fx::Target &target : targets())
    for (std::int64_t n : {512, 4096, 14336})
      for (std::int64_t m : {1, 16, 17, 64, 128, 1024, 8192}) {
        const GemmProblem problem{.a = fx::f16, .b = fx::f16, .n = n, .k = 4096};
        const auto all = fk::configs(problem, m, target);
        INFO(target.name() << ", n = " << n << ", m = " << m << ": " << all.size());
        CHECK(all.size() <=
              400); // the most on gfx950, which has three ways to fill its ring, and longer steps
      }
}

TEST_CASE("a group of tiles is as high as the caches of a die want it") {
  // Blocks of a die that run at a time take `units` tiles of the walk: whole columns of a group.
  // They read the group's rows and these columns. No other power of two reads fewer bytes by more
  // than an eighth, for the largest tiles.
  std::vector<fx::Product> all;
  for (const fx::Target &target : fx::Target::all())
    for (const fx::Product &product : fx::products(target))
      all.push_back(product);
  REQUIRE(all.size() > 10);
  for (const fx::Product &product : all) {
    INFO(product.name);
    const int group = fk::impl::groupOfUnits(product.compute_units / product.dies);
    const double units = double(product.compute_units) / product.dies;
    for (auto [m, n] : {std::pair(128, 256), std::pair(64, 128)}) {
      const auto bytes = [&](int group) { return group * m + units / group * n; };
      for (int other : {1, 2, 4, 8, 16, 32})
        CHECK(bytes(group) <= 1.125 * bytes(other));
    }
  }
  const fx::Target target = fx::Target::parse("gfx942");
  const fk::TileOrder large = fk::choose(GemmProblem{.n = 8192, .k = 4096}, 8192, target).order;
  CHECK(large == fk::TileOrder{.group = 8, .xcds = 8});
  CHECK(fk::choose(GemmProblem{.n = 4096, .k = 4096}, 32, target).order == fk::TileOrder{});
  // Two rows of small tiles read the same weights: a die has both.
  CHECK(fk::choose(GemmProblem{.n = 32768, .k = 4096}, 40, target).order == large);
}

TEST_CASE("waves of a product share k, and take turns, where that is estimated faster") {
  // The figures are in bench/kernels/README.md.
  const fx::Target narrow = fx::Target::parse("gfx942"), wide = fx::Target::parse("gfx950");
  const GemmProblem prepared{.a = fx::bf16, .b = fx::bf16, .c = fx::bf16, .n = 4096, .k = 4096};
  GemmProblem rows = prepared;
  rows.b_layout = OperandLayout::rows;
  const auto chosen = [](const GemmProblem &problem, std::int64_t m, const fx::Target &target) {
    const GemmConfig config = fk::choose(problem, m, target);
    return std::array{config.tile_m, config.tile_n, config.waves_k, config.stages};
  };
  CHECK(chosen(prepared, 256, narrow) == std::array{64, 64, 2, 2});
  CHECK(chosen(prepared, 256, wide) == std::array{64, 64, 1, 2});
  CHECK(chosen(rows, 256, narrow) == std::array{64, 64, 2, 2});
  CHECK(chosen(rows, 256, wide) == std::array{64, 64, 2, 4});
  CHECK(chosen(rows, 4096, narrow) == std::array{128, 128, 1, 2});
  CHECK(chosen(rows, 4096, wide) == std::array{256, 256, 1, 2});
  CHECK(fk::choose(rows, 4096, wide).loop == fk::GemmLoop::groups);
  CHECK(fk::choose(prepared, 4096, wide).loop == fk::GemmLoop::groups);
  CHECK(fk::choose(prepared, 4096, narrow).loop == fk::GemmLoop::ring);
  CHECK(fk::choose(prepared, 2048, wide).loop == fk::GemmLoop::ring);
  rows.b_layout = OperandLayout::columns;
  CHECK(fk::choose(rows, 4096, wide).loop == fk::GemmLoop::groups);
  CHECK(chosen(rows, 256, narrow)[2] == 2);
  CHECK(chosen(rows, 256, wide)[2] == 1);
}
