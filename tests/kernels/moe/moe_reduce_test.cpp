// The sum of expert outputs against a reference in double precision.
#include "support/structure.h"

#include <flydsl/kernels/moe_reduce.h>

using namespace kernel_tests;

namespace {

using fk::MoeReduceProblem;

/// A sum of topk products, each rounded once, or twice with scales that are no powers of two, and then
/// the result: topk + 1 roundings of the sum of magnitudes. Integers are exact.
void expectReduce(const MoeReduceProblem &problem, std::int64_t m,
                  std::optional<fk::RowConfig> given = {}, bool exact = false) {
  const fk::RowConfig config = given ? *given : fk::choose(problem, m);
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const std::int64_t n = problem.n, k = problem.topk;
  std::vector<double> x = exact ? integers(m * k * n, 1, -8, 8) : uniform(problem.x, m * k * n, 1);
  const std::vector<double> weights = exact ? integers(m * k, 2, 0, 3) : uniform(fx::f32, m * k, 2),
                            mask = integers(m * k, 3, 0, 1);
  // Experts: every third is left out; of the ids one is none, and one is no expert.
  const std::int64_t experts = std::max<std::int64_t>(problem.experts, 1);
  std::vector<double> ids = integers(m * k, 4, 0, double(experts) - 1), counts;
  for (std::int64_t expert = 0; expert < experts; ++expert)
    counts.push_back(expert % 3 == 1 ? 0 : 1 + double(expert));
  ids.front() = -1;
  ids.back() = double(experts);
  const auto isLeftOut = [&](std::size_t row) {
    return ids[row] < 0 || ids[row] >= double(experts) || counts[std::size_t(ids[row])] == 0;
  };
  if (problem.experts)
    for (std::size_t row = 0; row < ids.size(); ++row)
      if (isLeftOut(row))
        std::fill_n(x.begin() + std::ptrdiff_t(row) * n, n, std::nan(""));
  // Scales of groups: powers of two, or others.
  const std::int64_t groups = problem.group ? n / problem.group : 1;
  std::vector<double> scales = uniform(fx::f32, m * k * groups, 5);
  if (problem.group_scale == fx::f8E8M0FNU)
    for (double &scale : scales)
      scale = std::exp2(std::floor(12 * scale));
  std::vector<double> storedScales = scales; // powers of two by their exponents
  if (problem.group_scale == fx::f8E8M0FNU)
    for (double &scale : storedScales)
      scale = std::log2(scale) + 127;
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
                inPlaces = Operand::input(fx::i32, m, k, places),
                inIds = Operand::input(fx::i32, m, k, ids),
                inCounts = Operand::input(fx::i32, 1, experts, counts),
                inScales = Operand::input(
                    problem.group_scale == fx::f8E8M0FNU ? fx::DType(fx::u8) : problem.group_scale,
                    m * k, groups, storedScales),
                y = Operand::output(problem.y, m, n);
  const auto ofSlots = [&](const Operand &rows, fx::DType type, std::int64_t columns) {
    return fx::tensor(rows.tensor().data(), type,
                      problem.places ? fx::Extents{m * k, columns} : fx::Extents{m, k, columns});
  };
  const auto maybe = [](bool has, const fx::TensorArg &tensor) {
    return has ? std::optional<fx::TensorArg>(tensor) : std::nullopt;
  };
  const fx::Stream stream;
  fk::MoeReducePlan(problem, config)(
      {.x = ofSlots(inX, problem.x, n),
       .weights = maybe(problem.weights, inWeights.tensor()),
       .mask = maybe(problem.mask, inMask.tensor()),
       .slot_places = maybe(problem.places, inPlaces.tensor()),
       .x_scale = maybe(problem.group != 0, ofSlots(inScales, problem.group_scale, groups)),
       .ids = maybe(problem.experts != 0, inIds.tensor()),
       .expert_mask =
           maybe(problem.experts != 0, fx::tensor(inCounts.tensor().data(), fx::i32, {experts})),
       .y = y.tensor()},
      stream);
  stream.synchronize();
  std::vector<double> expected, bound;
  for (std::int64_t t = 0; t < m; ++t)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const std::size_t row = std::size_t(t * k + i);
        if ((problem.mask && mask[row] == 0) || (problem.places && places[row] < 0) ||
            (problem.experts && isLeftOut(row)))
          continue;
        const std::size_t place = problem.places ? std::size_t(places[row]) : row;
        const double scale =
            problem.group ? scales[place * std::size_t(groups) + std::size_t(j / problem.group)]
                          : 1;
        const double term = x[place * std::size_t(n) + std::size_t(j)] * scale *
                            (problem.weights ? weights[row] : 1);
        sum += term;
        magnitude += std::fabs(term);
      }
      expected.push_back(sum);
      bound.push_back(exact ? 0
                            : magnitude * double(k + 1) * 0x1p-23 +
                                  std::fabs(sum) * unit(problem.y) + underflow(problem.y));
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
  expectReduce({.x = fx::f32, .y = fx::f32, .n = 65, .topk = 3, .weights = true, .places = true},
               5);
  expectReduce({.n = 1000, .topk = 2, .places = true}, 3,
               fk::RowConfig{.threads = 64, .block = 64, .resident = false});
}

TEST_CASE("sums of rows of 8-bit floats with scales of groups", "[run]") {
  // What products with Scales::mx write, FlyDSL's groups, and those of scales of blocks.
  expectReduce({.x = fx::f8E4M3FN, .y = fx::bf16, .n = 96, .topk = 3, .places = true, .group = 32},
               5);
  expectReduce({.x = fx::f8E5M2, .y = fx::f16, .n = 40, .topk = 9, .weights = true, .group = 8}, 4);
  expectReduce({.x = fx::f8E4M3FN,
                .y = fx::f32,
                .n = 2304,
                .topk = 2,
                .mask = true,
                .group = 128,
                .group_scale = fx::f32},
               3);
  expectReduce({.x = fx::f8E4M3FNUZ, .y = fx::f16, .n = 1000, .topk = 2, .group = 8}, 3,
               fk::RowConfig{.threads = 64, .block = 64, .resident = false});
}

TEST_CASE("sums without the rows of some experts", "[run]") {
  expectReduce({.n = 72, .topk = 4, .weights = true, .experts = 7}, 5);
  expectReduce({.x = fx::f8E4M3FN, .y = fx::bf16, .n = 1024, .topk = 2, .group = 8, .experts = 3},
               3);
}

TEST_CASE("rows of values with their scales after them, as FlyDSL has them", "[run]") {
  // [n values | n / 8 scales] of each slot: both are views of the same bytes.
  constexpr std::int64_t m = 2, k = 2, n = 16, groups = n / 8, row = n + groups;
  std::vector<std::uint8_t> bytes(m * k * row);
  for (std::int64_t slot = 0; slot < m * k; ++slot) {
    std::fill_n(bytes.begin() + slot * row, n, std::uint8_t{0x38}); // 1
    for (std::int64_t group = 0; group < groups; ++group)
      bytes[std::size_t(slot * row + n + group)] = std::uint8_t(127 + slot + group);
  }
  fx::DeviceArray<std::uint8_t> memory({m * k * row});
  memory.copy_from(bytes);
  const Operand y = Operand::output(fx::f16, m, n);
  auto *first = static_cast<std::uint8_t *>(memory.tensor().data());
  const fx::Extents strides{k * row, row, 1};
  const fk::MoeReduceProblem problem{
      .x = fx::f8E4M3FN, .n = n, .topk = k, .row_align = 2, .group = 8};
  const fx::Stream stream;
  fk::MoeReducePlan(problem, fk::choose(problem, m))(
      {.x = fx::tensor(first, fx::f8E4M3FN, {m, k, n}, strides),
       .x_scale = fx::tensor(first + n, fx::f8E8M0FNU, {m, k, groups}, strides),
       .y = y.tensor()},
      stream);
  stream.synchronize();
  std::vector<double> expected;
  for (int t = 0; t < m; ++t) // 2^(2 t + g) + 2^(2 t + 1 + g)
    for (std::int64_t j = 0; j < n; ++j)
      expected.push_back(3 * std::exp2(double(2 * t + j / 8)));
  expectWithin(y.values(), expected, std::vector<double>(expected.size()));
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
  const auto why = [&](const MoeReduceProblem &wrong) { return fk::supported(wrong, target).why; };
  CHECK(why({.n = 8, .group = 8}) ==
        "group and group_scale are of x of 8-bit floats; x is of type f16");
  CHECK(why({.x = fx::f8E4M3FN, .n = 64}) ==
        "group is 0; x of type f8E4M3FN has a scale for each 8, "
        "16, 32, 64 or 128 neighbours of a row");
  CHECK(why({.x = fx::f8E5M2, .n = 48, .group = 32}) == "n is 48; it is a multiple of group, 32");
  CHECK(why({.x = fx::f8E5M2, .n = 48, .group = 16, .group_scale = fx::f16}) ==
        "group_scale is f16; f8E8M0FNU and f32 are supported");
  CHECK(why({.x = fx::i8, .n = 64, .group = 32}) ==
        "x is of type i8; f32, f16, bf16, and with a group 8-bit floats are supported");
  CHECK(why({.n = 8, .experts = 4096}) == "experts is 4096; it is 0, or 1 to 2048");
  CHECK(why({.n = 8, .mask = true, .experts = 4}) ==
        "mask says which slots count, and experts do, too; a problem has one of them");
  CHECK(why({.n = 8, .places = true, .experts = 4}) ==
        "experts are of rows of slots; with places, experts that are not here have no place: "
        "expert_map of moe_sort");
  const MoeReduceProblem problem{.n = 64, .topk = 2};
  const fk::MoeReducePlan plan(problem, fk::choose(problem, 2));
  const Operand x = Operand::input(fx::f16, 2, 64, std::vector<double>(128)),
                y = Operand::output(fx::f16, 2, 64);
  CHECK(messageOf([&] {
          plan({.x = x.tensor(), .y = y.tensor()});
        }).find("moe_reduce: x has the shape (2, 64); (m, topk, n) = (2, 2, 64) is expected") !=
        std::string::npos);
}
