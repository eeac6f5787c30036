// Products of operands of f32, by instructions that round none of them: routers have such products. And
// rings of any number of tiles.
#include "support/product.h"
#include "support/size_sweep.h"

#include <flydsl/kernels/conv.h>
#include <flydsl/kernels/grouped_gemm.h>

#include <array>

using namespace kernel_tests;

namespace {

using fk::GemmLoop, fk::OperandLayout;

GemmProblem singles(std::int64_t n, std::int64_t k, fx::DType c = fx::f32) {
  return {.a = fx::f32, .b = fx::f32, .c = c, .n = n, .k = k};
}
/// Whether the target has instructions of f32: CDNA and gfx1250.
bool hasSingles(const fx::Target &target = here()) {
  return target.has(fx::feature::mfma) || target.name() == "gfx1250";
}

} // namespace

TEST_CASE("products of f32, in each loop and layout", "[run]") {
  if (!hasSingles())
    return;
  SweepCounts counts;
  GemmProblem problem = singles(40, 52);
  problem.bias = true;
  for (const std::int64_t m : {1, 37})
    runOnce(problem, fk::choose(problem, m), m, counts);
  problem = singles(33, 68, fx::bf16);
  problem.b_layout = OperandLayout::rows;
  runOnce(problem, fk::choose(problem, 35), 35, counts);
  // Parts of K, waves that share it, gated pairs.
  const int threads = 4 * here().wave_size();
  problem = singles(48, 256);
  runOnce(
      problem,
      {.tile_m = 32, .tile_n = 64, .tile_k = 32, .threads = threads, .waves_k = 2, .split_k = 2},
      20, counts);
  problem.gated = true;
  problem.activation = Activation::silu;
  runOnce(problem,
          {.tile_m = 16,
           .tile_n = 32,
           .tile_k = 32,
           .threads = threads,
           .loop = GemmLoop::registers,
           .waves_k = 4},
          9, counts);
  CHECK(counts.compared == 5);
}

// Where there are no instructions of f32, each row of b is a wave's: one and more tiles of four rows, a k of
// less than a step, of many, and one that ends in the middle of a wave.
TEST_CASE("products of f32 without matrix instructions", "[run]") {
  if (hasSingles())
    return;
  SweepCounts counts;
  GemmProblem problem = singles(40, 52);
  problem.b_layout = OperandLayout::rows;
  problem.bias = true;
  for (const std::int64_t m : {1, 37})
    runOnce(problem, fk::choose(problem, m), m, counts);
  problem = singles(33, 1412, fx::bf16);
  problem.b_layout = OperandLayout::rows;
  problem.scale_a = problem.scale_b = Scales::per_row;
  problem.activation = Activation::silu;
  runOnce(problem, fk::choose(problem, 6), 6, counts);
  problem = singles(16, 128);
  problem.b_layout = OperandLayout::rows;
  problem.batch = 2;
  runOnce(problem, fk::choose(problem, 5), 5, counts);
  CHECK(counts.compared == 4);
}

// Numbers of 24 bits times powers of two: an instruction that cuts bits off would show.
TEST_CASE("products of f32 lose no bit of an operand", "[run]") {
  const auto chosen = [](const GemmProblem &of, std::int64_t m) {
    return hasSingles() ? small(of) : fk::choose(of, m);
  };
  GemmProblem problem = singles(32, 64);
  problem.b_layout = hasSingles() ? OperandLayout::prepared : OperandLayout::rows;
  constexpr std::int64_t m = 64;
  Values values;
  values.a.assign(std::size_t(m * problem.k), 0);
  for (std::int64_t i = 0; i < m; ++i)
    values.a[std::size_t(i * problem.k + i)] = std::exp2(i % 7 - 3);
  values.b = integers(problem.n * problem.k, 7, -(1 << 24) + 1, (1 << 24) - 1);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < problem.n; ++j)
      expected.push_back(values.b[std::size_t(j * problem.k + i)] * std::exp2(i % 7 - 3));
  CHECK(product(problem, chosen(problem, m), m, values) == expected);
  // And the other way round: the bits of a.
  GemmProblem turned = singles(64, 64);
  turned.b_layout = problem.b_layout;
  Values back;
  back.a = integers(m * turned.k, 9, -(1 << 24) + 1, (1 << 24) - 1);
  back.b.assign(std::size_t(turned.n * turned.k), 0);
  for (std::int64_t j = 0; j < turned.n; ++j)
    back.b[std::size_t(j * turned.k + j)] = 1;
  CHECK(product(turned, chosen(turned, m), m, back) == back.a);
}

TEST_CASE("products of experts in f32", "[run]") {
  if (!hasSingles())
    return;
  SweepCounts counts;
  const fk::GroupedGemmProblem problem{
      .a = fx::f32, .b = fx::f32, .c = fx::f32, .experts = 3, .n = 32, .k = 64, .unit = 16};
  runOnce(problem, fk::choose(problem, 40), 40, counts);
  CHECK(counts.compared == 1);
}

TEST_CASE("products of f32 have a tile, or are refused") {
  for (const char *name : kEmulatorTargets) {
    const fx::Target target = fx::Target::parse(name);
    if (!hasSingles(target)) {
      const std::string has =
          std::string("a and b are of type f32; ") + name + " has no matrix instructions of f32, ";
      CHECK(fk::supported(singles(64, 64), target).why ==
            has + "and multiplies them where both lie by rows. Leave b as it lies "
                  "(OperandLayout::rows), or give both as f16 or bf16");
      fk::GroupedGemmProblem experts{
          .a = fx::f32, .b = fx::f32, .c = fx::f32, .experts = 3, .n = 32, .k = 64, .unit = 16};
      for (const OperandLayout layout : {experts.b_layout, OperandLayout::rows}) {
        experts.b_layout = layout; // no layout helps
        CHECK(fk::supported(experts, target).why ==
              has + "by which groups are multiplied. Give them as f16 or bf16");
      }
      experts.a = experts.b = fx::bf16;
      CHECK(fk::supported(experts,
                          {.tile_m = 4, .tile_n = 16, .tile_k = 256, .loop = GemmLoop::vector},
                          target)
                .why == "GemmLoop::vector is GemmPlan's; groups are multiplied by matrix "
                        "instructions, as loop=ring does");
      GemmProblem rows = singles(64, 64);
      rows.b_layout = OperandLayout::rows;
      CHECK(fk::supported(rows, {.tile_m = 16, .tile_n = 64, .tile_k = 32, .threads = 128}, target)
                .why ==
            std::string("tile 16x64x32 of 128 threads: a and b are of type f32, which ") + name +
                " multiplies without matrix instructions: loop is GemmLoop::vector");
      for (const fk::GemmConfig &config : fk::configs(rows, 5000, target))
        CHECK(config.loop == GemmLoop::vector);
    }
    for (const std::int64_t n : {1, 128, 256, 384})
      for (const std::int64_t k : {4, 2880, 7168})
        for (const OperandLayout layout : {OperandLayout::prepared, OperandLayout::rows})
          for (const std::int64_t m : {1, 64, 5000}) {
            if (!hasSingles(target) && layout == OperandLayout::prepared)
              continue;
            GemmProblem problem = singles(n, k);
            problem.b_layout = layout;
            INFO(name << " " << fx::to_config(problem).str() << " m=" << m);
            REQUIRE(fk::supported(problem, target).why == "");
            CHECK(fk::supported(problem, fk::choose(problem, m, target), target).why == "");
          }
  }
}

TEST_CASE("operands that are f32 alone, or lie as they may not, are refused") {
  const fx::Target target = fx::Target::parse("gfx942");
  GemmProblem problem = singles(64, 64);
  problem.b = fx::bf16;
  CHECK(
      fk::supported(problem, target).why ==
      "a is of type f32 and b of type bf16; gfx942 has products where both are f16, or both bf16, "
      "or both i8, or each is f8E4M3FNUZ or f8E5M2FNUZ, or both f32");
  std::swap(problem.a, problem.b);
  CHECK(fk::supported(problem, target).why.find("a is of type bf16 and b of type f32") == 0);
  problem = singles(64, 64);
  problem.b_layout = OperandLayout::columns;
  CHECK(fk::supported(problem, target).why ==
        "b lies by columns and is of type f32; f16 and bf16 may do so");
  CHECK(fk::supported(singles(64, 6), target).why ==
        "k is 6: a row of 24 bytes is no multiple of 16 bytes");
  problem = singles(64, 64);
  problem.scale_a = problem.scale_b = Scales::per_block;
  CHECK(fk::supported(problem, target).why ==
        "scales of blocks belong to 8-bit floats; a is of type f32");
  const fk::ConvProblem conv{
      .x = fx::f32, .weight = fx::f32, .y = fx::f32, .channels = 16, .filters = 16};
  CHECK(fk::supported(conv, target).why ==
        "x is of type f32; convolutions are of operands of 16 and 8 bits");
}

TEST_CASE("rings of 2 to 8 tiles that LDS loads by itself", "[run]") {
  if (!here().has(fx::feature::buffer_to_lds_wide))
    return;
  SweepCounts counts;
  GemmProblem problem{.a = fx::bf16, .b = fx::bf16, .c = fx::f32, .n = 60, .k = 64 * 21 + 8};
  for (const OperandLayout layout : {OperandLayout::rows, OperandLayout::prepared})
    for (const int stages : layout == OperandLayout::rows ? std::array{3, 8} : std::array{5, 6}) {
      problem.b_layout = layout;
      // Steps that end inside of a round of stages, and fewer than there are stages.
      runOnce(problem, {.tile_m = 32, .tile_n = 64, .tile_k = 64, .stages = stages, .dma = true},
              33, counts);
      if (stages == 5 || stages == 8) {
        GemmProblem few = problem;
        few.k = 64 * 3;
        runOnce(few, {.tile_m = 32, .tile_n = 64, .tile_k = 64, .stages = stages, .dma = true}, 17,
                counts);
      }
    }
  CHECK(counts.compared == 2 * 2 + 2);
}

TEST_CASE("numbers of stages that do not fit are refused") {
  const fx::Target target = fx::Target::parse("gfx950");
  const auto why = [&](const GemmConfig &config) {
    return fk::supported(GemmProblem{.a = fx::bf16, .b = fx::bf16, .n = 256, .k = 4096}, config,
                         target)
        .why;
  };
  CHECK(why({.tile_m = 64, .tile_n = 64, .tile_k = 64, .stages = 3, .dma = true}) == "");
  CHECK(why({.tile_m = 64, .tile_n = 64, .tile_k = 64, .stages = 3}) ==
        "tile 64x64x64 of 256 threads: stages is 3; it is 2, or with dma 2 to 8");
  for (const int stages : {-1, 0, 1, 9})
    CHECK(why({.tile_m = 64, .tile_n = 64, .tile_k = 64, .stages = stages, .dma = true}) ==
          "tile 64x64x64 of 256 threads: stages is " + std::to_string(stages) +
              "; it is 2, or with dma 2 to 8");
  // Rows of 64 bytes are one part of 32 elements of K.
  CHECK(
      why({.tile_m = 64, .tile_n = 64, .tile_k = 32, .stages = 5, .dma = true}) ==
      "tile 64x64x32 of 256 threads: stages is 5 and a step has 1 parts of k; one of both is even, "
      "because fragments take turns");
  CHECK(why({.tile_m = 256, .tile_n = 64, .tile_k = 64, .stages = 6, .dma = true}) ==
        "tile 256x64x64 of 256 threads: 6 tiles of a take 196608 bytes of LDS; there are 163840");
}
