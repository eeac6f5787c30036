// Examples of docs/layout-algebra.md: the same functions in C++.
#include "example.h"

TEST_CASE("layouts: the algebra on the host", "[layouts]") {
  // region: host
  auto matrix = fx::make_layout({8, 16}, {16, 1});             // row-major
  auto tiles = fx::zipped_divide(matrix, {4, 8});              // ((4,8),(2,2)):((16,1),(64,8))
  auto tile = tiles(_, fx::make_coord(1, 0));                  // (4,8):(16,1)
  std::int64_t start = tiles(0, fx::make_coord(1, 0)).value(); // 64
  auto columns = fx::composition(matrix, fx::make_layout({4, 4}, {2, 32})); // (4,4):(32,4)
  auto swizzled = fx::make_composed_layout(fx::Swizzle(3, 0, 3), fx::make_layout({8, 8}, {8, 1}));
  std::int64_t place = swizzled(3, 5).value(); // 30
  // endregion
  CHECK(tiles.str() == "((4,8),(2,2)):((16,1),(64,8))");
  CHECK(tile.str() == "(4,8):(16,1)");
  CHECK(start == 64);
  CHECK(columns.str() == "(4,4):(32,4)");
  CHECK(place == 30);
  CHECK(fx::size(matrix).value() == 128);
}

TEST_CASE("layouts: demands", "[layouts]") {
  example::expectOutput("layouts-demands.txt", example::messageOf<fx::TraceError>([] {
    // region: demands
    auto written = fx::make_layout({8, 8}, {8, 1});
    auto read = fx::make_composed_layout(fx::Swizzle(3, 0, 3), written);
    fx::assert_injective(read);           // no two coordinates share a place
    fx::assert_covers(read, 64);          // and every place below 64 has one
    fx::assert_same_layout(written, read); // but one side lacks the swizzle
    // endregion
  }));
}
