// Tiled copies and matrix products: which thread holds which element.
#include "layout/make.h"
#include "layout/text.h"
#include "layout/tiled.h"

#include <catch2/catch.hpp>

#include <set>

using namespace flydsl::layout;

namespace {
Layout L(const char *text) { return parseLayout(text); }
IntTuple T(const char *text) { return parseIntTuple(text); }

/// A copy of `values` elements by one thread.
CopyAtom universalCopy(int64_t bits, int64_t valueBits) {
  Layout tv(tup(1, bits), tup(1, 1));
  return CopyAtom::fromBits(Layout(1, 1), tv, tv, tv, valueBits);
}

/// MFMA of MxMxK on 64 lanes: a lane holds K / (64 / M) consecutive k of a row, and of C blocks of
/// 4 rows.
MmaAtom mfma(int64_t m, int64_t k) {
  const int64_t groups = 64 / m, perThread = k / groups, blocks = m / 4 / groups;
  Layout ab(tup(tup(m, groups), perThread), tup(tup(1, m * perThread), m));
  Layout c(tup(tup(m, groups), tup(4, blocks)), tup(tup(m, 4), tup(1, 4 * groups)));
  return {tup(m, m, k), Layout(64, 1), ab, ab, c};
}

const Layout &plain(const AnyLayout &layout) { return std::get<Layout>(layout); }
} // namespace

TEST_CASE("threads and values cover a tile once", "[layout][tiled]") {
  LayoutTV tv = makeLayoutTV(L("(8,16):(16,1)"), L("(1,4):(1,1)"));
  CHECK(tv.tile.str() == "[8|64]");
  CHECK(tv.layout.str() == "((16,8),4):((32,1),8)");
}

TEST_CASE("vector add's partitions are FlyDSL's", "[layout][tiled]") {
  TiledCopy copy = makeTiledCopyTV(universalCopy(128, 32), L("(8,16):(16,1)"), L("(1,4):(1,1)"));
  IntTuple thread = Int::dynamic();
  Partition part = partitionSrc(copy, L("(8,64):(?{i64},1)"), thread);
  CHECK(str(part.layout) == "((4,1),1,1):((1,0),0,0)");
  Partition coords = partitionSrc(copy, L("(8,64):(1E0,1E1)"), thread);
  CHECK(str(coords.layout) == "((4,1),1,1):((1E1,0),0,0)");
  CHECK(add(T("(?{div=8},?{div=64})"), coords.offset).str() == "(?,?{div=4})");
  CHECK(str(slice(coords.layout, T("((0,*),*,*)"))) == "(1,1,1):(0,0,0)");
  CHECK(makeFragmentLayout(plain(part.layout)).str() == "((4,1),1,1):((1,0),0,0)");
}

TEST_CASE("each element of a tile belongs to one thread and value", "[layout][tiled]") {
  TiledCopy copy = makeTiledCopyTV(universalCopy(64, 16), L("(4,8):(8,1)"), L("(2,8):(8,1)"));
  Layout tensor = L("(16,128):(128,1)");
  std::set<int64_t> seen;
  int64_t values = 0;
  for (int64_t t = 0; t < 32; ++t) {
    Partition part = partitionDst(copy, tensor, t);
    const Layout &own = plain(part.layout);
    values = size(own).value();
    for (int64_t v = 0; v < values; ++v)
      seen.insert(part.offset.leaf().value() + crd2idx(v, own).leaf().value());
  }
  CHECK(values == 16 * 128 / 32);
  CHECK(seen.size() == 16 * 128);
  CHECK(*seen.rbegin() == 16 * 128 - 1);
}

TEST_CASE("a composed tensor keeps its offset inside", "[layout][tiled]") {
  TiledCopy copy = makeTiledCopyTV(universalCopy(128, 32), L("(8,16):(16,1)"), L("(1,4):(1,1)"));
  Partition part = partitionSrc(copy, parseAnyLayout("S<3,2,3> o 0 o (8,64):(64,1)"), 17);
  CHECK(str(part.layout) == "S<3,2,3> o 68 o ((4,1),1,1):((1,0),0,0)");
  CHECK(part.offset.isLeaf(0));
}

TEST_CASE("MFMA's tiles have the published partitions", "[layout][tiled]") {
  TiledMma mma{mfma(16, 4), L("(2,2,1):(1,2,0)")};
  CHECK(tileSizeMNK(mma).str() == "(32,32,4)");
  CHECK(thrLayoutVMNK(mma).str() == "(64,2,2,1):(1,64,128,0)");
  CHECK(partitionShape(mma, MmaOperand::A, T("(64,8)")).str() == "(1,2,2)");
  CHECK(partitionShape(mma, MmaOperand::C, T("(64,64)")).str() == "((4,1),2,2)");

  // Every element of C has one owner; every element of A has as many as there are atoms along N.
  std::multiset<int64_t> ofA, ofC;
  for (int64_t t = 0; t < 256; ++t)
    for (auto [which, tensor, seen] : {std::tuple{MmaOperand::A, L("(64,8):(8,1)"), &ofA},
                                       std::tuple{MmaOperand::C, L("(64,64):(64,1)"), &ofC}}) {
      Partition part = partition(mma, which, tensor, t);
      for (int64_t v = 0; v < size(part.layout).value(); ++v)
        seen->insert(part.offset.leaf().value() + crd2idx(v, part.layout).leaf().value());
    }
  CHECK(ofC.size() == 64 * 64);
  CHECK(std::set<int64_t>(ofC.begin(), ofC.end()).size() == 64 * 64);
  CHECK(ofA.size() == 2 * 64 * 8);
  for (int64_t i = 0; i < 64 * 8; ++i)
    CHECK(ofA.count(i) == 2);
}

TEST_CASE("a copy made for an operand gives each thread the product's values", "[layout][tiled]") {
  for (MmaOperand which : {MmaOperand::A, MmaOperand::B, MmaOperand::C}) {
    TiledMma mma{mfma(16, 16), L("(2,2,1):(1,2,0)")};
    TiledCopy copy = makeTiledCopy(universalCopy(16, 16), mma, which);
    Layout tensor = which == MmaOperand::C ? L("(64,128):(128,1)") : L("(64,64):(64,1)");
    for (int64_t t : {0, 1, 17, 63, 64, 100, 255}) {
      Partition byCopy = partitionSrc(copy, tensor, t);
      Partition byMma = partition(mma, which, tensor, t);
      std::set<int64_t> a, b;
      for (int64_t v = 0; v < size(byCopy.layout).value(); ++v)
        a.insert(byCopy.offset.leaf().value() + crd2idx(v, byCopy.layout).leaf().value());
      for (int64_t v = 0; v < size(byMma.layout).value(); ++v)
        b.insert(byMma.offset.leaf().value() + crd2idx(v, byMma.layout).leaf().value());
      CHECK(a == b);
      // The product's registers in the copy's order: value by value, the same elements.
      Layout registers = fragmentLayout(mma, which, tensor);
      Layout inCopyOrder = retile(copy, registers);
      REQUIRE(size(inCopyOrder) == size(byCopy.layout));
      Layout elementOfRegister = plain(byMma.layout);
      for (int64_t v = 0; v < size(byCopy.layout).value(); ++v) {
        int64_t reg = crd2idx(v, inCopyOrder).leaf().value();
        IntTuple value = get1dCoord(reg, registers);
        CHECK(byMma.offset.leaf().value() + crd2idx(value, elementOfRegister).leaf().value() ==
              byCopy.offset.leaf().value() + crd2idx(v, byCopy.layout).leaf().value());
      }
    }
  }
}

TEST_CASE("fragments keep a mode for the stages", "[layout][tiled]") {
  TiledMma mma{mfma(16, 16), L("(1,1,1):(0,1,2)")};
  CHECK(fragmentLayout(mma, MmaOperand::B, L("(16,16):(1,16)")).str() == "(4,1,1):(1,0,0)");
  CHECK(fragmentLayout(mma, MmaOperand::B, L("(16,16):(1,16)"), 2).str() == "(4,1,1,2):(1,0,0,4)");
}

TEST_CASE("what is not a tiled operation is refused", "[layout][tiled]") {
  CHECK_THROWS_AS(makeLayoutTV(L("(?,16):(16,1)"), L("4:1")), LayoutError);
  TiledCopy copy{universalCopy(128, 32), L("128:1"), parseTile("[8|64]")};
  CHECK_THROWS_AS(partitionSrc(copy, L("(8,64):(64,1)"), 0), LayoutError);
  TiledMma mma{mfma(16, 4), L("(2,2):(1,2)")};
  CHECK_THROWS_AS(partition(mma, MmaOperand::A, L("(64,8):(8,1)"), 0), LayoutError);
  CHECK_THROWS_AS(
      CopyAtom::fromBits(Layout(1, 1), L("(1,24):(1,1)"), L("(1,24):(1,1)"), L("(1,24):(1,1)"), -1),
      LayoutError);
}

TEST_CASE("a matrix product over buffers with a dynamic pitch, as kernels write it",
          "[layout][tiled]") {
  TiledMma mma{mfma(16, 4), L("(2,2,1):(1,2,0)")};
  CopyAtom atom = universalCopy(32, 32);
  IntTuple thread = Int::dynamic();
  TiledCopy a = makeTiledCopy(atom, mma, MmaOperand::A);
  TiledCopy b = makeTiledCopy(atom, mma, MmaOperand::B);
  TiledCopy c = makeTiledCopy(atom, mma, MmaOperand::C);
  CHECK(a.layoutTV.str() == "((16,4,2,2),(1,(1,1))):((1,32,16,0),(0,(0,0)))");
  CHECK(b.layoutTV.str() == "((16,4,2,2),(1,(1,1))):((1,32,0,16),(0,(0,0)))");
  CHECK(c.layoutTV.str() == "((16,8,2),((4,1),(1,1))):((32,4,512),((1,0),(0,0)))");
  CHECK(a.tileMN.str() == "[32:1|4:1]");
  CHECK(c.tileMN.str() == "[32:1|32:1]");

  Layout tensorA = L("(64,8):(?{i64},1)"), tensorC = L("(64,64):(?{i64},1)");
  CHECK(str(partitionSrc(a, tensorA, thread).layout) == "((1,1),2,2):((0,0),?{i64 div=32},4)");
  CHECK(str(partitionSrc(b, tensorA, thread).layout) == "((1,1),2,2):((0,0),?{i64 div=32},4)");
  CHECK(str(partitionSrc(c, tensorC, thread).layout) ==
        "((1,4),2,2):((0,?{i64}),?{i64 div=32},32)");

  Layout fragmentA = fragmentLayout(mma, MmaOperand::A, tensorA);
  Layout fragmentC = fragmentLayout(mma, MmaOperand::C, tensorC);
  CHECK(fragmentA.str() == "(1,2,2):(0,2,1)");
  CHECK(fragmentC.str() == "((4,1),2,2):((1,0),8,4)");
  CHECK(retile(a, fragmentA).str() == "((1,1),2,2):((0,0),2,1)");
  CHECK(retile(c, fragmentC).str() == "((1,4),2,2):((0,1),8,4)");
}

TEST_CASE("a copy of column blocks gives each thread its column", "[layout][tiled]") {
  TiledCopy copy{universalCopy(128, 32), L("(4,8):(1,4)"), parseTile("[4|8]")};
  Partition part = partitionSrc(copy, L("(8,24):(?{i64},1)"), Int::dynamic());
  CHECK(str(part.layout) == "((4,2),2,3):((1,4),?{i64 div=4},8)");
  CHECK(makeFragmentLayout(plain(part.layout)).str() == "((4,2),2,3):((1,4),24,8)");
}
