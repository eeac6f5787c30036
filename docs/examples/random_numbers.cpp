// Examples of docs/random-numbers.md.
#include "example.h"

#include <cmath>

namespace {

// region: dropout
/// y = x / (1 - p) where a number of [0, 1) is not below p, else 0. Nothing has to be stored for
/// the way back: the same seed and offsets give the same numbers.
const fx::Kernel dropout{"dropout", [](fx::Tensor x, fx::Tensor y, fx::Float32 p, fx::UInt64 seed) {
  fx::Int32 i = fx::block_idx().x * 64 + fx::thread_idx().x;
  const auto u = fx::random::rand4x(seed, i); // one draw for four elements
  for (int k = 0; k < 4; ++k) {
    fx::Numeric value = x(i * 4 + k);
    y(i * 4 + k) = fx::select(u[k] < p, 0.0f, value / (1 - p));
  }
}};
// endregion

// region: round
/// A step of SGD whose weights stay in bf16: what is less than a last place is not lost, but moves
/// the weight now and then.
const fx::Kernel step{"step", [](fx::Tensor weights, fx::Tensor gradient, fx::Float32 rate,
                                 fx::UInt64 seed) {
  fx::Int32 i = fx::block_idx().x * 64 + fx::thread_idx().x;
  fx::Numeric moved = weights(i).to(fx::f32) - rate * gradient(i);
  weights(i) = fx::random::round_stochastic(moved, fx::random::randint(seed, i), fx::bf16);
}};
// endregion

} // namespace

TEST_CASE("dropout, and its mask again on the host") {
  const int n = 4096;
  const float p = 0.25f;
  const std::uint64_t seed = 42;
  fx::DeviceArray<float> x({n}), y({n});
  x.fill(3.0f);
  dropout(x, y, p, seed).launch({.grid = n / 256, .block = 64});
  const std::vector<float> values = y.to_host();
  int dropped = 0;
  // region: host
  for (int i = 0; i < n / 4; ++i) {
    const std::array<float, 4> u = fx::random::rand4x(seed, i); // the kernel's, bit for bit
    for (int k = 0; k < 4; ++k) {
      const float expected = u[k] < p ? 0 : 3.0f / (1 - p);
      CHECK(values[i * 4 + k] == expected);
      dropped += expected == 0;
    }
  }
  // endregion
  CHECK(std::fabs(dropped / double(n) - p) < 0.03);
}

TEST_CASE("a weight in bf16 that is rounded stochastically moves by less than its last place") {
  const int n = 4096;
  fx::DeviceArray<fx::bfloat16_t> weights({n});
  fx::DeviceArray<float> gradient({n});
  weights.fill(fx::bfloat16_t(1));
  gradient.fill(1.0f);
  const int steps = 16;
  const float rate = 0x1p-12f; // a sixteenth of the last place below 1
  for (int at = 0; at < steps; ++at)
    step(weights, gradient, rate, std::uint64_t(at)).launch({.grid = n / 64, .block = 64});
  double mean = 0;
  for (fx::bfloat16_t w : weights.to_host())
    mean += float(w) / double(n);
  CHECK(std::fabs(mean - (1 - steps * rate)) < 2e-4);
}
