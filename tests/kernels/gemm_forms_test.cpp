// Forms of products: scales of blocks, gated pairs, few rows.
#include "support/product.h"

using namespace kernel_tests;

namespace {

/// A problem with scales of blocks in the target's 8-bit float.
GemmProblem blockScaled(fx::DType scale, std::int64_t n, std::int64_t k) {
  return {.a = float8(),
          .b = float8(),
          .c = fx::f32,
          .n = n,
          .k = k,
          .scale_a = Scales::per_block,
          .scale_b = Scales::per_block,
          .scale = scale};
}
/// A tile whose steps are one or two blocks of K of 128 bytes.
GemmConfig steps(int tileM, int tileN, int tileK = 128) {
  return {.tile_m = tileM,
          .tile_n = tileN,
          .tile_k = tileK,
          .threads = tileN > 128 ? 256 : 4 * here().wave_size()};
}
/// A block of `waves` waves that share K.
GemmConfig fewRows(const GemmProblem &problem, int tileN, int bytesK, int waves, int tileM = 16) {
  return {.tile_m = tileM,
          .tile_n = tileN,
          .tile_k = bytesK / problem.a.bytes(),
          .threads = waves * here().wave_size(),
          .loop = fk::GemmLoop::registers,
          .waves_k = waves};
}
bool hasFloat8() { return float8() != fx::DType(); }

} // namespace

TEST_CASE("products with scales of blocks", "[run]") {
  if (!hasFloat8())
    return;
  for (fx::DType scale : {fx::f32, fx::f8E8M0FNU}) {
    for (std::int64_t k : {16, 128, 208, 640, 1040}) // part of a block, one, the loop, a tail
      expectProduct(blockScaled(scale, 72, k), steps(32, 64), 19);
    expectProduct(blockScaled(scale, 300, 384), steps(32, 256), 33, {.scalesByBlock = true});
    expectProduct(blockScaled(scale, 200, 768), steps(16, 128, 256), 20, {.a = 16});
    expectProduct(blockScaled(scale, 130, 256), 70);
    GemmConfig split = steps(32, 64);
    split.split_k = 3;
    expectProduct(blockScaled(scale, 70, 768), split, 21, {.scalesByBlock = true});
  }
  GemmProblem problem = blockScaled(fx::f32, 64, 256);
  problem.bias = true;
  problem.activation = Activation::silu;
  expectProduct(problem, steps(32, 64), 5);
}

TEST_CASE("scales of blocks that are powers of two give exact sums of integers", "[run]") {
  if (!hasFloat8())
    return;
  const GemmProblem problem = blockScaled(fx::f8E8M0FNU, 140, 400);
  const std::int64_t m = 40;
  Values values = Values::random(problem, m);
  values.a = integers(m * problem.k, 5, -3, 3);
  values.b = integers(problem.n * problem.k, 6, -3, 3);
  const std::vector<double> expected = reference(problem, m, values).c;
  CHECK(product(problem, steps(32, 128), m, values) == expected);
  CHECK(product(problem, steps(32, 128), m, values, {.scalesByBlock = true}) == expected);
  // The largest and the smallest exponents, whose products are still in f32's range.
  for (double &scale : values.scale_a)
    scale = 0x1p127;
  for (double &scale : values.scale_b)
    scale = 0x1p-127;
  CHECK(product(problem, steps(32, 128), m, values) == reference(problem, m, values).c);
}

TEST_CASE("gated pairs", "[run]") {
  for (GemmProblem problem : typed()) {
    problem.n = 80;
    problem.k = 400 / problem.a.bytes();
    problem.gated = true;
    for (Activation activation : {Activation::silu, Activation::gelu_tanh}) {
      problem.activation = activation;
      problem.bias = activation == Activation::gelu_tanh;
      problem.scale_a = problem.scale_b = problem.a.bytes() == 1 ? Scales::per_row : Scales::none;
      GemmConfig config = small(problem);
      config.tile_n = 128;
      expectProduct(problem, config, 37, {.c = 4});
      expectProduct(problem, 5);
    }
    problem.k = 512 / problem.a.bytes();
    GemmConfig config = small(problem);
    config.tile_n = 128;
    config.split_k = 2;
    expectProduct(problem, config, 20);
  }
  if (!hasFloat8())
    return;
  GemmProblem problem = blockScaled(fx::f32, 256, 272);
  problem.gated = true;
  problem.activation = Activation::silu;
  expectProduct(problem, steps(32, 256), 20);
  expectProduct(problem, 3);
}

TEST_CASE("products rounded stochastically have the bits that the host draws", "[run]") {
  for (fx::DType type : {fx::f16, fx::bf16})
    for (std::int64_t n : {64, 70}) {
      GemmProblem problem{.a = fx::f16, .b = fx::f16, .c = fx::f32, .n = n, .k = 1024};
      const std::int64_t m = 21, seed = 0x123456789abcdef;
      Values values;
      values.a = integers(m * problem.k, 5, -31, 31);
      values.b = integers(problem.n * problem.k, 6, -31, 31);
      const std::vector<double> exact = reference(problem, m, values).c; // sums of many digits
      problem.c = type;
      problem.rounding = fk::Rounding::stochastic;
      std::vector<double> expected;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          const auto bits = fx::random::randint4x(
              seed, std::int64_t(i * ((n + 3) / 4) + j / 4))[std::size_t(j % 4)];
          const float value = float(exact[std::size_t(i * n + j)]);
          expected.push_back(
              type == fx::f16
                  ? double(float(fx::random::round_stochastic<fx::half_t>(value, bits)))
                  : double(float(fx::random::round_stochastic<fx::bfloat16_t>(value, bits))));
        }
      INFO(fx::to_config(problem).str());
      CHECK(product(problem, small(problem), m, values, {}, seed) == expected);
      GemmConfig split = small(problem);
      split.split_k = 4;
      CHECK(product(problem, split, m, values, {}, seed) == expected);
      CHECK(product(problem, fewRows(problem, 32, 128, 4), m, values, {}, seed) == expected);
      CHECK(product(problem, small(problem), m, values, {}, seed + 1) != expected);
    }
}

/// A tile of the ring whose K is shared by two of four or eight waves; and one that four share.
GemmConfig sliced(const GemmProblem &problem, int waves = 4) {
  return {.tile_m = 32,
          .tile_n = 64,
          .tile_k = 256 / problem.a.bytes(),
          .threads = waves * here().wave_size(),
          .waves_k = 2};
}
GemmConfig slicedByFour(const GemmProblem &problem) {
  return {.tile_m = 16,
          .tile_n = 32,
          .tile_k = 512 / problem.a.bytes(),
          .threads = 4 * here().wave_size(),
          .waves_k = 4};
}

TEST_CASE("products whose waves share the k of a tile of the ring", "[run]") {
  for (GemmProblem problem : typed()) {
    problem.scale_b = Scales::per_row;
    problem.bias = true;
    for (OperandLayout b : {OperandLayout::prepared, OperandLayout::rows}) {
      problem.b_layout = b;
      problem.n = 72;
      // The last step ends in a round of the waves, in one of their parts, and between two.
      for (std::int64_t bytes : {16, 400, 1040, 1280}) {
        problem.k = bytes / problem.a.bytes();
        expectProduct(problem, sliced(problem), 40, {.a = 16});
      }
      expectProduct(problem, slicedByFour(problem), 20);
      GemmConfig config = sliced(problem, 8);
      config.waves_m = 2;
      expectProduct(problem, config, 33);
      problem.k = 2048 / problem.a.bytes();
      config = slicedByFour(problem);
      config.split_k = 2;
      if (b == OperandLayout::rows)
        config.parts_sum = fk::PartsSum::last_block;
      expectProduct(problem, config, 37);
    }
    problem.b_layout = OperandLayout::prepared;
    problem.n = 80;
    problem.gated = true;
    problem.activation = Activation::silu;
    expectProduct(problem, sliced(problem), 18);
  }
  // The same sums of integers, of rows and of columns of both operands.
  GemmProblem problem{.a = fx::f16, .b = fx::f16, .c = fx::f32, .n = 64, .k = 648};
  const std::int64_t m = 40;
  Values values;
  values.a = integers(m * problem.k, 5, -3, 3);
  values.b = integers(problem.n * problem.k, 6, -3, 3);
  const std::vector<double> exact = reference(problem, m, values).c;
  for (OperandLayout layout : {OperandLayout::rows, OperandLayout::columns}) {
    problem.a_layout = problem.b_layout = layout;
    CHECK(product(problem, sliced(problem), m, values) == exact);
  }
  problem = {.n = 64, .k = 520};
  const auto counters = countersOf(problem, sliced(problem), 64);
  INFO(counters[0].str());
  CHECK(counters[0]["SQ_LDS_BANK_CONFLICT"] == 0);
  expectStructure(problem, sliced(problem), 33);
}

TEST_CASE("prepared weights past the end of k are not multiplied by waves that share it", "[run]") {
  // Behind the row of weights are those of others, which are no numbers.
  const GemmProblem problem{.c = fx::f32, .n = 32, .k = 32};
  const std::int64_t m = 16;
  Values values = Values::random(problem, m);
  for (std::int64_t k = 0; k < problem.k; ++k)
    values.b[std::size_t(16 * problem.k + k)] = std::nan("");
  const std::vector<double> c = product(problem, slicedByFour(problem), m, values);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < problem.n; ++j)
      REQUIRE(std::isfinite(c[std::size_t(i * problem.n + j)]) == (j != 16));
}

TEST_CASE("products of few rows, whose operands stay out of shared memory", "[run]") {
  for (GemmProblem problem : typed()) {
    problem.n = 72;
    problem.scale_b = Scales::per_row;
    problem.bias = true;
    // No whole round, one, several in a loop; the last steps end anywhere.
    for (std::int64_t bytes : {16, 128, 272, 1024, 2064, 4096, 4656}) {
      problem.k = bytes / problem.a.bytes();
      expectProduct(problem, fewRows(problem, 32, 128, 4), bytes % 3 == 0 ? 16 : 3);
    }
    problem.k = 1040 / problem.a.bytes();
    expectProduct(problem, fewRows(problem, 16, 128, 8), 1);
    expectProduct(problem, fewRows(problem, 16, 128, 1), 7, {.a = 16, .c = 4});
    problem.k = 1024 / problem.a.bytes();
    GemmConfig config = fewRows(problem, 16, 128, 2);
    config.split_k = 2;
    expectProduct(problem, config, 9);
    config = fewRows(problem, 32, 128, 4);
    config.waves_k = 2; // two waves side by side
    expectProduct(problem, config, 16);
    // Up to 32 rows in one tile.
    for (std::int64_t m : {17, 32})
      expectProduct(problem, fewRows(problem, 16, 128, 4, 32), m, {.c = 4});
    // Rows past those of a tile are those of another block.
    expectProduct(problem, fewRows(problem, 16, 128, 4), 35);
  }
  if (hasFloat8())
    for (fx::DType scale : {fx::f32, fx::f8E8M0FNU})
      for (std::int64_t k : {128, 208, 1424}) {
        const GemmProblem problem = blockScaled(scale, 72, k);
        expectProduct(problem, fewRows(problem, 16, 128, 4), 5, {.scalesByBlock = k == 208});
      }
  const GemmProblem problem{.n = 96, .k = 520};
  expectStructure(problem, fewRows(problem, 32, 128, 4), 13);
}

TEST_CASE("a product of few rows reads the weights once", "[run]") {
  for (GemmProblem problem : typed()) {
    problem.n = 128;
    problem.k = 2048 / problem.a.bytes();
    for (std::int64_t m : {1, 16, 17, 32}) {
      const GemmConfig config = fewRows(problem, 32, 64, 4, m > 16 ? 32 : 16);
      const auto counters = countersOf(problem, config, m);
      REQUIRE(counters.size() == 1);
      INFO(fx::to_config(problem).str() << "\n" << counters[0].str());
      CHECK(counters[0]["SQ_LDS_BANK_CONFLICT"] == 0);
      const std::int64_t a = m * problem.k * problem.a.bytes(),
                         b = problem.n * problem.k * problem.b.bytes(),
                         c = m * problem.n * problem.c.bytes(), blocks = problem.n / 32;
      // RDNA3's halves of a wave hold the same operands, and both read them.
      const std::int64_t copies = copiesOfOperands();
      CHECK(std::int64_t(counters[0]["globalBytesRead"]) == (a * blocks + b) * copies);
      CHECK(std::int64_t(counters[0]["globalBytesWritten"]) == c);
      CHECK(std::int64_t(counters[0]["globalBytesTouched"]) == a + b + c);
    }
  }
}
