// Attention: what it refuses, which tiles it looks at and what it reads, and what holds of every
// family.
#include "support/attention_case.h"
#include "support/hot_loop.h"

using namespace kernel_tests;

namespace {

const AttentionProblem kHeads{.q_heads = 4, .kv_heads = 2, .head = 64};

AttentionProblem with(const AttentionProblem &problem, auto change) {
  AttentionProblem changed = problem;
  change(changed);
  return changed;
}

/// The pairs of a tile of queries and a tile of keys where some query sees some key, and the keys
/// that there are in the tiles of all pairs.
struct Seen {
  std::int64_t pairs = 0, keys = 0;
};
Seen pairsSeen(std::int64_t queries, std::int64_t keys, const AttentionConfig &config, bool causal,
               std::int64_t left) {
  Seen all;
  for (std::int64_t first = 0; first < queries; first += config.tile_q)
    for (std::int64_t tile = 0; tile < keys; tile += config.tile_k) {
      bool seen = false;
      for (std::int64_t i = first; i < std::min(first + config.tile_q, queries); ++i)
        for (std::int64_t j = tile; j < std::min(tile + config.tile_k, keys); ++j) {
          const std::int64_t at = i + keys - queries;
          seen |= (!causal || j <= at) && (left < 0 || j >= at - left);
        }
      all.pairs += seen;
      all.keys += seen ? std::min<std::int64_t>(config.tile_k, keys - tile) : 0;
    }
  return all;
}

} // namespace

TEST_CASE("attention looks at the tiles that some query sees, and reads what they hold") {
  const AttentionConfig config{.tile_q = 64, .tile_k = 32, .threads = 256};
  struct Case {
    std::int64_t queries, keys;
    bool causal;
    std::int64_t left;
  };
  for (const Case &c :
       {Case{130, 200, false, -1}, Case{130, 200, true, -1}, Case{200, 130, true, -1},
        Case{150, 190, true, 40}, Case{150, 190, true, 0}}) {
    AttentionProblem problem = kHeads;
    problem.causal = c.causal;
    problem.window = c.left >= 0;
    AttentionCase attention(problem, {c.queries}, {c.keys});
    attention.left = c.left;
    const auto launches =
        fx::Device::current().count_launches([&] { (void)attention.run(config); });
    REQUIRE(launches.size() == 1);
    const fx::LaunchCounters &counters = launches[0];
    const Seen seen = pairsSeen(c.queries, c.keys, config, c.causal, c.left);
    const std::int64_t heads = problem.q_heads, head = problem.head, pairs = heads * seen.pairs,
                       blocks = heads * ((c.queries + 63) / 64);
    INFO(c.queries << " queries, " << c.keys << " keys, causal " << c.causal << ", left " << c.left
                   << "\n"
                   << counters.str());
    // Each of four waves multiplies 16 queries by 32 keys, and 32 keys by 64 elements.
    CHECK(std::int64_t(counters["SQ_INSTS_MFMA"]) == pairs * 4 * 2 * (32 * head / 16 / 16));
    // What lies past the last key is not read.
    const std::int64_t bytes = 2 * (blocks * 64 * head + heads * seen.keys * 2 * head);
    CHECK(std::int64_t(counters["globalBytesRead"]) == bytes);
    CHECK(std::int64_t(counters["globalBytesWritten"]) == 2 * heads * c.queries * head);
    // Operands are read, and keys and transposed values written, without conflicts of banks.
    CHECK(counters["SQ_LDS_BANK_CONFLICT"] == 0);
  }
}

TEST_CASE("the hot loop of attention has the instructions that it needs") {
  // A tile of 64 keys for 32 queries of a wave. FlyDSL's generic kernel has on gfx942 per tile and
  // wave, for heads of 128 in bf16, 64 products of twice the size, 62 reads and 36 writes of LDS, 8
  // loads, 2 barriers and 301 other vector instructions, on gfx950 325 of these (wheel 0.4.2).
  struct Case {
    const char *target;
    fx::DType type;
    int k, vector; // of an instruction's K; vector instructions at most
  };
  for (const Case &c : {Case{"gfx942", fx::f16, 16, 301}, Case{"gfx950", fx::bf16, 32, 325},
                        Case{"gfx950", fx::f16, 32, 325}}) {
    const fx::Target target = fx::Target::parse(c.target);
    AttentionProblem problem{.q = c.type, .kv = c.type, .y = c.type};
    problem.q_heads = 32;
    problem.kv_heads = 8;
    problem.head = 128;
    problem.causal = true;
    const AttentionConfig config{.tile_q = 128, .tile_k = 64, .threads = 256};
    const std::vector<fx::Executable> codes =
        fk::AttentionPlan(problem, config, target).executables();
    REQUIRE(codes.size() == 1);
    const HotLoop loop = hotLoop(codes[0]);
    INFO(c.target << "\n" << codes[0].summary() << loop.str());
    CHECK(codes[0].spills() == 0);
    CHECK(loop.matrix == 2 * (32 / 16) * (64 / 16) * (128 / c.k));
    CHECK(loop.ldsReads == 2 * 64 * 128 * 2 / (64 * 16));
    CHECK(loop.ldsWrites <= 4 + 8);
    CHECK(loop.loads == 2 * 64 * 128 * 2 / 16 / 256);
    CHECK(loop.barriers == 2);
    CHECK(loop.vector <= c.vector);
  }
}

TEST_CASE("the kernels of attention stay in their registers") {
  for (const char *name : kAllTargets)
    for (int head : {64, 96, 128, 192, 256}) {
      const fx::Target target = fx::Target::parse(name);
      AttentionProblem problem = kHeads;
      problem.head = head;
      INFO(name << ", head " << head);
      for (const fx::Executable &code :
           fk::AttentionPlan(problem, fk::choose(problem, 1 << 20, target), target).executables()) {
        INFO(code.summary());
        CHECK(code.spills() == 0);
        CHECK(code.scratch_bytes() == 0);
      }
    }
}

TEST_CASE("attention: another run, a graph, a file", "[run]") {
  AttentionProblem problem = kHeads;
  problem.causal = problem.bias = problem.sink = problem.lse = true;
  expectStructure(problem, fk::choose(problem, 40), 40);
  const int wave = fx::Device::current().target().wave_size();
  expectStructure(problem, {.tile_q = 32, .tile_k = 32, .threads = 2 * wave, .splits = 2}, 40);
}

TEST_CASE("attention is tuned, and what is found gives what it must") {
  AttentionProblem problem = kHeads;
  problem.head = 32;
  problem.causal = true;
  AttentionCase(problem, {20}, {20}).expect(tunedConfig(problem, 20));
}

TEST_CASE("attention in other orders of blocks gives the same bytes") {
  AttentionProblem problem = kHeads;
  problem.causal = true;
  const AttentionCase attention(problem, {70, 70}, {90, 90});
  AttentionConfig config{.tile_q = 64, .tile_k = 32, .threads = 256};
  const std::vector<double> first = attention.run(config).o.values;
  for (const fk::TileOrder &order :
       {fk::TileOrder{.xcds = 8}, fk::TileOrder{.group = 4, .along = fk::TileOrder::Along::n}}) {
    config.order = order;
    CHECK(attention.run(config).o.values == first);
  }
}

TEST_CASE("attention of no queries or sequences launches nothing") {
  const fk::AttentionPlan plan(kHeads, fk::choose(kHeads, 0));
  const Operand one = Operand::input(fx::f16, 1, 64 * 8, std::vector<double>(64 * 8));
  void *data = one.tensor().data();
  const auto heads = [&](std::int64_t batch, std::int64_t tokens, std::int64_t count) {
    return fx::tensor(data, fx::f16, {batch, tokens, count, 64});
  };
  const auto launches = fx::Device::current().count_launches([&] {
    plan({.q = heads(0, 1, 4), .k = heads(0, 1, 2), .v = heads(0, 1, 2), .o = heads(0, 1, 4)});
    plan({.q = heads(1, 0, 4), .k = heads(1, 1, 2), .v = heads(1, 1, 2), .o = heads(1, 0, 4)});
  });
  CHECK(launches.empty());
}

TEST_CASE("attention has a configuration for every problem that it supports") {
  std::vector<AttentionProblem> problems;
  for (int head : {32, 64, 96, 128, 160, 192, 256})
    for (int headV : {0, 128, 256})
      problems.push_back(with(kHeads, [&](auto &p) { p.head = head, p.head_v = headV; }));
  problems.push_back(with(kHeads, [](auto &p) { p.cache = KvCache::packed; }));
  problems.push_back(with(kHeads, [](auto &p) { p.q = p.kv = p.y = fx::bf16, p.varlen = true; }));
  expectTotal(problems);
}

TEST_CASE("attention says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](auto change) { return fk::supported(with(kHeads, change), target).why; };
  CHECK(why([](auto &p) { p.y = fx::i8; }) == "y is of type i8; f32, f16 and bf16 are supported");
  CHECK(why([](auto &p) { p.q = fx::bf16; }) ==
        "kv is of type f16; it has the type of q, bf16, or is a float of 8 bits");
  CHECK(why([](auto &p) { p.kv = fx::i8; }) ==
        "kv is of type i8; f16, bf16 and floats of 8 bits are supported");
  CHECK(why([](auto &p) { p.q = fx::i8; }) ==
        "q is of type i8; f16, bf16, f32 and floats of 8 bits are supported");
  CHECK(why([](auto &p) { p.kv = fx::f32; }) ==
        "kv is of type f32; f16, bf16 and floats of 8 bits are supported");
  CHECK(why([](auto &p) { p.q = fx::f32; }).empty());
  CHECK(why([](auto &p) { p.q = p.y = fx::f32, p.kv = fx::f8E4M3FNUZ; }) ==
        "q, kv and y say no type of the products: products is of type f32; it is f16 or bf16");
  CHECK(why([](auto &p) { p.q = fx::f32, p.kv = fx::f8E4M3FNUZ, p.float8_products = true; }) ==
        "q is of type f32; with float8_products it is a float of 8 bits; gfx942 has products where "
        "both are f16, or both bf16, or both i8, or each is f8E4M3FNUZ or f8E5M2FNUZ");
  CHECK(why([](auto &p) { p.products = fx::bf16; }) ==
        "products is of type bf16; q and kv say f16");
  CHECK(why([](auto &p) { p.kv_heads = 3; }) ==
        "q_heads is 4 and kv_heads is 3; q_heads is a multiple of kv_heads, from 1 to 65536");
  CHECK(why([](auto &p) { p.q_heads = 0; }) ==
        "q_heads is 0 and kv_heads is 2; q_heads is a multiple of kv_heads, from 1 to 65536");
  CHECK(why([](auto &p) { p.head = 84; }) == "head is 84; it is a multiple of 8 from 8 to 512");
  CHECK(why([](auto &p) { p.head_v = 520; }) ==
        "head_v is 520; it is a multiple of 8 from 8 to 512");
  CHECK(why([](auto &p) { p.scale = -1; }) ==
        "scale is -1.000000; it is a positive number, or 0 for the default");
  CHECK(why([](auto &p) { p.soft_cap = kInfinity; }) ==
        "soft_cap is inf; it is a positive number, or 0 for the default");
  CHECK(why([](auto &p) { p.bias = true, p.bias_type = fx::i8; }) ==
        "bias_type is of type i8; f32, f16 and bf16 are supported");
  CHECK(why([](auto &p) { p.cache = KvCache::pages, p.page = 0; }) ==
        "page is 0; a block of the cache has 1 to 65536 tokens");
  CHECK(why([](auto &p) { p.cache = KvCache::packed, p.pack = 4; }) ==
        "pack is 4; it is a multiple of 8 that divides head = 64");
  CHECK(why([](auto &p) { p.cache = KvCache::packed, p.page = 12; }) ==
        "v_pack is 0 and page is 12; v_pack is a multiple of 8 that divides page, or 0 for all of "
        "it");
  CHECK(fk::supported(kHeads, fx::Target::parse("gfx1250")).why == "");

  const auto whyNot = [&](const AttentionConfig &config) {
    return fk::supported(kHeads, config, target).why;
  };
  CHECK(whyNot({.threads = 96}) ==
        "tiles of 128 queries and 64 keys with 96 threads: a block is a number of waves of 64, up "
        "to 1024 threads");
  CHECK(whyNot({.tile_q = 96}) == "tiles of 96 queries and 64 keys with 256 threads: tile_q is 16, "
                                  "32, 48 or 64 queries for each wave");
  CHECK(whyNot({.tile_k = 48}) == "tiles of 128 queries and 48 keys with 256 threads: tile_k is a "
                                  "multiple of 32 from 32 to 256");
  CHECK(whyNot({.tile_k = 256}) == "tiles of 128 queries and 256 keys with 256 threads: the tiles "
                                   "of k and v take 77056 bytes of LDS; there are 65536");
  CHECK(whyNot({.tile_q = 256, .tile_k = 96, .threads = 1024}) == "");
  CHECK(whyNot({.tile_q = 1024, .tile_k = 128, .threads = 1024}) ==
        "tiles of 1024 queries and 128 keys with 1024 threads: the sums take 304 registers of a "
        "lane; there are 128");
  CHECK(whyNot({.splits = 65}) ==
        "tiles of 128 queries and 64 keys with 256 threads: splits is 1 to 64");
  CHECK(whyNot({.order = {.group = 0}}) ==
        "order: group is 1 to 4096, xcds 1 to 64, chunk 0 to 4096");
}

TEST_CASE("attention refuses arguments that do not fit") {
  const Operand memory = Operand::input(fx::f16, 1, 1 << 14, std::vector<double>(1 << 14));
  const fx::DType f16 = fx::f16, i32 = fx::i32, f32 = fx::f32;
  const auto at = [&](fx::DType type, const fx::Extents &shape) {
    return fx::tensor(memory.tensor().data(), type, shape);
  };
  const auto expect = [&](const AttentionProblem &problem, const fk::AttentionArgs &good,
                          const auto &change, const char *part, int splits = 1) {
    const fk::AttentionPlan plan(problem, {.tile_q = 64, .tile_k = 32, .splits = splits});
    fk::AttentionArgs args = good;
    change(args);
    const std::string text = messageOf([&] { plan(args); });
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    CHECK(text.find("attention_structure_test.cpp") != std::string::npos);
  };
  const fk::AttentionArgs dense{.q = at(f16, {2, 3, 4, 64}),
                                .k = at(f16, {2, 5, 2, 64}),
                                .v = at(f16, {2, 5, 2, 64}),
                                .o = at(f16, {2, 3, 4, 64})};
  const auto wrong = [&](const auto &change, const char *part) {
    expect(kHeads, dense, change, part);
  };
  wrong(
      [&](auto &a) {
        a.q = at(f16, {3, 4, 64});
      },
      "q has 3 modes; it is (batch, queries, q_heads, head)");
  wrong([&](auto &a) { a.q = at(f16, {2, 3, 2, 64}); }, "q has the shape (2, 3, 2, 64)");
  wrong([&](auto &a) { a.k = at(f16, {3, 5, 2, 64}); }, "k has 3 sequences, and q has 2");
  wrong(
      [&](auto &a) {
        a.k = at(f16, {5, 2, 64});
      },
      "k has 3 modes; it is (batch, keys, kv_heads, head)");
  wrong([&](auto &a) { a.v = at(f16, {2, 4, 2, 64}); }, "v has the shape (2, 4, 2, 64)");
  wrong([&](auto &a) { a.o = at(fx::bf16, {2, 3, 4, 64}); }, "o is of type bf16");
  wrong(
      [&](auto &a) {
        a.q = fx::tensor(memory.tensor().data(), f16, {2, 3, 4, 64}, {1000, 268, 64, 1});
      },
      "8 elements are moved at a time");
  wrong(
      [&](auto &a) {
        a.k = fx::tensor(memory.tensor().data(), f16, {2, 5, 2, 64}, {64, 1 << 27, 64, 1});
      },
      "a tile, that is 32 along keys, spans less than 2 GiB; pass a contiguous copy");
  wrong(
      [&](auto &a) {
        a.lse = at(f32, {2, 4, 3});
      },
      "lse is given, and the problem does not have it");
  wrong([&](auto &a) { a.seq_lens = at(i32, {2}); },
        "seq_lens is given, and the problem does not have it");
  wrong([&](auto &a) { a.k_scale = at(f32, {1}); },
        "k_scale is given, and the problem does not have it");
  wrong([&](auto &a) { a.window_left = 3; }, "window_left is given, and the problem has no window");

  const AttentionProblem options =
      with(kHeads, [](auto &p) { p.window = p.bias = p.alibi = p.sink = p.lse = true; });
  fk::AttentionArgs all = dense;
  all.bias = at(f32, {2, 4, 3, 5});
  all.alibi_slopes = all.sink = at(f32, {4});
  all.lse = at(f32, {2, 3, 4});
  const auto wrongOption = [&](const auto &change, const char *part) {
    expect(options, all, change, part, 2);
  };
  wrongOption([](auto &a) { a.bias.reset(); }, "bias is missing; the problem has it");
  wrongOption([&](auto &a) { a.bias = at(f32, {2, 4, 3, 6}); }, "bias has the shape (2, 4, 3, 6)");
  wrongOption([&](auto &a) { a.sink = at(f32, {2}); }, "sink has the shape (2)");
  wrongOption([](auto &a) { a.window_right = -2; },
              "window_right is -2; it is a number of keys, or -1 for all");
  wrongOption([](auto &) {}, "workspace is missing");
  wrongOption([&](auto &a) { a.workspace = at(fx::u8, {100}); },
              "workspace has the shape (100); a vector of at least 12480 bytes is expected");

  const AttentionProblem lengths =
      with(kHeads, [](auto &p) { p.varlen = true, p.cache = KvCache::packed; });
  const fk::AttentionArgs paged{.q = at(f16, {7, 4, 64}),
                                .k = at(f16, {3, 2, 8, 16, 8}),
                                .v = at(f16, {3, 2, 1, 64, 16}),
                                .o = at(f16, {7, 4, 64}),
                                .cu_seqlens_q = at(i32, {3}),
                                .max_seqlen_q = 5,
                                .seq_lens = at(i32, {2}),
                                .block_table = at(i32, {2, 2})};
  const auto wrongPage = [&](const auto &change, const char *part) {
    expect(lengths, paged, change, part);
  };
  wrongPage([](auto &a) { a.cu_seqlens_q.reset(); }, "cu_seqlens_q is missing");
  wrongPage([&](auto &a) { a.cu_seqlens_q = at(i32, {0}); },
            "cu_seqlens_q is a vector of the starts of all sequences and the end");
  wrongPage([](auto &a) { a.max_seqlen_q = 8; }, "max_seqlen_q is 8; q has 7 tokens");
  wrongPage([&](auto &a) { a.block_table = at(i32, {3, 2}); }, "block_table has the shape (3, 2)");
  wrongPage(
      [&](auto &a) {
        a.k = at(f16, {3, 2, 4, 16, 16});
      },
      "k has the shape (3, 2, 4, 16, 16)");
  wrongPage(
      [&](auto &a) {
        a.v = at(f16, {4, 2, 1, 64, 16});
      },
      "v has the shape (4, 2, 1, 64, 16)");

  fk::AttentionArgs inPages = paged;
  inPages.k = inPages.v = at(f16, {3, 16, 2, 64});
  expect(
      with(lengths, [](auto &p) { p.cache = KvCache::pages; }), inPages,
      [&](auto &a) {
        a.k = fx::tensor(memory.tensor().data(), f16, {3, 16, 2, 64}, {64, 1 << 26, 64, 1});
      },
      "a block, that is 16 along page, spans less than 2 GiB; pass a contiguous copy");
}
