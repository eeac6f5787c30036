// Heads whose elements do not fill the products' instructions, and heads above 256. What lies after a
// head in memory is the next head, or NaNs.
#include "support/attention_case.h"
#include "support/float8.h"

using namespace kernel_tests;

namespace {

AttentionProblem ofHeads(fx::DType x, int head, int headV = 0) {
  return {.q = x,
          .kv = x,
          .y = x,
          .q_heads = 2,
          .kv_heads = 2,
          .head = head,
          .head_v = headV,
          .causal = true,
          .lse = true};
}

} // namespace

TEST_CASE("attention of heads of any multiple of 8", "[run]") {
  AttentionCase(ofHeads(fx::bf16, 8), {33}, {70}).expect();
  AttentionCase(ofHeads(fx::bf16, 72), {37}, {70}).expect(); // SigLIP
  AttentionCase(ofHeads(fx::f16, 80), {33}, {40}).expect();  // Qwen2-VL's vision, phi-2
  AttentionCase(ofHeads(fx::bf16, 104, 56), {17}, {35}).expect();
  AttentionCase(ofHeads(fx::f16, 136, 200), {17}, {33}).expect();
  AttentionCase(ofHeads(fx::bf16, 248, 24), {17}, {33}).expect();
}

TEST_CASE("heads of 72 in caches, of several sequences, of parts of the keys", "[run]") {
  AttentionProblem problem = ofHeads(fx::bf16, 72, 88);
  problem.varlen = true;
  AttentionCase(problem, {20, 1, 9}, {20, 40, 9}).expect();
  problem.cache = KvCache::pages;
  problem.page = 5;
  AttentionCase(problem, {20, 1}, {33, 40}).expect();
  problem.cache = KvCache::packed;
  problem.page = 16;
  problem.pack = 8;
  problem.v_pack = 8;
  AttentionCase(problem, {20, 1}, {33, 40}).expect();
  problem = ofHeads(fx::f16, 72);
  problem.kv = fx::f8E4M3FN; // widened: 8 bytes of a row at a time
  AttentionConfig parts = fk::choose(problem, 20);
  parts.splits = 3;
  AttentionCase(problem, {20}, {140}).expect(parts);
}

TEST_CASE("products of 8 bits of heads of any multiple of 16", "[run]") {
  const auto type = float8();
  if (!type)
    return;
  for (const auto &[head, headV] : {std::pair(80, 0), {144, 48}, {16, 16}}) {
    AttentionProblem problem = ofHeads(type, head, headV);
    problem.y = fx::bf16;
    problem.float8_products = true;
    AttentionCase(problem, {19}, {70}).expect();
  }
}

TEST_CASE("attention of heads above 256", "[run]") {
  AttentionCase(ofHeads(fx::bf16, 512), {19}, {40}).expect();
  AttentionCase(ofHeads(fx::f16, 64, 512), {19}, {40}).expect();
  AttentionProblem problem = ofHeads(fx::bf16, 264, 328); // parts of values that are not full
  problem.varlen = true;
  problem.cache = KvCache::pages;
  AttentionCase(problem, {18, 3}, {33, 20}).expect();
  problem = ofHeads(fx::bf16, 320);
  problem.sink = true;
  AttentionConfig parts = fk::choose(problem, 18);
  parts.splits = 2;
  AttentionCase(problem, {18}, {90}).expect(parts);
}

TEST_CASE("attention has a configuration for heads of all sizes") {
  std::vector<AttentionProblem> problems;
  for (int head = 8; head <= 512; head += 8)
    for (int headV : {0, 8, 72, 512})
      problems.push_back(ofHeads(fx::bf16, head, headV));
  expectTotal(problems);
}

TEST_CASE("attention says which heads it does not take") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](AttentionProblem problem) { return fk::supported(problem, target).why; };
  CHECK(why(ofHeads(fx::bf16, 76)) == "head is 76; it is a multiple of 8 from 8 to 512");
  CHECK(why(ofHeads(fx::bf16, 520)) == "head is 520; it is a multiple of 8 from 8 to 512");
  CHECK(why(ofHeads(fx::bf16, 64, 4)) == "head_v is 4; it is a multiple of 8 from 8 to 512");
  AttentionProblem narrow = ofHeads(fx::f8E4M3FNUZ, 72);
  narrow.y = fx::bf16;
  narrow.float8_products = true;
  CHECK(why(narrow) == "head is 72; it is a multiple of 16 from 16 to 512");
}
