// Numbers of rows in device memory: rows that there are have the same results as without a count, and
// nothing is read or written of the others.
#include "support/index_case.h"
#include "support/structure.h"

#include <flydsl/host/graph.h>
#include <flydsl/kernels/elementwise.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/quantise.h>
#include <flydsl/kernels/rows/hadamard.h>
#include <flydsl/kernels/softmax.h>

using namespace kernel_tests;

namespace {

/// The bytes of each output by its rows.
std::vector<std::vector<std::uint8_t>> outputs(const SampledMemory &memory) {
  REQUIRE(memory.writtenAround() == "");
  std::vector<std::vector<std::uint8_t>> all;
  for (const SampledMemory::Operand &operand : memory.operands())
    if (operand.written())
      all.push_back(operand.bytes());
  return all;
}
/// Requires that the first `there` of m rows are those of `full`, and the others as they were.
void expectRows(const std::vector<std::vector<std::uint8_t>> &got,
                const std::vector<std::vector<std::uint8_t>> &full,
                const std::vector<std::vector<std::uint8_t>> &before, std::int64_t there,
                std::int64_t m) {
  REQUIRE(got.size() == full.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    REQUIRE(got[i].size() % std::size_t(m) == 0);
    const auto split = std::ptrdiff_t(got[i].size() / std::size_t(m) * std::size_t(there));
    CHECK(std::equal(got[i].begin(), got[i].begin() + split, full[i].begin()));
    CHECK(std::equal(got[i].begin() + split, got[i].end(), before[i].begin() + split));
  }
}

/// Runs a problem with counts of rows, alone and in a graph that is replayed with another count.
template <class P> void expectCounted(P problem, std::int64_t m, const fk::ConfigOf<P> &config) {
  INFO(fk::FamilyOf<P>::name << ": " << fx::to_config(problem).str() << " "
                             << fx::to_config(config).str());
  problem.rows = true;
  const fk::Plan<P> plan(problem, config, kUnchecked);
  SampledMemory memory(256);
  auto args = fk::make_args(problem, config, m, memory.sampler());
  fx::DeviceArray<int> count({1});
  args.rows = count;
  const fx::Stream stream;
  const auto run = [&](int rows) {
    memory.fill(5);
    count.copy_from(std::vector<int>{rows});
    plan(args, stream);
    stream.synchronize();
    return outputs(memory);
  };
  memory.fill(5);
  const auto before = outputs(memory), full = run(int(m));
  P plain = problem;
  plain.rows = false;
  {
    memory.fill(5);
    auto without = args;
    without.rows.reset();
    fk::Plan<P>(plain, config)(without, stream);
    stream.synchronize();
    CHECK(outputs(memory) == full);
  }
  for (const int rows : {0, 1, int(m) / 2, int(m) - 1})
    expectRows(run(rows), full, before, rows, m);
  // More than there are counts as all, less than none as none.
  CHECK(run(int(m) + 7) == full);
  expectRows(run(-1), full, before, 0, m);

  const fx::Graph graph = fx::Graph::capture(stream, [&](const fx::Stream &on) { plan(args, on); });
  for (const int rows : {2, 0, int(m)}) {
    memory.fill(5);
    count.copy_from(std::vector<int>{rows});
    graph.launch(stream);
    stream.synchronize();
    expectRows(outputs(memory), full, before, rows, m);
  }
}

const fk::RowConfig kShared{.threads = 16, .block = 64}, kWhole{.threads = 64, .block = 64},
    kStreamedRows{.threads = 64, .block = 64, .resident = false};

} // namespace

TEST_CASE("rows that a number in device memory counts", "[run]") {
  for (const fk::RowConfig &config : {kShared, kWhole, kStreamedRows}) {
    expectCounted<fk::SoftmaxProblem>({.x = fx::f32, .y = fx::f16, .n = 100}, 9, config);
    expectCounted<fk::NormProblem>({.x = fx::bf16,
                                    .weight = fx::bf16,
                                    .y = fx::i8,
                                    .n = 128,
                                    .residual = true,
                                    .statistics = true,
                                    .quantise = fk::Quantisation::row},
                                   9, config);
    expectCounted<fk::QuantiseProblem>({.x = fx::f16, .q = fx::i8, .n = 128, .group = 64}, 9,
                                       config);
    expectCounted<fk::QuantiseProblem>({.x = fx::f16, .q = fx::i8, .n = 96}, 9, config);
    if (config.resident)
      expectCounted<fk::HadamardProblem>({.x = fx::bf16, .y = fx::bf16, .n = 1024}, 9, config);
  }
}

TEST_CASE("rows of products that a number in device memory counts", "[run]") {
  // One tile and several, some without rows; parts of K, in both forms; pairs; columns; results
  // of 8 bits with scales of their own.
  const fk::GemmProblem plain{.a = fx::f16, .b = fx::f16, .c = fx::f32, .n = 48, .k = 128};
  const fk::GemmConfig small{.tile_m = 16, .tile_n = 64, .loop = fk::GemmLoop::registers};
  const auto with = [&](auto change) {
    fk::GemmProblem problem = plain;
    change(problem);
    return problem;
  };
  const auto split = [&](fk::PartsSum sum) {
    fk::GemmConfig config = small;
    config.split_k = 2;
    config.parts_sum = sum;
    return config;
  };
  const auto expect = [](const fk::GemmProblem &problem, std::int64_t m,
                         const fk::GemmConfig &config) {
    if (fk::supported(problem, config))
      expectCounted(problem, m, config);
    else
      expectCounted(problem, m, fk::choose(problem, m));
  };
  expect(plain, 37, small);
  expect(plain, 37, fk::choose(plain, 37));
  expect(plain, 20, split(fk::PartsSum::kernel));
  expect(with([](fk::GemmProblem &p) { p.zeroed_workspace = true; }), 20,
         split(fk::PartsSum::last_block));
  expect(with([](fk::GemmProblem &p) {
           p.gated = p.bias = true;
           p.activation = fk::Activation::silu;
         }),
         18, small);
  // By columns, threads load pieces of neighbouring rows. The number may end inside of the last piece.
  const fk::GemmProblem columns = with([](fk::GemmProblem &p) {
    p.a_layout = p.b_layout = fk::OperandLayout::columns;
    p.c = fx::f16;
  });
  expect(columns, 40, small);
  for (const int waves : {2, 4})
    expect(columns, 72,
           {.tile_m = 64, .tile_n = 64, .tile_k = 64, .threads = waves * here().wave_size()});
  expect(with([](fk::GemmProblem &p) {
           p.n = 128;
           p.c = here().has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ : fx::f8E4M3FN;
           p.scale_c = fk::Scales::per_block;
         }),
         18, fk::choose(plain, 18));
  expect(with([](fk::GemmProblem &p) {
           p.c = fx::bf16;
           p.rounding = fk::Rounding::stochastic;
           p.seed_in_memory = true;
         }),
         18, small);
}

TEST_CASE("each matrix of a batch has the rows that a number in device memory counts", "[run]") {
  const fk::GemmProblem problem{.a = fx::f16,
                                .b = fx::f16,
                                .c = fx::f32,
                                .b_layout = fk::OperandLayout::rows,
                                .n = 32,
                                .k = 64,
                                .batch = 3,
                                .rows = true};
  constexpr std::int64_t m = 20;
  const fk::GemmPlan plan(problem, fk::choose(problem, m), kUnchecked);
  SampledMemory memory(256);
  auto args = fk::make_args(problem, plan.config(), m, memory.sampler());
  fx::DeviceArray<int> count({1});
  args.rows = count;
  const fx::Stream stream;
  const auto run = [&](int rows) {
    memory.fill(2);
    count.copy_from(std::vector<int>{rows});
    plan(args, stream);
    stream.synchronize();
    return outputs(memory).at(0);
  };
  memory.fill(2);
  const auto before = outputs(memory).at(0), full = run(m), some = run(7);
  const std::size_t row = 32 * sizeof(float);
  for (std::size_t i = 0; i < full.size(); ++i) {
    const std::size_t ofMatrix = i / row % m;
    if (some[i] != (ofMatrix < 7 ? full[i] : before[i]))
      FAIL("byte " << i << " of row " << ofMatrix);
  }
}

TEST_CASE("replays of a graph round by seeds in device memory", "[run]") {
  fk::GemmProblem problem{.a = fx::f16,
                          .b = fx::f16,
                          .c = fx::bf16,
                          .n = 48,
                          .k = 64,
                          .rounding = fk::Rounding::stochastic};
  const auto config = fk::choose(problem, 16);
  Operands<fk::GemmProblem> operands(problem, config, 16);
  const fx::Stream stream;
  const fk::GemmPlan plain(problem, config);
  const auto ofSeed = [&](std::int64_t seed) {
    operands.fill(4);
    auto args = operands.args();
    args.seed = seed;
    plain(args, stream);
    stream.synchronize();
    return operands.results();
  };
  problem.seed_in_memory = true;
  const fk::GemmPlan plan(problem, config);
  fx::DeviceArray<std::int64_t> seed({1});
  auto args = operands.args();
  args.seed_memory = seed;
  const fx::Graph graph = fx::Graph::capture(stream, [&](const fx::Stream &on) { plan(args, on); });
  REQUIRE(ofSeed(3) != ofSeed(4));
  for (const std::int64_t value : {std::int64_t(3), std::int64_t(4), std::int64_t(1) << 40}) {
    const auto expected = ofSeed(value);
    operands.fill(4);
    seed.copy_from(std::vector<std::int64_t>{value});
    graph.launch(stream);
    stream.synchronize();
    CHECK(operands.results() == expected);
  }
  problem.rounding = fk::Rounding::nearest;
  CHECK(fk::supported(problem).why ==
        "seed_in_memory is of stochastic rounding, and c is rounded to nearest");
}

TEST_CASE("the scale of a tensor is that of the rows that there are", "[run]") {
  const fk::QuantiseProblem problem{
      .x = fx::f32, .q = fx::i8, .n = 64, .scale = fk::ScaleOf::tensor, .rows = true};
  std::vector<double> x(4 * 64, 1);
  x[0] = 127;
  x[3 * 64] = 12700;
  const Operand in = Operand::input(fx::f32, 4, 64, x), q = Operand::output(fx::i8, 4, 64),
                scale = Operand::output(fx::f32, 1, 1);
  fx::DeviceArray<int> count({1});
  const fk::QuantisePlan plan(problem, fk::choose(problem, 4), kUnchecked);
  const fx::Stream stream;
  for (const auto &[rows, expected] : {std::pair(3, 1.0), {4, 100.0}, {0, 1.0}}) {
    count.copy_from(std::vector<int>{rows});
    plan({.x = in.tensor(), .q = q.tensor(), .scale = scale.vector(), .rows = count}, stream);
    stream.synchronize();
    CHECK(scale.values()[0] == expected);
  }
}

TEST_CASE("a checked plan tells a number of rows that is wrong", "[run]") {
  const fk::NormProblem problem{
      .x = fx::f32, .weight = fx::f32, .y = fx::f32, .n = 64, .rows = true};
  std::vector<Wrong> wrong = outside("rows", 0, 0, 6);
  wrong[0].says = "norm: rows[0] is -1; it is from 0 to 5, the rows of x";
  expectCase<fk::NormProblem>({problem, chosen(problem, 5), {{"rows", {5}}}, {}, wrong}, 5);
  const fk::GemmProblem product{.n = 32, .k = 64, .rows = true};
  expectCase<fk::GemmProblem>(
      {product, chosen(product, 5), {{"rows", {3}}}, {}, outside("rows", 0, 0, 6)}, 5);
  const fk::SoftmaxProblem softmax{.n = 64, .rows = true};
  expectCase<fk::SoftmaxProblem>(
      {softmax, chosen(softmax, 5), {{"rows", {3}}}, {}, outside("rows", 0, 0, 6)}, 5);
}

TEST_CASE("chains of the rows that there are", "[run]") {
  const fk::ElementwiseChain twice{"twice", [](const fx::Vector &x) { return x * 2.0f; }};
  constexpr std::int64_t m = 70;
  for (const int group : {0, 32}) {
    const std::int64_t n = 64;
    const auto values = integers(m * n, 4, -60, 60);
    const Operand x = Operand::input(fx::f32, m, n, values);
    fx::DeviceArray<int> count({1});
    const fk::ElementwisePlan plan(twice,
                                   {.x = {{fx::f32}},
                                    .y = {{.type = group ? fx::i8 : fx::f32, .group = group}},
                                    .n = n,
                                    .rows = true});
    const fx::Stream stream;
    for (const int rows : {0, 1, 33, int(m), int(m) + 5, -3}) {
      INFO(rows << " rows, groups of " << group);
      const Operand y = Operand::output(group ? fx::DType(fx::i8) : fx::DType(fx::f32), m, n),
                    scales = Operand::output(fx::f32, m, 2);
      const std::vector<std::uint8_t> before = y.bytes(), scalesBefore = scales.bytes();
      count.copy_from(std::vector<int>{rows});
      plan({.x = {x.tensor()},
            .y = {y.tensor()},
            .scales = {group ? std::optional(scales.tensor()) : std::nullopt},
            .rows = count},
           stream);
      stream.synchronize();
      const auto there = std::size_t(std::clamp<std::int64_t>(rows, 0, m));
      const auto got = y.bytes(), gotScales = scales.bytes();
      const std::size_t split = got.size() / std::size_t(m) * there;
      CHECK(std::equal(got.begin() + std::ptrdiff_t(split), got.end(),
                       before.begin() + std::ptrdiff_t(split)));
      const std::size_t splitScales = group ? gotScales.size() / std::size_t(m) * there : 0;
      CHECK(std::equal(gotScales.begin() + std::ptrdiff_t(splitScales), gotScales.end(),
                       scalesBefore.begin() + std::ptrdiff_t(splitScales)));
      const auto numbers = fk::host::decode(y.dtype(), got);
      const auto ofScales = fk::host::decode(fx::f32, gotScales);
      for (std::size_t i = 0; i < there * std::size_t(n); ++i) {
        const double scale = group ? ofScales[i / 32] : 1;
        if (std::fabs(numbers[i] * scale - 2 * values[i]) > (group ? scale * 0.51 : 0))
          FAIL("element " << i << " is " << numbers[i] << " times " << scale);
      }
    }
  }
}

TEST_CASE("a number of rows is given if the problem has one") {
  const fk::SoftmaxProblem problem{.x = fx::f32, .y = fx::f32, .n = 8};
  const Operand x = Operand::output(fx::f32, 2, 8);
  fx::DeviceArray<int> count({1}), two({2});
  fk::SoftmaxProblem counted = problem;
  counted.rows = true;
  const fk::SoftmaxPlan plain(problem, fk::choose(problem, 2)),
      plan(counted, fk::choose(counted, 2), kUnchecked);
  const auto message = [&](const fk::SoftmaxPlan &of, std::optional<fx::TensorArg> rows) {
    return messageOf([&] { of({.x = x.tensor(), .y = x.tensor(), .rows = rows}); });
  };
  CHECK(message(plain, count).find("softmax: rows is given, and the problem does not have it") !=
        std::string::npos);
  CHECK(message(plan, {}).find("softmax: rows is missing; the problem has it") !=
        std::string::npos);
  CHECK(message(plan, two).find("softmax: rows has the shape (2); (1) = (1) is expected") !=
        std::string::npos);
}
