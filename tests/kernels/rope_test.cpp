// Rotary position embedding of normed and quantised heads.
#include "support/rope_case.h"

using namespace kernel_tests;

TEST_CASE("rotation of heads of any size", "[run]") {
  for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj}) {
    RopeProblem problem{.q_heads = 3, .kv_heads = 1, .head = 64, .style = style};
    RopeCase(problem, 5).expect();
    problem.head = 96;
    RopeCase(problem, 2).expect();
    problem.x = problem.y = problem.table = fx::bf16;
    problem.index = fx::i64;
    problem.head = 128;
    RopeCase(problem, 3).expect();
    problem.x = problem.y = fx::f32;
    problem.head = 256;
    problem.kv_heads = 0;
    RopeCase(problem, 1).expect();
    problem.head = 10; // nothing but pairs is aligned
    problem.kv_heads = 4;
    RopeCase(problem, 2).expect();
  }
}

TEST_CASE("rotation of a part of a head", "[run]") {
  for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj})
    for (bool tail : {false, true}) {
      RopeProblem problem{
          .q_heads = 2, .kv_heads = 1, .head = 80, .rotary = 32, .style = style, .tail = tail};
      RopeCase(problem, 3).expect();
      RopeCase(problem, 3).expect(fk::RopeConfig{.lanes = 4, .heads = 3, .block = 64});
      problem.head = 192;
      problem.rotary = 64;
      problem.y = fx::f32;
      RopeCase(problem, 2).expect();
      problem.rotary = 0;
      RopeCase(problem, 1).expect();
    }
}

TEST_CASE("heads shared in every way", "[run]") {
  for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj}) {
    RopeProblem problem = small();
    problem.style = style;
    for (int lanes : {1, 2, 16, 32})
      RopeCase(problem, 3).expect(fk::RopeConfig{.lanes = lanes, .heads = 1, .block = 64});
    // 8 heads in rounds that are all of one kind, of two kinds, and with nothing in the last.
    for (int heads : {2, 3, 4, 8})
      RopeCase(problem, 7).expect(fk::RopeConfig{.lanes = 4, .heads = heads, .block = 64});
  }
}

TEST_CASE("rotation of what does not round", "[run]") {
  // Quarter turns of small integers, and values that are none where nothing rotates.
  for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj}) {
    RopeProblem problem = small();
    problem.style = style;
    problem.rotary = 32;
    RopeCase test(problem, 4);
    test.q = integers(std::int64_t(test.q.size()), 7, -1000, 1000);
    test.k = integers(std::int64_t(test.k.size()), 8, -1000, 1000);
    for (std::size_t i = 0; i < test.cos.size(); ++i) {
      const int quarter = int(i * 7 % 4);
      test.cos[i] = quarter == 0 ? 1 : quarter == 2 ? -1 : 0;
      test.sin[i] = quarter == 1 ? 1 : quarter == 3 ? -1 : 0;
    }
    test.q[33] = test.v[2] = std::numeric_limits<double>::infinity();
    test.q[40] = test.v[5] = std::nan("");
    test.expect();
  }
}

TEST_CASE("heads over their root mean squares, rotated", "[run]") {
  for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj}) {
    RopeProblem problem = small();
    problem.style = style;
    problem.q_norm = HeadNorm::weighted;
    problem.k_norm = HeadNorm::plain;
    problem.weight = fx::f32;
    RopeCase(problem, 3).expect();
    RopeCase(problem, 3).expect(fk::RopeConfig{.lanes = 2, .heads = 3, .block = 64});
    problem.x = problem.y = problem.cached = problem.weight = fx::bf16;
    problem.q_norm = HeadNorm::none;
    problem.k_norm = HeadNorm::weighted;
    problem.head = 96;
    problem.rotary = 64;
    problem.tail = true;
    problem.eps = 1e-5;
    RopeCase test(problem, 3);
    std::fill(test.k.begin(), test.k.begin() + 96, 0); // zeros stay zeros
    test.expect();
    // One lane a head, which no other helps.
    RopeCase(problem, 1).expect(fk::RopeConfig{.lanes = 1, .heads = 1, .block = 64});
  }
}

TEST_CASE("norms of a part of each head", "[run]") {
  for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj}) {
    // A latent key of MLA as DeepSeek has it: 512 elements that are normed and 64 that rotate, written
    // into the cache by this kernel alone.
    RopeProblem latent{.x = fx::f32,
                       .y = fx::bf16,
                       .kv_heads = 1,
                       .head = 576,
                       .rotary = 64,
                       .style = style,
                       .tail = true,
                       .k_out = false,
                       .cache = KvCache::pages,
                       .cached = fx::bf16,
                       .v_cached = false,
                       .k_norm = HeadNorm::weighted,
                       .weight = fx::f32,
                       .normed = 512};
    RopeCase(latent, 5).expect();
    // Parts that end inside of a slot, of the part that rotates, too; one lane.
    RopeProblem problem = small();
    problem.style = style;
    problem.q_norm = HeadNorm::weighted;
    problem.k_norm = HeadNorm::plain;
    problem.weight = fx::f32;
    for (int normed : {2, 20, problem.head - 2}) {
      problem.normed = normed;
      RopeCase(problem, 3).expect();
    }
    RopeCase(problem, 2).expect(fk::RopeConfig{.lanes = 1, .heads = 1, .block = 64});
  }
}

TEST_CASE("heads quantised by groups", "[run]") {
  const fx::DType fp8 = hardwareFp8();
  // In both styles.
  RopeProblem problem = fused();
  for (int group : {0, 32, 64, 128}) {
    problem.group = group;
    problem.style = group == 64 ? RopeStyle::neox : RopeStyle::gptj;
    RopeCase test(problem, 2);
    std::fill(test.q.begin(), test.q.begin() + 512, 0); // scales of zeros
    test.q[512 + 100] = 30;                             // one far above the others
    test.expect();
  }
  problem.style = RopeStyle::neox;
  RopeCase(problem, 1).expect();
  problem.style = RopeStyle::gptj;
  // Scales that are powers of two.
  problem.scale = fx::f8E8M0FNU;
  problem.group = 32;
  for (fx::DType type : {fx::f8E4M3FN, fx::f8E4M3FNUZ, fx::f8E5M2, fx::f8E5M2FNUZ}) {
    problem.y = type;
    RopeCase(problem, 2).expect();
  }
  // Integers, a scale for each head, and a cache of another type.
  RopeProblem integer = small();
  integer.y = fx::i8;
  integer.quantise = Quantisation::row;
  integer.head = 96;
  integer.cached = fp8;
  RopeCase(integer, 3).expect();
  // A given scale.
  integer.y = fp8;
  integer.quantise = Quantisation::fixed;
  integer.q_norm = HeadNorm::plain;
  RopeCase(integer, 3).expect();
}

TEST_CASE("rotation in place, of parts of one tensor, and of no tokens") {
  const RopeProblem problem{.q_heads = 2, .kv_heads = 1, .head = 32};
  const fk::RopePlan plan(problem, fk::choose(problem, 4));
  const std::int64_t m = 4, wide = 4 * 32; // q, k and v of a token
  RopeCase test(problem, m);
  std::vector<double> qkv(std::size_t(m * wide));
  for (std::int64_t t = 0; t < m; ++t) {
    std::copy_n(test.q.begin() + t * 64, 64, qkv.begin() + t * wide);
    std::copy_n(test.k.begin() + t * 32, 32, qkv.begin() + t * wide + 64);
  }
  const Operand all = Operand::both(fx::f16, m, wide, qkv),
                // Both tables in one.
      positions = Operand::input(fx::i32, 1, m, test.positions);
  std::vector<double> both;
  for (std::int64_t row = 0; row < test.rows; ++row) {
    both.insert(both.end(), test.cos.begin() + row * 16, test.cos.begin() + row * 16 + 16);
    both.insert(both.end(), test.sin.begin() + row * 16, test.sin.begin() + row * 16 + 16);
  }
  const Operand table = Operand::input(fx::f32, test.rows, 32, both);
  auto *data = static_cast<fx::half_t *>(all.tensor().data());
  auto *angles = static_cast<float *>(table.tensor().data());
  const fx::TensorArg q = fx::tensor(data, {m, 2, 32}, {wide, 32, 1}),
                      k = fx::tensor(data + 64, {m, 1, 32}, {wide, 32, 1});
  const fx::Stream stream;
  plan({.q = q,
        .k = k,
        .positions = positions.vector(),
        .cos = fx::tensor(angles, {test.rows, 16}, {32, 1}),
        .sin = fx::tensor(angles + 16, {test.rows, 16}, {32, 1}),
        .q_out = q,
        .k_out = k},
       stream);
  stream.synchronize();
  const std::vector<double> exact(test.q.size());
  const RotatedHeads ofQ = test.rotated({test.q, exact}, 2), ofK = test.rotated({test.k, exact}, 1);
  std::vector<double> expected = qkv, bound(qkv.size());
  for (std::int64_t t = 0; t < m; ++t)
    for (std::int64_t e = 0; e < 96; ++e) {
      const std::size_t at = std::size_t(t * wide + e),
                        from = std::size_t(e < 64 ? t * 64 + e : t * 32 + e - 64);
      const RotatedHeads &of = e < 64 ? ofQ : ofK;
      expected[at] = of.values[from];
      bound[at] = of.error[from] + std::fabs(expected[at]) * 0x1p-11 + 0x1p-25;
    }
  expectWithin(all.values(), expected, bound);

  const fx::TensorArg none(nullptr, fx::f16, fx::Extents{0, 2, 32}),
      noK(nullptr, fx::f16, fx::Extents{0, 1, 32}), no(nullptr, fx::i32, fx::Extents{0});
  CHECK(fx::Device::current()
            .count_launches([&] {
              plan({.q = none,
                    .k = noK,
                    .positions = no,
                    .cos = fx::tensor(angles, {test.rows, 16}, {32, 1}),
                    .sin = fx::tensor(angles + 16, {test.rows, 16}, {32, 1}),
                    .q_out = none,
                    .k_out = noK},
                   stream);
            })
            .empty());
}

TEST_CASE("rope: another run, a graph, a file", "[run]") {
  RopeProblem problem = small();
  problem.cache = KvCache::packed;
  problem.page = 4;
  problem.cached = hardwareFp8();
  expectStructure<RopeProblem>(problem, {.lanes = 4, .heads = 2, .block = 64}, 5);
  // The fused form.
  problem.q_norm = problem.k_norm = HeadNorm::weighted;
  problem.y = fx::f8E5M2;
  problem.quantise = Quantisation::row;
  problem.scale = fx::f8E8M0FNU;
  problem.group = 32;
  expectStructure<RopeProblem>(problem, {.lanes = 4, .heads = 1, .block = 64}, 3);
}

TEST_CASE("rope reads q, k and v once and writes them once", "[run]") {
  // All heads of a token are one group's, so that its row of the tables is read once too. Positions
  // and slots are read by each lane of the group, from one cache line.
  for (KvCache cache : {KvCache::none, KvCache::pages, KvCache::packed}) {
    RopeProblem problem = small();
    problem.cache = cache;
    const fk::RopeConfig config{.lanes = 4, .heads = cache == KvCache::none ? 6 : 8, .block = 64};
    expectTraffic(problem, config, 64, config.lanes);
  }
  // The fused form, where a wave or two take a token.
  RopeProblem problem = fused();
  problem.q_heads = 1;
  problem.k_norm = HeadNorm::plain;
  problem.group = 64;
  expectTraffic(problem, {.lanes = 32, .heads = 2, .block = 64}, 64, 32);
}

TEST_CASE("rope has a configuration for every problem that it supports") {
  std::vector<RopeProblem> problems;
  for (int head : {2, 10, 64, 80, 96, 128, 192, 256, 512, 576, 4096})
    for (int rotary : {-1, 0, 2, 32, 64})
      for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj})
        for (int q : {0, 1, 7, 32, 128})
          if (rotary <= head)
            problems.push_back({.x = head % 3 ? fx::bf16 : fx::f32,
                                .q_heads = q,
                                .kv_heads = q == 1 ? 0 : 8,
                                .head = head,
                                .rotary = rotary,
                                .style = style,
                                .tail = head == 512,
                                .cache = q == 32 ? KvCache::pages : KvCache::none});
  expectTotal(problems);
  RopeProblem quantised = fused();
  quantised.y = fx::f8E4M3FN;
  quantised.scale = fx::f8E8M0FNU;
  expectNoSpills<RopeProblem>(
      {{.q_heads = 32, .kv_heads = 8, .head = 128, .cache = KvCache::pages}, quantised});
}
