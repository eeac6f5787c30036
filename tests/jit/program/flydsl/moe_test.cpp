// FlyDSL's kernels of a mixture of experts: gating, sorting of tokens by their experts, the two
// products, and the sum over a token's experts.
#include "call.h"

#include <numeric>

using namespace flydsl_programs;

namespace {
Operand input(fx::DType dtype, const Numbers &values) {
  return Operand::input(dtype, 1, static_cast<std::int64_t>(values.size()), values);
}

/// Tokens that are sorted by their experts, in blocks of `unit` rows of one expert: in each row the
/// place among the token's experts, times 2^24, and the token. Rows that fill a block have the
/// number of places and that of tokens.
struct Sorted {
  Numbers rows, weights, experts;
};
Sorted sortedByExpert(const Numbers &chosen, const Numbers &weights, std::size_t places,
                      std::size_t experts, std::size_t unit) {
  Sorted sorted;
  const std::size_t tokens = chosen.size() / places;
  const auto row = [](std::size_t place, std::size_t token) {
    return static_cast<double>(place << 24 | token);
  };
  for (std::size_t expert = 0; expert < experts; ++expert) {
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i] == static_cast<double>(expert)) {
        if (sorted.rows.size() % unit == 0)
          sorted.experts.push_back(static_cast<double>(expert));
        sorted.rows.push_back(row(i % places, i / places));
        sorted.weights.push_back(weights[i]);
      }
    for (; sorted.rows.size() % unit; sorted.weights.push_back(0))
      sorted.rows.push_back(row(places, tokens));
  }
  return sorted;
}

constexpr std::size_t kTokens = 8, kPlaces = 2;

/// Two of `experts` experts for each token.
Numbers chosenExperts(std::size_t experts) {
  Numbers chosen;
  for (std::size_t token = 0; token < kTokens; ++token)
    for (std::size_t place = 0; place < kPlaces; ++place)
      chosen.push_back(
          static_cast<double>((token * 5 + place * (1 + token % (experts - 1))) % experts));
  return chosen;
}
} // namespace

TEST_CASE("the best experts of each token, by the softmax over all") {
  constexpr std::size_t tokens = 4, experts = 64, places = 4;
  const Numbers logits = uniform(fx::bf16, tokens * experts, 1, 4);
  const Operand a = Operand::input(fx::bf16, tokens, experts, logits),
                weights = Operand::output(fx::f32, tokens, places),
                indices = Operand::output(fx::i32, tokens, places),
                sources = Operand::output(fx::i32, tokens, places);
  call("moe_topk", a.tensor(), weights.tensor(), indices.tensor(), sources.tensor(), tokens);
  Numbers expectedWeights, expectedIndices, expectedSources;
  for (std::size_t token = 0; token < tokens; ++token) {
    const double *row = &logits[token * experts];
    std::vector<std::size_t> order(experts);
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) { return row[i] > row[j]; });
    double total = 0;
    for (std::size_t place = 0; place < places; ++place)
      total += std::exp(row[order[place]]);
    for (std::size_t place = 0; place < places; ++place) {
      expectedWeights.push_back(std::exp(row[order[place]]) / total);
      expectedIndices.push_back(static_cast<double>(order[place]));
      expectedSources.push_back(static_cast<double>(place * tokens + token));
    }
  }
  expectNear(weights.values(), expectedWeights, kF32, 0);
  CHECK(indices.values() == expectedIndices);
  CHECK(sources.values() == expectedSources);
}

// FlyDSL's kernel reads LDS beside what was written and behind its end, and drops what it read;
// waves write the same numbers without an order among them.
TEST_CASE("tokens sorted by their experts", "[lockstep]") {
  constexpr std::size_t experts = 8, unit = 32, width = 64;
  const Numbers chosen = chosenExperts(experts), weights = uniform(fx::f32, kTokens * kPlaces, 2);
  const Sorted expected = sortedByExpert(chosen, weights, kPlaces, experts, unit);
  const Operand ids = input(fx::i32, chosen), given = input(fx::f32, weights),
                rows = Operand::output(fx::i32, 1, 512),
                sortedWeights = Operand::output(fx::f32, 1, 512),
                sortedExperts = Operand::output(fx::i32, 1, 16),
                counts = Operand::output(fx::i32, 1, 2),
                buffer = Operand::output(fx::bf16, 1, kTokens * width),
                mask = input(fx::i32, Numbers(experts, 1.0));
  call("moe_sorting", ids.vector(), given.vector(), rows.vector(), sortedWeights.vector(),
       sortedExperts.vector(), counts.vector(), buffer.vector(), mask.vector(), kTokens,
       kTokens * width / 2, 8);
  const auto first = [](const Operand &operand, std::size_t count) {
    Numbers values = operand.values();
    values.resize(count);
    return values;
  };
  CHECK(first(rows, expected.rows.size()) == expected.rows);
  CHECK(first(sortedWeights, expected.rows.size()) == expected.weights);
  CHECK(first(sortedExperts, expected.experts.size()) == expected.experts);
  CHECK(counts.values() ==
        Numbers{static_cast<double>(expected.rows.size()), static_cast<double>(kTokens)});
  CHECK(buffer.values() == Numbers(kTokens * width)); // cleared for the sums of the products
}

namespace {
constexpr std::size_t kExperts = 2, kModel = 256, kInner = 128, kUnit = 32;

/// Weights of each expert, (experts, n, k), preshuffled expert by expert.
Numbers preshuffledExperts(const Numbers &weights, std::size_t n, std::size_t k) {
  Numbers all;
  for (std::size_t expert = 0; expert < kExperts; ++expert) {
    const auto from = weights.begin() + static_cast<std::ptrdiff_t>(expert * n * k);
    const Numbers one =
        preshuffled(Numbers(from, from + static_cast<std::ptrdiff_t>(n * k)), n, k, 1);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

/// A row of x (k) times the rows of an expert's weights (n, k), with a factor for each.
double dot(const Numbers &x, std::size_t row, const Numbers &weights, std::size_t expert,
           std::size_t n, std::size_t column, std::size_t k) {
  double sum = 0;
  for (std::size_t c = 0; c < k; ++c)
    sum += x[row * k + c] * weights[(expert * n + column) * k + c];
  return sum;
}

/// What both products take beside x and the weights.
struct Routing {
  Numbers chosen = chosenExperts(kExperts),
          weights = uniform(fx::f32, static_cast<std::int64_t>(kTokens *kPlaces), 3);
  Sorted sorted = sortedByExpert(chosen, weights, kPlaces, kExperts, kUnit);
  Operand rows = input(fx::i32, sorted.rows), experts = input(fx::i32, sorted.experts),
          factors = input(fx::f32, sorted.weights),
          count = input(fx::i32, {static_cast<double>(sorted.rows.size())});
};
} // namespace

TEST_CASE("the first product of the experts: gated rows, of fp8") {
  const Routing routing;
  const Numbers x = uniform(fp8(), kTokens * kModel, 4),
                w = uniform(fp8(), kExperts * 2 * kInner * kModel, 5),
                scaleX = uniform(fx::f32, kTokens, 6),
                scaleW = uniform(fx::f32, kExperts * 2 * kInner, 7);
  const Operand a = input(fp8(), x), b = input(fp8(), preshuffledExperts(w, 2 * kInner, kModel)),
                sx = input(fx::f32, scaleX), sw = input(fx::f32, scaleW),
                out = Operand::output(fx::bf16, 1, kTokens * kPlaces * kInner);
  call("moe_gemm1", out.vector(), shapedAs(fx::i8, a, {kTokens * kModel}),
       shapedAs(fx::i8, b, {kExperts * 2 * kInner * kModel}), sx.vector(), sw.vector(),
       routing.rows.vector(), routing.experts.vector(), routing.factors.vector(),
       routing.count.vector(), kTokens, kInner, kModel, routing.sorted.experts.size());
  Numbers expected;
  for (std::size_t i = 0; i < kTokens * kPlaces; ++i)
    for (std::size_t c = 0; c < kInner; ++c) {
      const auto expert = static_cast<std::size_t>(routing.chosen[i]);
      const auto column = [&](std::size_t at) {
        return dot(x, i / kPlaces, w, expert, 2 * kInner, at, kModel) * scaleX[i / kPlaces] *
               scaleW[expert * 2 * kInner + at];
      };
      const double gate = column(c);
      expected.push_back(gate / (1 + std::exp(-gate)) * column(kInner + c));
    }
  expectNear(out.values(), expected, kBf16, 0x1p-12);
}

TEST_CASE("the second product of the experts: weighted rows of fp8") {
  const Routing routing;
  const Numbers x = uniform(fp8(), kTokens * kPlaces * kInner, 8),
                w = uniform(fp8(), kExperts * kModel * kInner, 9),
                scaleX = uniform(fx::f32, kTokens * kPlaces, 10),
                scaleW = uniform(fx::f32, kExperts * kModel, 11);
  const Operand a = input(fp8(), x), b = input(fp8(), preshuffledExperts(w, kModel, kInner)),
                sx = input(fx::f32, scaleX), sw = input(fx::f32, scaleW),
                out = Operand::output(fx::f16, 1, kTokens * kPlaces * kModel);
  call("moe_gemm2", out.vector(), shapedAs(fx::i8, a, {kTokens * kPlaces * kInner}),
       shapedAs(fx::i8, b, {kExperts * kModel * kInner}), sx.vector(), sw.vector(),
       routing.rows.vector(), routing.experts.vector(), routing.factors.vector(),
       routing.count.vector(), kTokens, kModel, kInner, routing.sorted.experts.size());
  Numbers expected;
  for (std::size_t i = 0; i < kTokens * kPlaces; ++i)
    for (std::size_t c = 0; c < kModel; ++c) {
      const auto expert = static_cast<std::size_t>(routing.chosen[i]);
      expected.push_back(dot(x, i, w, expert, kModel, c, kInner) * scaleX[i] *
                         scaleW[expert * kModel + c] * routing.weights[i]);
    }
  expectNear(out.values(), expected, kF16, 0x1p-12);
}

TEST_CASE("the sum over a token's experts") {
  constexpr std::size_t tokens = 3, places = 4, width = 512;
  const Numbers x = uniform(fx::bf16, tokens * places * width, 12);
  const Operand a = input(fx::bf16, x), y = Operand::output(fx::bf16, 1, tokens * width),
                unused = input(fx::i32, {0});
  call("moe_reduce", address(a), address(y), address(unused), address(unused), tokens);
  Numbers expected(tokens * width);
  for (std::size_t i = 0; i < x.size(); ++i)
    expected[i / (places * width) * width + i % width] += x[i];
  expectNear(y.values(), expected, kBf16, 0);
}
