// Examples of docs/kernels/moe.md: the products of experts.
#include "example.h"

#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/moe_forward.h>
#include <flydsl/kernels/moe_reduce.h>
#include <flydsl/kernels/moe_sort.h>
#include <flydsl/kernels/topk_gating.h>

#include <algorithm>
#include <cmath>

namespace fk = flydsl::kernels;

using example::numbers;

namespace {

constexpr int tokens = 5, experts = 4, topk = 2, hidden = 64, inner = 48;

/// The weights of a mixture, and its tokens.
struct Mixture {
  std::vector<fx::bfloat16_t> x = numbers(tokens * hidden, 1),
                              first = numbers(std::size_t(experts) * 2 * inner * hidden, 2),
                              second = numbers(std::size_t(experts) * hidden * inner, 3);

  /// A row of x times a row of an expert's weights.
  static double product(const std::vector<double> &x, const fx::bfloat16_t *w) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += x[i] * double(float(w[i]));
    return sum;
  }
  /// What an expert makes of a token.
  std::vector<double> result(int token, int expert) const {
    std::vector<double> row, inside, out;
    for (int i = 0; i < hidden; ++i)
      row.push_back(double(float(x[std::size_t(token * hidden + i)])));
    const fx::bfloat16_t *w1 = first.data() + expert * 2 * inner * hidden,
                         *w2 = second.data() + expert * hidden * inner;
    for (int j = 0; j < inner; ++j) {
      const double gate = product(row, w1 + j * hidden),
                   up = product(row, w1 + (inner + j) * hidden);
      inside.push_back(gate / (1 + std::exp(-gate)) * up);
    }
    for (int j = 0; j < hidden; ++j)
      out.push_back(product(inside, w2 + j * inner));
    return out;
  }
};

/// The experts of a token with the two largest scores, and the share of the first one: the shares
/// are those of the softmax over both.
struct TwoBest {
  int first, second;
  double share;

  static TwoBest of(const std::vector<float> &scores, int token) {
    const float *own = scores.data() + token * experts;
    std::vector<int> order{0, 1, 2, 3};
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return own[a] > own[b]; });
    return {order[0], order[1], 1 / (1 + std::exp(double(own[order[1]] - own[order[0]])))};
  }
};

/// Weights as products read them.
fx::DeviceArray<fx::bfloat16_t> prepared(const fk::WeightProblem &problem,
                                         const std::vector<fx::bfloat16_t> &raw) {
  std::vector<fx::bfloat16_t> out(std::size_t(fk::prepared_size(problem)));
  fk::prepare_weight(problem, raw.data(), out.data());
  return fx::DeviceArray<fx::bfloat16_t>::from_host(out, {std::int64_t(out.size())});
}

} // namespace

TEST_CASE("the products of experts, from sorted slots to the rows of slots") {
  const Mixture mixture;
  const std::vector<int> chosen{0, 2, 2, 1, 0, 1, 2, 0, 1, 2}; // expert 3 has no token
  std::vector<float> shares;
  for (int slot = 0; slot < tokens * topk; ++slot)
    shares.push_back(0.25f + 0.05f * float(slot));
  const auto x = fx::DeviceArray<fx::bfloat16_t>::from_host(mixture.x, {tokens, hidden});
  const auto ids = fx::DeviceArray<int>::from_host(chosen, {tokens, topk});
  const auto weights = fx::DeviceArray<float>::from_host(shares, {tokens, topk});
  const fx::Stream stream;

  const fk::MoeSortProblem sorting{.experts = experts, .topk = topk, .unit = 16};
  const std::int64_t places = fk::moe_sort_places(sorting, tokens);
  fx::DeviceArray<int> sorted({places}), units({places / 16}), counts({experts}),
      offsets({experts + 1}), totals({3});
  fx::DeviceArray<float> sortedWeights({places});
  fk::run(sorting,
          {.ids = ids,
           .weights = weights,
           .sorted_ids = sorted,
           .sorted_weights = sortedWeights,
           .unit_experts = units,
           .counts = counts,
           .offsets = offsets,
           .totals = totals},
          stream);
  fx::DeviceArray<fx::bfloat16_t> inside({places, inner}), results({tokens, topk, hidden});
  const auto w1 = prepared({fx::bf16, experts * 2 * inner, hidden}, mixture.first),
             w2 = prepared({fx::bf16, experts * hidden, inner}, mixture.second);
  // region: grouped
  const fk::GroupedGemmProblem gatesAndUps{.experts = experts,
                                           .n = inner,
                                           .k = hidden,
                                           .unit = 16,
                                           .topk = 2,
                                           .a_rows = fk::GroupedRows::tokens,
                                           .activation = fk::Activation::silu,
                                           .gated = fk::GatedPairs::halves};
  const fk::GroupedGemmProblem down{.experts = experts,
                                    .n = hidden,
                                    .k = inner,
                                    .unit = 16,
                                    .topk = 2,
                                    .c_rows = fk::GroupedRows::slots,
                                    .weights = fk::RoutedWeights::output};
  const fk::GroupedGemmPlan first(gatesAndUps, fk::choose(gatesAndUps, places)),
      second(down, fk::choose(down, places));
  first({.a = x,
         .b = fk::PreparedWeight{gatesAndUps.weight(), w1},
         .c = inside,
         .unit_experts = units,
         .offsets = offsets,
         .counts = counts,
         .sorted_ids = sorted},
        stream);
  second({.a = inside,
          .b = fk::PreparedWeight{down.weight(), w2},
          .c = results,
          .unit_experts = units,
          .offsets = offsets,
          .counts = counts,
          .sorted_ids = sorted,
          .weights = sortedWeights},
         stream);
  // endregion
  stream.synchronize();
  const std::vector<fx::bfloat16_t> got = results.to_host();
  for (int slot = 0; slot < tokens * topk; ++slot) {
    const std::vector<double> expected = mixture.result(slot / topk, chosen[std::size_t(slot)]);
    double largest = 0;
    for (double value : expected)
      largest = std::max(largest, std::fabs(value));
    for (int j = 0; j < hidden; ++j)
      CHECK(std::fabs(double(float(got[std::size_t(slot * hidden + j)])) -
                      double(shares[std::size_t(slot)]) * expected[std::size_t(j)]) <
            0.01 * largest);
  }
}

TEST_CASE("a mixture of experts as one plan") {
  const Mixture mixture;
  std::vector<float> scores;
  for (int i = 0; i < tokens * experts; ++i)
    scores.push_back(float(i * 7 % 11) / 4);
  const auto logits = fx::DeviceArray<float>::from_host(scores, {tokens, experts});
  const auto x = fx::DeviceArray<fx::bfloat16_t>::from_host(mixture.x, {tokens, hidden});
  fx::DeviceArray<fx::bfloat16_t> y({tokens, hidden});
  const auto w1 = prepared({fx::bf16, experts * 2 * inner, hidden}, mixture.first),
             w2 = prepared({fx::bf16, experts * hidden, inner}, mixture.second);
  const fx::Stream stream;
  // region: forward
  const fk::MoeForwardProblem problem{
      .router = {.experts = experts, .topk = topk, .renormalise = true},
      .hidden = hidden,
      .inner = inner};
  const fk::MoeForwardPlan forward(problem, fk::choose(problem, tokens));
  const fx::DeviceArray<std::uint8_t> workspace({std::int64_t(forward.workspace_bytes(tokens))});
  forward({.logits = logits,
           .x = x,
           .w1 = {problem.weight1(), w1},
           .w2 = {problem.weight2(), w2},
           .y = y,
           .workspace = workspace.tensor()},
          stream);
  // endregion
  stream.synchronize();
  const std::vector<fx::bfloat16_t> got = y.to_host();
  for (int token = 0; token < tokens; ++token) {
    const TwoBest of = TwoBest::of(scores, token);
    const std::vector<double> best = mixture.result(token, of.first),
                              second = mixture.result(token, of.second);
    double largest = 0;
    for (int j = 0; j < hidden; ++j)
      largest =
          std::max({largest, std::fabs(best[std::size_t(j)]), std::fabs(second[std::size_t(j)])});
    for (int j = 0; j < hidden; ++j)
      CHECK(std::fabs(double(float(got[std::size_t(token * hidden + j)])) -
                      (of.share * best[std::size_t(j)] + (1 - of.share) * second[std::size_t(j)])) <
            0.02 * largest);
  }
}

TEST_CASE("a mixture in MXFP4 with prepared scales", "[prepared-scales]") {
  constexpr std::int64_t size = 256, blocks = size / 32; // of a token, and of what is inside
  std::vector<float> scores;
  for (int i = 0; i < tokens * experts; ++i)
    scores.push_back(float(i * 7 % 11) / 4);
  const auto bytes = [](const std::vector<std::uint8_t> &values) {
    return fx::DeviceArray<std::uint8_t>::from_host(values, {std::int64_t(values.size())});
  };
  const auto logits = fx::DeviceArray<float>::from_host(scores, {tokens, experts});
  // Tokens of 1 (0x2) with scales of 1 (2^(127 - 127)), and weights of 1 whose rows differ by their
  // scales: gates are 64, the ups of expert e are 2^e and 2^(e + 1), 32 of each in turn, and rows
  // of w2 have 2^-8, 2^-7 and 2^-6 in turn.
  const auto q = bytes(std::vector<std::uint8_t>(std::size_t(tokens * size / 2), 0x22)),
             scales = bytes(std::vector<std::uint8_t>(std::size_t(tokens * blocks), 127));
  std::vector<std::uint8_t> ofW1, ofW2;
  for (int expert = 0; expert < experts; ++expert) {
    for (int row = 0; row < 2 * size; ++row)
      ofW1.insert(ofW1.end(), blocks,
                  std::uint8_t(row < size ? 127 - 2 : 127 - 8 + expert + row / 32 % 2));
    for (int row = 0; row < size; ++row)
      ofW2.insert(ofW2.end(), blocks, std::uint8_t(127 - 8 + row % 3));
  }
  // Prepared weights of equal elements are equal elements.
  const auto ones = [&](std::int64_t rows) {
    const std::int64_t all = fk::prepared_size({fx::f4E2M1FN, experts * rows, size});
    return bytes(std::vector<std::uint8_t>(std::size_t(all), 0x22));
  };
  const auto w1 = ones(2 * size), w2 = ones(size);
  fx::DeviceArray<fx::bfloat16_t> y({tokens, size});
  const fx::Stream stream;
  // region: prepared-scales
  // MXFP4 on gfx950: scales of weights, (experts, rows, columns / 32) as checkpoints have them, are
  // prepared on the host.
  const fk::MoeForwardProblem problem{
      .router = {.experts = experts, .topk = topk, .renormalise = true},
      .x = fx::f4E2M1FN,
      .scales = fk::Scales::mx,
      .scale = fx::f8E8M0FNU,
      .w_scale_layout = fk::OperandLayout::prepared,
      .hidden = size,
      .inner = size};
  if (!fk::supported(problem))
    return; // gfx1250 takes scales by rows, other targets none
  const auto scale1 = bytes(fk::prepare_expert_scales(experts, 2 * size, size, ofW1)),
             scale2 = bytes(fk::prepare_expert_scales(experts, size, size, ofW2));
  const auto powers = [](const fx::DeviceArray<std::uint8_t> &all, std::int64_t rows) {
    const auto [groups, across, block] = fk::PreparedScales::shape(rows, size);
    return fx::tensor(all.data(), fx::f8E8M0FNU, {experts, groups, across, block});
  };
  const fk::MoeForwardPlan forward(problem, fk::choose(problem, tokens));
  const fx::DeviceArray<std::uint8_t> workspace({std::int64_t(forward.workspace_bytes(tokens))});
  forward({.logits = logits,
           .x = fx::tensor(q.data(), fx::f4E2M1FN, {tokens, size}),
           .w1 = {problem.weight1(), w1},
           .w2 = {problem.weight2(), w2},
           .scale_x = fx::tensor(scales.data(), fx::f8E8M0FNU, {tokens, size / 32}),
           .scale1 = powers(scale1, 2 * size),
           .scale2 = powers(scale2, size),
           .y = y,
           .workspace = workspace.tensor()},
          stream);
  // endregion
  stream.synchronize();
  const std::vector<fx::bfloat16_t> got = y.to_host();
  for (int token = 0; token < tokens; ++token) {
    const TwoBest of = TwoBest::of(scores, token);
    const double sum =
        of.share * std::ldexp(1, of.first) + (1 - of.share) * std::ldexp(1, of.second);
    // 128 times 64 and 128 times 128, over 256, for expert 0.
    for (int j = 0; j < size; ++j)
      CHECK(double(float(got[std::size_t(token * size + j)])) ==
            Approx(96 * sum * std::ldexp(1, j % 3)).epsilon(0.01));
  }
}
