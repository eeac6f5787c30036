// Examples of docs/kernels/delta-rule.md.
#include "example.h"

#include <flydsl/kernels/delta_rule.h>

#include <cmath>

namespace fk = flydsl::kernels;

TEST_CASE("a step of linear attention: states that tokens change") {
  const std::int64_t tokens = 6;
  // region: problem
  // Two heads of q and k serve four of v; q and k are normed by the kernel.
  const fk::DeltaRuleProblem problem{.x = fx::bf16,
                                     .y = fx::bf16,
                                     .heads = 2,
                                     .v_heads = 4,
                                     .key = 64,
                                     .value = 64,
                                     .normalise = true};
  const fk::DeltaRulePlan plan(problem, fk::choose(problem, tokens));
  // endregion

  const auto q = fx::DeviceArray<fx::bfloat16_t>::random({tokens, 2, 64}, 1),
             k = fx::DeviceArray<fx::bfloat16_t>::random({tokens, 2, 64}, 2),
             v = fx::DeviceArray<fx::bfloat16_t>::random({tokens, 4, 64}, 3);
  fx::DeviceArray<float> g({tokens, 4}), beta({tokens, 4}), state({5, 4, 64, 64});
  fx::DeviceArray<int> starts({4}), slots({3});
  fx::DeviceArray<fx::bfloat16_t> y({tokens, 4, 64});
  g.fill(std::log(0.5f));
  beta.fill(1);
  state.fill(0);
  const fx::Stream stream;

  // region: call
  // Three sequences with 1, 4 and 1 tokens; the third is padding and has no state.
  starts.copy_from(std::vector{0, 1, 5, 6});
  slots.copy_from(std::vector{4, 0, -1});
  plan({.q = q,
        .k = k,
        .v = v,
        .g = g,
        .beta = beta,
        .starts = starts,
        .state = state, // (slots, v_heads, key, value): read and written in place
        .state_slots = slots,
        .y = y},
       stream);
  // endregion
  stream.synchronize();

  // The first sequence's state was zero: it is now k transposed(v), and k finds its v there.
  const auto hostK = k.to_host(), hostV = v.to_host();
  const auto now = state.to_host();
  for (std::size_t head = 0; head < 4; ++head) {
    double squares = 1e-6;
    for (std::size_t e = 0; e < 64; ++e)
      squares += std::pow(double(float(hostK[head / 2 * 64 + e])), 2);
    for (std::size_t column = 0; column < 64; ++column) {
      double found = 0;
      for (std::size_t e = 0; e < 64; ++e)
        found += double(float(hostK[head / 2 * 64 + e])) / std::sqrt(squares) *
                 double(now[((4 * 4 + head) * 64 + e) * 64 + column]);
      CHECK(std::fabs(found - double(float(hostV[head * 64 + column]))) < 1e-3);
    }
  }
}

TEST_CASE("a step of Mamba-2's SSD") {
  const std::int64_t tokens = 2;
  const auto b = fx::DeviceArray<fx::bfloat16_t>::random({tokens, 1, 64}, 1),
             c = fx::DeviceArray<fx::bfloat16_t>::random({tokens, 1, 64}, 2),
             x = fx::DeviceArray<fx::bfloat16_t>::random({tokens, 4, 32}, 3);
  fx::DeviceArray<float> dt({tokens, 4}), a({4}), bias({4}), d({4}), state({2, 4, 64, 32});
  fx::DeviceArray<int> starts({3}), slots({2});
  fx::DeviceArray<fx::bfloat16_t> y({tokens, 4, 32});
  dt.fill(0);
  bias.fill(0);
  a.fill(-1);
  d.fill(0.5f);
  state.fill(0);
  starts.copy_from(std::vector{0, 1, 2});
  slots.copy_from(std::vector{1, 0});
  const fx::Stream stream;

  // region: ssd
  // 4 heads of 32 channels in one group, with states of 64 numbers for each channel.
  const fk::DeltaRuleProblem ssd{.x = fx::bf16,
                                 .y = fx::bf16,
                                 .heads = 1,
                                 .v_heads = 4,
                                 .key = 64,
                                 .value = 32,
                                 .update = fk::StateUpdate::add,
                                 .decay = fk::DecayGate::softplus,
                                 .strength = fk::UpdateStrength::step,
                                 .skip = true};
  const fk::DeltaRulePlan step(ssd, fk::choose(ssd, tokens));
  step({.q = c,
        .k = b,
        .v = x,
        .g = dt,
        .starts = starts,
        .state = state,
        .state_slots = slots,
        .a = a,
        .dt_bias = bias,
        .skip = d,
        .y = y},
       stream);
  // endregion
  stream.synchronize();

  // Of a state of zeros, y is (dt (C . B) + D) x, and dt is log(2).
  const auto hostB = b.to_host(), hostC = c.to_host(), hostX = x.to_host(), hostY = y.to_host();
  for (std::size_t t = 0; t < std::size_t(tokens); ++t) {
    double product = 0;
    for (std::size_t e = 0; e < 64; ++e)
      product += double(float(hostB[t * 64 + e])) * double(float(hostC[t * 64 + e]));
    for (std::size_t e = 0; e < 4 * 32; ++e) {
      const double expected =
          (std::log(2.0) * product + 0.5) * double(float(hostX[t * 4 * 32 + e]));
      CHECK(std::fabs(double(float(hostY[t * 4 * 32 + e])) - expected) <=
            std::fabs(expected) * 0x1p-8 + 1e-5);
    }
  }
}
