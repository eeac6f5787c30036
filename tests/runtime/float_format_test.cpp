// The small floating-point formats against LLVM's APFloat.
#include <flydsl/detail/float_format.h>

#include <catch2/catch.hpp>

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <limits>
#include <vector>

using namespace flydsl::detail;
using llvm::APFloat;
using llvm::APInt;

namespace {

struct Case {
  const char *name;
  FloatFormat format;
  const llvm::fltSemantics &llvm;
};

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {"f16", kF16, APFloat::IEEEhalf()},
      {"bf16", kBf16, APFloat::BFloat()},
      {"tf32", kTf32, APFloat::FloatTF32()},
      {"e5m2", kE5m2, APFloat::Float8E5M2()},
      {"e4m3fn", kE4m3fn, APFloat::Float8E4M3FN()},
      {"e5m2fnuz", kE5m2fnuz, APFloat::Float8E5M2FNUZ()},
      {"e4m3fnuz", kE4m3fnuz, APFloat::Float8E4M3FNUZ()},
      {"e8m0fnu", kE8m0fnu, APFloat::Float8E8M0FNU()},
      {"e2m3fn", kE2m3fn, APFloat::Float6E2M3FN()},
      {"e3m2fn", kE3m2fn, APFloat::Float6E3M2FN()},
      {"e2m1fn", kE2m1fn, APFloat::Float4E2M1FN()},
  };
  return all;
}

APFloat fromPattern(const Case &c, std::uint32_t pattern) {
  return APFloat(c.llvm, APInt(static_cast<unsigned>(c.format.bits()), pattern));
}

double doubleOf(const Case &c, std::uint32_t pattern) {
  APFloat value = fromPattern(c, pattern);
  bool lost = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return value.convertToDouble();
}

/// The number in the format, as LLVM rounds it.
APFloat converted(const Case &c, double value, APFloat::roundingMode mode) {
  APFloat number(value);
  bool lost = false;
  number.convert(c.llvm, mode, &lost);
  return number;
}

std::uint32_t patternOf(const APFloat &value) {
  return static_cast<std::uint32_t>(value.bitcastToAPInt().getZExtValue());
}

bool isSame(const Case &c, std::uint32_t pattern, const APFloat &expected) {
  return expected.isNaN() ? c.format.isNan(pattern) : pattern == patternOf(expected);
}

/// Each finite number of the format, the middles between neighbours, and the doubles and the floats
/// next to the middles, of both signs.
template <class Visit> void eachEdge(const Case &c, Visit visit) {
  for (std::uint32_t pattern = 0; pattern <= c.format.largest(); ++pattern) {
    const double below = doubleOf(c, pattern);
    const double above = pattern < c.format.largest() ? doubleOf(c, pattern + 1)
                                                      : below + (below - doubleOf(c, pattern - 1));
    const double middle = (below + above) / 2;
    const auto single = static_cast<float>(middle);
    for (double value :
         {below, middle, std::nextafter(middle, below), std::nextafter(middle, above),
          static_cast<double>(std::nextafterf(single, 0)),
          static_cast<double>(std::nextafterf(single, std::numeric_limits<float>::infinity()))})
      for (double sign : {1.0, -1.0})
        visit(sign * value);
  }
  for (double value : {0.0, 1e-310, 1e-40, 1e-30, 3e38, 1e300})
    for (double sign : {1.0, -1.0})
      visit(sign * value);
}

} // namespace

TEST_CASE("every pattern of every small format is the number that LLVM reads in it") {
  for (const Case &c : cases()) {
    REQUIRE(unsigned(c.format.bits()) == APFloat::semanticsSizeInBits(c.llvm));
    for (std::uint32_t pattern = 0; pattern < 1u << c.format.bits(); ++pattern) {
      const APFloat expected = fromPattern(c, pattern);
      const float number = c.format.toFloat(pattern);
      const bool same = expected.isNaN()
                            ? std::isnan(number) && c.format.isNan(pattern)
                            : !c.format.isNan(pattern) && double(number) == doubleOf(c, pattern) &&
                                  std::signbit(number) == expected.isNegative() &&
                                  c.format.isInfinity(pattern) == expected.isInfinity();
      if (!same)
        FAIL(c.name << ": pattern " << pattern << " is " << number);
    }
    CHECK(doubleOf(c, c.format.largest()) == APFloat::getLargest(c.llvm).convertToDouble());
  }
}

TEST_CASE("conversions round to the nearest number, ties to even, as LLVM rounds") {
  for (const Case &c : cases()) {
    if (c.format.specials == FloatSpecials::powers)
      continue;
    eachEdge(c, [&](double value) {
      const APFloat expected = converted(c, value, APFloat::rmNearestTiesToEven);
      const std::uint32_t pattern = c.format.fromDouble(value, FloatOverflow::special);
      if (!isSame(c, pattern, expected))
        FAIL(c.name << ": " << value << " becomes " << pattern << ", not " << patternOf(expected));
      // Past the largest number, the saturating conversion gives the largest one.
      const std::uint32_t saturated = c.format.fromDouble(value, FloatOverflow::saturate);
      const std::uint32_t sign = value < 0 ? c.format.signBit() : 0;
      if (saturated != (expected.isFinite() ? patternOf(expected) : sign | c.format.largest()))
        FAIL(c.name << ": " << value << " saturates to " << saturated);
      const auto single = static_cast<float>(value);
      if (c.format.fromFloat(single, FloatOverflow::special) !=
          c.format.fromDouble(single, FloatOverflow::special))
        FAIL(c.name << ": the float " << single << " is not converted as the double");
    });
  }
}

TEST_CASE("infinity and NaN become what a format has in their place") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Case &c : cases()) {
    INFO(c.name);
    for (double sign : {1.0, -1.0}) {
      const std::uint32_t signBit =
          sign < 0 && c.format.specials != FloatSpecials::unsignedZero ? c.format.signBit() : 0;
      const std::uint32_t ofNan =
          c.format.fromDouble(std::copysign(nan, sign), FloatOverflow::saturate);
      const std::uint32_t ofInfinity = c.format.fromDouble(sign * infinity, FloatOverflow::special);
      if (c.format.specials == FloatSpecials::none) {
        CHECK(ofNan == (signBit | c.format.largest()));
        CHECK(ofInfinity == (signBit | c.format.largest()));
        continue;
      }
      CHECK(c.format.isNan(ofNan));
      CHECK(ofNan == (signBit | c.format.nan()));
      const APFloat expected = converted(c, sign * infinity, APFloat::rmNearestTiesToEven);
      CHECK(isSame(c, ofInfinity, expected));
      CHECK(c.format.fromFloat(static_cast<float>(sign * infinity), FloatOverflow::special) ==
            ofInfinity);
    }
  }
}

TEST_CASE("a random number decides the rounding by what it adds below the last bit") {
  for (const Case &c : cases()) {
    if (c.format.specials == FloatSpecials::powers || c.format.mantissa > 3)
      continue;
    const double normal = std::ldexp(1.0, 1 - c.format.bias);
    eachEdge(c, [&](double value) {
      const auto single = static_cast<float>(value);
      const double magnitude = std::fabs(static_cast<double>(single));
      if (magnitude < normal || magnitude > doubleOf(c, c.format.largest()))
        return;
      auto check = [&](std::uint32_t random, APFloat::roundingMode mode) {
        const std::uint32_t pattern = c.format.fromFloat(single, FloatOverflow::saturate, random);
        if (!isSame(c, pattern, converted(c, single, mode)))
          FAIL(c.name << ": " << single << " with " << random << " becomes " << pattern);
      };
      check(0, APFloat::rmTowardZero);
      check(0x80000000, APFloat::rmNearestTiesToAway);
      check(0xffffffff, single < 0 ? APFloat::rmTowardNegative : APFloat::rmTowardPositive);
    });
  }
}

TEST_CASE("a scale is the power of two at or below the magnitude") {
  const Case &c = cases()[7];
  REQUIRE(c.format.specials == FloatSpecials::powers);
  for (std::uint32_t pattern = 0; pattern < 255; ++pattern) {
    const double power = doubleOf(c, pattern);
    for (double value : {power, power * 1.5, std::nextafter(power * 2, 0.0)}) {
      CHECK(c.format.fromDouble(value, FloatOverflow::special) == pattern);
      CHECK(c.format.fromDouble(-value, FloatOverflow::special) == pattern);
    }
  }
}
