// Predicates of copies at borders: which calls happen, what the others leave, and what is refused.
#include "run.h"

#include <catch2/catch.hpp>

namespace fx = flydsl;
using Catch::Contains;
using fx::_;
using fx::Straddling;

namespace {

constexpr int kRows = 8, kColumns = 32; // of a tile

/// 4 x 8 threads of 2 x 4 values, in calls of `width`.
fx::TiledCopy tiles(int width) {
  return fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy(32 * width), fx::f32),
                                fx::make_ordered_layout({4, 8}, {1, 0}),
                                fx::make_ordered_layout({2, 4}, {1, 0}));
}

/// Copies the tile of a block through registers.
const fx::Kernel through{
    "through", [](fx::Tensor A, fx::Tensor B, fx::TiledCopy copy, fx::Constexpr<int> straddling,
                  fx::Constexpr<bool> other) {
      auto [bm, bn, bz] = fx::block_idx();
      auto tile = copy.tile_mn();
      auto places = fx::flat_divide(fx::make_identity_tensor(A.shape()), tile)(_, _, bm, bn);
      auto thr = copy.get_slice(fx::thread_idx().x);
      auto source = thr.partition_S(fx::flat_divide(A, tile)(_, _, bm, bn));
      auto r = fx::make_fragment_like(source);
      r.fill(-1);
      auto pred = thr.predicate(places, A.shape(), static_cast<Straddling>(straddling.value()));
      if (other)
        fx::copy(copy, source, r, {.pred = pred, .other = 7});
      else
        fx::copy(copy, source, r, {.pred = pred});
      // B is a whole number of tiles.
      fx::copy(copy, r, thr.partition_D(fx::flat_divide(B, tile)(_, _, bm, bn)));
    }};

struct Case {
  std::int64_t M, N;
  int width;
  Straddling straddling;
  bool promised; ///< the extent of the rows is said to be a multiple of 4
  bool other;
};

void check(const Case &c) {
  INFO(c.M << " x " << c.N << ", " << c.width << " a call");
  const std::int64_t pitch = (c.N + 3) / 4 * 4, rows = (c.M + kRows - 1) / kRows * kRows,
                     columns = (c.N + kColumns - 1) / kColumns * kColumns;
  auto A = fx::DeviceArray<float>::random({c.M, pitch}, 1);
  fx::DeviceArray<float> B({rows, columns});
  fx::TensorArg a = fx::tensor(A.data(), {c.M, c.N}, {pitch, 1});
  a.mark_layout_dynamic(1, 4);
  if (c.promised)
    a.mark_shape_dynamic(1, 4);
  through(a, B, tiles(c.width), static_cast<int>(c.straddling), c.other)
      .launch({.grid = {rows / kRows, columns / kColumns}, .block = 32});
  const auto in = A.to_host(), out = B.to_host();
  for (std::int64_t m = 0; m < rows; ++m)
    for (std::int64_t n = 0; n < columns; ++n) {
      const std::int64_t first = n / c.width * c.width, last = first + c.width - 1;
      const bool happens =
          m < c.M && (c.straddling == Straddling::left_out ? last < c.N : first < c.N);
      REQUIRE(out[static_cast<std::size_t>(m * columns + n)] ==
              (happens   ? in[static_cast<std::size_t>(m * pitch + n)]
               : c.other ? 7.0f
                         : -1.0f));
    }
}

} // namespace

TEST_CASE("calls at a border happen where their elements lie inside of the shape") {
  for (bool other : {false, true}) {
    for (std::int64_t N : {32, 4, 36, 60}) // no call straddles
      for (std::int64_t M : {8, 1, 13})
        check({M, N, 4, Straddling::refused, true, other});
    for (std::int64_t N : {1, 3, 33, 63}) {
      check({11, N, 1, Straddling::refused, false, other});
      check({11, N, 2, Straddling::copied, false, other});
      check({11, N, 4, Straddling::copied, false, other});
      check({11, N, 4, Straddling::left_out, false, other});
    }
  }
}

TEST_CASE("a shape that is known while tracing needs no promise") {
  const auto A = fx::DeviceArray<float>::random({5, 20}, 1);
  fx::DeviceArray<float> B({8, 32});
  fx::TensorArg a(A);
  a.mark_layout_static();
  through(a, B, tiles(4), static_cast<int>(Straddling::refused), true).launch({1, 32});
  CHECK(B.to_host()[19] == A.to_host()[19]);
  CHECK(B.to_host()[20] == 7);
}

TEST_CASE("a call that may straddle the border is refused, and the message has the ways out") {
  const fx::DeviceArray<float> A({5, 20}), B({8, 32});
  auto trace = [&](const fx::TensorArg &a) {
    through(a, B, tiles(4), static_cast<int>(Straddling::refused), true).launch({1, 32});
  };
  CHECK_THROWS_WITH(trace(A), Contains("predicate_test.cpp:") &&
                                  Contains("a call of the atom copies 4 elements, and one may "
                                           "reach over the border: mode 1 of the shape (?,?)") &&
                                  Contains("mark_shape_dynamic(1, 4) on the argument says so") &&
                                  Contains("fx::Straddling::copied") &&
                                  Contains("fx::Straddling::left_out"));
  fx::TensorArg odd = fx::tensor(A.data(), {5, 18}, {20, 1});
  odd.mark_layout_static();
  CHECK_THROWS_WITH(trace(odd), Contains("mode 1 of the shape (5,18)"));
}

TEST_CASE("a predicate takes places, and a shape that has their modes") {
  const fx::DeviceArray<float> A({8, 32});
  auto trace = [&](auto body) {
    const fx::Kernel kernel{"places", [=](fx::Tensor A, fx::TiledCopy copy) {
                              body(A, copy.get_slice(fx::thread_idx().x));
                            }};
    kernel(A, tiles(4)).launch({1, 32});
  };
  CHECK_THROWS_WITH(
      trace([](const fx::Tensor &A, const fx::ThrCopy &thr) { (void)thr.predicate(A, A.shape()); }),
      Contains("predicate takes the places of the elements, a tile of "
               "fx::make_identity_tensor(shape)"));
  CHECK_THROWS_WITH(trace([](const fx::Tensor &A, const fx::ThrCopy &thr) {
                      auto places = fx::make_identity_tensor(A.shape());
                      (void)thr.predicate(places, A.shape(), Straddling::copied);
                    }),
                    Contains("is known only at the launch; take a tile of them"));
  CHECK_THROWS_WITH(trace([](const fx::Tensor &A, const fx::ThrCopy &thr) {
                      auto places = fx::make_identity_tensor({kRows, kColumns});
                      (void)thr.predicate(places, A.shape()[0]);
                    }),
                    Contains("has no such modes as the coordinates"));
}

TEST_CASE("what calls leave is asked of copies that leave some, into registers") {
  const fx::DeviceArray<float> A({8, 32});
  auto trace = [&](auto body) {
    const fx::Kernel kernel{
        "others", [=](fx::Tensor A, fx::TiledCopy copy) {
          auto thr = copy.get_slice(fx::thread_idx().x);
          auto tile = fx::flat_divide(A, copy.tile_mn())(_, _, 0, 0);
          body(thr.partition_S(tile), copy,
               thr.predicate(fx::make_identity_tensor({kRows, kColumns}), {kRows, kColumns}));
        }};
    kernel(A, tiles(4)).launch({1, 32});
  };
  CHECK_THROWS_WITH(
      trace([](const fx::Tensor &part, const fx::TiledCopy &copy, const fx::Tensor &) {
        fx::copy(copy, part, fx::make_fragment_like(part), {.other = 0});
      }),
      Contains("predicate_test.cpp:") && Contains("this copy has no .pred"));
  CHECK_THROWS_WITH(
      trace([](const fx::Tensor &part, const fx::TiledCopy &copy, const fx::Tensor &pred) {
        auto r = fx::make_fragment_like(part);
        r.fill(0);
        fx::copy(copy, r, part, {.pred = pred, .other = 0});
      }),
      Contains("CopyOptions::other fills registers"));
  CHECK_THROWS_WITH(
      trace([](const fx::Tensor &part, const fx::TiledCopy &copy, const fx::Tensor &pred) {
        fx::copy(copy, part, fx::make_fragment_like(part), {.pred = pred, .other = fx::Int32(0)});
      }),
      Contains(".to(fx::f32) converts"));
}
