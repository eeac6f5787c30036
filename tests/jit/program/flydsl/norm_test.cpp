// FlyDSL's layer norm, RMS norm and softmax: forward, backward, with a residual, quantising. Each
// row is compared with its formula in double precision.
//
// Softmax and the quantising norms of FlyDSL 0.4.2 reduce twice through the same LDS, with
// no barrier between the last read of the first reduction and the first write of the second
// one. Their cases are tagged [lockstep] and run with the waves in step, an instruction of
// each in turn, where the write comes behind the reads; run wave by wave, the emulator
// finds the race and the results are wrong.
#include "call.h"

using namespace flydsl_programs;

namespace {
constexpr std::int64_t kRows = 4;
constexpr double kEpsilon = 1e-5;

/// Rows of n numbers that a formula treats one at a time.
struct Matrix {
  std::size_t n;
  Numbers values;

  Matrix(fx::DType dtype, std::int64_t columns, std::uint64_t seed)
      : n(static_cast<std::size_t>(columns)), values(uniform(dtype, kRows * columns, seed)) {}
  Matrix(std::size_t n, Numbers values) : n(n), values(std::move(values)) {}
  double at(std::size_t row, std::size_t column) const { return values[row * n + column]; }
  std::size_t rows() const { return values.size() / n; }
  /// The mean of `term` over the columns of a row.
  template <class Term> double mean(Term term) const {
    double sum = 0;
    for (std::size_t c = 0; c < n; ++c)
      sum += term(c);
    return sum / static_cast<double>(n);
  }
};

/// Each element by a function of its row and column.
template <class Element> Matrix made(const Matrix &like, Element element) {
  Numbers values(like.values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = element(i / like.n, i % like.n);
  return {like.n, values};
}

Numbers inverseRms(const Matrix &x) {
  Numbers result;
  for (std::size_t r = 0; r < x.rows(); ++r)
    result.push_back(
        1 / std::sqrt(x.mean([&](std::size_t c) { return x.at(r, c) * x.at(r, c); }) + kEpsilon));
  return result;
}
Matrix rmsNorm(const Matrix &x, const Numbers &gamma) {
  const Numbers inverse = inverseRms(x);
  return made(x, [&](std::size_t r, std::size_t c) { return x.at(r, c) * inverse[r] * gamma[c]; });
}

struct Statistics {
  Numbers mean, inverse;
};
Statistics statistics(const Matrix &x) {
  Statistics all;
  for (std::size_t r = 0; r < x.rows(); ++r) {
    const double mean = x.mean([&](std::size_t c) { return x.at(r, c); });
    const double variance =
        x.mean([&](std::size_t c) { return (x.at(r, c) - mean) * (x.at(r, c) - mean); });
    all.mean.push_back(mean);
    all.inverse.push_back(1 / std::sqrt(variance + kEpsilon));
  }
  return all;
}
Matrix layerNorm(const Matrix &x, const Numbers &gamma, const Numbers &beta) {
  const Statistics of = statistics(x);
  return made(x, [&](std::size_t r, std::size_t c) {
    return (x.at(r, c) - of.mean[r]) * of.inverse[r] * gamma[c] + beta[c];
  });
}
Matrix sum(const Matrix &x, const Matrix &y) {
  return made(x, [&](std::size_t r, std::size_t c) { return x.at(r, c) + y.at(r, c); });
}
Matrix scaled(const Matrix &x, const Numbers &columns) {
  return made(x, [&](std::size_t r, std::size_t c) { return x.at(r, c) * columns[c]; });
}
Matrix softmax(const Matrix &x) {
  Numbers most(x.rows(), -1e30), total(x.rows());
  for (std::size_t i = 0; i < x.values.size(); ++i)
    most[i / x.n] = std::max(most[i / x.n], x.values[i]);
  for (std::size_t i = 0; i < x.values.size(); ++i)
    total[i / x.n] += std::exp(x.values[i] - most[i / x.n]);
  return made(
      x, [&](std::size_t r, std::size_t c) { return std::exp(x.at(r, c) - most[r]) / total[r]; });
}

Operand input(fx::DType dtype, const Matrix &x) {
  return Operand::input(dtype, static_cast<std::int64_t>(x.rows()), static_cast<std::int64_t>(x.n),
                        x.values);
}
Operand input(fx::DType dtype, const Numbers &x) {
  return Operand::input(dtype, 1, static_cast<std::int64_t>(x.size()), x);
}
Operand output(fx::DType dtype, const Matrix &like) {
  return Operand::output(dtype, static_cast<std::int64_t>(like.rows()),
                         static_cast<std::int64_t>(like.n));
}
Operand zeros(fx::DType dtype, std::int64_t rows, std::int64_t n) {
  return Operand::both(dtype, rows, n, Numbers(static_cast<std::size_t>(rows * n)));
}

/// Requires that rows were quantised to int8 by their largest magnitude: the scale is that over
/// 127, and FlyDSL cuts what is behind the point off. `slack` are the steps by which what is
/// rounded to bf16 on the way moves an element.
void expectQuantised(const Operand &quantised, const Operand &scales, const Matrix &expected,
                     double slack = 0.05) {
  Numbers wanted(expected.rows()), steps = expected.values;
  for (std::size_t i = 0; i < steps.size(); ++i)
    wanted[i / expected.n] = std::max(wanted[i / expected.n], std::fabs(steps[i]) / 127);
  expectNear(scales.values(), wanted, kBf16, 0);
  for (std::size_t i = 0; i < steps.size(); ++i)
    steps[i] = steps[i] / wanted[i / expected.n] - std::copysign(0.5, steps[i]);
  expectNear(quantised.values(), steps, kBf16, 0.5 + slack);
}
} // namespace

TEST_CASE("softmax of f32 rows", "[lockstep]") {
  const Matrix x(fx::f32, 256, 1);
  const Operand a = input(fx::f32, x), c = output(fx::f32, x);
  call("softmax_f32", a.tensor(), c.tensor(), kRows);
  expectNear(c.values(), softmax(x).values, kF32, 0);
}
TEST_CASE("softmax of bf16 rows", "[lockstep]") {
  const Matrix x(fx::bf16, 2048, 2);
  const Operand a = input(fx::bf16, x), c = output(fx::bf16, x);
  call("softmax_bf16", a.tensor(), c.tensor(), kRows);
  expectNear(c.values(), softmax(x).values, kBf16, 0);
}
TEST_CASE("softmax backward") {
  const Matrix dy(fx::bf16, 2048, 3), y(fx::bf16, 2048, 4);
  const Operand a = input(fx::bf16, dy), b = input(fx::bf16, y), c = output(fx::bf16, y);
  call("softmax_bwd", a.tensor(), b.tensor(), c.tensor(), kRows);
  const Matrix dx = made(y, [&](std::size_t r, std::size_t at) {
    const double dot =
        static_cast<double>(y.n) * y.mean([&](std::size_t c) { return dy.at(r, c) * y.at(r, c); });
    return y.at(r, at) * (dy.at(r, at) - dot);
  });
  expectNear(c.values(), dx.values, kBf16, 0x1p-12);
}

TEST_CASE("RMS norm") {
  const Matrix x(fx::bf16, 4096, 5);
  const Numbers gamma = uniform(fx::bf16, 4096, 6);
  const Operand a = input(fx::bf16, x), g = input(fx::bf16, gamma), y = output(fx::bf16, x);
  call("rmsnorm", a.tensor(), g.vector(), y.tensor(), kRows);
  expectNear(y.values(), rmsNorm(x, gamma).values, kBf16, 0);
}
TEST_CASE("RMS norm behind a residual") {
  const Matrix x(fx::f16, 2048, 7), residual(fx::f16, 2048, 8);
  const Numbers gamma = uniform(fx::f16, 2048, 9);
  const Operand a = input(fx::f16, x), r = input(fx::f16, residual), g = input(fx::f16, gamma),
                y = output(fx::f16, x), added = output(fx::f16, x);
  call("rmsnorm_add", a.tensor(), r.tensor(), g.vector(), y.tensor(), added.tensor(), kRows);
  expectNear(added.values(), sum(x, residual).values, kF16, 0);
  expectNear(y.values(), rmsNorm(sum(x, residual), gamma).values, 2 * kF16, 0);
}
TEST_CASE("RMS norm, quantised to int8", "[lockstep]") {
  const Matrix x(fx::bf16, 4096, 10);
  const Numbers gamma = uniform(fx::bf16, 4096, 11);
  const Operand a = input(fx::bf16, x), g = input(fx::bf16, gamma), y = output(fx::i8, x),
                scale = Operand::output(fx::f32, 1, kRows);
  SECTION("by the row alone") {
    call("rmsnorm_quant", a.tensor(), g.vector(), y.tensor(), scale.vector(), kRows);
    expectQuantised(y, scale, rmsNorm(x, gamma));
  }
  SECTION("with a factor for each column") {
    const Numbers smooth = uniform(fx::bf16, 4096, 12);
    const Operand s = input(fx::bf16, smooth);
    call("rmsnorm_smooth", a.tensor(), g.vector(), s.vector(), y.tensor(), scale.vector(), kRows);
    expectQuantised(y, scale, scaled(rmsNorm(x, gamma), smooth));
  }
}

namespace {
struct Gradient {
  Matrix x;
  Numbers gamma;
};
/// The gradient of RMS norm, whose inverse root mean square is given.
Gradient rmsGradient(const Matrix &x, const Numbers &gamma, const Matrix &dy,
                     const Numbers &inverse) {
  Numbers dGamma(x.n);
  for (std::size_t r = 0; r < x.rows(); ++r)
    for (std::size_t c = 0; c < x.n; ++c)
      dGamma[c] += dy.at(r, c) * x.at(r, c) * inverse[r];
  Numbers shared;
  for (std::size_t r = 0; r < x.rows(); ++r)
    shared.push_back(
        x.mean([&](std::size_t c) { return x.at(r, c) * inverse[r] * dy.at(r, c) * gamma[c]; }));
  return {made(x,
               [&](std::size_t r, std::size_t c) {
                 return inverse[r] * (dy.at(r, c) * gamma[c] - x.at(r, c) * inverse[r] * shared[r]);
               }),
          dGamma};
}
} // namespace

TEST_CASE("RMS norm backward, the weight's gradient by atomic sums") {
  const Matrix x(fx::f32, 512, 13), dy(fx::f32, 512, 14);
  const Numbers gamma = uniform(fx::f32, 512, 15), inverse = inverseRms(x);
  const Operand a = input(fx::f32, x), g = input(fx::f32, gamma), d = input(fx::f32, dy),
                i = input(fx::f32, inverse), dx = output(fx::f32, x),
                dGamma = zeros(fx::f32, 1, 512);
  call("rmsnorm_bwd", a.tensor(), g.vector(), d.tensor(), i.vector(), dx.tensor(), dGamma.vector(),
       kRows);
  const Gradient expected = rmsGradient(x, gamma, dy, inverse);
  expectNear(dx.values(), expected.x.values, kF32, 0x1p-20);
  expectNear(dGamma.values(), expected.gamma, kF32, 0x1p-20);
}
TEST_CASE("RMS norm backward in two stages") {
  const Matrix x(fx::bf16, 4096, 16), dy(fx::bf16, 4096, 17);
  const Numbers gamma = uniform(fx::bf16, 4096, 18), inverse = inverseRms(x);
  const Operand a = input(fx::bf16, x), g = input(fx::bf16, gamma), d = input(fx::bf16, dy),
                i = input(fx::f32, inverse), dx = output(fx::bf16, x),
                dGamma = Operand::output(fx::bf16, 1, 4096),
                partial = Operand::output(fx::f32, 1, 2 * 4096); // a row for each workgroup
  call("rmsnorm_bwd_two_stage", a.tensor(), g.vector(), d.tensor(), i.vector(), dx.tensor(),
       dGamma.vector(), partial.vector(), kRows);
  const Gradient expected = rmsGradient(x, gamma, dy, inverse);
  expectNear(dx.values(), expected.x.values, kBf16, 0x1p-16);
  expectNear(dGamma.values(), expected.gamma, kBf16, 0x1p-18);
}

TEST_CASE("layer norm") {
  const Matrix x(fx::bf16, 8192, 19);
  const Numbers gamma = uniform(fx::bf16, 8192, 20), beta = uniform(fx::bf16, 8192, 21);
  const Operand a = input(fx::bf16, x), g = input(fx::bf16, gamma), b = input(fx::bf16, beta),
                y = output(fx::bf16, x);
  call("layernorm", address(a), address(g), address(b), address(y), kRows);
  expectNear(y.values(), layerNorm(x, gamma, beta).values, kBf16, 0x1p-16);
}
TEST_CASE("layer norm that stores its statistics, and its gradient") {
  const Matrix x(fx::f32, 256, 22);
  const Numbers gamma = uniform(fx::f32, 256, 23), beta = uniform(fx::f32, 256, 24);
  const Operand a = input(fx::f32, x), g = input(fx::f32, gamma), b = input(fx::f32, beta),
                y = output(fx::f32, x), mean = Operand::output(fx::f32, 1, kRows),
                inverse = Operand::output(fx::f32, 1, kRows);
  call("layernorm_stats", address(a), address(g), address(b), address(y), address(mean),
       address(inverse), kRows);
  const Statistics of = statistics(x);
  expectNear(y.values(), layerNorm(x, gamma, beta).values, kF32, 0x1p-20);
  expectNear(mean.values(), of.mean, kF32, 0x1p-22);
  expectNear(inverse.values(), of.inverse, kF32, 0);
}
TEST_CASE("layer norm backward") {
  const Matrix x(fx::f32, 512, 25), dy(fx::f32, 512, 26);
  const Numbers gamma = uniform(fx::f32, 512, 27);
  const Statistics of = statistics(x);
  const Operand a = input(fx::f32, x), g = input(fx::f32, gamma), d = input(fx::f32, dy),
                mean = input(fx::f32, of.mean), inverse = input(fx::f32, of.inverse),
                dx = output(fx::f32, x), dGamma = zeros(fx::f32, 1, 512),
                dBeta = zeros(fx::f32, 1, 512);
  call("layernorm_bwd", address(a), address(g), address(d), address(mean), address(inverse),
       address(dx), address(dGamma), address(dBeta), kRows);
  const auto normal = [&](std::size_t r, std::size_t c) {
    return (x.at(r, c) - of.mean[r]) * of.inverse[r];
  };
  Numbers gammaGradient(x.n), betaGradient(x.n);
  for (std::size_t r = 0; r < x.rows(); ++r)
    for (std::size_t c = 0; c < x.n; ++c) {
      gammaGradient[c] += dy.at(r, c) * normal(r, c);
      betaGradient[c] += dy.at(r, c);
    }
  const Matrix gradient = made(x, [&](std::size_t r, std::size_t at) {
    const double mean = x.mean([&](std::size_t c) { return dy.at(r, c) * gamma[c]; }),
                 along =
                     x.mean([&](std::size_t c) { return dy.at(r, c) * gamma[c] * normal(r, c); });
    return of.inverse[r] * (dy.at(r, at) * gamma[at] - mean - normal(r, at) * along);
  });
  expectNear(dx.values(), gradient.values, kF32, 0x1p-20);
  expectNear(dGamma.values(), gammaGradient, kF32, 0x1p-20);
  expectNear(dBeta.values(), betaGradient, kF32, 0x1p-20);
}
TEST_CASE("layer norm, quantised to int8", "[lockstep]") {
  const Matrix x(fx::bf16, 8192, 28);
  const Numbers gamma = uniform(fx::bf16, 8192, 29), beta = uniform(fx::bf16, 8192, 30);
  const Operand a = input(fx::bf16, x), g = input(fx::bf16, gamma), b = input(fx::bf16, beta),
                y = output(fx::i8, x), scale = Operand::output(fx::f32, 1, kRows);
  SECTION("by the row alone") {
    call("layernorm_quant", a.tensor(), g.vector(), b.vector(), y.tensor(), scale.vector(), kRows);
    expectQuantised(y, scale, layerNorm(x, gamma, beta));
  }
  SECTION("behind a residual, with a factor for each column") {
    const Matrix residual(fx::bf16, 8192, 31);
    const Numbers smooth = uniform(fx::bf16, 8192, 32);
    const Operand r = input(fx::bf16, residual), s = input(fx::bf16, smooth),
                  added = output(fx::bf16, x);
    call("layernorm_add_smooth", a.tensor(), r.tensor(), g.vector(), b.vector(), s.vector(),
         y.tensor(), added.tensor(), scale.vector(), kRows);
    expectNear(added.values(), sum(x, residual).values, kBf16, 0);
    expectQuantised(y, scale, scaled(layerNorm(sum(x, residual), gamma, beta), smooth), 0.25);
  }
}
