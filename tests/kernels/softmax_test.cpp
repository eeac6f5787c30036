// Softmax against a reference in double precision.
#include "support/structure.h"

#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/softmax.h>

#include <limits>

using namespace kernel_tests;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What must come out, and how far from it: (|x - max| + log2 n + n / threads + 4) 2^-23 of a value
/// for the exponent and the sum, and its rounding.
struct Reference {
  std::vector<double> y, bound;
};
Reference softmax(const fk::SoftmaxProblem &problem, int threads, std::span<const double> x) {
  Reference result;
  const std::size_t n = static_cast<std::size_t>(problem.n);
  for (std::size_t at = 0; at < x.size(); at += n) {
    double largest = -kInfinity, sum = 0;
    bool nan = false;
    for (double v : x.subspan(at, n)) {
      nan |= std::isnan(v);
      largest = std::max(largest, v);
    }
    for (double v : x.subspan(at, n))
      sum += std::exp(v - largest);
    for (double v : x.subspan(at, n)) {
      const double y = nan ? std::nan("") : std::exp(v - largest) / sum;
      const double steps = largest - v + std::log2(double(n)) + double(n) / threads + 4;
      result.y.push_back(y);
      result.bound.push_back(y * (std::isfinite(steps) ? steps * 0x1p-23 : 0) +
                             y * unit(problem.y) + underflow(problem.y));
    }
  }
  return result;
}

/// Runs a problem with rows that have gaps of `gap` elements, and compares.
void expectSoftmax(const fk::SoftmaxProblem &problem, const fk::RowConfig &config, std::int64_t m,
                   std::span<const double> values, std::int64_t gap = 0) {
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const Operand x = Operand::input(problem.x, m, problem.n, values, gap),
                y = Operand::output(problem.y, m, problem.n, gap);
  const fx::Stream stream;
  fk::SoftmaxPlan(problem, config)({.x = x.tensor(), .y = y.tensor()}, stream);
  stream.synchronize();
  const Reference reference = softmax(problem, config.threads, values);
  expectWithin(y.values(), reference.y, reference.bound);
}
void expectSoftmax(const fk::SoftmaxProblem &problem, std::int64_t m, double scale = 10) {
  expectSoftmax(problem, fk::choose(problem, m), m, uniform(problem.x, m * problem.n, 1, scale));
}

const fk::RowConfig kStreamed{.threads = 64, .block = 64, .resident = false};

} // namespace

TEST_CASE("softmax of rows of any length", "[run]") {
  for (std::int64_t n : {1, 7, 64, 255, 1000})
    expectSoftmax({.x = fx::f16, .y = fx::f16, .n = n}, n < 64 ? 37 : 3);
  expectSoftmax({.x = fx::bf16, .y = fx::bf16, .n = 2056}, 2);
  expectSoftmax({.x = fx::f32, .y = fx::f32, .n = 65}, 5, 60);
  expectSoftmax({.x = fx::f32, .y = fx::bf16, .n = 4097}, 1);
}

TEST_CASE("softmax of rows with gaps, and of rows that do not stay in registers", "[run]") {
  // The rows start at multiples of 8 elements, and the last access of each is narrower.
  const fk::SoftmaxProblem padded{.x = fx::f16, .y = fx::f16, .n = 1001, .row_align = 8};
  expectSoftmax(padded, fk::choose(padded, 3), 3, uniform(fx::f16, 3 * 1001, 2, 8), 7);
  expectSoftmax(padded, kStreamed, 3, uniform(fx::f16, 3 * 1001, 3, 8), 7);
  const fk::SoftmaxProblem odd{.x = fx::f32, .y = fx::f32, .n = 130};
  expectSoftmax(odd, kStreamed, 2, uniform(fx::f32, 260, 4, 60));
  // Four rows a block; the last block has one.
  const fk::SoftmaxProblem few{.x = fx::f32, .y = fx::f32, .n = 80};
  expectSoftmax(few, {.threads = 16, .block = 64, .resident = false}, 5, uniform(fx::f32, 400, 5));
}

TEST_CASE("softmax of unusual rows", "[run]") {
  const fk::SoftmaxProblem problem{.x = fx::f32, .y = fx::f32, .n = 128};
  const std::int64_t n = problem.n;
  std::vector<double> x(static_cast<std::size_t>(8 * n));
  const auto row = [&](std::int64_t r) {
    return std::span(x).subspan(std::size_t(r * n), std::size_t(n));
  };
  // 0: all equal, exactly 1/128. 1: one far above the others, exactly 1 and 0.
  row(1)[77] = 200;
  std::fill(row(2).begin(), row(2).end(), -kInfinity);     // nothing but -infinity: NaN
  row(3)[5] = std::nan("");                                // a NaN: NaN
  std::fill(row(4).begin() + 3, row(4).end(), -kInfinity); // masked: exactly 1/3 and 0
  row(5)[127] = kInfinity;                                 // infinity: NaN
  for (std::int64_t i = 0; i < n; ++i) {
    row(6)[std::size_t(i)] = i % 2 ? 3e38 : -3e38; // the largest range
    row(7)[std::size_t(i)] = 1e-40 * double(i);    // subnormal numbers
  }
  x = decode(fx::f32, encode(fx::f32, x));
  expectSoftmax(problem, fk::choose(problem, 8), 8, x);
  expectSoftmax(problem, kStreamed, 8, x);

  const Operand in = Operand::input(fx::f32, 8, n, x), out = Operand::output(fx::f32, 8, n);
  const fx::Stream stream;
  fk::run(problem, {.x = in.tensor(), .y = out.tensor()}, stream);
  stream.synchronize();
  const std::vector<double> y = out.values();
  CHECK(std::all_of(y.begin(), y.begin() + n, [](double v) { return v == 0x1p-7; }));
  CHECK(y[std::size_t(n + 77)] == 1);
  CHECK(y[std::size_t(n + 76)] == 0);
}

TEST_CASE("softmax in place, and of no rows") {
  const fk::SoftmaxProblem problem{.x = fx::f16, .y = fx::f16, .n = 96};
  const fk::SoftmaxPlan plan(problem, fk::choose(problem, 4));
  const std::vector<double> x = uniform(fx::f16, 4 * 96, 7, 5);
  const Operand both = Operand::both(fx::f16, 4, 96, x);
  const fx::Stream stream;
  plan({.x = both.tensor(), .y = both.tensor()}, stream);
  stream.synchronize();
  const Reference reference = softmax(problem, plan.config().threads, x);
  expectWithin(both.values(), reference.y, reference.bound);

  const fx::TensorArg none(nullptr, fx::f16, fx::Extents{0, 96});
  CHECK(
      fx::Device::current().count_launches([&] { plan({.x = none, .y = none}, stream); }).empty());
}

TEST_CASE("softmax: another run, a graph, a file", "[run]") {
  expectStructure<fk::SoftmaxProblem>({.x = fx::bf16, .y = fx::f32, .n = 264},
                                      {.threads = 64, .block = 64}, 3);
}

TEST_CASE("softmax reads a row once and writes it once", "[run]") {
  for (const fk::SoftmaxProblem &problem :
       {fk::SoftmaxProblem{.x = fx::f16, .y = fx::f16, .n = 64},
        fk::SoftmaxProblem{.x = fx::f16, .y = fx::f16, .n = 2048},
        fk::SoftmaxProblem{.x = fx::f32, .y = fx::f32, .n = 1026}}) {
    const std::int64_t m = 65536 / problem.n;
    expectTraffic(problem, fk::choose(problem, m), m);
  }
}

TEST_CASE("softmax has a configuration for every problem that it supports") {
  std::vector<fk::SoftmaxProblem> problems;
  for (std::int64_t n = 1; n < 20000; n += 37)
    for (fx::DType dtype : {fx::f16, fx::f32})
      problems.push_back({.x = dtype, .y = dtype, .n = n});
  for (std::int64_t n : {2, 4, 16, 64, 65544, 131072, 1 << 28})
    for (int align : {0, 1, 8})
      problems.push_back({.x = fx::bf16, .y = fx::f32, .n = n, .row_align = align});
  expectTotal(problems);
}

TEST_CASE("softmax of the longest rows that stay in registers spills none") {
  expectNoSpills<fk::SoftmaxProblem>({{.x = fx::bf16, .y = fx::bf16, .n = 65536}});
}

TEST_CASE("softmax says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const fk::SoftmaxProblem good{.x = fx::f16, .y = fx::f16, .n = 4096};
  CHECK(fk::supported(good, target));
  CHECK(fk::supported(fk::SoftmaxProblem{.n = 0}, target).why ==
        "n is 0; a row has 1 to 268435456 elements");
  CHECK(fk::supported(fk::SoftmaxProblem{.x = fx::i8, .n = 8}, target).why ==
        "x is of type i8; f32, f16 and bf16 are supported");
  CHECK(fk::supported(fk::SoftmaxProblem{.n = 8, .row_align = 3}, target).why ==
        "row_align is 3; it is a power of two up to 16, or 0 for what n gives");
  CHECK(fk::supported(good, {.threads = 32, .block = 32}, target).why ==
        "threads=32 block=32: both are powers of two, and a block is a number of waves of 64 "
        "threads, at most 1024");
  CHECK(fk::supported(good, {.threads = 128, .block = 256}, target).why ==
        "threads=128 block=256: a row has a part of a wave of 64, or the block");
  CHECK(fk::supported(good, {.threads = 32, .block = 64}, target).why ==
        "a row of 4096 gives each of 32 threads 128 elements, and their registers hold 64; take "
        "more threads or resident=false");
  CHECK(messageOf([&] {
          fk::SoftmaxPlan({.n = 0}, {}, target);
        }).find("softmax on gfx942: n is 0") != std::string::npos);
}

TEST_CASE("softmax refuses arguments that do not fit its problem") {
  const fk::SoftmaxProblem problem{.x = fx::f16, .y = fx::f16, .n = 64};
  const fk::SoftmaxPlan plan(problem, fk::choose(problem, 4));
  const Operand x = Operand::input(fx::f16, 4, 64, std::vector<double>(256)),
                wide = Operand::output(fx::f32, 4, 64);
  const auto message = [&](const fx::TensorArg &a, const fx::TensorArg &b) {
    return messageOf([&] { plan({.x = a, .y = b}); });
  };
  const auto has = [](const std::string &text, const char *part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    CHECK(text.find("softmax_test.cpp") != std::string::npos);
  };
  void *data = x.tensor().data();
  has(message(fx::tensor(data, fx::f16, {4, 32}), x.tensor()),
      "softmax: x has the shape (4, 32); (m, n) = (4, 64) is expected");
  has(message(x.tensor(), fx::tensor(data, fx::f16, {3, 64})),
      "softmax: y has the shape (3, 64); (m, n) = (4, 64) is expected");
  has(message(fx::tensor(data, fx::f16, {256}), x.tensor()),
      "softmax: x has the shape (256); a matrix of at most 2147483647 rows is expected");
  has(message(x.tensor(), wide.tensor()), "softmax: y is of type f32; the problem says f16");
  has(message(fx::tensor(data, fx::f16, {4, 64}, {1, 4}), x.tensor()),
      "softmax: x has the shape (4, 64) and the strides (1, 4); the stride of n is 1, as in a "
      "contiguous tensor; pass a contiguous copy");
  has(message(fx::tensor(data, fx::f16, {4, 64}, {65, 1}), x.tensor()),
      "softmax: x has the shape (4, 64) and the strides (65, 1); the stride of m, 65, is no "
      "multiple "
      "of 8");
  has(message(fx::tensor(static_cast<char *>(data) + 2, fx::f16, {4, 64}), x.tensor()),
      "softmax: x starts at an address that is no multiple of 16 bytes");

  // What is written has a place for each element, and is x itself or apart from it.
  const Operand y = Operand::output(fx::f16, 4, 64), both = Operand::output(fx::f16, 8, 64);
  void *to = y.tensor().data();
  for (std::int64_t stride : {0, 32})
    has(message(x.tensor(), fx::tensor(to, fx::f16, {4, 64}, {stride, 1})),
        "by them some elements share their place; what is written has one for each");
  auto *rows = static_cast<fx::half_t *>(both.tensor().data());
  const fx::TensorArg first = fx::tensor(rows, {4, 64}), second = fx::tensor(rows + 64, {4, 64}),
                      left = fx::tensor(rows, {3, 64}, {128, 1}),
                      right = fx::tensor(rows + 64, {3, 64}, {128, 1}),
                      middle = fx::tensor(rows + 32, {3, 64}, {128, 1});
  has(message(first, second), "softmax: y shares memory with x, which is read while it is written");
  has(message(left, middle), "y shares memory with x");
  has(message(middle, right), "y shares memory with x");
  CHECK(messageOf([&] { plan({.x = left, .y = right}); }) == messageOf([] {}));
  fx::Device::current().synchronize();
}

TEST_CASE("families refuse enumerations without a value, and rows that no call has") {
  const fx::Target target = fx::Target::parse("gfx942");
  CHECK(fk::supported(fk::NormProblem{.kind = fk::NormKind(9), .n = 64}, target).why ==
        "kind is 9, which is none of the values that it has");
  CHECK(fk::supported(fk::GemmProblem{.n = 64, .k = 64, .scale_a = fk::Scales(99)}, target).why ==
        "scale_a is 99, which is none of the values that it has");
  CHECK(fk::supported(fk::GemmProblem{.n = 64, .k = 64, .scale_a = fk::Scales::per_row}, target));
  const fk::GemmProblem product{.n = 64, .k = 1024};
  fk::GemmConfig config = fk::choose(product, 16, target);
  config.loop = fk::GemmLoop(7);
  CHECK(fk::supported(product, config, target).why ==
        "loop is 7, which is none of the values that it has");
  CHECK(messageOf([&] {
          fk::choose(product, -1, target);
        }).find("gemm: m is -1; a call has 0 to 2147483647 rows") != std::string::npos);
  config.loop = fk::GemmLoop::ring;
  for (std::int64_t m : {std::int64_t(-1), std::int64_t(1) << 40})
    CHECK(messageOf([&] {
            fk::workspace_bytes(product, config, m);
          }).find("a call has 0 to 2147483647 rows") != std::string::npos);
  CHECK(fk::supported(fk::NormProblem{.n = 64, .eps = 1e300}, target).why.find("eps is") == 0);
}
