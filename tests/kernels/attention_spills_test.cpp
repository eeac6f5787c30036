// Every configuration that `choose` gives for attention without terms of scores and caches, on the
// current device's target: the code spills no registers and takes no scratch memory. Nothing runs.
// One target takes a minute or more, so that this runs in CTest's configuration Long.
#include "support/attention_case.h"

using namespace kernel_tests;

namespace {

struct Types {
  fx::DType q, kv, y;
  bool products = false;
};
/// Floats of 8 bits that are widened are f8E4M3FN on each target; those that are multiplied are
/// what the target's instructions take.
constexpr Types kTypes[] = {{fx::f16, fx::f16, fx::f16},
                            {fx::bf16, fx::bf16, fx::bf16},
                            {fx::bf16, fx::f8E4M3FN, fx::bf16},
                            {fx::f8E4M3FN, fx::f8E4M3FN, fx::f16},
                            {fx::f8E4M3FN, fx::f8E4M3FN, fx::bf16, true},
                            {fx::f8E5M2FNUZ, fx::f8E4M3FNUZ, fx::f32, true}};

struct Heads {
  int head, headV = 0;
};
constexpr Heads kSizes[] = {{64}, {96}, {128}, {192}, {192, 128}, {256}};

AttentionProblem problemOf(const Types &types, const Heads &heads) {
  return {.q = types.q,
          .kv = types.kv,
          .y = types.y,
          .float8_products = types.products,
          .q_heads = 8,
          .kv_heads = 2,
          .head = heads.head,
          .head_v = heads.headV};
}

/// Compiles each of the different configurations that are chosen for few to many queries, and says
/// how many there are.
std::size_t expectChosenSpillNone(const AttentionProblem &problem) {
  const fx::Target target = fx::Device::current().target();
  std::vector<AttentionConfig> all;
  for (std::int64_t queries : {1, 64, 256, 512, 1024, 2048, 4096, 8192, 1 << 20})
    if (fk::supported(problem, target))
      if (const AttentionConfig config = fk::choose(problem, queries, target);
          std::find(all.begin(), all.end(), config) == all.end())
        all.push_back(config);
  for (const AttentionConfig &config : all)
    expectNoSpillsWith(problem, config, target);
  return all.size();
}

} // namespace

TEST_CASE("attention spills none: types and sizes of heads", "[spills]") {
  std::size_t count = 0;
  for (const Types &types : kTypes)
    for (const Heads &heads : kSizes)
      for (bool causal : {false, true}) {
        AttentionProblem problem = problemOf(types, heads);
        problem.causal = causal;
        count += expectChosenSpillNone(problem);
      }
  CHECK(count > 50);
}

TEST_CASE("attention spills none: groups of heads", "[spills]") {
  for (const Types &types : kTypes)
    for (int head : {64, 128})
      for (int group : {1, 2, 16}) {
        AttentionProblem problem = problemOf(types, {head});
        problem.q_heads = 16;
        problem.kv_heads = 16 / group;
        problem.causal = true;
        expectChosenSpillNone(problem);
      }
}
