// Products of operands that are not prepared, in all layouts, and loads of LDS's own.
#include "support/product.h"

#include <flydsl/host/product.h>

using namespace kernel_tests;

namespace {

const OperandLayout kLayouts[] = {OperandLayout::rows, OperandLayout::columns};

/// A tile of two rows of two waves, with steps of as many bytes as the LDS has banks for.
GemmConfig twoByTwo(const GemmProblem &problem, int tileM = 64, int tileN = 64) {
  const int banks = fx::lds_banks(here());
  return {.tile_m = tileM,
          .tile_n = tileN,
          .tile_k = 4 * banks / problem.a.bytes(),
          .threads = 4 * here().wave_size(),
          .waves_m = 2};
}
GemmProblem plain(fx::DType type, OperandLayout a, OperandLayout b, std::int64_t n,
                  std::int64_t k) {
  return {.a = type, .b = type, .c = type, .a_layout = a, .b_layout = b, .n = n, .k = k};
}

} // namespace

TEST_CASE("products of operands in all layouts", "[run]") {
  for (OperandLayout a : kLayouts)
    for (OperandLayout b : kLayouts) {
      for (std::int64_t k : {8, 72, 256, 520, 712}) { // part of a step, tails, the loop
        GemmProblem problem = plain(k % 3 ? fx::f16 : fx::bf16, a, b, 72, k);
        expectProduct(problem, twoByTwo(problem), 40, {.a = 8, .b = 16});
      }
      GemmProblem problem = plain(fx::bf16, a, b, 200, 136);
      problem.bias = true;
      problem.activation = Activation::relu;
      expectProduct(problem, 136, {.c = 4});
      problem.k = 1024;
      problem.n = 64;
      GemmConfig split = twoByTwo(problem);
      split.split_k = 2;
      expectProduct(problem, split, 72, {.a = 8});
    }
  // Columns of a with prepared weights; rows of other types; one row of waves.
  GemmProblem problem = plain(fx::f16, OperandLayout::columns, OperandLayout::prepared, 70, 328);
  expectProduct(problem, twoByTwo(problem, 32, 64), 24);
  expectProduct(problem, 8);
  for (GemmProblem typedProblem : typed()) {
    typedProblem.b_layout = OperandLayout::rows;
    typedProblem.n = 50;
    typedProblem.k = 400 / typedProblem.a.bytes();
    GemmConfig config = twoByTwo(typedProblem);
    expectProduct(typedProblem, config, 37, {.a = 16, .b = 16});
    config.waves_m = 1;
    expectProduct(typedProblem, config, 70);
    expectProduct(typedProblem, 3);
  }
}

namespace {

/// Four waves; `wavesK` of them share k.
GemmConfig vectors(const GemmProblem &problem, int rows, int wavesK, int columns = 16) {
  const int lanes = here().wave_size();
  return {.tile_m = rows,
          .tile_n = columns,
          .tile_k = 16 * lanes / problem.a.bytes(),
          .threads = 4 * lanes,
          .loop = fk::GemmLoop::vector,
          .waves_k = wavesK};
}

} // namespace

TEST_CASE("products of few rows without matrix units", "[run]") {
  // A part of a step; steps that end in the middle of a wave; rounds of the loop, of waves that share k.
  for (GemmProblem problem : typed()) {
    problem.b_layout = OperandLayout::rows;
    problem.n = 50;
    const int step = vectors(problem, 1, 1).tile_k, piece = 16 / problem.a.bytes();
    problem.k = 3 * piece;
    expectProduct(problem, vectors(problem, 1, 4), 1, {.c = 4});
    problem.k = 2 * step + 5 * piece;
    problem.bias = true;
    problem.activation = Activation::relu;
    problem.scale_a = problem.scale_b = Scales::per_row;
    expectProduct(problem, vectors(problem, 3, 1, 32), 5, {.a = 16, .b = 32});
    problem.k = 13 * step;
    problem.n = 16;
    expectProduct(problem, vectors(problem, 2, 2), 2);
  }
  // What is chosen for few rows, odd columns, and more rows than it was chosen for.
  GemmProblem problem = plain(fx::bf16, OperandLayout::rows, OperandLayout::rows, 33, 264);
  for (const std::int64_t m : {1, 4})
    expectProduct(problem, m);
  expectProduct(problem, fk::choose(problem, 2), 7);
}

TEST_CASE("which products of few rows are chosen without matrix units") {
  const auto chosen = [](const char *target, fx::DType type, std::int64_t m, std::int64_t n,
                         std::int64_t k) {
    GemmProblem problem = plain(type, OperandLayout::rows, OperandLayout::rows, n, k);
    problem.c = fx::bf16;
    return fk::choose(problem, m, fx::Target::parse(target)).loop == fk::GemmLoop::vector;
  };
  for (const int m : {1, 2}) {
    CHECK(chosen("gfx942", fx::bf16, m, 4096, 4096));
    CHECK(chosen("gfx942", fx::bf16, m, 1024, 2048)); // four steps of K
    CHECK_FALSE(chosen("gfx942", fx::bf16, m, 1024, 4096));
    CHECK(chosen("gfx942", fx::i8, m, 4096, 4096));
    CHECK(chosen("gfx1201", fx::bf16, m, 4096, 4096));
  }
  for (const int m : {3, 4}) {
    CHECK(chosen("gfx942", fx::bf16, m, 4096, 4096));
    CHECK(chosen("gfx950", fx::f16, m, 2304, 1536));
    CHECK_FALSE(chosen("gfx942", fx::bf16, m, 1024, 2048));
    CHECK_FALSE(chosen("gfx942", fx::i8, m, 4096, 4096));    // a byte takes twice as many products
    CHECK_FALSE(chosen("gfx1201", fx::bf16, m, 4096, 4096)); // loads are not known to gain there
  }
  CHECK_FALSE(chosen("gfx942", fx::bf16, 5, 4096, 4096));
}

TEST_CASE("products of few rows without matrix units: exact sums, weights read once", "[run]") {
  GemmProblem problem = plain(fx::f16, OperandLayout::rows, OperandLayout::rows, 64, 4096);
  problem.c = fx::f32;
  Values values;
  values.a = integers(problem.k, 5, -3, 3);
  values.b = integers(problem.n * problem.k, 6, -3, 3);
  const GemmConfig config = vectors(problem, 1, 2);
  CHECK(product(problem, config, 1, values) == reference(problem, 1, values).c);
  const auto counters = countersOf(problem, config, 1);
  REQUIRE(counters.size() == 1);
  INFO(counters[0].str());
  CHECK(counters[0]["SQ_LDS_BANK_CONFLICT"] == 0);
  // Weights are read so that caches need not keep them, where it is known to be faster.
  CHECK(std::int64_t(counters[0]["globalStreamFootprint"]) ==
        (here().wave_size() == 64 ? 2 * problem.k * problem.n : 0));
  // With more rows than a tile has, other blocks read them again, and caches keep them.
  const auto ofMore = countersOf(problem, config, 2);
  REQUIRE(ofMore.size() == 1);
  CHECK(std::int64_t(ofMore[0]["globalStreamFootprint"]) == 0);
  // Each wave reads a's part of its steps: of four waves, two have all of it.
  const std::int64_t blocks = problem.n / 16;
  CHECK(std::int64_t(counters[0]["globalBytesRead"]) == 2 * problem.k * (problem.n + 2 * blocks));
}

TEST_CASE("products of operands in all layouts: exact sums, no conflicts, no more traffic",
          "[run]") {
  for (OperandLayout a : kLayouts)
    for (OperandLayout b : kLayouts) {
      GemmProblem problem = plain(fx::f16, a, b, 128, 256);
      problem.c = fx::f32;
      const std::int64_t m = 128;
      Values values;
      values.a = integers(m * problem.k, 5, -3, 3);
      values.b = integers(problem.n * problem.k, 6, -3, 3);
      const GemmConfig config = twoByTwo(problem);
      INFO(fx::to_config(problem).str());
      CHECK(product(problem, config, m, values) == reference(problem, m, values).c);
      const auto counters = countersOf(problem, config, m);
      REQUIRE(counters.size() == 1);
      INFO(counters[0].str());
      CHECK(counters[0]["SQ_LDS_BANK_CONFLICT"] == 0);
      // Two tiles by two: each operand is read twice.
      CHECK(std::int64_t(counters[0]["globalBytesRead"]) == 2 * 2 * (m + problem.n) * problem.k);
      CHECK(std::int64_t(counters[0]["globalBytesTouched"]) ==
            2 * (m + problem.n) * problem.k + 4 * m * problem.n);
    }
  expectStructure(plain(fx::bf16, OperandLayout::columns, OperandLayout::rows, 64, 144),
                  twoByTwo({}), 48);
}

TEST_CASE("infinite and missing numbers stay in their row and column in all layouts", "[run]") {
  for (OperandLayout a : kLayouts)
    for (OperandLayout b : kLayouts) {
      GemmProblem problem = plain(fx::f16, a, b, 48, 72);
      problem.c = fx::f32;
      const std::int64_t m = 24;
      Values values = Values::random(problem, m);
      values.a[std::size_t(3 * problem.k + 71)] = std::nan("");
      values.b[std::size_t(20 * problem.k + 71)] = std::numeric_limits<double>::infinity();
      const std::vector<double> c =
          product(problem, twoByTwo(problem), m, values, {.a = 8, .b = 8});
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < problem.n; ++j)
          REQUIRE(std::isfinite(c[std::size_t(i * problem.n + j)]) == (i != 3 && j != 20));
    }
}

TEST_CASE("products whose tiles are loaded by LDS's own loads", "[run]") {
  if (!here().has(fx::feature::buffer_to_lds_wide))
    return;
  for (GemmProblem problem : typed())
    for (OperandLayout b : {OperandLayout::prepared, OperandLayout::rows})
      for (int stages : {2, 4}) {
        problem.b_layout = b;
        problem.n = 72;
        for (std::int64_t bytes : {16, 128, 272, 512, 656, 1280, 1424}) {
          problem.k = bytes / problem.a.bytes();
          GemmConfig config = small(problem);
          config.dma = true;
          config.stages = stages;
          expectProduct(problem, config, 40, {.a = 16});
        }
      }
  // Waves that share k.
  for (OperandLayout b : {OperandLayout::prepared, OperandLayout::rows})
    for (int stages : {2, 4}) {
      GemmProblem problem = plain(fx::bf16, OperandLayout::rows, b, 72, 648);
      GemmConfig config = small(problem);
      config.tile_k = 128;
      config.waves_k = 2;
      config.dma = true;
      config.stages = stages;
      expectProduct(problem, config, 40);
    }
  GemmProblem problem{.n = 128, .k = 1024};
  GemmConfig config = small(problem);
  config.dma = true;
  config.stages = 4;
  const auto counters = countersOf(problem, config, 64);
  INFO(counters[0].str());
  CHECK(counters[0]["SQ_LDS_BANK_CONFLICT"] == 0);
  expectStructure(problem, config, 33);
  if (float8() == fx::DType())
    return;
  problem = {.a = float8(),
             .b = float8(),
             .c = fx::f32,
             .n = 72,
             .k = 1040,
             .scale_a = Scales::per_block,
             .scale_b = Scales::per_block};
  config = small(problem);
  config.dma = true;
  expectProduct(problem, config, 20);
}
