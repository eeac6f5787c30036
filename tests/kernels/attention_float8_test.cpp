// Attention whose products are of floats of 8 bits, against a reference in double precision.
#include "support/attention_case.h"

using namespace kernel_tests;

namespace {

/// The formats of the target's instructions; gfx90a and RDNA3 have none.
struct Formats {
  fx::DType precise, wide;
};
std::optional<Formats> formats() {
  const fx::Target target = fx::Device::current().target();
  if (target.has(fx::feature::ocp_fp8))
    return Formats{fx::f8E4M3FN, fx::f8E5M2};
  if (target.has(fx::feature::fnuz_fp8))
    return Formats{fx::f8E4M3FNUZ, fx::f8E5M2FNUZ};
  return std::nullopt;
}
/// Two heads of q for one of k and v, with results of type y.
AttentionProblem bytes(fx::DType x, int head, fx::DType y = fx::bf16) {
  return {.q = x,
          .kv = x,
          .y = y,
          .scales = fk::KvScales::tensor,
          .float8_products = true,
          .q_heads = 2,
          .kv_heads = 1,
          .head = head,
          .lse = true};
}
AttentionConfig small(int tileK = 64, int splits = 1) {
  const int wave = fx::Device::current().target().wave_size();
  return {.tile_q = 32, .tile_k = tileK, .threads = 2 * wave, .splits = splits};
}

/// Calls `body` with the target's formats, if it has some.
template <class Body> void withFormats(Body body) {
  if (const auto has = formats())
    body(*has);
  else
    CHECK_FALSE(fk::supported(bytes(fx::f8E4M3FN, 64)));
}

} // namespace

TEST_CASE("products of 8 bits: heads of each size, in all types of results", "[run]") {
  withFormats([](const Formats &has) {
    for (const auto &[head, y] : {std::pair(64, fx::DType(fx::bf16)),
                                  {128, fx::DType(fx::f16)},
                                  {256, fx::DType(fx::f32)}}) {
      AttentionCase(bytes(has.precise, head, y), {37}, {70}).expect();
      AttentionCase(bytes(has.precise, head, y), {37}, {140}).expect(small(head == 256 ? 64 : 128));
    }
    AttentionProblem narrow = bytes(has.precise, 192, fx::f32);
    narrow.head_v = 96;
    AttentionCase(narrow, {17}, {130}).expect();
    AttentionProblem mixed = bytes(has.wide, 128);
    mixed.kv = has.precise;
    AttentionCase(mixed, {20}, {140}).expect(small(128));
    mixed.q = has.precise;
    mixed.kv = has.wide;
    AttentionCase(mixed, {20}, {140}).expect(small(128));
  });
}

TEST_CASE("products of 8 bits: lengths, masks and terms of scores", "[run]") {
  withFormats([](const Formats &has) {
    for (bool causal : {false, true})
      for (const auto &[queries, keys] : {std::pair(1, 1), {31, 64}, {70, 33}, {5, 0}, {65, 130}}) {
        AttentionProblem problem = bytes(has.precise, 64, fx::f32);
        problem.causal = causal;
        problem.q_heads = 1;
        AttentionCase(problem, {queries}, {keys}).expect(small());
      }
    AttentionProblem all = bytes(has.precise, 64);
    all.soft_cap = 3;
    all.causal = all.window = all.bias = all.alibi = all.sink = true;
    AttentionCase options(all, {45}, {150});
    options.left = 70;
    options.expect(small());
    options.expect(small(128, 3));
    all.soft_cap = 0;
    all.bias = all.alibi = false;
    all.varlen = true;
    AttentionCase lengths(all, {20, 0, 41}, {33, 20, 170});
    lengths.left = 90;
    lengths.expect(small(64, 2));
  });
}

TEST_CASE("products of 8 bits: pages of a cache", "[run]") {
  withFormats([](const Formats &has) {
    AttentionProblem problem = bytes(has.precise, 64);
    problem.causal = true;
    const auto expect = [&](KvCache cache, int page, int pack, int vPack) {
      AttentionCase(inCache(problem, cache, page, pack, vPack), {20, 20}, {50, 70}).expect(small());
    };
    expect(KvCache::pages, 5, 16, 0);
    expect(KvCache::packed, 16, 16, 8);
    expect(KvCache::packed, 64, 32, 0);
  });
}

TEST_CASE("descales of each sequence and head, and descales of 0", "[run]") {
  const fx::DType x = formats() ? formats()->precise : fx::DType(fx::f8E4M3FN);
  for (bool products : {false, true}) {
    AttentionProblem problem = bytes(x, 64);
    problem.float8_products = products;
    problem.q_heads = 4;
    problem.kv_heads = 2;
    problem.causal = true;
    if (!fk::supported(problem))
      continue;
    AttentionCase attention(problem, {20, 20, 20}, {70, 70, 70});
    attention.descaleHeads();
    attention.expect(small());
    for (int i = 0; i < 18; i += 5)
      attention.descales[std::size_t(i)] = 0;
    attention.expect(small(64, 2));
    attention.problem.soft_cap = 2;
    attention.expect(small());
  }
}

TEST_CASE("keys and values of 8 bits with scales of tokens", "[run]") {
  // 16 bits widened everywhere, products of 8 bits where the target has them; without a cache, in pages
  // of sizes that divide no run of keys, and packed; scales of 0, and such as differ by 2^4.
  for (const bool products : {false, true}) {
    if (products && !formats())
      continue;
    AttentionProblem problem = bytes(formats() ? formats()->precise : fx::DType(fx::f8E4M3FN), 64);
    problem.scales = fk::KvScales::token;
    problem.float8_products = products;
    problem.q_heads = 4;
    problem.kv_heads = 2;
    problem.causal = true;
    if (!products)
      problem.q = problem.y;
    AttentionCase(problem, {20, 20}, {70, 70}).expect(small());
    problem.sink = problem.varlen = true;
    problem.soft_cap = 3;
    AttentionCase(problem, {9, 20}, {40, 70}).expect(small(64, 2));
    problem.varlen = false;
    for (const int page : {5, 16}) {
      problem.cache = page == 16 ? KvCache::packed : KvCache::pages;
      problem.page = problem.pack = 16;
      if (page == 5)
        problem.page = page;
      AttentionCase(problem, {20, 20}, {70, 33}).expect(small());
    }
  }
}

TEST_CASE("scales of tokens of attention are of all sizes that floats have", "[run]") {
  // The largest result of random values is near 2^126, and the smallest ones are floats with all of
  // their bits.
  for (const int power : {117, -90})
    for (const bool products : {false, true}) {
      if (products && !formats())
        continue;
      AttentionProblem problem =
          bytes(formats() ? formats()->precise : fx::DType(fx::f8E4M3FN), 64, fx::f32);
      problem.scales = fk::KvScales::token;
      problem.float8_products = products;
      problem.sink = problem.lse = true;
      if (!products)
        problem.q = fx::bf16;
      AttentionCase given(problem, {20}, {70});
      for (double &scale : given.ofValues)
        scale = std::ldexp(scale, power);
      given.expect(small());
    }
}

TEST_CASE("operands of 8 bits without scales stand for themselves", "[run]") {
  AttentionProblem problem = bytes(formats() ? formats()->precise : fx::DType(fx::f8E4M3FN), 64);
  problem.float8_products = formats().has_value();
  AttentionCase plain(problem, {20}, {40});
  plain.problem.scales = fk::KvScales::none;
  plain.expect(small());
}

TEST_CASE("scales say what they do not belong to") {
  const auto why = [](auto change) {
    AttentionProblem problem = bytes(fx::f8E4M3FN, 64);
    change(problem);
    return fk::supported(problem, fx::Target::parse("gfx950")).why;
  };
  CHECK(why([](auto &p) { p.scales = fk::KvScales::token; }) == "");
  CHECK(why([](auto &p) {
          p.kv = fx::bf16, p.float8_products = false, p.scales = fk::KvScales::token;
        }) == "kv is of type bf16; scales of tokens belong to keys and values of 8 bits");
  CHECK(why([](auto &p) { p.q = p.kv = fx::bf16, p.float8_products = false; }) ==
        "scales belong to operands of 8 bits; q is of type bf16; kv of type bf16");
  AttentionProblem problem = bytes(fx::f8E4M3FN, 64);
  problem.scales = fk::KvScales::token;
  CHECK(fk::choose(problem, 4096, fx::Target::parse("gfx950")).loop != fk::AttentionLoop::groups);
}

TEST_CASE("products of 8 bits are exact where no probability is rounded", "[run]") {
  withFormats([](const Formats &has) {
    // A query that picks one key: key j is 128 times the unit vector j.
    AttentionProblem problem = bytes(has.precise, 64, fx::f32);
    problem.q_heads = 1;
    AttentionCase pick(problem, {40}, {128});
    pick.descales = {1, 1, 0.25};
    std::fill(pick.q.begin(), pick.q.end(), 0);
    std::fill(pick.k.begin(), pick.k.end(), 0);
    std::vector<double> expected;
    for (std::size_t j = 0; j < 64; ++j)
      pick.k[(j + 64) * 64 + j] = 128;
    for (std::size_t i = 0; i < 40; ++i) {
      const std::size_t at = (7 * i + 3) % 64;
      pick.q[i * 64 + at] = 128;
      for (std::size_t e = 0; e < 64; ++e)
        expected.push_back(pick.v[(at + 64) * 64 + e] / 4);
    }
    CHECK(pick.run(small()).o.values == expected);
    CHECK(pick.run(small(128)).o.values == expected);
    // Equal scores: the mean of integers.
    AttentionCase mean(problem, {20}, {128});
    mean.descales = {1, 1, 0.5};
    std::fill(mean.q.begin(), mean.q.end(), 0);
    mean.v = integers(128 * 64, 5, -8, 8);
    std::vector<double> sums(64);
    for (std::size_t i = 0; i < mean.v.size(); ++i)
      sums[i % 64] += mean.v[i] / 256;
    expected.clear();
    for (int i = 0; i < 20; ++i)
      expected.insert(expected.end(), sums.begin(), sums.end());
    CHECK(mean.run(small()).o.values == expected);
    CHECK(mean.run(small(64, 2)).o.values == expected);
  });
}

namespace {

/// A case whose scores are what `score` says of a key. The elements of q are 1 / 4, and those of a
/// key its score over 16.
AttentionCase scored(const AttentionProblem &problem, std::int64_t keys, auto score) {
  AttentionCase attention(problem, {40}, {keys});
  const std::size_t head = std::size_t(problem.head);
  std::fill(attention.q.begin(), attention.q.end(), 0.25);
  for (std::size_t i = 0; i < attention.k.size(); ++i)
    attention.k[i] = score(double(i / head)) / 16;
  attention.k = decode(problem.kv, encode(problem.kv, attention.k));
  attention.descales = {1, 1, 1};
  attention.problem.scale = 64.0 / double(head);
  return attention;
}

} // namespace

TEST_CASE("products of 8 bits: scores that rise, fall, and underflow", "[run]") {
  withFormats([](const Formats &has) {
    const auto expectScores = [&](auto score) {
      const AttentionCase attention = scored(bytes(has.precise, 64), 140, score);
      attention.expect(small());
      attention.expect(small(128, 2));
    };
    expectScores([](double j) { return j / 2; });                // each tile has a new maximum
    expectScores([](double j) { return j / 40; });               // that is not far above
    expectScores([](double j) { return j == 139 ? 30 : -2.0; }); // a late one
    expectScores([](double j) { return j == 0 ? 30 : 0.0; });    // a huge early one
    expectScores([](double j) { return -j * 2; });               // all but a few underflow
    expectScores([](double) { return -3.0; });                   // all are equal, and negative
  });
}

TEST_CASE("products of 8 bits: the weights of a query add up to 1", "[run]") {
  withFormats([](const Formats &has) {
    // Of half of the keys the probabilities are subnormal numbers or 0.
    AttentionCase attention =
        scored(bytes(has.precise, 64, fx::f32), 200, [](double j) { return 8 - std::fmod(j, 23); });
    std::fill(attention.v.begin(), attention.v.end(), 1);
    for (double value : attention.run(small()).o.values)
      CHECK(std::fabs(value - 1) < 0x1p-18);
  });
}

TEST_CASE("products of 8 bits: errors are those of rounding, and have no sign", "[run]") {
  withFormats([](const Formats &has) {
    AttentionProblem problem = bytes(has.precise, 64, fx::f32);
    problem.q_heads = 1;
    AttentionCase attention(problem, {64}, {192});
    attention.descales = {4, 1, 1};
    const AttentionConfig config = small();
    const std::vector<double> got = attention.run(config).o.values,
                              expected = attention.reference(config).o.values;
    std::vector<double> q = attention.q;
    for (double &value : q)
      value *= 4;
    const fk::reference::AttentionInputs in{
        attention.queries, attention.keys, -1, -1, q, attention.k, attention.v, attention.bias,
        attention.slopes,  attention.sink};
    // A probability p is off by p e, and o by the sum of p e (v - o). Rounding adds e of at most
    // 2^-4, whose square is at most 2^-8 / 3 on average.
    double squares = 0, signs = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const fk::reference::ReferenceScores scores(problem, in, 0, 0, 0, std::int64_t(i), 0);
      for (std::size_t e = 0; e < 64; ++e) {
        double variance = 0;
        for (std::size_t j = 0; j < 192; ++j) {
          const double p = std::exp(scores.values[j] - scores.largest) / scores.total,
                       far = attention.v[j * 64 + e] - expected[i * 64 + e];
          variance += p * p * far * far * 0x1p-8 / 3;
        }
        const double error = got[i * 64 + e] - expected[i * 64 + e];
        squares += error * error / variance / (64 * 64);
        signs += error / std::sqrt(variance) / (64 * 64);
      }
    }
    INFO("squares " << squares << ", signs " << signs);
    CHECK(squares < 1);
    // Of 64 queries with errors of their own, the mean of 64 elements each.
    CHECK(std::fabs(signs) < 3 / std::sqrt(64.0));
  });
}

TEST_CASE("attention with products of 8 bits: another run, a graph, a file", "[run]") {
  withFormats([](const Formats &has) {
    AttentionProblem problem = bytes(has.precise, 64);
    problem.causal = true;
    expectStructure(problem, small(64, 2), 70);
  });
}

TEST_CASE("products of 8 bits stay in their registers", "[run]") {
  withFormats([](const Formats &has) {
    for (int head : {64, 128, 192, 256}) {
      AttentionProblem problem = bytes(has.precise, head);
      problem.lse = false;
      for (std::int64_t queries : {64, 1 << 20})
        for (const fx::Executable &code :
             fk::AttentionPlan(problem, fk::choose(problem, queries)).executables()) {
          INFO("head " << head << "\n" << code.summary());
          CHECK(code.spills() == 0);
          CHECK(code.scratch_bytes() == 0);
        }
    }
  });
}

TEST_CASE("products of 8 bits say what they do not take") {
  const auto why = [](const char *target, auto change) {
    AttentionProblem problem = bytes(fx::f8E4M3FN, 64);
    change(problem);
    return fk::supported(problem, fx::Target::parse(target)).why;
  };
  CHECK(why("gfx950", [](auto &) {}) == "");
  CHECK(why("gfx1201", [](auto &) {}) == "");
  CHECK(why("gfx942", [](auto &p) { p.q = p.kv = fx::f8E5M2FNUZ; }) == "");
  CHECK(why("gfx942", [](auto &) {}) ==
        "q is of type f8E4M3FN; with float8_products it is a float of 8 bits; gfx942 has products "
        "where both are f16, or both bf16, or both i8, or each is f8E4M3FNUZ or f8E5M2FNUZ");
  CHECK(why("gfx950", [](auto &p) { p.kv = fx::bf16; }) ==
        "kv is of type bf16; with float8_products it is a float of 8 bits; gfx950 has products "
        "where both are f16, or both bf16, or both i8, or each is f8E4M3FN or f8E5M2");
  CHECK(why("gfx1100", [](auto &) {}) ==
        "q is of type f8E4M3FN; with float8_products it is a float of 8 bits; gfx1100 has products "
        "where both are f16, or both bf16, or both i8");
  CHECK(why("gfx950", [](auto &p) { p.head = 96; }) == "");
  CHECK(why("gfx950", [](auto &p) { p.head = 72; }) ==
        "head is 72; it is a multiple of 16 from 16 to 512");
  CHECK(why("gfx950", [](auto &p) { p.y = fx::i8; }) ==
        "y is of type i8; f32, f16 and bf16 are supported");
  CHECK(why("gfx950", [](auto &p) { p.float8_products = false, p.y = fx::f32; }) ==
        "q, kv and y say no type of the products: products is of type f32; it is f16 or bf16");
  CHECK(why("gfx950", [](auto &p) {
          p.float8_products = false, p.y = fx::f32, p.products = fx::bf16;
        }) == "");
  CHECK(why("gfx950", [](auto &p) { p.products = fx::bf16; }) ==
        "products is of type bf16; with float8_products they have the types of q and kv");
  CHECK(why("gfx950", [](auto &p) { p.cache = KvCache::packed; }) ==
        "pack is 8; it is a multiple of 16 that divides head = 64");
  CHECK(fk::supported(bytes(fx::f8E4M3FN, 64), {.tile_q = 32, .tile_k = 32, .threads = 128},
                      fx::Target::parse("gfx950"))
            .why == "tiles of 32 queries and 32 keys with 128 threads: products of floats of 8 "
                    "bits take a multiple of 64 keys on gfx950");
}

TEST_CASE("products of 8 bits refuse arguments that do not fit") {
  const AttentionProblem problem = bytes(fx::f8E4M3FNUZ, 64);
  const fk::AttentionPlan plan(problem, {.tile_q = 64, .tile_k = 64, .threads = 256});
  const Operand memory = Operand::input(fx::u8, 1, 1 << 14, std::vector<double>(1 << 14));
  const auto at = [&](fx::DType type, const fx::Extents &shape) {
    return fx::tensor(memory.tensor().data(), type, shape);
  };
  const auto expect = [&](auto change, const char *part) {
    fk::AttentionArgs args{.q = at(problem.q, {2, 3, 2, 64}),
                           .k = at(problem.kv, {2, 5, 1, 64}),
                           .v = at(problem.kv, {2, 5, 1, 64}),
                           .o = at(problem.y, {2, 3, 2, 64}),
                           .q_scale = at(fx::f32, {1}),
                           .k_scale = at(fx::f32, {1}),
                           .v_scale = at(fx::f32, {1}),
                           .lse = at(fx::f32, {2, 3, 2})};
    change(args);
    const std::string text = messageOf([&] { plan(args); });
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    CHECK(text.find("attention_float8_test.cpp") != std::string::npos);
  };
  expect([](auto &a) { a.v_scale.reset(); }, "v_scale is missing; the problem has it");
  expect(
      [&](auto &a) {
        a.v_scale = at(fx::f32, {2, 1});
      },
      "v_scale has 2 modes, as scales of sequences and heads have; scales is tensor, which takes "
      "one number, and KvScales::head takes these");
  expect([&](auto &a) { a.k_scale = at(fx::f32, {2}); },
         "k_scale has the shape (2); (1) = (1) is expected");
  expect(
      [&](auto &a) {
        a.q_scale = at(fx::f32, {2, 2});
      },
      "q_scale has the shape (2, 2); (batch, kv_heads) = (2, 1) is expected");
  expect([&](auto &a) { a.q_scale = at(fx::f16, {1}); },
         "q_scale is of type f16; the problem says f32");
  expect(
      [&](auto &a) {
        a.k = fx::tensor(memory.tensor().data(), problem.kv, {2, 5, 1, 64}, {360, 72, 64, 1});
      },
      "k has the shape (2, 5, 1, 64) and the strides (360, 72, 64, 1); the stride of keys, 72, is "
      "no "
      "multiple of 16; 16 elements are moved at a time");
}
