// What `choose` gives for attention takes no scratch memory, on the current device's target.
// Nothing runs. One target takes minutes, so that this runs in CTest's configuration Long.
//
// A problem has five factors: sizes of heads, types, where keys and values come from, what is done
// with scores, and whether blocks share the keys. Every 43rd of the 13,720 problems of their product
// is compiled; 43 has no divisor in common with a number of values. The case checks that each two
// values of any two factors meet in one of these problems.
#include "support/attention_case.h"

#include <set>

using namespace kernel_tests;

namespace {

struct Heads {
  int head, headV = 0;
};
constexpr Heads kSizes[] = {{32},       {64},  {72},  {80},       {96},  {128},     {160},
                            {192, 128}, {192}, {224}, {128, 256}, {256}, {264, 72}, {512}};

struct Types {
  fx::DType q, kv, y;
  bool products = false;
};
/// Floats of 8 bits that are widened are in formats that the target's instructions have, and in
/// others; those that are multiplied are what the instructions take.
std::vector<Types> types(const fx::Target &target) {
  const bool fnuz = target.has(fx::feature::fnuz_fp8);
  const fx::DType precise = fnuz ? fx::f8E4M3FNUZ : fx::f8E4M3FN,
                  wide = fnuz ? fx::f8E5M2FNUZ : fx::f8E5M2;
  return {{fx::f16, fx::f16, fx::f16},           {fx::bf16, fx::bf16, fx::bf16},
          {fx::bf16, fx::f8E4M3FN, fx::bf16},    {fx::f8E4M3FN, fx::f8E4M3FN, fx::f16},
          {fx::f8E5M2, fx::f8E4M3FNUZ, fx::f16}, {precise, precise, fx::bf16, true},
          {wide, precise, fx::f32, true}};
}

/// What a value of a factor changes in a problem.
using Change = void (*)(AttentionProblem &);
constexpr Change kSources[] = {
    [](AttentionProblem &) {},
    [](AttentionProblem &p) { p.varlen = true; },
    [](AttentionProblem &p) { p.cache = KvCache::pages; },
    [](AttentionProblem &p) {
      p.cache = KvCache::pages;
      p.page = 1;
      p.varlen = true;
    },
    [](AttentionProblem &p) {
      p.cache = KvCache::pages;
      p.page = 100;
    },
    [](AttentionProblem &p) {
      p.cache = KvCache::packed;
      p.pack = 16;
    },
    [](AttentionProblem &p) {
      p.cache = KvCache::packed;
      p.pack = 16;
      p.page = 48;
      p.v_pack = 8;
      p.varlen = true;
    },
};
constexpr Change kScores[] = {
    [](AttentionProblem &) {},
    [](AttentionProblem &p) { p.causal = true; },
    [](AttentionProblem &p) { p.window = true; },
    [](AttentionProblem &p) { p.causal = p.window = true; },
    [](AttentionProblem &p) { p.bias = true; },
    [](AttentionProblem &p) {
      p.bias = p.causal = true;
      p.bias_type = fx::bf16;
    },
    [](AttentionProblem &p) { p.alibi = p.causal = true; },
    [](AttentionProblem &p) {
      p.soft_cap = 30;
      p.causal = p.window = true;
    },
    [](AttentionProblem &p) { p.sink = p.lse = p.causal = true; },
    [](AttentionProblem &p) {
      p.soft_cap = 30;
      p.causal = p.window = p.bias = p.alibi = p.sink = p.lse = true;
    },
};

/// The different configurations that are chosen for few to many queries; none if the target does
/// not support the problem.
std::vector<AttentionConfig> chosen(const AttentionProblem &problem) {
  const fx::Target target = fx::Device::current().target();
  std::vector<AttentionConfig> all;
  for (std::int64_t queries : {1, 64, 256, 512, 1024, 2048, 4096, 8192, 1 << 20})
    if (fk::supported(problem, target))
      if (const AttentionConfig config = fk::choose(problem, queries, target);
          std::find(all.begin(), all.end(), config) == all.end())
        all.push_back(config);
  return all;
}
/// What is spilled on gfx1250, some of whose instructions take the first 256 of a lane's 1,024 registers alone.
struct Spilled {
  std::size_t scratch = 0; ///< bytes of a lane
  std::size_t registers = 0;
};
Spilled mostSpilled(const AttentionProblem &problem, const fx::Target &target) {
  const int value = problem.head_v ? problem.head_v : problem.head;
  if (target.id() != "gfx1250")
    return {};
  const bool isNarrow = problem.kv.memory_bits() == 8;
  // Nine values, once a step of keys or less; LLVM does so though 512 registers may be used and 220 are.
  if (isNarrow && problem.soft_cap > 0)
    return {.scratch = 36, .registers = 24};
  // Three scalars, in lanes of a register.
  if (isNarrow && problem.head >= 512)
    return {.registers = 3};
  // Values that are wider than the keys fill these registers. One or two that are read once a step of keys,
  // such as the thread's number, lie in memory. It was found with keys of 128 elements of 8 bits.
  if (value >= 256 && value > problem.head)
    return {.scratch = 8, .registers = 2};
  return {};
}
/// Neither vector nor scalar registers are spilled by what is chosen for a problem, but for these.
std::size_t expectNoSpills(const AttentionProblem &problem) {
  const fx::Target target = fx::Device::current().target();
  const std::vector<AttentionConfig> all = chosen(problem);
  for (const AttentionConfig &config : all)
    for (const fx::Executable &code : fk::AttentionPlan(problem, config, target).executables()) {
      INFO(target.name() << ": " << fx::to_config(problem).str() << ", "
                         << fx::to_config(config).str() << "\n"
                         << code.summary());
      const Spilled most = mostSpilled(problem, target);
      CHECK(code.spills() <= most.registers);
      CHECK(code.scratch_bytes() <= most.scratch);
    }
  return all.size();
}
/// No vector registers are: scalars may lie in lanes of these.
std::size_t expectNoScratch(const AttentionProblem &problem, int splits) {
  const fx::Target target = fx::Device::current().target();
  const std::vector<AttentionConfig> all = chosen(problem);
  for (AttentionConfig config : all) {
    config.splits = splits;
    for (const fx::Executable &code : fk::AttentionPlan(problem, config, target).executables()) {
      INFO(target.name() << ": " << fx::to_config(problem).str() << ", "
                         << fx::to_config(config).str() << "\n"
                         << code.summary());
      CHECK(code.scratch_bytes() <= mostSpilled(problem, target).scratch);
    }
  }
  return all.size();
}

AttentionProblem problemOf(const Types &types, const Heads &heads) {
  return {.q = types.q,
          .kv = types.kv,
          .y = types.y,
          .scales = types.kv.bits() == 8 ? fk::KvScales::tensor : fk::KvScales::none,
          .float8_products = types.products,
          .q_heads = 8,
          .kv_heads = 2,
          .head = heads.head,
          .head_v = heads.headV};
}

} // namespace

/// The cases compile hundreds of kernels. Each part has its share of them, and is a test of its own.
constexpr std::size_t kParts = FLYDSL_SPILLS_PARTS;

TEST_CASE("attention spills none: types and sizes of heads", "[spills]") {
  for (std::size_t part = 0; part < kParts; ++part)
    DYNAMIC_SECTION("part " << part) {
      std::size_t number = 0, count = 0;
      for (const Types &each : types(fx::Device::current().target()))
        for (const Heads &heads : kSizes)
          for (bool causal : {false, true}) {
            if (number++ % kParts != part)
              continue;
            AttentionProblem problem = problemOf(each, heads);
            problem.causal = causal;
            count += expectNoSpills(problem);
          }
      CHECK(count > 100 / kParts);
    }
}

TEST_CASE("attention takes no scratch memory: sizes, types, sources and scores", "[spills]") {
  constexpr std::size_t kStep = 43, kFactors = 5;
  for (std::size_t part = 0; part < kParts; ++part)
    DYNAMIC_SECTION("part " << part) {
      const std::vector<Types> all = types(fx::Device::current().target());
      const std::array<std::size_t, kFactors> extents{std::size(kSizes), all.size(),
                                                      std::size(kSources), std::size(kScores), 2};
      std::set<std::array<std::size_t, 4>> met; // two factors, and a value of each
      std::size_t total = 1, pairs = 0, count = 0;
      for (std::size_t i = 0; i < kFactors; ++i) {
        total *= extents[i];
        for (std::size_t k = 0; k < i; ++k)
          pairs += extents[i] * extents[k];
      }
      for (std::size_t number = 0; number < total; number += kStep) {
        std::array<std::size_t, kFactors> at{};
        std::size_t rest = number;
        for (std::size_t i = 0; i < kFactors; rest /= extents[i++])
          at[i] = rest % extents[i];
        for (std::size_t i = 0; i < kFactors; ++i)
          for (std::size_t k = 0; k < i; ++k)
            met.insert({i, k, at[i], at[k]});
        if (number / kStep % kParts != part)
          continue;
        AttentionProblem problem = problemOf(all[at[1]], kSizes[at[0]]);
        kSources[at[2]](problem);
        kScores[at[3]](problem);
        count += expectNoScratch(problem, at[4] ? 2 : 1);
      }
      CHECK(met.size() == pairs);
      CHECK(count > 200 / kParts);
    }
}

TEST_CASE("attention spills none: groups of heads", "[spills]") {
  for (std::size_t part = 0; part < kParts; ++part)
    DYNAMIC_SECTION("part " << part) {
      std::size_t number = 0, count = 0;
      for (const Types &each : types(fx::Device::current().target()))
        for (int head : {64, 128})
          for (int group : {1, 2, 16}) {
            if (number++ % kParts != part)
              continue;
            AttentionProblem problem = problemOf(each, {head});
            problem.q_heads = 16;
            problem.kv_heads = 16 / group;
            problem.causal = true;
            count += expectNoSpills(problem);
          }
      CHECK(count > 0);
    }
}
