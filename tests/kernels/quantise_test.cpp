// Quantisation against the rules of its scales, bit for bit where the arithmetic is exact.
#include "support/quantised.h"
#include "support/size_sweep.h"
#include "support/structure.h"

#include <flydsl/kernels/quantise.h>

using namespace kernel_tests;

namespace {

using fk::BlockScale;
using fk::QuantiseProblem;
using fk::ScaleOf;

void quantise(const QuantiseProblem &problem, const fk::RowConfig &config, const fx::TensorArg &x,
              const fx::TensorArg &q, const fx::TensorArg &scale) {
  const fx::Stream stream;
  fk::QuantisePlan(problem, config)({.x = x, .q = q, .scale = scale}, stream);
  stream.synchronize();
}

/// Rows with a scale of their own or of the tensor: a scale is one division in f32.
void expectScaled(const QuantiseProblem &problem, std::int64_t m, const fk::RowConfig &config,
                  std::vector<double> values, std::int64_t gap = 0) {
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const bool perRow = problem.scale == ScaleOf::row;
  const std::int64_t scales = perRow ? m : 1, n = problem.n;
  values = decode(problem.x, encode(problem.x, values));
  const Operand x = Operand::input(problem.x, m, n, values, gap),
                q = Operand::output(problem.q, m, n, gap),
                scale = Operand::output(fx::f32, 1, scales);
  quantise(problem, config, x.tensor(), q.tensor(), scale.vector());
  std::vector<double> expected;
  for (std::int64_t s = 0; s < scales; ++s) {
    float largest = 0;
    for (std::int64_t i = 0; i < m * n / scales; ++i) {
      const float v = std::fabs(float(values[std::size_t(s * m * n / scales + i)]));
      largest = std::isnan(v) || v > largest ? v : largest;
    }
    const float one = largest / float(largestQuantised(problem.q));
    expected.push_back(one < 0x1p-126f ? 1 : one);
  }
  expectWithin(scale.values(), expected, std::vector<double>(expected.size()));
  const std::vector<double> none(values.size());
  expectQuantised(problem.q, q.values(), scale.values(), n, perRow, values, none);
}
void expectScaled(const QuantiseProblem &problem, std::int64_t m) {
  expectScaled(problem, m, fk::choose(problem, m), uniform(problem.x, m * problem.n, 1, 5));
}

const fk::RowConfig kStreamed{.threads = 64, .block = 64, .resident = false};

/// The four bits of a number of e2m1, rounded to nearest even.
std::uint8_t fp4(double v) {
  const double numbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const double a = std::min(std::fabs(v), 6.0);
  int best = 0;
  for (int i = 1; i < 8; ++i) {
    const double now = std::fabs(numbers[i] - a), before = std::fabs(numbers[best] - a);
    if (now < before || (now == before && i % 2 == 0))
      best = i;
  }
  return static_cast<std::uint8_t>(best | (std::signbit(v) ? 8 : 0));
}

/// Blocks of 32, bit for bit: scales are powers of two, and a number is rounded once.
void expectBlocks(const QuantiseProblem &problem, std::int64_t m, const fk::RowConfig &config,
                  std::vector<double> values) {
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const std::int64_t n = problem.n, bytes = n * problem.q.bits() / 8;
  values = decode(problem.x, encode(problem.x, values));
  const Operand x = Operand::input(problem.x, m, n, values), q = Operand::output(fx::u8, m, bytes),
                scale = Operand::output(fx::u8, m, n / 32);
  quantise(problem, config, x.tensor(), fx::tensor(q.tensor().data(), problem.q, {m, n}),
           fx::tensor(scale.tensor().data(), fx::f8E8M0FNU, {m, n / 32}));
  const bool isFp4 = problem.q == fx::f4E2M1FN;
  const double most = isFp4 ? 6 : largestQuantised(problem.q);
  const std::vector<std::uint8_t> gotQ = q.bytes(), gotScale = scale.bytes();
  q.expectUntouched();
  scale.expectUntouched();
  for (std::size_t block = 0; block < values.size() / 32; ++block) {
    double largest = 0;
    for (std::size_t i = 0; i < 32; ++i)
      largest = std::isnan(values[block * 32 + i])
                    ? std::numeric_limits<double>::infinity()
                    : std::max(largest, std::fabs(values[block * 32 + i]));
    if (!std::isfinite(largest)) {
      if (gotScale[block] != 255)
        FAIL("a block with a NaN or an infinity has the scale " << int(gotScale[block]));
      continue;
    }
    // The exponents of the largest numbers: 448 = 1.75 * 2^8, 57344 = 1.75 * 2^15, 6 = 1.5 * 2^2.
    int exponent = -127;
    if (largest != 0)
      exponent = std::max(exponent, problem.block == BlockScale::ceil
                                        ? int(std::ceil(std::log2(largest / most)))
                                        : std::ilogb(largest) - std::ilogb(most));
    if (gotScale[block] != exponent + 127)
      FAIL("block " << block << " of largest magnitude " << largest << " has the scale 2^"
                    << int(gotScale[block]) - 127 << ", not 2^" << exponent);
    for (std::size_t i = 0; i < 32; ++i) {
      const std::size_t at = block * 32 + i;
      const double v = std::min(std::max(values[at] / std::ldexp(1, exponent), -most), most);
      const std::uint8_t wanted = isFp4 ? fp4(v) : encode(problem.q, std::array{v})[0];
      const std::uint8_t got = isFp4 ? std::uint8_t(gotQ[at / 2] >> (at % 2 * 4) & 15) : gotQ[at];
      if (got != wanted)
        FAIL("element " << at << ": " << v << " became the bits " << int(got) << ", not "
                        << int(wanted));
    }
  }
  SUCCEED();
}

} // namespace

TEST_CASE("quantised rows", "[run]") {
  for (fx::DType type : {fx::DType(fx::i8), hardwareFp8(), fx::DType(fx::f8E5M2)}) {
    expectScaled({.x = fx::f16, .q = type, .n = 64}, 9);
    expectScaled({.x = fx::bf16, .q = type, .n = 1000}, 2);
  }
  expectScaled({.x = fx::f32, .q = fx::i8, .n = 63}, 3);
  const QuantiseProblem padded{.x = fx::f16, .q = fx::i8, .n = 521, .row_align = 8};
  expectScaled(padded, 3, fk::choose(padded, 3), uniform(fx::f16, 3 * 521, 2), 7);
  expectScaled(padded, 3, kStreamed, uniform(fx::f16, 3 * 521, 3), 7);
}

TEST_CASE("quantised tensors, by their own scale and by a given one", "[run]") {
  expectScaled({.x = fx::f16, .q = hardwareFp8(), .n = 264, .scale = ScaleOf::tensor}, 7);
  expectScaled({.x = fx::bf16, .q = fx::i8, .n = 1024, .scale = ScaleOf::tensor}, 3);

  const QuantiseProblem given{.x = fx::f32, .q = fx::i8, .n = 128, .scale = ScaleOf::given};
  // Values exactly between two numbers go to the even one; -128 is there too.
  std::vector<double> x(128);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = (double(i) - 64) * 0.5;
  x[0] = -1000;
  x[1] = 1000;
  const Operand in = Operand::input(fx::f32, 1, 128, x), q = Operand::output(fx::i8, 1, 128),
                scale = Operand::input(fx::f32, 1, 1, std::vector<double>{0.25});
  quantise(given, fk::choose(given, 1), in.tensor(), q.tensor(), scale.vector());
  const std::vector<double> got = q.values();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (got[i] != std::min(std::max(x[i] * 4, -128.0), 127.0))
      FAIL(x[i] << " became " << got[i]);
}

TEST_CASE("one scale of more rows than blocks look at together", "[run]") {
  // 256 blocks have 16 rows each at a time; the largest value is in the last row, or before it.
  constexpr std::int64_t m = 4099, n = 64;
  const QuantiseProblem problem{.x = fx::f32, .q = fx::i8, .n = n, .scale = ScaleOf::tensor};
  for (std::int64_t row : {m - 1, std::int64_t(17)}) {
    std::vector<double> x = uniform(fx::f32, m * n, 6);
    x[std::size_t(row * n + n - 1)] = -1000;
    for (bool resident : {true, false})
      expectScaled(problem, m, {.threads = 64, .block = 64, .resident = resident}, x);
  }
}

TEST_CASE("quantised rows of zeros, of one large value, with a NaN", "[run]") {
  for (fx::DType type : {fx::DType(fx::i8), hardwareFp8()}) {
    std::vector<double> x = uniform(fx::f32, 5 * 96, 4);
    std::fill_n(x.begin(), 96, 0);
    x[96 + 7] = 1e30;
    for (std::size_t i = 0; i < 96; ++i)
      x[4 * 96 + i] = i % 2 ? 1e-44 : 0; // subnormal: the scale is 1, and all is 0
    const QuantiseProblem problem{.x = fx::f32, .q = type, .n = 96};
    expectScaled(problem, 5, fk::choose(problem, 5), x);
    x[2 * 96 + 95] = std::nan("");
    x[3 * 96] = -std::numeric_limits<double>::infinity();
    const Operand in = Operand::input(fx::f32, 5, 96, x), q = Operand::output(type, 5, 96),
                  scale = Operand::output(fx::f32, 1, 5);
    quantise(problem, fk::choose(problem, 5), in.tensor(), q.tensor(), scale.vector());
    CHECK(std::isnan(scale.values()[2]));
    CHECK(std::isinf(scale.values()[3]));
  }
}

TEST_CASE("quantised blocks of 32", "[run]") {
  for (fx::DType type : {fx::f8E4M3FN, fx::f8E5M2, fx::f4E2M1FN})
    for (BlockScale rule : {BlockScale::floor, BlockScale::ceil}) {
      const QuantiseProblem problem{
          .x = fx::bf16, .q = type, .n = 160, .scale = ScaleOf::block, .block = rule};
      std::vector<double> x = uniform(fx::bf16, 3 * 160, 5);
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] *= std::ldexp(1, int(i / 32 * 5) - 40); // another scale for each block
      std::fill_n(x.begin() + 32, 32, 0);
      x[64] = 4096; // a power of two decides floor and ceil alike
      x[2 * 32 + 160] = 448 * 4;
      expectBlocks(problem, 3, fk::choose(problem, 3), x);
    }
  const QuantiseProblem wide{.x = fx::f32, .q = fx::f8E4M3FN, .n = 1056, .scale = ScaleOf::block};
  expectBlocks(wide, 2, fk::choose(wide, 2), uniform(fx::f32, 2 * 1056, 6));
  expectBlocks(wide, 2, kStreamed, uniform(fx::f32, 2 * 1056, 7));
  std::vector<double> x = uniform(fx::f32, 1056, 8);
  x[40] = std::nan("");
  x[100] = std::numeric_limits<double>::infinity();
  expectBlocks(wide, 1, fk::choose(wide, 1), x);
}

TEST_CASE("quantised groups, and factors of columns", "[run]") {
  SweepCounts counts;
  const auto expect = [&](const QuantiseProblem &problem, std::int64_t m,
                          std::optional<fk::RowConfig> config = {}) {
    runOnce(problem, config ? *config : fk::choose(problem, m), m, counts);
  };
  for (bool smooth : {false, true}) {
    expect({.x = fx::f16, .q = fx::i8, .n = 384, .group = 128, .smooth = smooth}, 5);
    expect({.x = fx::bf16,
            .q = hardwareFp8(),
            .n = 512,
            .block = BlockScale::ceil,
            .group = 64,
            .group_scale = fx::f8E8M0FNU,
            .smooth = smooth,
            .smooth_type = fx::bf16},
           3);
    const QuantiseProblem mx{.x = fx::f32,
                             .q = fx::f4E2M1FN,
                             .n = 320,
                             .scale = ScaleOf::block,
                             .block = BlockScale::ceil,
                             .smooth = smooth};
    expect(mx, 3);
    expect(mx, 3, kStreamed);
    for (ScaleOf scale : {ScaleOf::row, ScaleOf::tensor, ScaleOf::given})
      expect({.x = fx::f16,
              .q = fx::i8,
              .n = 200,
              .scale = scale,
              .smooth = smooth,
              .smooth_type = fx::f16},
             3);
    expect({.x = fx::f32, .q = fx::i8, .n = 200, .smooth = smooth}, 3, kStreamed);
  }
  CHECK(counts.compared == counts.runs);
}

TEST_CASE("quantise: another run, a graph, a file", "[run]") {
  const fk::RowConfig config{.threads = 64, .block = 64};
  expectStructure<QuantiseProblem>({.x = fx::bf16, .q = fx::i8, .n = 264}, config, 3);
  expectStructure<QuantiseProblem>(
      {.x = fx::f16, .q = hardwareFp8(), .n = 264, .scale = ScaleOf::tensor}, config, 3);
  expectStructure<QuantiseProblem>(
      {.x = fx::f16, .q = fx::f4E2M1FN, .n = 256, .scale = ScaleOf::block}, config, 3);
}

TEST_CASE("quantise reads a row once and writes a byte for each element", "[run]") {
  for (ScaleOf scale : {ScaleOf::row, ScaleOf::block}) {
    const QuantiseProblem problem{.x = fx::f16, .q = fx::f8E4M3FN, .n = 4096, .scale = scale};
    expectTraffic(problem, fk::choose(problem, 16), 16);
  }
}

TEST_CASE("quantise has a configuration for every problem that it supports") {
  std::vector<QuantiseProblem> problems;
  for (std::int64_t n = 1; n < 20000; n += 97)
    for (ScaleOf scale : {ScaleOf::row, ScaleOf::tensor})
      problems.push_back({.x = fx::f16, .q = fx::i8, .n = n, .scale = scale});
  for (std::int64_t n = 32; n < 200000; n += 32 * 67)
    for (fx::DType dtype : {fx::f16, fx::f32})
      for (int align : {0, 2, 4})
        problems.push_back(
            {.x = dtype, .q = fx::f4E2M1FN, .n = n, .scale = ScaleOf::block, .row_align = align});
  expectTotal(problems);
}

TEST_CASE("quantised rows that are the longest to stay in registers spill none") {
  expectNoSpills<QuantiseProblem>({{.x = fx::bf16, .q = fx::i8, .n = 65536}});
}

TEST_CASE("scales of a row that span 2 GiB are refused") {
  const QuantiseProblem problem{.x = fx::f32, .q = fx::f8E4M3FN, .n = 256, .scale = ScaleOf::block};
  const Operand x = Operand::input(fx::f32, 2, 256, std::vector<double>(512)),
                q = Operand::output(fx::u8, 2, 256), scale = Operand::output(fx::u8, 2, 8);
  const auto call = [&](std::int64_t stride) {
    quantise(problem, fk::choose(problem, 2), x.tensor(),
             fx::tensor(q.tensor().data(), problem.q, {2, 256}),
             fx::tensor(scale.tensor().data(), fx::f8E8M0FNU, {2, 8}, {1, stride}));
  };
  call(2); // by columns
  CHECK_THROWS_WITH(call(std::int64_t(1) << 28),
                    Catch::Contains("a row, that is 8 along n / 32, spans less than 2 GiB"));
}

TEST_CASE("one scale of more rows than its blocks can count is refused") {
  const QuantiseProblem problem{.x = fx::f32, .q = fx::i8, .n = 16, .scale = ScaleOf::tensor};
  const Operand x = Operand::input(fx::f32, 1, 16, std::vector<double>(16)),
                q = Operand::output(fx::i8, 1, 16), scale = Operand::output(fx::f32, 1, 1);
  const fk::RowConfig config{.threads = 4, .block = 64};
  const std::int64_t most = 0x7fffffff - 256 * (1024 / 4);
  const auto call = [&](std::int64_t m) {
    quantise(problem, config, fx::tensor(x.tensor().data(), fx::f32, {m, 16}),
             fx::tensor(q.tensor().data(), fx::i8, {m, 16}), scale.vector());
  };
  call(1);
  CHECK_THROWS_WITH(call(most + 1), Catch::Contains("x has " + std::to_string(most + 1) +
                                                    " rows; with one scale for all of them " +
                                                    std::to_string(most) + " are the most"));
}

TEST_CASE("quantise says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const QuantiseProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({.n = 8}).empty());
  CHECK(why({.q = fx::f16, .n = 8}) ==
        "q is quantised and of type f16; i8 and floats of 8 bits are supported");
  CHECK(why({.q = fx::i8, .n = 64, .scale = ScaleOf::block}) ==
        "q has blocks of type i8; f8E4M3FN, f8E5M2 and f4E2M1FN are supported");
  CHECK(why({.q = fx::f8E5M2, .n = 48, .scale = ScaleOf::block}) ==
        "n is 48; rows are whole blocks of 32");
  CHECK(why({.q = fx::f4E2M1FN, .n = 64, .scale = ScaleOf::block, .row_align = 1}) ==
        "row_align is 1; two values of f4E2M1FN share a byte, which is a row's own");
  CHECK(why({.q = fx::i8, .n = 256, .scale = ScaleOf::tensor, .group = 128}) ==
        "group is 128, and groups are for ScaleOf::row; blocks have 32 values");
  CHECK(why({.q = fx::i8, .n = 250, .group = 128}) == "n is 250; rows are whole groups of 128");
  CHECK(why({.q = fx::i8, .n = 256, .group = 128, .group_scale = fx::f8E8M0FNU}) ==
        "q is quantised with powers of two and of type i8; floats of 8 bits and f4E2M1FN are "
        "supported");
  CHECK(why({.q = fx::i8, .n = 8, .smooth = true, .smooth_type = fx::i32}) ==
        "smooth_type is of type i32; f32, f16 and bf16 are supported");
  CHECK(fk::supported(QuantiseProblem{.q = fx::f8E5M2, .n = 64, .scale = ScaleOf::block},
                      {.threads = 2, .block = 64}, target)
            .why == "threads=2: a block of 32 values has 4 threads, and a row a number of blocks");
}
