// Products with narrow weights against a reference in double precision, by the definition of their
// layout.
#include "reference/narrow.h"
#include "support/float8.h"
#include "support/product.h"

#include <flydsl/kernels/checkpoint.h>
#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/weight.h>

#include <set>
#include <utility>

using namespace kernel_tests;

namespace {

using fk::GemmLoop, fk::ScaleGroups;

/// A ring whose waves have tiles in both directions, and the loop of few rows.
std::vector<GemmConfig> loops(const GemmProblem &problem) {
  const int lanes = here().wave_size();
  std::vector<GemmConfig> all;
  for (const GemmConfig &config :
       {GemmConfig{.tile_m = 32, .tile_n = 64, .tile_k = 128, .threads = 2 * lanes},
        GemmConfig{.tile_m = 32, .tile_n = 64, .tile_k = 128, .threads = 4 * lanes, .waves_m = 2},
        GemmConfig{.tile_m = 16,
        .tile_n = 32,
        .tile_k = 128,
        .threads = 4 * lanes,
        .loop = GemmLoop::registers,
        .waves_k = 4},
        GemmConfig{.tile_m = 16,
        .tile_n = 16,
        .tile_k = 128,
        .threads = 2 * lanes,
        .loop = GemmLoop::registers,
        .waves_k = 2}})
    if (fk::supported(problem, config))
      all.push_back(config);
  if (all.empty()) // too many registers, where every lane holds all of K
    all.push_back(fk::choose(problem, 18));
  return all;
}

/// The types of weights that the target converts, with what groups they have.
std::vector<GemmProblem> narrowTyped(fx::DType a) {
  std::vector<GemmProblem> all;
  for (fx::DType b : {fx::DType(fx::u4), fx::DType(fx::u8)})
    for (bool zeros : {true, false})
      all.push_back({.a = a, .b = b, .c = a, .b_groups = {128, a, zeros}});
  for (fx::DType b : {fx::DType(fx::i4), fx::DType(fx::i8), fx::DType(fx::f8E4M3FN)})
    all.push_back({.a = a, .b = b, .c = a, .scale_b = Scales::per_row});
  all.push_back({.a = a, .b = fx::i4, .c = a, .b_groups = {64, fx::f32}});
  all.push_back({.a = a, .b = fx::f4E2M1FN, .c = fx::f32, .b_groups = {32, fx::f8E8M0FNU}});
  return all;
}

/// Runs a problem on random operands and compares.
template <class P> void expectNarrow(const P &problem, const GemmConfig &config, std::int64_t m) {
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  SampledMemory memory(256);
  const fk::ArgsOf<P> args = fk::make_args(problem, config, m, memory.sampler());
  const fx::Stream stream;
  fk::Plan<P>(problem, config)(args, stream);
  stream.synchronize();
  REQUIRE(memory.writtenAround() == "");
  const fk::reference::Expected expected =
      fk::reference::expected(problem, config, m, memory.inputs()).at("c");
  std::vector<double> got = memory.values("c");
  REQUIRE(got.size() == expected.values.size());
  // The reference says nothing of rows that no expert has: its bound is infinite there. A kernel
  // may leave any bits in them, NaNs too, whose distance from a number no bound covers.
  std::size_t compared = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::isinf(expected.bound[i]))
      got[i] = expected.values[i];
    else
      ++compared;
  REQUIRE(compared >= got.size() / 2);
  expectWithin(got, expected.values, expected.bound);
}

} // namespace

TEST_CASE("narrow weights of every type, in both loops", "[run]") {
  std::set<GemmLoop> ran;
  for (fx::DType a : {fx::DType(fx::bf16), fx::DType(fx::f16)})
    for (GemmProblem problem : narrowTyped(a)) {
      problem.n = 48;
      problem.k = 256;
      REQUIRE(fk::supported(problem, here()));
      for (const GemmConfig &config : loops(problem)) {
        expectNarrow(problem, config, 18);
        ran.insert(config.loop);
      }
    }
  CHECK(ran == std::set{GemmLoop::ring, GemmLoop::registers});
}

TEST_CASE("narrow weights as prepare_weight leaves them") {
  for (const auto &[dtype, under] :
       {std::pair(fx::DType(fx::u4), 16), std::pair(fx::DType(fx::i8), 16),
        std::pair(fx::DType(fx::i4), 8)}) {
    const fk::WeightProblem weight{dtype, 40, 160, true, under};
    const std::int64_t bits = dtype.memory_bits(), bytes = weight.n * weight.k * bits / 8;
    std::vector<std::uint8_t> raw(static_cast<std::size_t>(bytes)),
        out(static_cast<std::size_t>(fk::prepared_size(weight)));
    for (std::size_t i = 0; i < raw.size(); ++i)
      raw[i] = static_cast<std::uint8_t>(fx::detail::randomBits(3, i));
    fk::prepare_weight(weight, raw.data(), out.data());
    const fk::reference::Inputs inputs{{"b", {out.begin(), out.end()}}};
    const fk::reference::NarrowWeights weights(weight, {}, weight.n, inputs);
    bool isEqual = true;
    for (std::int64_t n = 0; n < weight.n; ++n)
      for (std::int64_t k = 0; k < weight.k; ++k) {
        const std::int64_t bit = (n * weight.k + k) * bits;
        const unsigned byte = raw[static_cast<std::size_t>(bit / 8)];
        isEqual &= weights(n, k) ==
                   fk::reference::narrowNumber(dtype, bits == 8 ? byte : byte >> (bit % 8) & 15u);
      }
    CHECK(isEqual);
  }
}

namespace {

/// A call with what a test gives: rows of a and of weights, scales and zero points of groups.
std::vector<double> narrowProduct(const GemmProblem &problem, const GemmConfig &config,
                                  std::int64_t m, const std::vector<double> &a,
                                  const std::vector<std::uint8_t> &rows,
                                  const std::vector<double> &scales,
                                  const std::vector<double> &zeros = {}) {
  std::vector<std::uint8_t> out(std::size_t(fk::prepared_size(problem.weight())));
  fk::prepare_weight(problem.weight(), rows.data(), out.data());
  const bool isGrouped = problem.b_groups.size != 0;
  const std::int64_t groups = isGrouped ? problem.k / problem.b_groups.size : 0;
  const bool isExponent = problem.b_groups.scale == fx::f8E8M0FNU;
  const fx::DType ofScales = isExponent ? fx::DType(fx::u8) : problem.b_groups.scale;
  const Operand x = Operand::input(problem.a, m, problem.k, a),
                b = Operand::input(fx::u8, 1, std::int64_t(out.size()),
                                   std::vector<double>(out.begin(), out.end())),
                c = Operand::output(problem.c, m, problem.n);
  fk::GemmArgs args{
      .a = x.tensor(), .b = fk::PreparedWeight{problem.weight(), b.vector()}, .c = c.tensor()};
  std::optional<Operand> s;
  if (isGrouped) {
    s = Operand::input(ofScales, groups, problem.n, scales);
    args.group_scales = fx::tensor(s->tensor().data(), problem.b_groups.scale, {groups, problem.n});
  }
  std::optional<Operand> z;
  if (problem.b_groups.zeros) {
    z = Operand::input(fx::u8, groups, problem.n, zeros);
    args.group_zeros = z->tensor();
  }
  const fx::Stream stream;
  fk::GemmPlan(problem, config)(args, stream);
  stream.synchronize();
  return c.values();
}

} // namespace

TEST_CASE("rows of a with a single one give the weights, exactly", "[run]") {
  // Every code by every zero point of 4 bits, and every finite number of f4E2M1FN by scales from
  // 2^-100 to 2^100.
  const GemmProblem u4{
      .a = fx::bf16, .b = fx::u4, .c = fx::f32, .n = 16, .k = 128, .b_groups = {32, fx::f16, true}};
  std::vector<double> a(std::size_t(u4.k * u4.k)), scales(64, 0.375), zeros, expected;
  for (std::int64_t k = 0; k < u4.k; ++k)
    a[std::size_t(k * u4.k + k)] = 1;
  std::vector<std::uint8_t> rows;
  for (std::int64_t n = 0; n < 16; ++n)
    for (std::int64_t k = 0; k < u4.k; k += 2)
      rows.push_back(std::uint8_t(((k + n) % 16) | ((k + 1 + n) % 16) << 4));
  for (std::int64_t at = 0; at < 64; ++at)
    zeros.push_back(double((at * 7 + at / 16) % 16));
  for (std::int64_t k = 0; k < u4.k; ++k)
    for (std::int64_t n = 0; n < 16; ++n)
      expected.push_back(0.375 * (double((k + n) % 16) - zeros[std::size_t(k / 32 * 16 + n)]));
  for (const GemmConfig &config : loops(u4))
    CHECK(narrowProduct(u4, config, u4.k, a, rows, scales, zeros) == expected);

  GemmProblem mx = u4;
  mx.b = fx::f4E2M1FN;
  mx.b_groups = {32, fx::f8E8M0FNU};
  std::vector<double> exponents;
  for (std::int64_t at = 0; at < 64; ++at)
    exponents.push_back(double(27 + at * 3));
  expected.clear();
  for (std::int64_t k = 0; k < mx.k; ++k)
    for (std::int64_t n = 0; n < 16; ++n)
      expected.push_back(
          std::ldexp(fk::reference::narrowNumber(fx::f4E2M1FN, unsigned((k + n) % 16)),
                     int(exponents[std::size_t(k / 32 * 16 + n)]) - 127));
  for (const GemmConfig &config : loops(mx))
    CHECK(narrowProduct(mx, config, mx.k, a, rows, exponents) == expected);
}

TEST_CASE("every finite number of the 8-bit floats is multiplied as it is", "[run]") {
  std::vector<double> a(128 * 128);
  for (std::size_t k = 0; k < 128; ++k)
    a[k * 128 + k] = 1;
  for (fx::DType of : {fx::DType(fx::bf16), fx::DType(fx::f16)})
    for (fx::DType b : {fx::DType(fx::f8E4M3FN), fx::DType(fx::f8E5M2), fx::DType(fx::f8E4M3FNUZ),
                        fx::DType(fx::f8E5M2FNUZ)}) {
      const GemmProblem problem{.a = of, .b = b, .c = fx::f32, .n = 16, .k = 128};
      // Rows have the numbers of either sign; what is none becomes 0.
      std::vector<std::uint8_t> rows;
      for (int n = 0; n < 16; ++n)
        for (int k = 0; k < 128; ++k) {
          const auto bits = std::uint8_t((k + n * 5) % 128 + n % 2 * 128);
          rows.push_back(std::isfinite(fk::reference::narrowNumber(b, bits)) ? bits : 0);
        }
      std::vector<double> expected;
      for (std::size_t k = 0; k < 128; ++k)
        for (std::size_t n = 0; n < 16; ++n)
          expected.push_back(fk::reference::narrowNumber(b, rows[n * 128 + k]));
      for (const GemmConfig &config : loops(problem))
        CHECK(narrowProduct(problem, config, 128, a, rows, {}) == expected);
    }
}

TEST_CASE("products of narrow weights and small integers are exact", "[run]") {
  const GemmProblem problem{
      .a = fx::f16, .b = fx::u4, .c = fx::f32, .n = 32, .k = 256, .b_groups = {64, fx::f16, true}};
  const std::int64_t m = 20, groups = 4;
  const std::vector<double> a = integers(m * problem.k, 3, -3, 3),
                            zeros = integers(groups * problem.n, 4, 0, 15);
  std::vector<double> scales, expected;
  for (double power : integers(groups * problem.n, 5, -3, 3))
    scales.push_back(std::exp2(power));
  std::vector<std::uint8_t> rows;
  for (double code : integers(problem.n * problem.k / 2, 6, 0, 255))
    rows.push_back(std::uint8_t(code));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < problem.n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < problem.k; ++k) {
        const std::size_t group = std::size_t(k / 64 * problem.n + j);
        const int code = rows[std::size_t((j * problem.k + k) / 2)] >> (k % 2 * 4) & 15;
        sum += a[std::size_t(i * problem.k + k)] * scales[group] * (code - zeros[group]);
      }
      expected.push_back(sum);
    }
  for (const GemmConfig &config : loops(problem))
    CHECK(narrowProduct(problem, config, m, a, rows, scales, zeros) == expected);
}

namespace {

/// Problems of weights of 4 bits under 8 bits, by what the target multiplies.
std::vector<GemmProblem> under8() {
  std::vector<GemmProblem> all;
  for (const fx::DType b : {fx::DType(fx::i4), fx::DType(fx::u4)}) {
    all.push_back({.a = fx::i8, .b = b, .c = fx::f32});
    if (const fx::DType a = float8(); a != fx::DType()) {
      all.push_back({.a = a, .b = b, .c = fx::f32});
      all.push_back({.a = a, .b = b, .c = fx::f32, .b_groups = {64, fx::bf16}});
      all.push_back({.a = a, .b = b, .c = fx::f32, .b_groups = {128, fx::f32}});
    }
  }
  if (float8() == fx::DType(fx::f8E4M3FN))
    all.push_back({.a = fx::f8E5M2, .b = fx::i4, .c = fx::f32});
  return all;
}

} // namespace

TEST_CASE("weights of 4 bits under operands of 8 bits, in both loops", "[run]") {
  std::set<GemmLoop> ran;
  bool gated = false;
  for (GemmProblem problem : under8()) {
    problem.c = fx::bf16;
    problem.scale_a = problem.scale_b = Scales::per_row;
    problem.activation = Activation::silu;
    problem.n = 48;
    problem.k = problem.b_groups.size ? 384 : 416; // the last block of 128 elements has 32
    problem.gated = gated = !gated;
    REQUIRE(fk::supported(problem, here()));
    for (const GemmConfig &config : loops(problem)) {
      expectNarrow(problem, config, 18);
      ran.insert(config.loop);
    }
  }
  CHECK(ran == std::set{GemmLoop::ring, GemmLoop::registers});
}

TEST_CASE("every code of 4 bits is multiplied by 8-bit numbers as it is", "[run]") {
  for (GemmProblem problem : under8()) {
    problem.n = 16;
    problem.k = 128;
    std::vector<double> a(128 * 128), scales, expected;
    for (std::size_t k = 0; k < 128; ++k)
      a[k * 128 + k] = k % 3 ? 1 : -2;
    const std::int64_t groups = problem.b_groups.size ? problem.k / problem.b_groups.size : 0;
    for (double power : integers(groups * problem.n, 5, -3, 3))
      scales.push_back(std::exp2(power));
    std::vector<std::uint8_t> rows;
    for (double two : integers(problem.n * problem.k / 2, 6, 0, 255))
      rows.push_back(std::uint8_t(two));
    for (std::int64_t k = 0; k < problem.k; ++k)
      for (std::int64_t n = 0; n < problem.n; ++n) {
        const int code = rows[std::size_t((n * problem.k + k) / 2)] >> (k % 2 * 4) & 15;
        const double number = problem.b == fx::i4 && code > 7 ? code - 16 : code;
        expected.push_back(
            a[std::size_t(k * 128 + k)] * number *
            (groups ? scales[std::size_t(k / problem.b_groups.size * problem.n + n)] : 1));
      }
    INFO(fx::to_config(problem).str());
    for (const GemmConfig &config : loops(problem))
      CHECK(narrowProduct(problem, config, 128, a, rows, scales) == expected);
  }
}

TEST_CASE("weights of 4 bits of experts under rows of 8 bits", "[run]") {
  fk::GatedPairs pairs = fk::GatedPairs::halves;
  for (const GemmProblem &one : under8()) {
    const fk::GroupedGemmProblem problem{.a = one.a,
                                         .b = one.b,
                                         .c = fx::bf16,
                                         .experts = 3,
                                         .n = 48,
                                         .k = 256,
                                         .unit = 16,
                                         .topk = 2,
                                         .a_rows = fk::GroupedRows::tokens,
                                         .scale_a = Scales::per_row,
                                         .scale_b = Scales::per_row,
                                         .b_groups = one.b_groups,
                                         .activation = Activation::silu,
                                         .gated = pairs};
    REQUIRE(fk::supported(problem));
    expectNarrow(problem, fk::choose(problem, 48), 48);
    pairs = pairs == fk::GatedPairs::halves ? fk::GatedPairs::interleaved : fk::GatedPairs::halves;
  }
}

TEST_CASE("infinite and missing numbers of a meet narrow weights in their row alone", "[run]") {
  const GemmProblem problem{
      .a = fx::bf16, .b = fx::i4, .c = fx::f32, .n = 32, .k = 160, .b_groups = {32, fx::f32}};
  const std::int64_t m = 17;
  std::vector<double> a = uniform(fx::bf16, m * problem.k, 1);
  a[std::size_t(3 * problem.k + 159)] = std::numeric_limits<double>::infinity();
  a[std::size_t(5 * problem.k)] = std::nan("");
  // All codes are 1: nothing is multiplied by zero.
  const std::vector<std::uint8_t> rows(std::size_t(problem.n * problem.k / 2), 0x11);
  const std::vector<double> scales(std::size_t(5 * problem.n), 1.0);
  for (const GemmConfig &config : loops(problem)) {
    const std::vector<double> c = narrowProduct(problem, config, m, a, rows, scales);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < problem.n; ++j) {
        const double value = c[std::size_t(i * problem.n + j)];
        CHECK((i == 3   ? value == std::numeric_limits<double>::infinity()
               : i == 5 ? std::isnan(value)
                        : std::isfinite(value)));
      }
  }
}

TEST_CASE("narrow weights: gated pairs, parts of K, any number of rows", "[run]") {
  const GemmProblem awq{.a = fx::f16,
                        .b = fx::u4,
                        .c = fx::f16,
                        .n = 32,
                        .k = 512,
                        .b_groups = {128, fx::f16, true},
                        .bias = true};
  for (std::int64_t m : {1, 33})
    expectNarrow(awq, fk::choose(awq, m), m);
  GemmProblem gated = awq;
  gated.gated = true;
  gated.activation = Activation::silu;
  for (const GemmConfig &config : loops(gated))
    expectNarrow(gated, config, 18);
  for (GemmConfig config : loops(awq))
    for (int parts : {2, 4}) {
      config.split_k = parts;
      if (fk::supported(awq, config))
        expectNarrow(awq, config, 18);
    }
}

TEST_CASE("experts have narrow weights", "[run]") {
  fk::GroupedGemmProblem problem{.experts = 3,
                                 .n = 48,
                                 .k = 128,
                                 .topk = 2,
                                 .a_rows = fk::GroupedRows::tokens,
                                 .bias = true,
                                 .activation = Activation::silu};
  // gpt-oss's first product, and 4-bit weights of groups with zero points.
  problem.b = fx::f4E2M1FN;
  problem.b_groups = {32, fx::f8E8M0FNU};
  problem.gated = fk::GatedPairs::interleaved;
  problem.alpha = 1.702f;
  problem.limit = 7;
  problem.up_offset = 1;
  expectNarrow(problem, fk::choose(problem, 96), 96);
  fk::GroupedGemmProblem awq = problem;
  awq.b = fx::u4;
  awq.b_groups = {128, fx::bf16, true};
  awq.gated = fk::GatedPairs::halves;
  expectNarrow(awq, fk::choose(awq, 96), 96);
  fk::GroupedGemmProblem rows = problem;
  rows.b = fx::i8;
  rows.b_groups = {};
  rows.scale_b = Scales::per_row;
  rows.a_rows = fk::GroupedRows::places;
  expectNarrow(rows, fk::choose(rows, 64), 64);
}

TEST_CASE("narrow products: another run, a graph and a file give the same bits") {
  const GemmProblem problem{.a = fx::bf16,
                            .b = fx::u4,
                            .c = fx::bf16,
                            .n = 64,
                            .k = 256,
                            .b_groups = {128, fx::bf16, true}};
  expectStructure(problem, fk::choose(problem, 17), 17);
}

TEST_CASE("every target has a tile for narrow weights") {
  for (fx::DType a : {fx::DType(fx::bf16), fx::DType(fx::f16)})
    for (GemmProblem problem : narrowTyped(a)) {
      problem.n = 2048;
      problem.k = 2048;
      expectTotal(std::vector<GemmProblem>{problem});
    }
}

TEST_CASE("narrow weights that are wrong are refused") {
  const GemmProblem good{.a = fx::bf16,
                         .b = fx::u4,
                         .c = fx::bf16,
                         .n = 64,
                         .k = 256,
                         .b_groups = {128, fx::bf16, true}};
  REQUIRE(fk::supported(good));
  const auto why = [&](auto change) {
    GemmProblem problem = good;
    change(problem);
    return fk::supported(problem).why;
  };
  CHECK(
      why([](GemmProblem &p) { p.b = fx::f6E2M3FN; }) ==
      "b is of type f6E2M3FN; narrow weights, under a of 16 bits, are u4, i4, u8, i8, f4E2M1FN or "
      "8-bit floats");
  CHECK(why([](GemmProblem &p) { p.b = fx::i4; }) ==
        "b is of type i4; zero points are of weights of type u4 or u8");
  CHECK(why([](GemmProblem &p) { p.b = fx::f4E2M1FN, p.b_groups = {}; }) ==
        "b is of type f4E2M1FN, which has groups: b_groups.size is 32 in MXFP4");
  CHECK(why([](GemmProblem &p) { p.b_groups.size = 48; }) ==
        "b_groups.size is 48; 32, 64 and 128 are supported");
  CHECK(why([](GemmProblem &p) { p.b_groups.size = 0; }) ==
        "b_groups has a type of scales or zero points and no size; sizes are 32, 64 and 128");
  CHECK(why([](GemmProblem &p) { p.k = 320; }) == "k is 320, no multiple of b_groups.size, 128");
  CHECK(why([](GemmProblem &p) { p.b_groups.scale = fx::i8; }) ==
        "b_groups.scale is i8; f32, f16, bf16 and f8E8M0FNU are supported");
  CHECK(why([](GemmProblem &p) { p.n = 40; }) ==
        "b has 40 rows; of narrow weights they are a multiple of 16");
  CHECK(why([](GemmProblem &p) { p.b_layout = fk::OperandLayout::rows; }) ==
        "narrow weights are prepared, and a lies by rows");
  CHECK(why([](GemmProblem &p) { p.b = fx::bf16; }) ==
        "b_groups are of narrow weights: a is f16 or bf16, and b has 4 or 8 bits, or a has 8 bits "
        "and b is u4 or i4; here a is of type bf16 and b of type bf16");
  // Under 8 bits.
  const auto whyUnder8 = [&](fx::DType a, fx::DType b, ScaleGroups groups) {
    return fk::supported(
               GemmProblem{.a = a, .b = b, .c = fx::bf16, .n = 64, .k = 256, .b_groups = groups},
               fx::Target::parse("gfx950"))
        .why;
  };
  CHECK(whyUnder8(fx::i8, fx::i4, {}) == "");
  CHECK(whyUnder8(fx::f8E4M3FN, fx::u4, {128, fx::bf16}) == "");
  CHECK(whyUnder8(fx::i8, fx::u4, {128, fx::bf16, true}) ==
        "b_groups.zeros, and a has 8 bits; zero points are of narrow weights under a of 16 bits. "
        "Give the codes less their zero point as i4");
  CHECK(whyUnder8(fx::i8, fx::i4, {128, fx::f32}) ==
        "b_groups.size is 128 and a is i8, whose sums are integers over all of k; scales are of "
        "rows, scale_b. Groups go with a of an 8-bit float");
  CHECK(whyUnder8(fx::f8E5M2, fx::u4, {}) ==
        "b is of type u4 and a of type f8E5M2, which does not have 9, 11, 13 and 15; i4 it has, "
        "and f8E4M3 has both");
  CHECK_THAT(whyUnder8(fx::f8E4M3FN, fx::i4, {32, fx::bf16}),
             Catch::Contains("gfx950 multiplies 64 elements of k at a time"));
  const GemmProblem floats{.a = fx::f8E4M3FN, .b = fx::i4, .c = fx::bf16, .n = 64, .k = 256};
  CHECK_THAT(fk::supported(floats, fx::Target::parse("gfx1100")).why,
             Catch::StartsWith("a is of type f8E4M3FN and b of type i4; gfx1100 has products"));
  CHECK(fk::supported(fk::GroupedGemmProblem{.a = fx::i8,
                                             .b = fx::i4,
                                             .c = fx::bf16,
                                             .experts = 4,
                                             .n = 64,
                                             .k = 256,
                                             .b_groups = {128, fx::f32}},
                      fx::Target::parse("gfx942"))
            .why == whyUnder8(fx::i8, fx::i4, {128, fx::f32}));
  GemmConfig config = fk::choose(good, 64);
  config.tile_k = 64;
  CHECK(fk::supported(good, config).why.find("tile_k is a multiple of 128") != std::string::npos);

  // A lane of RDNA3 has the scales of all columns of its tile.
  const GemmProblem wide{.a = fx::bf16,
                         .b = fx::u8,
                         .c = fx::bf16,
                         .n = 64,
                         .k = 256,
                         .b_groups = {32, fx::f32, true}};
  CHECK(fk::supported(wide, fx::Target::parse("gfx942")));
  CHECK(
      fk::supported(wide, fx::Target::parse("gfx1100")).why ==
      "scales and zero points of groups of 32, of type f32, leave a lane of gfx1100 no room in any "
      "tile; larger groups and scales of 16 bits take less");
  fk::GroupedGemmProblem experts{.experts = 8, .n = 64, .k = 256};
  experts.b = wide.b;
  experts.b_groups = wide.b_groups;
  CHECK(fk::supported(experts, fx::Target::parse("gfx942")));
  CHECK(fk::supported(experts, fx::Target::parse("gfx1100")).why ==
        fk::supported(wide, fx::Target::parse("gfx1100")).why);
  // Weights of the other layout of 8 bits.
  const GemmProblem bytes{.a = fx::bf16, .b = fx::i8, .c = fx::bf16, .n = 64, .k = 128};
  const GemmConfig ofBytes = fk::choose(bytes, 16);
  SampledMemory memory(256);
  fk::GemmArgs args = fk::make_args(bytes, ofBytes, 16, memory.sampler());
  args.b = fk::PreparedWeight{{fx::i8, 64, 128}, args.b.tensor()};
  CHECK_THROWS_WITH(fk::GemmPlan(bytes, ofBytes)(args),
                    Catch::Contains("b is prepared weights (n, k) = (64, 128) of i8; "
                                    "the problem's are narrow (n, k) = (64, 128)"));
  const std::vector<std::uint8_t> nan(256, 0x7f);
  std::vector<std::uint8_t> out(4096);
  CHECK_THROWS_WITH(fk::prepare_weight({fx::f8E4M3FN, 16, 16, true}, nan.data(), out.data()),
                    Catch::Contains("element (0, 0) of raw is no finite number"));
  // Scales are as they were after a refusal.
  std::vector<float> ofRows{1.0f};
  CHECK_THROWS_WITH(
      fk::prepare_weight_as_fnuz({fx::f8E4M3FNUZ, 16, 16, true}, nan.data(), out.data(), ofRows),
      "prepare_weight_as_fnuz: the weights are narrow, whose products take f8E4M3FN and f8E5M2 on "
      "every target; give them to prepare_weight in their own type");
  CHECK(ofRows == std::vector<float>{1.0f});
  CHECK(fk::supported(fk::WeightProblem{fx::u4, 16, 32, true}).why ==
        "narrow weights are prepared on the host, by prepare_weight");
  CHECK_THROWS_WITH(fk::prepared_size({fx::f6E2M3FN, 16, 64, true}),
                    "weight: narrow weights are of type f6E2M3FN; u4, i4, u8, i8, f4E2M1FN and the "
                    "8-bit floats are supported");
  // Weights under 16 bits are no weights under 8.
  CHECK_THROWS_WITH(
      fk::prepared_size({fx::i8, 16, 64, true, 8}),
      "weight: under is 8; narrow weights of type u4 and i4 are under 16 or 8 bits, and "
      "others have 16 there");
  const GemmProblem four{.a = fx::i8, .b = fx::i4, .c = fx::bf16, .n = 64, .k = 128};
  fk::GemmArgs under16 = fk::make_args(four, fk::choose(four, 16), 16, memory.sampler());
  under16.b = fk::PreparedWeight{{fx::i4, 64, 128, true}, under16.b.tensor()};
  CHECK_THROWS_WITH(
      fk::GemmPlan(four, fk::choose(four, 16))(under16),
      Catch::Contains("b is prepared weights narrow (n, k) = (64, 128) of i4; the problem's "
                      "are narrow under 8 bits (n, k) = (64, 128) of i4"));
  CHECK_THROWS_WITH(fk::prepared_size({fx::u4, 16, 33, true}),
                    "weight: k is 33: a row of 16 bytes is no multiple of 16 bytes");
}

namespace {

/// The refusal of a call with changed arguments.
template <class P, class Change> std::string refusalOf(const P &problem, Change change) {
  const fk::Plan<P> plan(problem, fk::choose(problem, 16));
  const Operands<P> operands(problem, plan.config(), 16);
  fk::ArgsOf<P> args = operands.args();
  change(args);
  return messageOf([&] { plan(args); });
}

} // namespace

TEST_CASE("calls refuse scales and zero points of groups that do not fit") {
  const auto like = [](const std::optional<fx::TensorArg> &tensor, fx::DType type,
                       std::vector<std::int64_t> shape) {
    return fx::tensor(tensor->data(), type, shape);
  };
  const GemmProblem plain{.a = fx::bf16,
                          .b = fx::u4,
                          .c = fx::bf16,
                          .n = 64,
                          .k = 256,
                          .b_groups = {128, fx::bf16, true}};
  CHECK_THAT(refusalOf(plain, [](auto &args) { args.group_scales.reset(); }),
             Catch::Contains("gemm: group_scales is missing; the problem has it"));
  CHECK_THAT(refusalOf(plain, [](auto &args) { args.group_zeros.reset(); }),
             Catch::Contains("gemm: group_zeros is missing; the problem has it"));
  CHECK_THAT(refusalOf(plain,
                       [&](auto &args) {
                         args.group_scales = like(args.group_scales, fx::bf16, {64, 2});
                       }),
             Catch::Contains("gemm: group_scales has the shape (64, 2); (k / size, n) = (2, 64)"));
  CHECK_THAT(refusalOf(plain,
                       [&](auto &args) {
                         args.group_scales = like(args.group_scales, fx::f16, {2, 64});
                       }),
             Catch::Contains("gemm: group_scales is of type f16; the problem says bf16"));
  CHECK_THAT(refusalOf(plain,
                       [&](auto &args) {
                         args.group_zeros = like(args.group_zeros, fx::i8, {2, 64});
                       }),
             Catch::Contains("gemm: group_zeros is of type i8; the problem says u8"));
  GemmProblem none = plain;
  none.b_groups = {};
  CHECK_THAT(refusalOf(none, [](auto &args) { args.group_scales = args.a; }),
             Catch::Contains("gemm: group_scales is given, and the problem does not have it"));

  fk::GroupedGemmProblem grouped{.experts = 2, .n = 64, .k = 128};
  grouped.b = fx::u4;
  grouped.b_groups = {64, fx::bf16, true};
  CHECK_THAT(refusalOf(grouped, [](auto &args) { args.group_scales.reset(); }),
             Catch::Contains("grouped_gemm: group_scales is missing; the problem has it"));
  CHECK_THAT(refusalOf(grouped,
                       [&](auto &args) {
                         args.group_zeros = like(args.group_zeros, fx::u8, {2, 64});
                       }),
             Catch::Contains("grouped_gemm: group_zeros has the shape (2, 64); (experts, k / size, "
                             "n) = (2, 2, 64)"));
}

TEST_CASE("weights of AWQ's checkpoints") {
  // The word of columns 0 to 7 whose elements are their numbers.
  const std::vector<std::uint32_t> weights(64, 0x75316420u), zeros(1, 0x75316420u);
  std::vector<std::uint32_t> changed = weights;
  changed[63] = 0x20u; // nibble 1 is column 2
  const fk::CheckpointWeights made = fk::weights_of_awq(8, 64, 64, changed, zeros);
  CHECK(made.matrix == fk::WeightProblem{fx::u4, 8, 64, true});
  CHECK(made.order.empty());
  for (std::size_t n = 0; n < 8; ++n) {
    CHECK(made.zeros[n] == n);
    for (std::size_t k = 0; k < 64; ++k) {
      const unsigned code = made.rows[(n * 64 + k) / 2] >> (k % 2 * 4) & 15u;
      CHECK(code == (k < 63 ? n : n == 2 ? 2 : 0));
    }
  }
  CHECK_THROWS_WITH(fk::weights_of_awq(8, 64, 64, zeros, zeros),
                    "weights_of_awq: qweight has 1 words; (k, n / 8) are 64");
  CHECK_THROWS_WITH(fk::weights_of_awq(12, 64, 64, weights, zeros),
                    "weights_of_awq: n is 12; it is a multiple of 8, the elements of a word");
  CHECK_THROWS_WITH(fk::weights_of_awq(8, 64, 0, weights, zeros),
                    "weights_of_awq: group is 0; it is the elements of K that share a scale, 1 or "
                    "more");
  CHECK_THROWS_WITH(
      fk::weights_of_awq(8, 64, 48, weights, zeros),
      "weights_of_awq: k is 64; it is a multiple of group, 48, and of 8, the elements "
      "of a word");
  CHECK_THROWS_WITH(fk::weights_of_awq(8, 64, 32, weights, zeros),
                    "weights_of_awq: qzeros has 1 words; (k / group, n / 8) are 2");
  // 2^64 words, which 64 bits count as none.
  CHECK_THROWS_WITH(fk::weights_of_awq(std::int64_t(1) << 34, std::int64_t(1) << 33, 128, {}, {}),
                    "weights_of_awq: n is 17179869184; it is 1 to 268435456");
}

TEST_CASE("weights of GPTQ's checkpoints, whose columns come in any order") {
  // Element k of each row is k % 8, two rows of 32 columns in two groups.
  const std::int64_t n = 8, k = 32;
  const std::vector<std::uint32_t> weights(std::size_t(k / 8 * n), 0x76543210u),
      zeros{0x76543210u, 0xffffffffu};
  const fk::CheckpointWeights plain = fk::weights_of_gptq(n, k, 16, 4, weights, zeros);
  CHECK(plain.order.empty());
  CHECK(plain.rows[0] == 0x10);
  CHECK(plain.rows[3] == 0x76);
  // Stored zero points are one less, of 4 bits.
  CHECK(std::vector<int>(plain.zeros.begin(), plain.zeros.end()) ==
        std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(fk::weights_of_gptq(n, k, 16, 4, weights, zeros, {}, fk::GptqZeros::as_is).zeros[15] == 15);
  std::vector<std::int32_t> groups(std::size_t(k), 0);
  for (std::size_t i = 0; i < groups.size(); i += 2)
    groups[i] = 1;
  const fk::CheckpointWeights turned = fk::weights_of_gptq(n, k, 16, 4, weights, zeros, groups);
  REQUIRE(turned.order.size() == std::size_t(k));
  for (std::size_t i = 0; i < turned.order.size(); ++i) {
    CHECK(turned.order[i] == std::int32_t(i < 16 ? 2 * i + 1 : 2 * (i - 16)));
    CHECK((turned.rows[i / 2] >> (i % 2 * 4) & 15) == turned.order[i] % 8);
  }
  groups[1] = 1;
  CHECK_THROWS_WITH(fk::weights_of_gptq(n, k, 16, 4, weights, zeros, groups),
                    "weights_of_gptq: g_idx gives group 0 15 columns of K; each has 16");
  groups[1] = 2;
  CHECK_THROWS_WITH(fk::weights_of_gptq(n, k, 16, 4, weights, zeros, groups),
                    "weights_of_gptq: g_idx has a 2; there are 2 groups");
  CHECK_THROWS_WITH(fk::weights_of_gptq(n, k, 16, 3, weights, zeros),
                    "weights_of_gptq: bits is 3; 4 and 8 are supported");
  CHECK_THROWS_WITH(
      fk::weights_of_gptq(n, k, -16, 4, weights, zeros),
      "weights_of_gptq: group is -16; it is the elements of K that share a scale, 1 or "
      "more");
  CHECK_THROWS_WITH(fk::weights_of_gptq(n, k, 16, 8, weights, zeros),
                    "weights_of_gptq: qweight has 32 words; (k / p, n) are 64");
  CHECK_THROWS_WITH(fk::weights_of_gptq(n, k, 16, 4, weights, zeros, std::vector<std::int32_t>(16)),
                    "weights_of_gptq: g_idx has 16 words; (k) are 32");
  groups[1] = -1;
  CHECK_THROWS_WITH(fk::weights_of_gptq(n, k, 16, 4, weights, zeros, groups),
                    "weights_of_gptq: g_idx has a -1; there are 2 groups");
  CHECK_THROWS_WITH(fk::weights_of_gptq(8, std::int64_t(1) << 40, 128, 8, {}, {}),
                    "weights_of_gptq: k is 1099511627776; it is 1 to 4194304");
}

TEST_CASE("scales of rows become those of columns") {
  const std::vector<std::uint8_t> rows{1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
  CHECK(fk::groups_by_columns(2, 3, 2, rows) ==
        std::vector<std::uint8_t>{1, 3, 5, 2, 4, 6, 11, 13, 15, 12, 14, 16});
  CHECK_THROWS_WITH(fk::groups_by_columns(2, 3, 3, rows),
                    "groups_by_columns: there are 12 numbers; (experts, n, groups) is (2, 3, 3)");
  CHECK_THROWS_WITH(fk::groups_by_columns(0, 3, 2, {}),
                    "groups_by_columns: there are 0 numbers; (experts, n, groups) is (0, 3, 2)");
  const std::int64_t large = std::int64_t(1) << 32; // whose square has 65 bits
  CHECK_THROWS_WITH(fk::groups_by_columns(large, large, 1, {}),
                    "groups_by_columns: there are 0 numbers; (experts, n, groups) is (4294967296, "
                    "4294967296, 1)");
}
