// Examples of docs/kernels/mqa-logits.md.
#include "example.h"

#include <flydsl/kernels/mqa_logits.h>
#include <flydsl/kernels/rows/top_k.h>

#include <cmath>

namespace fk = flydsl::kernels;

TEST_CASE("logits by which tokens choose their keys") {
  const std::int64_t tokens = 5;
  // region: problem
  const fk::MqaLogitsProblem problem{.x = fx::bf16, .heads = 32, .head = 64, .k_scale = false};
  const fk::MqaLogitsPlan plan(problem, fk::choose(problem, tokens));
  // endregion

  const auto q = fx::DeviceArray<fx::bfloat16_t>::random({tokens, 32, 64}, 1),
             k = fx::DeviceArray<fx::bfloat16_t>::random({tokens, 64}, 2);
  const auto weights = fx::DeviceArray<float>::random({tokens, 32}, 3);
  fx::DeviceArray<int> first({tokens}), last({tokens});
  fx::DeviceArray<float> logits({tokens, tokens});
  const fx::Stream stream;

  // region: call
  // Two sequences of 3 and 2 tokens: each token sees its own sequence up to itself.
  first.copy_from(std::vector{0, 0, 0, 3, 3});
  last.copy_from(std::vector{1, 2, 3, 4, 5});
  plan({.q = q, .k = k, .weights = weights, .first = first, .last = last, .logits = logits},
       stream);
  // endregion
  stream.synchronize();

  const auto hostQ = q.to_host(), hostK = k.to_host();
  const auto factors = weights.to_host(), got = logits.to_host();
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 5; ++j) {
      if (j > i || (i >= 3 && j < 3)) {
        CHECK(got[i * 5 + j] == -std::numeric_limits<float>::infinity());
        continue;
      }
      double sum = 0;
      for (std::size_t h = 0; h < 32; ++h) {
        double score = 0;
        for (std::size_t e = 0; e < 64; ++e)
          score += double(float(hostQ[(i * 32 + h) * 64 + e])) * double(float(hostK[j * 64 + e]));
        sum += double(factors[i * 32 + h]) * std::max(0.0, score);
      }
      CHECK(std::fabs(double(got[i * 5 + j]) - sum) < 1e-3);
    }
}

TEST_CASE("the keys with the largest logits, as places in a cache") {
  const std::int64_t tokens = 2, keys = 100;
  std::vector<float> host(std::size_t(tokens * keys), -std::numeric_limits<float>::infinity());
  host[5] = 2;
  host[70] = 3;
  host[7] = 1;
  host[100 + 64] = 1; // the second token sees no other key
  fx::DeviceArray<float> logits({tokens, keys});
  logits.copy_from(host);
  fx::DeviceArray<int> tables({tokens, 2}), indices({tokens, 2}), slots({tokens, 2}),
      counts({tokens});
  tables.copy_from(std::vector{9, 3, 1, 0});
  const fx::Stream stream;

  // region: top_k
  // Of each token the 2 keys with the largest logits, as places in a cache with pages of 64 tokens.
  const fk::TopKProblem choice{.k = 2, .slots = true, .page = 64, .n = keys};
  const fk::TopKPlan choose(choice, fk::choose(choice, tokens));
  choose({.x = logits, .indices = indices, .slots = slots, .block_table = tables, .counts = counts},
         stream);
  // endregion
  stream.synchronize();

  CHECK(indices.to_host() == std::vector{5, 70, 64, -1});
  CHECK(slots.to_host() == std::vector{9 * 64 + 5, 3 * 64 + 6, 0, -1});
  CHECK(counts.to_host() == std::vector{2, 1});
}
