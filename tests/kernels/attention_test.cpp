// Attention of many queries against a reference in double precision.
#include "support/attention_case.h"

using namespace kernel_tests;

namespace {

/// A problem of a type with two heads of q for one of k and v.
AttentionProblem grouped(fx::DType x, int head) {
  return {.q = x, .kv = x, .y = x, .q_heads = 2, .kv_heads = 1, .head = head, .lse = true};
}
/// One head, and all that the scores can have.
AttentionProblem everything(fx::DType x) {
  return {.q = x,
          .kv = x,
          .y = x,
          .q_heads = 2,
          .kv_heads = 2,
          .head = 64,
          .soft_cap = 3,
          .causal = true,
          .window = true,
          .bias = true,
          .bias_type = x,
          .alibi = true,
          .sink = true,
          .lse = true};
}
/// The smallest configuration of the target, whose tiles are soon full.
AttentionConfig small(int splits = 1) {
  const int wave = fx::Device::current().target().wave_size();
  return {.tile_q = 32, .tile_k = 32, .threads = 2 * wave, .splits = splits};
}

} // namespace

TEST_CASE("attention of heads of each size, in both types", "[run]") {
  for (int head : {64, 96, 128, 256})
    AttentionCase(grouped(head == 96 ? fx::bf16 : fx::f16, head), {37}, {70}).expect();
  AttentionProblem narrow = grouped(fx::bf16, 192);
  narrow.head_v = 128;
  AttentionCase(narrow, {17}, {33}).expect();
}

TEST_CASE("attention of any lengths, with and without a causal mask", "[run]") {
  for (bool causal : {false, true})
    for (std::int64_t queries : {1, 31, 65})
      for (std::int64_t keys : {1, 32, 33, 64, 100}) {
        AttentionProblem problem = grouped(fx::f16, 32);
        problem.causal = causal;
        problem.q_heads = 1;
        AttentionCase(problem, {queries}, {keys}).expect(small());
      }
  // No keys at all: nothing is seen, and nothing is read.
  AttentionCase(grouped(fx::f16, 32), {5}, {0}).expect(small());
}

TEST_CASE("attention of several sequences of one length", "[run]") {
  AttentionProblem problem = grouped(fx::bf16, 64);
  problem.q_heads = 4;
  problem.kv_heads = 2;
  AttentionCase(problem, {33, 33, 33}, {40, 40, 40}).expect(small());
}

TEST_CASE("windows and causal masks see the keys of their definition", "[run]") {
  AttentionProblem problem = grouped(fx::f16, 32);
  problem.q_heads = 1;
  problem.window = true;
  for (bool causal : {false, true})
    for (const auto &[left, right] : {std::pair(0, 0), {31, -1}, {32, 5}, {-1, 33}, {40, 0}}) {
      problem.causal = causal;
      AttentionCase attention(problem, {70}, {101});
      attention.left = left;
      attention.right = right;
      attention.expect(small());
    }
  // More queries than keys: the first ones see none.
  AttentionCase few(problem, {70}, {20});
  few.left = 5;
  few.expect(small());
}

TEST_CASE("bias, ALiBi, a soft cap and sinks", "[run]") {
  for (int which = 0; which < 4; ++which) {
    AttentionProblem problem = grouped(fx::f16, 32);
    problem.causal = which % 2;
    problem.bias = which == 0;
    problem.alibi = which == 1;
    problem.soft_cap = which == 2 ? 0.75 : 0;
    problem.sink = which == 3;
    AttentionCase(problem, {40}, {50}).expect(small());
  }
  AttentionCase all(everything(fx::bf16), {45, 45}, {70, 70});
  all.left = 20;
  all.expect(small());
  // A bias of -infinity masks.
  AttentionProblem masked = grouped(fx::f16, 32);
  masked.bias = true;
  AttentionCase some(masked, {20}, {40});
  for (std::size_t i = 0; i < some.bias.size(); ++i)
    if (i % 3 || i < 40) // the first query of the first head sees nothing
      some.bias[i] = -kInfinity;
  some.expect(small());
}

TEST_CASE("sequences of different lengths one behind another", "[run]") {
  AttentionProblem problem = grouped(fx::f16, 64);
  problem.varlen = true;
  for (bool causal : {false, true}) {
    problem.causal = causal;
    AttentionCase(problem, {33, 0, 1, 40, 7}, {50, 12, 1, 0, 64}).expect(small());
  }
  AttentionProblem all = everything(fx::f16);
  all.varlen = true;
  AttentionCase options(all, {20, 41}, {33, 70});
  options.left = 25;
  options.right = 3;
  options.expect(small());
}

TEST_CASE("sequences that are longer than max_seqlen_q says", "[run]") {
  AttentionProblem problem = grouped(fx::f16, 32);
  problem.varlen = true;
  for (std::int64_t longest : {0, 1, 40}) {
    problem.causal = longest != 1;
    AttentionCase attention(problem, {100, 0, 5, 64}, {110, 12, 40, 50});
    attention.longest = longest;
    attention.expect(small());
    attention.expect(small(2));
  }
}

TEST_CASE("keys and values in pages of a cache", "[run]") {
  AttentionProblem problem = grouped(fx::bf16, 64);
  problem.q_heads = 4;
  problem.kv_heads = 2;
  problem.causal = true;
  const auto expect = [&](KvCache cache, int page, int pack, int vPack) {
    AttentionCase(inCache(problem, cache, page, pack, vPack), {20, 20, 20}, {50, 7, 64})
        .expect(small());
  };
  for (int page : {1, 5, 16, 64})
    expect(KvCache::pages, page, 8, 0);
  expect(KvCache::packed, 16, 8, 0);
  expect(KvCache::packed, 16, 16, 8);
  expect(KvCache::packed, 64, 8, 16);
  expect(KvCache::packed, 128, 8, 0);
  AttentionProblem all = everything(fx::f16);
  all.varlen = true;
  for (KvCache cache : {KvCache::pages, KvCache::packed}) {
    all.cache = cache;
    AttentionCase options(all, {20, 1, 41}, {33, 40, 70});
    options.left = 30;
    options.expect(small(2));
  }
}

TEST_CASE("operands of 8 bits with descales", "[run]") {
  for (fx::DType x : {fx::DType(fx::f8E4M3FN), fx::DType(fx::f8E5M2FNUZ)})
    for (fx::DType y : {fx::DType(fx::f16), fx::DType(fx::bf16)}) {
      AttentionProblem problem = grouped(y, 64);
      problem.kv = x;
      problem.causal = true;
      AttentionCase(problem, {33}, {70}).expect(small());
      problem.q = x;
      problem.soft_cap = 2;
      AttentionCase(problem, {33}, {70}).expect(small(2));
      problem.varlen = true;
      for (KvCache cache : {KvCache::pages, KvCache::packed}) {
        problem.cache = cache;
        problem.pack = 16;
        AttentionCase(problem, {20, 13}, {33, 44}).expect(small());
      }
    }
}

TEST_CASE("queries in f32 are rounded to the type of the products", "[run]") {
  for (fx::DType kv : {fx::DType(fx::f16), fx::DType(fx::bf16)})
    for (int head : {64, 72, 192, 256}) { // 72: padded; 256: read again for each tile of keys
      AttentionProblem problem = grouped(kv, head);
      problem.q = fx::f32;
      problem.y = head == 64 ? fx::DType(fx::f32) : kv;
      AttentionCase(problem, {37}, {70}).expect();
      AttentionCase(problem, {1}, {150})
          .expect(head < 192 ? std::optional(small(2)) : std::nullopt);
    }
  AttentionProblem all = everything(fx::f16);
  all.q = fx::f32;
  all.varlen = true;
  for (KvCache cache : {KvCache::none, KvCache::pages, KvCache::packed}) {
    all.cache = cache;
    AttentionCase options(all, {20, 1, 41}, {33, 40, 70});
    options.left = 30;
    options.expect(small());
  }
  AttentionProblem bytes = grouped(fx::bf16, 64);
  bytes.q = fx::f32;
  bytes.kv = fx::f8E4M3FN;
  AttentionCase(bytes, {33}, {70}).expect(small()); // products in y's type
  bytes.y = fx::f32;
  bytes.products = fx::f16;
  AttentionCase(bytes, {33}, {70}).expect(small());
}

TEST_CASE("keys that are shared among blocks", "[run]") {
  for (int splits : {2, 3, 7}) {
    AttentionProblem problem = grouped(fx::f16, 64);
    problem.causal = splits != 2;
    problem.sink = splits == 3;
    AttentionCase(problem, {40}, {150}).expect(small(splits));
  }
  // More than are combined together: sixteen, and some more.
  for (int splits : {16, 21}) {
    AttentionProblem problem = grouped(fx::f16, 64);
    problem.causal = splits == 21;
    AttentionCase(problem, {40}, {700}).expect(small(splits));
  }
  AttentionProblem all = everything(fx::bf16);
  all.varlen = true;
  AttentionCase options(all, {20, 0, 41}, {33, 20, 170});
  options.left = 70;
  options.expect(small(4));
}

TEST_CASE("a query that picks one key gives its value exactly", "[run]") {
  // Key j is 128 times the unit vector j; query i is 128 times that of key (7 i + 3) % 64.
  for (fx::DType x : {fx::DType(fx::f16), fx::DType(fx::bf16)}) {
    AttentionCase pick({.q = x, .kv = x, .y = x, .q_heads = 1, .kv_heads = 1, .head = 64}, {40},
                       {64});
    std::fill(pick.q.begin(), pick.q.end(), 0);
    std::fill(pick.k.begin(), pick.k.end(), 0);
    std::vector<double> expected;
    for (std::size_t j = 0; j < 64; ++j)
      pick.k[j * 64 + j] = 128;
    for (std::size_t i = 0; i < 40; ++i) {
      const std::size_t key = (7 * i + 3) % 64;
      pick.q[i * 64 + key] = 128;
      expected.insert(expected.end(), pick.v.begin() + std::ptrdiff_t(key * 64),
                      pick.v.begin() + std::ptrdiff_t(key * 64 + 64));
    }
    CHECK(pick.run(small()).o.values == expected);
    CHECK(pick.run(small(2)).o.values == expected);
  }
}

TEST_CASE("equal scores give the mean of integers exactly", "[run]") {
  AttentionCase mean(
      {.q = fx::f16, .kv = fx::f16, .y = fx::f16, .q_heads = 1, .kv_heads = 1, .head = 32}, {20},
      {128});
  std::fill(mean.q.begin(), mean.q.end(), 0);
  mean.v = integers(128 * 32, 5, -8, 8);
  std::vector<double> sums(32);
  for (std::size_t i = 0; i < mean.v.size(); ++i)
    sums[i % 32] += mean.v[i] / 128;
  std::vector<double> expected;
  for (int i = 0; i < 20; ++i)
    expected.insert(expected.end(), sums.begin(), sums.end());
  CHECK(mean.run(small()).o.values == decode(fx::f16, encode(fx::f16, expected)));
}

TEST_CASE("scores that rise, fall, and underflow", "[run]") {
  const auto expectScores = [](fx::DType x, auto score) {
    AttentionCase attention(grouped(x, 32), {40}, {100});
    // All elements of q are 1 / 4; the elements of a key are its score.
    std::fill(attention.q.begin(), attention.q.end(), 0.25);
    for (std::size_t i = 0; i < attention.k.size(); ++i)
      attention.k[i] = score(double(i / 32));
    attention.k = decode(x, encode(x, attention.k));
    attention.problem.scale = 1;
    attention.expect(small());
    attention.expect(small(3));
  };
  for (fx::DType x : {fx::DType(fx::f16), fx::DType(fx::bf16)}) {
    expectScores(x, [](double j) { return j / 2; });               // each tile has a new maximum
    expectScores(x, [](double j) { return j / 20; });              // that is not far above
    expectScores(x, [](double j) { return j == 99 ? 30 : -2.0; }); // a late one
    expectScores(x, [](double j) { return j == 0 ? 30 : 0.0; });   // a huge early one
    expectScores(x, [](double j) { return -j * 2; });              // all but a few underflow
    expectScores(x, [](double) { return -3.0; });                  // all are equal, and negative
  }
}

TEST_CASE("the sum of probabilities is of those that are used: there is no bias") {
  // Positive values; a sum of unrounded probabilities beside truncated ones would be off by 0.28 %
  // in bf16.
  AttentionCase attention(
      {.q = fx::bf16, .kv = fx::bf16, .y = fx::bf16, .q_heads = 1, .kv_heads = 1, .head = 64}, {64},
      {96});
  for (double &v : attention.v)
    v = 1 + std::fabs(v);
  attention.v = decode(fx::bf16, encode(fx::bf16, attention.v));
  const AttentionConfig config = small();
  const std::vector<double> got = attention.run(config).o.values,
                            expected = attention.reference(config).o.values;
  double mean = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    mean += (got[i] - expected[i]) / expected[i] / double(got.size());
  CHECK(std::fabs(mean) < 2e-4);
}

TEST_CASE("values that are infinite or no numbers reach the queries that see them alone") {
  AttentionProblem problem = grouped(fx::f16, 32);
  problem.q_heads = 1;
  AttentionCase attention(problem, {8}, {40});
  attention.q[3 * 32] = std::nan("");
  const std::vector<double> o = attention.run(small()).o.values;
  for (std::size_t i = 0; i < o.size(); ++i)
    if (std::isnan(o[i]) != (i / 32 == 3))
      FAIL("element " << i << " is " << o[i]);
  SUCCEED();
}
