// Collectives whose values are codes of 8 bits between the ranks: bit by bit against the definition of
// their blocks, and within a bound of the sum without them.
#include "collective/ranks.h"

#include <flydsl/host/autotune.h>

#include <limits>

using namespace collective_tests;

namespace {

constexpr CollectiveStages kStages[] = {CollectiveStages::one, CollectiveStages::two,
                                        CollectiveStages::write};
CollectiveConfig with(CollectiveStages stages) {
  return {.stages = stages, .block = 64, .blocks = 3};
}

/// What a block's largest value and a value of it tell of the value's error: half a step of the code's
/// mantissa, or half of the smallest number times the scale, which is less than 2 largest / most.
double errorOf(fx::DType wire, double value, double largest) {
  return wire == fx::f8E4M3FN ? std::max(std::fabs(value) * 0x1p-4, 2 * largest / 448 * 0x1p-10)
                              : std::max(std::fabs(value) * 0x1p-3, 2 * largest / 57344 * 0x1p-17);
}
std::vector<double> errorsOf(fx::DType wire, const std::vector<double> &values) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double largest = 0;
    for (std::size_t j = i / 32 * 32; j < i / 32 * 32 + 32; ++j)
      largest = std::max(largest, std::fabs(values[j]));
    errors.push_back(errorOf(wire, values[i], largest));
  }
  return errors;
}

/// Checks a sum on a rank. Each x has the error of its way, which the sum adds up; in two stages the
/// sum, with these errors, has one more. A sum of f32 and the rounding to y's type add to it.
void expectBound(const CollectiveProblem &problem, const std::vector<Bytes> &x, const Bytes &y,
                 CollectiveStages stages) {
  std::vector<double> sum, bound, size;
  for (const Bytes &one : x) {
    const std::vector<double> values = fk::host::decode(problem.type, one),
                              errors = errorsOf(problem.wire, values);
    sum.resize(values.size());
    bound.resize(values.size());
    size.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum[i] += values[i];
      bound[i] += errors[i];
      size[i] += std::fabs(values[i]) + errors[i];
    }
  }
  if (stages != CollectiveStages::one) {
    std::vector<double> onTheWay;
    for (std::size_t i = 0; i < sum.size(); ++i)
      onTheWay.push_back(std::fabs(sum[i]) + bound[i]);
    const std::vector<double> once = errorsOf(problem.wire, onTheWay);
    for (std::size_t i = 0; i < sum.size(); ++i)
      bound[i] += once[i];
  }
  const double ofType = problem.type == fx::bf16  ? 0x1p-8
                        : problem.type == fx::f16 ? 0x1p-11
                                                  : 0x1p-24;
  const std::vector<double> found = fk::host::decode(problem.type, y);
  double worst = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const double rounding = (std::fabs(sum[i]) + bound[i]) * ofType + size[i] * 8 * 0x1p-24;
    worst = std::max(worst, std::fabs(found[i] - sum[i]) / (bound[i] + rounding));
  }
  CHECK(worst <= 1);
  CHECK(worst > 0.1); // the bound is no other order of magnitude than the errors
}

void expectRight(const CollectiveProblem &problem, CollectiveStages stages, std::int64_t m,
                 int calls = 3) {
  const CollectiveConfig config = with(stages);
  INFO(fx::to_config(problem).str() << " " << fx::to_config(config).str() << " m=" << m);
  Ranks ranks(problem, m);
  const fk::CollectivePlan plan(problem, config);
  for (int call = 0; call < calls; ++call) {
    const std::vector<Bytes> values = ranks.fill(static_cast<std::uint64_t>(call));
    ranks.run([&](int rank, const fx::Stream &stream) { plan(ranks.args(rank), stream); });
    REQUIRE(ranks.isRight(values, 0, stages));
    if (problem.kind == CollectiveKind::all_reduce)
      expectBound(problem, values, ranks.y[0].memory.to_host(), stages);
  }
}

} // namespace

TEST_CASE("an all-reduce by codes of 8 bits", "[run]") {
  for (const CollectiveStages stages : kStages)
    expectRight({.type = fx::bf16, .ranks = 2, .wire = fx::f8E4M3FN}, stages, 32 * 51, 2);
}

TEST_CASE("sums by codes of 8 bits, of all types and of more ranks") {
  expectRight({.type = fx::f16, .ranks = 4, .wire = fx::f8E5M2}, CollectiveStages::two, 32 * 9, 2);
  expectRight({.type = fx::f32, .ranks = 8, .wire = fx::f8E4M3FN}, CollectiveStages::write, 32 * 20,
              2);
  expectRight({.type = fx::f32, .ranks = 4, .wire = fx::f8E5M2}, CollectiveStages::one, 32 * 7, 2);
  expectRight(
      {.kind = CollectiveKind::reduce_scatter, .type = fx::bf16, .ranks = 4, .wire = fx::f8E4M3FN},
      CollectiveStages::one, 32 * 4 * 5, 2);
}

TEST_CASE("codes of 8 bits: blocks of zeros, of tiny values, and with no number in them") {
  const CollectiveProblem problem{.type = fx::f32, .ranks = 2, .wire = fx::f8E4M3FN};
  for (const CollectiveStages stages : kStages) {
    Ranks ranks(problem, 32 * 4);
    const fk::CollectivePlan plan(problem, with(stages));
    std::vector<float> x(32 * 4, 0.0f);
    for (std::size_t i = 32; i < 64; ++i)
      x[i] = std::ldexp(1.0f + static_cast<float>(i % 8) / 8, -120);
    x[64] = std::numeric_limits<float>::quiet_NaN();
    x[65] = x[100] = 1;
    x[96] = std::numeric_limits<float>::infinity();
    Bytes bytes(x.size() * 4);
    std::memcpy(bytes.data(), x.data(), bytes.size());
    for (Vector &own : ranks.x)
      own.memory.copy_from(bytes);
    ranks.run([&](int rank, const fx::Stream &stream) { plan(ranks.args(rank), stream); });
    for (const Vector &y : ranks.y) {
      const std::vector<double> found = fk::host::decode(fx::f32, y.memory.to_host());
      for (std::size_t i = 0; i < 64; ++i)
        CHECK(found[i] == 2 * static_cast<double>(x[i]));
      for (std::size_t i = 64; i < 128; ++i)
        CHECK(std::isnan(found[i]));
    }
  }
}

TEST_CASE("codes of 8 bits: what is refused, and what is chosen") {
  const CollectiveProblem problem{.type = fx::bf16, .ranks = 2, .wire = fx::f8E4M3FN};
  Ranks ranks(problem, 32 * 40, {.capacity = 1024});
  const fk::CollectivePlan plan(problem, with(CollectiveStages::one));
  fk::CollectiveArgs args = ranks.args(0);
  const auto told = [&] { return messageOf([&] { plan(args, ranks.stream(0)); }); };
  // A code for each value, and a scale for each block.
  expectPart(told(), "1320 bytes do not fit the group's windows of 1024");
  args.x = fx::TensorArg(args.x.data(), fx::bf16, fx::Extents{40});
  args.y = fx::TensorArg(args.y.data(), fx::bf16, fx::Extents{40});
  expectPart(told(), "m is 40; it is a multiple of 32, which is a block");
  const auto why = [&](auto change) {
    CollectiveProblem changed = problem;
    change(changed);
    return fk::supported(changed).why;
  };
  expectPart(why([](auto &p) { p.wire = fx::i8; }), "wire is of type i8");
  expectPart(why([](auto &p) { p.kind = CollectiveKind::all_gather; }),
             "wire is of all_reduce and reduce_scatter");
  // The size is that of what travels.
  CollectiveProblem four = problem;
  four.ranks = 4;
  CHECK(fk::choose(four, 100 << 10).stages == CollectiveStages::one);
  CHECK(fk::choose(four, 200 << 10).stages == CollectiveStages::two);
}
