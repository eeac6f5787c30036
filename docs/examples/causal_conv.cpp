// Examples of docs/kernels/causal-conv.md.
#include "example.h"

#include <flydsl/kernels/causal_conv.h>

#include <cmath>

namespace fk = flydsl::kernels;

TEST_CASE("a causal convolution of prompts: states that begin anew and go on") {
  const std::int64_t tokens = 9;
  // region: problem
  // 48 channels with filters of four taps, as Mamba and Qwen3-Next have them.
  const fk::CausalConvProblem problem{.x = fx::bf16,
                                      .y = fx::bf16,
                                      .weight = fx::bf16,
                                      .state = fx::bf16,
                                      .channels = 48,
                                      .width = 4,
                                      .activation = fk::Activation::silu,
                                      .fresh = true,
                                      .prefill = true};
  const fk::CausalConvPlan plan(problem, fk::choose(problem, tokens));
  // endregion

  const auto x = fx::DeviceArray<fx::bfloat16_t>::random({tokens, 48}, 1),
             weight = fx::DeviceArray<fx::bfloat16_t>::random({48, 4}, 2),
             state = fx::DeviceArray<fx::bfloat16_t>::random({5, 3, 48}, 3);
  fx::DeviceArray<int> starts({4}), slots({3});
  fx::DeviceArray<std::uint8_t> fresh({3});
  fx::DeviceArray<fx::bfloat16_t> y({tokens, 48});
  const auto before = state.to_host();
  const fx::Stream stream;

  // region: call
  // A prompt of 5 tokens that begins anew, one of 3 tokens that goes on, and padding without a
  // state.
  starts.copy_from(std::vector{0, 5, 8, 9});
  slots.copy_from(std::vector{4, 0, -1});
  fresh.copy_from(std::vector<std::uint8_t>{1, 0, 0});
  plan({.x = x,
        .weight = weight, // (channels, width)
        .starts = starts,
        .state = state, // (slots, width - 1, channels): read and written in place
        .state_slots = slots,
        .fresh = fresh,
        .y = y},
       stream);
  // endregion
  stream.synchronize();

  const auto hostX = x.to_host(), hostW = weight.to_host(), hostY = y.to_host(),
             now = state.to_host();
  for (std::size_t c = 0; c < 48; ++c) {
    // Token 1 of the second sequence: two columns of its state, then two tokens.
    const double terms[] = {double(float(before[1 * 48 + c])), double(float(before[2 * 48 + c])),
                            double(float(hostX[5 * 48 + c])), double(float(hostX[6 * 48 + c]))};
    double sum = 0;
    for (std::size_t j = 0; j < 4; ++j)
      sum += double(float(hostW[c * 4 + j])) * terms[j];
    CHECK(std::fabs(double(float(hostY[6 * 48 + c])) - sum / (1 + std::exp(-sum))) < 2e-2);
    // The last three tokens of the first sequence are its state.
    for (std::size_t j = 0; j < 3; ++j)
      CHECK(float(now[(4 * 3 + j) * 48 + c]) == float(hostX[(2 + j) * 48 + c]));
  }
}
