// Products of the microscaling formats on gfx950 and gfx1250: operands of 4 and 8 bits with a power of two for each
// 32 elements of K, against the reference in double precision and against exact sums.
#include "support/hot_loop.h"
#include "support/product.h"
#include "support/size_sweep.h"

#include "blocks/products/mainloop.h"
#include "gemm/gemm_shape.h"
#include "gemm/mx_sums.h"

#include <flydsl/kernels/quantise.h>
#include <flydsl/kernels/weight.h>

#include <array>

using namespace kernel_tests;

namespace {

using fk::OperandLayout;

/// A problem whose operands have scales of 32 elements.
GemmProblem mx(fx::DType a, fx::DType b, std::int64_t n, std::int64_t k) {
  return {.a = a,
          .b = b,
          .c = fx::bf16,
          .n = n,
          .k = k,
          .scale_a = Scales::mx,
          .scale_b = Scales::mx,
          .scale = fx::f8E8M0FNU};
}
/// Both loops over prepared weights.
std::vector<GemmConfig> loops(const GemmProblem &problem) {
  const int tileK = 256 * 8 / problem.a.memory_bits(), threads = 4 * here().wave_size();
  return {{.tile_m = 32, .tile_n = 64, .tile_k = tileK, .threads = threads},
          {.tile_m = 16,
           .tile_n = 32,
           .tile_k = tileK,
           .threads = threads,
           .loop = fk::GemmLoop::registers,
           .waves_k = 4}};
}

/// Operands of a call as bytes, rows without gaps.
struct MxOperands {
  std::vector<std::uint8_t> a, b, scaleA, scaleB;
};
fx::DeviceArray<std::uint8_t> onDevice(const std::vector<std::uint8_t> &bytes) {
  fx::DeviceArray<std::uint8_t> memory(fx::Extents{std::int64_t(bytes.size())});
  memory.copy_from(bytes);
  return memory;
}
fx::TensorArg scalesOf(const fx::DeviceArray<std::uint8_t> &bytes, OperandLayout layout,
                       std::int64_t rows, std::int64_t k) {
  if (layout != OperandLayout::prepared)
    return fx::tensor(bytes.data(), fx::f8E8M0FNU, {rows, k / 32});
  const auto [groups, blocks, size] = fk::PreparedScales::shape(rows, k);
  return fx::tensor(bytes.data(), fx::f8E8M0FNU, {groups, blocks, size});
}
/// The product in f32.
std::vector<double> product(GemmProblem problem, const GemmConfig &config, std::int64_t m,
                            const MxOperands &operands) {
  problem.c = fx::f32;
  const bool isPrepared = problem.b_layout == OperandLayout::prepared;
  std::vector<std::uint8_t> raw = operands.b;
  if (isPrepared) {
    raw.assign(std::size_t(fk::prepared_size(problem.weight())), 0);
    fk::prepare_weight(problem.weight(), operands.b.data(), raw.data());
  }
  const auto scales = [&](OperandLayout layout, std::int64_t rows,
                          const std::vector<std::uint8_t> &bytes) {
    if (layout != OperandLayout::prepared)
      return onDevice(bytes);
    std::vector<std::uint8_t> prepared = fk::prepare_scales(rows, problem.k, bytes);
    // No result depends on scales past the last row, which are NaN here.
    for (std::int64_t row = rows; row % fk::PreparedScales::kRows; ++row)
      for (std::int64_t scale = 0; scale < problem.k / 32; ++scale)
        prepared[std::size_t(fk::PreparedScales::place(row, scale, problem.k))] = 255;
    return onDevice(prepared);
  };
  const auto a = onDevice(operands.a), b = onDevice(raw),
             scaleA = scales(problem.scale_a_layout, m, operands.scaleA),
             scaleB = scales(problem.scale_b_layout, problem.columns(), operands.scaleB);
  const Operand c = Operand::output(fx::f32, m, problem.n);
  const std::int64_t n = problem.columns(), k = problem.k;
  const fx::TensorArg prepared =
      fx::tensor(b.data(), problem.b.memory_bits() < 8 ? fx::DType(fx::u8) : problem.b,
                 {std::int64_t(raw.size())});
  const fk::GemmPlan plan(problem, config);
  const auto bytes = std::int64_t(plan.workspace_bytes(m));
  const fx::DeviceArray<std::uint8_t> workspace(fx::Extents{std::max<std::int64_t>(bytes, 16)});
  const fx::Stream stream;
  plan({.a = fx::tensor(a.data(), problem.a, {m, k}),
        .b = isPrepared ? fk::WeightArg(fk::PreparedWeight{problem.weight(), prepared})
                        : fk::WeightArg(fx::tensor(b.data(), problem.b, {n, k})),
        .c = c.tensor(),
        .scale_a = scalesOf(scaleA, problem.scale_a_layout, m, k),
        .scale_b = scalesOf(scaleB, problem.scale_b_layout, n, k),
        .workspace = fx::tensor(workspace.data(), fx::u8, {bytes})},
       stream);
  stream.synchronize();
  return c.values();
}
/// What it must be, where sums of f32 are exact.
std::vector<double> exact(const GemmProblem &problem, std::int64_t m, const MxOperands &operands) {
  const std::vector<double> a = decode(problem.a, operands.a), b = decode(problem.b, operands.b),
                            scaleA = decode(fx::f8E8M0FNU, operands.scaleA),
                            scaleB = decode(fx::f8E8M0FNU, operands.scaleB);
  std::vector<double> c;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < problem.n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < problem.k; ++k)
        sum += a[std::size_t(i * problem.k + k)] * b[std::size_t(j * problem.k + k)] *
               scaleA[std::size_t((i * problem.k + k) / 32)] *
               scaleB[std::size_t((j * problem.k + k) / 32)];
      c.push_back(sum);
    }
  return c;
}
/// Integers from -3 to 3, and scales from 2^-3 to 2^3: sums are multiples of 2^-6 below 2^17.
MxOperands whole(const GemmProblem &problem, std::int64_t m) {
  const auto scales = [&](std::int64_t rows, std::uint64_t seed) {
    std::vector<std::uint8_t> bytes;
    for (double exponent : integers(rows * problem.k / 32, seed, -3, 3))
      bytes.push_back(std::uint8_t(127 + exponent));
    return bytes;
  };
  return {encode(problem.a, integers(m * problem.k, 1, -3, 3)),
          encode(problem.b, integers(problem.n * problem.k, 2, -3, 3)), scales(m, 3),
          scales(problem.n, 4)};
}

/// A mistake of a loop, as operands by which a loop without it gives the same: bytes `first` and `second` of
/// an operand are exchanged, or the two elements of a byte.
struct Mistake {
  std::vector<std::uint8_t> MxOperands::*of;
  std::size_t first, second;
};
/// Mistakes in one row: the scale of the neighbour group of 32 elements, of the neighbour part of 128 (the
/// other byte that an instruction may name), of the neighbour row; the neighbour element of 4 bits.
std::vector<Mistake> mistakesOf(const GemmProblem &problem) {
  const auto ofRow = std::size_t(problem.k / 32);
  std::vector<Mistake> all;
  for (const auto scales : {&MxOperands::scaleA, &MxOperands::scaleB})
    for (const std::size_t distance : {std::size_t{1}, std::size_t{4}, ofRow})
      all.push_back({scales, 5 * ofRow + 8, 5 * ofRow + 8 + distance});
  if (problem.a == fx::f4E2M1FN)
    all.push_back({&MxOperands::a, 2, 2});
  if (problem.b == fx::f4E2M1FN)
    all.push_back({&MxOperands::b, 2, 2});
  return all;
}
/// The operands with a mistake. The two bytes differ, or the two elements, as of those that were drawn.
MxOperands mistaken(MxOperands operands, const Mistake &mistake) {
  std::vector<std::uint8_t> &bytes = operands.*mistake.of;
  if (mistake.first != mistake.second) {
    // The first of a row whose neighbour has another scale.
    std::size_t first = mistake.first;
    while (bytes.at(first) == bytes.at(first + mistake.second - mistake.first))
      ++first;
    std::swap(bytes[first], bytes[first + mistake.second - mistake.first]);
    return operands;
  }
  std::size_t at = mistake.first;
  while ((bytes.at(at) & 15) == bytes[at] >> 4)
    ++at;
  bytes[at] = std::uint8_t(bytes[at] << 4 | bytes[at] >> 4);
  return operands;
}

/// The types of a and b.
constexpr std::array kTypes{
    std::pair(fx::f4E2M1FN, fx::f4E2M1FN), std::pair(fx::f8E4M3FN, fx::f4E2M1FN),
    std::pair(fx::f8E5M2, fx::f4E2M1FN), std::pair(fx::f8E4M3FN, fx::f8E4M3FN),
    std::pair(fx::f8E5M2, fx::f8E4M3FN)};

} // namespace

TEST_CASE("products of the microscaling formats", "[run]") {
  SweepCounts counts;
  for (const auto &[a, b] : kTypes) {
    GemmProblem problem = mx(a, b, 80, 512);
    for (const std::int64_t m : {1, 40})
      runOnce(problem, fk::choose(problem, m), m, counts);
    // K ends inside of a part, and rows of scales start at any byte.
    if (b == fx::f4E2M1FN) {
      problem.k = 352;
      for (const GemmConfig &config : loops(problem))
        runOnce(problem, config, 21, counts);
    }
    problem.n = 48;
    problem.k = 640;
    problem.gated = problem.bias = true;
    problem.activation = Activation::silu;
    for (const GemmConfig &config : loops(problem))
      if (fk::supported(problem, config))
        runOnce(problem, config, 33, counts);
  }
  CHECK(counts.compared >= 5 * 3 + 2 * 3);
  CHECK(counts.compared == counts.runs);
}

TEST_CASE("products of the microscaling formats: rows of b, parts of K, LDS's own loads", "[run]") {
  SweepCounts counts;
  const bool hasDma =
      here().has(fx::feature::buffer_to_lds_wide) || here().has(fx::feature::tensor_mover);
  for (const fx::DType type : {fx::DType(fx::f4E2M1FN), fx::DType(fx::f8E4M3FN)}) {
    GemmProblem problem = mx(type, type, 72, type == fx::f4E2M1FN ? 1056 : 1152);
    problem.b_layout = OperandLayout::rows;
    const GemmConfig config = {.tile_m = 64,
                               .tile_n = 64,
                               .tile_k = 128 * 8 / type.memory_bits(),
                               .threads = 4 * here().wave_size(),
                               .waves_m = 2};
    runOnce(problem, config, 70, counts);
    GemmConfig dma = config;
    if (hasDma) {
      dma.dma = true;
      dma.stages = 4;
      runOnce(problem, dma, 70, counts);
    }
    problem.k = 1024;
    problem.b_layout = OperandLayout::prepared;
    dma.split_k = 2;
    dma.waves_m = 1;
    dma.tile_k = 256 * 8 / type.memory_bits() / 2;
    dma.stages = 2;
    runOnce(problem, dma, 20, counts);
  }
  CHECK(counts.compared == (hasDma ? 6 : 4));
}

TEST_CASE("sums of integers over powers of two are exact in the microscaling formats", "[run]") {
  for (const auto &[a, b] : kTypes) {
    const GemmProblem problem = mx(a, b, 64, 1024);
    constexpr std::int64_t m = 37;
    const MxOperands operands = whole(problem, m);
    const std::vector<double> expected = exact(problem, m, operands);
    for (const GemmConfig &config : loops(problem))
      CHECK(product(problem, config, m, operands) == expected);
    // What a loop with a mistake gives is something else.
    for (const Mistake &mistake : mistakesOf(problem))
      CHECK(exact(problem, m, mistaken(operands, mistake)) != expected);
  }
}

TEST_CASE("each scale belongs to its 32 elements: the least, the largest, and NaN", "[run]") {
  constexpr std::int64_t m = 16, k = 384;
  for (const auto &[a, b] : kTypes) {
    const GemmProblem problem = mx(a, b, 16, k);
    MxOperands operands{encode(a, std::vector<double>(m * k, 1)),
                        encode(b, std::vector<double>(problem.n * k, 1)),
                        std::vector<std::uint8_t>(m * k / 32, 127),
                        std::vector<std::uint8_t>(std::size_t(problem.n * k / 32), 127)};
    // Blocks of K have powers of two of their own, so that the sum tells them all.
    for (std::int64_t block = 0; block < k / 32; ++block)
      operands.scaleA[std::size_t(3 * k / 32 + block)] = std::uint8_t(120 + block);
    // 2^-127 times 2^127; 2^-127 times 2^-127 is nothing.
    operands.scaleA[5 * k / 32] = 0;
    operands.scaleB[7 * k / 32] = 254;
    operands.scaleB[8 * k / 32] = 0;
    operands.scaleA[9 * k / 32 + 4] = 255;
    operands.scaleB[std::size_t(11 * k / 32 + k / 32 - 1)] = 255;
    const std::vector<double> expected = exact(problem, m, operands);
    REQUIRE(expected[5 * 16 + 7] == k);
    for (const GemmConfig &config : loops(problem)) {
      const std::vector<double> got = product(problem, config, m, operands);
      for (std::size_t i = 0; i < got.size(); ++i)
        if (std::isnan(expected[i]) ? !std::isnan(got[i]) : float(got[i]) != float(expected[i]))
          FAIL("(" << i / 16 << ", " << i % 16 << "): " << got[i] << " is not " << expected[i]);
    }
  }
}

TEST_CASE("what quantise makes of two matrices is multiplied as it is", "[run]") {
  constexpr std::int64_t m = 24, n = 48, k = 256;
  for (const auto &[typeA, typeB] : kTypes) {
    const fx::Stream stream;
    const auto quantised = [&](fx::DType type, std::int64_t rows, std::uint64_t seed) {
      const Operand x = Operand::input(fx::f32, rows, k, uniform(fx::f32, rows * k, seed, 100));
      fx::DeviceArray<std::uint8_t> q(fx::Extents{rows * k * type.memory_bits() / 8}),
          scale(fx::Extents{rows * k / 32});
      fk::run(fk::QuantiseProblem{.x = fx::f32, .q = type, .n = k, .scale = fk::ScaleOf::block},
              {.x = x.tensor(),
               .q = fx::tensor(q.data(), type, {rows, k}),
               .scale = fx::tensor(scale.data(), fx::f8E8M0FNU, {rows, k / 32})},
              stream);
      stream.synchronize();
      return std::pair(q.to_host(), scale.to_host());
    };
    const auto [a, scaleA] = quantised(typeA, m, 1);
    const auto [b, scaleB] = quantised(typeB, n, 2);
    const MxOperands operands{a, b, scaleA, scaleB};
    const GemmProblem problem = mx(typeA, typeB, n, k);
    const std::vector<double> got = product(problem, fk::choose(problem, m), m, operands),
                              expected = exact(problem, m, operands);
    for (std::size_t i = 0; i < got.size(); ++i)
      if (!(std::fabs(got[i] - expected[i]) <= 0x1p-14 * 100 * 100))
        FAIL(i << ": " << got[i] << " is not " << expected[i]);
  }
}

TEST_CASE(
    "products of the microscaling formats: another run, a graph and a file give the same bits",
    "[run]") {
  GemmProblem problem = mx(fx::f4E2M1FN, fx::f4E2M1FN, 64, 512);
  expectStructure(problem, fk::choose(problem, 17), 17);
  problem.scale_a_layout = problem.scale_b_layout = OperandLayout::prepared;
  if (fk::supported(problem))
    expectStructure(problem, fk::choose(problem, 17), 17);
}

TEST_CASE("the hot loop of products of the microscaling formats") {
  // For two steps: an instruction for each 128 elements of K and tile of 16 x 16; a load of scales for
  // each row of tiles and up to 512 elements; on gfx950 a permutation for each two
  // words of scales, or a shift for one. The lanes of a
  // wave of gfx1250, which are half as many, load twice as often. Of prepared scales a load has 256 elements of
  // two rows of tiles where the wave has both of them; otherwise it has those of one, and takes a shift.
  struct Case {
    const char *target;
    fx::DType a, b;
    int tileM, tileN, tileK, wavesM;
    int matrix, loads,
        most; // of two steps; other vector instructions, among them waits for products
    OperandLayout scales = OperandLayout::rows;
  };
  for (const Case &c : std::initializer_list<Case>{
           {"gfx950", fx::f4E2M1FN, fx::f4E2M1FN, 128, 128, 256, 1, 64, 2 * (4 + 4 + 10), 2 * 10},
           {"gfx950", fx::f8E4M3FN, fx::f4E2M1FN, 64, 128, 256, 1, 32, 2 * (4 + 4 + 6), 2 * 6},
           {"gfx950", fx::f8E4M3FN, fx::f8E4M3FN, 64, 128, 128, 1, 16, 2 * (2 + 4 + 6), 2 * 6},
           {"gfx950", fx::f4E2M1FN, fx::f4E2M1FN, 128, 128, 256, 1, 64, 2 * (4 + 4 + 6), 2 * 2,
            OperandLayout::prepared},
           {"gfx950", fx::f8E4M3FN, fx::f4E2M1FN, 64, 128, 256, 1, 32, 2 * (4 + 4 + 4), 2 * 2,
            OperandLayout::prepared},
           {"gfx1250", fx::f4E2M1FN, fx::f4E2M1FN, 128, 128, 256, 2, 32, 2 * (4 + 8 + 6), 2 * 6},
           {"gfx1250", fx::f8E4M3FN, fx::f4E2M1FN, 64, 128, 256, 1, 32, 2 * (8 + 8 + 6), 2 * 6},
           {"gfx1250", fx::f8E4M3FN, fx::f8E4M3FN, 64, 128, 128, 1, 16, 2 * (4 + 8 + 6), 2 * 6}}) {
    const fx::Target target = fx::Target::parse(c.target);
    GemmProblem problem = mx(c.a, c.b, 4096, 4096);
    problem.scale_a_layout = problem.scale_b_layout = c.scales;
    const GemmConfig config{.tile_m = c.tileM,
                            .tile_n = c.tileN,
                            .tile_k = c.tileK,
                            .threads = 4 * c.wavesM * target.wave_size(),
                            .waves_m = c.wavesM};
    const auto code = fk::GemmPlan(problem, config, target).executables();
    REQUIRE(code.size() == 1);
    CHECK(code[0].spills() == 0);
    const HotLoop loop = hotLoop(code[0]);
    INFO(c.target << " " << fx::to_config(problem).str() << "\n" << loop.str());
    CHECK(loop.matrix == c.matrix);
    CHECK(loop.loads == c.loads);
    CHECK(loop.vector <= c.most);
  }
}

TEST_CASE("tiles of 8 bits with prepared scales spill none") {
  const fx::Target target = fx::Target::parse("gfx950");
  for (const fx::DType b : {fx::f4E2M1FN, fx::f8E4M3FN}) {
    GemmProblem problem = mx(fx::f8E4M3FN, b, 4096, 4096);
    problem.scale_a_layout = problem.scale_b_layout = OperandLayout::prepared;
    const GemmConfig config = fk::choose(problem, 2048, target);
    CHECK(config.tile_m == 128);
    CHECK(config.tile_n == (b == fx::f4E2M1FN ? 256 : 128));
    expectNoSpillsWith(problem, config, target);
  }
}

namespace {

/// A product of 8 bits whose results have scales of blocks.
GemmProblem withBlocks(std::int64_t n, std::int64_t k, OperandLayout layout) {
  GemmProblem problem = mx(fx::f8E4M3FN, fx::f8E4M3FN, n, k);
  problem.scale_a_layout = problem.scale_b_layout = layout;
  problem.c = fx::f8E4M3FN, problem.scale_c = Scales::per_block;
  return problem;
}

} // namespace

TEST_CASE("tiles of products of the microscaling formats whose results have scales of blocks spill "
          "none") {
  for (const char *name : {"gfx950", "gfx1250"})
    for (const OperandLayout layout : {OperandLayout::rows, OperandLayout::prepared})
      for (const bool isGated : {false, true}) {
        const fx::Target target = fx::Target::parse(name);
        GemmProblem problem = withBlocks(4096, 4096, layout);
        problem.gated = isGated;
        if (!fk::supported(problem, target)) {
          CHECK((target.has(fx::feature::tensor_mover) && layout == OperandLayout::prepared));
          continue;
        }
        for (const std::int64_t m : {2048, 17}) {
          const GemmConfig config = fk::choose(problem, m, target);
          INFO(name << " " << fx::to_config(problem).str() << " " << fx::to_config(config).str());
          expectNoSpillsWith(problem, config, target);
        }
      }
  CHECK(
      fk::choose(withBlocks(4096, 4096, OperandLayout::prepared), 2048, fx::Target::parse("gfx950"))
          .tile_m == 64);
}

// Steps are blocks of 256 elements of K, and waves have whole blocks of 128 columns of C.
TEST_CASE("products of 8 bits with prepared scales whose results have scales of blocks", "[run]") {
  const GemmProblem problem = withBlocks(384, 512, OperandLayout::prepared);
  if (!fk::supported(problem, here())) {
    CHECK(here().name() != "gfx950");
    return;
  }
  SweepCounts counts;
  const GemmConfig configs[] = {{.tile_m = 64, .tile_n = 256, .tile_k = 256, .threads = 256},
                                {.tile_m = 32, .tile_n = 128, .tile_k = 256, .threads = 256}};
  for (const GemmConfig &config : configs)
    runOnce(problem, config, 70, counts);
  runOnce(problem, fk::choose(problem, 17), 17, counts);
  CHECK(counts.compared == 3);
}

TEST_CASE("every product of the microscaling formats that is supported has a tile") {
  for (const char *name : {"gfx950", "gfx1250"}) {
    const fx::Target target = fx::Target::parse(name);
    for (const auto &[a, b] : kTypes)
      for (const std::int64_t n : {16, 200, 4096})
        for (const std::int64_t k : {32, 128, 384, 2880, 8192})
          for (const bool isGated : {false, true}) {
            GemmProblem problem = mx(a, b, n / 16 * 16, k);
            problem.gated = isGated;
            if (!fk::supported(problem, target)) {
              CHECK((b != fx::f4E2M1FN && k % 128));
              continue;
            }
            for (const std::int64_t m : {0, 1, 17, 64, 129, 5000})
              CHECK(fk::supported(problem, fk::choose(problem, m, target), target));
            problem.scale_a_layout = problem.scale_b_layout = OperandLayout::prepared;
            if (!fk::supported(problem, target)) {
              CHECK(target.has(fx::feature::tensor_mover));
              continue;
            }
            for (const std::int64_t m : {0, 1, 17, 64, 129, 5000})
              CHECK(fk::supported(problem, fk::choose(problem, m, target), target));
          }
  }
}

TEST_CASE("operands of the microscaling formats that are wrong are refused") {
  const GemmProblem good = mx(fx::f4E2M1FN, fx::f4E2M1FN, 64, 256);
  const auto why = [&](auto change, const char *target = "gfx950") {
    GemmProblem problem = good;
    change(problem);
    return fk::supported(problem, fx::Target::parse(target)).why;
  };
  CHECK(why([](auto &) {}).empty());
  CHECK(why([](auto &) {}, "gfx1250").empty());
  for (const char *target : {"gfx942", "gfx1201"})
    CHECK(why([](auto &) {}, target) ==
          std::string(target) + " has no matrix instructions that this library gives scales of 32 "
                                "elements of k. With a of "
                                "bf16 or f16, b may be such weights: b_groups is {32, f8E8M0FNU}");
  CHECK(why([](auto &p) { p.scale_b = Scales::none; }) ==
        "one operand has scales of 32 elements of k, Scales::mx; both have them, or none");
  CHECK(why([](auto &p) {
          p.scale_a = p.scale_b = Scales::none;
        }).find("Operands of f4E2M1FN have scale_a and scale_b of Scales::mx") !=
        std::string::npos);
  CHECK(why([](auto &p) { p.a = p.b = fx::f6E2M3FN; })
            .find("with Scales::mx each is f8E4M3FN, f8E5M2 or f4E2M1FN. f8E4M3FN has all numbers "
                  "of the "
                  "floats of 6 bits, too") != std::string::npos);
  CHECK(why([](auto &p) { p.a = p.b = fx::bf16; }).find("with Scales::mx each is") !=
        std::string::npos);
  CHECK(why([](auto &p) {
          p.b = fx::f8E4M3FN;
        }).find("of elements of 4 and 8 bits, b has those of 4") != std::string::npos);
  CHECK(why([](auto &p) { p.scale = fx::f32; }) == "scale is f32; with Scales::mx it is f8E8M0FNU");
  CHECK(why([](auto &p) { p.k = 272; }) == "k is 272; with Scales::mx it is a multiple of 32");
  CHECK(why([](auto &p) { p.a = p.b = fx::f8E5M2, p.k = 288; }) ==
        "k is 288; with Scales::mx and b of 8 bits it is a multiple of 128");
  CHECK(why([](auto &p) { p.a_layout = OperandLayout::columns; }) ==
        "with Scales::mx, a lies by rows, and b is prepared or lies by rows");
  CHECK(why([](auto &p) {
          p.a = fx::f8E4M3FN, p.b_layout = OperandLayout::rows;
        }).find("b of elements shorter than a's is prepared") != std::string::npos);
  CHECK(why([](auto &p) { p.c = fx::f8E4M3FN, p.scale_c = Scales::mx; }).empty());
  CHECK(why([](auto &p) { p.c = fx::f4E2M1FN, p.scale_c = Scales::mx, p.n = 80; }) ==
        "n is 80; with scales of blocks of c it is a multiple of 32");
  const auto whyTile = [&](auto change) {
    GemmConfig config{.tile_m = 64, .tile_n = 128, .tile_k = 256};
    change(config);
    return fk::supported(good, config, fx::Target::parse("gfx950")).why;
  };
  CHECK(whyTile([](auto &) {}).empty());
  CHECK(whyTile([](auto &c) { c.waves_k = 2; }).find("waves of the ring do not share") !=
        std::string::npos);
  CHECK(fk::supported(fk::WeightProblem{fx::f4E2M1FN, 64, 256}).why ==
        "weights of type f4E2M1FN are prepared on the host, by prepare_weight");
}

TEST_CASE("prepared scales lie as aiter's e8m0_shuffle has them") {
  // view(m / 32, 2, 16, n / 8, 2, 4).permute(0, 3, 5, 2, 4, 1) of whole blocks.
  constexpr std::int64_t m = 96, n = 16;
  std::vector<std::uint8_t> scales(m * n), shuffled;
  for (std::size_t i = 0; i < scales.size(); ++i)
    scales[i] = std::uint8_t(i * 7 + i / 251);
  for (std::int64_t d0 = 0; d0 < m / 32; ++d0)
    for (std::int64_t d3 = 0; d3 < n / 8; ++d3)
      for (std::int64_t d5 = 0; d5 < 4; ++d5)
        for (std::int64_t d2 = 0; d2 < 16; ++d2)
          for (std::int64_t d4 = 0; d4 < 2; ++d4)
            for (std::int64_t d1 = 0; d1 < 2; ++d1)
              shuffled.push_back(scales[std::size_t((((d0 * 2 + d1) * 16 + d2) * (n / 8) + d3) * 8 +
                                                    d4 * 4 + d5)]);
  CHECK(fk::prepare_scales(m, 32 * n, scales) == shuffled);
  // What fills the last blocks is no NaN.
  const std::vector<std::uint8_t> few =
      fk::prepare_scales(17, 32 * 9, std::vector<std::uint8_t>(17 * 9, 200));
  CHECK(few.size() == 512);
  CHECK(std::count(few.begin(), few.end(), 200) == 17 * 9);
  CHECK(std::count(few.begin(), few.end(), 0) == 512 - 17 * 9);
  CHECK_THROWS_WITH(fk::prepare_scales(16, 256, few),
                    Catch::Contains("there are 512 scales of (rows, k) = (16, 256)"));
  CHECK_THROWS_WITH(fk::prepare_scales(16, 100, few), Catch::Contains("a multiple of 32"));
  CHECK_THROWS_WITH(fk::prepare_scales(-1, 256, {}), Catch::Contains("(-1, 256)"));
}

TEST_CASE("products with prepared scales are those with scales by rows", "[run]") {
  GemmProblem probe = mx(fx::f4E2M1FN, fx::f4E2M1FN, 64, 512);
  probe.scale_a_layout = probe.scale_b_layout = OperandLayout::prepared;
  if (here().has(fx::feature::tensor_mover)) {
    CHECK(fk::supported(probe, here()).why ==
          "scales are prepared for the matrix instructions of gfx950; on " + here().name() +
              " scale_a_layout and scale_b_layout are rows");
    return;
  }
  // Pairs of tiles in a wave, waves side by side, odd tiles, parts of K, one step and a short last one.
  const GemmConfig configs[] = {
      {.tile_m = 64, .tile_n = 64, .tile_k = 256, .threads = 256},
      {.tile_m = 16, .tile_n = 64, .tile_k = 512, .threads = 256},
      {.tile_m = 48, .tile_n = 128, .tile_k = 256, .threads = 256},
      {.tile_m = 64, .tile_n = 32, .tile_k = 256, .threads = 128, .waves_m = 2},
      {.tile_m = 64, .tile_n = 64, .tile_k = 256, .threads = 64},
      {.tile_m = 32, .tile_n = 64, .tile_k = 256, .threads = 256, .split_k = 2},
      {.tile_m = 16,
       .tile_n = 32,
       .tile_k = 512,
       .threads = 256,
       .loop = fk::GemmLoop::registers,
       .waves_k = 4}};
  constexpr std::int64_t sizes[][3] = {
      {70, 80, 1024}, {33, 144, 512}, {16, 48, 256}, {50, 64, 1152}};
  int count = 0;
  std::size_t turn = 0; // each configuration has two of the sizes, and others with each type
  for (const fx::DType type : {fx::DType(fx::f4E2M1FN), fx::DType(fx::f8E4M3FN)}) {
    for (const GemmConfig &config : configs)
      for (const bool isFirst : {true, false}) {
        const auto [m, n, k] = sizes[turn++ % std::size(sizes)];
        GemmProblem problem = mx(type, type, n, k);
        problem.scale_b_layout = OperandLayout::prepared;
        if (isFirst == (type == fx::f4E2M1FN)) // otherwise those of b alone
          problem.scale_a_layout = OperandLayout::prepared;
        if (!fk::supported(problem, config, here()))
          continue;
        const MxOperands operands = whole(problem, m);
        INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
        CHECK(product(problem, config, m, operands) == exact(problem, m, operands));
        ++count;
      }
  }
  CHECK(count > 20);
}

TEST_CASE("gated products with prepared scales, whose ups begin inside of a group of 32 rows",
          "[run]") {
  GemmProblem problem = mx(fx::f4E2M1FN, fx::f4E2M1FN, 48, 512);
  problem.scale_a_layout = problem.scale_b_layout = OperandLayout::prepared;
  problem.gated = problem.rows = true;
  problem.activation = Activation::silu;
  if (!fk::supported(problem, here()))
    return; // the test above says which message it has
  SweepCounts counts;
  const GemmConfig configs[] = {
      {.tile_m = 16, .tile_n = 96, .tile_k = 256, .threads = 64},
      {.tile_m = 32, .tile_n = 64, .tile_k = 256, .threads = 128, .waves_m = 2}};
  for (const GemmConfig &config : configs)
    runOnce(problem, config, 40, counts);
  CHECK(counts.compared == 2);
}

TEST_CASE("what quantise makes with prepared scales is what prepare_scales makes of them",
          "[run]") {
  for (std::int64_t m : {1, 33, 64}) {
    constexpr std::int64_t n = 768;
    fk::QuantiseProblem problem{
        .x = fx::bf16, .q = fx::f4E2M1FN, .n = n, .scale = fk::ScaleOf::block};
    std::vector<double> values = uniform(fx::bf16, m * n, 3);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] *= std::ldexp(1, int(i / 32 % 23) - 11); // each block has a scale of its own
    const Operand x = Operand::input(fx::bf16, m, n, values);
    const auto made = [&](bool prepared) {
      problem.prepared_scales = prepared;
      const OperandLayout layout = prepared ? OperandLayout::prepared : OperandLayout::rows;
      const auto [groups, blocks, size] = fk::PreparedScales::shape(m, n);
      const fx::DeviceArray<std::uint8_t> q(fx::Extents{m * n / 2});
      const fx::DeviceArray<std::uint8_t> scales = onDevice(std::vector<std::uint8_t>(
          std::size_t(prepared ? groups * blocks * size : m * n / 32), 0));
      const fx::Stream stream;
      fk::QuantisePlan(problem, fk::choose(problem, m, here()))(
          {.x = x.tensor(),
           .q = fx::tensor(q.data(), fx::f4E2M1FN, {m, n}),
           .scale = scalesOf(scales, layout, m, n)},
          stream);
      stream.synchronize();
      return scales.to_host();
    };
    CHECK(made(true) == fk::prepare_scales(m, n, made(false)));
  }
  fk::QuantiseProblem wrong{
      .q = fx::f8E4M3FN, .n = 544, .scale = fk::ScaleOf::block, .prepared_scales = true};
  CHECK(fk::supported(wrong, here()).why == "n is 544; rows with prepared scales are whole blocks "
                                            "of 256. prepare_scales fills the last one");
  wrong.scale = fk::ScaleOf::row;
  CHECK(fk::supported(wrong, here()).why == "scales that are prepared are those of ScaleOf::block");
  // More rows than offsets of 32 bits reach the scales of: nothing of the call's memory is looked at.
  const fk::QuantiseProblem large{.x = fx::bf16,
                                  .q = fx::f4E2M1FN,
                                  .n = 8192,
                                  .scale = fk::ScaleOf::block,
                                  .prepared_scales = true};
  const std::int64_t rows = std::int64_t(1) << 23;
  const fk::RowConfig config = fk::choose(large, rows, here());
  const auto args = fk::make_args(
      large, config, rows, [](const char *, fx::DType dtype, fx::TensorArg::Dims shape, fk::Role) {
        return fx::TensorArg(reinterpret_cast<void *>(4096), dtype, shape);
      });
  CHECK_THROWS_WITH(
      fk::QuantisePlan(large, config)(args),
      Catch::Contains("scale has 2147483648 bytes; prepared scales that a call writes have less "
                      "than 2 GiB. Call the plan for parts of the rows"));
}

TEST_CASE("prepared scales that do not fit are refused", "[run]") {
  GemmProblem problem = mx(fx::f4E2M1FN, fx::f4E2M1FN, 64, 512);
  const auto why = [&](const GemmProblem &wrong) { return fk::supported(wrong, here()).why; };
  problem.scale_a_layout = OperandLayout::columns;
  CHECK(why(problem) ==
        "scales do not lie by columns: scale_a_layout and scale_b_layout are rows or prepared");
  GemmProblem plain{.n = 64, .k = 512, .scale_b_layout = OperandLayout::prepared};
  CHECK(why(plain) ==
        "scales that are prepared are those of Scales::mx; of others scale_a_layout and "
        "scale_b_layout are rows");
  if (here().has(fx::feature::tensor_mover))
    return;
  problem.scale_a_layout = OperandLayout::prepared;
  GemmProblem batched = problem;
  batched.batch = 2;
  CHECK(why(batched) ==
        "the product is one of a batch, whose scales lie by rows: scale_a_layout and "
        "scale_b_layout are rows");
  GemmConfig config{.tile_m = 32, .tile_n = 64, .tile_k = 128, .threads = 256};
  CHECK_THAT(fk::supported(problem, config, here()).why,
             Catch::Contains("blocks of prepared scales have 256 elements of k"));
  config.tile_k = 256;
  config.split_k = 2;
  CHECK(fk::supported(problem, config, here()));
  problem.k = 768;
  CHECK_FALSE(fk::supported(problem, config, here()));
  problem.k = 512;
  const GemmConfig chosen = fk::choose(problem, 16);
  SampledMemory memory(256);
  fk::GemmArgs args = fk::make_args(problem, chosen, 16, memory.sampler());
  args.scale_a = fx::tensor(args.scale_a->data(), fx::f8E8M0FNU, {16, 16});
  CHECK_THROWS_WITH(
      fk::GemmPlan(problem, chosen)(args),
      Catch::Contains("scale_a has the shape (16, 16); (rows / 32, k / 256, 256) = (1, 2, 256)"));
}

TEST_CASE("a call of the microscaling formats that does not fit is refused", "[run]") {
  const GemmProblem good = mx(fx::f4E2M1FN, fx::f4E2M1FN, 64, 256);
  const GemmConfig config = fk::choose(good, 16);
  SampledMemory memory(256);
  const fk::GemmArgs right = fk::make_args(good, config, 16, memory.sampler());
  const fk::GemmPlan plan(good, config);
  fk::GemmArgs args = right;
  args.scale_a.reset();
  CHECK_THROWS_WITH(plan(args), Catch::Contains("scale_a is missing; the problem has it"));
  args = right;
  args.scale_a = fx::tensor(right.scale_a->data(), fx::f8E8M0FNU, {16, 2});
  CHECK_THROWS_WITH(plan(args),
                    Catch::Contains("scale_a has the shape (16, 2); (m, k / 32) = (16, 8)"));
  args = right;
  args.scale_b = fx::tensor(right.scale_b->data(), fx::f32, {64, 8});
  CHECK_THROWS_WITH(plan(args), Catch::Contains("scale_b is of type f32"));
  args = right;
  args.a = fx::tensor(right.a.data(), fx::f4E2M1FN, {16, 256}, {272, 1});
  CHECK_THROWS_WITH(plan(args), Catch::Contains("16 bytes"));
}

namespace {
namespace impl = fk::impl;

constexpr std::int64_t kSide = 64, kLong = 5 * 128;

/// A tile of five steps of gfx950's loop, whose tiles come by LDS's own loads and whose scales come
/// straight into registers, with waits that are weaker where `weaker` says so.
const fx::Kernel multiply_scaled{
    "multiply_scaled", [](fx::Tensor a, fx::Tensor b, fx::Tensor scaleA, fx::Tensor scaleB,
                          fx::Tensor c, fx::Constexpr<impl::RingWaits> weaker) {
      GemmProblem problem = mx(fx::f8E4M3FN, fx::f8E4M3FN, kSide, kLong);
      problem.c = fx::f32;
      problem.b_layout = OperandLayout::rows;
      const GemmConfig config{.tile_m = kSide,
                              .tile_n = kSide,
                              .tile_k = 128,
                              .threads = 256,
                              .waves_m = 2,
                              .stages = 3,
                              .dma = true};
      const impl::LoopShape shape =
          impl::loopShape(problem, config, *impl::gemmForm(problem, config, fx::target()));
      const fx::TiledMma mma = impl::weightsFirst(shape.form, shape.waves, shape.wavesM);
      const auto matrix = [](const fx::Tensor &memory, std::int64_t columns) { // (64, columns)
        return fx::make_view(memory.iter(),
                             fx::make_layout({kSide, columns}, {fx::Int64(columns), 1}));
      };
      const fx::Int32 rows(static_cast<std::int32_t>(kSide));
      const auto scalesOf = [&](const fx::Tensor &memory) {
        return impl::MxTile{.scales = matrix(memory, kLong / 32),
                            .validRows = rows,
                            .ofRow = kLong / 32,
                            .ofPart = kLong / 32};
      };
      const impl::MxSums sums(shape, mma,
                              {.a = scalesOf(scaleA),
                               .b = {scalesOf(scaleB)},
                               .elementA = problem.a,
                               .elementB = problem.b});
      fx::SharedAllocator shared;
      const auto tile = [&](const fx::Tensor &memory) { // (64, K)
        return impl::OperandTile{matrix(memory, kLong), rows, OperandLayout::rows};
      };
      std::vector<std::unique_ptr<impl::RingOperand>> operands;
      operands.push_back(impl::ringOperandA(shape, mma, tile(a), shared));
      operands.push_back(impl::ringOperandB(shape, mma, tile(b), shared));
      auto fragments = std::make_unique<impl::FragmentsOfRing>(shape, *operands[1]);
      impl::Ring(shape, std::move(operands), std::move(fragments), sums, weaker.value()).run();
      // All sums are stored, so that the compiler leaves no read out.
      for (int j = 0; j < shape.tilesOfHalf(); ++j)
        for (int i = 0; i < shape.tilesM(); ++i)
          for (int v = 0; v < 4; ++v)
            fx::make_view(c.iter(), fx::make_layout(kSide * kSide))(
                fx::thread_idx().x + 256 * (v + 4 * (i + shape.tilesM() * j))) =
                fx::Numeric(sums.fragment(0)(v, j, i));
    }};

void multiplyWaiting(const impl::RingWaits &weaker) {
  const auto operand = [](fx::DType type, std::int64_t count, std::uint64_t seed) {
    return Operand::input(type, 1, count, uniform(type, count, seed));
  };
  const auto powers = [](std::uint64_t seed) {
    const std::vector<std::uint8_t> bytes(std::size_t(kSide * kLong / 32),
                                          static_cast<std::uint8_t>(126 + seed));
    return onDevice(bytes);
  };
  const Operand a = operand(fx::f8E4M3FN, kSide * kLong, 1),
                b = operand(fx::f8E4M3FN, kSide * kLong, 2),
                c = Operand::output(fx::f32, 1, kSide * kSide);
  const auto scaleA = powers(1), scaleB = powers(2);
  const fx::Stream stream;
  multiply_scaled(a.tensor(), b.tensor(), scaleA, scaleB, c.tensor(), weaker)
      .launch({.grid = 1, .block = 256, .stream = stream});
  stream.synchronize();
}
} // namespace

// Their test passes if the emulator says what is read too early.
TEST_CASE("waits of a ring with scales: first", "[.weak]") { multiplyWaiting({.first = 1}); }
TEST_CASE("waits of a ring with scales: later", "[.weak]") { multiplyWaiting({.later = 1}); }
TEST_CASE("waits of a ring with scales: none is weaker", "[.scaled]") { multiplyWaiting({}); }
