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
