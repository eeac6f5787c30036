// Pictures, and the command-line calculator that draws them.
#include "calculator.h"
#include "layout/error.h"
#include "layout/picture.h"
#include "layout/text.h"

#include <catch2/catch.hpp>

using namespace flydsl::layout;

namespace {
int occurrences(const std::string &text, const std::string &what) {
  int n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++n;
  return n;
}
} // namespace

TEST_CASE("a layout prints as a table", "[layout][picture]") {
  CHECK(pictureText(parseLayout("(2,4):(4,1)")) == "(2,4):(4,1)\n"
                                                   "    0 1 2 3\n"
                                                   "  +--------\n"
                                                   "0 | 0 1 2 3\n"
                                                   "1 | 4 5 6 7\n");
  // Rules where the outer part of a nested mode steps on.
  CHECK(pictureText(parseLayout("(2,(2,2)):(2,(1,10))")) == "(2,(2,2)):(2,(1,10))\n"
                                                            "     0  1    2  3\n"
                                                            "  +-------+------\n"
                                                            "0 |  0  1 | 10 11\n"
                                                            "1 |  2  3 | 12 13\n");
  CHECK(pictureText(parseLayout("3:2")) == "3:2\n"
                                           "    0 1 2\n"
                                           "  +------\n"
                                           "0 | 0 2 4\n");
  CHECK(pictureText(parseLayout("(1,2):(1E0,1E1)")).find("(0,1)") != std::string::npos);
  CHECK(pictureText(parseAnyLayout("S<1,0,1> o 0 o (2,2):(2,1)")).find("1 | 3 2") !=
        std::string::npos);
}

TEST_CASE("a partition prints who has which element", "[layout][picture]") {
  CHECK(picturePartitionText(parseLayout("(2,2):(1,2)"), parseIntTuple("(2,2)")) ==
        "(2,2):(1,2) over (2,2)\n"
        "        0     1\n"
        "  +------------\n"
        "0 | T0 V0 T0 V1\n"
        "1 | T1 V0 T1 V1\n");
  std::string shared = picturePartitionText(parseLayout("(2,1):(0,0)"), parseIntTuple("(1,2)"));
  CHECK(shared.find("T0 V0 +1") != std::string::npos);
}

TEST_CASE("drawings have a cell for each coordinate", "[layout][picture]") {
  std::string svg = pictureSvg(parseAnyLayout("S<3,0,3> o 0 o (8,(2,4)):(8,(1,2))"));
  CHECK(svg.rfind("<svg xmlns=", 0) == 0);
  CHECK(occurrences(svg, "class=\"cell\"") == 64);
  CHECK(occurrences(svg, "<line ") == 4 + 3);
  CHECK(occurrences(svg, "S&lt;3,0,3&gt;") == 1);
  CHECK(occurrences(svg, "<text") == occurrences(svg, "</text>"));
  std::string tv =
      picturePartitionSvg(parseLayout("((16,8),4):((32,1),8)"), parseIntTuple("(8,64)"), 16);
  CHECK(occurrences(tv, "class=\"cell\"") == 512);
  CHECK(occurrences(tv, ">T127 V3<") == 1);
}

TEST_CASE("what can't be drawn is refused", "[layout][picture]") {
  CHECK_THROWS_AS(pictureText(parseLayout("(2,?):(1,2)")), LayoutError);
  CHECK_THROWS_AS(pictureText(parseLayout("(2,2,2):(1,2,4)")), LayoutError);
  CHECK_THROWS_AS(pictureText(parseLayout("(1000,1000):(1,1000)")), LayoutError);
  CHECK_THROWS_AS(pictureText(parseLayout("(4000000000,4000000000):(1,1)")), LayoutError);
  CHECK_THROWS_AS(pictureText(parseLayout("(0,4):(1,1)")), LayoutError);
  CHECK_THROWS_AS(pictureSvg(parseLayout("4:1"), 0), LayoutError);
  CHECK_THROWS_AS(picturePartitionText(parseLayout("(2,2):(1,4)"), parseIntTuple("(2,2)")),
                  LayoutError);
  CHECK_THROWS_AS(picturePartitionText(parseLayout("4:1"), parseIntTuple("(2,2)")), LayoutError);
}

TEST_CASE("the calculator answers expressions", "[layout][calculator]") {
  CHECK(calculate("composition((6,2):(8,2), (4,3):(3,1))") == "((2,2),3):((24,2),8)");
  CHECK(calculate(" flat_divide( (?,?):(?{i64},1), [8|64] ) ") ==
        "(8,64,?,?):(?{i64},1,?{i64 div=8},64)");
  CHECK(calculate("layout_tv((8,16):(16,1), (1,4):(1,1))") == "[8|64]  ((16,8),4):((32,1),8)");
  CHECK(calculate("crd2idx((3,5), S<3,0,3> o 0 o (8,8):(8,1))") == "30");
  CHECK(calculate("select((2,3,4), (2,0))") == "(4,2)");
  CHECK(calculate("picture(3:2)").rfind("3:2\n", 0) == 0);
  CHECK(calculate("picture(3:2)", Rendering::Svg).rfind("<svg", 0) == 0);
  CHECK(operationsHelp().find("raked_product(layout, layout)") != std::string::npos);
  CHECK_THROWS_AS(calculate("frobnicate(4:1)"), LayoutError);
  CHECK_THROWS_AS(calculate("size(4:1, 4:1)"), LayoutError);
  CHECK_THROWS_AS(calculate("size 4:1"), LayoutError);
  CHECK_THROWS_AS(calculate("size()"), LayoutError);
}
