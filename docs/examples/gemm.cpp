// Examples of docs/kernels/gemm.md.
#include "example.h"

#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/quantise.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace fk = flydsl::kernels;

using example::numbers;

TEST_CASE("a product of a decoder layer: gates and ups of a few tokens") {
  const int hidden = 256, inner = 96, tokens = 5;
  const auto activations = numbers(std::size_t(tokens * hidden), 1),
             weights = numbers(std::size_t(2 * inner * hidden), 2);
  fx::DeviceArray<fx::bfloat16_t> w({2 * inner, hidden}), x({tokens, hidden}), y({tokens, inner});
  w.copy_from(weights);
  x.copy_from(activations);
  const fx::Stream stream;

  // region: prepare
  // The first half of a gated MLP: silu(x * gates^T) * (x * ups^T), gates and ups one below the
  // other.
  const fk::GemmProblem problem{.a = fx::bf16,
                                .b = fx::bf16,
                                .c = fx::bf16,
                                .n = inner,
                                .k = hidden,
                                .activation = fk::Activation::silu,
                                .gated = true};
  if (const fk::Support answer = fk::supported(problem); !answer)
    throw fx::Error(answer.why);
  // When the model is loaded: weights in the layout that products read.
  const fx::DeviceArray<fx::bfloat16_t> memory({fk::prepared_size(problem.weight())});
  const fk::PreparedWeight prepared{.matrix = problem.weight(), .memory = memory};
  fk::run(problem.weight(), {.raw = w.tensor(), .out = prepared}, stream);
  // A plan for a few sizes of m; each is right for any m.
  const fk::GemmPlan few(problem, fk::choose(problem, 16)),
      many(problem, fk::choose(problem, 2048));
  // endregion

  // region: call
  const auto product = [&](const fx::DeviceArray<fx::bfloat16_t> &rows,
                           const fx::DeviceArray<fx::bfloat16_t> &out, std::int64_t m) {
    const fk::GemmPlan &plan = m <= 16 ? few : many;
    plan({.a = rows.tensor(), .b = prepared, .c = out.tensor()}, stream);
  };
  product(x, y, tokens);
  // endregion
  stream.synchronize();

  const std::vector<fx::bfloat16_t> got = y.to_host();
  for (int i = 0; i < tokens; ++i)
    for (int j = 0; j < inner; ++j) {
      const auto sum = [&](int row) {
        double total = 0;
        for (int k = 0; k < hidden; ++k)
          total += double(float(activations[std::size_t(i * hidden + k)])) *
                   double(float(weights[std::size_t(row * hidden + k)]));
        return total;
      };
      const double gate = sum(j), expected = gate / (1 + std::exp(-gate)) * sum(inner + j);
      CHECK(double(float(got[std::size_t(i * inner + j)])) ==
            Approx(expected).epsilon(0.01).margin(0.01));
    }
}

TEST_CASE("a projection of latent attention is absorbed by a batched product") {
  const int heads = 4, tokens = 3, nope = 32, value = 16, latent = 64;
  const auto queries = numbers(std::size_t(tokens * heads * nope), 3),
             weights = numbers(std::size_t(heads * (nope + value) * latent), 4);
  fx::DeviceArray<fx::bfloat16_t> q({tokens, heads, nope}), kvb({heads * (nope + value), latent}),
      c({tokens, heads, latent});
  q.copy_from(queries);
  kvb.copy_from(weights);
  const fx::Stream stream;

  // region: batch
  // Latent attention absorbs a projection of kv_b_proj, (heads * (nope + value), latent), into the
  // queries: one product for each head. A head's `nope` rows are a matrix (nope, latent), which is
  // b by columns, as it lies in the checkpoint. Queries and results have token after token.
  const fk::GemmProblem absorb{.a = fx::bf16,
                               .b = fx::bf16,
                               .c = fx::bf16,
                               .b_layout = fk::OperandLayout::columns,
                               .n = latent,
                               .k = nope,
                               .batch = heads};
  const fk::GemmPlan plan(absorb, fk::choose(absorb, tokens));
  plan({.a = fx::tensor(q.data(), fx::bf16, {heads, tokens, nope}, {nope, heads * nope, 1}),
        .b = fx::tensor(kvb.data(), fx::bf16, {heads, latent, nope},
                        {(nope + value) * latent, 1, latent}),
        .c = fx::tensor(c.data(), fx::bf16, {heads, tokens, latent}, {latent, heads * latent, 1})},
       stream);
  // endregion
  stream.synchronize();

  const std::vector<fx::bfloat16_t> got = c.to_host();
  for (int t = 0; t < tokens; ++t)
    for (int h = 0; h < heads; ++h)
      for (int j = 0; j < latent; ++j) {
        double sum = 0;
        for (int k = 0; k < nope; ++k)
          sum += double(float(queries[std::size_t((t * heads + h) * nope + k)])) *
                 double(float(weights[std::size_t((h * (nope + value) + k) * latent + j)]));
        CHECK(double(float(got[std::size_t((t * heads + h) * latent + j)])) ==
              Approx(sum).epsilon(0.01).margin(0.01));
      }
}

TEST_CASE("a product in MXFP4 with prepared scales", "[prepared-scales]") {
  constexpr std::int64_t n = 96, k = 512, m = 5;
  fx::DeviceArray<fx::bfloat16_t> x({m, k});
  fx::DeviceArray<float> y({m, n});
  // Whole numbers up to 4 times a power of two of each 32, which numbers of 4 bits have.
  std::vector<fx::bfloat16_t> activations;
  for (std::int64_t i = 0; i < m * k; ++i)
    activations.push_back(fx::bfloat16_t(std::ldexp(float(i * 7 % 9 - 4), int(i / 32 % 5))));
  x.copy_from(activations);
  // Weights of 1 (0x2) with the scales 1 and 2, in turn (2^(127 - 127) and 2^(128 - 127)).
  const std::vector<std::uint8_t> checkpoint(std::size_t(n * k / 2), 0x22);
  std::vector<std::uint8_t> scales;
  for (std::int64_t i = 0; i < n * k / 32; ++i)
    scales.push_back(std::uint8_t(127 + i % 2));
  const fx::Stream stream;

  // region: mx
  // MXFP4 on gfx950: weights and their scales are prepared on the host, and `quantise` writes those
  // of the activations in the order in which the product takes them.
  const auto prepared = fk::OperandLayout::prepared;
  const fk::GemmProblem problem{.a = fx::f4E2M1FN,
                                .b = fx::f4E2M1FN,
                                .c = fx::f32,
                                .n = n,
                                .k = k,
                                .scale_a = fk::Scales::mx,
                                .scale_b = fk::Scales::mx,
                                .scale = fx::f8E8M0FNU,
                                .scale_a_layout = prepared,
                                .scale_b_layout = prepared};
  if (!fk::supported(problem))
    return; // other targets take scales by rows, or none
  std::vector<std::uint8_t> raw(std::size_t(fk::prepared_size(problem.weight())));
  fk::prepare_weight(problem.weight(), checkpoint.data(), raw.data());
  const std::vector<std::uint8_t> ordered = fk::prepare_scales(n, k, scales);
  const auto ofA = fk::PreparedScales::shape(m, k), ofB = fk::PreparedScales::shape(n, k);
  fx::DeviceArray<std::uint8_t> w({std::int64_t(raw.size())}), q({m, k / 2}),
      scaleA({ofA[0], ofA[1], ofA[2]}), scaleB({ofB[0], ofB[1], ofB[2]});
  w.copy_from(raw);
  scaleB.copy_from(ordered);
  scaleA.fill(0); // its rows are padded to 32, and quantise writes the first m

  const auto powers =
      [](const fx::DeviceArray<std::uint8_t> &bytes, const std::array<std::int64_t, 3> &shape) {
    return fx::tensor(bytes.data(), fx::f8E8M0FNU, {shape[0], shape[1], shape[2]});
  };
  const fx::TensorArg a = fx::tensor(q.data(), fx::f4E2M1FN, {m, k});
  const fk::QuantiseProblem rows{.x = fx::bf16,
                                 .q = fx::f4E2M1FN,
                                 .n = k,
                                 .scale = fk::ScaleOf::block,
                                 .prepared_scales = true};
  fk::run(rows, {.x = x, .q = a, .scale = powers(scaleA, ofA)}, stream);
  fk::run(problem,
          {.a = a,
           .b = fk::PreparedWeight{.matrix = problem.weight(), .memory = w},
           .c = y,
           .scale_a = powers(scaleA, ofA),
           .scale_b = powers(scaleB, ofB)},
          stream);
  // endregion
  stream.synchronize();

  const std::vector<float> got = y.to_host();
  for (std::size_t i = 0; i < m; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < k; ++j)
      sum += double(float(activations[i * k + j])) * double(1 + j / 32 % 2);
    for (std::size_t column = 0; column < n; ++column)
      CHECK(double(got[i * n + column]) == sum);
  }
}
