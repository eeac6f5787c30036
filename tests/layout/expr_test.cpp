// Integers and expressions: arithmetic, inference of width and divisibility, simplification,
// refusals.
#include "layout/error.h"
#include "layout/int.h"

#include <catch2/catch.hpp>

#include <limits>

using namespace flydsl::layout;

namespace {
const int64_t kMax = std::numeric_limits<int64_t>::max();
const int64_t kMin = std::numeric_limits<int64_t>::min();
Int coordinate(uint64_t id, int width = 32, int64_t div = 1) {
  return Int::symbol(id, width, div, ValueRange::nonNegative());
}
} // namespace

TEST_CASE("static arithmetic is 64-bit and never wraps", "[layout][int]") {
  CHECK(Int(int64_t(1) << 40) * Int(1 << 20) == Int(int64_t(1) << 60));
  CHECK_THROWS_AS(Int(kMax) + Int(1), LayoutError);
  CHECK_THROWS_AS(Int(kMin) - Int(1), LayoutError);
  CHECK_THROWS_AS(Int(kMax) * Int(2), LayoutError);
  CHECK_THROWS_AS(Int(kMin) / Int(-1), LayoutError);
  CHECK_THROWS_AS(Int(7) / Int(0), LayoutError);
  CHECK_THROWS_AS(Int(7) % Int(0), LayoutError);
  CHECK_THROWS_AS(ceilDiv(Int(7), Int(0)), LayoutError);
  CHECK(ceilDiv(Int(7), Int(4)) == Int(2));
  CHECK(ceilDiv(Int(kMax), Int(2)) == Int(kMax / 2 + 1));
  CHECK(shapeDiv(Int(4), Int(8)) == Int(1));
  CHECK_THROWS_AS(shapeDiv(Int(6), Int(4)), LayoutError);
  CHECK_THROWS_AS(exactDiv(Int(6), Int(4)), LayoutError);
  CHECK(Int(kMin).divisibility() == int64_t(1) << 62);
}

TEST_CASE("types of dynamic results follow from the operands' types", "[layout][int]") {
  Int a = Int::dynamic(32, 8), b = Int::dynamic(64, 12);
  CHECK((a + b).str() == "?{i64 div=4}");
  CHECK((a - Int(6)).str() == "?{div=2}");
  CHECK((a * Int(3)).str() == "?{div=24}");
  CHECK((a * b).str() == "?{i64 div=96}");
  CHECK((a / Int(2)).str() == "?");
  CHECK((a % Int(12)).str() == "?{div=4}");
  CHECK(min(a, b).str() == "?{i64 div=4}");
  CHECK(ceilDiv(b, Int(4)).str() == "?{i64}");
  CHECK(lessThan(a, b).str() == "?");
  CHECK((a + Int(0)) == a);
  CHECK((a * Int(0)) == Int(0));
  CHECK((a % Int(1)) == Int(0));
  CHECK((Int(0) / a) == Int(0));
  CHECK(ceilDiv(Int(1), a) == Int(1));
  CHECK((a + Int(int64_t(1) << 40)).str() == "?{i64 div=8}");
  CHECK((a * Int(2).withBasis({1})).str() == "?{div=16}E1");
  CHECK((Int::dynamic(32, kMax) * Int::dynamic(32, kMax)).divisibility() == kMax);
}

TEST_CASE("axes and wildcards are refused where they mean nothing", "[layout][int]") {
  Int axis = Int(1).withBasis({0});
  CHECK_THROWS_AS(axis * axis, LayoutError);
  CHECK_THROWS_AS(axis + axis, LayoutError);
  CHECK_THROWS_AS(axis % Int(2), LayoutError);
  CHECK_THROWS_AS(lessThan(axis, Int(2)), LayoutError);
  CHECK_THROWS_AS(Int::wildcard() * Int(2), LayoutError);
  CHECK_THROWS_AS(Int::wildcard().value(), LayoutError);
  CHECK_THROWS_AS(Int::dynamic(16), LayoutError);
  CHECK_THROWS_AS(Int::dynamic(32, 0), LayoutError);
  CHECK(equalTo(axis, Int(1).withBasis({1})) == Int(0));
  CHECK(equalTo(axis, axis) == Int(1));
}

TEST_CASE("expressions keep no arithmetic that can be seen away", "[layout][expr]") {
  Int x = coordinate(0), y = coordinate(1, 32, 8);
  CHECK((x * Int(1)).expr()->str() == "s0");
  CHECK((x + Int(4) - Int(4)).expr()->str() == "s0");
  CHECK((x * Int(4) * Int(2)).expr()->str() == "(s0 * 8)");
  CHECK(((x * Int(8)) / Int(4)).expr()->str() == "(s0 * 2)");
  CHECK(((x * Int(8) + y) % Int(8)).expr()->str() == "0");
  CHECK(((x + y * Int(2)) / Int(16)).expr()->str() == "((s0 + (s1 * 2)) / 16)");
  CHECK(((x * Int(16) + y) / Int(16)).expr()->str() == "(s0 + (s1 / 16))");
  CHECK((x / Int(4) / Int(8)).expr()->str() == "(s0 / 32)");
  CHECK((x % Int(64) % Int(8)).expr()->str() == "(s0 % 8)");
  CHECK((x % Int(8) / Int(8)).expr()->str() == "0");
  CHECK(ceilDiv(y, Int(8)).expr()->str() == "(s1 / 8)");
  CHECK(ceilDiv(x, Int(8)).expr()->str() == "((s0 + 7) / 8)");
  CHECK((x - x).expr()->str() == "0");
  Int thread = Int::symbol(2, 32, 1, {0, 127});
  CHECK((thread % Int(128)).expr()->str() == "s2");
  CHECK((thread / Int(128)).expr()->str() == "0");
  CHECK(lessThan(thread, Int(128)).expr()->str() == "1");
  // What may be negative is not rewritten by rules for what is not.
  Int any = Int::symbol(3);
  CHECK(((any * Int(8) + Int(3)) / Int(8)).expr()->str() == "(((s3 * 8) + 3) / 8)");
}

TEST_CASE("expressions are worth what the arithmetic says", "[layout][expr]") {
  Int x = coordinate(0), y = coordinate(1);
  Int f = (x * Int(8) + y) / Int(3) + min(x, y) * max(x, Int(2)) - y % Int(5);
  for (int64_t a = 0; a < 12; ++a)
    for (int64_t b = 0; b < 12; ++b)
      CHECK(evaluate(f, {{0, a}, {1, b}}) ==
            (a * 8 + b) / 3 + std::min(a, b) * std::max<int64_t>(a, 2) - b % 5);
  CHECK_THROWS_AS(evaluate(f, {{0, 1}}), LayoutError);
  CHECK_THROWS_AS(evaluate(f, {{0, kMax}, {1, 0}}), LayoutError);
  CHECK_THROWS_AS(evaluate(Int::dynamic(), {}), LayoutError);
  ExprRef doubled = substitute(
      f.expr(), [](const Expr &s) { return s.symbol() == 1 ? exprConstant(4) : nullptr; });
  CHECK(evaluate(doubled, {{0, 5}}) == evaluate(f, {{0, 5}, {1, 4}}));
  CHECK(structurallyEqual((x + y).expr(), (x + y).expr()));
  CHECK_FALSE(structurallyEqual((x + y).expr(), (x - y).expr()));
}

TEST_CASE("trees that share their nodes stay small", "[layout][expr]") {
  // 2^60 paths, 60 nodes.
  auto doubled = [] {
    Int x = coordinate(0, 64);
    for (int i = 0; i < 60; ++i)
      x = x + x;
    return x;
  };
  Int a = doubled(), b = doubled();
  CHECK(evaluate(a, {{0, 1}}) == int64_t(1) << 60);
  CHECK(evaluate(a - b, {{0, 1}}) == 0);
  CHECK(a.expr()->str().size() < 20000);
  CHECK_THROWS_AS(evaluate(a, {{0, 1000}}), LayoutError);
}
