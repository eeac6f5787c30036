// Examples of docs/borders.md.
#include "example.h"

#include <limits>

namespace {

// region: copy
/// B = 2 A for any M and N that 4 divides: tiles of 16 x 64 floats, each thread moves 2 rows of 4.
const fx::Kernel twice{"twice", [](fx::Tensor A, fx::Tensor B, fx::TiledCopy copy) {
  auto [bm, bn, bz] = fx::block_idx();
  auto tile = copy.tile_mn();                             // (16, 64)
  auto places = fx::make_identity_tensor(A.shape());      // (M, N) -> (m, n)
  auto gA = fx::flat_divide(A, tile)(_, _, bm, bn);       // (16, 64)
  auto gB = fx::flat_divide(B, tile)(_, _, bm, bn);       // (16, 64)
  auto tile_places = fx::flat_divide(places, tile)(_, _, bm, bn); // (16, 64) of (m, n)

  auto thr = copy.get_slice(fx::thread_idx().x);
  auto pred = thr.predicate(tile_places, A.shape()); // one boolean for each copy of 4 floats
  auto tA = thr.partition_S(gA);                     // (V, m, n)
  auto tB = thr.partition_D(gB);                     // (V, m, n)
  auto r = fx::make_fragment_like(tA);               // (V, m, n)
  fx::copy(copy, tA, r, {.pred = pred, .other = 0});
  r.store(r.load() * 2);
  fx::copy(copy, r, tB, {.pred = pred});
}};
// endregion

// region: padded
/// The same for any N: rows begin at multiples of 4 floats, and what lies after the end of a row is
/// padding.
const fx::Kernel twice_padded{"twice_padded",
                              [](fx::Tensor A, fx::Tensor B, fx::TiledCopy copy) {
  auto [bm, bn, bz] = fx::block_idx();
  auto tile = copy.tile_mn(); // (16, 64)
  auto places = fx::flat_divide(fx::make_identity_tensor(A.shape()), tile)(_, _, bm, bn);
  auto thr = copy.get_slice(fx::thread_idx().x);
  auto pred = thr.predicate(places, A.shape(), fx::Straddling::copied);
  auto tA = thr.partition_S(fx::flat_divide(A, tile)(_, _, bm, bn)); // (V, m, n)
  auto tB = thr.partition_D(fx::flat_divide(B, tile)(_, _, bm, bn)); // (V, m, n)
  auto r = fx::make_fragment_like(tA);                               // (V, m, n)
  fx::copy(copy, tA, r, {.pred = pred, .other = 0});
  r.store(r.load() * 2);
  fx::copy(copy, r, tB, {.pred = pred});
}};
// endregion

// region: sum
/// The sum of each row, in a block of 16 rows: what a copy brings from after the end of a row is
/// made 0, element by element.
const fx::Kernel sums{"sums", [](fx::Tensor A, fx::Tensor out, fx::TiledCopy copy) {
  auto tile = copy.tile_mn(); // (16, 64)
  auto places = fx::flat_divide(fx::make_identity_tensor(A.shape()), tile)(_, _, 0, 0);
  auto thr = copy.get_slice(fx::thread_idx().x);
  auto mine = thr.partition_S(places);                             // (V, m, n) of (m, n)
  auto tA = thr.partition_S(fx::flat_divide(A, tile)(_, _, 0, 0)); // (V, m, n)
  auto r = fx::make_fragment_like(tA);                             // (V, m, n)
  fx::copy(copy, tA, r,
           {.pred = thr.predicate(places, A.shape(), fx::Straddling::copied), .other = 0});
  for (int i = 0; i < fx::size(r).value(); ++i)
    r(i) = fx::select(fx::elem_less(mine(i), A.shape()), r(i), 0.0f);
  fx::Numeric sum = r.load().reduce(fx::Reduction::add);
  fx::Numeric row = fx::gpu::warp_reduce(sum, fx::Reduction::add, 16);
  fx::if_(fx::thread_idx().x % 16 == 0, [&] { out(fx::thread_idx().x / 16) = row; });
}};
// endregion

/// 16 x 16 threads with 1 x 4 values each.
fx::TiledCopy rowsOfFour() {
  return fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32),
                                fx::make_ordered_layout({16, 16}, {1, 0}),
                                fx::make_ordered_layout({1, 4}, {1, 0}));
}

/// 8 x 16 threads with 2 x 4 values each.
fx::TiledCopy blocksOfEight() {
  return fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32),
                                fx::make_ordered_layout({8, 16}, {1, 0}),
                                fx::make_ordered_layout({2, 4}, {1, 0}));
}

} // namespace

TEST_CASE("borders: a predicate leaves out what lies outside", "[borders]") {
  const std::int64_t M = 21, N = 76;
  auto A = fx::DeviceArray<float>::random({M, N}, 1);
  fx::DeviceArray<float> B({M, N});
  B.poison();
  // region: promise
  auto matrix = [&](fx::DeviceArray<float> &array) {
    return fx::TensorArg(array).mark_layout_dynamic(1, 4).mark_shape_dynamic(1, 4);
  };
  twice(matrix(A), matrix(B), blocksOfEight())
      .launch({.grid = {(M + 15) / 16, (N + 63) / 64}, .block = 128});
  // endregion
  const auto a = A.to_host(), b = B.to_host();
  for (std::size_t i = 0; i < a.size(); ++i)
    REQUIRE(b[i] == 2 * a[i]);
}

TEST_CASE("borders: a call that may straddle is refused", "[borders]") {
  fx::DeviceArray<float> A({21, 76}), B({21, 76});
  example::expectOutput("borders-straddling.txt", example::messageOf<fx::TraceError>([&] {
    twice(A, B, blocksOfEight()).launch({.grid = {2, 2}, .block = 128});
  }));
}

TEST_CASE("borders: rows with padding", "[borders]") {
  const std::int64_t M = 21, N = 75, pitch = 76;
  auto A = fx::DeviceArray<float>::random({M, pitch}, 1);
  fx::DeviceArray<float> B({M, pitch});
  B.poison();
  // region: pitch
  auto matrix = [&](float *data) {
    return fx::TensorArg(fx::tensor(data, {M, N}, {pitch, 1}).mark_layout_dynamic(1, 4));
  };
  twice_padded(matrix(A.data()), matrix(B.data()), blocksOfEight())
      .launch({.grid = {(M + 15) / 16, (N + 63) / 64}, .block = 128});
  // endregion
  const auto a = A.to_host(), b = B.to_host();
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t n = 0; n < N; ++n)
      REQUIRE(b[std::size_t(m * pitch + n)] == 2 * a[std::size_t(m * pitch + n)]);
}

TEST_CASE("borders: elements after the end of a row", "[borders]") {
  const std::int64_t M = 13, N = 50, pitch = 52;
  std::vector<float> values(std::size_t(M * pitch), std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t n = 0; n < N; ++n)
      values[std::size_t(m * pitch + n)] = float(m + n % 4);
  auto A = fx::DeviceArray<float>::from_host(values, {M, pitch});
  fx::DeviceArray<float> out({16});
  sums(fx::TensorArg(fx::tensor(A.data(), {M, N}, {pitch, 1}).mark_layout_dynamic(1, 4)), out,
       rowsOfFour())
      .launch({.block = 256});
  const auto sum = out.to_host();
  for (std::int64_t m = 0; m < 16; ++m)
    CHECK(sum[std::size_t(m)] == (m < M ? float(m * N + 12 * 6 + 1) : 0.0f));
}
