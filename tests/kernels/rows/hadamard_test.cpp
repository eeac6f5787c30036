// Hadamard transforms against the definition.
#include "support/quantised.h"
#include "support/size_sweep.h"
#include "support/structure.h"

#include <flydsl/kernels/rows/hadamard.h>

#include <bit>

using namespace kernel_tests;

namespace {

using fk::HadamardProblem;
using fk::Quantisation;

void expect(const HadamardProblem &problem, std::int64_t m, SweepCounts &counts,
            std::optional<fk::RowConfig> config = {}) {
  runOnce(problem, config ? *config : fk::choose(problem, m), m, counts);
}

std::vector<double> transformed(const HadamardProblem &problem, std::int64_t m,
                                const std::vector<double> &values, std::int64_t gap = 0) {
  const Operand x = Operand::input(problem.x, m, problem.n, values, gap),
                y = Operand::output(problem.y, m, problem.n, gap);
  const fx::Stream stream;
  fk::HadamardPlan(problem, fk::choose(problem, m))({.x = x.tensor(), .y = y.tensor()}, stream);
  stream.synchronize();
  return y.values();
}

} // namespace

TEST_CASE("Hadamard transforms of integers are those of the definition", "[run]") {
  for (std::int64_t n : {2, 4, 16, 128, 1024}) {
    INFO("n = " << n);
    constexpr std::int64_t m = 3;
    const auto x = integers(m * n, 5, -8, 7);
    const auto y = transformed({.x = fx::bf16, .y = fx::f32, .n = n}, m, x, 8);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < n; ++k)
          sum += std::popcount(static_cast<std::uint64_t>(j & k)) % 2 ? -x[std::size_t(i * n + k)]
                                                                      : x[std::size_t(i * n + k)];
        if (y[std::size_t(i * n + j)] != sum)
          FAIL("element " << i << ", " << j << " is " << y[std::size_t(i * n + j)] << ", not "
                          << sum);
      }
  }
}

TEST_CASE("a Hadamard transform is its own inverse", "[run]") {
  // A row of several waves: 8192 elements; integers stay exact.
  const HadamardProblem problem{.x = fx::f32, .y = fx::f32, .n = 8192};
  const auto x = integers(8192, 6, -4, 4);
  auto y = transformed(problem, 1, transformed(problem, 1, x));
  for (double &value : y)
    value /= 8192;
  CHECK(y == x);
}

TEST_CASE("Hadamard transforms of all lengths and types", "[run]") {
  SweepCounts counts;
  for (std::int64_t n = 2; n <= 2048; n *= 4)
    expect({.x = fx::f16, .y = fx::f16, .n = n, .scale = 1 / std::sqrt(double(n))}, 5, counts);
  expect({.x = fx::f32, .y = fx::bf16, .n = 4096, .scale = 0.25}, 2, counts);
  expect({.x = fx::bf16, .y = fx::bf16, .n = 32768, .scale = 1 / std::sqrt(32768.0)}, 1, counts);
  // Threads of one wave, and of several; rows that are not aligned.
  expect({.x = fx::f16, .y = fx::f32, .n = 256}, 7, counts,
         fk::RowConfig{.threads = 32, .block = 128});
  expect({.x = fx::bf16, .y = fx::bf16, .n = 4096}, 2, counts,
         fk::RowConfig{.threads = 128, .block = 128});
  expect({.x = fx::f16, .y = fx::f16, .n = 64, .row_align = 1}, 3, counts);
  CHECK(counts.compared == counts.runs);
}

TEST_CASE("Hadamard transforms, quantised", "[run]") {
  SweepCounts counts;
  for (fx::DType type : {fx::DType(fx::i8), hardwareFp8()})
    for (Quantisation kind : {Quantisation::row, Quantisation::fixed})
      expect({.x = fx::bf16, .y = type, .n = 128, .scale = 0.125, .quantise = kind}, 9, counts);
  // The indexer of DeepSeek-V3.2 rotates heads of 128 and quantises them whole.
  expect({.x = fx::bf16,
          .y = hardwareFp8(),
          .n = 128,
          .scale = 1 / std::sqrt(128.0),
          .quantise = Quantisation::row,
          .group = 128,
          .group_scale = fx::f8E8M0FNU},
         5, counts);
  for (fx::DType type : {fx::f4E2M1FN, fx::f8E4M3FN})
    expect({.x = fx::bf16,
            .y = type,
            .n = 8192,
            .scale = 0.03125,
            .quantise = Quantisation::row,
            .group = 32,
            .group_scale = fx::f8E8M0FNU,
            .block = fk::BlockScale::floor},
           2, counts);
  expect({.x = fx::f32, .y = fx::i8, .n = 8192, .quantise = Quantisation::row}, 2, counts);
  CHECK(counts.compared == counts.runs);
}

TEST_CASE("hadamard: another run, a graph, a file", "[run]") {
  expectStructure<HadamardProblem>(
      {.x = fx::bf16, .y = fx::i8, .n = 4096, .quantise = Quantisation::row},
      {.threads = 128, .block = 128}, 3);
}

TEST_CASE("Hadamard transforms read a row once and write it once", "[run]") {
  const HadamardProblem problem{.x = fx::f16, .y = fx::f16, .n = 8192};
  expectTraffic(problem, fk::choose(problem, 4), 4);
}

TEST_CASE("Hadamard transforms have a configuration for every problem that they support") {
  std::vector<HadamardProblem> problems;
  for (std::int64_t n = 2; n <= 32768; n *= 2)
    for (fx::DType dtype : {fx::f16, fx::f32})
      for (int align : {0, 2, 4})
        problems.push_back({.x = dtype, .y = dtype, .n = n, .row_align = align});
  for (std::int64_t n = 128; n <= 32768; n *= 2)
    problems.push_back({.x = fx::bf16,
                        .y = fx::f4E2M1FN,
                        .n = n,
                        .quantise = Quantisation::row,
                        .group = 32,
                        .group_scale = fx::f8E8M0FNU});
  expectTotal(problems);
}

TEST_CASE("the longest Hadamard transforms spill nothing") {
  expectNoSpills<HadamardProblem>({{.x = fx::bf16, .y = fx::bf16, .n = 32768}});
}

TEST_CASE("Hadamard transforms say what they do not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const HadamardProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({.n = 128}).empty());
  for (std::int64_t n : {0, 1, 96, 65536, -128})
    CHECK(why({.n = n}) == "n is " + std::to_string(n) + "; it is a power of two from 2 to 32768");
  CHECK(why({.x = fx::i8, .n = 128}) == "x is of type i8; f32, f16 and bf16 are supported");
  CHECK(why({.y = fx::i8, .n = 128}) == "y is of type i8; f32, f16 and bf16 are supported");
  CHECK(why({.n = 128, .quantise = Quantisation::row}) ==
        "y is quantised and of type bf16; i8 and floats of 8 bits are supported");
  CHECK(why({.n = 128, .scale = std::numeric_limits<double>::infinity()})
            .find("it is a finite number") != std::string::npos);
  CHECK(why({.y = fx::i8, .n = 128, .quantise = Quantisation::row, .group = 24})
            .find("group is 24; it is a power of two") == 0);
  CHECK(why({.y = fx::i8, .n = 64, .quantise = Quantisation::row, .group = 128}) ==
        "n is 64; rows are whole groups of 128");
  CHECK(why({.n = 128, .group = 32}).find("groups are for Quantisation::row") != std::string::npos);
  const HadamardProblem problem{.x = fx::f16, .y = fx::f16, .n = 4096};
  const auto with = [&](const fk::RowConfig &config) {
    return fk::supported(problem, config, target).why;
  };
  CHECK(with({.threads = 64, .block = 64, .resident = false}) ==
        "resident is false; a row stays in registers from step to step");
  CHECK(with({.threads = 1024, .block = 1024}) ==
        "threads is 1024, and a row of 4096 has 512 accesses of 8 elements; each thread has one at "
        "least");
  CHECK(with({.threads = 256, .block = 256}) ==
        "threads is 256: a row has 4 waves, whose threads have 2 accesses each; they exchange one "
        "with each other wave at least");

  const fk::HadamardPlan plan(problem, fk::choose(problem, 1));
  const Operand x = Operand::output(fx::f16, 2, 4096), scale = Operand::output(fx::f32, 1, 2);
  CHECK(messageOf([&] {
          plan({.x = x.tensor(), .y = x.tensor(), .scale = scale.vector()});
        }).find("hadamard: scale is given, and the problem does not have it") != std::string::npos);
  CHECK(messageOf([&] { plan({.x = x.tensor(), .y = x.tensor()}); }) == "no error");
}
