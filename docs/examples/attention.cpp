// Examples of docs/kernels/attention.md.
#include "example.h"

#include <flydsl/kernels/attention.h>

#include <cmath>

namespace fk = flydsl::kernels;

TEST_CASE("attention of two prompts of different lengths") {
  // region: problem
  // A layer with 8 heads of q and 2 of k and v. Prompts lie one after another.
  const fk::AttentionProblem problem{.q = fx::bf16,
                                     .kv = fx::bf16,
                                     .y = fx::bf16,
                                     .q_heads = 8,
                                     .kv_heads = 2,
                                     .head = 64,
                                     .causal = true,
                                     .varlen = true,
                                     .lse = true};
  const fk::AttentionPlan plan(problem, fk::choose(problem, 60)); // once, for any lengths
  // endregion

  // region: call
  const std::vector<int> starts{0, 40, 60}; // prompts of 40 and of 20 tokens
  const std::int64_t tokens = 60, longest = 40;
  const auto q = fx::DeviceArray<fx::bfloat16_t>::random({tokens, 8, 64}, 1),
             k = fx::DeviceArray<fx::bfloat16_t>::random({tokens, 2, 64}, 2),
             v = fx::DeviceArray<fx::bfloat16_t>::random({tokens, 2, 64}, 3);
  fx::DeviceArray<fx::bfloat16_t> o({tokens, 8, 64});
  fx::DeviceArray<float> lse({tokens, 8});
  fx::DeviceArray<int> places({3});
  places.copy_from(starts);
  const fx::Stream stream;
  plan({.q = q,
        .k = k,
        .v = v,
        .o = o,
        .cu_seqlens_q = places,
        .cu_seqlens_kv = places,
        .max_seqlen_q = longest,
        .lse = lse},
       stream);
  // endregion
  stream.synchronize();

  const auto hostQ = q.to_host(), hostK = k.to_host(), hostV = v.to_host(), got = o.to_host();
  const auto sums = lse.to_host();
  for (std::size_t token : {0u, 39u, 40u, 59u})
    for (std::size_t head : {0u, 3u, 4u, 7u}) {
      std::vector<double> result(64);
      double total = 0;
      for (std::size_t key = token < 40 ? 0 : 40; key <= token; ++key) {
        double score = 0;
        for (std::size_t e = 0; e < 64; ++e)
          score += double(float(hostQ[(token * 8 + head) * 64 + e])) *
                   double(float(hostK[(key * 2 + head / 4) * 64 + e])) / 8;
        total += std::exp(score);
        for (std::size_t e = 0; e < 64; ++e)
          result[e] += std::exp(score) * double(float(hostV[(key * 2 + head / 4) * 64 + e]));
      }
      CHECK(std::fabs(double(sums[token * 8 + head]) - std::log(total)) < 0.01);
      for (std::size_t e = 0; e < 64; ++e)
        if (std::fabs(double(float(got[(token * 8 + head) * 64 + e])) - result[e] / total) > 0.02)
          FAIL("element " << e << " of head " << head << " of token " << token);
    }
}

TEST_CASE("attention with products of 8 bits") {
  // region: float8
  // Floats of 8 bits as a quantiser left them; gfx950, gfx1201 and gfx1250 take f8E4M3FN.
  const fk::AttentionProblem problem{.q = fx::f8E4M3FNUZ,
                                     .kv = fx::f8E4M3FNUZ,
                                     .y = fx::bf16,
                                     .scales = fk::KvScales::tensor,
                                     .float8_products = true,
                                     .q_heads = 8,
                                     .kv_heads = 2,
                                     .head = 64,
                                     .causal = true};
  const auto q = fx::DeviceArray<fx::float8_e4m3fnuz_t>::random({1, 60, 8, 64}, 1),
             k = fx::DeviceArray<fx::float8_e4m3fnuz_t>::random({1, 60, 2, 64}, 2),
             v = fx::DeviceArray<fx::float8_e4m3fnuz_t>::random({1, 60, 2, 64}, 3);
  fx::DeviceArray<fx::bfloat16_t> o({1, 60, 8, 64});
  fx::DeviceArray<float> scales({3});
  scales.copy_from(std::vector<float>{2, 0.5f, 0.25f});
  const fx::Stream stream;
  const fk::AttentionPlan plan(problem, fk::choose(problem, 60));
  plan({.q = q,
        .k = k,
        .v = v,
        .o = o,
        .q_scale = fx::tensor(scales.data(), {1}),
        .k_scale = fx::tensor(scales.data() + 1, {1}),
        .v_scale = fx::tensor(scales.data() + 2, {1})},
       stream);
  // endregion
  stream.synchronize();
  const auto hostQ = q.to_host(), hostK = k.to_host(), hostV = v.to_host();
  const auto got = o.to_host();
  for (std::size_t token : {0u, 31u, 59u})
    for (std::size_t head : {0u, 7u}) {
      std::vector<double> result(64), magnitude(64);
      double total = 0;
      for (std::size_t key = 0; key <= token; ++key) {
        double score = 0;
        for (std::size_t e = 0; e < 64; ++e)
          score += double(float(hostQ[(token * 8 + head) * 64 + e])) *
                   double(float(hostK[(key * 2 + head / 4) * 64 + e])) / 8;
        total += std::exp(score);
        for (std::size_t e = 0; e < 64; ++e) {
          const double value = double(float(hostV[(key * 2 + head / 4) * 64 + e])) / 4;
          result[e] += std::exp(score) * value;
          magnitude[e] += std::exp(score) * std::fabs(value);
        }
      }
      for (std::size_t e = 0; e < 64; ++e)
        if (std::fabs(double(float(got[(token * 8 + head) * 64 + e])) - result[e] / total) >
            magnitude[e] / total / 8 + 0.001)
          FAIL("element " << e << " of head " << head << " of token " << token);
    }
}
