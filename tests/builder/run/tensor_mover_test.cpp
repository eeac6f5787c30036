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
      {[&](auto &x) { // a tile of its own for each wave, and one place for all
         tensor_load_to_lds(x, {fx::rocdl::wave_id(), 0}, shared({8, 8}, {8, 1}), {.waves = 1});
       },
       "or give each wave a tile of its own in shared memory, sliced by fx::rocdl::wave_id()"},
      {[&](auto &x) {
         const auto four = shared({8, 8, 4}, {8, 1, 64});
         tensor_store_from_lds(four(fx::_, fx::_, fx::rocdl::wave_id()), x, {0, 0}, {.waves = 1});
       },
       "or store a tile of its own from each wave, numbered by fx::rocdl::wave_id()"},
      {[&](auto &x) {
         const auto four = shared({8, 8, 4}, {8, 1, 64});
         tensor_load_to_lds(x, {0, 0}, four(fx::_, fx::_, fx::rocdl::wave_id()), {.waves = 2});
       },
       "the tile is for 2 of the block's 4 waves, but all waves get here; leave out .waves, or "
       "call "
       "it inside fx::if_(fx::rocdl::wave_id() < 2, ...)"},
      {[&](auto &x) { // a place that differs among the lanes of a wave
         const auto four = shared({8, 8, 4}, {8, 1, 64});
         tensor_load_to_lds(x, {0, 0}, four(fx::_, fx::_, fx::thread_idx().x % 4), {.waves = 1});
       },
       "that of the tile in shared memory comes from the lane's number"},
      {[&](auto &x) {
         tensor_store_from_lds(shared({8, 8}, {8, 1}), x, {fx::thread_idx().x % 4, 0});
       },
       "that in the tensor comes from the lane's number"},
      {[&](auto &x) { // a branch that all waves take
         fx::if_(fx::Int32(fx::block_idx().x) == 0, [&] {
           tensor_load_to_lds(x, {0, 0}, shared({8, 8}, {8, 1}), {.waves = 1});
         });
       },
       "the tile is for 1 of the block's 4 waves, but all waves get here"},
      {[&](auto &
               x) { // two conditions, the second only where the first holds, in a loop of all waves
         for (fx::Int32 i : fx::range(0, fx::Int32(fx::block_idx().y) + 1))
           fx::if_(fx::Int32(fx::block_idx().x) == 0 && i == 0, [&] {
             tensor_load_to_lds(x, {0, 0}, shared({8, 8}, {8, 1}), {.waves = 1});
           });
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

TEST_CASE("tensor moves in loops that some waves run are for these waves") {
  if (!hasMover())
    return;
  const fx::Kernel kernel("loop_of_some", [&](fx::Tensor x, fx::Tensor y) {
    auto tile = fx::SharedAllocator().tensor(fx::f32, fx::make_layout({8, 8}, {8, 1}));
    for (fx::Int32 i : fx::range(0, fx::select(fx::rocdl::wave_id() < 1, 2, 0))) {
      fx::rocdl::tensor_load_to_lds(x, {i, 0}, tile, {.waves = 1});
      fx::rocdl::s_wait_tensorcnt(0);
      fx::rocdl::tensor_store_from_lds(tile, y, {i, 0}, {.waves = 1});
      fx::rocdl::s_wait_tensorcnt(0);
    }
  });
  const auto x = fx::DeviceArray<float>::random({16, 8}, 1);
  fx::DeviceArray<float> y({16, 8});
  fx::Stream stream;
  kernel(x, y).launch({.grid = 1, .block = kBlock, .stream = stream});
  stream.synchronize();
  CHECK(y.to_host() == x.to_host());
}

TEST_CASE(
    "tensor moves without a branch around them are for each wave by itself where its place is") {
  if (!hasMover())
    return;
  const fx::Kernel kernel("own_tiles", [](fx::Tensor x, fx::Tensor y, fx::Tensor z, fx::Tensor w) {
    namespace rocdl = fx::rocdl;
    const fx::Int32 wave = rocdl::wave_id();
    fx::SharedAllocator shared;
    const auto all = shared.tensor(fx::f32, fx::make_layout({8, 8, 4}, {8, 1, 64}));
    const fx::Tensor own = all(fx::_, fx::_, wave);
    rocdl::tensor_load_to_lds(x, {wave, 0}, own, {.waves = 1});
    rocdl::s_wait_tensorcnt(0);
    rocdl::tensor_store_from_lds(own, y, {wave, 0}, {.waves = 1});
    rocdl::s_wait_tensorcnt(0);
    // The same by atoms: waves take the tiles backwards.
    const fx::Layout tile = fx::make_layout({8, 8}, {8, 1}), one = fx::make_layout(1);
    const auto load = rocdl::make_tiled_tdm_atom(rocdl::TensorLoad{}, z, tile, {8, 8});
    const auto store = rocdl::make_tiled_tdm_atom(rocdl::TensorStore{}, w, tile, {8, 8});
    const auto part = [&](const rocdl::TiledTdm &made) {
      return rocdl::tdm_partition(
          made.atom, 0, one, own,
          fx::zipped_divide(made.coordinates, fx::Tile{8, 8})(fx::_, fx::make_coord(3 - wave, 0)));
    };
    const auto [to, from] = part(load);
    fx::copy(load.atom, from, to);
    rocdl::s_wait_tensorcnt(0);
    const auto [held, result] = part(store);
    fx::copy(store.atom, held, result);
    rocdl::s_wait_tensorcnt(0);
  });
  const auto x = fx::DeviceArray<float>::random({32, 8}, 1),
             z = fx::DeviceArray<float>::random({32, 8}, 2);
  fx::DeviceArray<float> y({32, 8}), w({32, 8});
  kernel(x, y, z, w).launch({.grid = 1, .block = kBlock});
  fx::Device::current().synchronize();
  CHECK(y.to_host() == x.to_host());
  CHECK(w.to_host() == z.to_host());
}

namespace {
struct Tiled {
  int rows = 32, columns = 64, gap = 0, waves = 4;
};

/// y's tiles of a row of tiles become x's, by atoms that are made of the tensors: each wave moves its boxes.
const fx::Kernel tiledMoves{
    "tiled_moves", [](fx::Tensor x, fx::Tensor y, fx::Constexpr<Tiled> shape) {
      namespace rocdl = fx::rocdl;
      const int rows = shape->rows, columns = shape->columns;
      const fx::Tile tile{rows, columns};
      const fx::Layout loaded = fx::make_layout({rows, columns}, {columns + shape->gap, 1}),
                       stored = fx::make_layout({rows, columns}, {columns, 1}),
                       waves = fx::make_layout(shape->waves);
      fx::SharedAllocator shared;
      const fx::Tensor lds = shared.tensor(x.dtype(), loaded),
                       out = shared.tensor(x.dtype(), stored);
      const rocdl::TiledTdmOptions options{.num_warps = shape->waves};
      const auto load = rocdl::make_tiled_tdm_atom(rocdl::TensorLoad{}, x, loaded, tile, options);
      const auto store = rocdl::make_tiled_tdm_atom(rocdl::TensorStore{}, y, stored, tile, options);
      const fx::Int32 i = fx::block_idx().x, j = fx::block_idx().y, tid = fx::thread_idx().x;
      const auto move = [&](const auto &made, const fx::Tensor &memory, bool isLoad) {
        const fx::Tensor tiles = fx::zipped_divide(made.coordinates, tile);
        const auto [to, from] =
            rocdl::tdm_partition(made.atom, fx::IntTuple(rocdl::wave_id()), waves, memory,
                                 tiles(fx::_, fx::make_coord(i, j)));
        isLoad ? fx::copy(made.atom, from, to) : fx::copy(made.atom, to, from);
      };
      const auto each = [&](const auto &made, const fx::Tensor &memory, bool isLoad) {
        if (shape->waves * 32 < kBlock)
          fx::if_(rocdl::wave_id() < shape->waves, [&] { move(made, memory, isLoad); });
        else
          move(made, memory, isLoad);
        rocdl::s_wait_tensorcnt(0);
        fx::gpu::barrier();
      };
      each(load, lds, true);
      for (fx::Int32 e : fx::range(kBlock - 1 - tid, rows * columns, kBlock))
        out(e / columns, e % columns) = lds(e / columns, e % columns) + 1;
      fx::gpu::barrier();
      each(store, out, false);
    }};

template <class T> void checkTiled(int m, int n, int pitch, const Tiled &shape) {
  std::vector<T> from(std::size_t(m) * std::size_t(pitch)), to(from.size(), T(77));
  for (std::size_t k = 0; k < from.size(); ++k)
    from[k] = static_cast<T>(k * 7 % 61);
  auto x = fx::DeviceArray<T>::from_host(from, {m, pitch}),
       y = fx::DeviceArray<T>::from_host(to, {m, pitch});
  const auto matrix = [&](fx::DeviceArray<T> &array) {
    return fx::TensorArg(fx::tensor(array.data(), {m, n}, {pitch, 1}).mark_layout_dynamic(1));
  };
  tiledMoves(matrix(x), matrix(y), shape)
      .launch({.grid = {unsigned((m + shape.rows - 1) / shape.rows),
                        unsigned((n + shape.columns - 1) / shape.columns)},
               .block = kBlock});
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

TEST_CASE(
    "tensor moves by atoms made of a tensor take the boxes of each wave, in and out of range") {
  if (!hasMover()) {
    CHECK_THAT(errorOf([] { checkTiled<float>(32, 64, 64, {}); }),
               Catch::Contains("there is no make_tiled_tdm_atom on " + target().name() +
                               "; gfx1250 has it") &&
                   Catch::Contains("tensor_mover_test.cpp:"));
    return;
  }
  checkTiled<float>(64, 128, 128, {});
  checkTiled<float>(33, 70, 72, {.rows = 16, .columns = 32, .gap = 4, .waves = 2});
  checkTiled<std::uint8_t>(50, 100, 112, {.rows = 16, .columns = 64, .gap = 16, .waves = 1});
}

TEST_CASE("tensor moves take a wave's boxes of a row of tiles to stages of LDS") {
  if (!hasMover())
    return;
  // LDS in blocks of 16 columns: four boxes for each of two waves; two tiles in two stages.
  const fx::Kernel kernel("stages", [](fx::Tensor x, fx::Tensor y) {
    namespace rocdl = fx::rocdl;
    const fx::Layout place = fx::make_layout({16, {16, 4}}, {16, {1, 256}});
    const fx::Tile tile{16, 64};
    fx::SharedAllocator shared;
    const fx::Tensor lds =
        shared.tensor(x.dtype(), fx::make_layout({{16, {16, 4}}, 2}, {{16, {1, 256}}, 1024}));
    const auto [atom, places] =
        rocdl::make_tiled_tdm_atom(rocdl::TensorLoad{}, x, place, tile, {.num_warps = 2});
    const fx::Tensor tiles =
        fx::zipped_divide(places, tile)(fx::_, fx::make_coord(0, fx::_)); // ((16, 64), 2)
    const auto [to, from] =
        rocdl::tdm_partition(atom, fx::IntTuple(rocdl::wave_id()), fx::make_layout(2), lds, tiles);
    for (int stage : {0, 1})
      fx::copy(atom, from(fx::_, fx::_, stage), to(fx::_, fx::_, stage));
    rocdl::s_wait_tensorcnt(0);
    fx::gpu::barrier();
    const fx::Int32 tid = fx::thread_idx().x;
    for (fx::Int32 e : fx::range(tid, 16 * 128, 64)) {
      const fx::Int32 row = e / 128, column = e % 128;
      y(row, column) =
          lds(fx::make_coord(row, fx::make_coord(column % 16, column % 64 / 16)), column / 64);
    }
  });
  std::vector<float> from(16 * 128);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = float(i);
  const auto x = fx::DeviceArray<float>::from_host(from, {16, 128});
  fx::DeviceArray<float> y({16, 128});
  kernel(x, y).launch({.grid = 1, .block = 64});
  fx::Device::current().synchronize();
  CHECK(y.to_host() == from);
}

TEST_CASE("tensor moves by atoms made of a tensor say what does not fit") {
  if (!hasMover())
    return;
  namespace rocdl = fx::rocdl;
  struct Case {
    std::function<void(const fx::Tensor &)> body; // of a matrix of floats
    const char *why;
  };
  const fx::Layout rows = fx::make_layout({16, 32}, {32, 1});
  const auto lds = [&] { return fx::SharedAllocator().tensor(fx::f32, rows); };
  const auto made = [&](const fx::Tensor &x, int waves) {
    return rocdl::make_tiled_tdm_atom(rocdl::TensorLoad{}, x, rows, {16, 32}, {.num_warps = waves});
  };
  const auto part = [&](const fx::Tensor &x, int waves, const fx::Layout &layout,
                        const fx::IntTuple &wave) {
    const auto [atom, places] = made(x, waves);
    return rocdl::tdm_partition(
        atom, wave, layout, lds(),
        fx::zipped_divide(places, fx::Tile{16, 32})(fx::_, fx::make_coord(0, 0)));
  };
  const Case cases[] = {
      {[&](auto &x) {
         rocdl::make_tiled_tdm_atom(rocdl::TensorLoad{}, x, rows, {16, 16});
       },
       "the tiler takes 256 elements, but the LDS tile holds 512"},
      {[&](auto &x) { made(x, 3); }, "the waves can't share the tile in equal boxes"},
      {[&](auto &x) { made(x, 0); }, "expected a positive number of waves, found 0"},
      {[&](auto &x) {
         rocdl::make_tiled_tdm_atom(rocdl::TensorLoad{}, x, fx::make_layout({16, 32}, {1, 16}),
                                    {16, 32});
       },
       "the innermost dimension must be contiguous in global memory"},
      {[&](auto &x) {
         rocdl::make_tiled_tdm_atom(rocdl::TensorStore{}, x, fx::make_layout({16, 32}, {40, 1}),
                                    {16, 32});
       },
       "a store takes no LDS tile with gaps"},
      {[&](auto &x) {
         rocdl::make_tiled_tdm_atom(rocdl::TensorStore{}, x, rows, {16, 32},
                                    {.workgroups = fx::Int32(1)});
       },
       "a store is for no other workgroups"},
      {[&](auto &x) { part(x, 8, fx::make_layout(8), 0); },
       "the tile is for 8 waves, and the block has 4"},
      {[&](auto &x) { part(x, 2, fx::make_layout(2), 0); },
       "the tile is for 2 of the block's 4 waves, but all waves get here"},
      {[&](auto &x) { part(x, 1, fx::make_layout(1), 0); },
       "or give each wave a tile of its own in shared memory, sliced by fx::rocdl::wave_id()"},
      {[&](auto &x) {
         fx::if_(fx::Int32(fx::block_idx().x) == 0, [&] { part(x, 2, fx::make_layout(2), 0); });
       },
       "the tile is for 2 of the block's 4 waves, but all waves get here"},
      {[&](auto &x) { part(x, 4, fx::make_layout(4, 2), 0); },
       "the waves of a tile are counted from 0 without gaps"},
      {[&](auto &x) { rocdl::tdm_partition(made(x, 4).atom, 0, fx::make_layout(4), lds(), x); },
       "the tensor's side is its coordinates"},
      {[&](auto &x) {
         const auto [atom, places] = made(x, 4);
         rocdl::tdm_partition(atom, 0, fx::make_layout(4), x, places);
       },
       "the tile is in shared memory, not"},
      {[&](auto &x) {
         const auto [atom, places] = made(x, 4);
         rocdl::tdm_partition(atom, 0, fx::make_layout(4), lds(), places);
       },
       "a tile has a shape that is known while tracing"},
      {[&](auto &x) {
         const auto [atom, places] = made(x, 4);
         rocdl::tdm_partition(
             atom, 0, fx::make_layout(4), lds(),
             fx::zipped_divide(places, fx::Tile{8, 32})(fx::_, fx::make_coord(0, 0)));
       },
       "mode 0 of the tensors is one tile"},
      {[&](auto &x) { // as many elements in another shape
         const auto [atom, places] = made(x, 1);
         const fx::Tensor tile = lds();
         const auto coordinates =
             fx::zipped_divide(places, fx::Tile{32, 16})(fx::_, fx::make_coord(0, 0));
         fx::if_(rocdl::wave_id() < 1, [&, made = atom] {
           const auto [to, from] =
               rocdl::tdm_partition(made, 0, fx::make_layout(1), tile, coordinates);
           fx::copy(made, from, to);
         });
       },
       "has it elsewhere; its tile is to have the atom's shape"},
      {[&](auto &x) {
         const auto copy = fx::make_copy_atom(fx::UniversalCopy(32), fx::f32);
         rocdl::tdm_partition(copy, 0, fx::make_layout(4), lds(), x);
       },
       "the atom is one of make_tiled_tdm_atom"},
      {[&](auto &x) {
         const auto [atom, places] = made(x, 4);
         const auto [to, from] = rocdl::tdm_partition(
             atom, fx::IntTuple(rocdl::wave_id()), fx::make_layout(4), lds(),
             fx::zipped_divide(places, fx::Tile{16, 32})(fx::_, fx::make_coord(0, 0)));
         fx::if_(fx::Int32(fx::thread_idx().x) % 32 < 4, [&] { fx::copy(atom, from, to); });
       },
       "a tensor move"},
  };
  fx::DeviceArray<float> x({64, 64});
  for (const Case &c : cases) {
    INFO(c.why);
    const fx::Kernel kernel("refused", [&](fx::Tensor matrix) { c.body(matrix); });
    const std::string error = errorOf([&] { kernel(x).launch({.grid = 1, .block = kBlock}); });
    CHECK_THAT(error, Catch::Contains(c.why) && Catch::Contains("tensor_mover_test.cpp:"));
  }
}
