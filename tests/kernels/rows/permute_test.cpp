// Permutes against the definition, byte by byte.
#include "support/hot_loop.h"
#include "support/size_sweep.h"
#include "support/structure.h"

#include <flydsl/kernels/rows/permute.h>

#include <numeric>

using namespace kernel_tests;

namespace {

using fk::PermuteConfig;
using fk::PermuteProblem;

/// A tensor whose rows along the last mode have gaps, and its bytes.
struct Modes {
  std::vector<std::int64_t> shape;
  Operand memory;
  std::int64_t gap;

  std::int64_t rows() const {
    return std::accumulate(shape.begin(), shape.end() - 1, std::int64_t(1), std::multiplies<>());
  }
  fx::TensorArg tensor() const {
    std::vector<std::int64_t> strides(shape.size(), 1);
    std::int64_t stride = shape.back() + gap;
    for (std::size_t mode = shape.size() - 1; mode-- > 0; stride *= shape[mode])
      strides[mode] = stride;
    return {memory.tensor().data(), memory.dtype(), shape, strides};
  }
};
Modes made(fx::DType type, std::vector<std::int64_t> shape, std::int64_t gap,
           const std::vector<double> *values) {
  std::int64_t rows = 1;
  for (std::size_t mode = 0; mode + 1 < shape.size(); ++mode)
    rows *= shape[mode];
  Operand memory = values ? Operand::input(type, rows, shape.back(), *values, gap)
                          : Operand::output(type, rows, shape.back(), gap);
  return {std::move(shape), std::move(memory), gap};
}

/// y by the definition.
std::vector<double> permuted(const PermuteProblem &problem, const std::vector<std::int64_t> &x,
                             const std::vector<std::int64_t> &y,
                             const std::vector<double> &values) {
  std::vector<double> result;
  std::vector<std::int64_t> at(y.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::size_t rest = i;
    std::vector<std::int64_t> of(x.size());
    for (std::size_t mode = y.size(); mode-- > 0;) {
      of[std::size_t(problem.order[mode])] = std::int64_t(rest % std::size_t(y[mode]));
      rest /= std::size_t(y[mode]);
    }
    std::int64_t from = 0;
    for (std::size_t mode = 0; mode < x.size(); ++mode)
      from = from * x[mode] + of[mode];
    result.push_back(values[std::size_t(from)]);
  }
  return result;
}

void expectPermuted(const PermuteProblem &problem, const std::vector<std::int64_t> &x,
                    std::int64_t gap = 0, std::optional<PermuteConfig> config = {}) {
  std::vector<std::int64_t> y;
  for (int mode = 0; mode < problem.rank; ++mode)
    y.push_back(x[std::size_t(problem.order[std::size_t(mode)])]);
  INFO(fx::to_config(problem).str());
  const std::int64_t count =
      std::accumulate(x.begin(), x.end(), std::int64_t(1), std::multiplies<>());
  const auto values = fk::host::decode(
      problem.type, fk::host::encode(problem.type, fk::host::randomValues(problem.type, count, 3)));
  const Modes from = made(problem.type, x, gap, &values), to = made(problem.type, y, gap, nullptr);
  const fk::PermutePlan plan(problem, config ? *config : fk::choose(problem, from.rows()));
  const fx::Stream stream;
  plan({.x = from.tensor(), .y = to.tensor()}, stream);
  stream.synchronize();
  CHECK(to.memory.values() == permuted(problem, x, y, values));
}

} // namespace

TEST_CASE("transposes of all sizes of elements", "[run]") {
  for (fx::DType type :
       {fx::DType(fx::u8), fx::DType(fx::f16), fx::DType(fx::f32), fx::DType(fx::i64)}) {
    const int wide = 16 / type.bytes();
    // Whole tiles and parts of tiles, aligned and not, with gaps between rows.
    expectPermuted({.type = type, .row_align = wide}, {5 * wide, 11 * wide}, wide);
    expectPermuted({.type = type}, {37, 53}, 5);
    expectPermuted({.type = type, .row_align = wide / 2}, {6 * wide, wide}, wide / 2);
    // Rows stay rows.
    expectPermuted({.type = type, .rank = 3, .order = {1, 0, 2}, .row_align = wide},
                   {3, 5, 9 * wide}, wide);
  }
  for (int block : {64, 128, 512})
    expectPermuted({.type = fx::f32, .row_align = 4}, {40, 136}, 0, PermuteConfig{.block = block});
}

// The 20 cases of FlyDSL's transposes (tests/kernels/test_conv3d_implicit.py).
TEST_CASE("images of FlyDSL's transposes") {
  constexpr std::int64_t extents[][2] = {{3, 3}, {5, 5}, {17, 15}, {33, 33}, {8, 8}};
  for (const std::int64_t channels : {8, 16, 64, 512})
    for (const auto &[height, width] : extents)
      expectPermuted({.type = fx::bf16, .rank = 5, .order = {0, 2, 3, 4, 1}},
                     {1, channels, 1, height, width});
}

TEST_CASE("permutes of more modes", "[run]") {
  expectPermuted({.type = fx::bf16, .rank = 3, .order = {0, 2, 1}, .row_align = 8}, {3, 24, 40});
  // NCHW to NHWC, with and without gaps after rows of pixels, and back; three channels.
  expectPermuted({.type = fx::bf16, .rank = 4, .order = {0, 2, 3, 1}, .row_align = 8},
                 {2, 16, 5, 8});
  expectPermuted({.type = fx::bf16, .rank = 4, .order = {0, 2, 3, 1}, .row_align = 8},
                 {2, 16, 5, 8}, 8);
  expectPermuted({.type = fx::bf16, .rank = 4, .order = {0, 3, 1, 2}, .row_align = 4},
                 {2, 6, 8, 12});
  expectPermuted({.type = fx::f32, .rank = 4, .order = {0, 2, 3, 1}}, {2, 3, 7, 9});
  // Heads and tokens; five modes; an order that changes nothing.
  expectPermuted({.type = fx::f16, .rank = 4, .order = {0, 2, 1, 3}, .row_align = 8},
                 {2, 5, 3, 64});
  expectPermuted({.type = fx::u8, .rank = 5, .order = {4, 2, 0, 3, 1}}, {3, 4, 5, 2, 6});
  expectPermuted({.type = fx::i64, .rank = 5, .order = {1, 0, 3, 2, 4}, .row_align = 2},
                 {2, 3, 4, 5, 6});
  expectPermuted({.type = fx::f32, .order = {0, 1}}, {5, 77}, 3);
  // Modes of one element.
  expectPermuted({.type = fx::f16, .rank = 3, .order = {2, 0, 1}}, {1, 33, 1});
  expectPermuted({.type = fx::f16}, {1, 65});
  expectPermuted({.type = fx::f16}, {65, 1});
}

TEST_CASE("transposes meet no bank twice, and move each byte once", "[run]") {
  for (fx::DType type :
       {fx::DType(fx::u8), fx::DType(fx::f16), fx::DType(fx::f32), fx::DType(fx::i64)}) {
    const int wide = 16 / type.bytes();
    const PermuteProblem problem{.type = type, .rank = 3, .order = {0, 2, 1}, .row_align = wide};
    const std::vector<std::int64_t> shape{1, 512 / type.bytes(), 1024 / type.bytes()};
    std::vector<double> values(std::size_t(shape[1] * shape[2]), 1);
    const Modes from = made(type, shape, 0, &values),
                to = made(type, {1, shape[2], shape[1]}, 0, nullptr);
    const fk::PermutePlan plan(problem, fk::choose(problem, shape[1]));
    const fx::Stream stream;
    const auto counters = fx::Device::current().count_launches([&] {
      plan({.x = from.tensor(), .y = to.tensor()}, stream);
      stream.synchronize();
    });
    REQUIRE(counters.size() == 1);
    INFO(type.name() << "\n" << counters[0].str());
    // Rows of 128 bytes meet half of the 64 banks that a processor with copies into LDS of their own has.
    if (!here().has(fx::feature::async_lds))
      CHECK(counters[0]["SQ_LDS_BANK_CONFLICT"] == 0);
    const std::int64_t bytes = shape[1] * shape[2] * type.bytes();
    CHECK(std::int64_t(counters[0]["globalBytesRead"]) == bytes);
    CHECK(std::int64_t(counters[0]["globalBytesWritten"]) == bytes);
  }
}

TEST_CASE("permute: another run, a graph, a file", "[run]") {
  expectStructure<PermuteProblem>({.type = fx::bf16, .rank = 4, .order = {0, 3, 1, 2}}, {}, 12);
}

TEST_CASE("permutes have a configuration for every problem that they support") {
  std::vector<PermuteProblem> problems;
  for (fx::DType type :
       {fx::DType(fx::u8), fx::DType(fx::f16), fx::DType(fx::f32), fx::DType(fx::i64)})
    for (int align = 1; align <= 16 / type.bytes(); align *= 2)
      for (int rank = 2; rank <= 5; ++rank) {
        PermuteProblem problem{.type = type, .rank = rank, .row_align = align};
        for (int mode = 0; mode < rank; ++mode)
          problem.order[std::size_t(mode)] = rank - 1 - mode;
        problems.push_back(problem);
        std::iota(problem.order.begin(), problem.order.end(), 0);
        problems.push_back(problem);
      }
  expectTotal(problems);
}

TEST_CASE("permutes say what they do not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const PermuteProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({}).empty());
  CHECK(why({.type = fx::f4E2M1FN}) ==
        "type is f4E2M1FN; elements of 8, 16, 32 and 64 bits are supported");
  CHECK(why({.rank = 6}) == "rank is 6; it is 2 to 5");
  CHECK(why({.rank = 1}) == "rank is 1; it is 2 to 5");
  CHECK(why({.rank = 3, .order = {0, 1, 1}}) == "order[2] is 1; order has each of 0 to 2 once");
  CHECK(why({.order = {0, 2}}) == "order[1] is 2; order has each of 0 to 1 once");
  CHECK(why({.row_align = 3}) ==
        "row_align is 3; it is a power of two up to 16 bytes, which are 8 elements");
  CHECK(why({.row_align = 16}).find("row_align is 16;") == 0);
  CHECK(fk::supported(PermuteProblem{}, {.block = 96}, target).why ==
        "block is 96; it is 64, 128, 256 or 512");

  const PermuteProblem problem{.type = fx::f32, .row_align = 4};
  const fk::PermutePlan plan(problem, fk::choose(problem, 8));
  const Operand x = Operand::output(fx::f32, 8, 12), y = Operand::output(fx::f32, 12, 8);
  const auto message = [&](const fx::TensorArg &from, const fx::TensorArg &to) {
    return messageOf([&] { plan({.x = from, .y = to}); });
  };
  const auto says = [&](const fx::TensorArg &from, const fx::TensorArg &to, const char *text) {
    const std::string said = message(from, to);
    INFO(said);
    CHECK(said.find(text) != std::string::npos);
  };
  says(x.tensor(), y.tensor(), "no error");
  says(x.tensor(), x.tensor(), "permute: y has the shape (8, 12); (d0, d1) = (12, 8) is expected");
  says(fx::tensor(x.tensor().data(), fx::f32, {2, 4, 12}), y.tensor(),
       "permute: x has 3 modes, and the problem 2");
  says(fx::tensor(x.tensor().data(), fx::f32, {8, 10}),
       fx::tensor(y.tensor().data(), fx::f32, {10, 8}), "permute: ");
  says(fx::tensor(x.tensor().data(), fx::f32, {6, 12}),
       fx::tensor(y.tensor().data(), fx::f32, {12, 6}, {8, 1}),
       "permute: the last mode of y has 6 elements, no multiple of 4; the problem's row_align "
       "promises it, and a smaller one does not");
  says(fx::tensor(x.tensor().data(), fx::f32, {8, 8}),
       fx::tensor(x.tensor().data(), fx::f32, {8, 8}), "permute: y lies in the memory of x");
  says(x.tensor(), fx::tensor(y.tensor().data(), fx::f32, {12, 8}, {0, 1}), "permute: y");
  says(fx::tensor(x.tensor().data(), fx::f32, {8, 12}, {12, 2}), y.tensor(), "permute: x");
}
