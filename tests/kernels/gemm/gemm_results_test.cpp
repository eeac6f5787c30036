// What leaves a product: results of 8 bits over scales that are given or made on the way, scales that
// are one number, and biases of another type, against the reference in double precision.
#include "support/product.h"
#include "support/size_sweep.h"

#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/quantise.h>
#include <flydsl/kernels/weight.h>

using namespace kernel_tests;

namespace {

using fk::GatedPairs, fk::GroupedGemmProblem;

/// The 8-bit float that products of the target take, or the one of OCP, which any target converts to.
fx::DType resultFloat8() { return float8() ? float8() : fx::DType(fx::f8E4M3FN); }

template <class P> void expectResults(const P &problem, std::int64_t m, std::size_t compared = 1) {
  SweepCounts counts;
  runOnce(problem, fk::choose(problem, m), m, counts);
  CHECK(counts.compared == compared);
}

/// Rows of a through the identity.
struct Passed {
  std::vector<double> c, scales;
};
Passed passed(const GemmProblem &problem, const std::vector<double> &a, double scale = 1) {
  const std::int64_t n = problem.n, m = std::int64_t(a.size()) / n;
  std::vector<double> identity(std::size_t(n * n));
  for (std::int64_t i = 0; i < n; ++i)
    identity[std::size_t(i * n + i)] = 1;
  const std::vector<std::uint8_t> raw = encode(problem.b, identity);
  std::vector<std::uint8_t> prepared(raw.size());
  fk::prepare_weight(problem.weight(), raw.data(), prepared.data());
  const bool isBlocks = problem.scale_c == Scales::per_block;
  const bool isExponent = isBlocks && problem.scale == fx::f8E8M0FNU;
  const Operand x = Operand::input(problem.a, m, n, a),
                b = Operand::input(problem.b, 1, n * n, decode(problem.b, prepared)),
                c = Operand::output(problem.c, m, n),
                s = isBlocks ? Operand::output(isExponent ? fx::DType(fx::u8) : fx::DType(fx::f32),
                                               m, n / kBlock)
                             : Operand::input(fx::f32, 1, 1, std::vector<double>{scale});
  const fx::Stream stream;
  fk::GemmPlan(problem, fk::choose(problem, m))(
      {.a = x.tensor(),
       .b = fk::PreparedWeight{problem.weight(), b.vector()},
       .c = c.tensor(),
       .scale_c =
           isBlocks ? fx::tensor(s.tensor().data(), problem.scale, {m, n / kBlock}) : s.vector()},
      stream);
  stream.synchronize();
  return {c.values(), isBlocks ? s.values() : std::vector<double>()};
}

/// Products of whose results each 128 have a scale.
std::vector<GemmProblem> inBlocks() {
  std::vector<GemmProblem> all{{.a = fx::bf16,
                                .b = fx::bf16,
                                .c = resultFloat8(),
                                .n = 256,
                                .k = 128,
                                .scale_c = Scales::per_block,
                                .bias = true,
                                .bias_type = fx::f32,
                                .activation = Activation::silu}};
  if (float8())
    for (const bool isGated : {false, true})
      all.push_back({.a = float8(),
                     .b = float8(),
                     .c = float8(),
                     .n = 128,
                     .k = 256,
                     .scale_a = Scales::per_block,
                     .scale_b = Scales::per_block,
                     .scale_c = Scales::per_block,
                     .activation = Activation::silu,
                     .gated = isGated});
  // Powers of two, next to scales of rows in f32.
  GemmProblem powers = all[0];
  powers.scale = fx::f8E8M0FNU;
  powers.scale_b = Scales::per_row;
  all.push_back(powers);
  return all;
}

} // namespace

TEST_CASE("results of 8 bits over one scale, with scales of tensors and biases of 16 and 32 bits",
          "[run]") {
  std::vector<GemmProblem> problems{
      {.a = fx::f16, .b = fx::f16, .c = fx::i8, .n = 72, .k = 64, .scale_c = Scales::per_tensor},
      {.a = fx::i8,
       .b = fx::i8,
       .c = fx::i8,
       .n = 64,
       .k = 128,
       .scale_a = Scales::per_tensor,
       .scale_b = Scales::per_tensor,
       .scale_c = Scales::per_tensor,
       .bias = true,
       .bias_type = fx::bf16},
      {.a = fx::bf16,
       .b = fx::bf16,
       .c = resultFloat8(),
       .n = 64,
       .k = 128,
       .scale_c = Scales::per_tensor,
       .activation = Activation::silu,
       .gated = true},
      {.a = fx::i8,
       .b = fx::i8,
       .c = fx::bf16,
       .n = 32,
       .k = 64,
       .scale_a = Scales::per_row,
       .scale_b = Scales::per_tensor,
       .bias = true,
       .bias_type = fx::f32}};
  if (float8())
    problems.push_back({.a = float8(),
                        .b = float8(),
                        .c = float8(),
                        .n = 80,
                        .k = 128,
                        .scale_a = Scales::per_tensor,
                        .scale_b = Scales::per_row,
                        .scale_c = Scales::per_tensor});
  for (const GemmProblem &problem : problems)
    for (const std::int64_t m : {1, 19})
      expectResults(problem, m);
}

TEST_CASE("results with scales of 32 columns are those of quantise, bit by bit", "[run]") {
  constexpr std::int64_t m = 37, n = 192;
  // Rows through the identity, of any size: zeros, powers of two and their neighbours, the largest.
  std::vector<double> a = uniform(fx::bf16, m * n, 5);
  for (std::int64_t i = 0; i < m * n; ++i) {
    a[std::size_t(i)] = std::ldexp(a[std::size_t(i)], int(i / 32 * 7 % 60) - 30);
    if (i / 32 % 9 == 3)
      a[std::size_t(i)] = i % 32 == 5 ? std::exp2(i / 32 % 5) : 0;
    if (i / 32 % 9 == 5)
      a[std::size_t(i)] = 0;
    if (i / 32 % 9 == 7)
      a[std::size_t(i)] = i % 32 == 31 ? 448.0 : -1.5;
  }
  std::vector<double> identity(std::size_t(n * n));
  for (std::int64_t i = 0; i < n; ++i)
    identity[std::size_t(i * n + i)] = 1;
  for (const fx::DType type :
       {fx::DType(fx::f8E4M3FN), fx::DType(fx::f8E5M2), fx::DType(fx::f4E2M1FN)}) {
    const GemmProblem problem{.a = fx::bf16,
                              .b = fx::bf16,
                              .c = type,
                              .n = n,
                              .k = n,
                              .scale_c = Scales::mx,
                              .scale = fx::f8E8M0FNU};
    const std::vector<std::uint8_t> raw = encode(fx::bf16, identity);
    std::vector<std::uint8_t> out(raw.size());
    fk::prepare_weight(problem.weight(), raw.data(), out.data());
    const std::int64_t bytes = n * type.memory_bits() / 8;
    const Operand x = Operand::input(fx::bf16, m, n, a),
                  b = Operand::input(fx::bf16, 1, n * n, decode(fx::bf16, out)),
                  expected = Operand::output(fx::u8, m, bytes),
                  expectedScales = Operand::output(fx::u8, m, n / 32);
    const fx::Stream stream;
    fk::run(fk::QuantiseProblem{.x = fx::bf16,
                                .q = type,
                                .n = n,
                                .scale = fk::ScaleOf::block,
                                .block = fk::BlockScale::ceil},
            {.x = x.tensor(),
             .q = fx::tensor(expected.tensor().data(), type, {m, n}),
             .scale = fx::tensor(expectedScales.tensor().data(), fx::f8E8M0FNU, {m, n / 32})},
            stream);
    stream.synchronize();
    const int tileK = here().has(fx::feature::mfma) ? 64 : 32, lanes = here().wave_size();
    std::vector<GemmConfig> configs;
    for (const std::int64_t rows : {16, 64, 4096})
      configs.push_back(fk::choose(problem, rows));
    // Two, four and one waves side by side, and rows of waves.
    configs.push_back({.tile_m = 32, .tile_n = 64, .tile_k = tileK, .threads = 2 * lanes});
    configs.push_back({.tile_m = 16, .tile_n = 32, .tile_k = tileK, .threads = lanes});
    std::size_t ran = 0;
    for (const GemmConfig &config : configs) {
      if (!fk::supported(problem, config))
        continue;
      ++ran;
      INFO(type.name() << " " << fx::to_config(config).str());
      const Operand c = Operand::output(fx::u8, m, bytes),
                    scales = Operand::output(fx::u8, m, n / 32);
      fk::run(problem,
              {.a = x.tensor(),
               .b = fk::PreparedWeight{problem.weight(), b.vector()},
               .c = fx::tensor(c.tensor().data(), type, {m, n}),
               .scale_c = fx::tensor(scales.tensor().data(), fx::f8E8M0FNU, {m, n / 32})},
              stream, &config);
      stream.synchronize();
      CHECK(scales.values() == expectedScales.values());
      CHECK(c.values() == expected.values());
    }
    CHECK(ran >= 4);
  }
}

TEST_CASE("results of 8 bits of a K in parts") {
  GemmProblem problem{
      .a = fx::bf16, .b = fx::bf16, .c = fx::i8, .n = 64, .k = 512, .scale_c = Scales::per_tensor};
  GemmConfig config{.tile_m = 16, .tile_n = 64, .tile_k = 128, .threads = 256, .split_k = 2};
  for (const fk::PartsSum sum : {fk::PartsSum::kernel, fk::PartsSum::last_block}) {
    config.parts_sum = sum;
    SweepCounts counts;
    runOnce(problem, config, 18, counts);
    CHECK(counts.compared == 1);
  }
}

TEST_CASE("results of 8 bits with scales of 128 neighbours, made on the way out", "[run]") {
  for (const GemmProblem &problem : inBlocks())
    for (const std::int64_t m : {1, 35})
      expectResults(problem, m);
}

TEST_CASE("integers over one scale are rounded to even and limited") {
  const GemmProblem problem{
      .a = fx::f16, .b = fx::f16, .c = fx::i8, .n = 32, .k = 32, .scale_c = Scales::per_tensor};
  std::vector<double> a, expected;
  for (int i = 0; i < 32 * 20; ++i)
    a.push_back(0.25 * (i - 320));
  for (double value : a)
    expected.push_back(std::clamp(std::nearbyint(value / 0.5), -128.0, 127.0));
  CHECK(passed(problem, a, 0.5).c == expected);
}

TEST_CASE("a block's scale is its largest magnitude over the type's, or the power of two above",
          "[run]") {
  const fx::DType type = resultFloat8();
  const double most = type == fx::f8E4M3FN ? 448 : 240;
  GemmProblem problem{
      .a = fx::f16, .b = fx::f16, .c = type, .n = 256, .k = 256, .scale_c = Scales::per_block};
  // Row i has 1.5 * 2^-i as its largest magnitude in its first block, in the sign of its number and in
  // another column each time, and zeros in the second one.
  const std::int64_t m = 18;
  std::vector<double> a(std::size_t(m * 256)), expected = a;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < 128; ++j) {
      const double fraction = j == i * 7 ? 1 : 0.5 / double(1 << (j % 4));
      a[std::size_t(i * 256 + j)] = (i % 2 ? -1.5 : 1.5) * std::exp2(-double(i % 8)) * fraction;
      // A power of two times 1.5 is a number of the type.
      expected[std::size_t(i * 256 + j)] = a[std::size_t(i * 256 + j)];
    }
  problem.scale = fx::f8E8M0FNU;
  const Passed got = passed(problem, a);
  for (std::int64_t i = 0; i < m; ++i) {
    const double exponent = std::ceil(std::log2(1.5 * std::exp2(-double(i % 8)) / most));
    CHECK(got.scales[std::size_t(2 * i)] == exponent + 127);
    for (std::int64_t j = 0; j < 256; ++j) {
      const auto at = std::size_t(i * 256 + j);
      if (got.c[at] * std::exp2(exponent) != expected[at])
        FAIL("(" << i << ", " << j << "): " << got.c[at] << " times 2^" << exponent << " is not "
                 << expected[at]);
    }
  }
  problem.scale = fx::f32;
  const Passed plain = passed(problem, a);
  for (std::int64_t i = 0; i < m; ++i) {
    const double largest = 1.5 * std::exp2(-double(i % 8));
    CHECK(std::fabs(plain.scales[std::size_t(2 * i)] * most - largest) <= largest * 0x1p-22);
    CHECK(plain.scales[std::size_t(2 * i + 1)] == 1);
    CHECK(std::fabs(plain.c[std::size_t(i * 256 + i * 7)]) == most);
  }
}

TEST_CASE("a NaN makes its block's scale NaN, and no other's") {
  const GemmProblem problem{.a = fx::f16,
                            .b = fx::f16,
                            .c = fx::f8E4M3FNUZ,
                            .n = 256,
                            .k = 256,
                            .scale_c = Scales::per_block};
  std::vector<double> a(std::size_t(3 * 256), 1.0);
  a[256 + 130] = std::nan("");
  // Through the identity a NaN reaches all columns of its row.
  const Passed got = passed(problem, a);
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(std::isnan(got.scales[i]) == (i / 2 == 1));
}

TEST_CASE("experts: results of 8 bits, scales of experts", "[run]") {
  GroupedGemmProblem problem{
      .experts = 3, .n = 128, .k = 128, .unit = 16, .topk = 2, .a_rows = fk::GroupedRows::tokens};
  std::vector<GroupedGemmProblem> all;
  for (const GatedPairs pairs : {GatedPairs::none, GatedPairs::halves, GatedPairs::interleaved}) {
    GroupedGemmProblem bytes = problem;
    bytes.gated = pairs;
    bytes.activation = Activation::silu;
    bytes.a = bytes.b = bytes.c = fx::i8;
    bytes.scale_a = bytes.scale_b = bytes.scale_c = Scales::per_tensor;
    all.push_back(bytes);
    if (!float8())
      continue;
    GroupedGemmProblem blocks = bytes;
    blocks.a = blocks.b = blocks.c = float8();
    blocks.scale_a = blocks.scale_b = blocks.scale_c = Scales::per_block;
    all.push_back(blocks);
  }
  problem.c_rows = fk::GroupedRows::slots;
  problem.c = fx::i8;
  problem.scale_c = Scales::per_tensor;
  problem.bias = true;
  problem.bias_type = fx::bf16;
  all.push_back(problem);
  for (const GroupedGemmProblem &each : all)
    expectResults(each, 48);
  // Powers of two, next to scales of rows in f32.
  GroupedGemmProblem powers = problem;
  powers.c_rows = fk::GroupedRows::places;
  powers.c = resultFloat8();
  powers.scale_b = Scales::per_row;
  powers.scale_c = Scales::per_block;
  powers.scale = fx::f8E8M0FNU;
  expectResults(powers, 48);
}

TEST_CASE("results in blocks: another run, a graph and a file give the same bits") {
  expectStructure(inBlocks()[0], fk::choose(inBlocks()[0], 17), 17);
}

TEST_CASE("every target has a tile for results in blocks") {
  for (const std::int64_t n : {128, 2048})
    for (const bool isGated : {false, true})
      for (const fx::DType a : {fx::DType(fx::bf16), fx::DType(fx::i8)})
        expectTotal(std::vector<GemmProblem>{{.a = a,
                                              .b = a,
                                              .c = fx::f8E4M3FN,
                                              .n = n,
                                              .k = 2048,
                                              .scale_c = Scales::per_block,
                                              .gated = isGated}});
}

TEST_CASE("results that are wrong are refused") {
  const GemmProblem good{.a = fx::bf16,
                         .b = fx::bf16,
                         .c = fx::f8E4M3FN,
                         .n = 128,
                         .k = 128,
                         .scale_c = Scales::per_block};
  REQUIRE(fk::supported(good));
  const auto why = [&](auto change) {
    GemmProblem problem = good;
    change(problem);
    return fk::supported(problem).why;
  };
  CHECK(why([](auto &p) { p.scale_c = Scales::none; }) ==
        "c is of type f8E4M3FN, which needs a scale: scale_c is per_tensor, per_block or mx");
  CHECK(why([](auto &p) { p.scale_c = Scales::per_row; }) ==
        "scale_c is per_row, and no block has all columns of a row; it is per_tensor, per_block or "
        "mx. A "
        "row's scale is made by quantise (ScaleOf::row), of c in 16 bits");
  CHECK(why([](auto &p) { p.c = fx::bf16; }) ==
        "c is of type bf16, and scale_c is of c of 4 or 8 bits");
  CHECK(why([](auto &p) { p.c = fx::i8; }) ==
        "c is of type i8; scales of blocks belong to 8-bit floats");
  CHECK(why([](auto &p) { p.c = fx::u8; }) ==
        "c is quantised and of type u8; i8 and floats of 8 bits are supported");
  CHECK(why([](auto &p) { p.n = 160; }) ==
        "n is 160; with scales of blocks of c it is a multiple of 128");
  CHECK(why([](auto &p) { p.bias = true; }) ==
        "bias is of type f8E4M3FN; f32, f16 and bf16 are supported");
  CHECK(why([](auto &p) { p.bias_type = fx::f32; }) == "bias_type is f32, and there is no bias");
  CHECK(why([](auto &p) { p.rounding = fk::Rounding::stochastic; }) ==
        "c is of type f8E4M3FN; stochastic rounding is for f16 and bf16");
  CHECK(why([](auto &p) { p.b_layout = fk::OperandLayout::rows; }) ==
        "scales of blocks of c are of products of rows of a and prepared weights that are not "
        "narrow");
  GemmConfig config = fk::choose(good, 64);
  config.tile_n = 64;
  CHECK(
      fk::supported(good, config)
          .why.find(
              "scales of 128 columns of c need tiles of a multiple of 128 columns of c, here 64") !=
      std::string::npos);
  const GroupedGemmProblem experts{.c = fx::f8E4M3FN,
                                   .experts = 2,
                                   .n = 128,
                                   .k = 128,
                                   .topk = 2,
                                   .c_rows = fk::GroupedRows::slots,
                                   .scale_c = Scales::per_block};
  CHECK(fk::supported(experts).why ==
        "scale_c is per_block and c_rows is slots; scales of blocks of c are of rows of places");
  // A call that does not give what the problem has.
  SampledMemory memory(256);
  fk::GemmArgs args = fk::make_args(good, fk::choose(good, 16), 16, memory.sampler());
  const fk::GemmPlan plan(good, fk::choose(good, 16));
  std::optional<fx::TensorArg> scales = args.scale_c;
  args.scale_c.reset();
  CHECK_THROWS_WITH(plan(args), Catch::Contains("scale_c is missing; the problem has it"));
  args.scale_c = fx::tensor(scales->data(), fx::f32, {15, 1});
  CHECK_THROWS_WITH(plan(args),
                    Catch::Contains("scale_c has the shape (15, 1); (m, n / 128) = (16, 1)"));
}
