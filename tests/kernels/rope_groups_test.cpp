// Queries that rope quantises by groups, whose scales it writes, are read by other families: every kind of
// group with every reader. The reference is what rope has written, as numbers: its error is tested elsewhere.
#include "support/float8_of.h"
#include "support/quantised.h"
#include "support/structure.h"

#include <flydsl/kernels/elementwise.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/rope.h>

using namespace kernel_tests;

namespace {

constexpr std::int64_t kTokens = 9, kHeads = 3, kHead = 256, kRows = kTokens * kHeads, kN = 32;

/// Heads of q by groups, in device memory.
struct Queries {
  std::int64_t group;
  fx::DType type, scale;
  std::vector<double> x;
  Operand q, scales; ///< (tokens * heads, head), (tokens * heads, head / group)

  Queries(fx::DType type, fx::DType scale, std::int64_t group)
      : group(group), type(type), scale(scale), x(uniform(fx::bf16, kRows * kHead, 3)),
        q(Operand::output(type, kRows, kHead)),
        scales(Operand::output(scale, kRows, kHead / group)) {
    const fk::RopeProblem problem{.x = fx::bf16,
                                  .y = type,
                                  .q_heads = int(kHeads),
                                  .head = int(kHead),
                                  .rotary = 0,
                                  .quantise = fk::Quantisation::row,
                                  .group = int(group),
                                  .scale = scale};
    const Operand in = Operand::input(fx::bf16, kRows, kHead, x);
    const fx::Stream stream;
    fk::RopePlan(problem, fk::choose(problem, kTokens))(
        {.q = heads(in, kHead), .q_out = heads(q, kHead), .q_scale = heads(scales, kHead / group)},
        stream);
    stream.synchronize();
    expectHeld();
  }
  static fx::TensorArg heads(const Operand &of, std::int64_t head) {
    return fx::tensor(of.tensor().data(), of.dtype(), {kTokens, kHeads, head});
  }
  /// What q and its scales stand for.
  std::vector<double> numbers() const {
    std::vector<double> all = q.values();
    const std::vector<double> ofGroups = scales.values();
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] *= ofGroups[i / std::size_t(group)];
    return all;
  }

private:
  void expectHeld() const {
    const std::vector<double> held = numbers(), ofGroups = scales.values();
    std::vector<double> bound;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double step = ofGroups[i / std::size_t(group)];
      bound.push_back((1 + 0x1p-18) * (type == fx::i8 ? 0.5 * step
                                                      : std::max(std::fabs(x[i]) * unit(type),
                                                                 underflow(type) * step)));
    }
    expectWithin(held, x, bound);
  }
};

} // namespace

TEST_CASE("a rotated q in groups of any size is read by a chain", "[run]") {
  // Groups as rows, whose scale is a column.
  for (const std::int64_t group : {16, 64, 256})
    for (const fx::DType type : {fx::DType(fx::f8E4M3FN), fx::DType(fx::i8)}) {
      const Queries of(type, fx::f32, group);
      const std::int64_t rows = kRows * kHead / group;
      const fk::ElementwiseChain scaled{
          "scaled", [](const fx::Vector &q, const fx::Vector &scale) { return q * scale; }};
      const fk::ElementwisePlan plan(
          scaled,
          {.x = {{type}, {fx::f32, fk::ChainOperand::column}}, .y = {{fx::f32}}, .n = group});
      const Operand y = Operand::output(fx::f32, rows, group);
      const fx::Stream stream;
      plan({.x = {fx::tensor(of.q.tensor().data(), type, {rows, group}),
                  fx::tensor(of.scales.tensor().data(), fx::f32, {rows})},
            .y = {y.tensor()}},
           stream);
      stream.synchronize();
      const std::vector<double> expected = of.numbers();
      std::vector<double> bound;
      for (const double value : expected)
        bound.push_back(std::fabs(value) * 0x1p-24);
      expectWithin(y.values(), expected, bound);
    }
}

namespace {

/// Requires that a product of q with weights reads its scales. `rowsOfScale`: rows of weights, and
/// elements, that share one.
void expectProduct(const fk::GemmProblem &problem, std::int64_t rowsOfScale) {
  const Queries of(problem.a, problem.scale, rowsOfScale == 1 ? 32 : 128);
  const std::int64_t across = kHead / of.group, down = (kN + rowsOfScale - 1) / rowsOfScale;
  const std::vector<double> b = uniform(problem.b, kN * kHead, 5);
  std::vector<double> ofB;
  for (std::int64_t i = 0; i < down * across; ++i)
    ofB.push_back(std::ldexp(1.0, -int(i % 3)));
  const Operand inB = Operand::input(problem.b, kN, kHead, b),
                scaleB = Operand::input(problem.scale, down, across, ofB),
                c = Operand::output(fx::f32, kRows, kN);
  const fk::GemmPlan plan(problem, fk::choose(problem, kRows));
  const fx::DeviceArray<std::uint8_t> workspace({std::int64_t(plan.workspace_bytes(kRows)) + 16});
  const fx::Stream stream;
  plan({.a = of.q.tensor(),
        .b = inB.tensor(),
        .c = c.tensor(),
        .scale_a = of.scales.tensor(),
        .scale_b = scaleB.tensor(),
        .workspace = workspace},
       stream);
  stream.synchronize();
  const std::vector<double> a = of.numbers();
  std::vector<double> expected, bound;
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < kN; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < kHead; ++k) {
        const double term = a[std::size_t(i * kHead + k)] * b[std::size_t(j * kHead + k)] *
                            ofB[std::size_t(j / rowsOfScale * across + k / of.group)];
        sum += term;
        size += std::fabs(term);
      }
      expected.push_back(sum);
      bound.push_back(size * double(kHead) * 0x1p-23);
    }
  expectWithin(c.values(), expected, bound);
}

} // namespace

TEST_CASE("a rotated q in groups of 128 is read by products with scales of blocks", "[run]") {
  const fx::Target &target = fx::Device::current().target();
  const fx::DType type = float8Of(target);
  if (!type)
    return; // gfx90a and gfx1100 have no products of 8-bit floats
  const fk::GemmProblem problem{.a = type,
                                .b = type,
                                .c = fx::f32,
                                .b_layout = fk::OperandLayout::rows,
                                .n = kN,
                                .k = kHead,
                                .scale_a = fk::Scales::per_block,
                                .scale_b = fk::Scales::per_block};
  INFO(fk::supported(problem).why);
  REQUIRE(fk::supported(problem).ok);
  expectProduct(problem, 128);
}

TEST_CASE("a rotated q in blocks of 32 is read by products of MX", "[run]") {
  const fk::GemmProblem problem{.a = fx::f8E4M3FN,
                                .b = fx::f8E4M3FN,
                                .c = fx::f32,
                                .b_layout = fk::OperandLayout::rows,
                                .n = kN,
                                .k = kHead,
                                .scale_a = fk::Scales::mx,
                                .scale_b = fk::Scales::mx,
                                .scale = fx::f8E8M0FNU};
  const std::string name = fx::Device::current().target().name();
  const bool has = name == "gfx950" || name == "gfx1250";
  REQUIRE(fk::supported(problem).ok == has);
  if (has)
    expectProduct(problem, 1);
}
