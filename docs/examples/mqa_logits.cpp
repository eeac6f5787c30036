// Examples of docs/kernels/mqa-logits.md.
#include "example.h"

#include <flydsl/kernels/mqa_logits.h>

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
