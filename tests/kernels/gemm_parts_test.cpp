// Kernels that users compose of the parts of products: exact sums of every loop, and what is
// refused.
#include "support/product.h"

#include <flydsl/kernels/parts.h>

#include <algorithm>

using namespace kernel_tests;
namespace parts = flydsl::kernels::parts;
using fx::_;

namespace {

/// How a kernel is composed.
struct Shape {
  bool columnsA = false, gathered = false, scattered = false;
  bool scaled = false;   ///< scales of blocks are given
  int gates = 0;         ///< calls of Epilogue::gate
  bool noMemory = false; ///< the sums of parts of K have no memory
};

/// c = a b^T; gathered, of rows that indices name; scattered, to such rows. Of gated pairs, c is
/// max(gate, 0) * up.
const fx::Kernel composed{
    "composed", [](fx::Tensor a, fx::Tensor b, fx::Tensor scaleA, fx::Tensor scaleB,
                   fx::Tensor sums, fx::Tensor flags, fx::Tensor c, fx::Tensor indices,
                   fx::Constexpr<parts::GemmSpec> spec, fx::Constexpr<Shape> shape) {
      const fx::Int32 m(shape->gathered || shape->scattered ? fx::Int32(indices.shape()[0])
                                                            : fx::Int32(c.shape()[0]));
      const parts::WorkTile tile = parts::TileScheduler(spec.value(), m).at(fx::block_idx().x);
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
      std::optional<parts::BlockScales> scales;
      if (shape->scaled)
        scales.emplace(parts::BlockScales{scaleA, scaleB});
      const parts::Mainloop loop(spec.value(), tile, ofA, ofB(), scales);
      const auto finish = [&](const parts::Sums &ofTile) {
        parts::Epilogue epilogue(spec.value(), tile);
        for (int i = 0; i < shape->gates; ++i)
          epilogue.gate([](const fx::Vector &gate, const fx::Vector &up, const parts::Group &) {
            return fx::max(gate, 0.0f) * up;
          });
        if (!shape->scattered)
          return epilogue.store(ofTile, c);
        epilogue.each(ofTile, [&](const fx::Vector &values, const parts::Group &at) {
          for (int i = 0; i < at.size; ++i)
            fx::if_((at.row < m) & (at.column + i < std::int32_t(spec->problem.n)), [&] {
              fx::atomic(fx::AtomicOp::add,
                         c.iter() + c.layout()(fx::Int32(indices(at.row)), at.column + i),
                         values.at(i));
            });
        });
      };
      if (shape->noMemory)
        return loop.run(finish);
      loop.run(parts::PartsOfK{sums, flags}, finish);
    }};

/// A matrix of integers whose sums are exact.
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

void expectExact(GemmProblem problem, const GemmConfig &config, std::int64_t m, Shape shape) {
  problem.c = fx::f32;
  problem.a_layout = shape.columnsA ? OperandLayout::columns : OperandLayout::rows;
  shape.gates = problem.gated ? 1 : 0;
  shape.scaled = problem.scale_a == Scales::per_block;
  parts::GemmSpec spec{problem, config};
  // Columns need steps of more bytes where LDS has more banks.
  if (!parts::supported(spec, fx::Device::current().target()))
    spec.config.tile_k *= 2;
  const fk::Support answer = parts::supported(spec, fx::Device::current().target());
  INFO(answer.why);
  REQUIRE(answer);
  // By columns, a has whole pieces of 16 bytes of rows, though c may not.
  const std::int64_t rowsA = shape.gathered   ? 11
                             : shape.columnsA ? (m + 7) / 8 * 8
                                              : m,
                     rowsC = shape.scattered ? 11 : m;
  const Matrix a(problem.a, rowsA, problem.k, 1, shape.columnsA),
      b(problem.b, problem.columns(), problem.k, 2, problem.b_layout == OperandLayout::columns);
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
  // Scales are powers of two, one of a for each row and block of K.
  const std::int64_t blocksK = blocksOf(problem.k), blocksN = blocksOf(problem.columns());
  const auto powers = [](std::int64_t count, std::uint64_t seed) {
    std::vector<double> values = integers(count, seed, -1, 0);
    for (double &value : values)
      value = std::exp2(value);
    return values;
  };
  const std::vector<double> ofA = powers(rowsA * blocksK, 3), ofB = powers(blocksN * blocksK, 4);
  const Operand scaleA = Operand::input(problem.scale, rowsA, blocksK, ofA),
                scaleB = Operand::input(problem.scale, blocksN, blocksK, ofB);
  const std::int64_t split = config.split_k, columns = parts::part_columns(spec);
  const fx::DeviceArray<std::int32_t> sums({split, m, columns}); // whatever is in it
  fx::DeviceArray<std::int64_t> flags({parts::part_flags(spec, m)});
  flags.copy_from(std::vector<std::int64_t>(std::size_t(flags.size()), 0));
  const fx::TensorArg memory = fx::tensor(sums.data(), problem.a == fx::i8 ? fx::i32 : fx::f32,
                                          {split, m, columns}, {m * columns, columns, 1});
  for (int launch = 0; launch < (split > 1 ? 2 : 1); ++launch) // the flags are as they were
    composed(a.tensor(), isPrepared ? weights.vector() : b.tensor(), scaleA.tensor(),
             scaleB.tensor(), fx::TensorArg(memory).mark_layout_dynamic(2, 4), flags.tensor(), ofC,
             indices.vector(), spec, shape)
        .launch({.grid = parts::tiles(spec, m), .block = config.threads, .stream = stream});
  stream.synchronize();
  const auto sum = [&](std::int64_t i, std::int64_t j) {
    double total = 0;
    for (std::int64_t k = 0; k < problem.k; ++k)
      total += a.values[std::size_t(i * problem.k + k)] * b.values[std::size_t(j * problem.k + k)] *
               (shape.scaled ? ofA[std::size_t(i * blocksK + k / kBlock)] *
                                   ofB[std::size_t(j / kBlock * blocksK + k / kBlock)]
                             : 1);
    return total;
  };
  std::vector<double> expected(std::size_t(rowsC * problem.n));
  for (std::int64_t i = 0; i < m; ++i) {
    const auto id = std::int64_t(ids[std::size_t(i)]);
    const std::int64_t from = shape.gathered ? id : i, to = shape.scattered ? id : i;
    for (std::int64_t j = 0; j < problem.n && from >= 0 && from < rowsA; ++j)
      expected[std::size_t(to * problem.n + j)] +=
          problem.gated ? std::max(sum(from, j), 0.0) * sum(from, problem.n + j) : sum(from, j);
  }
  const std::vector<double> found = c.values();
  const auto [wrong, right] = std::mismatch(found.begin(), found.end(), expected.begin());
  INFO("element " << wrong - found.begin() << " of rows of " << problem.n);
  CHECK((wrong == found.end() ? 0 : *wrong) == (wrong == found.end() ? 0 : *right));
  CHECK(flags.to_host() == std::vector<std::int64_t>(std::size_t(flags.size()), 0));
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
  expectExact(problem, usual, 45, {.columnsA = true});
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

TEST_CASE("parts of gated pairs, of parts of K and with scales of blocks have exact sums",
          "[run]") {
  const fx::Target target = fx::Device::current().target();
  const int lanes = target.wave_size();
  GemmProblem problem{.a = fx::f16, .b = fx::f16, .n = 80, .k = 512};
  const auto each = [&](const GemmConfig &config, std::int64_t m) {
    for (bool gathered : {false, true}) {
      CAPTURE(int(config.loop), config.split_k, config.waves_k, problem.gated, gathered);
      expectExact(problem, config, m, {.gathered = gathered});
    }
  };
  const auto inParts = [](GemmConfig config, int parts) {
    config.split_k = parts;
    config.parts_sum = fk::PartsSum::last_block;
    return config;
  };
  const GemmConfig ring{.tile_m = 32, .tile_n = 128, .tile_k = 64, .threads = 4 * lanes};
  GemmConfig sliced = ring; // whose waves share K
  sliced.waves_k = 2;
  GemmConfig few = fk::choose(problem, 9);
  few.split_k = 1;
  REQUIRE(few.loop == fk::GemmLoop::registers);
  for (bool gated : {false, true}) {
    problem.gated = gated;
    for (const GemmConfig &config : {ring, sliced, few}) {
      if (!parts::supported({problem, config}, target)) // two halves of a tile of few columns
        continue;
      each(config, 45);
      each(inParts(config, 2), 45);
    }
    each(inParts(ring, 4), 45);
  }
  problem = {.a = fx::i8, .b = fx::i8, .n = 71, .k = 512};
  each(inParts(ring, 2), 33);
  problem.b_layout = OperandLayout::rows;
  each(inParts(ring, 2), 33);
  if (float8() == fx::DType())
    return;
  for (bool gated : {false, true})
    for (fx::DType scale : {fx::DType(fx::f32), fx::DType(fx::f8E8M0FNU)}) {
      problem = {.a = float8(), .b = float8(), .n = 128, .k = 1024};
      problem.scale_a = problem.scale_b = Scales::per_block;
      problem.scale = scale;
      problem.gated = gated;
      GemmConfig config = fk::choose(problem, 64);
      config.split_k = 1;
      each(config, 45);
      each(inParts(config, 2), 45);
      config = fk::choose(problem, 9);
      config.split_k = 1;
      each(config, 9);
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

/// A tensor whose layout is known while tracing.
template <class Array> fx::TensorArg fixed(const Array &array) {
  fx::TensorArg tensor = array.tensor();
  return tensor.mark_layout_static();
}

/// Refused while tracing, with the line of this file. A block of 0 is the configuration's.
template <class Change>
void expectRefused(const Change &change, const std::string &part, fx::Dim3 block = 0) {
  GemmProblem problem{.a = fx::f16, .b = fx::f16, .c = fx::f32, .n = 64, .k = 128};
  problem.b_layout = OperandLayout::rows;
  const int lanes = fx::Device::current().target().wave_size();
  parts::GemmSpec spec{problem, {.tile_m = 32, .tile_n = 64, .tile_k = 64, .threads = 4 * lanes}};
  const fx::DeviceArray<fx::half_t> a({32, 128}), b({64, 128});
  const fx::DeviceArray<float> c({32, 64});
  const fx::DeviceArray<std::int32_t> ids({32});
  fx::TensorArg ofA = a.tensor(), ofB = b.tensor(), ofC = c.tensor(), indices = ids.tensor();
  Shape shape;
  const fx::DeviceArray<std::int64_t> flags({1});
  const fx::DeviceArray<float> scalesA({32, 1}), scalesB({1, 1}), parts({2, 32, 64});
  for (fx::TensorArg *tensor : {&ofA, &ofB, &ofC})
    tensor->mark_layout_static();
  change(spec, ofA, ofB, ofC, indices, shape);
  const std::string text = messageOf([&] {
    composed(ofA, ofB, fixed(scalesA), fixed(scalesB), fixed(parts), fixed(flags), ofC, indices,
             spec, shape)
        .compile({.block = block == fx::Dim3(0) ? fx::Dim3(spec.config.threads) : block});
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
  const auto refused = [](auto change, const char *part) {
    expectRefused([&](Spec &spec, Tensor &a, Tensor &b, Tensor &c, Tensor &ids,
                      Shape &shape) { change(spec, a, b, c, ids, shape); },
                  part);
  };
#define CHANGE [&](Spec & spec, Tensor & a, Tensor & b, Tensor & c, Tensor & ids, Shape & shape)
  const auto inParts = [](Spec &spec) {
    spec.config.split_k = 2;
    spec.config.parts_sum = fk::PartsSum::last_block;
  };
  const auto asTheyAre = CHANGE{};
  const int lanes = fx::Device::current().target().wave_size();
  for (const fx::Dim3 block : {fx::Dim3(2 * lanes), fx::Dim3(8 * lanes), fx::Dim3(2 * lanes, 2)})
    expectRefused(asTheyAre,
                  "a block has " + std::to_string(block.x) + " x " + std::to_string(block.y) +
                      " x 1 threads, and the spec's configuration has " +
                      std::to_string(4 * lanes) + " x 1 x 1: .block = spec.config.threads",
                  block);
  refused(
      CHANGE { spec.config.split_k = 2; },
      "split_k is 2: of the parts, the last block of a tile adds those of K; parts_sum is "
      "PartsSum::last_block then");
  refused(
      CHANGE {
        inParts(spec);
        shape.noMemory = true;
      },
      "split_k is 2: the sums of parts of K go through memory; run(PartsOfK{...}, finish)");
  refused(
      CHANGE {
        inParts(spec);
        spec.config.split_k = 4;
        spec.config.tile_m = 64;
        spec.config.tile_k = 32;
      },
      "the sums of parts of K has an extent of 2 in mode 0; split_k is 4");
  refused(
      CHANGE { shape.gates = 1; }, "gate() is of gated pairs, and the spec's problem is not gated");
  refused(
      CHANGE { spec.problem.gated = true; }, "gated pairs take prepared weights");
  const fx::DeviceArray<fx::half_t> pairs({2 * 64 * 128});
  for (const auto &[gates, text] :
       {std::pair(0, "there are a gate and an up for each element of c; gate() makes one of them"),
        std::pair(2, "gate() makes one element of a gate and its up, once")})
    refused(
        CHANGE {
          spec.problem.gated = true;
          spec.problem.b_layout = OperandLayout::prepared;
          spec.config.tile_n = 128;
          b = fixed(pairs);
          shape.gates = gates;
        },
        text);
  refused(
      CHANGE { shape.scaled = true; },
      "scales of blocks are given, and the spec's problem has none");
  if (float8() != fx::DType()) {
    const Operand bytes = Operand::output(float8(), 64, 128);
    const auto ofBlocks = [&](Spec &spec, Tensor &a, Tensor &b) {
      a = bytes.tensor().mark_layout_static(), b = bytes.tensor().mark_layout_static();
      spec.problem.a = spec.problem.b = float8();
      spec.problem.scale_a = spec.problem.scale_b = Scales::per_block;
      spec.config.tile_k = 128;
    };
    refused(
        CHANGE { ofBlocks(spec, a, b); },
        "the spec's problem has scales of blocks, and none are given");
    refused(
        CHANGE {
          ofBlocks(spec, a, b);
          spec.problem.scale = fx::f8E8M0FNU;
          shape.scaled = true;
        },
        "the scales of blocks of a is of type f32, and problem.scale is f8E8M0FNU");
    refused(
        CHANGE {
          ofBlocks(spec, a, b);
          spec.problem.n = 192;
          shape.scaled = true;
        },
        "the scales of blocks of b has an extent of 1 in mode 0; ceil(problem.columns() / 128) is "
        "2");
  }
  refused(
      CHANGE { spec.config.tile_m = 24; }, "tile 24x64x64");
  refused(
      CHANGE {
        spec.problem.b = fx::i8;
        spec.problem.b_layout = OperandLayout::prepared;
      },
      "a is of type f16 and b of type i8: narrow weights are GemmPlan's and GroupedGemmPlan's");
  refused(
      CHANGE { a = fixed(wide); },
      "a of a product's main loop is of type f32, and the spec has f16");
  refused(
      CHANGE { a = fixed(half); },
      "a of a product's main loop has an extent of 256 in mode 1; k is 128");
  refused(
      CHANGE { shape.columnsA = true; },
      "an operand by columns: the elements of a column are neighbours, and the stride of mode 0 "
      "is 128");
  refused(
      CHANGE { spec.problem.b_layout = OperandLayout::prepared; },
      "prepared weights has 2 modes; it is a vector of prepared_size(problem.weight())");
  refused(
      CHANGE {
        spec.problem.a_layout = OperandLayout::columns;
        spec.config.tile_k = 128; // rows of 256 bytes, which columns need on 64 banks
      },
      "a of a product's main loop is given as rows, and a_layout of the spec's problem is "
      "columns");
  refused(
      CHANGE {
        ids = wide.tensor();
        shape.gathered = true;
      },
      "the indices of gathered rows has 2 modes");
  refused(
      CHANGE { c = fixed(wide); }, "c of an epilogue has an extent of 128 in mode 1; n is 64");
  refused(
      CHANGE { c = fixed(half); }, "c of an epilogue has an extent of 256 in mode 1; n is 64");
#undef CHANGE
}

namespace {

/// What a launch says whose memory of parts of K has so many rows and flags, which have a value.
std::string launchedWith(std::int64_t rowsMore, std::int64_t flagsMore, std::int64_t flag) {
  const int lanes = fx::Device::current().target().wave_size();
  const parts::GemmSpec spec{{.a = fx::f16,
                              .b = fx::f16,
                              .c = fx::f32,
                              .b_layout = OperandLayout::rows,
                              .n = 64,
                              .k = 128},
                             {.tile_m = 32,
                              .tile_n = 64,
                              .tile_k = 64,
                              .threads = 4 * lanes,
                              .split_k = 2,
                              .parts_sum = fk::PartsSum::last_block}};
  const std::int64_t m = 40, columns = parts::part_columns(spec),
                     flagCount = parts::part_flags(spec, m);
  CHECK(flagCount == 4096); // in different cache lines, of any product with as many tiles or fewer
  CHECK(parts::tiles(spec, m) == 4);
  const Operand a = Operand::output(fx::f16, m, 128), b = Operand::output(fx::f16, 64, 128),
                c = Operand::output(fx::f32, m, 64);
  const fx::DeviceArray<float> scales({1, 1}), sums({2, m + rowsMore, columns});
  const fx::DeviceArray<std::int32_t> indices({m});
  fx::DeviceArray<std::int64_t> flags({flagCount + flagsMore});
  flags.fill(flag);
  const auto rowsOf = [](fx::TensorArg tensor, int mode, int divisor) {
    return tensor.mark_layout_dynamic(mode, divisor);
  };
  return messageOf([&] {
    const fx::Stream stream;
    composed(rowsOf(a.tensor(), 1, 8), rowsOf(b.tensor(), 1, 8), scales.tensor(), scales.tensor(),
             rowsOf(sums.tensor(), 2, 4), flags.tensor(), c.tensor(), indices.tensor(), spec,
             Shape{})
        .launch({.grid = parts::tiles(spec, m), .block = spec.config.threads, .stream = stream});
    stream.synchronize();
  });
}

/// What a launch says whose a, by columns of 48 rows, has so many; c has 45.
std::string launchedByColumns(std::int64_t rows) {
  const parts::GemmSpec spec{{.a = fx::f16,
                              .b = fx::f16,
                              .c = fx::f32,
                              .a_layout = OperandLayout::columns,
                              .b_layout = OperandLayout::rows,
                              .n = 64,
                              .k = 128},
                             {.tile_m = 32,
                              .tile_n = 64,
                              .tile_k = 128, // rows of 256 bytes, which columns need on 64 banks
                              .threads = 4 * fx::Device::current().target().wave_size()}};
  const Operand a = Operand::output(fx::f16, 128, 48), b = Operand::output(fx::f16, 64, 128),
                c = Operand::output(fx::f32, 45, 64);
  const fx::DeviceArray<float> none({1, 1}), sums({1, 1, 4});
  const fx::DeviceArray<std::int32_t> indices({45});
  const fx::DeviceArray<std::int64_t> flags({1});
  return messageOf([&] {
    const fx::Stream stream;
    composed(fx::TensorArg(fx::tensor(a.tensor().data(), fx::f16, {rows, 128}, {1, 48}))
                 .mark_layout_dynamic(0, 8),
             b.tensor().mark_layout_dynamic(1, 8), none.tensor(), none.tensor(),
             fx::TensorArg(sums.tensor()).mark_layout_dynamic(2, 4), flags.tensor(), c.tensor(),
             indices.tensor(), spec, Shape{.columnsA = true})
        .launch({.grid = parts::tiles(spec, 45), .block = spec.config.threads, .stream = stream});
    stream.synchronize();
  });
}

} // namespace

// A trap ends the device, so that each of these has a process of its own.
TEST_CASE("a by columns that has whole pieces of rows", "[traps]") {
  CHECK(launchedByColumns(48) == "no error");
}
TEST_CASE("a by columns that ends inside of a piece of rows ends the launch", "[traps]") {
  CHECK(launchedByColumns(45).find("trap") != std::string::npos);
}
TEST_CASE("memory of parts of K that is as large as it must be", "[traps]") {
  CHECK(launchedWith(0, 0, 0) == "no error");
}
TEST_CASE("memory of parts of K with fewer rows ends the launch", "[traps]") {
  CHECK(launchedWith(-1, 0, 0).find("trap") != std::string::npos);
}
TEST_CASE("memory of parts of K with fewer flags ends the launch", "[traps]") {
  CHECK(launchedWith(0, -1, 0).find("trap") != std::string::npos);
}
TEST_CASE("flags of parts of K that are not zero end the launch", "[traps]") {
  CHECK(launchedWith(0, 0, 5).find("trap") != std::string::npos);
}
