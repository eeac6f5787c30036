// RMS norm and layer norm against references in double precision.
#include "support/quantised.h"
#include "support/size_sweep.h"
#include "support/structure.h"

#include <flydsl/kernels/norm.h>

using namespace kernel_tests;

namespace {

using fk::NormKind;
using fk::NormProblem;
using fk::Quantisation;

/// The operands of a call on the device, and what they hold.
struct Case {
  Case(const NormProblem &problem, std::int64_t m, std::vector<double> values, std::int64_t gap = 0)
      : problem(problem), m(m), x(std::move(values)),
        weight(uniform(problem.weight, problem.n, 11)),
        bias(uniform(problem.weight, problem.n, 12)),
        residual(uniform(problem.x, m * problem.n, 13)),
        deviceX(Operand::input(problem.x, m, problem.n, x, gap)),
        deviceWeight(Operand::input(problem.weight, 1, problem.n, weight)),
        deviceBias(Operand::input(problem.weight, 1, problem.n, bias)),
        deviceResidual(Operand::input(problem.x, m, problem.n, residual, gap)),
        y(Operand::output(problem.y, m, problem.n, gap)),
        residualOut(Operand::output(problem.x, m, problem.n, gap)),
        scale(Operand::output(fx::f32, 1, m)), rstd(Operand::output(fx::f32, 1, m)),
        mean(Operand::output(fx::f32, 1, m)) {
    for (std::int64_t i = 0; i < problem.n; ++i)
      smooth.push_back(1.0 + double(i % 7) / 8);
    deviceSmooth = Operand::input(fx::f32, 1, problem.n, smooth);
  }

  void run(const fk::RowConfig &config) {
    const auto maybe = [](bool has, const fx::TensorArg &tensor) {
      return has ? std::optional<fx::TensorArg>(tensor) : std::nullopt;
    };
    const fx::Stream stream;
    threads = config.threads;
    fk::NormPlan(problem, config)(
        {.x = deviceX.tensor(),
         .weight = deviceWeight.vector(),
         .bias = maybe(problem.bias, deviceBias.vector()),
         .residual = maybe(problem.residual, deviceResidual.tensor()),
         .smooth = maybe(problem.smooth, deviceSmooth->vector()),
         .y = y.tensor(),
         .residual_out = maybe(problem.residual, residualOut.tensor()),
         .scale = maybe(problem.quantise != Quantisation::none, scale.vector()),
         .rstd = maybe(problem.statistics, rstd.vector()),
         .mean = maybe(problem.statistics && problem.kind == NormKind::layer, mean.vector())},
        stream);
    stream.synchronize();
  }

  /// What must come out before it is rounded to the type of y, and how far the f32 arithmetic may
  /// be from it. A sum of n numbers by `threads` threads errs by n / threads + log2 n roundings.
  /// That is relative for squares, which are positive, and is of the mean magnitude for the mean.
  struct Reference {
    std::vector<double> y, error, rstd, mean, sum;
  };
  Reference reference() const {
    Reference r;
    const std::size_t n = static_cast<std::size_t>(problem.n);
    const double steps = double(n) / threads + std::log2(double(n)) + 6;
    for (std::size_t row = 0; row < static_cast<std::size_t>(m); ++row) {
      std::vector<double> v(x.begin() + std::ptrdiff_t(row * n),
                            x.begin() + std::ptrdiff_t((row + 1) * n));
      if (problem.residual) {
        for (std::size_t i = 0; i < n; ++i)
          v[i] = double(float(v[i]) + float(residual[row * n + i]));
        v = decode(problem.x, encode(problem.x, v));
      }
      r.sum.insert(r.sum.end(), v.begin(), v.end());
      double mean = 0, magnitude = 0, squares = 0;
      for (double a : v) {
        mean += a / double(n);
        magnitude += std::fabs(a) / double(n);
      }
      const bool centred = problem.kind == NormKind::layer;
      if (!centred)
        mean = magnitude = 0;
      for (double a : v)
        squares += (a - mean) * (a - mean) / double(n);
      const double rstd = 1 / std::sqrt(squares + double(float(problem.eps)));
      r.rstd.push_back(rstd);
      r.mean.push_back(mean);
      for (std::size_t i = 0; i < n; ++i) {
        const double factor = problem.smooth ? smooth[i] : 1, w = std::fabs(weight[i]) * factor;
        const double xhat = (v[i] - mean) * rstd, add = problem.bias ? bias[i] * factor : 0;
        const double y = xhat * weight[i] * factor + add;
        const double centring =
            centred ? steps * 0x1p-24 * (magnitude + std::fabs(mean)) * rstd : 0;
        r.y.push_back(y);
        r.error.push_back(w * (std::fabs(xhat) * (steps + 2) * 0x1p-23 + centring) +
                          (std::fabs(y) + std::fabs(add)) * 0x1p-23);
      }
    }
    return r;
  }

  /// Requires that all results are what they must be.
  void expect() const {
    INFO(fx::to_config(problem).str() << " m=" << m << " threads=" << threads);
    const Reference r = reference();
    const auto close = [](double steps, std::span<const double> of, double absolute) {
      std::vector<double> bound;
      for (double v : of)
        bound.push_back(std::fabs(v) * steps * 0x1p-23 + absolute);
      return bound;
    };
    const double steps = double(problem.n) / threads + std::log2(double(problem.n)) + 6;
    if (problem.residual) {
      const std::vector<double> none(r.sum.size());
      expectWithin(residualOut.values(), r.sum, none);
    }
    if (problem.statistics) {
      expectWithin(rstd.values(), r.rstd, close(steps, r.rstd, 0));
      if (problem.kind == NormKind::layer)
        expectWithin(mean.values(), r.mean, close(steps, r.mean, steps * 0x1p-23));
    }
    if (problem.quantise != Quantisation::none) {
      expectQuantised(problem.y, y.values(), scale.values(), problem.n,
                      problem.quantise == Quantisation::row, r.y, r.error);
      return;
    }
    std::vector<double> bound = r.error;
    for (std::size_t i = 0; i < bound.size(); ++i)
      bound[i] += std::fabs(r.y[i]) * unit(problem.y) + underflow(problem.y);
    expectWithin(y.values(), r.y, bound);
  }

  NormProblem problem;
  std::int64_t m;
  int threads = 0;
  std::vector<double> x, weight, bias, residual, smooth;
  Operand deviceX, deviceWeight, deviceBias, deviceResidual, y, residualOut, scale, rstd, mean;
  std::optional<Operand> deviceSmooth;
};

void expectNorm(const NormProblem &problem, std::int64_t m,
                std::optional<fk::RowConfig> config = {}, std::int64_t gap = 0) {
  Case test(problem, m, uniform(problem.x, m * problem.n, 1, 3), gap);
  test.run(config ? *config : fk::choose(problem, m));
  test.expect();
}

const fk::RowConfig kStreamed{.threads = 64, .block = 64, .resident = false};

} // namespace

TEST_CASE("RMS norm", "[run]") {
  expectNorm({.x = fx::f16, .weight = fx::f16, .y = fx::f16, .n = 64}, 5);
  expectNorm({.x = fx::f32, .weight = fx::f32, .y = fx::f32, .n = 100}, 3);
  expectNorm({.x = fx::bf16, .weight = fx::f32, .y = fx::bf16, .n = 2000}, 2);
  expectNorm({.x = fx::bf16, .weight = fx::bf16, .y = fx::f32, .n = 2056, .residual = true}, 2);
  expectNorm({.x = fx::f16,
              .weight = fx::f16,
              .y = fx::f16,
              .n = 1001,
              .bias = true,
              .residual = true,
              .statistics = true,
              .row_align = 8},
             3, kStreamed, 7);
}

TEST_CASE("layer norm", "[run]") {
  NormProblem problem{
      .kind = NormKind::layer, .x = fx::f16, .weight = fx::f16, .y = fx::f16, .n = 8};
  expectNorm(problem, 33);
  problem.bias = problem.statistics = true;
  problem.n = 100;
  expectNorm(problem, 5);
  problem.n = 5120;
  problem.residual = true;
  expectNorm(problem, 1);
  problem.n = 65;
  problem.x = problem.y = fx::f32;
  expectNorm(problem, 3);
  expectNorm(problem, 2, kStreamed);
}

TEST_CASE("norms of unusual rows", "[run]") {
  for (NormKind kind : {NormKind::rms, NormKind::layer})
    for (bool streamed : {false, true}) {
      const NormProblem problem{.kind = kind,
                                .x = fx::f32,
                                .weight = fx::f32,
                                .y = fx::f32,
                                .n = 256,
                                .bias = true,
                                .statistics = true};
      const std::int64_t n = problem.n;
      std::vector<double> x = uniform(fx::f32, 6 * n, 5);
      const auto row = [&](std::int64_t r) {
        return std::span(x).subspan(std::size_t(r * n), std::size_t(n));
      };
      for (double &v : row(0))
        v = 1000 + v / 2; // the mean is far above the deviation
      std::fill(row(1).begin(), row(1).end(), 0);
      row(2)[17] = 1e15; // one far above the others
      for (std::int64_t i = 0; i < n; ++i)
        row(3)[std::size_t(i)] = i % 2 ? -3 : 3;
      row(4)[200] = std::nan("");
      for (double &v : row(5))
        v *= 1e-15;
      x = decode(fx::f32, encode(fx::f32, x));
      Case test(problem, 6, x);
      test.run(streamed ? kStreamed : fk::choose(problem, 6));
      test.expect();
    }
}

TEST_CASE("norms of rows whose sums are exact", "[run]") {
  for (NormKind kind : {NormKind::rms, NormKind::layer}) {
    // As many of one sign as of the other: the mean is 0, the deviation 2, and y exactly half of x.
    NormProblem problem{
        .kind = kind, .x = fx::bf16, .weight = fx::bf16, .y = fx::bf16, .n = 512, .eps = 0};
    std::vector<double> x = integers(2 * 512, 3, 0, 0);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = (i * 7 % 16 < 8) ? 2 : -2;
    Case test(problem, 2, x);
    test.run(fk::choose(problem, 2));
    const std::vector<double> y = test.y.values();
    for (std::size_t i = 0; i < y.size(); ++i)
      if (y[i] != x[i] / 2 * test.weight[i % 512])
        FAIL("element " << i << " is " << y[i]);
  }
}

TEST_CASE("norms, quantised", "[run]") {
  for (fx::DType type : {fx::DType(fx::i8), hardwareFp8()}) {
    expectNorm(
        {.x = fx::f16, .weight = fx::f16, .y = type, .n = 256, .quantise = Quantisation::row}, 5);
    expectNorm({.kind = NormKind::layer,
                .x = fx::bf16,
                .weight = fx::bf16,
                .y = type,
                .n = 1000,
                .bias = true,
                .residual = true,
                .quantise = Quantisation::row,
                .smooth = true},
               2);
    // With a given scale: most values fit, some are limited.
    const NormProblem fixed{
        .x = fx::f16, .weight = fx::f16, .y = type, .n = 320, .quantise = Quantisation::fixed};
    Case test(fixed, 1, uniform(fx::f16, 320, 9));
    test.scale.set(std::vector<double>{type == fx::i8 ? 0x1p-7 : 0x1p-9});
    test.run(fk::choose(fixed, 1));
    test.expect();
  }
  // Rows of zeros, with one value far above the others, with a NaN, and with an infinity.
  NormProblem problem{.x = fx::f32,
                      .weight = fx::f32,
                      .y = hardwareFp8(),
                      .n = 96,
                      .eps = 1e-6,
                      .quantise = Quantisation::row};
  std::vector<double> x = uniform(fx::f32, 4 * 96, 10);
  std::fill(x.begin(), x.begin() + 96, 0);
  x[96 + 5] = 1e6;
  x[2 * 96 + 95] = std::nan("");
  x[3 * 96] = std::numeric_limits<double>::infinity();
  Case test(problem, 4, x);
  test.run(fk::choose(problem, 4));
  test.expect();
  CHECK(test.scale.values()[0] == 1);
  CHECK(std::isnan(test.scale.values()[2]));
  CHECK(std::isnan(test.scale.values()[3]));
}

TEST_CASE("norms, quantised by groups", "[run]") {
  SweepCounts counts;
  const auto expect = [&](const NormProblem &problem, std::int64_t m,
                          std::optional<fk::RowConfig> config = {}) {
    runOnce(problem, config ? *config : fk::choose(problem, m), m, counts);
  };
  NormProblem problem{.x = fx::f16,
                      .weight = fx::f16,
                      .y = fx::i8,
                      .n = 384,
                      .quantise = Quantisation::row,
                      .group = 128};
  expect(problem, 5);
  expect(problem, 2, kStreamed);
  problem.kind = NormKind::layer;
  problem.x = problem.weight = fx::bf16;
  problem.y = hardwareFp8();
  problem.bias = problem.residual = problem.smooth = problem.statistics = true;
  problem.smooth_type = fx::bf16;
  expect(problem, 3);
  problem.group_scale = fx::f8E8M0FNU;
  problem.gate = fk::NormGate::silu;
  expect(problem, 3);
  expect(problem, 3, kStreamed);
  for (fx::DType type : {fx::f8E4M3FN, fx::f8E5M2, fx::f4E2M1FN})
    for (fk::BlockScale rule : {fk::BlockScale::floor, fk::BlockScale::ceil})
      expect({.x = fx::f32,
              .weight = fx::f32,
              .y = type,
              .n = 160,
              .quantise = Quantisation::row,
              .group = 32,
              .group_scale = fx::f8E8M0FNU,
              .block = rule},
             3);
  // Rows of several thousand elements, with many groups of a thread.
  expect({.x = fx::bf16,
          .weight = fx::bf16,
          .y = fx::f4E2M1FN,
          .n = 7168,
          .residual = true,
          .quantise = Quantisation::row,
          .group = 32,
          .group_scale = fx::f8E8M0FNU},
         2);
  CHECK(counts.compared == counts.runs);
}

TEST_CASE("scales of a norm's groups lie by rows or by columns", "[run]") {
  const NormProblem problem{.x = fx::f16,
                            .weight = fx::f16,
                            .y = fx::i8,
                            .n = 256,
                            .quantise = Quantisation::row,
                            .group = 64};
  constexpr std::int64_t m = 5, groups = 4;
  Case test(problem, m, uniform(fx::f16, m * problem.n, 21));
  const Operand rows = Operand::output(fx::f32, m, groups, 3),
                columns = Operand::output(fx::f32, groups, m, 2);
  const fk::NormPlan plan(problem, fk::choose(problem, m));
  const fx::Stream stream;
  const auto call = [&](const fx::TensorArg &scale) {
    plan({.x = test.deviceX.tensor(),
          .weight = test.deviceWeight.vector(),
          .y = test.y.tensor(),
          .scale = scale},
         stream);
    stream.synchronize();
  };
  call(rows.tensor());
  const auto quantised = test.y.values();
  call(fx::TensorArg(columns.tensor().data(), fx::f32, fx::Extents{m, groups},
                     fx::Extents{1, m + 2}));
  CHECK(test.y.values() == quantised);
  const auto byRows = rows.values(), byColumns = columns.values();
  for (std::size_t i = 0; i < byRows.size(); ++i)
    CHECK(byRows[i] == byColumns[i % groups * m + i / groups]);
  // Each scale has a place of its own.
  CHECK(messageOf([&] {
          call(fx::TensorArg(columns.tensor().data(), fx::f32, fx::Extents{m, groups},
                             fx::Extents{1, 1}));
        }).find("norm: scale") != std::string::npos);
  CHECK(messageOf([&] {
          call(test.scale.vector());
        }).find("norm: scale has the shape (5); (m, n / group) = (5, 4) is expected") !=
        std::string::npos);
}

TEST_CASE("norms with a modulation for each batch of rows", "[run]") {
  SweepCounts counts;
  const auto expect = [&](const NormProblem &problem, std::int64_t m,
                          std::optional<fk::RowConfig> config = {}) {
    runOnce(problem, config ? *config : fk::choose(problem, m), m, counts);
  };
  NormProblem problem{.kind = NormKind::layer,
                      .x = fx::bf16,
                      .weight = fx::f32,
                      .y = fx::bf16,
                      .n = 136,
                      .modulation = true};
  expect(problem, 6);
  expect(problem, 7); // one batch
  expect(problem, 4, kStreamed);
  problem.kind = NormKind::rms;
  problem.x = fx::f32;
  problem.y = fx::i8;
  problem.n = 2048;
  problem.residual = problem.bias = problem.statistics = true;
  problem.quantise = Quantisation::row;
  problem.gate = fk::NormGate::sigmoid;
  expect(problem, 4);
  problem.group = 64;
  expect(problem, 2);
  CHECK(counts.compared == counts.runs);

  // Parts of a wider matrix, as a model's modulations are, and what does not fit.
  const NormProblem layer{
      .x = fx::f32, .weight = fx::f32, .y = fx::f32, .n = 64, .modulation = true};
  constexpr std::int64_t m = 6, batches = 3;
  Case test(layer, m, uniform(fx::f32, m * 64, 3));
  const auto numbers = uniform(fx::f32, batches * 192, 4);
  const Operand all = Operand::input(fx::f32, batches, 192, numbers);
  const auto part = [&](std::int64_t number, std::int64_t rows = batches) {
    return fx::TensorArg(static_cast<float *>(all.tensor().data()) + number * 64, fx::f32,
                         fx::Extents{rows, 64}, fx::Extents{192, 1});
  };
  const fk::NormPlan plan(layer, fk::choose(layer, m));
  const fx::Stream stream;
  fk::NormArgs args{.x = test.deviceX.tensor(),
                    .weight = test.deviceWeight.vector(),
                    .y = test.y.tensor(),
                    .gain = part(0),
                    .shift = part(2)};
  plan(args, stream);
  stream.synchronize();
  test.threads = plan.config().threads;
  const auto plain = test.reference();
  std::vector<double> wanted, bound;
  for (std::size_t i = 0; i < plain.y.size(); ++i) {
    const std::size_t row = i / 64 / 2 * 192, column = i % 64;
    const double factor = 1 + numbers[row + column];
    wanted.push_back(plain.y[i] * factor + numbers[row + 128 + column]);
    bound.push_back((plain.error[i] + std::fabs(plain.y[i]) * 0x1p-22) * std::fabs(factor) +
                    0x1p-21);
  }
  expectWithin(test.y.values(), wanted, bound);
  const auto message = [&] { return messageOf([&] { plan(args); }); };
  args.gain = part(0, 2);
  CHECK(message().find("norm: shift has the shape (3, 64); (batches, n) = (2, 64) is expected") !=
        std::string::npos);
  const Case four(layer, 4, uniform(fx::f32, 4 * 64, 3));
  args = {.x = four.deviceX.tensor(),
          .weight = test.deviceWeight.vector(),
          .y = four.y.tensor(),
          .gain = part(0),
          .shift = part(2)};
  CHECK(
      message().find("norm: gain has 3 rows, and x 4; each row of gain is that of as many rows of "
                     "x") != std::string::npos);
  args.shift.reset();
  CHECK(message().find("norm: shift is missing; the problem has it") != std::string::npos);
}

TEST_CASE("gated norms", "[run]") {
  using fk::NormGate;
  SweepCounts counts;
  const auto expect = [&](const NormProblem &problem, std::int64_t m,
                          std::optional<fk::RowConfig> config = {}) {
    runOnce(problem, config ? *config : fk::choose(problem, m), m, counts);
  };
  for (NormGate gate : {NormGate::silu, NormGate::sigmoid})
    for (bool first : {false, true}) {
      // A row for each head, and one of a state-space model's groups, whose x is in registers or not.
      NormProblem problem{.x = fx::bf16,
                          .weight = fx::f32,
                          .y = fx::bf16,
                          .n = 128,
                          .gate = gate,
                          .gate_first = first};
      expect(problem, 9);
      problem.x = problem.y = fx::f32;
      problem.n = 515;
      problem.statistics = true;
      expect(problem, 3);
      expect(problem, 2, kStreamed);
      problem.kind = NormKind::layer;
      problem.bias = true;
      expect(problem, 2, kStreamed);
      expect(problem, 3);
      problem.quantise = Quantisation::row;
      problem.y = fx::i8;
      problem.smooth = true;
      expect(problem, 2);
    }
  expect({.x = fx::f16,
          .weight = fx::f16,
          .y = fx::f16,
          .n = 96,
          .residual = true,
          .gate = NormGate::silu},
         5);
  CHECK(counts.compared == counts.runs);
}

TEST_CASE("norm: another run, a graph, a file", "[run]") {
  expectStructure<NormProblem>({.kind = NormKind::layer,
                                .x = fx::bf16,
                                .weight = fx::f32,
                                .y = fx::i8,
                                .n = 264,
                                .bias = true,
                                .residual = true,
                                .statistics = true,
                                .quantise = Quantisation::row,
                                .smooth = true},
                               {.threads = 64, .block = 64}, 3);
}

TEST_CASE("norms read a row once and write it once", "[run]") {
  NormProblem problem{.x = fx::f16, .weight = fx::f16, .y = fx::f16, .n = 2048};
  expectTraffic(problem, fk::choose(problem, 16), 16, 16);
  problem.residual = true;
  expectTraffic(problem, fk::choose(problem, 16), 16, 16);
  // Quantised: one read, and a byte for each element.
  problem = {.kind = NormKind::layer,
             .x = fx::bf16,
             .weight = fx::bf16,
             .y = fx::i8,
             .n = 4096,
             .quantise = Quantisation::row};
  expectTraffic(problem, fk::choose(problem, 16), 16, 16);
}

TEST_CASE("norms have a configuration for every problem that they support") {
  std::vector<NormProblem> problems;
  for (std::int64_t n = 1; n < 20000; n += 61)
    for (fx::DType dtype : {fx::f16, fx::f32})
      problems.push_back({.x = dtype, .weight = dtype, .y = dtype, .n = n});
  for (std::int64_t n : {8192, 32768, 65544, 1 << 28})
    problems.push_back({.kind = NormKind::layer,
                        .x = fx::bf16,
                        .y = fx::i8,
                        .n = n,
                        .quantise = Quantisation::row});
  for (std::int64_t n = 128; n < 40000; n += 128 * 7)
    for (fx::DType dtype : {fx::bf16, fx::f32})
      for (int group : {32, 128})
        problems.push_back({.x = dtype,
                            .y = fx::f4E2M1FN,
                            .n = n,
                            .quantise = Quantisation::row,
                            .group = group,
                            .group_scale = fx::f8E8M0FNU});
  expectTotal(problems);
}

TEST_CASE("norms of the longest rows that stay in registers spill none") {
  expectNoSpills<NormProblem>({{.x = fx::bf16, .weight = fx::bf16, .y = fx::bf16, .n = 32768},
                               {.kind = NormKind::layer,
                                .x = fx::f32,
                                .weight = fx::f32,
                                .y = fx::i8,
                                .n = 32768,
                                .bias = true,
                                .residual = true,
                                .statistics = true,
                                .quantise = Quantisation::row,
                                .smooth = true}});
}

TEST_CASE("norms say what they do not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const NormProblem &problem) { return fk::supported(problem, target).why; };
  CHECK(why({.n = 8}).empty());
  CHECK(why({.x = fx::f8E4M3FN, .n = 8}) ==
        "x is of type f8E4M3FN; f32, f16 and bf16 are supported");
  CHECK(why({.y = fx::i8, .n = 8}) == "y is of type i8; f32, f16 and bf16 are supported");
  CHECK(why({.n = 8, .quantise = Quantisation::row}) ==
        "y is quantised and of type f16; i8 and floats of 8 bits are supported");
  CHECK(why({.n = 8, .eps = -1}) == "eps is -1.000000; it is a finite number of at least 0");
  CHECK(why({.n = 8, .smooth = true}) == "smooth is for quantised y, and y is not");

  const auto grouped = [&](fx::DType y, std::int64_t n, int group, fx::DType scale,
                           fk::BlockScale rule = fk::BlockScale::ceil, int align = 0) {
    return why({.y = y,
                .n = n,
                .quantise = Quantisation::row,
                .group = group,
                .group_scale = scale,
                .block = rule,
                .row_align = align});
  };
  CHECK(grouped(fx::i8, 256, 128, fx::f32).empty());
  CHECK(grouped(fx::i8, 250, 128, fx::f32) == "n is 250; rows are whole groups of 128");
  CHECK(grouped(fx::i8, 96, 48, fx::f32) ==
        "group is 48; it is a power of two from 16 to 1024, or 0 for a scale of the whole row");
  CHECK(grouped(fx::i8, 128, -128, fx::f32).find("group is -128;") == 0);
  CHECK(grouped(fx::i8, 256, 128, fx::f16) ==
        "group_scale is f16; f32 and f8E8M0FNU are supported");
  CHECK(grouped(fx::i8, 256, 128, fx::f8E8M0FNU) ==
        "y is quantised with powers of two and of type i8; floats of 8 bits and f4E2M1FN are "
        "supported");
  CHECK(grouped(fx::f4E2M1FN, 256, 128, fx::f32) ==
        "y is quantised and of type f4E2M1FN; i8 and floats of 8 bits are supported");
  CHECK(grouped(fx::f8E4M3FNUZ, 256, 128, fx::f8E8M0FNU, fk::BlockScale::floor) ==
        "y is of type f8E4M3FNUZ, which OCP's rule BlockScale::floor does not know; take ceil");
  CHECK(grouped(fx::f4E2M1FN, 256, 32, fx::f8E8M0FNU, fk::BlockScale::ceil, 1) ==
        "row_align is 1; two values of f4E2M1FN share a byte, which is a row's own");
  CHECK(
      grouped(fx::i8, 256, 128, fx::f32, fk::BlockScale::ceil, 1) ==
      "a group of 128 with 1 values a thread has 128 threads, and a wave 64; take smaller groups, "
      "or a larger row_align");
  CHECK(why({.y = fx::i8, .n = 256, .quantise = Quantisation::fixed, .group = 128}) ==
        "group is 128, and groups are for Quantisation::row, whose scales are written");
  CHECK(why({.n = 256, .group = 128}).find("groups are for Quantisation::row") !=
        std::string::npos);
  CHECK(why({.y = fx::i8,
             .n = 8,
             .quantise = Quantisation::row,
             .smooth = true,
             .smooth_type = fx::i8}) ==
        "smooth_type is of type i8; f32, f16 and bf16 are supported");
  CHECK(
      fk::supported(NormProblem{.y = fx::i8, .n = 256, .quantise = Quantisation::row, .group = 128},
                    {.threads = 8, .block = 64}, target)
          .why == "threads=8: a block of 128 values has 16 threads, and a row a number of blocks");

  CHECK(why({.y = fx::i8,
             .n = 8,
             .quantise = Quantisation::row,
             .smooth = true,
             .modulation = true}) ==
        "smooth is for problems without modulation; take (1 + gain) smooth - 1 as gain and shift "
        "smooth as shift");
  CHECK(why({.n = 8, .gate_first = true}) ==
        "gate_first is for problems with a gate, and there is none");
  CHECK(why({.n = 8, .residual = true, .gate = fk::NormGate::silu, .gate_first = true}) ==
        "gate_first is for problems without a residual");

  const NormProblem problem{.x = fx::f16, .n = 64, .residual = true};
  const fk::NormPlan plan(problem, fk::choose(problem, 4));
  Case test(problem, 4, uniform(fx::f16, 256, 1));
  const auto message = [&](const fk::NormArgs &args) { return messageOf([&] { plan(args); }); };
  fk::NormArgs args{
      .x = test.deviceX.tensor(), .weight = test.deviceWeight.vector(), .y = test.y.tensor()};
  CHECK(message(args).find("norm: residual is missing; the problem has it") != std::string::npos);
  args.residual = test.deviceResidual.tensor();
  args.residual_out = test.residualOut.tensor();
  CHECK(message(args) == "no error");
  args.rstd = test.rstd.vector();
  CHECK(message(args).find("norm: rstd is given, and the problem does not have it") !=
        std::string::npos);
  args.rstd.reset();
  args.weight = test.deviceX.tensor();
  CHECK(message(args).find("norm: weight has the shape (4, 64); (n) = (64) is expected") !=
        std::string::npos);
}
