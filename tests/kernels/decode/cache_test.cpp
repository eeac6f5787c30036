// Decode over caches of all layouts: pages, parts, worklists, windows, heads; latent attention.
#include "support/decode_case.h"

using namespace kernel_tests;
using namespace kernel_tests::decoding;

TEST_CASE("decoding over pages of 16 tokens", "[run]") {
  for (fx::DType type : {fx::bf16, fx::f16}) {
    const DecodeProblem problem{
        .q = type, .kv = type, .y = type, .q_heads = 4, .kv_heads = 2, .head = 64, .lse = true};
    expectDecode(problem, random(problem, {1, 15, 16, 17, 33, 100}));
  }
  const DecodeProblem wide{.y = fx::f32, .q_heads = 16, .kv_heads = 1, .head = 128};
  expectDecode(wide, random(wide, {259}));
}

TEST_CASE("decoding in parts gives the same, also where parts are empty", "[run]") {
  const DecodeProblem problem{.q_heads = 3, .kv_heads = 1, .head = 64, .lse = true};
  // A sequence without tokens sees nothing: its results are 0, its logarithms -infinity.
  for (int splits : {1, 2, 7})
    expectDecode(problem, random(problem, {0, 1, 40, 150}),
                 DecodeConfig{.block = 2 * wave(), .rows = 16, .splits = splits});
}

TEST_CASE("decoding by a worklist", "[run]") {
  const DecodeProblem problem{.q_heads = 4, .kv_heads = 2, .head = 64, .lse = true};
  for (int workers : {1, 2, 5, 12})
    expectDecode(problem, random(problem, {0, 1, 200, 64, 33, 31, 290}),
                 DecodeConfig{.block = 2 * wave(), .workers = workers, .unit = 64});
  const DecodeProblem window{.q_heads = 6, .kv_heads = 1, .head = 32, .queries = 3, .window = true};
  for (int workers : {3, 4})
    expectDecode(window, random(window, {3, 150, 80}, 70),
                 DecodeConfig{.block = wave(), .rows = 16, .workers = workers, .unit = 32});
}

TEST_CASE("decoding of several queries, which see one another", "[run]") {
  for (int queries : {2, 3, 4}) {
    const DecodeProblem problem{
        .q_heads = 8, .kv_heads = 1, .head = 64, .queries = queries, .lse = true};
    expectDecode(problem, random(problem, {queries, 20, 65}));
  }
  // Rows in several blocks, and in one.
  const DecodeProblem problem{.q_heads = 16, .kv_heads = 1, .head = 32, .queries = 4};
  for (int rows : {16, 32, 64})
    expectDecode(problem, random(problem, {37}), DecodeConfig{.block = 2 * wave(), .rows = rows});
}

TEST_CASE("decoding of windows", "[run]") {
  for (int before : {-1, 0, 1, 30, 63, 64, 1000}) {
    const DecodeProblem problem{
        .q_heads = 2, .kv_heads = 1, .head = 32, .queries = 2, .window = true, .lse = true};
    expectDecode(problem, random(problem, {2, 64, 131}, before),
                 DecodeConfig{.block = 2 * wave(), .splits = before % 2 ? 1 : 2});
  }
}

TEST_CASE("decoding over pages of all sizes", "[run]") {
  for (int page : {1, 3, 8, 64, 1024}) {
    const DecodeProblem problem{.q_heads = 2, .kv_heads = 2, .head = 32, .page = page};
    expectDecode(problem, random(problem, {5, 77}));
  }
}

TEST_CASE("decoding of heads of all sizes", "[run]") {
  for (int head : {32, 96, 192, 256}) {
    const DecodeProblem problem{.y = fx::f16, .q_heads = 2, .kv_heads = 1, .head = head};
    expectDecode(problem, random(problem, {45}));
  }
}

TEST_CASE("decoding over packed caches", "[run]") {
  for (int vPack : {0, 8}) {
    const DecodeProblem problem{.q_heads = 4,
                                .kv_heads = 2,
                                .head = 64,
                                .cache = KvCache::packed,
                                .page = 16,
                                .pack = 8,
                                .v_pack = vPack};
    expectDecode(problem, random(problem, {1, 16, 45}));
  }
}

TEST_CASE("decoding of latent attention", "[run]") {
  const DecodeProblem problem{.y = fx::f32,
                              .q_heads = 16,
                              .head = 576,
                              .page = 1,
                              .scale = 1 / std::sqrt(192.0),
                              .latent = 512,
                              .lse = true};
  expectDecode(problem, random(problem, {1, 31, 64, 70}));
  DecodeProblem wide = problem;
  wide.q_heads = 128;
  wide.page = 64;
  wide.y = fx::bf16;
  expectDecode(wide, random(wide, {33}));
  DecodeProblem quantised = problem;
  quantised.kv = fx::f8E4M3FNUZ;
  quantised.q_heads = 32;
  quantised.scales = KvScales::tensor;
  // Waves of a block: of 64 lanes two share 16 rows, of 32 four.
  expectDecode(quantised, random(quantised, {65}),
               DecodeConfig{.block = wave() == 64 ? 256 : 4 * 32 * 2, .rows = 32});
  // A smaller one: rows of several queries, in blocks and parts.
  DecodeProblem small{.q_heads = 16, .head = 192, .page = 4, .queries = 2, .latent = 128};
  expectDecode(small, random(small, {2, 90}), DecodeConfig{.block = 2 * wave(), .rows = 32});
  expectDecode(small, random(small, {2, 90}),
               DecodeConfig{.block = wave(), .rows = 16, .splits = 3});
  small.kv = fx::f8E5M2;
  small.q_heads = 24;
  small.window = true;
  expectDecode(small, random(small, {100, 3, 40}, 50),
               DecodeConfig{.block = 2 * wave(), .rows = 32, .workers = 4, .unit = 32});
}

TEST_CASE("a worklist of sequences with different numbers of queries", "[run]") {
  // Fewer queries than the problem says, none, and so many that blocks go over others; sequences that
  // workers cut, and that they have whole.
  DecodeProblem problem{.q_heads = 4,
                        .kv_heads = 2,
                        .head = 64,
                        .queries = 3,
                        .varlen = true,
                        .sink = true,
                        .lse = true};
  for (int workers : {1, 2, 7}) {
    expectDecode(problem, random(problem, {130, 90, 64, 90, 33}, -1, {2, 0, 20, 3, 1}),
                 DecodeConfig{.block = 2 * wave(), .workers = workers, .unit = 32});
    problem.window = !problem.window;
    expectDecode(problem, random(problem, {40, 100}, problem.window ? 37 : -1, {9, 1}),
                 DecodeConfig{.block = wave(), .workers = workers, .unit = 32});
  }
  DecodeProblem latent{
      .q_heads = 16, .head = 192, .queries = 1, .varlen = true, .latent = 128, .lse = true};
  expectDecode(latent, random(latent, {70, 40, 33}, -1, {1, 3, 0}),
               DecodeConfig{.block = fk::choose(latent, 4).block,
                            .rows = fk::choose(latent, 4).rows,
                            .workers = 3,
                            .unit = 32});
}

TEST_CASE("decoding over pages of sequences one after another", "[run]") {
  DecodeProblem problem{.q_heads = 4, .kv_heads = 2, .head = 64, .csr = true, .lse = true};
  for (int page : {1, 16}) {
    problem.page = page;
    expectDecode(problem, random(problem, {48, 33, 0, 1}));
  }
  expectDecode(problem, random(problem, {90, 40}), DecodeConfig{.block = 2 * wave(), .splits = 3});
  for (int workers : {2, 5})
    expectDecode(problem, random(problem, {90, 0, 40, 1}),
                 DecodeConfig{.block = 2 * wave(), .workers = workers, .unit = 32});
  problem.varlen = problem.bias = problem.tree_mask = true;
  expectDecode(problem, random(problem, {48, 33, 20}, -1, {1, 4, 0}));
  problem = {.q_heads = 16, .head = 192, .csr = true, .latent = 128};
  expectDecode(problem, random(problem, {40, 17}));
  CHECK(
      fk::supported(DecodeProblem{.csr = true, .varlen = true}, DecodeConfig{.workers = 3}, here())
          .why.find("with csr and varlen it is 0") != std::string::npos);
}
