// Decode over caches of 8 bits, and by products of 8 bits.
#include "support/decode_case.h"

using namespace kernel_tests;
using namespace kernel_tests::decoding;

TEST_CASE("decoding over caches of 8 bits", "[run]") {
  for (fx::DType kv : {fx::f8E4M3FN, fx::f8E4M3FNUZ, fx::f8E5M2})
    for (KvScales scales : {KvScales::none, KvScales::tensor, KvScales::token}) {
      const DecodeProblem problem{
          .kv = kv, .q_heads = 4, .kv_heads = 2, .head = 64, .scales = scales, .lse = true};
      expectDecode(problem, random(problem, {17, 40}));
    }
  const DecodeProblem packed{.q = fx::f16,
                             .kv = fx::f8E4M3FNUZ,
                             .y = fx::f16,
                             .q_heads = 2,
                             .kv_heads = 1,
                             .head = 128,
                             .cache = KvCache::packed,
                             .pack = 16,
                             .scales = KvScales::tensor};
  expectDecode(packed, random(packed, {50}));
  const DecodeProblem single{.kv = fx::f8E4M3FN,
                             .q_heads = 2,
                             .kv_heads = 1,
                             .head = 32,
                             .page = 1,
                             .scales = KvScales::token};
  expectDecode(single, random(single, {50}));
}

TEST_CASE("decoding by products of 8 bits", "[run]") {
  for (fx::DType type : {fx::f8E4M3FN, fx::f8E4M3FNUZ, fx::f8E5M2}) {
    const fx::Target target = fx::Device::current().target();
    const DecodeProblem problem{.q = type,
                                .kv = type,
                                .y = fx::f32,
                                .q_heads = 4,
                                .kv_heads = 2,
                                .head = 128,
                                .scales = KvScales::tensor,
                                .lse = true};
    if (!fk::supported(problem, target)) {
      CHECK(fk::supported(problem, target)
                .why.find("floats of 8 bits that products of " + target.name() + " take") !=
            std::string::npos);
      continue;
    }
    expectDecode(problem, random(problem, {17, 140}));
    expectDecode(problem, random(problem, {0, 90}), DecodeConfig{.block = 2 * wave(), .splits = 2});
    const DecodeProblem packed{.q = type,
                               .kv = type,
                               .q_heads = 16,
                               .kv_heads = 1,
                               .head = 64,
                               .cache = KvCache::packed,
                               .pack = 16};
    expectDecode(packed, random(packed, {70}));
    const DecodeProblem latent{.q = type,
                               .kv = type,
                               .y = fx::f32,
                               .q_heads = 32,
                               .head = 192,
                               .page = 1,
                               .queries = 2,
                               .scales = KvScales::tensor,
                               .latent = 128,
                               .lse = true};
    expectDecode(latent, random(latent, {2, 70}));
    expectDecode(latent, random(latent, {65}),
                 DecodeConfig{.block = 4 * wave(), .rows = 64, .splits = 2});
  }
}

TEST_CASE("latent blocks of eight waves, which have two steps of keys in shared memory", "[run]") {
  for (fx::DType type : {fx::f8E4M3FN, fx::f8E4M3FNUZ, fx::bf16}) {
    const bool narrow = type.bits() == 8;
    // A head of 320 has pieces for the longer instruction of 8 bits, and one that is left. Sequences have
    // one step, no whole one, and several; y of 16 bits has parts of 16 bits.
    const DecodeProblem problem{.q = type,
                                .kv = type,
                                .y = fx::bf16,
                                .q_heads = 128,
                                .head = 320,
                                .page = 8,
                                .scales = narrow ? KvScales::tensor : KvScales::none,
                                .latent = 256,
                                .lse = true};
    if (!fk::supported(problem, here()))
      continue;
    const DecodeConfig block{.block = 8 * wave(), .rows = narrow ? 128 : 64};
    if (!fk::supported(problem, block, here()))
      continue; // waves of RDNA share rows
    expectDecode(problem, random(problem, {33, 5, 150}), block);
    expectDecode(problem, random(problem, {100}),
                 DecodeConfig{.block = block.block, .rows = block.rows, .splits = 2});
    expectDecode(problem, random(problem, {100, 40}),
                 DecodeConfig{.block = block.block, .rows = block.rows, .workers = 1});
  }
}

TEST_CASE("decoding by products of 8 bits of q of 16 bits", "[run]") {
  const fx::Target target = fx::Device::current().target();
  for (fx::DType type : {fx::f8E4M3FN, fx::f8E4M3FNUZ, fx::f8E5M2}) {
    const DecodeProblem problem{.kv = type,
                                .y = fx::f32,
                                .float8_products = true,
                                .q_heads = 4,
                                .kv_heads = 2,
                                .head = 128,
                                .scales = KvScales::tensor,
                                .lse = true};
    if (!fk::supported(problem, target)) {
      CHECK(fk::supported(problem, target)
                .why.find("with float8_products it is a float of 8 bits; " + target.name() +
                          " has products where") != std::string::npos);
      continue;
    }
    expectDecode(problem, random(problem, {17, 140}));
    expectDecode(problem, random(problem, {0, 90}), DecodeConfig{.block = 2 * wave(), .splits = 2});
    const DecodeProblem packed{.q = fx::f16,
                               .kv = type,
                               .float8_products = true,
                               .q_heads = 9,
                               .kv_heads = 1,
                               .head = 96,
                               .cache = KvCache::packed,
                               .pack = 16,
                               .queries = 2};
    expectDecode(packed, random(packed, {50}), DecodeConfig{.block = 2 * wave(), .rows = 32});
    const DecodeProblem latent{.kv = type,
                               .y = fx::f32,
                               .float8_products = true,
                               .q_heads = 32,
                               .head = 192,
                               .page = 1,
                               .queries = 2,
                               .scales = KvScales::tensor,
                               .latent = 128,
                               .lse = true};
    expectDecode(latent, random(latent, {2, 40}));
  }
}

TEST_CASE("decoding rounds adversarial q to 8 bits", "[run]") {
  const fx::Target target = fx::Device::current().target();
  const fx::DType type = target.has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ : fx::f8E4M3FN;
  DecodeProblem problem{.kv = type,
                        .y = fx::f32,
                        .float8_products = true,
                        .q_heads = 6,
                        .kv_heads = 1,
                        .head = 64,
                        .scale = 0x1p-20};
  if (!fk::supported(problem, target))
    return;
  Inputs inputs = random(problem, {70});
  const auto row = [&](int head, auto value) {
    for (std::size_t e = 0; e < 64; ++e)
      inputs.q[std::size_t(head) * 64 + e] = value(inputs.q[std::size_t(head) * 64 + e], e);
  };
  row(0, [](double, std::size_t) { return 0.0; });                          // all weights are equal
  row(1, [](double x, std::size_t e) { return e == 7 ? 0x1p20 : x; });      // a huge element
  row(2, [](double x, std::size_t) { return x * 0x1p-130; });               // subnormal numbers
  row(3, [](double x, std::size_t) { return x * 0x1p19; });                 // all are large
  row(4, [](double x, std::size_t e) { return e == 63 ? x * 0x1p20 : 0; }); // all but one are 0
  row(5, [](double x, std::size_t e) { return x * std::ldexp(1, 20 - int(e)); });
  inputs.q = decode(problem.q, encode(problem.q, inputs.q));
  expectDecode(problem, inputs);
  // A NaN makes the results of its head NaN, and of no other.
  inputs.q[2 * 64 + 33] = std::nan("");
  expectDecode(problem, inputs);
  // Subnormal numbers of f16 have a scale as others do, and the largest ones do not overflow.
  problem.q = fx::f16;
  for (double size : {0x1p-16, 32000.0}) {
    problem.scale = 1 / size;
    Inputs halves = random(problem, {40});
    for (double &x : halves.q)
      x *= size;
    halves.q = decode(problem.q, encode(problem.q, halves.q));
    expectDecode(problem, halves);
  }
}

TEST_CASE("products of 8 bits of keys and values with scales of their own", "[run]") {
  for (fx::DType type : {fx::f8E4M3FN, fx::f8E4M3FNUZ, fx::f8E5M2}) {
    DecodeProblem problem{.kv = type,
                          .y = fx::f32,
                          .float8_products = true,
                          .q_heads = 6,
                          .kv_heads = 2,
                          .head = 64,
                          .scales = KvScales::token,
                          .lse = true};
    if (!fk::supported(problem, here()))
      continue;
    expectDecode(problem, random(problem, {17, 140, 0}));
    expectDecode(problem, random(problem, {90}), DecodeConfig{.block = 2 * wave(), .splits = 2});
    // Scales that are far apart, of both signs and 0: what counts is not lost beside one that is
    // large, but has no weight.
    Inputs inputs = random(problem, {70, 33});
    for (std::size_t s = 0; s < 2; ++s)
      for (std::size_t i = 0; i < inputs.vScale[s].size(); ++i) {
        inputs.vScale[s][i] = i % 9 == 8 ? 0 : std::ldexp(inputs.vScale[s][i], int(i % 7) - 3);
        inputs.kScale[s][i] = std::ldexp(inputs.kScale[s][i], -int(i % 3));
      }
    expectDecode(problem, inputs);
    // Scales near the largest floats, and sinks.
    problem.sink = true;
    inputs.sink = uniform(fx::f32, 6, 103, 3);
    for (std::size_t s = 0; s < 2; ++s)
      for (double &scale : inputs.vScale[s])
        scale = std::ldexp(scale, 116);
    expectDecode(problem, inputs);
    problem.sink = false;
    problem.q = type;
    problem.float8_products = false;
    problem.window = true;
    problem.soft_cap = 20;
    expectDecode(problem, random(problem, {60, 40}, 25));
    problem.cache = KvCache::packed;
    problem.pack = 16;
    problem.queries = 3;
    problem.tree_mask = problem.sink = true;
    expectDecode(problem, random(problem, {60, 40}, 25));
  }
}

TEST_CASE("a value whose scale is large and whose weight is small does not hide others", "[run]") {
  const fx::Target target = here();
  const fx::DType type = target.has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ : fx::f8E4M3FN;
  const DecodeProblem problem{.kv = type,
                              .y = fx::f32,
                              .float8_products = true,
                              .q_heads = 1,
                              .kv_heads = 1,
                              .head = 32,
                              .scale = 1,
                              .scales = KvScales::token};
  if (!fk::supported(problem, target))
    return;
  // Key 0 has the score 32 and the scale 2^-12, key 1 the score 0 and the scale 1: of the result,
  // the first is all but 2^-34 of it. Relative to the largest scale its weight would be 2^-12, of
  // which floats of 8 bits have no bit.
  Inputs inputs = random(problem, {2});
  inputs.q.assign(32, 1);
  for (std::size_t e = 0; e < 32; ++e) {
    inputs.k[0][e] = 1;
    inputs.k[0][32 + e] = 0;
    inputs.v[0][e] = 1;
    inputs.v[0][32 + e] = 1;
  }
  inputs.kScale[0] = {1, 1};
  inputs.vScale[0] = {0x1p-12, 1};
  expectDecode(problem, inputs);
}
