// Kernels that users compose of the parts of attention: the results of the library's own, byte by byte
// where the problem is one of its; functions of scores and of results; and what is refused.
#include "support/attention_case.h"
#include "support/float8.h"

#include <flydsl/kernels/parts/attention.h>

using namespace kernel_tests;
namespace parts = flydsl::kernels::parts;
using fx::_;

namespace {

/// How a kernel is composed.
struct Shape {
  bool alibi = false, mask = false, sink = false, descaled = false;
  bool doubled = false; ///< results are stored twice as large
  bool window = false;
  // Mistakes.
  bool twice = false, wrongScore = false, wrongResult = false, wholeSink = false;
  bool asRows = false; ///< keys and values are given as rows
};

/// The heads of q and o lie as (queries, heads, elements), keys and values as (keys, heads, elements) or
/// (blocks, page, heads, elements). `numbers` has the window, of `factors` 0 and 1 are of scores and
/// of values.
const fx::Kernel composed{
    "composed",
    [](fx::Tensor q, fx::Tensor k, fx::Tensor v, fx::Tensor o, fx::Tensor lse, fx::Tensor blocks,
       fx::Tensor slopes, fx::Tensor mask, fx::Tensor sink, fx::Tensor factors, fx::Int32 keys,
       fx::Int32 left, fx::Int32 right, fx::Constexpr<parts::AttentionSpec> spec,
       fx::Constexpr<Shape> shape) {
      const parts::QueryScheduler tiles(spec.value(), 1, fx::Int32(q.shape()[0]));
      const parts::QueryTile tile = tiles.at(fx::block_idx().x);
      const bool inPages = spec->problem.cache == KvCache::pages && !shape->asRows;
      const auto ofHead = [&](const fx::Tensor &all) {
        return inPages ? all(_, _, tile.kv_head, _) : all(_, tile.kv_head, _);
      };
      const parts::KeysAndValues given =
          inPages ? parts::KeysAndValues::pages(ofHead(k), ofHead(v), blocks, keys)
                  : parts::KeysAndValues::rows(ofHead(k), ofHead(v));
      parts::Attention attention(spec.value(), tile, q(_, tile.head, _), given);
      if (shape->alibi)
        attention.score([&](const fx::Numeric &score, const parts::ScoreAt &at) -> fx::Numeric {
          const fx::Int32 distance = fx::math::abs(fx::Int32(at.query + at.offset - at.key));
          return score - slopes(tile.head) * distance.to(fx::f32);
        });
      if (shape->mask)
        attention.sees([&](const parts::ScoreAt &at) -> fx::Boolean {
          const fx::Int32 key = at.key_inside(),
                          byte(fx::Numeric(mask(at.query, key / 8)).to(fx::i32));
          return (byte >> (key % 8) & 1) != 0;
        });
      if (shape->window)
        attention.window(left, right);
      if (shape->sink)
        attention.sink(sink(tile.head));
      if (shape->wholeSink)
        attention.sink(left);
      if (shape->descaled)
        attention.descale(factors(0), factors(1));
      if (shape->wrongScore)
        attention.score(
            [](const fx::Numeric &score, const parts::ScoreAt &) { return score.to(fx::f16); });
      if (shape->wrongResult)
        attention.then([](const fx::Vector &values, const fx::Int32 &, const fx::Int32 &) {
          return values.to(fx::f16);
        });
      if (shape->doubled)
        attention.then([](const fx::Vector &values, const fx::Int32 &, const fx::Int32 &) {
          return values * 2.0f;
        });
      attention.store(o(_, tile.head, _), lse(tile.head, _));
      if (shape->twice)
        attention.store(o(_, tile.head, _));
    },
    {.waves_per_eu = 2}};

/// What the parts take of a problem.
AttentionProblem withoutOwn(AttentionProblem problem) {
  problem.alibi = problem.mask = problem.sink = problem.lse = false;
  return problem;
}

/// A head's rows as (rows, heads, elements), the tokens apart by a gap.
fx::TensorArg headsOf(const Operand &memory, std::int64_t rows, std::int64_t heads,
                      std::int64_t elements, std::int64_t gap) {
  fx::TensorArg tensor = fx::tensor(memory.tensor().data(), memory.dtype(), {rows, heads, elements},
                                    {heads * elements + gap, elements, 1});
  return tensor.mark_layout_dynamic(2, int(gap));
}

/// The results of one sequence by parts.
Attended byParts(const AttentionCase &given, const parts::AttentionSpec &spec, Shape shape) {
  const AttentionProblem &problem = given.problem;
  const std::int64_t H = problem.q_heads, kv = problem.kv_heads, D = problem.head,
                     gap = given.gap(), page = problem.page;
  const bool pages = problem.cache == KvCache::pages;
  shape.alibi = problem.alibi, shape.mask = problem.mask, shape.sink = problem.sink;
  shape.window = problem.window;
  shape.descaled = problem.kv.bits() == 8;
  const std::int64_t keys = given.keys[0], count = pages ? (keys + page - 1) / page : 0;
  // The pages of a cache lie in the opposite order; what no key has are NaNs.
  const auto inOrder = [&](const std::vector<double> &values, std::int64_t row) {
    if (!pages)
      return values;
    std::vector<double> all(std::size_t(count * page * row), std::nan(""));
    for (std::int64_t key = 0; key < keys; ++key)
      std::copy_n(values.begin() + key * row, row,
                  all.begin() + ((count - 1 - key / page) * page + key % page) * row);
    return all;
  };
  const std::int64_t rows = pages ? count * page : keys;
  const auto memoryOf = [&](const std::vector<double> &values, std::int64_t elements) {
    return Operand::input(problem.kv, rows, kv * elements, inOrder(values, kv * elements), gap);
  };
  const Operand q = Operand::input(problem.q, given.tokens, H * D, given.q, gap),
                k = memoryOf(given.k, D), v = memoryOf(given.v, given.headV),
                o = Operand::output(problem.y, given.tokens, H * given.headV, gap),
                lse = Operand::output(fx::f32, H, given.tokens);
  const auto keysOf = [&](const Operand &memory, std::int64_t elements) {
    fx::TensorArg tensor = headsOf(memory, rows, kv, elements, gap);
    if (pages) {
      const std::int64_t token = kv * elements + gap;
      tensor = fx::tensor(memory.tensor().data(), problem.kv, {count, page, kv, elements},
                          {page * token, token, elements, 1});
      tensor.mark_layout_dynamic(3, int(gap));
    }
    return tensor;
  };
  std::vector<double> order;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(1, count); ++i)
    order.push_back(double(count - 1 - i));
  std::vector<double> bytes(std::size_t(given.tokens * given.maskBytes()));
  for (std::size_t i = 0; i < given.mask.size(); ++i)
    bytes[i / 8] += std::ldexp(given.mask[i], int(i % 8));
  const double ofScores = (problem.q.bits() == 8 ? given.descales[0] : 1) * given.descales[1];
  const Operand blocks = Operand::input(fx::i32, 1, std::int64_t(order.size()), order),
                slopes = Operand::input(fx::f32, 1, H, given.slopes),
                mask = Operand::input(fx::u8, given.tokens, given.maskBytes(), bytes),
                sink = Operand::input(fx::f32, 1, H, given.sink),
                factors =
                    Operand::input(fx::f32, 1, 2, std::vector<double>{ofScores, given.descales[2]});
  const fx::Stream stream;
  composed(headsOf(q, given.tokens, H, D, gap), keysOf(k, D), keysOf(v, given.headV),
           headsOf(o, given.tokens, H, given.headV, gap), lse.tensor(), blocks.vector(),
           slopes.vector(), mask.tensor(), sink.vector(), factors.vector(), std::int32_t(keys),
           std::int32_t(given.left), std::int32_t(given.right), spec, shape)
      .launch({.grid = parts::tiles(spec, 1, given.tokens),
               .block = spec.config.threads,
               .stream = stream});
  stream.synchronize();
  std::vector<double> sums; // (tokens, q_heads), as the library has them
  const std::vector<double> byHeads = lse.values();
  for (std::int64_t i = 0; i < given.tokens * H; ++i)
    sums.push_back(byHeads[std::size_t(i % H * given.tokens + i / H)]);
  return {{o.values(), {}}, {sums, {}}};
}

parts::AttentionSpec specOf(const AttentionCase &given, std::optional<AttentionConfig> config) {
  const AttentionProblem problem = withoutOwn(given.problem);
  return {problem, config ? *config : fk::choose(problem, given.tokens)};
}
/// Compares with the reference; what the library has without functions of scores is the same to the bit.
void expectResults(const AttentionCase &given, std::optional<AttentionConfig> config = {},
                   int recompute = 0) {
  parts::AttentionSpec spec = specOf(given, config);
  spec.recompute = recompute;
  INFO(fx::to_config(given.problem).str() << " " << fx::to_config(spec.config).str());
  const fk::Support answer = parts::supported(spec, fx::Device::current().target());
  INFO(answer.why);
  REQUIRE(answer);
  const Attended got = byParts(given, spec, {}), expected = given.reference(spec.config);
  expectWithin(got.o.values, expected.o.values, expected.o.bound);
  expectWithin(got.lse.values, expected.lse.values, expected.lse.bound);
  if (given.problem.alibi || given.problem.mask)
    return;
  const Attended library = given.run(spec.config);
  CHECK(got.o.values == library.o.values);
  CHECK(got.lse.values == library.lse.values);
}

AttentionProblem small() {
  return {.q = fx::bf16,
          .kv = fx::bf16,
          .y = fx::bf16,
          .q_heads = 2,
          .kv_heads = 1,
          .head = 64,
          .lse = true};
}

} // namespace

TEST_CASE("kernels of the parts of attention have the library's results", "[run]") {
  AttentionProblem problem = small();
  problem.causal = problem.sink = true;
  expectResults(AttentionCase(problem, {21}, {70}));
  // More blocks than one of a head; values that two blocks share, and heads with zeros after them.
  problem = small();
  problem.window = true;
  problem.head = 72;
  problem.head_v = 264;
  AttentionCase wide(problem, {70}, {45});
  wide.left = 20;
  wide.right = 3;
  expectResults(wide);
  // Pages whose keys end inside of one.
  problem = small();
  problem.cache = KvCache::pages;
  problem.soft_cap = 20;
  expectResults(AttentionCase(problem, {18}, {45}));
  // What is computed again is the same.
  expectResults(AttentionCase(small(), {18}, {70}), {}, 5);
  for (const AttentionConfig &config : fk::configs(withoutOwn(small()), 256))
    if (config.loop == fk::AttentionLoop::groups && config.splits == 1)
      return expectResults(AttentionCase(small(), {70}, {150}), config);
  CHECK_FALSE(fx::Device::current().target().name().starts_with(
      "gfx950")); // which has such a configuration
}

TEST_CASE("functions of scores in parts of attention: slopes, and a mask of any shape", "[run]") {
  AttentionProblem problem = small();
  problem.alibi = problem.mask = problem.sink = problem.causal = true;
  problem.soft_cap = 20;
  expectResults(AttentionCase(problem, {21}, {70}));
  // A query that sees no key has no result.
  problem.alibi = problem.sink = problem.causal = false;
  AttentionCase hidden(problem, {18}, {40});
  std::fill_n(hidden.mask.begin() + 3 * hidden.maskBytes() * 8, hidden.maskBytes() * 8, 0);
  expectResults(hidden);
}

TEST_CASE("parts of attention multiply floats of 8 bits and their factors", "[run]") {
  if (float8() == fx::DType())
    return;
  AttentionProblem problem = small();
  problem.q = problem.kv = float8();
  problem.float8_products = true;
  expectResults(AttentionCase(problem, {21}, {70}));
}

TEST_CASE("a function of results in parts of attention") {
  const AttentionCase given(small(), {21}, {40});
  const parts::AttentionSpec spec = specOf(given, {});
  const Attended once = byParts(given, spec, {}), doubled = byParts(given, spec, {.doubled = true});
  std::vector<double> expected = once.o.values;
  for (double &value : expected)
    value *= 2; // exact
  CHECK(doubled.o.values == expected);
}

namespace {

/// The operands of a call that is refused.
struct Refused {
  parts::AttentionSpec spec;
  Shape shape;
  fx::TensorArg q, k, v, o, lse, blocks;
};

template <class Change> void expectRefused(const Change &change, const std::string &part) {
  const AttentionProblem problem = withoutOwn(small());
  const fx::DeviceArray<fx::bfloat16_t> q({16, 2, 64}), k({40, 1, 64}), o({16, 2, 64});
  const fx::DeviceArray<float> lse({2, 16}), floats({2});
  const fx::DeviceArray<std::int32_t> blocks({3});
  const fx::DeviceArray<std::uint8_t> mask({16, 5});
  const auto fixed = [](const auto &array) {
    fx::TensorArg tensor = array.tensor();
    return tensor.mark_layout_static();
  };
  Refused call{{problem, fk::choose(problem, 16)},
               {},
               fixed(q),
               fixed(k),
               fixed(k),
               fixed(o),
               fixed(lse),
               fixed(blocks)};
  change(call);
  const std::string text = messageOf([&] {
    composed(call.q, call.k, call.v, call.o, call.lse, call.blocks, floats, mask, floats, floats,
             40, 3, 3, call.spec, call.shape)
        .compile({.block = call.spec.config.threads});
  });
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  CHECK(text.find("parts_test.cpp") != std::string::npos);
}

} // namespace

TEST_CASE("wrong compositions of the parts of attention are refused while they are traced") {
  const fx::DeviceArray<float> wide({16, 2, 64});
  const fx::DeviceArray<fx::bfloat16_t> shorter({16, 2, 56}), pages({3, 16, 1, 64}),
      few({30, 1, 64}), odd({16, 2, 65});
  const auto fixed = [](const auto &array) {
    fx::TensorArg tensor = array.tensor();
    return tensor.mark_layout_static();
  };
  const auto refused = [](auto change, const char *part) {
    expectRefused([&](Refused &call) { change(call); }, part);
  };
#define CHANGE [&](Refused & call)
  refused(
      CHANGE { call.spec.problem.bias = true; },
      "bias is AttentionPlan's; a kernel of parts has it by score()");
  refused(
      CHANGE { call.spec.problem.cache = KvCache::packed; },
      "KvCache::packed is AttentionPlan's; the parts take keys and values as rows");
  refused(
      CHANGE { call.spec.config.splits = 2; }, "splits is 2: a second kernel");
  refused(
      CHANGE { call.spec.recompute = 6; }, "recompute is 6; it is from 0 to 5");
  refused(
      CHANGE { call.spec.config.tile_k = 24; }, "parts of attention on ");
  refused(
      CHANGE { call.q = fixed(wide); }, "q of attention is of type f32, and the spec has bf16");
  refused(
      CHANGE { call.q = fixed(shorter); },
      "q of attention has an extent of 56 in mode 1; head is 64");
  refused(
      CHANGE {
        call.q = fx::tensor(odd.tensor().data(), fx::bf16, {16, 2, 64}, {130, 65, 1})
                     .mark_layout_static();
      },
      "q of attention: a stride of 130 elements in mode 0 is no multiple of 8 elements");
  refused(
      CHANGE {
        call.q = fx::tensor(odd.tensor().data(), fx::bf16, {16, 2, 64}, {1, 16, 32})
                     .mark_layout_static();
      },
      "q of attention: the elements of a row are neighbours, and the stride of mode 1 is 32");
  refused(
      CHANGE { call.v = fixed(few); },
      "v of a head has an extent of 30 in mode 0; the number of keys is 40");
  refused(
      CHANGE {
        call.spec.problem.cache = KvCache::pages;
        call.shape.asRows = true;
      },
      "the spec's problem has KvCache::pages: KeysAndValues::pages(k, v, blocks, keys)");
  const auto inPages = [&](Refused &call, int page) {
    call.spec.problem.cache = KvCache::pages;
    call.spec.problem.page = page;
    call.k = call.v = fixed(pages);
  };
  refused(
      CHANGE { inPages(call, 32); }, "k of a head has an extent of 16 in mode 1; page is 32");
  refused(
      CHANGE {
        inPages(call, 16);
        call.blocks = call.lse;
      },
      "the vector of blocks has 2 modes; it is a vector, one for each page");
  refused(
      CHANGE { call.o = fixed(wide); },
      "o of attention is of type f32, and o of the spec's problem is bf16");
  refused(
      CHANGE { call.o = fixed(few); }, "o of attention has an extent of 30 in mode 0");
  refused(
      CHANGE { call.spec.problem.window = true; },
      "the spec's problem has a window, and none is given: window(left, right)");
  refused(
      CHANGE { call.shape.window = true; }, "a window is given, and the spec's problem has none");
  refused(
      CHANGE { call.shape.wholeSink = true; },
      "the score of a sink is of type i32; it is of type f32");
  refused(
      CHANGE { call.shape.wrongScore = true; },
      "a stage of scores gives a number of type f16; a score is of type f32");
  refused(
      CHANGE { call.shape.wrongResult = true; }, "of type f16; it is one of 8 of type f32");
  refused(
      CHANGE { call.shape.twice = true; },
      "the attention of a tile is stored once; make another one for another tile");
}

namespace {

/// What a launch knows alone, and what is wrong with it.
struct Launched {
  int threads = 1; ///< times as many as the configuration's
  int rows = 0;    ///< that o has more
  int gap = 8;     ///< between queries
  int keys = 0;    ///< more than the pages have
};
std::string launchedWith(const Launched &wrong) {
  AttentionProblem problem = withoutOwn(small());
  problem.cache = KvCache::pages;
  const parts::AttentionSpec spec{problem, fk::choose(problem, 16)};
  const std::int64_t queries = 16, pages = 3, page = problem.page, gap = wrong.gap;
  const Operand q = Operand::output(problem.q, queries, 128, gap),
                k = Operand::output(problem.kv, pages * page, 64),
                o = Operand::output(problem.y, queries + wrong.rows, 128, 8),
                lse = Operand::output(fx::f32, 2, queries), floats = Operand::output(fx::f32, 1, 2),
                mask = Operand::output(fx::u8, 16, 6),
                blocks = Operand::input(fx::i32, 1, pages, std::vector<double>{2, 0, 1});
  fx::TensorArg keys =
      fx::tensor(k.tensor().data(), problem.kv, {pages, page, 1, 64}, {page * 64, 64, 64, 1});
  keys.mark_layout_dynamic(3, 8);
  return messageOf([&] {
    const fx::Stream stream;
    composed(headsOf(q, queries, 2, 64, gap), keys, keys,
             headsOf(o, queries + wrong.rows, 2, 64, 8), lse.tensor(), blocks.vector(),
             floats.vector(), mask.tensor(), floats.vector(), floats.vector(),
             std::int32_t(pages * page + wrong.keys), -1, -1, spec, Shape{})
        .launch({.grid = parts::tiles(spec, 1, queries),
                 .block = wrong.threads * spec.config.threads,
                 .stream = stream});
    stream.synchronize();
  });
}
bool traps(const Launched &wrong) { return launchedWith(wrong).find("trap") != std::string::npos; }

} // namespace

TEST_CASE("a block of another number of threads is refused while attention is traced") {
  const std::string text = launchedWith({.threads = 2});
  INFO(text);
  CHECK(text.find("threads, and the spec's configuration has ") != std::string::npos);
  CHECK(text.find(" x 1 x 1: .block = spec.config.threads") != std::string::npos);
  CHECK(text.find("parts_test.cpp") != std::string::npos);
}

// A trap ends the device, so that each of these has a process of its own.
TEST_CASE("a launch of the parts of attention that is as it must be", "[traps]") {
  CHECK(launchedWith({}) == "no error");
}
TEST_CASE("results of fewer queries end a launch of attention", "[traps]") {
  CHECK(traps({.rows = -1}));
}
TEST_CASE("queries between whose pieces others begin end a launch of attention", "[traps]") {
  CHECK(traps({.gap = 4}));
}
TEST_CASE("more keys than pages end a launch of attention", "[traps]") {
  CHECK(traps({.keys = 1}));
}
