// Examples for each operation of the algebra, from CuTe's documentation and from layouts of real
// kernels.
#include "layout/divide.h"
#include "layout/make.h"
#include "layout/product.h"
#include "layout/text.h"

#include <catch2/catch.hpp>

using namespace flydsl::layout;

namespace {
Layout L(const char *text) { return parseLayout(text); }
IntTuple T(const char *text) { return parseIntTuple(text); }
Tile tile(const char *text) { return parseTile(text); }
} // namespace

TEST_CASE("sizes and cosizes are those of the function", "[layout][sizes]") {
  CHECK(size(L("(4,(2,8)):(1,(4,8))")) == Int(64));
  CHECK(cosize(L("(4,8):(8,1)")) == Int(32));
  CHECK(cosize(L("(4,8):(2,16)")) == Int(119));
  CHECK(coshape(L("(4,8):(1E0,2E1)")).str() == "(4,15)");
  CHECK(coprofile(L("(4,8):(1E0,2E1)")).str() == "(0,0)");
  CHECK(coprofile(L("(4,8):(1,4)")).str() == "0");
  CHECK(size(L("(?,4):(4,1)")).str() == "?{div=4}");
}

TEST_CASE("coordinates and indices map both ways", "[layout][coord]") {
  CHECK(crd2idx(T("(2,3)"), L("(4,8):(1,4)")) == IntTuple(14));
  CHECK(crd2idx(T("14"), L("(4,8):(1,4)")) == IntTuple(14));
  CHECK(crd2idx(T("(2,3)"), L("(4,8):(8,1)")) == IntTuple(19));
  CHECK(crd2idx(T("((1,2),3)"), L("((2,4),8):((1,2),8)")) == IntTuple(29));
  CHECK(crd2idx(T("(5,*)"), L("((2,4),8):((1,2),8)")) == IntTuple(5));
  CHECK(crd2idx(T("(2,3)"), L("(4,8):(1E0,1E1)")).str() == "(2,3)");
  CHECK(crd2idx(T("(?,?)"), L("(4,8):(1,4)")).str() == "?");
  CHECK(crd2idx(T("(?,?{div=2})"), L("(4,8):(8,4)")).str() == "?{div=8}");
  CHECK(crd2idx(T("(*,*,?,?)"), L("(8,64,?,?):(1E0,1E1,8E0,64E1)")).str() ==
        "(?{div=8},?{div=64})");
  CHECK(idx2crd(T("14"), L("(4,8):(1,4)")).str() == "(2,3)");
  CHECK(idx2crd(T("5"), L("(4,3,8):(1,0,4)")).str() == "(1,0,1)");
  CHECK(getFlatCoord(T("5"), L("((2,4),8):((1,2),8)")).str() == "(5,0)");
  CHECK(get1dCoord(T("5"), L("((2,4),8):((1,2),8)")) == IntTuple(5));
  CHECK(get1dCoord(T("5"), L("(4,8):(8,1)")) == IntTuple(20));
  CHECK(idx2crdColMajor(T("14"), T("(4,8)")).str() == "(2,3)");
  CHECK(crd2crd(T("(2,3)"), T("(4,8)"), T("((2,2),8)")).str() == "((0,1),3)");
  CHECK_THROWS_AS(crd2idx(T("(1,2,3)"), L("(4,8):(1,4)")), LayoutError);
}

TEST_CASE("composed layouts map as their parts in turn", "[layout][composed]") {
  AnyLayout swizzled = parseAnyLayout("S<3,0,3> o 0 o (8,8):(8,1)");
  CHECK(crd2idx(T("(3,5)"), swizzled) == IntTuple(24 + (5 ^ 3)));
  CHECK(crd2idx(T("(1,3)"), parseAnyLayout("32:2 o 5 o [32:1 o 7 o (4,8):(1,4)]")) ==
        IntTuple(2 * (5 + 7 + 13)));
  CHECK(str(slice(parseAnyLayout("32:2 o 5 o [32:1 o 7 o (4,8):(1,4)]"), T("(1,*)"))) ==
        "32:2 o 5 o [32:1 o 8 o 8:4]");
  CHECK(crd2idx(T("(1,5,3)"), parseAnyLayout("CS<3,0,[1],0,[2]> o (0,0,0) o (4,8,8):(1E0,1E1,1E2)"))
            .str() == "(1,5,6)");
  CHECK(str(composition(swizzled, tile("[4|2]"))) == "S<3,0,3> o 0 o (4,2):(8,1)");
  CHECK(str(recastLayout(parseAnyLayout("S<3,3,3> o 0 o (8,64):(64,1)"), 16, 32)) ==
        "S<3,2,3> o 0 o (8,32):(32,1)");
  CHECK_THROWS_AS(recastLayout(swizzled, 16, 32), LayoutError);
}

TEST_CASE("coalesce merges modes that lie together", "[layout][coalesce]") {
  CHECK(coalesce(L("(2,(1,6)):(1,(6,2))")).str() == "12:1");
  CHECK(coalesce(L("(3,1,9):(1,9,3)")).str() == "27:1");
  CHECK(coalesce(L("(2,(1,6)):(1,(6,2))"), T("(1,1)")).str() == "(2,6):(1,2)");
  CHECK(coalesce(L("(4,8):(1,8)")).str() == "(4,8):(1,8)");
  CHECK(coalesce(L("(1,1):(3,4)")).str() == "1:0");
  CHECK(coalesce(L("(4,8):(1E0,4E1)")).str() == "(4,8):(1E0,4E1)");
  CHECK(coalesce(L("(4,?):(1,4)")).str() == "(4,?):(1,4)");
}

TEST_CASE("composition gives CuTe's results", "[layout][composition]") {
  CHECK(composition(L("(6,2):(8,2)"), L("(4,3):(3,1)")).str() == "((2,2),3):((24,2),8)");
  CHECK(composition(L("20:2"), L("(5,4):(4,1)")).str() == "(5,4):(8,2)");
  CHECK(composition(L("(10,2):(16,4)"), L("(5,4):(1,5)")).str() == "(5,(2,2)):(16,(80,4))");
  CHECK(composition(L("(6,9):(19,69)"), L("(6,3):(3,1)")).str() == "((2,3),3):((57,69),19)");
  CHECK(composition(L("(12,(4,8)):(59,(13,1))"), tile("[3:4|8:2]")).str() ==
        "(3,(2,4)):(236,(26,1))");
  CHECK(composition(L("(12,(4,8)):(59,(13,1))"), tile("[3|8]")).str() == "(3,(4,2)):(59,(13,1))");
  CHECK(composition(L("(8,16):(1,8)"), tile("[*|2]")).str() == "(8,2):(1,8)");
  CHECK(composition(L("(8,16):(16,1)"), L("(4,2):(1E0,2E1)")).str() == "(4,2):(16,2)");
  // A steps over its end as its last mode does.
  CHECK(composition(L("(2,1):(1,7)"), L("(2,3):(1,2)")).str() == "(2,3):(1,7)");
  CHECK_THROWS_AS(composition(L("(4,8):(1,8)"), L("8:3")), LayoutError);
  CHECK_THROWS_AS(composition(L("(4,2):(2,1)"), L("4:3")), LayoutError);
  CHECK_THROWS_AS(composition(L("(4,8):(1,8)"), L("6:1")), LayoutError);
  CHECK_THROWS_AS(composition(L("(4,8):(1,8)"), L("4:-1")), LayoutError);
  CHECK_THROWS_AS(composition(L("(0,8):(1,8)"), L("4:1")), LayoutError);
  CHECK_THROWS_AS(composition(L("8:1"), tile("[4|2]")), LayoutError);
}

TEST_CASE("complement reaches what the layout leaves out", "[layout][complement]") {
  CHECK(complement(L("4:1"), 24).str() == "6:4");
  CHECK(complement(L("6:4"), 24).str() == "4:1");
  CHECK(complement(L("(4,6):(1,4)"), 24).str() == "1:0");
  CHECK(complement(L("4:2"), 24).str() == "(2,3):(1,8)");
  CHECK(complement(L("(2,4):(1,6)"), 24).str() == "3:2");
  CHECK(complement(L("(2,2):(1,6)"), 24).str() == "(3,2):(2,12)");
  CHECK(complement(L("(3,2):(2,1)"), 12).str() == "2:6");
  CHECK(complement(L("8:1"), Int::dynamic()).str() == "?:8");
  CHECK_THROWS_AS(complement(L("(2,2):(1,1)"), 8), LayoutError);
  CHECK_THROWS_AS(complement(L("(4,4):(1,2)"), 8), LayoutError);
  CHECK_THROWS_AS(complement(L("4:-1"), 8), LayoutError);
  CHECK_THROWS_AS(complement(L("(4,8):(1E0,1E1)"), 8), LayoutError);
  CHECK_THROWS_AS(complement(L("(4,8):(?,1)"), 64), LayoutError);
}

TEST_CASE("inverses give CuTe's results", "[layout][inverse]") {
  CHECK(rightInverse(L("(4,8):(8,1)")).str() == "(8,4):(4,1)");
  CHECK(rightInverse(L("(4,8):(1,5)")).str() == "4:1");
  CHECK(rightInverse(L("8:2")).str() == "1:0");
  CHECK(rightInverse(L("((1,8),(4,16)):((0,16),(128,1))")).str() == "(16,32):(32,1)");
  CHECK(leftInverse(L("(4,8):(8,1)")).str() == "(8,4):(4,1)");
  CHECK(leftInverse(L("(4,8):(1,5)")).str() == "(5,8):(1,4)");
  CHECK(leftInverse(L("4:2")).str() == "(2,4):(0,1)");
  CHECK_THROWS_AS(leftInverse(L("(4,8):(1,2)")), LayoutError);
  CHECK_THROWS_AS(leftInverse(L("(4,8):(2,?)")), LayoutError);
  CHECK_THROWS_AS(leftInverse(L("(4,8):(0,1)")), LayoutError);
}

TEST_CASE("divides give CuTe's results", "[layout][divide]") {
  CHECK(logicalDivide(L("(4,2,3):(2,1,8)"), L("4:2")).str() == "((2,2),(2,3)):((4,1),(2,8))");
  Layout a = L("(9,(4,8)):(59,(13,1))");
  CHECK(logicalDivide(a, tile("[3:3|(2,4):(1,8)]")).str() ==
        "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))");
  CHECK(zippedDivide(a, tile("[3:3|(2,4):(1,8)]")).str() ==
        "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))");
  CHECK(tiledDivide(a, tile("[3:3|(2,4):(1,8)]")).str() ==
        "((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))");
  CHECK(flatDivide(a, tile("[3:3|(2,4):(1,8)]")).str() ==
        "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))");
  CHECK(logicalDivide(L("(14,6,9):(19,69,1)"), L("(2,3,6):(7,14,1)")).str() ==
        "((2,3,6),(2,9)):((133,69,19),(207,1))");
  CHECK(flatDivide(L("(?,?):(?{i64},1)"), tile("[8|64]")).str() ==
        "(8,64,?,?):(?{i64},1,?{i64 div=8},64)");
  CHECK(flatDivide(L("(?,?):(1E0,1E1)"), tile("[8|64]")).str() == "(8,64,?,?):(1E0,1E1,8E0,64E1)");
  CHECK(flatDivide(L("(4,8):(1,4)"), L("(2,4):(1,2)")).str() == "(2,4,4):(1,2,8)");
  CHECK(logicalDivide(L("((16,1)):((1,16))"), L("((4,1)):((1,4))")).str() == "((4,1),4):((1,0),4)");
  CHECK(zippedDivide(L("(8,16):(1,8)"), tile("[4]")).str() == "((4),(2,16)):((1),(4,8))");
  CHECK(zippedDivide(L("((4,8),16):((1,4),32)"), tile("[[2|2]|4]")).str() ==
        "(((2,2),4),((2,4),4)):(((1,4),32),((2,8),128))");
  CHECK_THROWS_AS(zippedDivide(L("(8,16):(1,8)"), tile("[4|*]")), LayoutError);
}

TEST_CASE("products give CuTe's results", "[layout][product]") {
  CHECK(logicalProduct(L("(2,2):(4,1)"), L("6:1")).str() == "((2,2),(2,3)):((4,1),(2,8))");
  CHECK(blockedProduct(L("(2,5):(5,1)"), L("(3,4):(1,3)")).str() ==
        "((2,3),(5,4)):((5,10),(1,30))");
  CHECK(rakedProduct(L("(2,5):(5,1)"), L("(3,4):(1,3)")).str() == "((3,2),(4,5)):((10,5),(30,1))");
  CHECK(rakedProduct(L("(8,16):(16,1)"), L("(1,4):(1,1)")).str() ==
        "((1,8),(4,16)):((0,16),(128,1))");
  CHECK(tiledProduct(L("(2,2):(4,1)"), L("6:1")).str() == "((2,2),2,3):((4,1),2,8)");
  CHECK(flatProduct(L("(2,2):(4,1)"), L("6:1")).str() == "(2,2,2,3):(4,1,2,8)");
  CHECK(tileToShape(L("(2,2):(1,2)"), T("(4,6)"), T("(0,1)")).str() ==
        "((2,2),(2,3)):((1,4),(2,8))");
  CHECK(tileToShape(L("(2,2):(1,2)"), T("(4,6)"), T("(1,0)")).str() ==
        "((2,2),(2,3)):((1,12),(2,4))");
}

TEST_CASE("shapes make compact layouts in every order", "[layout][make]") {
  CHECK(makeLayout(T("(4,(2,8))")).str() == "(4,(2,8)):(1,(4,8))");
  CHECK(makeOrderedLayout(T("(8,16)"), T("(1,0)")).str() == "(8,16):(16,1)");
  CHECK(makeOrderedLayout(T("(1,4)"), T("(0,1)")).str() == "(1,4):(1,1)");
  CHECK(makeOrderedLayout(T("(2,(3,4),5)"), T("(2,(0,3),1)")).str() == "(2,(3,4),5):(15,(1,30),3)");
  CHECK(makeOrderedLayout(T("(?,8)"), T("(1,0)")).str() == "(?,8):(8,1)");
  CHECK(makeLayoutLike(L("(4,8):(16,2)")).str() == "(4,8):(8,1)");
  CHECK(makeIdentityLayout(T("(?,(4,2))")).str() == "(?,(4,2)):(1E0,(1E1E0,1E1E1))");
  CHECK(makeIdentityLayout(T("8")).str() == "8:1");
  CHECK(makeFragmentLayout(L("((4,1),1,1):((1,0),0,0)")).str() == "((4,1),1,1):((1,0),0,0)");
  // Equal steps along two axes are two modes; the first one runs faster.
  CHECK(makeFragmentLayout(L("(4,2,2):(1E0,32E0,32E1)")).str() == "(4,2,2):(1,4,8)");
  CHECK(makeFragmentLayout(L("(4,2,2):(1E0,32E1,32E0)")).str() == "(4,2,2):(1,8,4)");
  CHECK(makeFragmentLayout(L("(4,2,2):(1E0,64E0,32E1)")).str() == "(4,2,2):(1,8,4)");
  CHECK(makeFragmentLayout(L("(1,4,1):(0,32E0,32E1)")).str() == "(1,4,1):(0,1,0)");
  // Of a mode that repeats, the fragment may repeat too.
  CHECK(makeFragmentLayout(L("(4,2,2):(1,0,0)")).str() == "(4,2,2):(1,4,4)");
  CHECK_THROWS_AS(makeFragmentLayout(L("(4,?):(1,4)")), LayoutError);
  CHECK_THROWS_AS(makeOrderedLayout(T("(2,4)"), T("(0,1,2)")), LayoutError);
}

TEST_CASE("recast scales the innermost mode", "[layout][recast]") {
  CHECK(recastLayout(L("(8,4):(1,8)"), 16, 32).str() == "(4,4):(1,4)");
  CHECK(recastLayout(L("(8,4):(1,8)"), 32, 16).str() == "(16,4):(1,16)");
  CHECK(recastLayout(L("(8,4):(1,8)"), 16, 16).str() == "(8,4):(1,8)");
  CHECK(recastLayout(L("(?,64):(?{i64 div=8},1)"), 8, 32).str() == "(?,16):(?{i64},1)");
  CHECK_THROWS_AS(recastLayout(L("(8,4):(1,6)"), 8, 32), LayoutError);
  CHECK_THROWS_AS(recastLayout(L("(8,4):(1,?)"), 8, 32), LayoutError);
  CHECK_THROWS_AS(recastLayout(L("(8,4):(1,8)"), 0, 32), LayoutError);
}

TEST_CASE("tuple operations work leaf by leaf", "[layout][tuple]") {
  CHECK(take(T("((2,3),4,5)"), 1, 3).str() == "(4,5)");
  CHECK(select(T("(2,3,4)"), {2, 0}).str() == "(4,2)");
  CHECK(group(T("(2,3,4)"), 0, 2).str() == "((2,3),4)");
  CHECK(append(T("(2,3)"), 1, 4).str() == "(2,3,1,1)");
  CHECK(prepend(T("2"), 1).str() == "(1,2)");
  CHECK(slice(T("(2,(3,4))"), T("(0,(*,1))")).str() == "3");
  CHECK(dice(T("(2,(3,4))"), T("(0,(*,1))")).str() == "(2,4)");
  CHECK(flatten(T("(2,(3,(4)))")).str() == "(2,3,4)");
  CHECK(unflatten(T("(1,2,3)"), T("(0,(0,0))")).str() == "(1,(2,3))");
  CHECK(zip(T("((1,2),(3,4))")).str() == "((1,3),(2,4))");
  CHECK(zip2By(T("((1,2),(3,4),5)"), T("(*,*)")).str() == "((1,3),(2,4,5))");
  CHECK(add(T("(1,(2,3))"), T("(10,(20,30))")).str() == "(11,(22,33))");
  CHECK(add(T("1E0"), T("1E1")).str() == "(1,1)");
  CHECK(add(T("(0,0)"), T("?E1")).str() == "(0,?)");
  CHECK(productEach(T("(2,(3,4))")).str() == "(2,12)");
  CHECK(productLike(T("((2,3),(4,5))"), T("(0,0)")).str() == "(6,20)");
  CHECK(ceilDiv(T("(4,8)"), T("8")).str() == "(1,4)");
  CHECK(ceilDiv(T("(9,8)"), T("(2,4)")).str() == "(5,2)");
  CHECK(shapeDiv(T("(4,8)"), T("2")).str() == "(2,8)");
  CHECK(elemLess(T("(1,2)"), T("(2,3)")) == Int(1));
  CHECK(elemLess(T("(1,3)"), T("(2,3)")) == Int(0));
  CHECK(elemLess(T("(?,?{div=4})"), T("(?,?)")).str() == "?");
  CHECK(equal(T("(1,(2,3))"), T("(1,(2,3))")) == Int(1));
  CHECK(equal(T("(1,2)"), T("(1,(2,3))")) == Int(0));
  CHECK_THROWS_AS(take(T("(2,3)"), 1, 3), LayoutError);
  CHECK_THROWS_AS(slice(T("(2,3)"), T("(0,0)")), LayoutError);
  CHECK_THROWS_AS(add(T("(1,2)"), T("3")), LayoutError);
  CHECK_THROWS_AS(shapeDiv(T("6"), T("4")), LayoutError);
}
