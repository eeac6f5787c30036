// Decode's code: what it reads and multiplies, which configurations there are, registers.
#include "support/decode_case.h"

using namespace kernel_tests;
using namespace kernel_tests::decoding;

TEST_CASE("decode: another run, a graph, a file", "[run]") {
  const DecodeProblem problem{.q_heads = 4, .kv_heads = 2, .head = 64, .lse = true, .context = 70};
  expectStructure(problem, {.block = 2 * wave(), .rows = 16, .splits = 2}, 3);
  expectStructure(problem, {.block = 2 * wave(), .rows = 16, .workers = 2, .unit = 32}, 3);
  // A cache of pages has no packs: none need be given.
  DecodeProblem pages = problem;
  pages.pack = 0;
  expectStructure(pages, {.block = 2 * wave(), .rows = 16, .splits = 2}, 3);
  expectStructure<DecodeProblem>({.q_heads = 16, .head = 192, .latent = 128, .context = 40},
                                 {.block = wave(), .rows = 16, .splits = 2}, 2);
}

TEST_CASE("decode reads keys and values once for a group of heads", "[run]") {
  const DecodeProblem problem{.q_heads = 8, .kv_heads = 1, .head = 64, .context = 512};
  const auto counters = countersOf(problem, {.block = 4 * wave()}, 2).at(0);
  INFO(counters.str());
  const std::uint64_t cache = 2 * 2 * 512 * 64 * 2, heads = 2 * 8 * 64 * 2;
  CHECK(double(counters["globalBytesTouched"]) <= 1.05 * double(cache + 2 * heads + 512));
  CHECK(counters["globalBytesWritten"] == heads);
  CHECK(counters["globalBytesRead"] <=
        unsigned(copiesOfOperands()) * (cache + 4 * heads) + 2 * 512 / 8 * 2 * 16 * 4 + 8192);
}

TEST_CASE("decode multiplies the steps that a window has", "[run]") {
  const DecodeProblem problem{
      .q_heads = 1, .kv_heads = 1, .head = 64, .window = true, .context = 512};
  const fk::DecodePlan plan(problem, {.block = wave()});
  Operands<DecodeProblem> operands(problem, plan.config(), 1);
  operands.fill(1);
  const fx::Stream stream;
  const auto products = [&](int before) {
    fk::DecodeArgs args = operands.args();
    args.window_left = before;
    return fx::Device::current()
        .count_launches([&] {
          plan(args, stream);
          stream.synchronize();
        })
        .at(0)["SQ_INSTS_MFMA"];
  };
  // A step has 64 keys, on RDNA 16, and the first begins at a multiple of 32.
  const std::uint64_t step = wave() == 64 ? 64 : 16, ofStep = products(-1) * step / 512;
  CHECK(ofStep > 0);
  for (std::uint64_t before : {0, 1, 31, 32, 63, 64, 200, 511})
    CHECK(products(int(before)) == ofStep * ((512 - (511 - before) / 32 * 32 + step - 1) / step));
}

TEST_CASE("latent decode reads keys once for all heads", "[run]") {
  const DecodeProblem problem{.q_heads = 64, .head = 192, .latent = 128, .context = 256};
  const auto counters = countersOf(problem, {.block = 4 * wave(), .rows = 64}, 2).at(0);
  INFO(counters.str());
  const std::uint64_t cache = 2 * 256 * 192 * 2, q = 2 * 64 * 192 * 2, y = 2 * 64 * 128 * 2;
  CHECK(counters["globalBytesWritten"] == y);
  CHECK(double(counters["globalBytesTouched"]) <= 1.05 * double(cache + q + y + 512));
  // Beside keys and q: a number of a block for each piece of 16 bytes.
  CHECK(counters["globalBytesRead"] <= cache + q + cache / 16 * 4 + 8192);
}

TEST_CASE("decode has a configuration for every problem that it supports") {
  std::vector<DecodeProblem> problems;
  for (int head = 32; head <= 256; head += 32)
    for (int group : {1, 3, 8, 16, 64})
      for (int queries : {1, 4})
        problems.push_back({.q_heads = 2 * group, .kv_heads = 2, .head = head, .queries = queries});
  for (int context : {1, 300, 100000})
    problems.push_back({.kv = fx::f8E5M2, .scales = KvScales::token, .context = context});
  expectTotal(problems);
}

TEST_CASE("decode has configurations with float8_products where there are such products") {
  int count = 0;
  for (const fx::Target &target : targets())
    for (fx::DType kv : {fx::f8E4M3FN, fx::f8E4M3FNUZ})
      for (int head : {32, 128, 256})
        for (int heads : {8, 64}) {
          const DecodeProblem problem{
              .kv = kv, .float8_products = true, .q_heads = heads, .head = head, .queries = 4};
          if (!fk::supported(problem, target))
            continue;
          for (const DecodeConfig &config : fk::configs(problem, 5, target)) {
            CHECK(fk::supported(problem, config, target));
            ++count;
          }
        }
  CHECK(count > 3 * 6); // gfx942, gfx950 and gfx1201 have one format each
}

TEST_CASE("latent decode has a configuration for all heads") {
  for (const fx::Target &target : targets())
    for (int heads : {1, 16, 40, 64, 128})
      for (int queries : {1, 4}) {
        const DecodeProblem problem{
            .q_heads = heads, .head = 576, .queries = queries, .latent = 512};
        CHECK(fk::supported(problem, target));
        for (const DecodeConfig &config : fk::configs(problem, 5, target))
          CHECK(fk::supported(problem, config, target));
      }
}

TEST_CASE("decode spills none") {
  for (const char *name : kAllTargets)
    for (int heads : {16, 128})
      for (bool narrow : {false, true}) {
        const fx::Target target = fx::Target::parse(name);
        DecodeProblem problem{.q_heads = heads, .head = 576, .latent = 512};
        if (narrow) {
          problem.q = problem.kv =
              target.has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ : fx::f8E4M3FN;
          problem.scales = KvScales::tensor;
        }
        // Of 512 sequences, blocks have 128 rows if queries are narrow.
        expectNoSpillsOf(problem, heads == 128 ? 512 : 1, target);
      }
  expectNoSpills<DecodeProblem>({{.q_heads = 8, .kv_heads = 1, .head = 128},
                                 {.q_heads = 8, .kv_heads = 1, .head = 64, .queries = 4}});
}

TEST_CASE("decode spills none with heads of all sizes and any number of rows", "[spills]") {
  std::vector<DecodeProblem> problems;
  for (int head : {32, 64, 96, 128, 160, 192, 224, 256})
    for (int rows : {16, 32, 48, 64})
      problems.push_back({.q_heads = rows / 4, .kv_heads = 1, .head = head, .queries = 4});
  for (int head : {64, 128, 256}) {
    problems.push_back({.q_heads = 8, .kv_heads = 1, .head = head, .page = 1, .window = true});
    problems.push_back({.kv = fx::f8E4M3FN, .head = head, .scales = KvScales::token});
    problems.push_back({.kv = fx::f8E4M3FNUZ, .head = head, .scales = KvScales::tensor});
    problems.push_back(
        {.q = fx::f16, .kv = fx::f16, .head = head, .cache = KvCache::packed, .pack = 8});
    problems.push_back({.q = fx::f8E4M3FN, .kv = fx::f8E4M3FN, .q_heads = 16, .head = head});
    problems.push_back({.q_heads = 16,
                        .kv_heads = 2,
                        .head = head,
                        .soft_cap = 50,
                        .window = true,
                        .varlen = true,
                        .sink = true});
    // Many arguments: with heads of 256 the code reads them again for each part of a block's rows.
    problems.push_back({.q_heads = 16,
                        .kv_heads = 2,
                        .head = head,
                        .varlen = true,
                        .bias = true,
                        .alibi = true,
                        .tree_mask = true});
    problems.push_back({.q_heads = 16, .head = head, .head_v = 320 - head, .soft_cap = 30});
    for (fx::DType kv : {fx::f8E4M3FN, fx::f8E4M3FNUZ})
      for (int rows : {16, 64})
        for (KvScales scales : {KvScales::none, KvScales::token})
          problems.push_back({.kv = kv,
                              .float8_products = true,
                              .q_heads = rows / 4,
                              .head = head,
                              .queries = 4,
                              .scales = scales});
  }
  for (const fx::Target &target : targets())
    DYNAMIC_SECTION(target.name()) { // each is a test of its own
      for (const DecodeProblem &problem : problems)
        expectNoSpillsOf(problem, 1, target);
    }
}

TEST_CASE("decode is tuned, and what is found gives what it must") {
  const DecodeProblem problem{.q_heads = 2, .kv_heads = 1, .head = 32, .context = 40};
  const DecodeConfig config = tunedConfig(problem, 2);
  expectDecode(problem, random(problem, {40, 33}), config);
}
