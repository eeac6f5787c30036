// The largest elements of rows against a sort.
#include "support/size_sweep.h"
#include "support/structure.h"

#include <flydsl/kernels/rows/top_k.h>

using namespace kernel_tests;

namespace {

using fk::TopKProblem;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Found {
  std::vector<double> indices, slots, counts;
};
/// What the kernel gives for rows of values; `lengths`, if the problem has them.
Found found(const TopKProblem &problem, std::int64_t m, const std::vector<double> &values,
            const std::vector<double> &lengths = {}, std::optional<fk::TopKConfig> config = {},
            std::int64_t gap = 0) {
  const std::int64_t n = std::int64_t(values.size()) / m;
  const Operand x = Operand::input(problem.x, m, n, values, gap),
                sizes = Operand::input(
                    fx::i32, 1, m, lengths.empty() ? std::vector<double>(std::size_t(m)) : lengths),
                indices = Operand::output(fx::i32, m, problem.k, 3),
                counts = Operand::output(fx::i32, 1, m);
  fk::TopKArgs args{.x = x.tensor(), .indices = indices.tensor(), .counts = counts.vector()};
  if (problem.lengths)
    args.lengths = sizes.vector();
  const fx::Stream stream;
  fk::TopKPlan(problem, config ? *config : fk::choose(problem, m))(args, stream);
  stream.synchronize();
  return {indices.values(), {}, counts.values()};
}

} // namespace

TEST_CASE("the largest of rows of all types and lengths", "[run]") {
  SweepCounts counts;
  const auto expect = [&](const TopKProblem &problem, std::int64_t m) {
    runOnce(problem, fk::choose(problem, m), m, counts);
  };
  for (const fx::DType type : {fx::DType(fx::f32), fx::DType(fx::f16), fx::DType(fx::bf16)})
    expect({.x = type, .k = 20, .n = 301}, 3);
  expect({.k = 64, .row_align = 4, .n = 3000}, 1);
  expect({.x = fx::bf16, .k = 64, .slots = true, .page = 16, .row_align = 8, .n = 4096}, 1);
  expect({.k = 7, .indices = false, .slots = true, .page = 1, .n = 100}, 2);
  expect({.k = 7, .lengths = true, .slots = true, .page = 64, .sequences = true, .n = 100}, 3);
  // No more elements than are asked for.
  expect({.k = 300, .n = 255}, 1);
  expect({.k = 1, .n = 1}, 2);
  runOnce<TopKProblem>({.k = 100, .n = 9000}, {.block = 256}, 1, counts);
  CHECK(counts.compared == counts.runs);
}

TEST_CASE("of equal elements the first ones are chosen, and -infinity never", "[run]") {
  // Two are larger than the equal ones; what has nothing stands between them.
  std::vector<double> values(1000, 5);
  for (std::size_t i = 0; i < values.size(); i += 3)
    values[i] = -kInfinity;
  values[500] = 6; // 500 % 3 is 2
  values[997] = 7; // 997 % 3 is 1
  values[4] = -0.0;
  const Found five = found({.k = 5}, 1, values);
  CHECK(five.indices == std::vector<double>{1, 2, 5, 500, 997});
  CHECK(five.counts == std::vector<double>{5});
  // Zeros of both signs are equal.
  const Found zeros = found({.k = 2}, 1, {-0.0, -1, 0.0, 0.0});
  CHECK(zeros.indices == std::vector<double>{0, 2});
  const Found nothing = found({.k = 3}, 2, {-kInfinity, -kInfinity, -kInfinity, 1});
  CHECK(nothing.indices == std::vector<double>{-1, -1, -1, 1, -1, -1});
  CHECK(nothing.counts == std::vector<double>{0, 1});
}

TEST_CASE("a NaN is larger than all numbers", "[run]") {
  const double nan = std::nan("");
  const Found two = found({.k = 2}, 1, {1, kInfinity, -nan, 3, nan, kInfinity});
  CHECK(two.indices == std::vector<double>{2, 4});
}

TEST_CASE("rows have lengths of their own, and lengths past the row count as the row", "[run]") {
  const std::vector<double> values{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4};
  const Found rows = found({.k = 2, .lengths = true}, 4, values, {0, 1, 3, 9}, {}, 5);
  CHECK(rows.indices == std::vector<double>{-1, -1, 0, -1, 1, 2, 2, 3});
  CHECK(rows.counts == std::vector<double>{0, 1, 2, 2});
}

TEST_CASE("top_k: another run, a graph, a file", "[run]") {
  expectStructure<TopKProblem>({.k = 30, .lengths = true, .slots = true, .page = 16, .n = 700},
                               {.block = 256}, 2);
}

TEST_CASE("top_k has a configuration for every problem that it supports") {
  std::vector<TopKProblem> problems;
  for (std::int64_t n : {1, 300, 4096, 131072, 262144})
    for (int k : {1, 64, 2048, 65536})
      problems.push_back({.k = k, .n = n});
  expectTotal(problems);
}

TEST_CASE("top_k says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const TopKProblem &problem) { return fk::supported(problem, target).why; };
  CHECK(why({.k = 0}).find("k is 0") == 0);
  CHECK(why({.indices = false}) == "neither indices nor slots are asked for");
  CHECK(why({.sequences = true}) == "sequences without slots: indices do not depend on a table");
  CHECK(why({.slots = true, .page = 0}).find("page is 0") == 0);
  CHECK(why({.row_align = 3}).find("row_align is 3") == 0);
  CHECK(why({.row_align = 0}) == "row_align is 0; it is a power of two up to 16");
  CHECK(why({.x = fx::i32}).find("x is of type i32") == 0);
  CHECK(fk::supported(TopKProblem{}, fk::TopKConfig{.block = 128}, target).why ==
        "block is 128; 256 threads or more look at the digits of values");

  const TopKProblem problem{.k = 3, .slots = true, .page = 4, .n = 30};
  const fk::TopKPlan plan(problem, fk::choose(problem, 2));
  const Operands<TopKProblem> operands(problem, plan.config(), 2);
  fk::TopKArgs args = operands.args();
  args.block_table =
      fx::tensor(static_cast<std::int32_t *>(args.block_table->data()), {2, 7}, {8, 1});
  CHECK(messageOf([&] { plan(args); })
            .find("x has 30 elements in a row, and a row of block_table has 7 "
                  "blocks of 4 tokens") != std::string::npos);
  args = operands.args();
  args.lengths = args.counts;
  CHECK(messageOf([&] { plan(args); }).find("lengths is given, and the problem does not have it") !=
        std::string::npos);
  args = operands.args();
  args.slots.reset();
  CHECK(messageOf([&] { plan(args); }).find("slots is missing; the problem has it") !=
        std::string::npos);
}
