// The norms' gradients against references in double precision.
#include "support/structure.h"

#include <flydsl/kernels/norm_backward.h>

using namespace kernel_tests;

namespace {

using fk::NormBackwardConfig;
using fk::NormBackwardProblem;
using fk::NormKind;

/// Runs a problem and compares. The means of a row err by n / threads + log2 n + 6 roundings of
/// the mean magnitude, sums over rows by m roundings of the sum of magnitudes; xhat has an error of
/// some roundings itself.
void expectBackward(const NormBackwardProblem &problem, const NormBackwardConfig &config,
                    std::int64_t m, std::int64_t gap = 0, bool exact = false) {
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const std::int64_t n = problem.n;
  const bool centred = problem.kind == NormKind::layer;
  const auto values = [&](fx::DType dtype, std::int64_t count, std::uint64_t seed) {
    return exact ? integers(count, seed, -2, 2) : uniform(dtype, count, seed);
  };
  const std::vector<double> x = values(problem.x, m * n, 1), weight = values(problem.weight, n, 2),
                            dy = values(problem.dy, m * n, 3),
                            dresidual = values(problem.dy, m * n, 4);
  std::vector<double> rstd, mean;
  for (std::int64_t row = 0; row < m; ++row) {
    rstd.push_back(double(float(1 + double(row % 4) / 4)));
    mean.push_back(double(row % 3) / 8);
  }
  const Operand inX = Operand::input(problem.x, m, n, x, gap),
                inWeight = Operand::input(problem.weight, 1, n, weight),
                inDy = Operand::input(problem.dy, m, n, dy, gap),
                inRstd = Operand::input(fx::f32, 1, m, rstd),
                inMean = Operand::input(fx::f32, 1, m, mean),
                inResidual = Operand::input(problem.dy, m, n, dresidual, gap),
                dx = Operand::output(problem.dy, m, n, gap),
                dweight = Operand::output(problem.weight, 1, n),
                dbias = Operand::output(problem.weight, 1, n),
                workspace = Operand::output(fx::u8, 1,
                                            std::int64_t(fk::workspace_bytes(problem, config, m)));
  const auto maybe = [](bool has, const fx::TensorArg &tensor) {
    return has ? std::optional<fx::TensorArg>(tensor) : std::nullopt;
  };
  const fx::Stream stream;
  fk::NormBackwardPlan(problem, config)({.x = inX.tensor(),
                                         .weight = inWeight.vector(),
                                         .dy = inDy.tensor(),
                                         .rstd = inRstd.vector(),
                                         .mean = maybe(centred, inMean.vector()),
                                         .dresidual = maybe(problem.residual, inResidual.tensor()),
                                         .dx = dx.tensor(),
                                         .dweight = dweight.vector(),
                                         .dbias = maybe(problem.bias, dbias.vector()),
                                         .workspace = workspace.vector()},
                                        stream);
  stream.synchronize();
  workspace.expectUntouched();

  const std::size_t columns = std::size_t(n);
  const double steps = double(n) / config.threads + std::log2(double(n)) + 6, u = 0x1p-23;
  std::vector<double> wantDx, boundDx, wantW(columns), boundW(columns), wantB(columns),
      boundB(columns);
  for (std::size_t row = 0; row < std::size_t(m); ++row) {
    double along = 0, shift = 0, alongMagnitude = 0, shiftMagnitude = 0;
    std::vector<double> xhat(columns), g(columns);
    for (std::size_t i = 0; i < columns; ++i) {
      xhat[i] = (x[row * columns + i] - (centred ? mean[row] : 0)) * rstd[row];
      g[i] = dy[row * columns + i] * weight[i];
      along += g[i] * xhat[i] / double(n);
      alongMagnitude += std::fabs(g[i] * xhat[i]) / double(n);
      shift += centred ? g[i] / double(n) : 0;
      shiftMagnitude += centred ? std::fabs(g[i]) / double(n) : 0;
    }
    for (std::size_t i = 0; i < columns; ++i) {
      const std::size_t at = row * columns + i;
      const double add = problem.residual ? dresidual[at] : 0;
      const double value = rstd[row] * (g[i] - shift - xhat[i] * along) + add;
      wantDx.push_back(value);
      boundDx.push_back(
          steps * u * rstd[row] *
              (std::fabs(g[i]) + shiftMagnitude + std::fabs(xhat[i]) * alongMagnitude) +
          std::fabs(add) * u + std::fabs(value) * unit(problem.dy) + underflow(problem.dy));
      wantW[i] += dy[at] * xhat[i];
      boundW[i] += std::fabs(dy[at] * xhat[i]) * (double(m) + 4) * u;
      wantB[i] += dy[at];
      boundB[i] += std::fabs(dy[at]) * (double(m) + 4) * u;
    }
  }
  for (std::size_t i = 0; i < columns; ++i) {
    boundW[i] += std::fabs(wantW[i]) * unit(problem.weight) + underflow(problem.weight);
    boundB[i] += std::fabs(wantB[i]) * unit(problem.weight) + underflow(problem.weight);
  }
  if (exact) { // sums of small integers and quarters: to the bit
    boundW.assign(columns, 0);
    boundB.assign(columns, 0);
  }
  expectWithin(dx.values(), wantDx, boundDx);
  expectWithin(dweight.values(), wantW, boundW);
  if (problem.bias)
    expectWithin(dbias.values(), wantB, boundB);
}
void expectBackward(const NormBackwardProblem &problem, std::int64_t m) {
  expectBackward(problem, fk::choose(problem, m), m);
}

} // namespace

TEST_CASE("RMS norm backward", "[run]") {
  expectBackward({.x = fx::f16, .weight = fx::f16, .dy = fx::f16, .n = 64}, 37);
  expectBackward({.x = fx::bf16, .weight = fx::f32, .dy = fx::bf16, .n = 1000, .residual = true},
                 5);
  expectBackward({.x = fx::f32, .weight = fx::f32, .dy = fx::f32, .n = 65}, 3);
}

TEST_CASE("layer norm backward", "[run]") {
  const NormBackwardProblem problem{.kind = NormKind::layer,
                                    .x = fx::f32,
                                    .weight = fx::f32,
                                    .dy = fx::f32,
                                    .n = 200,
                                    .bias = true,
                                    .residual = true};
  expectBackward(problem, 7);
  // Two blocks for many rows; sums in memory, or added to one place, or both.
  for (bool resident : {true, false})
    for (bool atomic : {false, true}) {
      expectBackward(problem, {64, 64, resident, 2, atomic}, 9);
      expectBackward({.kind = NormKind::layer,
                      .x = fx::f16,
                      .weight = fx::f16,
                      .dy = fx::f16,
                      .n = 77,
                      .bias = true,
                      .row_align = 8},
                     {16, 64, resident, 2, atomic}, 11, 3);
    }
}

TEST_CASE("norm backward of rows whose sums are exact", "[run]") {
  const NormBackwardProblem problem{.kind = NormKind::layer,
                                    .x = fx::f32,
                                    .weight = fx::f32,
                                    .dy = fx::f32,
                                    .n = 96,
                                    .bias = true};
  for (bool atomic : {false, true})
    expectBackward(problem, {32, 64, true, 3, atomic}, 40, 0, /*exact=*/true);
}

TEST_CASE("norm backward of no rows is 0", "[run]") {
  const NormBackwardProblem problem{.n = 64};
  const Operand weight = Operand::input(fx::f16, 1, 64, std::vector<double>(64)),
                dweight = Operand::output(fx::f16, 1, 64), none = Operand::output(fx::u8, 1, 0);
  const fx::TensorArg rows(nullptr, fx::f16, fx::Extents{0, 64}),
      row(nullptr, fx::f32, fx::Extents{0});
  fk::NormBackwardPlan(problem, fk::choose(problem, 0))({.x = rows,
                                                         .weight = weight.vector(),
                                                         .dy = rows,
                                                         .rstd = row,
                                                         .dx = rows,
                                                         .dweight = dweight.vector(),
                                                         .workspace = none.vector()});
  fx::Device::current().synchronize();
  for (double value : dweight.values())
    if (value != 0)
      FAIL(value);
}

TEST_CASE("norm backward: another run, a graph, a file", "[run]") {
  expectStructure<NormBackwardProblem>({.kind = NormKind::layer,
                                        .x = fx::bf16,
                                        .weight = fx::bf16,
                                        .dy = fx::bf16,
                                        .n = 264,
                                        .bias = true,
                                        .residual = true},
                                       {64, 64, true, 2, false}, 5);
}

TEST_CASE("norm backward reads x and dy once, writes dx once, and a row of sums a block", "[run]") {
  const NormBackwardProblem problem{.n = 1024};
  const NormBackwardConfig config{128, 128, true, 4, false};
  const std::int64_t m = 64;
  const auto counters = countersOf(problem, config, m);
  REQUIRE(counters.size() == 2);
  INFO(counters[0].str());
  const std::uint64_t rows = std::uint64_t(m * problem.n) * 2, sums = 4 * 1024 * 4;
  // Beside the rows: the weights of each block, and rstd, which all threads of a row read at once.
  const std::uint64_t shared = 4 * 1024 * 2 + std::uint64_t(m) * 128 * 4;
  CHECK(counters[0]["globalBytesRead"] <= 2 * rows + shared);
  CHECK(counters[0]["globalBytesWritten"] == rows + sums);
  CHECK(counters[0]["SQ_LDS_BANK_CONFLICT"] == 0);
  // Threads without a row of sums of their own read the last one again.
  CHECK(counters[1]["globalBytesTouched"] == sums + 1024 * 2);
  CHECK(counters[1]["globalBytesWritten"] == 1024 * 2);
}

TEST_CASE("norm backward has a configuration for every problem that it supports") {
  std::vector<NormBackwardProblem> problems;
  for (std::int64_t n = 1; n < 20000; n += 97)
    for (fx::DType dtype : {fx::f16, fx::f32})
      problems.push_back({.x = dtype, .weight = dtype, .dy = dtype, .n = n});
  for (std::int64_t n : {16384, 16392, 65536, 1 << 28})
    problems.push_back({.kind = NormKind::layer, .n = n, .bias = true});
  expectTotal(problems);
}

TEST_CASE("norm backward of the longest rows that stay in registers spills none") {
  expectNoSpills<NormBackwardProblem>({{.kind = NormKind::layer,
                                        .x = fx::bf16,
                                        .weight = fx::bf16,
                                        .dy = fx::bf16,
                                        .n = 16384,
                                        .bias = true,
                                        .residual = true}});
}

TEST_CASE("norm backward says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const NormBackwardProblem problem{.n = 64};
  CHECK(fk::supported(NormBackwardProblem{.dy = fx::i8, .n = 64}, target).why ==
        "dy is of type i8; f32, f16 and bf16 are supported");
  CHECK(fk::supported(problem, {64, 64, true, 0, false}, target).why ==
        "programs=0; 1 to 4096 blocks share the rows");
  const fk::NormBackwardPlan plan(problem, {8, 64, true, 4, false});
  const Operand matrix = Operand::input(fx::f16, 2, 64, std::vector<double>(128)),
                vector = Operand::input(fx::f16, 1, 64, std::vector<double>(64)),
                rstd = Operand::input(fx::f32, 1, 2, std::vector<double>(2)),
                small = Operand::output(fx::u8, 1, 100);
  CHECK(messageOf([&] {
          plan({.x = matrix.tensor(),
                .weight = vector.vector(),
                .dy = matrix.tensor(),
                .rstd = rstd.vector(),
                .dx = matrix.tensor(),
                .dweight = vector.vector(),
                .workspace = small.vector()});
        }).find("workspace has the shape (100); a vector of at least 2048 bytes is expected") !=
        std::string::npos);
}
