// Products of groups of rows against a reference in double precision.
#include "support/groups.h"
#include "support/size_sweep.h"

#include <flydsl/kernels/moe_sort.h>

#include <limits>

using namespace kernel_tests;

namespace {

using fk::GemmLoop;

constexpr GroupLayout kLayouts[] = {GroupLayout::units, GroupLayout::masked, GroupLayout::offsets};

/// A problem of a layout, whose unit and capacity are those of its tests.
GroupedGemmProblem laid(GroupLayout groups, GroupedGemmProblem problem) {
  problem.groups = groups;
  problem.unit = 32;
  problem.capacity = groups == GroupLayout::masked ? 64 : 0;
  return problem;
}
/// Rows of five experts: a whole unit, none, one, a few, and more than a unit.
const std::vector<std::int64_t> kRows{32, 0, 1, 17, 45};

/// A tile of 16 or 32 rows by the ring, and by the loop of few rows.
std::vector<GemmConfig> loops(const GroupedGemmProblem &problem) {
  const int lanes = here().wave_size(), bytes = problem.a.bytes();
  std::vector<GemmConfig> all;
  for (const GemmConfig &config :
       {GemmConfig{.tile_m = 32, .tile_n = 64, .tile_k = 128 / bytes, .threads = 4 * lanes},
        GemmConfig{.tile_m = 16, .tile_n = 32, .tile_k = 128 / bytes, .threads = 2 * lanes},
        GemmConfig{.tile_m = 16,
        .tile_n = 32,
        .tile_k = 128 / bytes,
        .threads = 4 * lanes,
        .loop = GemmLoop::registers,
        .waves_k = 4}})
    if (fk::supported(problem, config))
      all.push_back(config);
  return all;
}

} // namespace

TEST_CASE("rows of experts in each layout", "[run]") {
  for (GroupLayout layout : kLayouts)
    for (fx::DType type : {fx::DType(fx::bf16), fx::DType(fx::f16)}) {
      const GroupedGemmProblem problem =
          laid(layout, {.a = type, .b = type, .c = type, .experts = 5, .n = 80, .k = 136});
      REQUIRE(loops(problem).size() == 3);
      for (const GemmConfig &config : loops(problem))
        expectGrouped(problem, config, kRows);
    }
}

// The unit is of GroupLayout::units alone: the other layouts do not look at it.
TEST_CASE("groups that are no units have any unit", "[run]") {
  for (const GroupLayout layout : {GroupLayout::masked, GroupLayout::offsets}) {
    GroupedGemmProblem problem = laid(layout, {.experts = 5, .n = 32, .k = 64});
    problem.unit = 0;
    REQUIRE(fk::supported(problem, here()));
    SweepCounts counts;
    runOnce(problem, fk::choose(problem, 95), 95, counts);
    CHECK(counts.compared == 1);
  }
}

TEST_CASE("rows of tokens are gathered, and those of slots scattered", "[run]") {
  for (GroupLayout layout : kLayouts)
    for (GroupedRows a : {GroupedRows::places, GroupedRows::tokens})
      for (GroupedRows c : {GroupedRows::places, GroupedRows::slots}) {
        const GroupedGemmProblem problem = laid(
            layout,
            {.c = fx::f32, .experts = 5, .n = 48, .k = 72, .topk = 3, .a_rows = a, .c_rows = c});
        for (const GemmConfig &config : loops(problem))
          expectGrouped(problem, config, kRows, 2);
      }
}

TEST_CASE("rows of places are added to those of their tokens", "[run]") {
  SweepCounts counts;
  for (const fx::DType c : {fx::DType(fx::f32), fx::DType(fx::f16), fx::DType(fx::bf16)})
    for (const GroupLayout layout : kLayouts) {
      GroupedGemmProblem problem = laid(
          layout, {.a = fx::f16, .b = fx::f16, .c = c, .experts = 4, .n = 48, .k = 64, .topk = 3});
      problem.c_rows = GroupedRows::tokens;
      problem.weights = RoutedWeights::output;
      runOnce(problem, fk::choose(problem, 90), 90, counts);
    }
  CHECK(counts.compared == 9);
}

TEST_CASE("sums of integers that are added to tokens are exact", "[run]") {
  // Each of three experts has both tokens: 3 products are added to what c holds.
  GroupedGemmProblem problem{.a = fx::f16,
                             .b = fx::f16,
                             .c = fx::f32,
                             .b_layout = fk::OperandLayout::rows,
                             .experts = 3,
                             .n = 16,
                             .k = 64,
                             .groups = GroupLayout::offsets,
                             .topk = 3,
                             .a_rows = GroupedRows::tokens,
                             .c_rows = GroupedRows::tokens};
  const std::vector<double> a = integers(2 * 64, 1, -5, 5), b = integers(3 * 16 * 64, 2, -5, 5),
                            before = integers(2 * 16, 3, -100, 100);
  std::vector<double> ids, expected = before;
  for (int e = 0; e < 3; ++e)
    for (int t = 0; t < 2; ++t) {
      ids.push_back(double(e << 24 | t));
      for (int j = 0; j < 16; ++j)
        for (int k = 0; k < 64; ++k)
          expected[std::size_t(t * 16 + j)] +=
              a[std::size_t(t * 64 + k)] * b[std::size_t((e * 16 + j) * 64 + k)];
    }
  const Operand left = Operand::input(fx::f16, 2, 64, a),
                right = Operand::input(fx::f16, 1, 3 * 16 * 64, b),
                c = Operand::both(fx::f32, 2, 16, before, 4),
                sorted = Operand::input(fx::i32, 1, 6, ids),
                offsets = Operand::input(fx::i32, 1, 4, std::vector<double>{0, 2, 4, 6});
  const fx::Stream stream;
  fk::run(problem,
          {.a = left.tensor(),
           .b = fx::tensor(right.vector().data(), fx::f16, {3, 16, 64}),
           .c = c.tensor(),
           .offsets = offsets.vector(),
           .sorted_ids = sorted.vector()},
          stream);
  stream.synchronize();
  CHECK(c.values() == expected);
}

TEST_CASE("pairs of gates and ups in both orders", "[run]") {
  for (GatedPairs pairs : {GatedPairs::halves, GatedPairs::interleaved})
    for (Activation activation : {Activation::silu, Activation::gelu_tanh, Activation::relu_squared,
                                  Activation::relu, Activation::none})
      for (GroupedRows c : {GroupedRows::places, GroupedRows::slots}) {
        const GroupedGemmProblem problem =
            laid(GroupLayout::units, {.experts = 5,
                                      .n = 48,
                                      .k = 72,
                                      .topk = 2,
                                      .a_rows = GroupedRows::tokens,
                                      .c_rows = c,
                                      .bias = activation != Activation::relu,
                                      .activation = activation,
                                      .gated = pairs});
        for (const GemmConfig &config : loops(problem))
          expectGrouped(problem, config, kRows);
      }
}

TEST_CASE("clamped pairs with their factor and offset", "[run]") {
  // gpt-oss: alpha 1.702, a limit, and 1 is added to ups. A small limit cuts many values off.
  for (GatedPairs pairs : {GatedPairs::halves, GatedPairs::interleaved})
    for (float limit : {0.5f, 7.0f, 0.0f})
      for (float alpha : {1.0f, 1.702f}) {
        const GroupedGemmProblem problem =
            laid(GroupLayout::offsets, {.c = fx::f32,
                                        .experts = 5,
                                        .n = 24,
                                        .k = 64,
                                        .bias = true,
                                        .activation = Activation::silu,
                                        .gated = pairs,
                                        .alpha = alpha,
                                        .limit = limit,
                                        .up_offset = limit == 7 ? 1.0f : 0.0f});
        for (const GemmConfig &config : loops(problem))
          expectGrouped(problem, config, kRows);
      }
}

TEST_CASE("a NaN of a gate or an up stays one, whatever limits it", "[run]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Activation activation :
       {Activation::relu, Activation::relu_squared, Activation::silu, Activation::gelu_tanh})
    for (const GatedPairs pairs : {GatedPairs::none, GatedPairs::interleaved})
      for (const float limit : {0.0f, 7.0f}) {
        const bool gated = pairs != GatedPairs::none;
        if (limit != 0 && !gated)
          continue;
        const GroupedGemmProblem problem{.c = fx::f32,
                                         .b_layout = fk::OperandLayout::rows,
                                         .experts = 1,
                                         .n = 32,
                                         .k = 32,
                                         .groups = GroupLayout::masked,
                                         .capacity = 16,
                                         .activation = activation,
                                         .gated = pairs,
                                         .limit = limit};
        // Rows 0 and 3 of the weights are the first gate and the second up, or two columns.
        std::vector<fx::bfloat16_t> ones(16 * 32, fx::bfloat16_t(1)),
            weights(static_cast<std::size_t>(problem.columns()) * 32, fx::bfloat16_t(1));
        weights[0] = weights[3 * 32] = fx::bfloat16_t(nan);
        const auto a = fx::DeviceArray<fx::bfloat16_t>::from_host(ones, {16, 32}),
                   b = fx::DeviceArray<fx::bfloat16_t>::from_host(weights,
                                                                  {1, problem.columns(), 32});
        const auto counts = fx::DeviceArray<int>::from_host(std::vector<int>{16}, {1});
        const fx::DeviceArray<float> c({16, 32});
        const fk::GroupedGemmPlan plan(problem, fk::choose(problem, 16));
        fx::Stream stream;
        plan({.a = a, .b = b.tensor(), .c = c, .counts = counts}, stream);
        stream.synchronize();
        const std::vector<float> results = c.to_host();
        INFO(fx::to_config(problem).str());
        for (std::size_t column = 0; column < 32; ++column)
          CHECK(std::isnan(results[32 + column]) == (column == 0 || column == (gated ? 1u : 3u)));
      }
}

TEST_CASE("weights of the router, before the activation and after it", "[run]") {
  for (RoutedWeights weights : {RoutedWeights::input, RoutedWeights::output})
    for (GatedPairs pairs : {GatedPairs::none, GatedPairs::halves, GatedPairs::interleaved})
      for (GroupedRows c : {GroupedRows::places, GroupedRows::slots})
        expectGrouped(laid(GroupLayout::units, {.experts = 5,
                                                .n = 32,
                                                .k = 64,
                                                .topk = 2,
                                                .c_rows = c,
                                                .weights = weights,
                                                .bias = true,
                                                .activation = Activation::silu,
                                                .gated = pairs}),
                      kRows);
}

TEST_CASE("weights of experts that lie by rows", "[run]") {
  for (GatedPairs pairs : {GatedPairs::none, GatedPairs::interleaved}) {
    const GroupedGemmProblem problem =
        laid(GroupLayout::units, {.b_layout = fk::OperandLayout::rows,
                                  .experts = 5,
                                  .n = 72,
                                  .k = 136,
                                  .topk = 2,
                                  .a_rows = GroupedRows::tokens,
                                  .activation = Activation::silu,
                                  .gated = pairs});
    const int lanes = here().wave_size();
    const GemmConfig config{.tile_m = 32, .tile_n = 64, .tile_k = 64, .threads = 4 * lanes};
    if (pairs == GatedPairs::none && problem.n % 16) {
      CHECK(!fk::supported(problem));
      GroupedGemmProblem whole = problem;
      whole.n = 80;
      expectGrouped(whole, config, kRows, 0, {.a = 8, .b = 8, .c = 4});
      continue;
    }
    expectGrouped(problem, config, kRows, 0, {.a = 8, .b = 8, .c = 4});
  }
}

TEST_CASE("grouped products with scales of rows and of channels", "[run]") {
  for (const GroupedRows a : {GroupedRows::places, GroupedRows::tokens})
    for (GroupedGemmProblem problem :
         {GroupedGemmProblem{.a = fx::i8, .b = fx::i8, .c = fx::f32},
          GroupedGemmProblem{.a = float8(), .b = float8(), .c = fx::bf16}}) {
      if (problem.a == fx::DType())
        continue;
      problem.experts = 5;
      problem.n = 48;
      problem.k = 144;
      problem.topk = 2;
      problem.a_rows = a;
      problem.scale_a = problem.scale_b = Scales::per_row;
      problem.gated = GatedPairs::halves;
      problem.activation = Activation::silu;
      for (GroupLayout layout : kLayouts)
        expectGrouped(laid(layout, problem), kRows);
    }
}

TEST_CASE("rows that each expert has smoothed are tokens of one slot", "[run]") {
  // SmoothQuant: an expert's weights are divided by its factors, and its rows multiplied by them, before
  // both become i8. What comes out is the product of what was before, but for these roundings.
  const std::int64_t m = 5, topk = 2, experts = 3, n = 32, k = 64, slots = m * topk;
  const std::vector<double> x = uniform(fx::f32, m * k, 1),
                            w = uniform(fx::f32, experts * 2 * n * k, 2),
                            factors = uniform(fx::f32, experts * k, 3);
  const auto smooth = [&](std::int64_t e, std::int64_t i) {
    return std::exp2(2 * factors[std::size_t(e * k + i)]); // 1/4 to 4
  };
  // Rows of i8 and their scales.
  const auto quantised = [&](std::int64_t rows, auto valueOf, std::vector<double> &q,
                             std::vector<double> &scales) {
    for (std::int64_t row = 0; row < rows; ++row) {
      double most = 0;
      for (std::int64_t i = 0; i < k; ++i)
        most = std::max(most, std::fabs(valueOf(row, i)));
      scales.push_back(double(float(most / 127)));
      for (std::int64_t i = 0; i < k; ++i)
        q.push_back(std::clamp(std::nearbyint(valueOf(row, i) / scales.back()), -127., 127.));
    }
  };
  const auto expertOf = [&](std::int64_t slot) {
    return (slot / topk * 2 + slot % topk * (1 + slot / topk % 2)) % experts;
  };
  GroupValues values;
  quantised(
      slots,
      [&](std::int64_t slot, std::int64_t i) {
        return x[std::size_t(slot / topk * k + i)] * smooth(expertOf(slot), i);
      },
      values.a, values.scale_a);
  quantised(
      experts * 2 * n,
      [&](std::int64_t row, std::int64_t i) {
        return w[std::size_t(row * k + i)] / smooth(row / (2 * n), i);
      },
      values.b, values.scale_b);

  // There are none of these; the reference has numbers in their places.
  values.bias.resize(std::size_t(experts * 2 * n));

  const fk::MoeSortProblem sort{.experts = experts, .topk = 1, .unit = 16, .weights = false};
  const std::int64_t places = fk::moe_sort_places(sort, slots);
  std::vector<double> numbers;
  for (std::int64_t slot = 0; slot < slots; ++slot)
    numbers.push_back(double(expertOf(slot)));
  const Operand ids = Operand::input(fx::i32, slots, 1, numbers),
                sorted = Operand::output(fx::i32, 1, places),
                units = Operand::output(fx::i32, 1, places / 16),
                counts = Operand::output(fx::i32, 1, experts),
                offsets = Operand::output(fx::i32, 1, experts + 1),
                totals = Operand::output(fx::i32, 1, 3);
  fk::run(sort, {.ids = ids.tensor(),
                 .sorted_ids = sorted.vector(),
                 .unit_experts = units.vector(),
                 .counts = counts.vector(),
                 .offsets = offsets.vector(),
                 .totals = totals.vector()});
  fx::Device::current().synchronize();
  values.weights.resize(std::size_t(places));
  Groups groups{.places = places,
                .tokens = slots,
                .units = units.values(),
                .offsets = offsets.values(),
                .counts = counts.values(),
                .ids = sorted.values(),
                .expert = {}};
  for (double id : groups.ids)
    groups.expert.push_back(id < double(slots) ? expertOf(std::int64_t(id)) : -1);

  const GroupedGemmProblem problem{.a = fx::i8,
                                   .b = fx::i8,
                                   .c = fx::f32,
                                   .experts = experts,
                                   .n = n,
                                   .k = k,
                                   .unit = 16,
                                   .topk = 1,
                                   .a_rows = GroupedRows::tokens,
                                   .c_rows = GroupedRows::slots,
                                   .scale_a = Scales::per_row,
                                   .scale_b = Scales::per_row,
                                   .activation = Activation::silu,
                                   .gated = GatedPairs::halves};
  const std::vector<double> got = grouped(problem, fk::choose(problem, places), groups, values);
  const Reference exact = reference(problem, groups, values);
  expectWithin(got, exact.c, exact.bound);
  // The sum of what was before it was smoothed, and how far half a step of each factor moves it.
  const auto sum = [&](std::int64_t slot, std::int64_t row) {
    double value = 0, bound = 0;
    const double stepA = values.scale_a[std::size_t(slot)] / 2,
                 stepB = values.scale_b[std::size_t(row)] / 2;
    for (std::int64_t i = 0; i < k; ++i) {
      const double a = x[std::size_t(slot / topk * k + i)], b = w[std::size_t(row * k + i)],
                   factor = smooth(expertOf(slot), i);
      value += a * b;
      bound += std::fabs(a * factor) * stepB + std::fabs(b / factor) * stepA + stepA * stepB;
    }
    return Bounded{value, bound * (1 + 0x1p-10)};
  };
  std::vector<double> wanted, bound;
  for (std::int64_t slot = 0; slot < slots; ++slot)
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t first = expertOf(slot) * 2 * n;
      const Bounded gate = sum(slot, first + j), up = sum(slot, first + n + j);
      const double silu = gate.value / (1 + std::exp(-gate.value));
      wanted.push_back(silu * up.value);
      // The slope of silu is at most 1.1.
      bound.push_back(
          (1.1 * gate.bound * (std::fabs(up.value) + up.bound) + std::fabs(silu) * up.bound) *
              1.001 +
          0x1p-20 * std::fabs(silu * up.value));
    }
  expectWithin(got, wanted, bound);
}

TEST_CASE("grouped products with scales of blocks", "[run]") {
  if (float8() == fx::DType())
    return;
  for (GatedPairs pairs : {GatedPairs::none, GatedPairs::halves, GatedPairs::interleaved}) {
    const GroupedGemmProblem problem{
        .a = float8(),
        .b = float8(),
        .experts = 3,
        .n = 128,
        .k = 400,
        .unit = 16,
        .topk = 2,
        .a_rows = pairs == GatedPairs::interleaved ? GroupedRows::places : GroupedRows::tokens,
        .scale_a = Scales::per_block,
        .scale_b = Scales::per_block,
        .activation = Activation::silu,
        .gated = pairs};
    expectGrouped(problem, {17, 0, 5});
  }
}

TEST_CASE("integers are summed exactly by grouped products", "[run]") {
  for (GroupLayout layout : kLayouts) {
    const GroupedGemmProblem problem = laid(layout, {.a = fx::f16,
                                                     .b = fx::f16,
                                                     .c = fx::f32,
                                                     .experts = 5,
                                                     .n = 32,
                                                     .k = 256,
                                                     .topk = 2,
                                                     .a_rows = GroupedRows::tokens});
    const Groups groups = Groups::of(problem, kRows);
    GroupValues values = GroupValues::random(problem, groups);
    values.a = integers(std::ssize(values.a), 3, -15, 15);
    values.b = integers(std::ssize(values.b), 4, -15, 15);
    Reference expected = reference(problem, groups, values);
    std::fill(expected.bound.begin(), expected.bound.end(), 0);
    for (const GemmConfig &config : loops(problem))
      expectWithin(grouped(problem, config, groups, values), expected.c, expected.bound);
  }
}

TEST_CASE("a row of NaN or infinity spoils its own rows alone", "[run]") {
  const GroupedGemmProblem problem = laid(GroupLayout::units, {.c = fx::f32,
                                                               .experts = 5,
                                                               .n = 32,
                                                               .k = 64,
                                                               .topk = 2,
                                                               .a_rows = GroupedRows::tokens,
                                                               .c_rows = GroupedRows::slots});
  const Groups groups = Groups::of(problem, kRows);
  GroupValues values = GroupValues::random(problem, groups);
  std::fill(values.b.begin(), values.b.end(), 0.5);
  values.a[3 * 64 + 7] = std::nan("");
  values.a[5 * 64 + 1] = HUGE_VAL;
  Reference expected = reference(problem, groups, values);
  for (std::int64_t j = 0; j < 2 * 32; ++j) // the reference sums NaN and infinity as they are
    if (expected.bound[std::size_t(5 * 2 * 32 + j)] != 0)
      expected.bound[std::size_t(5 * 2 * 32 + j)] = 0;
  for (const GemmConfig &config : loops(problem))
    expectWithin(grouped(problem, config, groups, values), expected.c, expected.bound);
}

TEST_CASE("one expert has all rows, or none has any", "[run]") {
  for (GroupLayout layout : kLayouts) {
    const GroupedGemmProblem problem =
        laid(layout, {.experts = 5, .n = 32, .k = 64, .topk = 2, .a_rows = GroupedRows::tokens});
    for (std::size_t alone : {0u, 3u, 4u}) {
      std::vector<std::int64_t> rows(5);
      rows[alone] = 61;
      expectGrouped(problem, rows, 3);
    }
    expectGrouped(problem, {0, 0, 0, 0, 0}, 3);
    expectGrouped(problem, {0, 0, 0, 0, 0});
  }
}

TEST_CASE("orders of tiles give the same rows", "[run]") {
  const GroupedGemmProblem problem = laid(GroupLayout::units, {.experts = 5, .n = 208, .k = 64});
  for (const fk::TileOrder &order :
       {fk::TileOrder{.group = 2}, fk::TileOrder{.group = 4, .xcds = 8},
        fk::TileOrder{.group = 2, .along = fk::TileOrder::Along::n}, fk::TileOrder{.xcds = 3}}) {
    GemmConfig config = loops(problem)[1];
    config.order = order;
    for (GroupLayout layout : kLayouts)
      expectGrouped(laid(layout, problem), config, kRows, 4);
  }
}

TEST_CASE("wrong numbers of groups lead nowhere where they are not checked", "[run]") {
  for (GroupLayout layout : kLayouts) {
    const GroupedGemmProblem problem = laid(layout, {.experts = 5,
                                                     .n = 32,
                                                     .k = 64,
                                                     .topk = 2,
                                                     .a_rows = GroupedRows::tokens,
                                                     .c_rows = GroupedRows::slots});
    const Groups right = Groups::of(problem, kRows);
    const GroupValues values = GroupValues::random(problem, right);
    const GroupOperands operands(problem, right, values);
    const fk::GroupedGemmPlan plan(problem, loops(problem)[0], {.check_indices = false});
    const auto spoil = [](std::vector<double> numbers, std::uint64_t seed) {
      for (std::size_t i = 0; i < numbers.size(); ++i)
        if (const auto bits = fx::detail::randomBits(seed, i); bits % 2)
          numbers[i] = double(std::int32_t(bits >> 32));
      return numbers;
    };
    for (std::uint64_t seed = 1; seed < 6; ++seed) {
      const auto put = [&](const char *name, const std::vector<double> &numbers) {
        Operand(operands.at(name)).set(spoil(numbers, seed));
      };
      if (layout == GroupLayout::units)
        put("unit_experts", right.units);
      if (layout == GroupLayout::units)
        put("offsets", right.offsets);
      if (layout == GroupLayout::offsets) { // ranges that overlap would be written twice
        std::vector<double> offsets = right.offsets;
        offsets.front() = -double(seed);
        std::fill(offsets.end() - std::ptrdiff_t(seed), offsets.end(), double(INT32_MAX - seed));
        Operand(operands.at("offsets")).set(offsets);
      }
      if (layout != GroupLayout::offsets)
        put("counts", right.counts);
      put("sorted_ids", right.ids);
      plan(operands.args());
      fx::Device::current().synchronize();
      (void)operands.c(); // nothing is written outside of c
    }
  }
}

TEST_CASE("grouped_gemm: another run, a graph, a file", "[run]") {
  for (GroupLayout layout : kLayouts) {
    const GroupedGemmProblem problem = laid(layout, {.experts = 6,
                                                     .n = 48,
                                                     .k = 96,
                                                     .topk = 2,
                                                     .a_rows = GroupedRows::tokens,
                                                     .activation = Activation::silu,
                                                     .gated = GatedPairs::halves});
    expectStructure(problem, fk::choose(problem, 100), 100);
    const GroupedGemmProblem second = laid(layout, {.experts = 6,
                                                    .n = 48,
                                                    .k = 96,
                                                    .topk = 2,
                                                    .c_rows = GroupedRows::slots,
                                                    .weights = RoutedWeights::output});
    expectStructure(second, fk::choose(second, 100), 100);
  }
}

TEST_CASE("grouped_gemm has a configuration for every problem that it supports") {
  std::vector<GroupedGemmProblem> problems;
  // Experts, intermediate and hidden sizes of models: DeepSeek-V3, Qwen3-235B, gpt-oss, small ones.
  for (const auto &[experts, inner, hidden] :
       {std::tuple(256, 2048, 7168), std::tuple(128, 1536, 4096), std::tuple(32, 2880, 2880),
        std::tuple(8, 16, 64)})
    for (int unit : {16, 32, 48, 64, 128, 256})
      for (GroupedRows a : {GroupedRows::places, GroupedRows::tokens}) {
        problems.push_back({.experts = experts,
                            .n = inner,
                            .k = hidden,
                            .unit = unit,
                            .a_rows = a,
                            .activation = Activation::silu,
                            .gated = GatedPairs::halves});
        problems.push_back(
            {.experts = experts, .n = hidden, .k = inner, .unit = unit, .a_rows = a});
      }
  expectTotal(problems);
}

TEST_CASE("grouped_gemm says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](GroupedGemmProblem problem) {
    if (!problem.experts)
      problem.experts = 8;
    if (!problem.n)
      problem.n = 64;
    if (!problem.k)
      problem.k = 64;
    return fk::supported(problem, target).why;
  };
  CHECK(why({}).empty());
  CHECK(why({.experts = 2049}) == "experts is 2049; 1 to 2048 are supported");
  CHECK(why({.experts = -1}) == "experts is -1; 1 to 2048 are supported");
  CHECK(why({.topk = 65}) == "topk is 65; 1 to 64 are supported");
  CHECK(why({.n = -16}) == "n is -16; 1 to 1073741823 are supported");
  CHECK(why({.n = 40}) ==
        "n is 40; an expert's weights have a multiple of 16 rows, and n is a multiple of 8");
  CHECK(why({.n = 36, .gated = GatedPairs::interleaved}) ==
        "n is 36; an expert's weights have a multiple of 16 rows, and n is a multiple of 8");
  CHECK(why({.unit = 40}) ==
        "unit is 40; it is a multiple of 16 up to 256, because a tile has the rows of one expert. "
        "Other numbers of rows go with GroupLayout::offsets");
  CHECK(why({.unit = 512}).starts_with("unit is 512; it is a multiple of 16 up to 256"));
  CHECK(why({.capacity = 64}) ==
        "capacity is 64; GroupLayout::masked has one, and no other layout has");
  CHECK(why({.groups = GroupLayout::masked}) ==
        "capacity is 0; GroupLayout::masked has one, and no other layout has");
  CHECK(why({.groups = GroupLayout::masked, .capacity = 40}) ==
        "capacity is 40; it is a multiple of 16, and the places of all experts have 31 bits");
  CHECK(
      why({.groups = GroupLayout::masked, .capacity = 1 << 28}) ==
      "capacity is 268435456; it is a multiple of 16, and the places of all experts have 31 bits");
  CHECK(why({.a_rows = GroupedRows::slots}) ==
        "a_rows is slots; a's rows are those of places or of tokens");
  CHECK(why({.c = fx::i8, .c_rows = GroupedRows::tokens, .scale_c = Scales::per_tensor}) ==
        "c_rows is tokens, to whose rows results are added, and scale_c is of results that are "
        "stored; "
        "c is f32, f16 or bf16 then");
  CHECK(why({.limit = 7}) == "alpha, limit and up_offset are of gated pairs");
  CHECK(why({.gated = GatedPairs::halves, .alpha = 2}) == "alpha is of Activation::silu");
  CHECK(why({.activation = Activation::silu, .gated = GatedPairs::halves, .alpha = NAN}) ==
        "alpha and up_offset are finite numbers");
  CHECK(why({.gated = GatedPairs::halves, .limit = -1}) ==
        "limit is a finite number from 0 on; 0 is none");
  CHECK(why({.b_layout = fk::OperandLayout::columns}) ==
        "b lies by columns; it is prepared or lies by rows");
  CHECK(why({.b_layout = fk::OperandLayout::rows, .gated = GatedPairs::halves}) ==
        "gated pairs take prepared weights");
  CHECK(why({.a = fx::f8E4M3FNUZ,
             .b = fx::f8E4M3FNUZ,
             .scale_a = Scales::per_block,
             .scale_b = Scales::per_block}) ==
        "n is 64; with scales of blocks an expert's weights have a multiple of 128 rows");
  CHECK(why({.a = fx::f32}).starts_with("a is of type f32 and b of type bf16"));
  const auto whyNot = [&](const GroupedGemmProblem &problem, const GemmConfig &config) {
    return fk::supported(problem, config, target).why;
  };
  const GroupedGemmProblem problem{.experts = 8, .n = 64, .k = 256};
  CHECK(whyNot(problem, {.tile_m = 64}) == "tile_m is 64; it divides the unit, 32");
  CHECK(whyNot(problem, {.tile_m = 32, .split_k = 2}) ==
        "split_k is 2; blocks do not share the K of a group, it is 1");
  GroupedGemmProblem masked = problem;
  masked.groups = GroupLayout::masked;
  masked.capacity = 48;
  CHECK(whyNot(masked, {.tile_m = 32}) == "tile_m is 32; it divides the capacity, 48");
}

TEST_CASE("grouped_gemm refuses arguments that do not fit") {
  const auto expectRefusals = [](const GroupedGemmProblem &problem, const auto &cases) {
    const fk::GroupedGemmPlan plan(problem, fk::choose(problem, 64));
    const Operands<GroupedGemmProblem> operands(problem, plan.config(), 64);
    for (const auto &[text, change] : cases) {
      fk::GroupedGemmArgs args = operands.args();
      change(args);
      const std::string got = messageOf([&] { plan(args); });
      INFO(got);
      CHECK(got.find("grouped_gemm: " + std::string(text)) != std::string::npos);
    }
  };
  using Args = fk::GroupedGemmArgs;
  using Cases = std::vector<std::pair<const char *, std::function<void(Args &)>>>;
  const auto cut = [](const fx::TensorArg &tensor, std::int64_t first) {
    std::vector<std::int64_t> shape(tensor.shape().begin(), tensor.shape().end());
    shape[0] = first;
    return fx::tensor(tensor.data(), tensor.dtype(), shape);
  };
  const GroupedGemmProblem problem{.experts = 4, .n = 64, .k = 64};
  expectRefusals(
      problem,
      Cases{
          {"a has 63 places; units have 32 each", [&](Args &args) { args.a = cut(args.a, 63); }},
          {"c has the shape (64, 64); (places, n) = (32, 64) is expected",
           [&](Args &args) { args.a = cut(args.a, 32); }},
          {"unit_experts is missing; the problem has it",
           [](Args &args) { args.unit_experts.reset(); }},
          {"offsets has the shape (4); (experts + 1) = (5) is expected",
           [&](Args &args) { args.offsets = cut(*args.offsets, 4); }},
          {"counts is of type f32",
           [](Args &args) { args.counts = fx::tensor(args.counts->data(), fx::f32, {4}); }},
          {"sorted_ids is given, and the problem does not have it",
           [](Args &args) { args.sorted_ids = args.counts; }},
          {"b is a plain tensor, and the problem takes prepared weights",
           [](Args &args) { args.b = args.b.tensor(); }},
          {"c shares memory with a", [](Args &args) { args.c = args.a; }},
          {"weights is given, and the problem does not have it",
           [](Args &args) { args.weights = fx::tensor(args.counts->data(), fx::f32, {4}); }},
      });
  GroupedGemmProblem other = problem;
  other.a_rows = GroupedRows::tokens;
  other.c_rows = GroupedRows::slots;
  other.topk = 2;
  other.b_layout = fk::OperandLayout::rows;
  expectRefusals(other,
                 Cases{{"sorted_ids is missing; the problem has it",
                        [](Args &args) { args.sorted_ids.reset(); }},
                       {"c has the shape (64, 64); (tokens, topk, n)",
                        [](Args &args) {
                          args.c = fx::tensor(args.c.data(), args.c.dtype(), {64, 64});
                        }},
                       {"b is prepared weights, and the problem takes a tensor (experts, n, k)",
                        [](Args &args) {
                          args.b = fk::PreparedWeight{{fx::bf16, 256, 64}, args.b.tensor()};
                        }},
                       {"a spans", [](Args &args) {
                          const std::int64_t tokens = args.a.shape()[0];
                          args.a = fx::tensor(args.a.data(), args.a.dtype(), {tokens, 64},
                                              {std::int64_t(1) << 27, 1});
                        }}});
  GroupedGemmProblem masked = problem;
  masked.groups = GroupLayout::masked;
  masked.capacity = 32;
  expectRefusals(masked, Cases{{"a has 96 places; 4 experts of 32 each have 128",
                                [&](Args &args) { args.a = cut(args.a, 96); }}});
}
