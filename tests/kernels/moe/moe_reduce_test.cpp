// The sum of expert outputs against a reference in double precision.
#include "support/structure.h"

#include <flydsl/kernels/moe_reduce.h>

using namespace kernel_tests;

namespace {

using fk::MoeReduceProblem;

/// A sum of topk products, each rounded once, and then the result: topk roundings of the sum of
/// magnitudes. Integers are exact.
void expectReduce(const MoeReduceProblem &problem, std::int64_t m,
                  std::optional<fk::RowConfig> given = {}, bool exact = false) {
  const fk::RowConfig config = given ? *given : fk::choose(problem, m);
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const std::int64_t n = problem.n, k = problem.topk;
  std::vector<double> x = exact ? integers(m * k * n, 1, -8, 8) : uniform(problem.x, m * k * n, 1);
  const std::vector<double> weights = exact ? integers(m * k, 2, 0, 3) : uniform(fx::f32, m * k, 2),
                            mask = integers(m * k, 3, 0, 1);
  if (problem.mask) // what is left out is not read: NaNs there stay without effect
    for (std::size_t row = 0; row < mask.size(); ++row)
      if (mask[row] == 0)
        std::fill_n(x.begin() + std::ptrdiff_t(row) * n, n, std::nan(""));
  // Slots have places in another order; every fourth has none, and NaNs are where its row was.
  std::vector<double> places;
  for (std::int64_t row = 0; row < m * k; ++row) {
    const std::int64_t place = m * k - 1 - row;
    places.push_back(row % 4 == 3 ? -1 : double(place));
    if (problem.places && row % 4 == 3)
      std::fill_n(x.begin() + place * n, n, std::nan(""));
  }
  const Operand inX = Operand::input(problem.x, m * k, n, x),
                inWeights = Operand::input(fx::f32, m, k, weights),
                inMask = Operand::input(fx::u8, m, k, mask),
                inPlaces = Operand::input(fx::i32, m, k, places), y = Operand::output(problem.y, m, n);
  const auto maybe = [](bool has, const fx::TensorArg &tensor) {
    return has ? std::optional<fx::TensorArg>(tensor) : std::nullopt;
  };
  const fx::Stream stream;
  fk::MoeReducePlan(problem, config)({.x = problem.places ? inX.tensor()
                                                           : fx::tensor(inX.tensor().data(),
                                                                        problem.x, {m, k, n}),
                                      .weights = maybe(problem.weights, inWeights.tensor()),
                                      .mask = maybe(problem.mask, inMask.tensor()),
                                      .slot_places = maybe(problem.places, inPlaces.tensor()),
                                      .y = y.tensor()},
                                     stream);
  stream.synchronize();
  std::vector<double> expected, bound;
  for (std::int64_t t = 0; t < m; ++t)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const std::size_t row = std::size_t(t * k + i);
        if ((problem.mask && mask[row] == 0) || (problem.places && places[row] < 0))
          continue;
        const std::size_t place = problem.places ? std::size_t(places[row]) : row;
        const double term =
            x[place * std::size_t(n) + std::size_t(j)] * (problem.weights ? weights[row] : 1);
        sum += term;
        magnitude += std::fabs(term);
      }
      expected.push_back(sum);
      bound.push_back(exact ? 0
                            : magnitude * double(k) * 0x1p-23 + std::fabs(sum) * unit(problem.y) +
                                  underflow(problem.y));
    }
  expectWithin(y.values(), expected, bound);
}

} // namespace

TEST_CASE("sums of expert outputs", "[run]") {
  expectReduce({.n = 8}, 9);
  expectReduce({.x = fx::bf16, .y = fx::bf16, .n = 7168, .topk = 8}, 1);
  expectReduce({.x = fx::f16, .y = fx::f32, .n = 200, .topk = 9, .weights = true}, 5);
  expectReduce({.x = fx::f32, .y = fx::f32, .n = 65, .topk = 3, .weights = true, .mask = true}, 4);
  // Blocks share a row: pieces that fill their threads, that do not,
  // and rows that no number divides.
  expectReduce({.n = 2880, .topk = 2, .weights = true, .mask = true}, 3);
  expectReduce({.x = fx::bf16, .y = fx::f32, .n = 1544, .topk = 2}, 2);
  expectReduce({.n = 8 * 2053, .topk = 1}, 2);
  expectReduce({.n = 1000, .topk = 2, .mask = true}, 3,
               fk::RowConfig{.threads = 64, .block = 64, .resident = false});
}

TEST_CASE("sums of expert outputs that are exact", "[run]") {
  expectReduce({.x = fx::f16, .y = fx::f16, .n = 264, .topk = 6, .weights = true, .mask = true}, 7,
               {}, /*exact=*/true);
}

TEST_CASE("sums of rows of places", "[run]") {
  expectReduce({.n = 8, .topk = 4, .places = true}, 9);
  expectReduce({.x = fx::bf16, .y = fx::bf16, .n = 7168, .topk = 8, .places = true}, 2);
  expectReduce({.x = fx::f32, .y = fx::f32, .n = 65, .topk = 3, .weights = true, .places = true}, 5);
  expectReduce({.n = 1000, .topk = 2, .places = true}, 3,
               fk::RowConfig{.threads = 64, .block = 64, .resident = false});
}

TEST_CASE("moe_reduce: another run, a graph, a file", "[run]") {
  expectStructure<MoeReduceProblem>({.n = 264, .topk = 5, .weights = true, .places = true},
                                    {.threads = 64, .block = 64}, 3);
  expectStructure<MoeReduceProblem>({.n = 264, .topk = 5, .weights = true},
                                    {.threads = 64, .block = 64}, 3);
}

TEST_CASE("moe_reduce moves topk + 1 units", "[run]") {
  expectTraffic<MoeReduceProblem>({.n = 4096, .topk = 6},
                                  fk::choose(MoeReduceProblem{.n = 4096, .topk = 6}, 4), 4);
}

TEST_CASE("moe_reduce has a configuration for every problem that it supports") {
  std::vector<MoeReduceProblem> problems;
  for (std::int64_t n = 1; n < 20000; n += 97)
    for (int topk : {1, 9})
      problems.push_back({.n = n, .topk = topk});
  expectTotal(problems);
}

TEST_CASE("moe_reduce of the longest rows that stay in registers spills none") {
  expectNoSpills<MoeReduceProblem>(
      {{.x = fx::bf16, .y = fx::bf16, .n = 16384, .topk = 9, .weights = true}});
}

TEST_CASE("moe_reduce says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  CHECK(fk::supported(MoeReduceProblem{.n = 8, .topk = 65}, target).why ==
        "topk is 65; a token has 1 to 64 rows");
  CHECK(fk::supported(MoeReduceProblem{.n = 8, .topk = 2, .mask = true, .places = true}, target)
            .why == "mask is of rows of slots; a slot without a place, -1, is left out as well");
  const MoeReduceProblem problem{.n = 64, .topk = 2};
  const fk::MoeReducePlan plan(problem, fk::choose(problem, 2));
  const Operand x = Operand::input(fx::f16, 2, 64, std::vector<double>(128)),
                y = Operand::output(fx::f16, 2, 64);
  CHECK(messageOf([&] {
          plan({.x = x.tensor(), .y = y.tensor()});
        }).find("moe_reduce: x has the shape (2, 64); (m, topk, n) = (2, 2, 64) is expected") !=
        std::string::npos);
}
