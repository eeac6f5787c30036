// Softmax's gradient against a reference in double precision.
#include "support/structure.h"

#include <flydsl/kernels/softmax_backward.h>

using namespace kernel_tests;

namespace {

using fk::Resident;
using fk::SoftmaxBackwardConfig;
using fk::SoftmaxBackwardProblem;

/// The sum of dy * y errs by (n / threads + log2 n + 4) 2^-23 of the sum of magnitudes; beside it
/// are the roundings of the difference, of the product and of dx.
void expectBackward(const SoftmaxBackwardProblem &problem, const SoftmaxBackwardConfig &config,
                    std::int64_t m, std::span<const double> y, std::span<const double> dy,
                    std::int64_t gap = 0) {
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const std::int64_t n = problem.n;
  const Operand inY = Operand::input(problem.y, m, n, y, gap),
                inDy = Operand::input(problem.dy, m, n, dy, gap),
                out = Operand::output(problem.dx, m, n, gap);
  const fx::Stream stream;
  fk::SoftmaxBackwardPlan(problem, config)(
      {.y = inY.tensor(), .dy = inDy.tensor(), .dx = out.tensor()}, stream);
  stream.synchronize();
  std::vector<double> expected, bound;
  const double steps = double(n) / config.threads + std::log2(double(n)) + 4;
  for (std::size_t row = 0; row < std::size_t(m * n); row += std::size_t(n)) {
    double sum = 0, magnitude = 0;
    for (std::size_t i = row; i < row + std::size_t(n); ++i) {
      sum += y[i] * dy[i];
      magnitude += std::fabs(y[i] * dy[i]);
    }
    for (std::size_t i = row; i < row + std::size_t(n); ++i) {
      const double dx = y[i] * (dy[i] - sum);
      expected.push_back(dx);
      bound.push_back(steps * 0x1p-23 * std::fabs(y[i]) * (std::fabs(dy[i]) + magnitude) +
                      std::fabs(dx) * unit(problem.dx) + underflow(problem.dx));
    }
  }
  expectWithin(out.values(), expected, bound);
}

/// Rows of a softmax: positive, with a sum of about 1.
std::vector<double> probabilities(fx::DType dtype, std::int64_t m, std::int64_t n,
                                  std::uint64_t seed) {
  std::vector<double> y = uniform(fx::f32, m * n, seed, 4);
  for (std::int64_t row = 0; row < m; ++row) {
    double sum = 0;
    for (std::int64_t i = row * n; i < (row + 1) * n; ++i)
      sum += y[std::size_t(i)] = std::exp(y[std::size_t(i)]);
    for (std::int64_t i = row * n; i < (row + 1) * n; ++i)
      y[std::size_t(i)] /= sum;
  }
  return decode(dtype, encode(dtype, y));
}
void expectBackward(const SoftmaxBackwardProblem &problem, std::int64_t m,
                    std::optional<SoftmaxBackwardConfig> config = {}, std::int64_t gap = 0) {
  expectBackward(problem, config ? *config : fk::choose(problem, m), m,
                 probabilities(problem.y, m, problem.n, 1), uniform(problem.dy, m * problem.n, 2),
                 gap);
}

} // namespace

TEST_CASE("softmax backward", "[run]") {
  for (std::int64_t n : {1, 3, 64, 1000})
    expectBackward({.y = fx::f16, .dy = fx::f16, .dx = fx::f16, .n = n}, 5);
  expectBackward({.y = fx::bf16, .dy = fx::bf16, .dx = fx::bf16, .n = 4097}, 2);
  expectBackward({.y = fx::f32, .dy = fx::f32, .dx = fx::f32, .n = 2052}, 1);
  expectBackward({.y = fx::bf16, .dy = fx::f32, .dx = fx::f16, .n = 130}, 3);
}

TEST_CASE("softmax backward with one operand in registers, or none", "[run]") {
  for (Resident resident : {Resident::both, Resident::y, Resident::none}) {
    expectBackward({.y = fx::f16, .dy = fx::f16, .dx = fx::f16, .n = 1001, .row_align = 8}, 3,
                   SoftmaxBackwardConfig{64, 64, resident}, 7);
    expectBackward({.y = fx::f32, .dy = fx::f32, .dx = fx::f32, .n = 100}, 5,
                   SoftmaxBackwardConfig{16, 64, resident});
  }
}

TEST_CASE("softmax backward of rows whose sums are exact", "[run]") {
  // One-hot y: dx is 0 everywhere. y = 1/n with integers in dy: the mean is exact.
  const SoftmaxBackwardProblem problem{.y = fx::f32, .dy = fx::f32, .dx = fx::f32, .n = 256};
  std::vector<double> y(2 * 256), dy = integers(2 * 256, 3, -8, 8);
  y[77] = 1;
  std::fill(y.begin() + 256, y.end(), 0x1p-8);
  const Operand inY = Operand::input(fx::f32, 2, 256, y),
                inDy = Operand::input(fx::f32, 2, 256, dy), out = Operand::output(fx::f32, 2, 256);
  const fx::Stream stream;
  fk::run(problem, {.y = inY.tensor(), .dy = inDy.tensor(), .dx = out.tensor()}, stream);
  stream.synchronize();
  const std::vector<double> dx = out.values();
  double mean = 0;
  for (std::size_t i = 256; i < 512; ++i)
    mean += dy[i] / 256;
  for (std::size_t i = 0; i < 512; ++i)
    if (dx[i] != (i < 256 ? 0 : (dy[i] - mean) / 256))
      FAIL("element " << i << " is " << dx[i]);
}

TEST_CASE("softmax backward: another run, a graph, a file", "[run]") {
  expectStructure<SoftmaxBackwardProblem>({.n = 264}, {64, 64, Resident::both}, 3);
}

TEST_CASE("softmax backward moves 3, 4 or 5 units", "[run]") {
  const SoftmaxBackwardProblem problem{.n = 4096};
  expectTraffic(problem, fk::choose(problem, 4), 4);
  const auto bytes = std::uint64_t(4 * problem.n * 2);
  std::uint64_t units = 3;
  for (Resident resident : {Resident::both, Resident::y, Resident::none}) {
    const auto counters = countersOf(problem, SoftmaxBackwardConfig{256, 256, resident}, 4);
    REQUIRE(counters.size() == 1);
    CHECK(counters[0]["globalBytesRead"] + counters[0]["globalBytesWritten"] == units * bytes);
    ++units;
  }
}

TEST_CASE("softmax backward has a configuration for every problem that it supports") {
  std::vector<SoftmaxBackwardProblem> problems;
  for (std::int64_t n = 1; n < 20000; n += 61)
    for (fx::DType dtype : {fx::f16, fx::f32})
      problems.push_back({.y = dtype, .dy = dtype, .dx = dtype, .n = n});
  for (std::int64_t n : {16384, 32776, 65536, 131072, 1 << 28})
    problems.push_back({.y = fx::f32, .dy = fx::f32, .dx = fx::f32, .n = n});
  expectTotal(problems);
  // Both operands stay up to 32,768 elements, one up to 49,152.
  const fx::Target target = fx::Target::parse("gfx950");
  const auto resident = [&](std::int64_t n) {
    return fk::choose(SoftmaxBackwardProblem{.n = n}, 1, target).resident;
  };
  CHECK(resident(32768) == Resident::both);
  CHECK(resident(49152) == Resident::y);
  CHECK(resident(49160) == Resident::none);
}

TEST_CASE("softmax backward of the longest rows that stay in registers spills none") {
  expectNoSpills<SoftmaxBackwardProblem>(
      {{.n = 32768}, {.y = fx::f32, .dy = fx::f32, .dx = fx::f32, .n = 49152}});
}

TEST_CASE("softmax backward says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  CHECK(fk::supported(SoftmaxBackwardProblem{.dy = fx::i8, .n = 8}, target).why ==
        "dy is of type i8; f32, f16 and bf16 are supported");
  CHECK(fk::supported(SoftmaxBackwardProblem{.n = 16384}, {64, 64, Resident::both}, target).why ==
        "a row of 16384 gives each of 64 threads 256 elements, and their registers hold 32; take "
        "more threads or resident=false");
}
