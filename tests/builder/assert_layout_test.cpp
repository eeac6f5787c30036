// Demands on layouts: what they accept, and what they say of what they do not.
#include "errors_at.h"

#include <flydsl/flydsl.h>
#include <flydsl/layout/assert_layout.h>

namespace fx = flydsl;
using Catch::Contains;
using namespace trace_test;

TEST_CASE("layouts that are one function are the same, however they are nested") {
  const fx::Layout flat = fx::make_layout({4, 8}, {8, 1});
  fx::assert_same_layout(flat, fx::make_layout({{2, 2}, 8}, {{8, 16}, 1}));
  fx::assert_same_layout(flat, fx::make_composed_layout(fx::Swizzle(0, 3, 3), flat));
  fx::assert_same_layout(fx::make_identity_layout({2, 3}), fx::make_identity_layout({2, 3}));
}

TEST_CASE("a swizzle on one side is told by the first coordinate that it moves, with a picture") {
  const fx::Layout plain = fx::make_layout({4, 8}, {8, 1});
  const fx::ComposedLayout swizzled = fx::make_composed_layout(fx::Swizzle(2, 0, 3), plain);
  CHECK_THROWS_WITH(
      fx::assert_same_layout(plain, swizzled),
      Contains(
          "differ first at the coordinate (1,0), which is at 8 in one and at 9 in the other") &&
          Contains("1 |") && Contains("assert_layout_test.cpp"));
}

TEST_CASE("layouts of other extents differ by their shapes") {
  CHECK_THROWS_WITH(
      fx::assert_same_layout(fx::make_layout({4, 8}, {8, 1}), fx::make_layout({8, 4}, {4, 1})),
      Contains("(4,8) and (8,4), which differ"));
}

TEST_CASE("tensors in memory are compared by their layouts") {
  traceText(
      [](fx::Tensor x) {
        auto tile = fx::make_view(x.iter(), fx::make_layout({4, 8}, {8, 1}));
        fx::assert_same_layout(tile, fx::make_layout({4, 8}, {8, 1}));
        CHECK_THROWS_WITH(fx::assert_same_layout(tile, fx::make_layout({4, 8}, {1, 4})),
                          Contains("(1,0), which is at 8 in one and at 1 in the other"));
        CHECK_THROWS_WITH(fx::assert_same_layout(x, tile), Contains("is not known while tracing"));
      },
      {matrixArg(fx::f32)});
}

TEST_CASE("two coordinates at one place are named") {
  fx::assert_injective(fx::make_layout({4, 8}, {9, 1}));
  fx::assert_injective(fx::make_identity_layout({4, 8}));
  CHECK_THROWS_WITH(fx::assert_injective(fx::make_layout({4, 8}, {4, 1})),
                    Contains("the coordinates (1,0) and (0,4) both at 4"));
  CHECK_THROWS_WITH(fx::assert_injective(fx::make_layout({4, 2}, {1, 0})), Contains("(0,1)"));
}

TEST_CASE("places that a layout leaves out, or that lie outside, are named") {
  fx::assert_covers(fx::make_layout({4, 8}, {8, 1}), 32);
  fx::assert_covers(fx::make_layout({4, 2}, {1, 0}), 4);
  CHECK_THROWS_WITH(fx::assert_covers(fx::make_layout({4, 8}, {9, 1}), 35),
                    Contains("no coordinate of (4,8):(9,1) is at 8"));
  CHECK_THROWS_WITH(fx::assert_covers(fx::make_layout({4, 8}, {8, 1}), 31),
                    Contains("the coordinate (3,7) at 31, outside of the 31 places"));
  CHECK_THROWS_WITH(fx::assert_covers(fx::make_identity_layout({2, 2}), 4),
                    Contains("are coordinates"));
}
