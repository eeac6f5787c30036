// Examples of the page docs/kernels/elementwise.md.
#include "example.h"

#include <flydsl/kernels/elementwise.h>

#include <cmath>

namespace fk = flydsl::kernels;

TEST_CASE("a chain whose result is quantised by groups") {
  constexpr std::int64_t m = 3, n = 256;
  fx::DeviceArray<fx::bfloat16_t> gate({m, n}), up({m, n});
  gate.fill(fx::bfloat16_t(2));
  up.fill(fx::bfloat16_t(3));
  fx::DeviceArray<std::int8_t> q({m, n});
  fx::DeviceArray<float> scales({m, n / 128});
  const fx::Stream stream;
  // region: swiglu
  // silu(gate) * up into i8, with a scale for each 128 elements of a row.
  const fk::ElementwiseChain swiglu{"swiglu", [](const fx::Vector &gate, const fx::Vector &up) {
                                      return fk::chain::silu(gate) * up;
                                    }};
  const fk::ElementwisePlan plan(
      swiglu, {.x = {{fx::bf16}, {fx::bf16}}, .y = {{.type = fx::i8, .group = 128}}, .n = 256});
  plan({.x = {gate, up}, .y = {q}, .scales = {scales}}, stream);
  // endregion
  stream.synchronize();
  CHECK(q.to_host()[5] == 127);
  CHECK(std::fabs(double(scales.to_host()[1]) * 127 - 6 / (1 + std::exp(-2.0))) < 1e-5);
}

TEST_CASE("rows of a table by their numbers") {
  constexpr std::int64_t m = 4, n = 64;
  fx::DeviceArray<fx::bfloat16_t> table({10, n});
  std::vector<fx::bfloat16_t> values;
  for (int i = 0; i < 10 * n; ++i)
    values.emplace_back(float(i / n));
  table.copy_from(values);
  fx::DeviceArray<std::int32_t> tokens({m});
  tokens.copy_from(std::vector<std::int32_t>{7, 0, -1, 9});
  fx::DeviceArray<float> x({m, n});
  const fx::Stream stream;
  // region: embedding
  // An embedding: x[i, :] = 8 * table[tokens[i], :], in f32.
  const fk::ElementwiseChain embed{"embed", [](const fx::Vector &row) { return row * 8.0f; }};
  const fk::ElementwisePlan embedding(
      embed, {.x = {{fx::bf16, fk::ChainOperand::gathered}}, .y = {{fx::f32}}, .n = 64});
  embedding({.x = {table}, .y = {x}, .ids = tokens}, stream);
  // endregion
  stream.synchronize();
  const std::vector<float> found = x.to_host();
  CHECK(found[0] == 56);
  CHECK(found[2 * n] == 0); // a number that is no row's
  CHECK(found[3 * n + 1] == 72);
}
