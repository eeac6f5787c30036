// gfx1250's tensor data mover as the language has it: tiles to shared memory and back, and what is
// refused.
#include "error_of.h"
#include "run.h"

#include <flydsl/kernel/control_flow.h>
#include <flydsl/rocdl/intrinsics.h>
#include <flydsl/rocdl/schedule.h>
#include <flydsl/rocdl/tensor_mover.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;

namespace {
constexpr int kBlock = 128;

fx::Target target() { return fx::Device::current().target(); }
bool hasMover() { return target().has(fx::feature::tensor_mover); }

struct Shape {
  int rows = 16, columns = 32, gap = 0;
  bool one_wave = false;
};

/// y's tile (i, j) becomes x's tile (i, j), which every wave loads a part of, or wave 0 all of it. In
/// between, each thread adds 1 to what another wave has loaded.
const fx::Kernel moved{
    "moved", [](fx::Tensor x, fx::Tensor y, fx::Constexpr<Shape> shape) {
      const int rows = shape->rows, columns = shape->columns, pitch = columns + shape->gap;
      auto [i, j, unused] = fx::block_idx();
      auto tid = fx::thread_idx().x;
      fx::SharedAllocator shared;
      auto tile = shared.tensor(x.dtype(), fx::make_layout({rows, columns}, {pitch, 1}));
      if (shape->one_wave)
        fx::if_(fx::rocdl::wave_id() == 0, [&] {
          fx::rocdl::tensor_load_to_lds(x, {i, j}, tile, {.waves = 1});
        });
      else
        fx::rocdl::tensor_load_to_lds(x, {i, j}, tile);
      fx::rocdl::s_wait_tensorcnt(0);
      fx::gpu::barrier();
      for (fx::Int32 e : fx::range(kBlock - 1 - tid, rows * columns, kBlock)) {
        const fx::Numeric value = tile(e / columns, e % columns);
        tile(e / columns, e % columns) = value + 1;
      }
      fx::gpu::barrier();
      if (shape->one_wave)
        fx::if_(fx::rocdl::wave_id() == 0, [&] {
          fx::rocdl::tensor_store_from_lds(tile, y, {i, j}, {.waves = 1});
        });
      else
        fx::rocdl::tensor_store_from_lds(tile, y, {i, j});
      fx::rocdl::s_wait_tensorcnt(0);
    }};

template <class T> void check(int m, int n, int pitch, const Shape &shape) {
  std::vector<T> from(std::size_t(m) * std::size_t(pitch)), to(from.size(), T(77));
  for (std::size_t k = 0; k < from.size(); ++k)
    from[k] = static_cast<T>(k * 7 % 61);
  auto x = fx::DeviceArray<T>::from_host(from, {m, pitch}),
       y = fx::DeviceArray<T>::from_host(to, {m, pitch});
  const auto matrix = [&](fx::DeviceArray<T> &array) {
    return fx::TensorArg(fx::tensor(array.data(), {m, n}, {pitch, 1}).mark_layout_dynamic(1));
  };
  const unsigned grid_m = unsigned((m + shape.rows - 1) / shape.rows),
                 grid_n = unsigned((n + shape.columns - 1) / shape.columns);
  moved(matrix(x), matrix(y), shape).launch({.grid = {grid_m, grid_n}, .block = kBlock});
  fx::Device::current().synchronize();
  const std::vector<T> result = y.to_host();
  unsigned wrong = 0;
  for (int r = 0; r < m; ++r)
    for (int c = 0; c < pitch; ++c) {
      const auto k = std::size_t(r) * std::size_t(pitch) + std::size_t(c);
      wrong += result[k] != (c < n ? static_cast<T>(from[k] + 1) : T(77));
    }
  CHECK(wrong == 0);
}
} // namespace

TEST_CASE("tensor moves take tiles to shared memory and back, in and out of range") {
  if (!hasMover()) {
    CHECK_THAT(errorOf([] { check<float>(16, 32, 32, {}); }),
               Catch::Contains("there is no tensor_load_to_lds on " + target().name() +
                               "; gfx1250 has it") &&
                   Catch::Contains("tensor_mover_test.cpp:"));
    return;
  }
  for (bool one_wave : {false, true}) {
    CAPTURE(one_wave);
    check<float>(32, 64, 64, {16, 32, 0, one_wave});
    check<float>(33, 70, 72, {16, 32, 4, one_wave});
    check<std::int32_t>(7, 5, 6, {8, 64, 8, one_wave});
    check<std::int64_t>(20, 9, 9, {4, 8, 2, one_wave});
    check<std::uint8_t>(50, 100, 112, {16, 64, 16, one_wave});
  }
}

TEST_CASE("tensor moves that the mover can't do are refused at the call") {
  if (!hasMover())
    return;
  struct Case {
    std::function<void(const fx::Tensor &)> body; // of a matrix of floats
    const char *why;
  };
  const auto shared = [](const fx::IntTuple &shape, const fx::IntTuple &stride,
                         fx::DType type = fx::f32) {
    return fx::SharedAllocator().tensor(type, fx::make_layout(shape, stride));
  };
  using fx::rocdl::tensor_load_to_lds;
  using fx::rocdl::tensor_store_from_lds;
  const Case cases[] = {
      {[&](auto &x) {
         tensor_load_to_lds(x, {0, 0}, x);
       },
       "the tile is in shared memory, not"},
      {[&](auto &x) {
         auto tile = shared({8, 8}, {8, 1});
         tensor_load_to_lds(tile, {0, 0}, tile);
       },
       "the tensor is in global memory, not"},
      {[&](auto &x) {
         tensor_load_to_lds(x, {0, 0}, shared({8, 8}, {8, 1}, fx::f16));
       },
       "a move does not convert: the tensor has elements of f32, its tile of f16"},
      {[&](auto &x) {
         tensor_load_to_lds(x, 0, shared({8, 8}, {8, 1}));
       },
       "have as many modes"},
      {[&](auto &x) {
         tensor_load_to_lds(x, {0, 0}, shared({8, 8, 2}, {8, 1, 64}));
       },
       "have as many modes"},
      {[&](auto &x) {
         tensor_load_to_lds(x, {0, -1}, shared({8, 8}, {8, 1}));
       },
       "there is no tile (0,-1)"},
      {[&](auto &x) {
         tensor_load_to_lds(x, {0, 0}, shared({8, 8}, {1, 8}));
       },
       "mode 1 would have the stride 1"},
      {[&](auto &x) {
         tensor_load_to_lds(x, {0, 0}, shared({8, 8}, {8, 1}), {.waves = 3});
       },
       "3 waves can't share a tile"},
      {[&](auto &x) {
         tensor_load_to_lds(x, {0, 0}, shared({8, 8}, {8, 1}), {.waves = 8});
       },
       "8 waves are to share the tile, and the block has 4"},
      {[&](auto &x) {
         tensor_load_to_lds(x, {0, 0}, shared({8, 8}, {8, 1}), {.waves = 1});
       },
       "the tile is for 1 of the block's 4 waves, but all waves get here"},
      {[&](auto &x) {
         tensor_load_to_lds(x, {0, 0}, shared({8, 12}, {16, 1}));
       },
       "padInterval must be a power of two"},
      {[&](auto &x) {
         tensor_load_to_lds(x, {0, 0}, shared({8, 32}, {33, 1}));
       },
       "padding of 1 words of 32 bits after every 32 is not defined"},
      {[&](auto &x) {
         tensor_load_to_lds(x, {0, 0}, shared({1, 2}, {2, 1}));
       },
       "4 waves can't share a tile of this shape"},
      {[&](auto &x) {
         tensor_store_from_lds(shared({8, 4, 8}, {40, 8, 1}), x, {0, 0});
       },
       "have as many modes"},
  };
  fx::DeviceArray<float> x({64, 64});
  for (const Case &c : cases) {
    INFO(c.why);
    const fx::Kernel kernel("refused", [&](fx::Tensor matrix) { c.body(matrix); });
    const std::string error = errorOf([&] { kernel(x).launch({.grid = 1, .block = kBlock}); });
    CHECK_THAT(error, Catch::Contains(c.why) && Catch::Contains("tensor_mover_test.cpp:"));
  }
  // A gap that a load leaves after every two rows, and a store can't.
  const fx::Kernel pairs("pairs", [&](fx::Tensor rows) {
    tensor_store_from_lds(shared({8, 2, 4}, {12, 4, 1}), rows, {0, 0, 0});
  });
  fx::DeviceArray<float> rows({8, 2, 4});
  CHECK_THAT(errorOf([&] { pairs(rows).launch({.grid = 1, .block = kBlock}); }),
             Catch::Contains("a store leaves out the gap after each row"));
}
