// Chains of elementwise functions against the same functions in double precision.
#include "support/operand.h"
#include "support/quantised.h"
#include "support/structure.h"

#include <flydsl/host/graph.h>
#include <flydsl/kernels/elementwise.h>
#include <flydsl/kernels/quantise.h>

using namespace kernel_tests;

namespace {

using fk::ChainOperand;
using fk::ElementwiseArgs;
using fk::ElementwiseChain;
using fk::ElementwisePlan;
using fk::ElementwiseProblem;
using fx::Vector;

// Each of the three operations rounds once, by up to 2^-24 of its result.
const ElementwiseChain affine{"affine",
                              [](const Vector &x, const Vector &row, const Vector &column,
                                 const Vector &number) { return x * row + column * number; }};

void expectAffine(fx::DType type, fx::DType y, std::int64_t m, std::int64_t n, std::int64_t gap,
                  int align) {
  INFO(type.name() << " to " << y.name() << " " << m << " x " << n << " gap " << gap);
  const auto x = uniform(type, m * n, 1, type.is_integer() ? 100 : 1);
  const auto row = uniform(fx::f32, n, 2), column = uniform(fx::f16, m, 3),
             number = uniform(fx::f32, 1, 4);
  const Operand deviceX = Operand::input(type, m, n, x, gap),
                deviceRow = Operand::input(fx::f32, 1, n, row),
                deviceColumn = Operand::input(fx::f16, 1, m, column),
                deviceNumber = Operand::input(fx::f32, 1, 1, number),
                deviceY = Operand::output(y, m, n, gap);
  const ElementwisePlan plan(affine, {.x = {{type},
                                            {fx::f32, ChainOperand::row},
                                            {fx::f16, ChainOperand::column},
                                            {fx::f32, ChainOperand::number}},
                                      .y = {{y}},
                                      .n = n,
                                      .row_align = align});
  const fx::Stream stream;
  plan({.x = {deviceX.tensor(), deviceRow.vector(), deviceColumn.vector(), deviceNumber.vector()},
        .y = {deviceY.tensor()}},
       stream);
  stream.synchronize();
  std::vector<double> wanted, bound;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const double product = x[std::size_t(i * n + j)] * row[std::size_t(j)],
                   added = column[std::size_t(i)] * number[0];
      wanted.push_back(product + added);
      bound.push_back((std::fabs(product) + std::fabs(added)) * 0x1p-22 +
                      std::fabs(product + added) * unit(y) + underflow(y));
    }
  expectWithin(deviceY.values(), wanted, bound);
}

const ElementwiseChain same{"same", [](const Vector &x) { return x; }};
const ElementwiseChain scaled{"scaled", [](const Vector &x, const Vector &by) { return x * by; }};

} // namespace

TEST_CASE("chains of matrices, rows, columns and numbers", "[run]") {
  expectAffine(fx::bf16, fx::bf16, 5, 64, 0, 0);
  expectAffine(fx::f32, fx::f16, 3, 100, 28, 0);
  expectAffine(fx::f16, fx::f32, 300, 7, 3, 0);   // single elements
  expectAffine(fx::bf16, fx::f32, 2, 1000, 2, 2); // rows at multiples of 2
  expectAffine(fx::i8, fx::f32, 1, 4096, 0, 0);
  expectAffine(fx::u8, fx::bf16, 3, 48, 16, 0);
  expectAffine(fx::i32, fx::f32, 2, 24, 0, 0);
  for (fx::DType type : {fx::f8E4M3FN, fx::f8E5M2, fx::f8E4M3FNUZ, fx::f8E5M2FNUZ})
    expectAffine(type, fx::f32, 2, 32, 0, 0);
}

TEST_CASE("a chain with two results, in place", "[run]") {
  // A rotation: both parts are read before one is written.
  const ElementwiseChain turn{"turn", [](const Vector &a, const Vector &b) {
                                return std::array{a - b, a + b};
                              }};
  const std::int64_t m = 9, n = 40;
  const auto a = integers(m * n, 1, -99, 99), b = integers(m * n, 2, -99, 99);
  const Operand deviceA = Operand::both(fx::f32, m, n, a, 8),
                deviceB = Operand::both(fx::f32, m, n, b, 8);
  const ElementwisePlan plan(turn,
                             {.x = {{fx::f32}, {fx::f32}}, .y = {{fx::f32}, {fx::f32}}, .n = n});
  const fx::Stream stream;
  const ElementwiseArgs args{.x = {deviceA.tensor(), deviceB.tensor()},
                             .y = {deviceA.tensor(), deviceB.tensor()}};
  plan(args, stream);
  stream.synchronize();
  std::vector<double> sums, differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sums.push_back(a[i] + b[i]);
    differences.push_back(a[i] - b[i]);
  }
  CHECK(deviceA.values() == differences);
  CHECK(deviceB.values() == sums);
  // Once more from a graph: a - b - (a + b) and a - b + (a + b).
  const fx::Graph graph =
      fx::Graph::capture(stream, [&](const fx::Stream &captured) { plan(args, captured); });
  graph.launch(stream);
  stream.synchronize();
  for (std::size_t i = 0; i < a.size(); ++i) {
    sums[i] = 2 * a[i];
    differences[i] = -2 * b[i];
  }
  CHECK(deviceA.values() == differences);
  CHECK(deviceB.values() == sums);
}

TEST_CASE("rows are gathered and scattered by their numbers", "[run]") {
  const std::int64_t rows = 6, n = 24;
  const std::vector<double> ids{4, 0, -1, 5, 6, 4, 1e9};
  const auto m = std::int64_t(ids.size());
  const auto table = uniform(fx::bf16, rows * n, 1), added = uniform(fx::f32, m * n, 2);
  const Operand deviceTable = Operand::input(fx::bf16, rows, n, table, 8),
                deviceAdded = Operand::input(fx::f32, m, n, added);
  const ElementwiseChain embed{"embed",
                               [](const Vector &x, const Vector &y) { return x * 3.0f + y; }};
  for (fx::DType index : {fx::i32, fx::i64}) {
    const Operand deviceIds = Operand::input(index, 1, m, ids),
                  y = Operand::output(fx::f32, m, n, 4);
    const fx::Stream stream;
    ElementwisePlan(embed, {.x = {{fx::bf16, ChainOperand::gathered}, {fx::f32}},
                            .y = {{fx::f32}},
                            .n = n,
                            .index = index})({.x = {deviceTable.tensor(), deviceAdded.tensor()},
                                              .y = {y.tensor()},
                                              .ids = deviceIds.vector()},
                                             stream);
    stream.synchronize();
    std::vector<double> wanted, bound;
    for (std::size_t i = 0; i < ids.size(); ++i)
      for (std::size_t j = 0; j < std::size_t(n); ++j) {
        const bool isThere = ids[i] >= 0 && ids[i] < rows;
        wanted.push_back((isThere ? 3 * table[std::size_t(ids[i]) * n + j] : 0) + added[i * n + j]);
        bound.push_back(4 * 0x1p-22);
      }
    expectWithin(y.values(), wanted, bound);

    // Scattered to other rows; those without a number stay as they are.
    const std::vector<double> to{3, -1, 0, 7, 1}, before = uniform(fx::bf16, rows * n, 3);
    const auto few = std::int64_t(to.size());
    const auto x = uniform(fx::bf16, few * n, 4);
    const Operand deviceTo = Operand::input(index, 1, few, to),
                  deviceX = Operand::input(fx::bf16, few, n, x),
                  into = Operand::both(fx::bf16, rows, n, before, 8);
    ElementwisePlan(same, {.x = {{fx::bf16}}, .n = n, .scatter = true, .index = index})(
        {.x = {deviceX.tensor()}, .y = {into.tensor()}, .to = deviceTo.vector()}, stream);
    stream.synchronize();
    std::vector<double> after = before;
    for (std::size_t i = 0; i < to.size(); ++i)
      if (to[i] >= 0 && to[i] < rows)
        std::copy_n(x.begin() + std::ptrdiff_t(i) * n, n,
                    after.begin() + std::ptrdiff_t(to[i]) * n);
    CHECK(into.values() == after);
  }
}

TEST_CASE("results in microscaling formats have the bits that quantise gives", "[run]") {
  const ElementwiseChain same{"same", [](const Vector &x) { return x; }};
  constexpr std::int64_t m = 3, n = 160;
  auto values = uniform(fx::bf16, m * n, 7);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] *= std::ldexp(1, int(i / 32 * 5) - 40); // another scale for each block
  std::fill_n(values.begin() + 64, 32, 0);
  const Operand x = Operand::input(fx::bf16, m, n, values);
  for (fx::DType type : {fx::f4E2M1FN, fx::f8E4M3FN, fx::f8E5M2})
    for (fk::BlockScale rule : {fk::BlockScale::floor, fk::BlockScale::ceil}) {
      INFO(type.name() << " rule " << int(rule));
      const std::int64_t bytes = n * type.bits() / 8;
      const auto of = [&](const Operand &operand, fx::DType as, std::int64_t columns,
                          std::int64_t stride) {
        return fx::TensorArg(operand.tensor().data(), as, fx::Extents{m, columns},
                             fx::Extents{stride, 1});
      };
      // Rows with gaps: 16 bytes of values.
      const Operand y = Operand::output(fx::u8, m, bytes, 16),
                    scales = Operand::output(fx::u8, m, n / 32),
                    wantedY = Operand::output(fx::u8, m, bytes),
                    wantedScales = Operand::output(fx::u8, m, n / 32);
      const fx::Stream stream;
      ElementwisePlan(same,
                      {.x = {{}},
                       .y = {{.type = type, .group = 32, .scale = fx::f8E8M0FNU, .block = rule}},
                       .n = n})({.x = {x.tensor()},
                                 .y = {of(y, type, n, n + 16 * 8 / type.bits())},
                                 .scales = {of(scales, fx::f8E8M0FNU, n / 32, n / 32)}},
                                stream);
      const fk::QuantiseProblem quantise{
          .x = fx::bf16, .q = type, .n = n, .scale = fk::ScaleOf::block, .block = rule};
      fk::QuantisePlan(quantise, fk::choose(quantise, m))(
          {.x = x.tensor(),
           .q = of(wantedY, type, n, n),
           .scale = of(wantedScales, fx::f8E8M0FNU, n / 32, n / 32)},
          stream);
      stream.synchronize();
      y.expectUntouched();
      scales.expectUntouched();
      CHECK(y.bytes() == wantedY.bytes());
      CHECK(scales.bytes() == wantedScales.bytes());
    }
}

TEST_CASE("results quantised by groups", "[run]") {
  // silu(gate) * up with a scale for each 128 values, as products with scales of blocks read them;
  // and for each 32 with powers of two.
  const ElementwiseChain swiglu{
      "swiglu", [](const Vector &gate, const Vector &up) { return fk::chain::silu(gate) * up; }};
  const std::int64_t m = 5, n = 384;
  for (const auto &[type, group, scale, byColumns] :
       {std::tuple(hardwareFp8(), 128, fx::DType(fx::f32), false),
        {fx::DType(fx::i8), 128, fx::DType(fx::f32), true},
        {fx::DType(fx::f8E4M3FN), 32, fx::DType(fx::f8E8M0FNU), false},
        {fx::DType(fx::f8E5M2), 8, fx::DType(fx::f32), true}}) {
    INFO(type.name() << " by " << group << " scales of " << scale.name());
    auto gate = uniform(fx::bf16, m * n, 1, 4), up = uniform(fx::bf16, m * n, 2, 4);
    std::fill_n(gate.begin(), 128, 0); // a group of zeros
    up[std::size_t(n) + 3] = 1000;
    up = decode(fx::bf16, encode(fx::bf16, up));
    const std::int64_t groups = n / group;
    const Operand deviceGate = Operand::input(fx::bf16, m, n, gate, 8),
                  deviceUp = Operand::input(fx::bf16, m, n, up),
                  y = Operand::output(type, m, n, 16),
                  scales = byColumns ? Operand::output(scale, groups, m, 3)
                                     : Operand::output(scale, m, groups, 3);
    fx::TensorArg scalesOf = scales.tensor();
    if (byColumns)
      scalesOf =
          fx::TensorArg(scalesOf.data(), scale, fx::Extents{m, groups}, fx::Extents{1, m + 3});
    const fx::Stream stream;
    ElementwisePlan(swiglu, {.x = {{}, {}}, .y = {{type, group, scale}}, .n = n})(
        {.x = {deviceGate.tensor(), deviceUp.tensor()}, .y = {y.tensor()}, .scales = {scalesOf}},
        stream);
    stream.synchronize();
    const std::vector<double> q = y.values(), found = scales.values();
    const double most = type == fx::i8 ? 127 : fk::host::largest(type);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t g = 0; g < groups; ++g) {
        INFO("row " << i << " group " << g);
        double largest = 0;
        std::vector<double> exact;
        for (std::int64_t e = 0; e < group; ++e) {
          const auto at = std::size_t(i * n + g * group + e);
          exact.push_back(gate[at] / (1 + std::exp(-gate[at])) * up[at]);
          largest = std::max(largest, std::fabs(exact.back()));
        }
        const double s = found[std::size_t(byColumns ? g * m + i : i * groups + g)];
        if (scale == fx::f32)
          CHECK(std::fabs(s - (largest > 0 ? largest / most : 1)) <= s * 0x1p-18);
        else if (largest > 0)
          CHECK((s * most >= largest * (1 - 0x1p-18) && s * most / 2 <= largest * (1 + 0x1p-18)));
        std::vector<double> got, wanted, bound;
        for (std::int64_t e = 0; e < group; ++e) {
          const double value = exact[std::size_t(e)] / s;
          got.push_back(q[std::size_t(i * n + g * group + e)]);
          wanted.push_back(value);
          bound.push_back(
              (type == fx::i8 ? 0.5 : std::max(std::fabs(value) * unit(type), underflow(type))) +
              std::fabs(value) * 0x1p-17);
        }
        expectWithin(got, wanted, bound);
      }
  }
}

TEST_CASE("functions for chains", "[run]") {
  const std::int64_t n = 512;
  std::vector<double> x;
  for (std::int64_t i = 0; i < n; ++i)
    x.push_back(double(i - 256) / 16);
  const Operand deviceX = Operand::input(fx::f32, 1, n, x), y = Operand::output(fx::f32, 1, n);
  const auto expect = [&](const char *name, Vector (*function)(const Vector &),
                          double (*exact)(double)) {
    INFO(name);
    const ElementwiseChain chain(name, [=](const Vector &v) { return function(v); });
    const fx::Stream stream;
    ElementwisePlan(chain, {.x = {{fx::f32}}, .y = {{fx::f32}}, .n = n})(
        {.x = {deviceX.tensor()}, .y = {y.tensor()}}, stream);
    stream.synchronize();
    std::vector<double> wanted, bound;
    for (double value : x) {
      wanted.push_back(exact(value));
      // The rounding of an exponential's argument, and of a sum with 1.
      bound.push_back(std::fabs(exact(value)) * (std::fabs(value) * value + 32) * 0x1p-23 +
                      0x1p-22);
    }
    expectWithin(y.values(), wanted, bound);
  };
  namespace chain = fk::chain;
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  static const auto of = sigmoid;
  expect("sigmoid", chain::sigmoid, [](double v) { return of(v); });
  expect("silu", chain::silu, [](double v) { return v * of(v); });
  expect("quick_gelu", chain::quick_gelu, [](double v) { return v * of(1.702 * v); });
  expect("gelu", chain::gelu, [](double v) { return v * std::erfc(-v / std::sqrt(2)) / 2; });
  expect("gelu_tanh", chain::gelu_tanh, [](double v) {
    return v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  });
  expect("relu_squared", chain::relu_squared, [](double v) { return v > 0 ? v * v : 0; });
  expect("softplus", chain::softplus, [](double v) { return std::log1p(std::exp(v)); });
}

TEST_CASE("a chain moves 16 bytes at a time and spills nothing") {
  const ElementwisePlan plan(affine, {.x = {{fx::bf16},
                                            {fx::bf16, ChainOperand::row},
                                            {fx::f32, ChainOperand::column},
                                            {fx::f32, ChainOperand::number}},
                                      .n = 4096});
  CHECK(plan.executable().spills() == 0);
  CHECK(plan.executable().scratch_bytes() == 0);
}

TEST_CASE("chains say what they do not support") {
  const auto why = [](const ElementwiseChain &chain, const ElementwiseProblem &problem) {
    try {
      ElementwisePlan(chain, problem, fx::Target::parse("gfx942"));
      return std::string("right");
    } catch (const fx::Error &error) {
      const std::string text = error.what();
      return text.substr(text.find("elementwise: "));
    }
  };
  CHECK(why(same, {.x = {{fx::bf16}}, .n = 8}) == "right");
  CHECK(why(same, {.x = {}, .n = 8}) ==
        "elementwise: same: x has 0 operands; 1 to 8 are supported");
  CHECK(why(same, {.x = {{}, {}}, .n = 8}) ==
        "elementwise: same: x has 2 operands, and the chain takes 1");
  CHECK(why(same, {.x = {{}}, .y = {{}, {}}, .n = 8}) ==
        "elementwise: same: y has 2 operands, and the chain gives 1");
  CHECK(why(same, {.x = {{fx::f4E2M1FN}}, .n = 8}) ==
        "elementwise: same: x[0] is of type f4E2M1FN; f32, f16, bf16, i32, i8, u8 and floats of 8 "
        "bits are supported");
  CHECK(why(same, {.x = {{}}, .y = {{fx::i8}}, .n = 8}) ==
        "elementwise: same: y[0] is of type i8; f32, f16 and bf16 are supported, and others by "
        "groups");
  CHECK(why(same, {.x = {{}}, .y = {{fx::bf16, 8}}, .n = 8}) ==
        "elementwise: same: y[0] is quantised and of type bf16; i8 and floats of 8 bits are "
        "supported");
  CHECK(why(same, {.x = {{}}, .y = {{fx::i8, 8, fx::f8E8M0FNU}}, .n = 8}) ==
        "elementwise: same: y[0] of i8 has scales of f8E8M0FNU; f32 is supported, and f8E8M0FNU "
        "for f8E4M3FN, f8E5M2 and f4E2M1FN");
  CHECK(why(same, {.x = {{}}, .y = {{fx::f4E2M1FN, 32}}, .n = 64}) ==
        "elementwise: same: y[0] is quantised and of type f4E2M1FN; i8 and floats of 8 bits are "
        "supported");
  CHECK(why(same, {.x = {{}}, .y = {{fx::f4E2M1FN, 32, fx::f8E8M0FNU}}, .n = 64, .row_align = 1})
            .find("y[0] is of type f4E2M1FN; two elements share a byte") != std::string::npos);
  for (int group : {4, 24, 512, 128})
    CHECK(why(same, {.x = {{}}, .y = {{fx::i8, group}}, .n = 64}) ==
          "elementwise: same: y[0] has groups of " + std::to_string(group) +
              "; a group is a power of two from 8 to 256 that divides n: a wave has it, and its "
              "threads have 8 elements at a time");
  CHECK(why(same, {.x = {{}}, .n = 8, .index = fx::f32}) ==
        "elementwise: same: index is f32; i32 and i64 are supported");
  CHECK(why(same, {.x = {{}}, .n = 0}).find("n is 0") != std::string::npos);
  CHECK(why(same, {.x = {{}}, .n = 8, .row_align = 3}).find("row_align is 3") != std::string::npos);

  const ElementwisePlan plan(affine, {.x = {{fx::f32},
                                            {fx::f32, ChainOperand::row},
                                            {fx::f32, ChainOperand::gathered},
                                            {fx::f32, ChainOperand::column}},
                                      .y = {{fx::f32}},
                                      .n = 8});
  const Operand matrix = Operand::output(fx::f32, 3, 8), other = Operand::output(fx::f32, 3, 8),
                row = Operand::output(fx::f32, 1, 8), column = Operand::output(fx::f32, 1, 3),
                numbers = Operand::input(fx::i32, 1, 3, std::vector<double>{0, 1, 2});
  const auto message = [&](const ElementwiseArgs &args) { return messageOf([&] { plan(args); }); };
  const auto says = [&](const ElementwiseArgs &args, const char *text) {
    INFO(text);
    const std::string found = message(args);
    INFO(found);
    CHECK(found.find(text) != std::string::npos);
    CHECK(found.find("elementwise_test.cpp:") != std::string::npos);
  };
  ElementwiseArgs args{.x = {matrix.tensor(), row.vector(), matrix.tensor(), column.vector()},
                       .y = {other.tensor()},
                       .ids = numbers.vector()};
  CHECK(message(args) == "no error");
  args.x[1] = matrix.tensor();
  says(args, "elementwise: x[1] has the shape (3, 8); (n) = (8) is expected");
  args.x[1].reset();
  says(args, "elementwise: x[1] is missing; the problem has it");
  args.x[1] = row.vector();
  args.x[4] = row.vector();
  says(args, "elementwise: x[4] is given, and the problem does not have it");
  args.x[4].reset();
  args.ids.reset();
  says(args, "elementwise: ids is missing; the problem has it");
  args.ids = column.vector();
  says(args, "elementwise: ids is of type f32");
  args.ids = numbers.vector();
  args.to = numbers.vector();
  says(args, "elementwise: to is given, and the problem does not have it");
  args.to.reset();
  args.y[0] = matrix.tensor(); // what is gathered may be read after it was written
  says(args, "y[0] shares memory with x[2]");
  args.y[0] = fx::tensor(static_cast<float *>(other.tensor().data()), {0, 8});
  says(args, "elementwise: ids has the shape (3); (m) = (0) is expected");
  // Scales are written as y is.
  const ElementwisePlan grouped(
      scaled, {.x = {{fx::f32}, {fx::f32, ChainOperand::column}}, .y = {{fx::i8, 8}}, .n = 8});
  const Operand bytes = Operand::output(fx::i8, 3, 8), scales = Operand::output(fx::f32, 3, 1);
  const auto groupedSays = [&](const fx::TensorArg &of, const char *text) {
    CHECK(
        messageOf([&] {
          grouped({.x = {matrix.tensor(), column.vector()}, .y = {bytes.tensor()}, .scales = {of}});
        }).find(text) != std::string::npos);
  };
  groupedSays(scales.tensor(), "no error");
  groupedSays(fx::tensor(static_cast<float *>(column.vector().data()), {3, 1}),
              "scales[0] shares memory with x[1], which is read while it is written");
  groupedSays(fx::tensor(static_cast<float *>(matrix.tensor().data()), {3, 1}),
              "scales[0] shares memory with x[0]");
  groupedSays(fx::tensor(static_cast<float *>(bytes.tensor().data()), {3, 1}),
              "scales[0] and y[0] share memory; both are written");
  // A lambda that gives another number of elements.
  const ElementwiseChain three{
      "three", [](const fx::Vector &) { return fx::Vector::splat(1.0f, 3, fx::f32); }};
  CHECK(why(three, {.x = {{fx::f32}}, .y = {{fx::f32}}, .n = 8}) ==
        "elementwise: three: result 0 has 3 elements where the operands have 4; a chain computes "
        "each element from its own");
  // Without rows nothing is launched.
  const ElementwisePlan one(same, {.x = {{fx::f32}}, .y = {{fx::f32}}, .n = 8});
  const auto none = fx::tensor(static_cast<float *>(nullptr), {0, 8});
  CHECK(messageOf([&] { one({.x = {none}, .y = {none}}); }) == "no error");
}
