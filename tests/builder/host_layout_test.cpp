// The algebra outside of kernels, on static values.
#include "trace_text.h"

#include <catch2/catch.hpp>
#include <flydsl/flydsl.h>
#include <flydsl/layout/picture.h>

namespace fx = flydsl;
using fx::_;

TEST_CASE("a layout maps coordinates on the host") {
  fx::Layout l = fx::make_layout({8, 16}, {1, 8});
  CHECK(l(3, 5) == 43);
  CHECK(l(43) == 43);
  CHECK(l.str() == "(8,16):(1,8)");
  CHECK(l(_, 5).str() == "8:1");
  CHECK(l.rank() == 2);
  CHECK(l.shape() == fx::make_shape(8, 16));
  CHECK(fx::size(l) == 128);
  CHECK(fx::size(l, 1) == 16);
  CHECK(fx::cosize(l) == 128);
  CHECK(l[1].str() == "16:8");
}

TEST_CASE("tuples nest and compute on the host") {
  fx::IntTuple t{8, {9, 4}};
  CHECK(t.str() == "(8,(9,4))");
  CHECK(t.rank() == 2);
  CHECK(t.depth() == 2);
  CHECK(t[1][0].value() == 9);
  CHECK(fx::product(t) == 288);
  CHECK(fx::product_each(t) == fx::make_shape(8, 36));
  CHECK(t[0] * 2 + 1 == 17);
  CHECK(fx::ceil_div(100, 8) == 13);
  CHECK(fx::append(fx::make_shape(1, 2), 3) == fx::make_shape(1, 2, 3));
  CHECK(fx::group(fx::make_shape(1, 2, 3), 0, 2) == fx::make_shape(fx::make_shape(1, 2), 3));
  auto [a, b] = fx::unpack<2>(fx::make_shape(5, 6));
  CHECK(a == 5);
  CHECK(b == 6);
  CHECK(fx::E<0, 1>(2).str() == "2E0E1");
}

TEST_CASE("the algebra works on the host") {
  fx::Layout l = fx::make_layout({4, 8}, {8, 1});
  CHECK(fx::make_layout({4, 8}).str() == "(4,8):(1,4)");
  CHECK(fx::make_ordered_layout({8, 16}, {1, 0}).str() == "(8,16):(16,1)");
  CHECK(fx::coalesce(fx::make_layout({2, 4}, {1, 2})).str() == "8:1");
  CHECK(fx::composition(l, fx::make_layout({2, 2}, {1, 4})).str() == "(2,2):(8,1)");
  CHECK(fx::complement(fx::make_layout(4, 2), 16).str() == "(2,2):(1,8)");
  // A shape stands for its size, whether its numbers are known while tracing or not.
  CHECK(fx::complement(fx::make_layout(4, 2), {4, 4}).str() == "(2,2):(1,8)");
  CHECK(fx::complement(fx::make_layout(4, 2), {2, {2, 4}}).str() == "(2,2):(1,8)");
  CHECK(fx::right_inverse(l).str() == "(8,4):(4,1)");
  CHECK(fx::flat_divide(l, {2, 4}).str() == "(2,4,2,2):(8,1,16,4)");
  CHECK(fx::zipped_divide(l, {2, 4}).str() == "((2,4),(2,2)):((8,1),(16,4))");
  CHECK(fx::logical_product(fx::make_layout(2, 1), fx::make_layout(3, 1)).str() == "(2,3):(1,2)");
  CHECK(
      fx::raked_product(fx::make_layout({8, 16}, {16, 1}), fx::make_layout({1, 4}, {1, 1})).str() ==
      "((1,8),(4,16)):((0,16),(128,1))");
  CHECK(fx::make_identity_layout({3, 5})(2, 4) == fx::make_coord(2, 4));
  CHECK(fx::make_composed_layout(fx::Swizzle(3, 0, 3), fx::make_layout({8, 8}, {8, 1}))(1, 0) == 9);
  CHECK(fx::recast_layout(fx::make_layout({8, 4}, {1, 8}), 16, 32).str() == "(4,4):(1,4)");
  CHECK(fx::tile_to_shape(fx::make_layout({2, 2}, {1, 2}), {4, 4}, {0, 1})(2, 0) == 4);
}

TEST_CASE("an order has a number for each mode, which no other mode has") {
  CHECK(fx::make_ordered_layout({4, 1, 8}, {1, 1, 0}).str() == "(4,1,8):(8,8,1)");
  CHECK_THROWS_WITH(fx::make_ordered_layout({4, 2, 8}, {1, 0, 1}),
                    Catch::Contains("make_ordered_layout of the shape (4,2,8): two modes have the "
                                    "number 1 in the order (1,0,1)") &&
                        Catch::Contains("share places"));
  CHECK_THROWS_WITH(fx::make_ordered_layout({4, {2, 8}}, {0, {1, 0}}),
                    Catch::Contains("the number 0 in the order (0,(1,0))"));
  CHECK_THROWS_WITH(fx::tile_to_shape(fx::make_layout({2, 2}), {4, 4}, {0, 0}),
                    Catch::Contains("tile_to_shape of the shape (4,4)"));
}

TEST_CASE("a layout is counted in smaller elements along its mode of stride 1") {
  CHECK(fx::recast_layout(fx::make_layout({8, 4}, {4, 1}), 32, 16).str() == "(8,8):(8,1)");
  CHECK(fx::recast_layout(fx::make_layout(4, 2), 16, 32).str() == "4:1");
  CHECK_THROWS_WITH(fx::recast_layout(fx::make_layout(4, 2), 32, 16),
                    Catch::Contains("no mode of 4:2 is known to have stride 1") &&
                        Catch::Contains("mark_layout_dynamic(leading_dim)"));
}

TEST_CASE("tiles and atoms are made on the host") {
  fx::Tile tile = fx::make_tile(8, 64);
  CHECK(tile.str() == "[8|64]");
  CHECK(tile[1] == 64);
  auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
  CHECK(atom.val_bits() == 32);
  CHECK(atom.layout_src_tv().str() == "(1,4):(1,1)");
  auto copy = fx::make_tiled_copy_tv(atom, fx::make_ordered_layout({8, 16}, {1, 0}),
                                     fx::make_ordered_layout({1, 4}, {0, 1}));
  CHECK(copy.tile_mn().str() == "[8|64]");
  CHECK(copy.layout_tv_tiled().str() == "((16,8),4):((32,1),8)");
}

TEST_CASE("a wrong layout is refused at the caller's line, with the operands") {
  int line = 0;
  try {
    line = __LINE__ + 1;
    fx::make_layout({8, 16}, {1, {2, 3}});
    FAIL("no error");
  } catch (const fx::TraceError &e) {
    CHECK(e.where().line == unsigned(line));
    CHECK_THAT(e.what(), Catch::Contains("host_layout_test.cpp"));
    CHECK_THAT(e.what(), Catch::Contains("(8,16)") && Catch::Contains("(1,(2,3))"));
  }
  CHECK_THROWS_AS(fx::get(fx::make_shape(1, 2), 2), fx::TraceError);
  CHECK_THROWS_AS(fx::make_shape(1, 2).value(), fx::TraceError);
  CHECK_THROWS_AS(fx::unpack<3>(fx::make_shape(1, 2)), fx::TraceError);
  CHECK_THROWS_AS(fx::UniversalCopy(7), fx::TraceError);
  CHECK_THROWS_WITH(fx::make_fragment_like(fx::make_layout(4, 1), fx::f32),
                    Catch::Contains("needs a kernel"));
}

TEST_CASE("pictures of layouts and of who moves what") {
  CHECK(fx::picture(fx::make_layout({2, 4}, {4, 1})) == "(2,4):(4,1)\n"
                                                        "    0 1 2 3\n"
                                                        "  +--------\n"
                                                        "0 | 0 1 2 3\n"
                                                        "1 | 4 5 6 7\n");
  auto swizzled = fx::make_composed_layout(fx::Swizzle(1, 0, 2), fx::make_layout({2, 4}, {4, 1}));
  CHECK_THAT(fx::picture(swizzled), Catch::Contains("1 | 5 4 7 6"));
  CHECK_THAT(fx::picture(swizzled, {.svg = true}), Catch::StartsWith("<svg"));
  auto copy =
      fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy64b(), fx::f32),
                             fx::make_ordered_layout({2, 2}, {1, 0}), fx::make_layout({1, 2}));
  CHECK_THAT(fx::picture(copy), Catch::Contains("1 | T2 V0 T2 V1 T3 V0 T3 V1"));
  CHECK_THROWS_AS(fx::picture(fx::make_layout({2, 2, 2})), fx::TraceError);
}

TEST_CASE("a complement to a shape is the same with a number that only the GPU knows") {
  using namespace trace_test;
  std::string ir = traceText(
      [](fx::Tensor out, fx::Int32 n) {
        auto known = fx::complement(fx::make_layout(4, 2), {4, 4});
        CHECK(known.str() == "(2,2):(1,8)");
        auto rest = fx::complement(fx::make_layout(4, 2), {4, n});
        out(0) = fx::Int32(fx::size(rest));
      },
      {arrayArg(fx::i32, 1), scalarArg(fx::i32)});
  CHECK_IR(ir, "fly.complement", "!fly.layout<(2,?):(1,8)>");
}
