// Masks of bits, slopes of each sequence, prompts and steps of decoding in one call, and the number of
// keys by which `choose` shares them.
#include "support/attention_case.h"
#include "support/structure.h"

#include <flydsl/kernels/attention/merge_states.h>

using namespace kernel_tests;

namespace {

AttentionProblem small(fx::DType x = fx::bf16) {
  return {.q = x, .kv = x, .y = x, .q_heads = 4, .kv_heads = 2, .head = 64, .lse = true};
}

} // namespace

TEST_CASE("masks of bits in attention", "[run]") {
  AttentionProblem problem = small();
  problem.mask = true;
  AttentionCase(problem, {37}, {70}).expect();
  // Two sequences of a batch, and all that scores can have.
  problem = small(fx::f16);
  problem.mask = problem.causal = problem.window = problem.alibi = problem.sink = true;
  problem.bias = true;
  problem.soft_cap = 20;
  AttentionCase given(problem, {20, 20}, {45, 45});
  given.left = 30;
  given.expect();
  // Keys that are shared, in a cache, of sequences of their own lengths.
  problem = small();
  problem.mask = problem.varlen = true;
  problem.cache = KvCache::pages;
  AttentionConfig parts = fk::choose(problem, 30);
  parts.splits = 2;
  AttentionCase(problem, {20, 1, 9}, {100, 40, 9}).expect(parts);
}

TEST_CASE("a query that its mask hides all keys from has no result", "[run]") {
  AttentionProblem problem = small();
  problem.mask = true;
  AttentionCase given(problem, {18}, {40});
  std::fill_n(given.mask.begin() + 3 * given.maskBytes() * 8, given.maskBytes() * 8, 0);
  given.expect();
}

TEST_CASE("slopes of each sequence in attention", "[run]") {
  AttentionProblem problem = small();
  problem.alibi = problem.causal = true;
  AttentionCase batch(problem, {17, 17, 17}, {33, 33, 33});
  batch.slopeSequences();
  batch.expect();
  problem.varlen = true;
  AttentionCase lengths(problem, {17, 3, 8}, {33, 20, 8});
  lengths.slopeSequences();
  lengths.expect();
}

TEST_CASE("prompts, parts of prompts and steps of decoding are one call", "[run]") {
  AttentionProblem problem = small();
  problem.causal = problem.varlen = true;
  problem.cache = KvCache::pages;
  problem.context = 4000; // for `choose`: a step of decoding has many keys
  const AttentionConfig config = fk::choose(problem, 30);
  CHECK(config.splits > 1);
  // A step, a prompt, a prompt after 60 tokens that are there, two steps, drafts, and nothing.
  AttentionCase(problem, {1, 19, 7, 1, 4, 0}, {70, 19, 67, 1, 33, 12}).expect(config);
}

TEST_CASE("attention over pages of sequences one after another", "[run]") {
  AttentionProblem problem = small();
  problem.causal = problem.csr = true;
  for (KvCache cache : {KvCache::pages, KvCache::packed})
    for (bool varlen : {false, true}) {
      problem.cache = cache;
      problem.varlen = varlen;
      problem.page = varlen ? 8 : 16;
      if (varlen)
        AttentionCase(problem, {18, 1, 5}, {33, 40, 0}).expect();
      else
        AttentionCase(problem, {18, 18}, {48, 33}).expect();
    }
  problem.cache = KvCache::none;
  CHECK(fk::supported(problem, here()).why ==
        "csr is for keys and values in a cache; cache is KvCache::none");
}

TEST_CASE("o in f32 is what o in the type of the products is rounded from", "[run]") {
  for (const fx::DType type : {fx::DType(fx::bf16), fx::DType(fx::f16)})
    for (const int splits : {1, 2}) {
      AttentionProblem problem = small(type);
      problem.lse = false;
      problem.context = 70;
      AttentionConfig config = fk::choose(problem, 19);
      config.splits = splits;
      const auto resultOf = [&](fx::DType o) {
        problem.y = o;
        Operands<AttentionProblem> operands(problem, config, 19);
        operands.fill(6);
        const fx::Stream stream;
        fk::AttentionPlan(problem, config)(operands.args(), stream);
        stream.synchronize();
        return operands.results();
      };
      const auto whole = resultOf(fx::f32), rounded = resultOf(type);
      CHECK(whole.size() == rounded.size() * 2);
      CHECK(fk::host::encode(type, fk::host::decode(fx::f32, whole)) == rounded);
    }
  AttentionProblem wrong = small();
  wrong.y = fx::i32;
  CHECK(fk::supported(wrong).why == "y is of type i32; f32, f16 and bf16 are supported");
}

TEST_CASE("parts of the keys in f32 with their logarithms are merged into all of them", "[run]") {
  // A query's keys in two calls: what an engine does with a prefix that many sequences share.
  constexpr std::int64_t m = 9, keys = 64, first = 40, heads = 4, head = 64;
  AttentionProblem problem = small();
  problem.y = fx::f32;
  problem.context = keys;
  Operands<AttentionProblem> operands(problem, fk::choose(problem, m), m);
  operands.fill(8);
  const fk::AttentionPlan plan(problem, fk::choose(problem, m));
  const fx::Stream stream;
  plan(operands.args(), stream);
  fx::DeviceArray<float> o[2] = {fx::DeviceArray<float>({m, heads, head}),
                                 fx::DeviceArray<float>({m, heads, head})},
                         lse[2] = {fx::DeviceArray<float>({m, heads}),
                                   fx::DeviceArray<float>({m, heads})},
                         merged({m, heads, head});
  for (int part = 0; part < 2; ++part) {
    fk::AttentionArgs args = operands.args();
    const auto ofPart = [&](const fx::TensorArg &all) {
      std::vector<std::int64_t> shape(all.shape().begin(), all.shape().end()),
          strides(all.strides().begin(), all.strides().end());
      shape[1] = part ? keys - first : first;
      return fx::TensorArg(static_cast<std::byte *>(all.data()) +
                               (part ? first * strides[1] * all.dtype().bytes() : 0),
                           all.dtype(), shape, strides);
    };
    args.k = ofPart(args.k);
    args.v = ofPart(args.v);
    args.o = fx::TensorArg(o[part].data(), fx::f32, fx::Extents{1, m, heads, head});
    args.lse = fx::TensorArg(lse[part].data(), fx::f32, fx::Extents{1, m, heads});
    plan(args, stream);
  }
  const fk::MergeStatesProblem merge{
      .x = fx::f32, .y = fx::f32, .heads = int(heads), .head = int(head)};
  fk::MergeStatesPlan(merge, fk::choose(merge, m))(
      {.a = o[0], .a_lse = lse[0], .b = o[1], .b_lse = lse[1], .y = merged}, stream);
  stream.synchronize();
  // Both ways round weights to bf16, to 2^-9 of themselves: their sum with values of up to one.
  const std::vector<double> whole = fk::host::decode(fx::f32, operands.results());
  const std::vector<float> got = merged.to_host();
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    largest = std::max(largest, std::fabs(whole[i] - double(got[i])));
  CHECK(largest < 2 * 0x1p-9);
}

TEST_CASE("attention shares keys among blocks where a problem says how many there are") {
  AttentionProblem problem = small();
  for (const fx::Target &target : targets()) {
    problem.context = 0;
    CHECK(fk::choose(problem, 1, target).splits == 1);
    problem.context = 100; // too few
    CHECK(fk::choose(problem, 1, target).splits == 1);
    problem.context = 8192;
    CHECK(fk::choose(problem, 1, target).splits > 4);
    CHECK(fk::choose(problem, 1 << 16, target).splits == 1); // blocks enough
    // Of heads whose queries do not stay in registers, too.
    AttentionProblem large = problem;
    large.head = 512;
    if (fk::supported(large, target))
      CHECK(fk::choose(large, 1, target).splits > 1);
  }
  problem.context = -1;
  CHECK(fk::supported(problem, fx::Target::parse("gfx942")).why ==
        "context is -1; it is a number of keys below 1073741824, or 0 for as many as queries");
}

TEST_CASE("attention says which masks and slopes it does not take") {
  AttentionProblem problem = small();
  problem.mask = problem.alibi = true;
  problem.lse = false;
  const fk::AttentionPlan plan(problem, fk::choose(problem, 20));
  const Operand q = Operand::input(fx::bf16, 20, 256, std::vector<double>(20 * 256)),
                k = Operand::input(fx::bf16, 33, 128, std::vector<double>(33 * 128)),
                o = Operand::output(fx::bf16, 20, 256),
                mask = Operand::input(fx::u8, 20, 8, std::vector<double>(160)),
                slopes = Operand::input(fx::f32, 3, 4, std::vector<double>(12));
  const auto says = [&](std::int64_t bytes, std::int64_t sequences, const char *text) {
    const auto heads = [](const Operand &of, std::int64_t tokens, std::int64_t count) {
      return fx::tensor(of.tensor().data(), fx::bf16, {1, tokens, count, 64});
    };
    const std::string found = messageOf([&] {
      plan({.q = heads(q, 20, 4),
            .k = heads(k, 33, 2),
            .v = heads(k, 33, 2),
            .o = heads(o, 20, 4),
            .alibi_slopes = fx::tensor(slopes.tensor().data(), fx::f32, {sequences, 4}),
            .mask = fx::tensor(mask.tensor().data(), fx::u8, {1, 20, bytes}, {8 * 20, 8, 1})});
    });
    INFO(found);
    CHECK(found.find(text) != std::string::npos);
  };
  says(4, 1,
       "attention: mask has 4 bytes for a query; 5 are the fewest that have a bit for each key");
  says(5, 2, "attention: alibi_slopes has the shape (2, 4); (batch, q_heads) = (1, 4) is expected");
}
