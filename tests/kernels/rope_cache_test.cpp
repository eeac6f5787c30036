// Rotary position embedding that writes k and v into a cache.
#include "support/rope_case.h"
#include "support/size_sweep.h"

using namespace kernel_tests;

TEST_CASE("a cache of pages", "[run]") {
  RopeProblem problem = small();
  for (int page : {1, 16, 24}) {
    problem.page = page;
    RopeCase(problem, 19).expect();
  }
  RopeCase(problem, 19).expect({}, true);
  problem.x = problem.y = fx::f32;
  problem.cached = fx::bf16;
  problem.k_out = false;
  problem.index = fx::i64;
  RopeCase(problem, 3).expect();
  problem.q_heads = 0;
  problem.v_cached = false;
  problem.rotary = 32;
  problem.tail = true;
  RopeCase(problem, 3).expect();
}

TEST_CASE("a packed cache", "[run]") {
  RopeProblem problem = small();
  problem.cache = KvCache::packed;
  RopeCase(problem, 17).expect();
  problem.pack = 8;
  problem.v_pack = 8;
  problem.x = problem.y = problem.cached = fx::bf16;
  problem.style = RopeStyle::gptj;
  RopeCase(problem, 17).expect();
  problem.pack = 4;
  problem.page = 5;
  problem.v_pack = 1;
  problem.head = 96;
  RopeCase(problem, 6).expect();
}

TEST_CASE("a cache of 8 bits", "[run]") {
  for (fx::DType type : {hardwareFp8(), fx::DType(fx::i8)})
    for (KvCache cache : {KvCache::pages, KvCache::packed}) {
      RopeProblem problem = small();
      problem.cache = cache;
      problem.cached = type;
      problem.page = 4;
      RopeCase test(problem, 6);
      test.v[3] = 100; // limited to the largest number
      test.expect();
    }
}

TEST_CASE("a cache of 8 bits whose heads have scales of their own", "[run]") {
  SweepCounts counts;
  for (fx::DType type : {hardwareFp8(), fx::DType(fx::i8)})
    for (KvCache cache : {KvCache::pages, KvCache::packed}) {
      RopeProblem problem = small();
      problem.cache = cache;
      problem.cached = type;
      problem.page = 4;
      problem.cache_scales = fk::KvScales::token;
      for (int lanes : {1, 8})
        runOnce(problem, fk::RopeConfig{.lanes = lanes, .heads = 2, .block = 64}, 6, counts);
      problem.k_norm = fk::HeadNorm::plain;
      problem.rotary = 0;
      runOnce(problem, fk::choose(problem, 6), 6, counts);
      // Given ones.
      problem.cache_scales = fk::KvScales::head;
      runOnce(problem, fk::choose(problem, 6), 6, counts);
    }
  CHECK(counts.compared == counts.runs);
}

TEST_CASE("slots that are none, and positions far out", "[run]") {
  RopeProblem problem = small();
  problem.index = fx::i64;
  RopeCase test(problem, 6);
  test.slots[0] = -1;
  test.slots[2] = double(test.blocks * problem.page); // past the cache
  test.slots[3] = -0x1p40;
  test.slots[4] = 0x1p32 + 1; // a place of the cache if 32 bits are looked at
  test.expect();
  // All slots are none: the cache is untouched.
  std::fill(test.slots.begin(), test.slots.end(), -1);
  test.expect();
  // Outside of the tables: NaNs, and nothing is read there.
  test.positions[1] = -1;
  test.positions[2] = double(test.rows);
  test.positions[5] = 0x1p33;
  test.expect();
  problem.style = RopeStyle::gptj;
  problem.rotary = 16;
  RopeCase pairs(problem, 4);
  pairs.positions[0] = -5;
  pairs.expect();
  // A row past 65,535.
  RopeProblem narrow{.q_heads = 1, .head = 8};
  RopeCase far(narrow, 3, 70000);
  far.positions = {69999, 65536, 0};
  far.expect();
}
