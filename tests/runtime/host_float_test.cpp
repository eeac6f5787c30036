#include <flydsl/host/host_float.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

namespace fx = flydsl;

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Every pattern converts to a number and back to itself, numbers rise with their patterns, and
/// what lies between two neighbours goes to the nearer one, from the middle to the even one.
template <class T> void checkAllPatterns(int finite) {
  using Bits = typename T::Bits;
  const fx::detail::FloatFormat format = T::format;
  CHECK(int(format.largest()) == finite);
  for (std::uint32_t pattern = 0; pattern < 1u << format.bits(); ++pattern) {
    const T number = T::from_bits(static_cast<Bits>(pattern));
    const float value = number;
    if (format.isNan(pattern)) {
      if (!std::isnan(value) || !std::isnan(float(T(value))))
        FAIL("pattern " << pattern << " is a NaN");
      continue;
    }
    if (!std::isinf(value) && T(value).bits() != pattern)
      FAIL("pattern " << pattern << " is " << value << " is " << int(T(value).bits()));
    const std::uint32_t magnitude = pattern & (format.signBit() - 1);
    if (magnitude >= format.largest())
      continue;
    const T next = T::from_bits(static_cast<Bits>(pattern + 1));
    const double a = value, b = float(next), middle = (a + b) / 2;
    const double step = (b - a) / 1e6;
    const T even = pattern & 1 ? next : number;
    if (std::abs(b) <= std::abs(a) || T(middle).bits() != even.bits() ||
        T(middle - step).bits() != number.bits() || T(middle + step).bits() != next.bits())
      FAIL("between pattern " << pattern << " and the next");
  }
}
} // namespace

TEST_CASE("small floats: all patterns, and rounding between them") {
  checkAllPatterns<fx::half_t>(0x7bff);
  checkAllPatterns<fx::bfloat16_t>(0x7f7f);
  checkAllPatterns<fx::float8_e5m2_t>(0x7b);
  checkAllPatterns<fx::float8_e4m3fn_t>(0x7e);
  checkAllPatterns<fx::float8_e5m2fnuz_t>(0x7f);
  checkAllPatterns<fx::float8_e4m3fnuz_t>(0x7f);
}

TEST_CASE("small floats: known values") {
  CHECK(fx::half_t(1.0f).bits() == 0x3c00);
  CHECK(fx::half_t(65504.0f).bits() == 0x7bff);
  CHECK(fx::bfloat16_t(-2.0f).bits() == 0xc000);
  CHECK(fx::float8_e4m3fn_t(1.0f).bits() == 0x38);
  CHECK(fx::float8_e4m3fnuz_t(1.0f).bits() == 0x40);
  CHECK(fx::float8_e5m2_t(1.0f).bits() == 0x3c);
  CHECK(fx::float8_e5m2fnuz_t(1.0f).bits() == 0x40);
  CHECK(float(fx::float8_e4m3fn_t::from_bits(0x7e)) == 448.0f);
  CHECK(float(fx::float8_e4m3fnuz_t::from_bits(0x7f)) == 240.0f);
  CHECK(float(fx::float8_e5m2_t::from_bits(0x7b)) == 57344.0f);
  CHECK(float(fx::float8_e5m2fnuz_t::from_bits(0x7f)) == 57344.0f);
}

TEST_CASE("small floats: past the largest number") {
  CHECK(float(fx::half_t(65519.9)) == 65504.0f);
  CHECK(float(fx::half_t(65520.0)) == infinity); // half a step above the largest
  CHECK(float(fx::half_t(-1e30)) == -infinity);
  CHECK(float(fx::bfloat16_t(infinity)) == infinity);
  CHECK(float(fx::bfloat16_t(3.4028235e38f)) == infinity);
  CHECK(float(fx::float8_e4m3fn_t(1e9)) == 448.0f);
  CHECK(float(fx::float8_e4m3fn_t(-infinity)) == -448.0f);
  CHECK(float(fx::float8_e5m2_t(1e9)) == 57344.0f);
  CHECK(float(fx::float8_e4m3fnuz_t(infinity)) == 240.0f);
  CHECK(std::signbit(float(fx::half_t(-0.0))));
  CHECK(fx::float8_e4m3fnuz_t(-0.0).bits() == 0);
  CHECK(fx::float8_e4m3fnuz_t(-1e-30).bits() == 0);
  // Rounded once, from double: not to float first.
  CHECK(fx::half_t(1.0 + 0x1p-11 + 0x1p-40).bits() == 0x3c01);
}

static_assert(fx::half_t(0.5f).bits() == 0x3800, "conversions are constant expressions");
static_assert(fx::dtype_of<fx::float8_e4m3fn_t> == fx::f8E4M3FN);
