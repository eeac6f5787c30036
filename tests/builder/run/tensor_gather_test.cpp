// Rows by their numbers that gfx1250's tensor data mover copies to shared memory and back, and what is
// refused.
#include "error_of.h"
#include "run.h"

#include <flydsl/kernel/control_flow.h>
#include <flydsl/rocdl/intrinsics.h>
#include <flydsl/rocdl/schedule.h>
#include <flydsl/rocdl/tensor_gather.h>
#include <flydsl/rocdl/tensor_mover.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;

namespace {
constexpr int kWaves = 2, kBlock = 32 * kWaves;

fx::Target target() { return fx::Device::current().target(); }
bool hasMover() { return target().has(fx::feature::tensor_mover); }

struct Shape {
  int rows = 8, columns = 32, gap = 0, bits = 32;
  bool waits = true;
};

/// Each wave loads rows of x, by the numbers in `from`, and stores them as those rows of y that `to`
/// numbers; in between, each thread adds 1 to what the other wave has loaded.
const fx::Kernel routed{
    "routed", [](fx::Tensor x, fx::Tensor y, fx::Tensor from, fx::Tensor to, fx::Int32 tile,
                 fx::Constexpr<Shape> shape) {
      const int rows = shape->rows, columns = shape->columns, pitch = columns + shape->gap;
      const fx::Int32 wave = fx::Int32(fx::rocdl::wave_id()), tid = fx::thread_idx().x,
                      lane = tid % 32;
      fx::SharedAllocator shared;
      auto tiles = shared.tensor(
          x.dtype(), fx::make_layout({rows, columns, kWaves}, {pitch, 1, rows * pitch}));
      auto own = tiles(fx::_, fx::_, wave);
      const auto numbers = [&](const fx::Tensor &all) {
        const fx::Int32 place = fx::min(lane, rows - 1) + wave * rows;
        return fx::rocdl::tensor_rows(fx::Int32(all(place)), rows, shape->bits);
      };
      fx::rocdl::tensor_load_gather(x, numbers(from), tile, own);
      if (shape->waits)
        fx::rocdl::s_wait_tensorcnt(0);
      fx::gpu::barrier();
      auto others = tiles(fx::_, fx::_, kWaves - 1 - wave);
      for (fx::Int32 e : fx::range(lane, rows * columns, 32)) {
        const fx::Numeric value = others(e / columns, e % columns);
        others(e / columns, e % columns) = value + 1;
      }
      fx::gpu::barrier();
      fx::rocdl::tensor_store_gather(own, y, numbers(to), tile);
      fx::rocdl::s_wait_tensorcnt(0);
    }};

template <class T> void check(int m, int n, int pitch, int tile, const Shape &shape) {
  CAPTURE(m, n, tile, shape.rows, shape.columns, shape.gap, shape.bits);
  const std::size_t pitches = std::size_t(pitch);
  std::vector<T> from(std::size_t(m) * pitches), right(from.size(), T(77));
  for (std::size_t k = 0; k < from.size(); ++k)
    from[k] = static_cast<T>(k * 7 % 61);
  // Rows come in no order, and some more than once; they go to all rows in another order.
  const int count = shape.rows * kWaves;
  std::vector<std::int32_t> sources, places;
  for (int i = 0; i < count; ++i) {
    sources.push_back(i % 5 == 4 ? m - 1 : i * 11 % m);
    places.push_back((i * 3 + 1) % m); // m is no multiple of 3
  }
  const auto x = fx::DeviceArray<T>::from_host(from, {m, pitch});
  auto y = fx::DeviceArray<T>::from_host(right, {m, pitch});
  const auto matrix = [&](const fx::DeviceArray<T> &array) {
    return fx::TensorArg(fx::tensor(array.data(), {m, n}, {pitch, 1}).mark_layout_dynamic(1));
  };
  routed(matrix(x), matrix(y), fx::DeviceArray<std::int32_t>::from_host(sources, {count}),
         fx::DeviceArray<std::int32_t>::from_host(places, {count}), tile, shape)
      .launch({.grid = 1, .block = kBlock});
  fx::Device::current().synchronize();
  for (int i = 0; i < count; ++i)
    for (int c = tile * shape.columns; c < std::min(n, (tile + 1) * shape.columns); ++c)
      right[std::size_t(places[std::size_t(i)]) * pitches + std::size_t(c)] =
          static_cast<T>(from[std::size_t(sources[std::size_t(i)]) * pitches + std::size_t(c)] + 1);
  CHECK(y.to_host() == right);
}
} // namespace

TEST_CASE("gathers bring rows by their numbers to shared memory, and scatters take them back") {
  if (!hasMover())
    return;
  for (const int bits : {16, 32}) {
    check<float>(64, 32, 32, 0, {8, 32, 0, bits});
    check<float>(65, 70, 72, 2, {13, 32, 4, bits}); // columns and rows end inside
    check<std::int64_t>(80, 9, 9, 0, {32, 8, 2, bits});
    check<std::uint8_t>(50, 100, 112, 1, {20, 64, 16, bits});
    check<std::int16_t>(40, 64, 64, 3, {3, 16, 0, bits}); // a tile at the end
    check<std::int32_t>(40, 64, 64, 5, {1, 16, 0, bits}); // and one past it
  }
  CHECK(fx::rocdl::tensor_moves(32) == 4);
  CHECK(fx::rocdl::tensor_moves(17, 16) == 2);
}

namespace {
/// Rows of a matrix of 32 by 32 whose element (i, j) is 1 + i, summed.
std::vector<float> gathered(const std::vector<std::int32_t> &numbers, int bits) {
  std::vector<float> matrix(32 * 32);
  for (std::size_t k = 0; k < matrix.size(); ++k)
    matrix[k] = float(1 + k / 32);
  const fx::Kernel load{
      "load", [bits](fx::Tensor from, fx::Tensor rows, fx::Tensor to) {
        auto lds = fx::SharedAllocator().tensor(fx::f32, fx::make_layout({8, 32}, {32, 1}));
        const fx::Int32 lane = fx::thread_idx().x;
        fx::rocdl::tensor_load_gather(
            from, fx::rocdl::tensor_rows(fx::Int32(rows(lane % 8)), 8, bits), 0, lds);
        fx::rocdl::s_wait_tensorcnt(0);
        fx::gpu::barrier();
        fx::if_(lane < 8, [&] { to(lane) = lds(lane, 0) + lds(lane, 31); });
      }};
  fx::DeviceArray<float> to({8});
  load(fx::DeviceArray<float>::from_host(matrix, {32, 32}),
       fx::DeviceArray<std::int32_t>::from_host(numbers, {8}), to)
      .launch({.grid = 1, .block = 32});
  return to.to_host();
}
} // namespace

TEST_CASE("gathers of rows past the tensor's end in ascending order are zeros") {
  if (!hasMover()) {
    CHECK_THAT(
        errorOf([] {
          gathered({0, 1, 2, 3, 4, 5, 6, 7}, 32);
        }),
        Catch::Contains("there is no tensor_rows on " + target().name() + "; gfx1250 has it") &&
            Catch::Contains("tensor_gather_test.cpp:"));
    return;
  }
  for (const int bits : {16, 32})
    CHECK(gathered({0, 1, 1, 3, 30, 31, 32, 70000}, bits) ==
          std::vector<float>{2, 4, 4, 8, 62, 64, 0, 0});
}
// Their test passes if the emulator ends the launch. The low bits of 65,537 are those of row 1.
TEST_CASE("a gather of rows that do not exist: past the end", "[.weak]") {
  gathered({0, 1, 32, 3, 4, 5, 6, 7}, 32);
}
TEST_CASE("a gather of rows that do not exist: below 0", "[.weak]") {
  gathered({0, 1, -1, 3, 4, 5, 6, 7}, 16);
}
TEST_CASE("a gather of rows that do not exist: past 16 bits", "[.weak]") {
  gathered({0, 1, 65537, 3, 4, 5, 6, 7}, 16);
}

// Its test passes if the emulator says what is read too early.
TEST_CASE("a gather that is not waited for", "[.weak]") {
  check<float>(64, 32, 32, 0, {.waits = false});
}

TEST_CASE("gathers that the mover can't do are refused at the call") {
  if (!hasMover())
    return;
  using fx::rocdl::tensor_load_gather;
  using fx::rocdl::tensor_rows;
  using fx::rocdl::tensor_store_gather;
  const auto shared = [](const fx::IntTuple &shape, const fx::IntTuple &stride,
                         fx::DType type = fx::f32) {
    return fx::SharedAllocator().tensor(type, fx::make_layout(shape, stride));
  };
  const auto rows = [](int count, int bits = 32) {
    return tensor_rows(fx::Int32(fx::thread_idx().x) % 32, count, bits);
  };
  struct Case {
    std::function<void(const fx::Tensor &)> body; // of a matrix of floats
    const char *why;
  };
  const Case cases[] = {
      {[&](auto &) { rows(0); }, "tensor_rows of 0 rows; the 32 lanes of a wave give 1 to 32"},
      {[&](auto &) { rows(33); }, "tensor_rows of 33 rows"},
      {[&](auto &) { rows(8, 8); }, "numbers of rows have 16 or 32 bits, not 8"},
      {[&](auto &x) {
         tensor_load_gather(x, rows(8), 0, shared({4, 32}, {32, 1}));
       },
       "has 4 rows, and 8 numbers name some"},
      {[&](auto &x) {
         auto some = rows(8);
         some.words.pop_back();
         tensor_load_gather(x, some, 0, shared({8, 32}, {32, 1}));
       },
       "rows are what tensor_rows gives, not 8 numbers of 32 bits in 7 words"},
      {[&](auto &x) {
         tensor_load_gather(x, rows(8), 0, shared({8, 32}, {32, 1}), 32);
       },
       "the cache bits of a move are 0 to 31, th in bits 0 to 2 and scope in bits 3 and 4, not 32"},
      {[&](auto &x) { tensor_load_gather(x, rows(8), 0, x); }, "the tile is in shared memory, not"},
      {[&](auto &x) {
         tensor_load_gather(x, rows(8), 0, shared({8, 32}, {32, 1}, fx::f16));
       },
       "a move does not convert"},
      {[&](auto &x) {
         tensor_load_gather(x, rows(8), 0, shared({8, 4, 8}, {32, 8, 1}));
       },
       "rows are those of a tensor and a tile with two modes"},
      {[&](auto &x) {
         tensor_load_gather(x, rows(8), 0, shared({8, 32}, {1, 8}));
       },
       "mode 1 would have the stride 1"},
      {[&](auto &x) {
         tensor_load_gather(x.recast(fx::u8), rows(8), 0, shared({8, 3}, {3, 1}, fx::u8));
       },
       "no whole words of 32 bits"},
      {[&](auto &x) {
         tensor_load_gather(x.recast(fx::u8), rows(1), 0, shared({1, 65536}, {65536, 1}, fx::u8));
       },
       "a row has at most 65535 elements, not 65536"},
      {[&](auto &x) { // a gap that would reach over the rows of two instructions
         tensor_load_gather(x, rows(16), 0, shared({16, {4, 8}}, {36, {8, 1}}));
       },
       "the mover takes tensors whose modes are numbers"},
      {[&](auto &x) { // and one after a part of them alone
         tensor_load_gather(x, rows(8), 0, shared({8, 32}, {0, 1}));
       },
       "mode 0 would have the stride 32"},
      {[&](auto &x) {
         tensor_load_gather(x, rows(8), 0, shared({8, 12}, {16, 1}));
       },
       "gaps come after a power of two of elements, not after every 12"},
      {[&](auto &x) {
         tensor_load_gather(x, rows(8), 0, shared({8, 32}, {33, 1}));
       },
       "padding of 1 words of 32 bits after every 32 is not defined"},
      {[&](auto &x) {
         fx::if_(fx::Int32(fx::thread_idx().x) % 32 < 4, [&] {
           tensor_load_gather(x, rows(8), 0, shared({8, 32}, {32, 1}));
         });
       },
       "a move of rows"},
      {[&](auto &x) { tensor_store_gather(x, x, rows(8), 0); },
       "the tile is in shared memory, not"},
      {[&](auto &x) {
         auto tile = shared({8, 32}, {32, 1});
         tensor_store_gather(tile, tile, rows(8), 0);
       },
       "the tensor is in global memory, not"},
  };
  fx::DeviceArray<float> x({64, 64});
  for (const Case &c : cases) {
    INFO(c.why);
    const fx::Kernel kernel("refused", [&](fx::Tensor matrix) { c.body(matrix); });
    const std::string error = errorOf([&] { kernel(x).launch({.grid = 1, .block = kBlock}); });
    CHECK_THAT(error, Catch::Contains(c.why) && Catch::Contains("tensor_gather_test.cpp:"));
  }
}
