// What is chosen of tiles with long steps, and that they spill nothing.
#include "support/product.h"
#include "support/structure.h"

using namespace kernel_tests;
using fk::OperandLayout;

TEST_CASE("gfx1250's products take long steps by a mover where K has whole ones") {
  const fx::Target target = fx::Target::parse("gfx1250");
  const auto chosen = [&](fx::DType type, std::int64_t m, std::int64_t n, std::int64_t k,
                          bool isZero = false, OperandLayout b = OperandLayout::prepared) {
    GemmProblem problem{.a = type, .b = type, .b_layout = b, .n = n, .k = k};
    problem.zeroed_workspace = isZero;
    return fk::choose(problem, m, target);
  };
  struct Case {
    fx::DType type;
    std::int64_t m, n, k;
    int tileM, tileN, bytesK, threads;
  };
  for (const Case &c : std::initializer_list<Case>{
           {fx::bf16, 16, 7168, 3072, 16, 32, 1024, 64},     // 224 tiles of 256 units
           {fx::bf16, 32, 7168, 3072, 32, 32, 1024, 64},     // reads the weights once
           {fx::f8E4M3FN, 64, 7168, 3072, 32, 64, 512, 128}, // 64 x 64 are 112
           {fx::f8E4M3FN, 128, 7168, 3072, 64, 64, 512, 128},
           {fx::f8E4M3FN, 512, 7168, 3072, 128, 128, 256, 128},
           {fx::bf16, 1024, 7168, 3072, 128, 256, 128, 128}}) {
    const GemmConfig config = chosen(c.type, c.m, c.n, c.k);
    INFO(c.m << " " << fx::to_config(config).str());
    CHECK(config.dma);
    CHECK(config.loop == fk::GemmLoop::ring);
    CHECK(config.tile_m == c.tileM);
    CHECK(config.tile_n == c.tileN);
    CHECK(config.tile_k * c.type.bits() / 8 == c.bytesK);
    CHECK(config.threads == c.threads);
  }
  // Parts of K that the same launch adds give larger tiles enough work.
  const GemmConfig parts = chosen(fx::bf16, 64, 1536, 7168, true);
  CHECK(parts.tile_m == 64);
  CHECK(parts.split_k == 7); // 24 tiles of 28 steps
  CHECK(chosen(fx::bf16, 64, 1536, 7168).tile_m == 32);
  // Weights as they are come through LDS, too: two rows of waves share them.
  const GemmConfig rows = chosen(fx::bf16, 512, 7168, 3072, false, OperandLayout::rows);
  CHECK((rows.dma && rows.tile_m == 128 && rows.tile_n == 128 && rows.tile_k == 128));
  CHECK(rows.waves_m == 2);
  CHECK(chosen(fx::bf16, 200, 768, 512, false, OperandLayout::rows).tile_k == 128); // two steps
  // Steps of 512 bytes are 256 elements of bf16.
  CHECK(chosen(fx::bf16, 64, 7168, 3072 + 128).tile_k <= 128);
  CHECK(chosen(fx::bf16, 16, 7168, 3072 + 128).loop == fk::GemmLoop::registers);
}

TEST_CASE("tiles of long steps for operands of the microscaling formats spill none") {
  struct Case {
    const char *target;
    fx::DType a, b;
    std::int64_t m;
    OperandLayout scales;
  };
  for (const Case &c : std::initializer_list<Case>{
           {"gfx950", fx::f4E2M1FN, fx::f4E2M1FN, 2048, OperandLayout::rows},
           {"gfx950", fx::f4E2M1FN, fx::f4E2M1FN, 2048, OperandLayout::prepared},
           {"gfx1250", fx::f4E2M1FN, fx::f4E2M1FN, 2048, OperandLayout::rows},
           {"gfx1250", fx::f4E2M1FN, fx::f4E2M1FN, 128, OperandLayout::rows},
           {"gfx1250", fx::f8E4M3FN, fx::f4E2M1FN, 2048, OperandLayout::rows},
           {"gfx1250", fx::f8E4M3FN, fx::f8E4M3FN, 2048, OperandLayout::rows},
           {"gfx1250", fx::f8E4M3FN, fx::f8E4M3FN, 512, OperandLayout::rows},
           {"gfx1250", fx::f8E4M3FN, fx::f8E4M3FN, 64, OperandLayout::rows},
           {"gfx1250", fx::f8E4M3FN, fx::f8E4M3FN, 16, OperandLayout::rows}}) {
    const fx::Target target = fx::Target::parse(c.target);
    GemmProblem problem{.a = c.a,
                        .b = c.b,
                        .c = fx::bf16,
                        .n = 7168,
                        .k = 7168,
                        .scale_a = Scales::mx,
                        .scale_b = Scales::mx,
                        .scale = fx::f8E8M0FNU};
    problem.scale_a_layout = problem.scale_b_layout = c.scales;
    for (const bool isGated : {false, true}) {
      problem.gated = isGated;
      if (isGated && c.m <= 16) // waves that share K have these
        continue;
      const GemmConfig config = fk::choose(problem, c.m, target);
      INFO(c.target << " " << fx::to_config(problem).str() << " " << fx::to_config(config).str());
      CHECK(config.dma);
      expectNoSpillsWith(problem, config, target);
    }
  }
}
