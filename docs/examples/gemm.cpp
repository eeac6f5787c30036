// Examples of docs/kernels/gemm.md.
#include "example.h"

#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/gemm.h>

#include <cmath>

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
