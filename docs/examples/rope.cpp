// Examples of docs/kernels/rope.md.
#include "example.h"

#include <flydsl/kernels/rope.h>

#include <cmath>

namespace fk = flydsl::kernels;

using example::numbers;

TEST_CASE("a step of a decoder layer: heads are normed and rotated, and go into the cache") {
  // region: problem
  // A layer with 16 heads of q and 8 of k and v. Each head of q and k is normed and rotated.
  const fk::RopeProblem problem{.x = fx::bf16,
                                .y = fx::bf16,
                                .q_heads = 16,
                                .kv_heads = 8,
                                .head = 128,
                                .k_out = false, // attention reads k from the cache
                                .cache = fk::KvCache::pages,
                                .cached = fx::bf16,
                                .page = 16,
                                .q_norm = fk::HeadNorm::weighted,
                                .k_norm = fk::HeadNorm::weighted,
                                .weight = fx::bf16};
  const fk::RopePlan plan(problem, fk::choose(problem, 3)); // once, for any number of tokens
  // endregion

  const int tokens = 3, rows = 32, blocks = 4, page = 16;
  const int wide = (16 + 2 * 8) * 128;
  const auto values = numbers(std::size_t(tokens * wide), 1), weights = numbers(2 * 128, 2);
  fx::DeviceArray<fx::bfloat16_t> qkv({tokens, wide}), weight({2, 128});
  fx::DeviceArray<fx::bfloat16_t> keys({blocks, page, 8, 128}), others({blocks, page, 8, 128});
  fx::DeviceArray<float> table({rows, 128});
  fx::DeviceArray<int> positions({tokens}), slots({tokens});
  std::vector<float> angles;
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < 128; ++i) {
      const double angle = row * std::pow(10000.0, -(i % 64) / 64.0);
      angles.push_back(float(i < 64 ? std::cos(angle) : std::sin(angle)));
    }
  qkv.copy_from(values);
  weight.copy_from(weights);
  table.copy_from(angles);
  keys.fill(fx::bfloat16_t(7));
  others.fill(fx::bfloat16_t(7));
  const fx::Stream stream;

  // region: call
  // The projection has q, k and v of a token side by side; q is rotated in place. The third token
  // is padding: its slot is -1.
  positions.copy_from(std::vector{17, 5, 0});
  slots.copy_from(std::vector{33, 2, -1});
  fx::bfloat16_t *q = qkv.data(), *k = q + 16 * 128, *v = k + 8 * 128;
  const fx::TensorArg heads = fx::tensor(q, {tokens, 16, 128}, {wide, 128, 1});
  plan({.q = heads,
        .k = fx::tensor(k, {tokens, 8, 128}, {wide, 128, 1}),
        .v = fx::tensor(v, {tokens, 8, 128}, {wide, 128, 1}),
        .positions = positions,
        .cos = fx::tensor(table.data(), {rows, 64}, {128, 1}), // one table has both
        .sin = fx::tensor(table.data() + 64, {rows, 64}, {128, 1}),
        .slots = slots,
        .q_out = heads,
        .k_cache = keys,
        .v_cache = others,
        .q_weight = fx::tensor(weight.data(), {128}),
        .k_weight = fx::tensor(weight.data() + 128, {128})},
       stream);
  // endregion
  stream.synchronize();

  const auto rotated = qkv.to_host(), cachedK = keys.to_host(), cachedV = others.to_host();
  /// Head `head` of token 0, as it must be, beside what it became.
  const auto expectHead = [&](int head, int weightRow, const fx::bfloat16_t *got) {
    const fx::bfloat16_t *x = &values[std::size_t(head * 128)];
    double squares = 0;
    for (int i = 0; i < 128; ++i)
      squares += double(float(x[i])) * double(float(x[i])) / 128;
    const double rstd = 1 / std::sqrt(squares + 1e-6);
    for (int i = 0; i < 64; ++i) {
      const auto normed = [&](int e) {
        return double(float(x[e])) * rstd *
               double(float(weights[std::size_t(weightRow * 128 + e)]));
      };
      const double angle = 17 * std::pow(10000.0, -i / 64.0), a = normed(i), b = normed(i + 64);
      CHECK(std::fabs(double(float(got[i])) - (a * std::cos(angle) - b * std::sin(angle))) < 0.02);
      CHECK(std::fabs(double(float(got[i + 64])) - (b * std::cos(angle) + a * std::sin(angle))) <
            0.02);
    }
  };
  expectHead(3, 0, &rotated[3 * 128]);
  expectHead(16 + 5, 1, &cachedK[std::size_t(33 * 8 + 5) * 128]);
  for (int e = 0; e < 8 * 128; ++e) {
    const std::size_t at = std::size_t(e);
    if (float(cachedV[33 * 8 * 128 + at]) != float(values[24 * 128 + at]) ||
        float(cachedV[34 * 8 * 128 + at]) != 7)
      FAIL("element " << e << " of the cache");
  }
}
