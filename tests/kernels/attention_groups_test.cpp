// Attention by two groups of waves that take turns (AttentionLoop::groups), on gfx950.
#include "attention/group_loop.h"
#include "support/attention_case.h"

using namespace kernel_tests;

namespace {

AttentionConfig inGroups(int tileQ = 128, int splits = 1, int tileK = 64) {
  return {.tile_q = tileQ,
          .tile_k = tileK,
          .threads = 512,
          .loop = fk::AttentionLoop::groups,
          .splits = splits};
}
AttentionProblem heads(fx::DType x, int head, int headV = 0) {
  return {.q = x,
          .kv = x,
          .y = x,
          .q_heads = 2,
          .kv_heads = 1,
          .head = head,
          .head_v = headV,
          .lse = true};
}
/// The same with products of 8 bits, for which a tile has 128 keys.
AttentionProblem bytes(int head, fx::DType x = fx::f8E4M3FN) {
  AttentionProblem problem = heads(fx::bf16, head);
  problem.q = problem.kv = x;
  problem.scales = fk::KvScales::tensor;
  problem.float8_products = true;
  return problem;
}
AttentionConfig bytesInGroups(int tileQ = 128, int splits = 1) {
  return inGroups(tileQ, splits, 128);
}

} // namespace

TEST_CASE("groups of waves: any number of tiles of keys, with and without a causal mask",
          "[groups]") {
  for (std::int64_t keys : {1, 64, 65, 130, 200, 260}) {
    AttentionProblem problem = heads(fx::f16, 64);
    problem.q_heads = 1;
    problem.causal = keys % 2;
    AttentionCase(problem, {keys == 200 ? 150 : 40}, {keys}).expect(inGroups());
  }
  AttentionCase(heads(fx::f16, 64), {5}, {0}).expect(inGroups());
}

TEST_CASE("groups of waves: heads of 64 and 128 of keys and of values", "[groups]") {
  AttentionCase(heads(fx::bf16, 128), {270}, {140}).expect(inGroups(256));
  AttentionCase(heads(fx::f16, 128, 64), {20}, {140}).expect(inGroups());
  AttentionCase(heads(fx::bf16, 64, 128), {20}, {140}).expect(inGroups());
}

TEST_CASE("groups of waves: lengths, pages, windows and terms of scores", "[groups]") {
  AttentionProblem problem = heads(fx::bf16, 64);
  problem.soft_cap = 3;
  problem.causal = problem.window = problem.bias = problem.alibi = problem.sink = true;
  problem.bias_type = fx::bf16;
  problem.varlen = true;
  for (KvCache cache : {KvCache::none, KvCache::pages}) {
    problem.cache = cache;
    problem.page = 5;
    AttentionCase all(problem, {20, 0, 141}, {33, 40, 300});
    all.left = 100;
    all.longest = 1;
    all.expect(inGroups(128, cache == KvCache::none ? 1 : 2));
  }
}

TEST_CASE("groups of waves: parts of pages where a sequence has no keys", "[groups]") {
  AttentionProblem problem = heads(fx::bf16, 64);
  problem.varlen = true;
  problem.cache = KvCache::pages;
  problem.page = 5;
  for (const bool lse : {false, true})
    for (const int head : {64, 128}) {
      problem.lse = problem.sink = problem.causal = lse;
      problem.head = problem.head_v = head;
      AttentionCase(problem, {20, 7, 141}, {33, 0, 300}).expect(inGroups(128, 2));
    }
  // The first or the last sequence, or both; more parts than tiles; pages of one key and of 16.
  problem.head = problem.head_v = 64;
  for (const int page : {1, 16}) {
    problem.page = page;
    problem.window = page == 16;
    for (const std::vector<std::int64_t> &keys :
         std::vector<std::vector<std::int64_t>>{{0, 70}, {130, 0}, {0, 0}}) {
      AttentionCase all(problem, {30, 20}, keys);
      if (problem.window)
        all.left = 40;
      all.expect(inGroups(128, 3));
    }
  }
}

TEST_CASE("groups of waves: products of 8 bits", "[groups]") {
  for (int head : {64, 128}) {
    for (std::int64_t keys : {1, 128, 200, 300, 520}) {
      AttentionProblem problem = bytes(head);
      problem.q_heads = 1;
      problem.y = keys == 300 ? fx::f16 : keys == 520 ? fx::f32 : fx::bf16;
      problem.causal = keys % 3 == 2;
      AttentionCase(problem, {keys == 520 ? 150 : 20}, {keys}).expect(bytesInGroups());
    }
    AttentionCase(bytes(head, fx::f8E5M2), {270}, {140}).expect(bytesInGroups(256));
    AttentionCase(bytes(head), {20}, {140}).expect(inGroups(128, 2, head == 64 ? 128 : 64));
  }
  AttentionProblem narrow = bytes(128);
  narrow.head_v = 64;
  AttentionCase(narrow, {20}, {140}).expect(bytesInGroups());
}

TEST_CASE("groups of waves: products of 8 bits with lengths, pages, windows and terms of scores",
          "[groups]") {
  AttentionProblem problem = bytes(64);
  problem.kv_heads = 2;
  problem.causal = problem.window = problem.varlen = true;
  for (KvCache cache : {KvCache::none, KvCache::pages}) {
    problem.cache = cache;
    problem.page = 5;
    AttentionCase all(problem, {20, 0, 141}, {33, 40, 400});
    all.left = 150;
    all.longest = 1;
    all.descaleHeads();
    all.expect(bytesInGroups(128, cache == KvCache::none ? 1 : 2));
    problem.soft_cap = 3;
    problem.bias = problem.alibi = problem.sink = true;
  }
}

TEST_CASE("groups of waves: another run, a graph, a file", "[groups]") {
  AttentionProblem problem = heads(fx::f16, 64);
  problem.causal = true;
  expectStructure(problem, inGroups(), 200);
  expectStructure(bytes(64), bytesInGroups(), 200);
}

TEST_CASE("groups of waves look at the tiles that some query sees, and send for each once",
          "[groups]") {
  for (AttentionProblem problem : {heads(fx::f16, 64), bytes(64)}) {
    problem.causal = problem.window = true;
    problem.lse = false;
    AttentionCase attention(problem, {200}, {330});
    attention.left = 70;
    const AttentionConfig config = problem.float8_products ? bytesInGroups() : inGroups();
    const auto launches =
        fx::Device::current().count_launches([&] { (void)attention.run(config); });
    REQUIRE(launches.size() == 1);
    const fx::LaunchCounters &counters = launches[0];
    INFO(counters.str());
    // Queries 0 to 127 stand at the keys 130 to 257, and see from 60 on: of tiles of 64 0 to 4, of
    // 128 0 to 2. The others stand at 258 to 329 and see from 188 on: tiles 2 to 5, or 1 and 2.
    const std::int64_t tileK = config.tile_k, tiles = 2 * (tileK == 64 ? 5 + 4 : 3 + 2),
                       blocks = 2 * 2, element = problem.kv.bytes();
    // For each tile a wave multiplies 16 queries by its keys, its keys by 64 elements, and its keys
    // by 1. Heads of 64 are too short for the instruction that multiplies 128 elements of a byte.
    const std::int64_t k = problem.float8_products ? 128 : 32, ofKeys = tileK / 16 * (64 / 32),
                       ofValues = (64 / 16 + 1) * (tileK / k);
    CHECK(std::int64_t(counters["SQ_INSTS_MFMA"]) ==
          8 * (tiles * (ofKeys + ofValues) + blocks / 2 * ofKeys));
    // Each block sends for two more tiles of keys, and of values for two by the second group and
    // one by the first, which are all the last key. One is multiplied if the number of tiles is
    // even, as it is for every second block.
    CHECK(2 * std::int64_t(counters["globalBytesRead"]) ==
          element * 2 * blocks * 128 * 64 +
              element * (2 * tiles + 4 * blocks + 2 * tiles + 3 * blocks) * tileK * 64);
    CHECK(counters["SQ_LDS_BANK_CONFLICT"] == 0);
  }
}

TEST_CASE("groups of waves: the instructions of two tiles", "[groups]") {
  // The loop is two tiles long; its instructions are what two tiles more take. Equal scores:
  // nothing is scaled down.
  for (int head : {64, 128})
    for (bool float8 : {false, true}) {
      AttentionProblem problem = float8 ? bytes(head) : heads(fx::bf16, head);
      problem.q_heads = 1;
      const std::int64_t tileK = float8 ? 128 : 64, element = problem.kv.bytes();
      const auto run = [&](std::int64_t tiles) {
        AttentionCase attention(problem, {256}, {tiles * tileK});
        std::fill(attention.q.begin(), attention.q.end(), 0);
        return fx::Device::current().count_launches(
            [&] { (void)attention.run(float8 ? bytesInGroups(256) : inGroups(256)); })[0];
      };
      const fx::LaunchCounters few = run(3), many = run(5);
      const auto ofWave = [&](const char *name) {
        return double(many[name] - few[name]) / 8; // waves
      };
      INFO("head " << head << "\n" << few.str() << "\n" << many.str());
      // For 32 queries of a wave: the two products, and the sums of the probabilities.
      const std::int64_t k = float8 ? 128 : 32, ofScores = head % k ? 32 : k;
      CHECK(ofWave("SQ_INSTS_MFMA") == 2 * ((32 / 16) * (tileK / 16) * (head / ofScores) +
                                            (32 / 16) * (head / 16 + 1) * (tileK / k)));
      // Keys by 16 bytes, values by 8.
      const std::int64_t bytesOfTile = tileK * head * element;
      CHECK(ofWave("SQ_INSTS_LDS") == 2 * (bytesOfTile / (64 * 16) + bytesOfTile / (64 * 8)));
      // What a thread sends for of both.
      CHECK(ofWave("SQ_INSTS_VMEM") == 2 * 2 * bytesOfTile / (512 * 16));
      CHECK(ofWave("SQ_INSTS_VALU") - ofWave("SQ_INSTS_MFMA") <= 2 * (float8 ? 256 : 160));
      CHECK(many["SQ_LDS_BANK_CONFLICT"] == 0);
    }
}

TEST_CASE("groups of waves stay in their registers", "[groups]") {
  for (int head : {64, 128})
    for (bool causal : {false, true})
      for (KvCache cache : {KvCache::none, KvCache::pages}) {
        AttentionProblem problem = heads(fx::bf16, head);
        problem.causal = causal;
        problem.cache = cache;
        const fx::Executable code =
            fk::AttentionPlan(problem, inGroups(256), fx::Target::parse("gfx950")).executables()[0];
        INFO(code.summary());
        CHECK(code.spills() == 0);
        CHECK(code.scratch_bytes() == 0);
      }
  for (int head : {64, 128})
    for (bool causal : {false, true}) {
      AttentionProblem problem = bytes(head);
      problem.causal = causal;
      const fx::Executable code =
          fk::AttentionPlan(problem, bytesInGroups(256), fx::Target::parse("gfx950"))
              .executables()[0];
      INFO(code.summary());
      CHECK(code.spills() == 0);
      CHECK(code.scratch_bytes() == 0);
    }
}

TEST_CASE("groups of waves say what they do not take") {
  const auto why = [](const char *target, const AttentionProblem &problem,
                      const AttentionConfig &config) {
    return fk::supported(problem, config, fx::Target::parse(target)).why;
  };
  const AttentionProblem good = heads(fx::bf16, 128);
  const auto with = [&](auto change) {
    AttentionProblem problem = good;
    change(problem);
    return why("gfx950", problem, inGroups());
  };
  const std::string of = "tiles of 128 queries and 64 keys with 512 threads: two groups of waves ";
  CHECK(why("gfx950", good, inGroups()) == "");
  CHECK(why("gfx942", good, inGroups()) ==
        of + "need loads of 16 bytes to LDS and transposing reads, which gfx950 has");
  CHECK(with([](auto &p) { p.head = 96; }) == of + "take heads of 64 and 128 elements; one has 96");
  CHECK(with([](auto &p) { p.head_v = 256; }) ==
        of + "take heads of 64 and 128 elements; one has 256");
  CHECK(with([](auto &p) { p.kv = fx::f8E4M3FN; }) ==
        of + "take keys and values of 16 bits, or float8_products; kv is f8E4M3FN, and "
             "float8_products is false");
  CHECK(with([](auto &p) { p.cache = KvCache::packed; }) ==
        of + "take keys and values side by side or in KvCache::pages");
  AttentionConfig config = inGroups();
  config.threads = 256;
  CHECK(why("gfx950", good, config) == "tiles of 128 queries and 64 keys with 256 threads: two "
                                       "groups of waves are eight waves");
  config = inGroups();
  config.tile_k = 32;
  CHECK(why("gfx950", heads(fx::bf16, 64), config) ==
        "tiles of 128 queries and 32 keys with 512 threads: two groups of waves load 8 KiB at a "
        "time; a tile of 32 keys has 4096 bytes");
}

namespace {
namespace impl = fk::impl;

/// A call of one sequence with a head of each tensor, with waits that are weaker by one where
/// `weaker` says so.
struct WaitSpec {
  bool float8 = false;
  impl::GroupWaits weaker = {};
  AttentionProblem problem() const {
    AttentionProblem problem = float8 ? bytes(64) : heads(fx::f16, 64);
    problem.q_heads = 1;
    problem.lse = false;
    return problem;
  }
  AttentionConfig config() const { return float8 ? bytesInGroups() : inGroups(); }
};
const fx::Kernel attend_waiting{
    "attend_waiting", [](const impl::AttentionTraced &params, fx::Constexpr<WaitSpec> spec) {
      const AttentionProblem problem = spec->problem();
      const AttentionConfig config = spec->config();
      const auto shape = *impl::AttentionShape::of(problem, config, fx::target());
      const auto place = impl::BlockPlace::of(problem, config, params, false, 1);
      const impl::AttentionRows rows(problem, config, params, place);
      impl::WaveQueries queries(
          problem, config, shape, place, rows,
          {params.window.left.to<fx::Int32>(), params.window.right.to<fx::Int32>()});
      const impl::GroupWaits right = impl::GroupWaits::of(shape), &weaker = spec->weaker;
      impl::GroupLoop loop(shape, rows.source(), place.keys, queries,
                           {.first = right.first + weaker.first,
                            .second = right.second + weaker.second,
                            .softmax = right.softmax + weaker.softmax,
                            .products = right.products + weaker.products});
      loop.run(false);
      loop.store(false);
    }};

/// Runs it on four tiles.
void attendWaiting(const WaitSpec &spec) {
  const AttentionProblem problem = spec.problem();
  const std::int64_t keys = 4 * spec.config().tile_k;
  const Operand memory = Operand::input(problem.q, 1, keys * 64, uniform(problem.q, keys * 64, 1)),
                results = Operand::output(problem.y, 128, 64),
                descale = Operand::input(fx::f32, 1, 1, std::vector<double>{1});
  const auto rowsOf = [](const Operand &operand) {
    return fx::Strided<fx::OnHost, 3>{.address = fx::strided<0>(operand.tensor()).address,
                                      .stride = {0, 64, 0}};
  };
  const fx::Strided<fx::OnHost, 2> one{.address = fx::strided<0>(descale.tensor()).address,
                                       .stride = {}};
  impl::AttentionParams<fx::OnHost> params{};
  params.q = params.k = params.v = rowsOf(memory);
  params.o = rowsOf(results);
  params.descale = {.q = one, .k = one, .v = one};
  params.size = {.queries = 128, .keys = keys, .tokens = 128, .batch = 1};
  const fx::Stream stream;
  attend_waiting(params, spec).launch({.grid = 1, .block = 512, .stream = stream});
  stream.synchronize();
}
/// The same with a weaker wait.
void attendWeakly(int impl::GroupWaits::*wait, bool float8 = false) {
  WaitSpec spec{.float8 = float8};
  spec.weaker.*wait = 1;
  attendWaiting(spec);
}
} // namespace

// Their test passes if the emulator says what is read too early.
TEST_CASE("waits of groups: first", "[.weak]") { attendWeakly(&impl::GroupWaits::first); }
TEST_CASE("waits of groups: second", "[.weak]") { attendWeakly(&impl::GroupWaits::second); }
TEST_CASE("waits of groups: softmax", "[.weak]") { attendWeakly(&impl::GroupWaits::softmax); }
TEST_CASE("waits of groups: products", "[.weak]") { attendWeakly(&impl::GroupWaits::products); }
TEST_CASE("waits of groups: bytes_first", "[.weak]") {
  attendWeakly(&impl::GroupWaits::first, true);
}
TEST_CASE("waits of groups: bytes_second", "[.weak]") {
  attendWeakly(&impl::GroupWaits::second, true);
}
TEST_CASE("waits of groups: bytes_softmax", "[.weak]") {
  attendWeakly(&impl::GroupWaits::softmax, true);
}
TEST_CASE("waits of groups: bytes_products", "[.weak]") {
  attendWeakly(&impl::GroupWaits::products, true);
}
TEST_CASE("waits of groups: none is weaker", "[groups]") {
  attendWaiting({});
  attendWaiting({.float8 = true});
}
