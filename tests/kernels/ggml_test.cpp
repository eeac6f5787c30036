// Products with weights in ggml's block formats, against references in double precision of the same
// weights; and the weights, against those of the format's own reference (ggml_vectors.h).
#include "ggml_vectors.h"
#include "reference/ggml.h"
#include "support/structure.h"

#include <flydsl/kernels/ggml_gemm.h>
#include <flydsl/kernels/ggml_rows.h>

using namespace kernel_tests;

namespace {

using fk::Activation, fk::GgmlFormat, fk::GgmlGemmConfig, fk::GgmlGemmProblem, fk::GgmlLayout,
    fk::GgmlRowsProblem;
namespace reference = fk::reference;

const std::vector<GgmlFormat> kFormats = fk::host::ggmlFormats();

/// Whether weights are a scale times a whole number, so that ggml's f32 rounds once as a kernel does.
bool isProduct(GgmlFormat format) {
  switch (format) {
  case GgmlFormat::q4_1:
  case GgmlFormat::q4_k:
  case GgmlFormat::q5_1:
  case GgmlFormat::q2_k:
  case GgmlFormat::q5_k:
    return false;
  default:
    return true;
  }
}

struct Gaps {
  std::int64_t a = 0, c = 0;
};
void expectProduct(const GgmlGemmProblem &problem, const GgmlGemmConfig &config, std::int64_t m,
                   bool exact = false, Gaps gaps = {}) {
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const std::int64_t n = problem.n, k = problem.k;
  const std::vector<double> a = exact ? integers(m * k, 1, -4, 4) : uniform(problem.a, m * k, 1);
  const auto weights = [&](std::uint64_t seed) {
    const std::int64_t blocks = n * k / fk::ggml_block(problem.format).weights;
    return randomBlocks(problem.format, blocks, seed, exact ? 1 : 0);
  };
  const auto operand = [&](const std::vector<std::uint8_t> &raw) {
    std::vector<std::uint8_t> out(raw.size());
    fk::prepare_weight(problem.weight(), raw.data(), out.data());
    return Operand::input(fx::u8, 1, std::int64_t(out.size()),
                          std::vector<double>(out.begin(), out.end()));
  };
  const std::vector<std::uint8_t> b = weights(2), up = weights(5);
  const Operand inA = Operand::input(problem.a, m, k, a, gaps.a), inB = operand(b),
                inUp = operand(up), c = Operand::output(problem.c, m, n, gaps.c);
  const fx::Stream stream;
  fk::GgmlGemmArgs args{.a = inA.tensor(), .b = {problem.weight(), inB.vector()}, .c = c.tensor()};
  if (problem.gated)
    args.up = {problem.weight(), inUp.vector()};
  const std::vector<double> residual = uniform(problem.c, m * n, 7);
  const Operand inResidual = Operand::input(problem.c, m, n, residual, gaps.c);
  if (problem.residual)
    args.residual = inResidual.tensor();
  fk::GgmlGemmPlan(problem, config)(args, stream);
  stream.synchronize();
  const reference::GgmlValues values(problem.format, b), upValues(problem.format, up);
  const reference::Expected expected = reference::ggmlProduct(
      problem, config.matrix, m, a, values, problem.gated ? &upValues : nullptr,
      problem.residual ? &residual : nullptr);
  expectWithin(c.values(), expected.values,
               exact ? std::vector<double>(expected.bound.size()) : expected.bound);
}

/// The shortest row of a format that has more than one span of units, and is no multiple of the 64
/// columns of a step if it need not be.
std::int64_t someK(GgmlFormat format) { return fk::ggml_block(format).weights == 256 ? 512 : 96; }

} // namespace

TEST_CASE("ggml's weights on the host are those of the format's own reference") {
  for (const GgmlVector &vector : ggmlVectors()) {
    const fk::GgmlBlock block = fk::ggml_block(vector.format);
    INFO(block.name);
    std::vector<double> weights(vector.weights.size());
    fk::dequantise(vector.format, vector.blocks.data(),
                   std::int64_t(vector.blocks.size()) / block.bytes, weights.data());
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (isProduct(vector.format))
        CHECK(float(weights[i]) == vector.weights[i]);
      else // which rounds a product and a sum
        CHECK(std::fabs(weights[i] - double(vector.weights[i])) <=
              0x1p-23 * std::fabs(weights[i]) + 0x1p-24 * 0.3);
  }
  for (GgmlFormat format : kFormats) // each quantised one has blocks
    CHECK((fk::ggml_block(format).weights < 32 ||
           std::ranges::any_of(ggmlVectors(),
                               [&](const GgmlVector &v) { return v.format == format; })));
  CHECK(kFormats.size() == std::size(fk::impl::kGgmlRows));
}

TEST_CASE("ggml's rows are those of the format's own reference", "[run]") {
  for (const GgmlVector &vector : ggmlVectors())
    for (GgmlLayout layout : {GgmlLayout::blocks, GgmlLayout::planes}) {
      const fk::GgmlBlock block = fk::ggml_block(vector.format);
      INFO(block.name);
      const std::int64_t blocks = std::int64_t(vector.blocks.size()) / block.bytes;
      const GgmlRowsProblem problem{
          .format = vector.format, .layout = layout, .n = blocks, .k = block.weights};
      std::vector<std::uint8_t> prepared(vector.blocks.size());
      fk::prepare_weight(problem.weight(), vector.blocks.data(), prepared.data());
      const Operand b = Operand::input(fx::u8, 1, std::int64_t(prepared.size()),
                                       std::vector<double>(prepared.begin(), prepared.end())),
                    ids = Operand::input(
                        fx::i32, 1, 4,
                        std::vector<double>{double(blocks - 1), 0, -1, double(blocks)}),
                    y = Operand::output(fx::f32, 4, problem.k, 4);
      const fx::Stream stream;
      fk::GgmlRowsPlan(problem, fk::choose(problem, 4))(
          {.ids = ids.vector(), .b = {problem.weight(), b.vector()}, .y = y.tensor()}, stream);
      stream.synchronize();
      std::vector<double> exact(vector.weights.size()), expected;
      fk::dequantise(vector.format, vector.blocks.data(), blocks, exact.data());
      expected.insert(expected.end(), exact.end() - problem.k, exact.end());
      expected.insert(expected.end(), exact.begin(), exact.begin() + problem.k);
      expected.resize(std::size_t(4 * problem.k)); // ids without a row give zeros
      for (double &value : expected)
        value = double(float(value)); // the kernel rounds once
      expectWithin(y.values(), expected, std::vector<double>(expected.size()));
    }
}

TEST_CASE("products of a few rows with each format", "[run]") {
  for (GgmlFormat format : kFormats)
    for (GgmlLayout layout : {GgmlLayout::blocks, GgmlLayout::planes})
      expectProduct({.format = format, .layout = layout, .n = 37, .k = someK(format)},
                    {.tile_m = 2, .lanes = 4, .rows = 2, .threads = 64}, 3);
}

TEST_CASE("products by matrix instructions with each format", "[run]") {
  for (GgmlFormat format : kFormats)
    expectProduct({.format = format,
                   .layout = int(format) % 2 ? GgmlLayout::planes : GgmlLayout::blocks,
                   .n = 70,
                   .k = someK(format)},
                  {.matrix = true,
                   .tile_m = 16,
                   .tile_n = 64,
                   .threads = 4 * fx::Device::current().target().wave_size()},
                  18);
}

TEST_CASE("products with numbers in registers with each format", "[run]") {
  const int wave = fx::Device::current().target().wave_size();
  // Units of rows are more than those of a round of both waves, and the last round is not full.
  for (GgmlFormat format : kFormats)
    expectProduct(
        {.format = format,
         .layout = int(format) % 2 ? GgmlLayout::planes : GgmlLayout::blocks,
         .n = 37,
         .k = 2 * someK(format)},
        {.matrix = true, .registers = true, .tile_m = 16, .tile_n = 32, .threads = 2 * wave}, 18);
}

TEST_CASE("products with numbers in registers: types, tiles, gated ones", "[run]") {
  const int wave = fx::Device::current().target().wave_size();
  GgmlGemmProblem problem{.format = GgmlFormat::q6_k, .n = 70, .k = 512};
  GgmlGemmConfig config{
      .matrix = true, .registers = true, .tile_m = 48, .tile_n = 16, .threads = 4 * wave};
  expectProduct(problem, config, 70);
  problem.a = problem.c = problem.product = fx::bf16;
  expectProduct(problem, config, 33, false, {8, 2});
  problem.activation = Activation::silu;
  problem.gated = true;
  config.tile_m = 32;
  expectProduct(problem, config, 33, false, {8, 2});
  // A row of 8 numbers: one lane takes four of them, and no other lane any.
  config = {.matrix = true, .registers = true, .tile_m = 16, .tile_n = 16, .threads = wave};
  expectProduct({.format = GgmlFormat::f32, .n = 5, .k = 4}, config, 3);
  for (GgmlFormat format : {GgmlFormat::f16, GgmlFormat::f32})
    expectProduct({.format = format, .a = fx::f16, .n = 5, .k = 8}, config, 3);
  expectStructure(GgmlGemmProblem{.format = GgmlFormat::q4_k, .n = 36, .k = 256}, config, 20);
}

TEST_CASE("products with blocks and a residual", "[run]") {
  const int wave = fx::Device::current().target().wave_size();
  const GgmlGemmConfig vector{.tile_m = 2, .lanes = 4, .rows = 2, .threads = 64},
      matrix{.matrix = true, .tile_m = 16, .tile_n = 64, .threads = 4 * wave},
      registers{.matrix = true, .registers = true, .tile_m = 16, .tile_n = 16, .threads = 2 * wave};
  GgmlGemmProblem problem{.format = GgmlFormat::q4_0, .n = 37, .k = 96, .residual = true};
  for (const GgmlGemmConfig &config : {vector, matrix, registers})
    expectProduct(problem, config, 19, false, {0, 3});
  problem.c = fx::f16;
  problem.activation = Activation::relu;
  for (const GgmlGemmConfig &config : {vector, matrix, registers})
    expectProduct(problem, config, 5);
}

TEST_CASE("products with blocks whose sums are exact", "[run]") {
  const int waves = 4 * fx::Device::current().target().wave_size();
  for (GgmlFormat format : {GgmlFormat::f16, GgmlFormat::q8_0, GgmlFormat::q4_0, GgmlFormat::q4_1,
                            GgmlFormat::q5_0, GgmlFormat::q5_1, GgmlFormat::mxfp4})
    for (const GgmlGemmConfig &config :
         {GgmlGemmConfig{.tile_m = 4, .lanes = 8, .rows = 1, .threads = 64},
          GgmlGemmConfig{.matrix = true, .tile_m = 32, .tile_n = 64, .threads = waves},
          GgmlGemmConfig{
              .matrix = true, .registers = true, .tile_m = 16, .tile_n = 16, .threads = waves}})
      expectProduct({.format = format, .n = 66, .k = 160}, config, 5, /*exact=*/true);
}

TEST_CASE("products with MXFP4's largest exponents", "[run]") {
  // The weights are numbers of f32, where 12 times their scale is none. Sources: the exponents of
  // ggml_e8m0_to_fp32_half in ggml-impl.h, whose last number is 2^127, too.
  const GgmlGemmProblem problem{.format = GgmlFormat::mxfp4, .product = fx::bf16, .n = 4, .k = 64};
  std::vector<std::uint8_t> raw(fk::weight_bytes(problem.weight()));
  std::vector<double> a;
  for (int i = 0; i < 64; ++i)
    a.push_back((i % 5 - 2) * 0x1p-8);
  std::vector<double> expected;
  for (int row = 0; row < 4; ++row) {
    const int exponent = 252 + row, codes[] = {7, 5, 3, 1}; // of halves 12, 6, 3 and 1
    double sum = 0;
    for (int block = 0; block < 2; ++block) {
      std::uint8_t *bytes = &raw[std::size_t(17 * (2 * row + block))];
      bytes[0] = std::uint8_t(exponent);
      for (int i = 0; i < 32; ++i) {
        const int code = i % 3 ? codes[row] : codes[row] | 8; // the sign
        bytes[1 + i % 16] = std::uint8_t(bytes[1 + i % 16] | code << (i < 16 ? 0 : 4));
        const double halves[] = {0, 1, 2, 3, 4, 6, 8, 12};
        sum += a[std::size_t(32 * block + i)] * (code & 8 ? -1 : 1) * halves[code & 7] *
               std::ldexp(1, exponent - 128);
      }
    }
    expected.push_back(sum);
  }
  const int wave = fx::Device::current().target().wave_size();
  const Operand inA = Operand::input(fx::f32, 1, 64, a),
                inB = Operand::input(fx::u8, 1, std::int64_t(raw.size()),
                                     std::vector<double>(raw.begin(), raw.end()));
  for (const bool q8 : {false, true})
    for (const GgmlGemmConfig &config :
         {GgmlGemmConfig{.lanes = 2, .threads = 64},
          GgmlGemmConfig{.matrix = true, .tile_m = 16, .tile_n = 64, .threads = 4 * wave},
          GgmlGemmConfig{
              .matrix = true, .registers = true, .tile_m = 16, .tile_n = 16, .threads = wave}}) {
      GgmlGemmProblem each = problem;
      each.q8_1 = q8;
      const Operand c = Operand::output(fx::f32, 1, 4);
      const fx::Stream stream;
      fk::GgmlGemmPlan(each, config)(
          {.a = inA.tensor(), .b = {problem.weight(), inB.vector()}, .c = c.tensor()}, stream);
      stream.synchronize();
      // In Q8_1 a is off by up to 0.57 of the largest / 127; otherwise all of this is exact.
      const double ofRow = 0.57 * 0x1p-7 / 127 * 64 * 12 * 0x1p124;
      expectWithin(c.values(), expected,
                   std::vector<double>(expected.size(), q8 && !config.matrix ? ofRow : 0));
    }
}

TEST_CASE("products of whole numbers with MXFP4's largest scales", "[run]") {
  // A block's sum is one of whole numbers, whose scale is applied once: vec_dot_mxfp4_q8_0 of ggml's quants.c.
  // Of the first block, 16 weights are 2^127 and 16 are its opposite: the sum of either 16 is infinite in f32.
  const GgmlGemmProblem problem{.format = GgmlFormat::mxfp4, .n = 1, .k = 64, .q8_1 = true};
  std::vector<std::uint8_t> raw(fk::weight_bytes(problem.weight()));
  raw[0] = 255;
  raw[17] = 128;
  for (std::size_t i = 1; i < 17; ++i) {
    raw[i] = 0x91;      // 2^127 and -2^127
    raw[17 + i] = 0x42; // 2 and 4
  }
  const std::vector<double> a(64, 1.0), rounded = reference::roundedToQ8(a);
  double expected = 0;
  for (std::size_t i = 32; i < 64; ++i)
    expected += rounded[i] * (i < 48 ? 2 : 4);
  const Operand inA = Operand::input(fx::f32, 1, 64, a),
                inB = Operand::input(fx::u8, 1, std::int64_t(raw.size()),
                                     std::vector<double>(raw.begin(), raw.end())),
                c = Operand::output(fx::f32, 1, 1);
  const fx::Stream stream;
  fk::GgmlGemmPlan(problem, {.lanes = 2, .threads = 64})(
      {.a = inA.tensor(), .b = {problem.weight(), inB.vector()}, .c = c.tensor()}, stream);
  stream.synchronize();
  CHECK(c.values() == std::vector{expected});
}

TEST_CASE("gated products with blocks", "[run]") {
  const GgmlGemmProblem problem{
      .format = GgmlFormat::q4_1, .n = 68, .k = 96, .activation = Activation::silu, .gated = true};
  expectProduct(problem, fk::choose(problem, 1), 1);
  expectProduct(problem, fk::choose(problem, 17), 17);
}

TEST_CASE("products with blocks: types, gaps between rows, an activation", "[run]") {
  const int waves = 4 * fx::Device::current().target().wave_size();
  const GgmlGemmProblem problem{.format = GgmlFormat::q8_0,
                                .a = fx::f16,
                                .c = fx::f16,
                                .n = 34,
                                .k = 64,
                                .activation = Activation::silu};
  GgmlGemmProblem other = problem;
  other.a = other.c = other.product = fx::bf16;
  for (const GgmlGemmProblem &each : {problem, other}) {
    expectProduct(each, {.tile_m = 8, .lanes = 2, .rows = 1, .threads = 128}, 7, false, {8, 2});
    expectProduct(each, {.matrix = true, .tile_m = 16, .tile_n = 64, .threads = waves}, 9, false,
                  {8, 2});
  }
}

TEST_CASE("numbers in Q8_1 are those that ggml makes", "[run]") {
  // What quantize_row_q8_1_ref of ggml-quants.c (llama.cpp of May 2026) makes of the rows below: d and
  // q of each 32. The second has ties, the third a d that is no normal number of f16.
  struct Block {
    float d;
    std::array<int, 32> q;
  };
  const std::array<int, 32> first{-127, -33, 61, -102, -8, 86,  -76, 18, 112, -51, 43,
                                  -119, -25, 69, -94,  0,  94,  -69, 25, 119, -43, 51,
                                  -112, -18, 76, -86,  8,  102, -61, 33, 127, -36};
  const Block blocks[] = {
      {0x1.934p-6f, first},
      {1, {127, -49, -35, -20, -6,  9,   24, 38, 53, -61, -46, -32, -17, -3,  12,  27,
           41,  56,  -58, -43, -29, -14, 1,  15, 30, 44,  59,  -55, -40, -26, -11, 4}},
      {0x1.8p-23f, first},
      {0, {}}};
  constexpr std::int64_t k = 128;
  std::vector<double> a, expected;
  for (int block = 0; block < 4; ++block)
    for (int i = 0; i < 32; ++i) {
      const double ofFirst = (i * 37 % 101 - 50) / 16.0;
      a.push_back(block == 0   ? ofFirst
                  : block == 1 ? (i == 0 ? 127 : (i * 29 % 255 - 127) / 2.0)
                  : block == 2 ? ofFirst * 0x1p-17
                               : 0);
      expected.push_back(double(blocks[block].d) * blocks[block].q[std::size_t(i)]);
    }
  CHECK(reference::roundedToQ8(a) == expected);
  // Weights of Q8_0 that are 1 where the row is the column: c is a as it is rounded.
  const GgmlGemmProblem problem{.format = GgmlFormat::q8_0, .n = k, .k = k, .q8_1 = true};
  std::vector<std::uint8_t> weights(fk::weight_bytes(problem.weight()));
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t block = 0; block < k / 32; ++block) {
      std::uint8_t *bytes = &weights[std::size_t(34 * (j * k / 32 + block))];
      bytes[1] = 0x3c; // d = 1
      if (block == j / 32)
        bytes[2 + j % 32] = 1;
    }
  const Operand inA = Operand::input(fx::f32, 1, k, a),
                inB = Operand::input(fx::u8, 1, std::int64_t(weights.size()),
                                     std::vector<double>(weights.begin(), weights.end())),
                c = Operand::output(fx::f32, 1, k);
  const fx::Stream stream;
  fk::GgmlGemmPlan(problem, {.lanes = 4, .rows = 2, .threads = 64})(
      {.a = inA.tensor(), .b = {problem.weight(), inB.vector()}, .c = c.tensor()}, stream);
  stream.synchronize();
  expectWithin(c.values(), expected, std::vector<double>(expected.size()));
}

TEST_CASE("numbers in Q8_1 are off by what the guide says") {
  const std::int64_t count = 64 * 32;
  for (const double size : {1e6, 1.0, 1e-3, 1e-6}) {
    std::vector<double> a = uniform(fx::f32, count, 9);
    for (double &value : a)
      value = double(float(value * size));
    const std::vector<double> rounded = reference::roundedToQ8(a);
    for (std::size_t first = 0; first < a.size(); first += 32) {
      double largest = 0;
      for (std::size_t i = first; i < first + 32; ++i)
        largest = std::max(largest, std::fabs(a[i]));
      for (std::size_t i = first; i < first + 32; ++i)
        CHECK(std::fabs(rounded[i] - a[i]) <= 0.57 * largest / 127 + 127 * 0x1p-25);
    }
  }
}

TEST_CASE("products of whole numbers with each format", "[run]") {
  for (GgmlFormat format : kFormats)
    if (fk::impl::ggmlRow(format).factors)
      expectProduct({.format = format,
                     .layout = int(format) % 2 ? GgmlLayout::planes : GgmlLayout::blocks,
                     .n = 37,
                     .k = someK(format),
                     .q8_1 = true},
                    {.tile_m = 2, .lanes = 4, .rows = 2, .threads = 64}, 3);
}

TEST_CASE("products of whole numbers: types, gaps between rows, gated ones, long rows", "[run]") {
  const GgmlGemmProblem problem{.format = GgmlFormat::q5_1,
                                .a = fx::bf16,
                                .c = fx::f16,
                                .n = 34,
                                .k = 160,
                                .activation = Activation::silu,
                                .gated = true,
                                .q8_1 = true};
  expectProduct(problem, {.tile_m = 4, .lanes = 8, .rows = 2, .threads = 64}, 3, false, {8, 2});
  // A thread rounds 13 pieces of a, and the last ones do not exist.
  expectProduct({.format = GgmlFormat::q4_0, .n = 9, .k = 800, .q8_1 = true},
                {.tile_m = 4, .lanes = 16, .rows = 1, .threads = 64}, 5);
  // Many rows are multiplied by matrix instructions, as without the option.
  const GgmlGemmProblem many{.format = GgmlFormat::q4_k, .n = 64, .k = 256, .q8_1 = true};
  expectProduct(many, fk::choose(many, 40), 20);
  expectStructure(many, {.tile_m = 2, .lanes = 4, .rows = 2, .threads = 64}, 2);
}

TEST_CASE("what Q8_1 does not have is no finite number in c", "[run]") {
  const GgmlGemmProblem problem{.format = GgmlFormat::q4_0, .n = 8, .k = 64, .q8_1 = true};
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   infinity = std::numeric_limits<double>::infinity();
  const double wrong[] = {nan, infinity, -infinity, 9e6};
  std::vector<double> a = integers(5 * 64, 3, 1, 4);
  for (std::size_t i = 0; i < std::size(wrong); ++i)
    a[i * 64 + 40] = wrong[i];
  const std::vector<std::uint8_t> raw = randomBlocks(problem.format, 16, 2, 1);
  const Operand inA = Operand::input(fx::f32, 5, 64, a),
                inB = Operand::input(fx::u8, 1, std::int64_t(raw.size()),
                                     std::vector<double>(raw.begin(), raw.end())),
                c = Operand::output(fx::f32, 5, 8);
  const fx::Stream stream;
  fk::GgmlGemmPlan(problem, {.tile_m = 1, .lanes = 2, .threads = 64})(
      {.a = inA.tensor(), .b = {problem.weight(), inB.vector()}, .c = c.tensor()}, stream);
  stream.synchronize();
  const std::vector<double> values = c.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("row " << i / 8 << ", column " << i % 8 << ": " << values[i]);
    CHECK(std::isfinite(values[i]) == (i / 8 == 4));
  }
}

TEST_CASE("ggml_gemm: another run, a graph, a file", "[run]") {
  const GgmlGemmProblem problem{.format = GgmlFormat::q4_k, .n = 36, .k = 256};
  expectStructure(problem, {.tile_m = 2, .lanes = 4, .rows = 2, .threads = 64}, 2);
  expectStructure(problem, fk::choose(problem, 20), 20);
}

TEST_CASE("ggml_rows: another run, a graph, a file", "[run]") {
  expectStructure<GgmlRowsProblem>({.format = GgmlFormat::q8_0, .n = 8, .k = 96}, {.block = 64}, 8);
}

TEST_CASE("products of one row read each block once", "[run]") {
  // Bytes of a block that its threads read, together: what its units share is read by each, the
  // factors by four or, of IQ4_XS, by eight, and what a half of a block has by two.
  const auto bytesRead = [](GgmlFormat format) {
    const int once = fk::ggml_block(format).bytes;
    switch (format) {
    case GgmlFormat::q4_k:
      return once + 3 * 16;
    case GgmlFormat::q5_k:
      return once + 3 * (16 + 32);
    case GgmlFormat::q2_k:
      return once + 3 * 4 + 2 * 8;
    case GgmlFormat::q3_k:
      return once + 3 * 14 + 32;
    case GgmlFormat::q6_k:
      return once + 3 * 2 + 2 * 8;
    case GgmlFormat::iq4_xs:
      return once + 7 * 8;
    default:
      return once;
    }
  };
  for (GgmlFormat format : kFormats) {
    const GgmlGemmProblem problem{.format = format, .n = 64, .k = 512};
    const GgmlGemmConfig config{.tile_m = 1, .lanes = 8, .rows = 2, .threads = 64};
    const auto counters = countersOf(problem, config, 1);
    REQUIRE(counters.size() == 1);
    INFO(counters.front().str());
    const auto blocks = std::uint64_t(problem.n * problem.k / fk::ggml_block(format).weights);
    const std::uint64_t ofA = 4 * std::uint64_t(problem.k) * std::uint64_t(problem.n / config.rows);
    CHECK(counters.front()["globalBytesRead"] == blocks * std::uint64_t(bytesRead(format)) + ofA);
    CHECK(double(counters.front()["globalBytesTouched"]) <=
          1.05 *
              double(fk::weight_bytes(problem.weight()) + 4 * std::size_t(problem.k + problem.n)));
  }
}

TEST_CASE("ggml_gemm has a configuration for every problem that it supports") {
  std::vector<GgmlGemmProblem> problems;
  for (GgmlFormat format : kFormats)
    for (std::int64_t n : {1, 2, 63, 576, 1536, 49152})
      for (std::int64_t k : {256, 512, 2048, 14336})
        for (bool gated : {false, true})
          problems.push_back({.format = format,
                              .n = n,
                              .k = k,
                              .activation = gated ? Activation::silu : Activation::none,
                              .gated = gated});
  problems.push_back({.format = GgmlFormat::f32, .n = 5, .k = 4});
  for (std::int64_t k : {256, 14336, 58112}) // the longest row of a that 64 KiB of LDS hold
    for (std::int64_t n : {1, 49152})
      problems.push_back({.format = GgmlFormat::q4_k, .n = n, .k = k, .q8_1 = true});
  expectTotal(problems);
}

TEST_CASE("tuning ggml_gemm measures a bounded number of configurations") {
  // A vector form that reads the weights eight times is not among them.
  for (const fx::Target &target : targets())
    for (std::int64_t m : {1, 2, 3, 8, 9, 16, 17, 64, 1000}) {
      const GgmlGemmProblem problem{.format = GgmlFormat::q4_k, .n = 2048, .k = 2048};
      const auto all = fk::configs(problem, m, target);
      INFO(target.name() << ", m = " << m << ": " << all.size());
      CHECK(all.size() <= (m <= 16 ? 40 : 12));
      for (const GgmlGemmConfig &config : all)
        CHECK((config.matrix || (m <= 2 * config.tile_m && config.tile_m <= std::max(1L, 2 * m))));
    }
}

TEST_CASE("ggml_gemm spills no registers") {
  std::vector<GgmlGemmProblem> problems;
  for (GgmlFormat format :
       {GgmlFormat::q4_1, GgmlFormat::q6_k, GgmlFormat::q5_k, GgmlFormat::q3_k, GgmlFormat::mxfp4})
    problems.push_back(
        {.format = format, .n = 1536, .k = 768, .activation = Activation::silu, .gated = true});
  for (GgmlFormat format : {GgmlFormat::q8_0, GgmlFormat::q5_k})
    problems.push_back({.format = format,
                        .n = 1536,
                        .k = 768,
                        .activation = Activation::silu,
                        .gated = true,
                        .q8_1 = true});
  expectNoSpills(problems);
  for (const char *name : {"gfx90a", "gfx942", "gfx1201"})
    for (const GgmlGemmProblem &problem : problems)
      for (std::int64_t m : {8, 64}) {
        const fx::Target target = fx::Target::parse(name);
        for (const fx::Executable &code :
             fk::GgmlGemmPlan(problem, fk::choose(problem, m, target), target).executables()) {
          INFO(code.summary());
          CHECK(code.spills() == 0);
        }
      }
}

TEST_CASE("ggml_gemm says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const GgmlGemmProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({.format = GgmlFormat::q4_k, .n = 8, .k = 96}) ==
        "k is 96; rows of Q4_K are multiples of 256 weights");
  CHECK(why({.n = 0, .k = 96}) == "n is 0 and k is 96; a matrix has at least one row of one block");
  CHECK(why({.format = GgmlFormat::f32, .a = fx::f16, .n = 8, .k = 4}) ==
        "k is 4; rows of a of type f16 are multiples of 16 bytes");
  CHECK(why({.a = fx::i8, .n = 8, .k = 32}).find("a is") == 0);
  CHECK(why({.product = fx::f32, .n = 8, .k = 32}) ==
        "product is f32; matrix instructions multiply f16 or bf16 here");
  CHECK(why({.n = 8, .k = 32, .gated = true}) ==
        "a gated product has an activation, and there is none");
  CHECK(why({.format = GgmlFormat::bf16, .n = 8, .k = 32, .q8_1 = true}) ==
        "q8_1 is set, and weights of BF16 are no whole numbers, by which a in Q8_1 is multiplied");
  CHECK(why({.n = 8, .k = 58272, .q8_1 = true}) ==
        "k is 58272; the rows of a of a tile take 65556 bytes of LDS in Q8_1, and there are 65536");
  CHECK(fk::supported(GgmlGemmProblem{.n = 8, .k = 58240, .q8_1 = true}, target));
  CHECK(fk::supported(GgmlGemmProblem{.n = 8, .k = 14336, .q8_1 = true}, {.tile_m = 5}, target)
            .why.find("k is 14336; the rows of a of a tile take 80640 bytes of LDS in Q8_1") == 0);
  const GgmlGemmProblem problem{.n = 64, .k = 64};
  const auto whyNot = [&](const GgmlGemmConfig &config) {
    return fk::supported(problem, config, target).why;
  };
  CHECK(whyNot({.tile_m = 9}) ==
        "tile_m is 9; 1 to 8 rows are multiplied together without matrix instructions");
  CHECK(whyNot({.lanes = 12}) == "lanes is 12; it is a power of two up to 64");
  CHECK(whyNot({.tile_m = 8, .rows = 8}) == "rows is 8; a thread has 1 to 32 sums, not 64");
  CHECK(whyNot({.tile_m = 2, .rows = 2147483647}) == // twice that is -2 in 32 bits
        "rows is 2147483647; a thread has 1 to 32 sums, not 4294967294");
  CHECK(whyNot({.threads = 100}).find("threads is 100; a block is a number of waves of 64") == 0);
  CHECK(whyNot({.matrix = true, .tile_m = 16, .tile_n = 48}) ==
        "tile_n is 48; it is a multiple of 16 for each of 4 waves, up to 512");
  CHECK(whyNot({.matrix = true, .tile_m = 128, .tile_n = 256}).find("the tiles take") == 0);
  const auto ofRegisters = [&](int tileM, int tileN, int threads, bool matrix = true) {
    return whyNot({.matrix = matrix,
                   .registers = true,
                   .tile_m = tileM,
                   .tile_n = tileN,
                   .threads = threads});
  };
  CHECK(ofRegisters(16, 16, 256).empty());
  CHECK(ofRegisters(16, 16, 256, false) ==
        "registers is set without matrix, whose instructions multiply what they hold");
  CHECK(ofRegisters(80, 16, 256) ==
        "tile_m is 80; it is a multiple of 16, up to 64, with numbers in registers");
  CHECK(ofRegisters(16, 24, 256) ==
        "tile_n is 24; it is a multiple of 16, up to 64, with numbers in registers");
  CHECK(ofRegisters(32, 16, 64) ==
        "threads is 64; 2 waves add the sums of 32 rows, and there are 1");
  CHECK(ofRegisters(64, 64, 1024) ==
        "the rows of a and the sums of the waves take 262144 bytes of LDS; there are 65536");
  GgmlGemmProblem added = problem;
  added.residual = true;
  CHECK(fk::supported(added, target));
  added.activation = Activation::silu;
  added.gated = true;
  CHECK(why(added).find("residual is set; it is not added to gated products") == 0);

  const fk::GgmlGemmPlan plan(problem, fk::choose(problem, 1));
  const Operand a = Operand::input(fx::f32, 2, 64, std::vector<double>(128)),
                b = Operand::input(fx::u8, 1, 100, std::vector<double>(100)),
                c = Operand::output(fx::f32, 2, 64);
  const auto refusal = [&](const fk::GgmlWeight &weight) {
    return messageOf([&] { plan({.a = a.tensor(), .b = {weight, b.vector()}, .c = c.tensor()}); });
  };
  CHECK(refusal(problem.weight())
            .find("ggml_gemm: b has the shape (100); (weight_bytes) = (2304) is expected") !=
        std::string::npos);
  // Q4_K has as many bytes as Q4_0, and both layouts have.
  CHECK(refusal({.format = GgmlFormat::q4_k, .n = 64, .k = 64})
            .find("ggml_gemm: b is weights (n, k) = (64, 64) of Q4_K in the layout blocks; the "
                  "problem's are (n, k) = (64, 64) of Q4_0 in the layout blocks") !=
        std::string::npos);
  CHECK(refusal({.layout = GgmlLayout::planes, .n = 64, .k = 64})
            .find("in the layout planes; the problem's are (n, k) = (64, 64) of Q4_0 in the layout "
                  "blocks; prepare_weight brings weights as they are in a file into a layout") !=
        std::string::npos);
  CHECK(refusal({.n = 32, .k = 128}).find("ggml_gemm: b is weights (n, k) = (32, 128)") !=
        std::string::npos);
  const Operand all = Operand::input(fx::u8, 1, 2304, std::vector<double>(2304));
  CHECK(messageOf([&] {
          plan({.a = a.tensor(),
                .b = {problem.weight(), all.vector()},
                .residual = a.tensor(),
                .c = c.tensor()});
        }).find("residual") != std::string::npos);
  const GgmlGemmProblem pair{.n = 64, .k = 64, .activation = Activation::silu, .gated = true};
  const Operand whole = Operand::input(fx::u8, 1, 2304, std::vector<double>(2304));
  CHECK(messageOf([&] {
          fk::GgmlGemmPlan(pair, fk::choose(pair, 1))(
              {.a = a.tensor(),
               .b = {pair.weight(), whole.vector()},
               .up = fk::GgmlTensor{{.format = GgmlFormat::q4_1, .n = 64, .k = 64}, whole.vector()},
               .c = c.tensor()});
        }).find("ggml_gemm: up is weights (n, k) = (64, 64) of Q4_1") != std::string::npos);
}

TEST_CASE("ggml_rows says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  CHECK(fk::supported(GgmlRowsProblem{.index = fx::u8, .n = 4, .k = 32}, target).why ==
        "index is u8; it is i32 or i64");
  CHECK(fk::supported(GgmlRowsProblem{.n = 4, .k = 32}, {.block = 48}, target).why ==
        "block is 48; it is a number of waves of 64, up to 1024 threads");
  const GgmlRowsProblem rows{.n = 4, .k = 32};
  const Operand ids = Operand::input(fx::i32, 1, 2, std::vector<double>(2)),
                bytes = Operand::input(fx::u8, 1, 72, std::vector<double>(72)),
                y = Operand::output(fx::f32, 2, 32);
  const std::string said = messageOf([&] {
    fk::GgmlRowsPlan(rows, fk::choose(rows, 2))(
        {.ids = ids.vector(),
         .b = {{.format = GgmlFormat::q4_0, .layout = GgmlLayout::planes, .n = 4, .k = 32},
               bytes.vector()},
         .y = y.tensor()});
  });
  INFO(said);
  CHECK(said.find("ggml_rows: b is weights (n, k) = (4, 32) of Q4_0 in the layout planes; the "
                  "problem's are (n, k) = (4, 32) of Q4_0 in the layout blocks") !=
        std::string::npos);
  CHECK(messageOf([] { (void)fk::weight_bytes({.format = GgmlFormat::q8_0, .n = 2, .k = 48}); }) ==
        "weights of ggml: k is 48; rows of Q8_0 are multiples of 32 weights");
  std::vector<std::uint8_t> memory(100);
  CHECK(messageOf([&] {
          fk::prepare_weight({.format = GgmlFormat::q8_0, .n = 2, .k = 32}, memory.data(),
                             memory.data() + 67);
        }) == "prepare_weight: raw and out share memory; give out memory of its own");
  CHECK(!fk::ggml_format(16)); // IQ2_XXS
  for (GgmlFormat format : kFormats)
    CHECK(fk::ggml_format(fk::ggml_type(format)) == format);
}
