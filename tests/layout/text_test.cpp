// Values of the algebra as text: printed text can be read back, and an error in a text names its
// position.
#include "layout/text.h"

#include <catch2/catch.hpp>

using namespace flydsl::layout;

TEST_CASE("integers and tuples print as they are read", "[layout][text]") {
  for (const char *text : {"8", "-3", "?", "?{div=4}", "?{i64}", "?{i64 div=8}", "*", "2E1",
                           "1E0E1", "?{div=2}E0", "?{i64 div=16}E1E2", "(8)", "((8))", "(4,(2,*))",
                           "(8,?{i64 div=8})", "9223372036854775807", "-9223372036854775808"})
    CHECK(parseIntTuple(text).str() == text);
  CHECK(parseIntTuple(" ( 8 , ?{ i64 div = 8 } ) ").str() == "(8,?{i64 div=8})");
  CHECK(parseIntTuple("?{i32}") == IntTuple(Int::dynamic()));
}

TEST_CASE("layouts, swizzles, composed layouts and tiles print as they are read",
          "[layout][text]") {
  CHECK(parseLayout("(8,16):(1,8)").str() == "(8,16):(1,8)");
  CHECK(parseLayout("((16,8),4):((32,1),8)").str() == "((16,8),4):((32,1),8)");
  CHECK(parseLayout("(?,?):(?{i64},1)").str() == "(?,?):(?{i64},1)");
  CHECK(parseLayout("(4,8):(1E0,1E1)").str() == "(4,8):(1E0,1E1)");
  CHECK(parseSwizzle("S<3,4,3>") == Swizzle(3, 4, 3));
  CHECK(parseCoordSwizzle("CS<3,0,[0],3,[1]>").str() == "CS<3,0,[0],3,[1]>");
  CHECK(parseCoordSwizzle("CS<3,0,[0, 2],3,[]>").str() == "CS<3,0,[0, 2],3,[]>");
  for (const char *text :
       {"S<3,4,3> o 0 o (8,8):(8,1)", "(4,2):(1,4) o 3 o (8,8):(8,1)",
        "S<1,0,3> o 0 o [S<2,0,3> o 0 o (8,8):(8,1)]", "S<1,0,3> o 0 o (64):(1) o ? o (8,8):(8,1)",
        "CS<3,0,[0],3,[1]> o (0,0) o (8,8):(1E0,1E1)"})
    CHECK(parseComposedLayout(text).str() == text);
  for (const char *text : {"8", "*", "[8|64]", "[8|*]", "[(4,2):(1,8)|*|[2|4]]", "4:2"})
    CHECK(parseTile(text).str() == text);
}

TEST_CASE("values inside other text are read up to their end", "[layout][text]") {
  size_t position = 4;
  CHECK(parseLayout("<f32(4,8):(8,1), x>", position).str() == "(4,8):(8,1)");
  CHECK(position == 15);
}

TEST_CASE("bad text says where", "[layout][text]") {
  auto positionOf = [](auto &&read) -> long {
    try {
      read();
    } catch (const ParseError &e) {
      return static_cast<long>(e.position());
    }
    return -1;
  };
  CHECK(positionOf([] { parseIntTuple("(4,)"); }) == 3);
  CHECK(positionOf([] { parseIntTuple("()"); }) == 1);
  CHECK(positionOf([] { parseIntTuple("(4,8"); }) == 4);
  CHECK(positionOf([] { parseIntTuple("4 8"); }) == 2);
  CHECK(positionOf([] { parseIntTuple("?{div=0}"); }) == 6);
  CHECK(positionOf([] { parseIntTuple("9223372036854775808"); }) == 0);
  CHECK(positionOf([] { parseLayout("(4,8)"); }) == 5);
  CHECK(positionOf([] { parseAnyLayout("S<3,4,3>"); }) == 0);
  CHECK(positionOf([] { parseComposedLayout("4:1"); }) == 0);
  CHECK(positionOf([] { parseTile("[8|2E1]"); }) == 3);
  CHECK(positionOf([] { parseIntTuple(std::string(100000, '(')); }) > 0);
  CHECK_THROWS_AS(parseLayout("(4,8):(1)"), LayoutError);
  CHECK_THROWS_AS(parseLayout("(4,*):(1,2)"), LayoutError);
  CHECK_THROWS_AS(parseLayout("-4:1"), LayoutError);
  CHECK_THROWS_AS(parseSwizzle("S<-1,0,0>"), LayoutError);
  CHECK_THROWS_AS(parseSwizzle("S<40,40,40>"), LayoutError);
  CHECK_THROWS_AS(parseTile("[0|4]"), LayoutError);
}
