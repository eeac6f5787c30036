// What rotary position embedding refuses: problems, configurations, arguments.
#include "support/rope_case.h"

using namespace kernel_tests;

TEST_CASE("rope says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const RopeProblem &problem) { return fk::supported(problem, target).why; };
  const RopeProblem good{.q_heads = 32, .kv_heads = 8, .head = 128, .cache = KvCache::packed};
  CHECK(why(good).empty());
  const auto with = [&](auto change) {
    RopeProblem problem = good;
    change(problem);
    return why(problem);
  };
  CHECK(with([](RopeProblem &p) { p.x = fx::i8; }) ==
        "x is of type i8; f32, f16 and bf16 are supported");
  CHECK(with([](RopeProblem &p) { p.index = fx::u8; }) ==
        "index is of type u8; i32 and i64 are supported");
  CHECK(with([](RopeProblem &p) { p.row_align = 3; }) ==
        "row_align is 3; it is a power of two up to 16, or 0 for what n gives");
  CHECK(with([](RopeProblem &p) {
          p.q_heads = p.kv_heads = 0;
          p.cache = KvCache::none;
        }) == "q_heads is 0 and kv_heads is 0; each is at most 65535, and "
              "there is one of either "
              "at least");
  CHECK(with([](RopeProblem &p) { p.kv_heads = 0; }) == "a cache holds k, and kv_heads is 0");
  CHECK(with([](RopeProblem &p) {
          p.head = 65;
          p.cache = KvCache::pages;
        }) == "head is 65; it is an even number from 2 to 4096");
  CHECK(with([](RopeProblem &p) { p.rotary = 129; }) ==
        "rotary is 129; it is an even number from 0 to head = 128, or -1 for "
        "all of it");
  CHECK(with([](RopeProblem &p) { p.rotary = 31; }) ==
        "rotary is 31; it is an even number from 0 to head = 128, or -1 for "
        "all of it");
  CHECK(with([](RopeProblem &p) {
          p.style = RopeStyle::gptj;
          p.row_align = 1;
        }) == "row_align is 1, pack is 16 and group is 0; the pairs of "
              "RopeStyle::gptj are "
              "neighbours, which takes at least 2");
  CHECK(with([](RopeProblem &p) {
          p.k_out = false;
          p.cache = KvCache::none;
        }) == "k goes nowhere; set k_out or a cache, or kv_heads = 0");
  CHECK(with([](RopeProblem &p) { p.cached = fx::i32; }) ==
        "cached is of type i32; f32, f16, bf16, i8 and floats of 8 bits are "
        "supported");
  CHECK(with([](RopeProblem &p) { p.cache_scales = fk::KvScales::token; }) ==
        "cache_scales is token, and cached of type f16; caches of 8 bits have scales");
  CHECK(with([](RopeProblem &p) { p.cache_scales = fk::KvScales::head; }) ==
        "cache_scales is head, and cached of type f16; caches of 8 bits have scales");
  CHECK(with([](RopeProblem &p) {
          p.cached = fx::i8;
          p.cache_scales = fk::KvScales::none;
        }) == "cache_scales is none, and cached of type i8; a cache of 8 bits has scales");
  CHECK(with([](RopeProblem &p) { p.page = 0; }) ==
        "page is 0; a block of the cache has 1 to 65536 tokens");
  CHECK(with([](RopeProblem &p) { p.pack = 3; }) ==
        "pack is 3; it is a power of two that divides head = 128");
  CHECK(with([](RopeProblem &p) { p.v_pack = 5; }) ==
        "v_pack is 5; it divides page = 16, or is 0 for all of it");

  CHECK(with([](RopeProblem &p) {
          p.k_norm = HeadNorm::plain;
          p.normed = 130;
        }) == "normed is 130; it is an even number up to head = 128, or 0 for all of it");
  CHECK(with([](RopeProblem &p) {
          p.k_norm = HeadNorm::plain;
          p.normed = 63;
        }) == "normed is 63; it is an even number up to head = 128, or 0 for all of it");
  CHECK(with([](RopeProblem &p) { p.normed = 64; }) ==
        "normed is 64; it is for q_norm and k_norm, and both are none");
  CHECK(with([](RopeProblem &p) { p.y = fx::i8; }) ==
        "y is of type i8; f32, f16 and bf16 are supported");
  CHECK(with([](RopeProblem &p) { p.eps = -1; }) ==
        "eps is -1.000000; it is a finite number of at least 0");
  CHECK(with([](RopeProblem &p) { p.weight = fx::i8; }) ==
        "weight is of type i8; f32, f16 and bf16 are supported");
  CHECK(with([](RopeProblem &p) {
          p.q_heads = 0;
          p.q_norm = HeadNorm::plain;
        }) == "q_norm is for the heads of q, and q_heads is 0");
  const auto quantised = [&](auto change) {
    return with([&](RopeProblem &p) {
      p.quantise = Quantisation::row;
      p.y = fx::f8E4M3FN;
      change(p);
    });
  };
  CHECK(quantised([](RopeProblem &) {}).empty());
  CHECK(quantised([](RopeProblem &p) { p.y = fx::f16; }) ==
        "y is quantised and of type f16; i8 and floats of 8 bits are supported");
  CHECK(quantised([](RopeProblem &p) { p.group = 48; }) ==
        "group is 48; it is a power of two that divides head = 128, or 0 for "
        "all of it");
  CHECK(quantised([](RopeProblem &p) {
          p.group = 32;
          p.quantise = Quantisation::none;
          p.y = fx::f16;
        }) == "group is 32, and groups have scales of their own with Quantisation::row alone; it is 0 "
              "here");
  CHECK(quantised([](RopeProblem &p) { p.scale = fx::f16; }) ==
        "scale is of type f16; f32 and f8E8M0FNU are supported");
  CHECK(quantised([](RopeProblem &p) {
          p.scale = fx::f8E8M0FNU;
          p.y = fx::i8;
        }) == "y is of type i8; with scales of f8E8M0FNU, floats of 8 bits are supported");
  CHECK(quantised([](RopeProblem &p) {
          p.head = 4096;
          p.rotary = 2;
          p.group = 32;
        }) == "rotary is 2 of a head of 4096 and group is 32; groups that the "
              "parts of a head cut "
              "take few lanes, whose registers do not hold such a head");

  const auto whyConfig = [&](const fk::RopeConfig &config) {
    return fk::supported(good, config, target).why;
  };
  CHECK(whyConfig({}).empty());
  CHECK(whyConfig({.lanes = 128}) ==
        "lanes is 128 and block is 256; both are powers of two, lanes at most "
        "a wave of 64, and a "
        "block a number of waves, at most 1024 threads");
  CHECK(whyConfig({.block = 32}) ==
        "lanes is 8 and block is 32; both are powers of two, lanes at most a "
        "wave of 64, and a "
        "block a number of waves, at most 1024 threads");
  RopeProblem cut = good;
  cut.y = fx::i8;
  cut.quantise = Quantisation::row;
  cut.group = 64;
  cut.rotary = 32;
  CHECK(fk::supported(cut, {.lanes = 16}, target).why ==
        "lanes is 16 and group is 64; a group's elements would be those of "
        "lanes that have other "
        "groups too; take fewer lanes");
  CHECK(whyConfig({.heads = 49}) == "heads is 49; a token has 48");
  CHECK(whyConfig({.lanes = 2, .heads = 8}) ==
        "lanes is 2 and heads is 8; each lane would hold 1024 bytes, and its "
        "registers hold 256; "
        "take more lanes or fewer heads");
}

TEST_CASE("rope refuses arguments that do not fit its problem") {
  RopeProblem problem = small();
  problem.cached = fx::f8E4M3FN;
  const fk::RopePlan plan(problem, fk::choose(problem, 2));
  const Operand memory = Operand::output(fx::u8, 1, 1 << 16);
  void *data = memory.tensor().data();
  const auto of = [&](fx::DType dtype, const fx::Extents &shape, const fx::Extents &strides = {}) {
    return fx::tensor(data, dtype, shape, strides);
  };
  const fk::RopeArgs good{.q = of(fx::f16, {2, 4, 64}),
                          .k = of(fx::f16, {2, 2, 64}),
                          .v = of(fx::f16, {2, 2, 64}),
                          .positions = of(fx::i32, {2}),
                          .cos = of(fx::f32, {9, 32}),
                          .sin = of(fx::f32, {9, 32}),
                          .slots = of(fx::i32, {2}),
                          .q_out = of(fx::f16, {2, 4, 64}),
                          .k_out = of(fx::f16, {2, 2, 64}),
                          .k_cache = of(fx::f8E4M3FN, {3, 16, 2, 64}),
                          .v_cache = of(fx::f8E4M3FN, {3, 16, 2, 64}),
                          .k_cache_scale = of(fx::f32, {1}),
                          .v_cache_scale = of(fx::f32, {1})};
  const auto refused = [&](auto change, const char *part) {
    fk::RopeArgs args = good;
    change(args);
    const std::string text = messageOf([&] { plan(args); });
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    CHECK(text.find("rope_refusals_test.cpp") != std::string::npos);
  };
  using Args = fk::RopeArgs;
  refused([](Args &a) { a.q.reset(); }, "rope: q is missing; the problem has it");
  refused([&](Args &a) { a.k = of(fx::f16, {3, 2, 64}); },
          "rope: k has the shape (3, 2, 64); (m, kv_heads, head) = (2, 2, 64) is expected");
  refused([&](Args &a) { a.v = of(fx::f16, {2, 2, 64}, {256, 128, 2}); },
          "rope: v has the shape (2, 2, 64) and the strides (256, 128, 2); the "
          "stride of head is 1, as in a contiguous tensor; pass a contiguous copy");
  refused(
      [&](Args &a) { a.v = of(fx::f16, {2, 2, 64}, {132, 64, 1}); },
      "rope: v has the shape (2, 2, 64) and the strides (132, 64, 1); the stride of m, 132, is no "
      "multiple of 8");
  refused([&](Args &a) { a.q = of(fx::f16, {1 << 30, 4, 64}); },
          "rope: q has 1073741824 tokens; 268435455 tokens are the most that one launch takes");
  refused([&](Args &a) { a.positions = of(fx::i64, {2}); },
          "rope: positions is of type i64; the problem says i32");
  refused([&](Args &a) { a.cos = of(fx::f32, {0, 32}); },
          "rope: cos has no rows; it has one for each position");
  refused([&](Args &a) { a.sin = of(fx::f32, {8, 32}); },
          "rope: sin has the shape (8, 32); (positions, rotary / 2) = (9, 32) is expected");
  refused([&](Args &a) { a.slots.reset(); }, "rope: slots is missing; the problem has it");
  refused([&](Args &a) { a.v_cache = of(fx::f8E4M3FN, {2, 16, 2, 64}); },
          "rope: v_cache has the shape (2, 16, 2, 64); (blocks, page, kv_heads, head) = (3, 16, 2, "
          "64) is expected");
  refused([&](Args &a) { a.k_cache = of(fx::f8E4M3FN, {std::int64_t(1) << 27, 16, 2, 64}); },
          "rope: k_cache has 134217728 blocks of 16 tokens; a cache has at most "
          "2147483647 tokens");
  refused([&](Args &a) { a.q_weight = of(fx::f16, {64}); },
          "rope: q_weight is given, and the problem does not have it");
  refused([&](Args &a) { a.q_scale = of(fx::f32, {1}); },
          "rope: q_scale is given, and the problem does not have it");
  refused([&](Args &a) { a.k_cache_scale = of(fx::f32, {3}); },
          "rope: k_cache_scale has the shape (3); (1) = (1) is expected");
  refused(
      [&](Args &a) { a.v_cache_scale = of(fx::f32, {2}); },
      "rope: v_cache_scale has 2 numbers, one of each head; cache_scales is tensor, which takes "
      "one, and KvScales::head takes these");
  refused([&](Args &a) { a.v_cache_scale.reset(); },
          "rope: v_cache_scale is missing; the problem has it");

  RopeProblem packed = problem;
  packed.cache = KvCache::packed;
  const fk::RopePlan packedPlan(packed, fk::choose(packed, 2));
  fk::RopeArgs args = good;
  args.k_cache = of(fx::f8E4M3FN, {3, 2, 4, 16, 16});
  args.v_cache = of(fx::f8E4M3FN, {3, 2, 1, 64, 16}, {2048, 1024, 1024, 1, 64});
  CHECK(messageOf([&] { packedPlan(args); })
            .find("rope: v_cache has the shape (3, 2, 1, 64, 16) and the "
                  "strides (2048, 1024, "
                  "1024, 1, 64); the stride of v_pack is 1") != std::string::npos);
}
