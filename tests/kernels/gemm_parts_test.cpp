// Kernels that users compose of the parts of products: exact sums of every loop, and what is
// refused.
#include "support/product.h"

#include <flydsl/kernels/parts.h>

using namespace kernel_tests;
namespace parts = flydsl::kernels::parts;
using fx::_;

namespace {

/// How a kernel is composed.
struct Shape {
  bool columnsA = false, gathered = false, scattered = false;
};

/// c = a b^T; gathered, of rows that indices name; scattered, to such rows.
const fx::Kernel composed{
    "composed", [](fx::Tensor a, fx::Tensor b, fx::Tensor c, fx::Tensor indices,
                   fx::Constexpr<parts::GemmSpec> spec, fx::Constexpr<Shape> shape) {
      const fx::Int32 m(shape->gathered || shape->scattered ? fx::Int32(indices.shape()[0])
                                                             : fx::Int32(c.shape()[0]));
      const parts::WorkTile tile =
          parts::TileScheduler(spec.value(), m).at(fx::block_idx().x);
      const parts::Operand ofA = shape->gathered   ? parts::Operand::gathered(a, indices)
                                 : shape->columnsA ? parts::Operand::columns(a)
                                                   : parts::Operand::rows(a);
      const auto ofB = [&] {
        switch (spec->problem.b_layout) {
        case OperandLayout::prepared:
          return parts::Operand::prepared(b);
        case OperandLayout::rows:
          return parts::Operand::rows(b);
        case OperandLayout::columns:
          return parts::Operand::columns(b);
        }
        throw fx::Error("a layout of no kind");
      };
      parts::Mainloop(spec.value(), tile, ofA, ofB()).run([&](const parts::Sums &sums) {
        const parts::Epilogue epilogue(spec.value(), tile);
        if (!shape->scattered)
          return epilogue.store(sums, c);
        epilogue.each(sums, [&](const fx::Vector &values, const parts::Group &at) {
          for (int i = 0; i < at.size; ++i)
            fx::if_((at.row < m) & (at.column + i < std::int32_t(spec->problem.n)), [&] {
              fx::atomic(fx::AtomicOp::add,
                         c.iter() + c.layout()(fx::Int32(indices(at.row)), at.column + i),
                         values.at(i));
            });
        });
      });
    }};

/// A matrix of integers, of which all sums are exact.
struct Matrix {
  Matrix(fx::DType type, std::int64_t rows, std::int64_t columns, std::uint64_t seed, bool turned)
      : rows(rows), columns(columns), turned(turned), values(integers(rows * columns, seed, -3, 3)),
        memory(turned ? Operand::input(type, columns, rows, transposed())
                      : Operand::input(type, rows, columns, values)) {}
  std::vector<double> transposed() const {
    std::vector<double> result(values.size());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        result[std::size_t(j * rows + i)] = values[std::size_t(i * columns + j)];
    return result;
  }
  /// As (rows, columns), whose neighbours are along K or along the rows.
  fx::TensorArg tensor() const {
    const fx::TensorArg all = memory.tensor();
    fx::TensorArg view =
        turned ? fx::tensor(all.data(), all.dtype(), {rows, columns}, {1, rows}) : all;
    return view.mark_layout_dynamic(turned ? 0 : 1, 8);
  }
  std::int64_t rows, columns;
  bool turned;
  std::vector<double> values;
  Operand memory;
};

void expectExact(GemmProblem problem, const GemmConfig &config, std::int64_t m,
                 const Shape &shape) {
  problem.c = fx::f32;
  problem.a_layout = shape.columnsA ? OperandLayout::columns : OperandLayout::rows;
  parts::GemmSpec spec{problem, config};
  // Columns need steps of more bytes where LDS has more banks.
  if (!parts::supported(spec, fx::Device::current().target()))
    spec.config.tile_k *= 2;
  const fk::Support answer = parts::supported(spec, fx::Device::current().target());
  INFO(answer.why);
  REQUIRE(answer);
  const std::int64_t rowsA = shape.gathered ? 11 : m, rowsC = shape.scattered ? 11 : m;
  const Matrix a(problem.a, rowsA, problem.k, 1, shape.columnsA),
      b(problem.b, problem.n, problem.k, 2, problem.b_layout == OperandLayout::columns);
  std::vector<double> ids(static_cast<std::size_t>(m));
  for (std::int64_t i = 0; i < m; ++i)
    ids[std::size_t(i)] = double(i * 7 % 11);
  if (shape.gathered) // no rows
    ids[1] = -1, ids[2] = 11;
  const Operand indices = Operand::input(fx::i32, 1, m, ids);
  Operand c = Operand::output(fx::f32, rowsC, problem.n);
  const fx::Stream stream;
  const fx::TensorArg ofC = c.tensor();
  if (shape.scattered)
    c.set(std::vector<double>(std::size_t(rowsC * problem.n), 0.0));
  const bool isPrepared = problem.b_layout == OperandLayout::prepared;
  const Operand weights = prepared(problem, b.values);
  composed(a.tensor(),
           isPrepared ? weights.vector() : b.tensor(),
           ofC, indices.vector(), spec, shape)
      .launch({.grid = parts::tiles(spec, m), .block = config.threads, .stream = stream});
  stream.synchronize();
  std::vector<double> expected(std::size_t(rowsC * problem.n));
  for (std::int64_t i = 0; i < m; ++i) {
    const auto id = std::int64_t(ids[std::size_t(i)]);
    const std::int64_t from = shape.gathered ? id : i, to = shape.scattered ? id : i;
    for (std::int64_t j = 0; j < problem.n && from >= 0 && from < rowsA; ++j)
      for (std::int64_t k = 0; k < problem.k; ++k)
        expected[std::size_t(to * problem.n + j)] +=
            a.values[std::size_t(from * problem.k + k)] * b.values[std::size_t(j * problem.k + k)];
  }
  CHECK(c.values() == expected);
}

} // namespace

TEST_CASE("kernels of parts have the sums of every loop", "[run]") {
  const int lanes = fx::Device::current().target().wave_size();
  const GemmConfig usual{.tile_m = 32, .tile_n = 64, .tile_k = 64, .threads = 4 * lanes};
  GemmProblem problem{.a = fx::f16, .b = fx::f16, .n = 72, .k = 200};
  for (OperandLayout layout :
       {OperandLayout::prepared, OperandLayout::rows, OperandLayout::columns}) {
    problem.b_layout = layout;
    CAPTURE(int(layout));
    expectExact(problem, usual, 45, {});
    expectExact(problem, usual, 45, {.gathered = true});
  }
  problem.b_layout = OperandLayout::rows;
  expectExact(problem, usual, 40, {.columnsA = true});
  expectExact(problem, usual, 45, {.scattered = true});
  expectExact(problem, usual, 45, {.gathered = true, .scattered = false});
  // A single step, whose K ends inside of it.
  problem.k = 24;
  expectExact(problem, usual, 3, {.gathered = true});
  // Few rows, whose waves share K.
  problem.k = 512;
  problem.b_layout = OperandLayout::prepared;
  GemmConfig few = fk::choose(problem, 9);
  few.split_k = 1;
  REQUIRE(few.loop == fk::GemmLoop::registers);
  for (bool gathered : {false, true}) {
    CAPTURE(gathered);
    expectExact(problem, few, 9, {.gathered = gathered});
  }
  // K ends inside of a step, at its end, and inside of a part of it.
  for (std::int64_t k : {8, 64, 200, 328, 1024}) {
    problem.k = k;
    CAPTURE(k);
    expectExact(problem, few, 25, {.gathered = true});
    expectExact(problem, few, 25, {});
  }
}

TEST_CASE("rows that loads of LDS's own gather have exact sums", "[run]") {
  const fx::Target target = fx::Device::current().target();
  if (!target.has(fx::Feature::buffer_to_lds_wide))
    return; // supported() refuses their configurations, see gemm_refusals_test.cpp
  GemmProblem problem{
      .a = fx::f16, .b = fx::f16, .b_layout = OperandLayout::rows, .n = 136, .k = 200};
  const int waves = target.wave_size();
  const GemmConfig dma{.tile_m = 32, .tile_n = 64, .tile_k = 64, .threads = 4 * waves, .dma = true};
  GemmConfig deep = dma;
  deep.stages = 4;
  const GemmConfig halves{.tile_m = 256,
                          .tile_n = 256,
                          .tile_k = 64,
                          .threads = 8 * waves,
                          .loop = fk::GemmLoop::groups,
                          .waves_m = 2};
  for (const GemmConfig &config : {dma, deep, halves})
    for (std::int64_t k : {24, 64, 200, 512}) {
      problem.k = k;
      CAPTURE(int(config.loop), config.stages, k);
      expectExact(problem, config, 45, {.gathered = true});
    }
  expectExact(problem, halves, 300, {.gathered = true});
}

namespace {

/// Refused while tracing, with the line of this file.
template <class Change> void expectRefused(const Change &change, const std::string &part) {
  GemmProblem problem{.a = fx::f16, .b = fx::f16, .c = fx::f32, .n = 64, .k = 128};
  problem.b_layout = OperandLayout::rows;
  const int lanes = fx::Device::current().target().wave_size();
  parts::GemmSpec spec{problem, {.tile_m = 32, .tile_n = 64, .tile_k = 64, .threads = 4 * lanes}};
  const fx::DeviceArray<fx::half_t> a({32, 128}), b({64, 128});
  const fx::DeviceArray<float> c({32, 64});
  const fx::DeviceArray<std::int32_t> ids({32});
  fx::TensorArg ofA = a.tensor(), ofB = b.tensor(), ofC = c.tensor(), indices = ids.tensor();
  Shape shape;
  for (fx::TensorArg *tensor : {&ofA, &ofB, &ofC})
    tensor->mark_layout_static();
  change(spec, ofA, ofB, ofC, indices, shape);
  const std::string text = messageOf([&] {
    composed(ofA, ofB, ofC, indices, spec, shape).compile({.block = spec.config.threads});
  });
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  CHECK(text.find("gemm_parts_test.cpp") != std::string::npos);
}

} // namespace

TEST_CASE("wrong compositions of parts are refused while they are traced") {
  using Spec = parts::GemmSpec;
  using Tensor = fx::TensorArg;
  const fx::DeviceArray<fx::half_t> half({32, 256});
  const fx::DeviceArray<float> wide({32, 128});
  const auto fixed = [](const auto &array) { // its layout is known while tracing
    Tensor tensor = array.tensor();
    return tensor.mark_layout_static();
  };
  const auto refused = [](auto change, const char *part) {
    expectRefused([&](Spec &spec, Tensor &a, Tensor &b, Tensor &c, Tensor &ids,
                      Shape &shape) { change(spec, a, b, c, ids, shape); },
                  part);
  };
#define CHANGE [&](Spec &spec, Tensor &a, Tensor &b, Tensor &c, Tensor &ids, Shape &shape)
  refused(CHANGE { spec.config.split_k = 2; },
          "split_k is 2: parts of K go through a workspace, which GemmPlan has; it is 1 here");
  refused(CHANGE { spec.problem.gated = true; }, "gated pairs have two sums");
  refused(CHANGE { spec.config.tile_m = 24; }, "tile 24x64x64");
  refused(CHANGE { a = fixed(wide); },
          "a of a product's main loop is of type f32, and the spec has f16");
  refused(CHANGE { a = fixed(half); },
          "a of a product's main loop has an extent of 256 in mode 1; k is 128");
  refused(CHANGE { shape.columnsA = true; },
          "an operand by columns: the elements of a column are neighbours, and the stride of mode 0 "
          "is 128");
  refused(CHANGE { spec.problem.b_layout = OperandLayout::prepared; },
          "prepared weights has 2 modes; it is a vector of prepared_size(problem.weight())");
  refused(CHANGE {
    spec.problem.a_layout = OperandLayout::columns;
    spec.config.tile_k = 128; // rows of 256 bytes, which columns need on 64 banks
  },
          "a of a product's main loop is given as rows, and a_layout of the spec's problem is "
          "columns");
  refused(CHANGE {
    ids = wide.tensor();
    shape.gathered = true;
  }, "the indices of gathered rows has 2 modes");
  refused(CHANGE { c = fixed(wide); },
          "c of an epilogue has an extent of 128 in mode 1; n is 64");
  refused(CHANGE { c = fixed(half); },
          "c of an epilogue has an extent of 256 in mode 1; n is 64");
#undef CHANGE
}
