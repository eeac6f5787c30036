// Elementary functions against the host's double precision (long double for f64).
#include "run.h"

#include <catch2/catch.hpp>

#include <limits>
#include <random>

namespace fx = flydsl;
using fx::_;

// Name, reference, domain.
#define FUNCTIONS(X)                                                                               \
  X(exp, std::exp(x), -80, 80)                                                                     \
  X(exp2, std::exp2(x), -120, 120)                                                                 \
  X(expm1, std::expm1(x), -2, 10)                                                                  \
  X(log, std::log(x), 1e-3, 1e6)                                                                   \
  X(log2, std::log2(x), 1e-3, 1e6)                                                                 \
  X(log10, std::log10(x), 1e-3, 1e6)                                                               \
  X(log1p, std::log1p(x), -0.5, 100)                                                               \
  X(sqrt, std::sqrt(x), 0, 1e10)                                                                   \
  X(rsqrt, 1 / std::sqrt(x), 1e-6, 1e6)                                                            \
  X(cbrt, std::cbrt(x), -1e6, 1e6)                                                                 \
  X(sin, std::sin(x), -100, 100)                                                                   \
  X(cos, std::cos(x), -100, 100)                                                                   \
  X(tan, std::tan(x), -1.5, 1.5)                                                                   \
  X(asin, std::asin(x), -1, 1)                                                                     \
  X(acos, std::acos(x), -1, 1)                                                                     \
  X(atan, std::atan(x), -50, 50)                                                                   \
  X(sinh, std::sinh(x), -20, 20)                                                                   \
  X(cosh, std::cosh(x), -20, 20)                                                                   \
  X(tanh, std::tanh(x), -8, 8)                                                                     \
  X(asinh, std::asinh(x), -1e4, 1e4)                                                               \
  X(acosh, std::acosh(x), 1, 1e4)                                                                  \
  X(atanh, std::atanh(x), -0.99, 0.99)                                                             \
  X(erf, std::erf(x), -4, 4)                                                                       \
  X(erfc, std::erfc(x), -4, 4)                                                                     \
  X(floor, std::floor(x), -1e5, 1e5)                                                               \
  X(ceil, std::ceil(x), -1e5, 1e5)                                                                 \
  X(trunc, std::trunc(x), -1e5, 1e5)                                                               \
  X(round, std::round(x), -1e5, 1e5)                                                               \
  X(roundeven, std::nearbyint(x), -1e5, 1e5)                                                       \
  X(abs, std::fabs(x), -1e5, 1e5)

namespace {

struct Function {
  const char *name;
  long double (*reference)(long double);
  double lo, hi;
};
const Function functions[] = {
#define X(name, reference, lo, hi)                                                                 \
  {#name, [](long double x) -> long double { return reference; }, lo, hi},
    FUNCTIONS(X)
#undef X
};
constexpr int count = int(std::size(functions)), rows = 128;

/// What a value of a type with `mantissa` bits is when it is nearest to x.
double nearest(double x, int mantissa) {
  if (x == 0)
    return x;
  const double unit = std::ldexp(1.0, std::ilogb(x) - mantissa);
  return std::nearbyint(x / unit) * unit;
}

/// Runs all functions on values of `type`; the largest error is in units of the last place.
void checkFunctions(fx::DType type, int mantissa, double largest, double smallest, double allowed) {
  const fx::Kernel all{"all_functions",
                       [](fx::Tensor out, fx::Tensor in, fx::Constexpr<fx::DType> type) {
                         auto at = fx::block_idx().x * 64 + fx::thread_idx().x;
                         int i = 0;
#define X(name, reference, lo, hi)                                                                 \
  {                                                                                                \
    fx::Numeric x = in(at, i);                                                                     \
    out(at, i) = fx::math::name(x.to(type)).to(fx::f64);                                           \
    ++i;                                                                                           \
  }
                         FUNCTIONS(X)
#undef X
                       }};
  std::mt19937 random(7);
  std::vector<double> x;
  for (int r = 0; r < rows; ++r)
    for (const Function &f : functions) {
      const double lo = std::max(f.lo, -largest), hi = std::min(f.hi, largest);
      double v = nearest(std::uniform_real_distribution<double>(lo, hi)(random), mantissa);
      x.push_back(std::clamp(v, lo, hi));
    }
  fx::DeviceArray<double> in({rows, count}), out({rows, count});
  in.copy_from(x);
  out.poison();
  all(out, in, type).launch({.grid = rows / 64, .block = 64});
  auto h = out.to_host();
  for (int i = 0; i < count; ++i) {
    double worst = 0, where = 0;
    for (int r = 0; r < rows; ++r) {
      const std::size_t k = std::size_t(r * count + i);
      const long double expected = functions[i].reference(x[k]);
      const double got = h[k];
      const long double unit = std::max<long double>(
          smallest, expected == 0 ? 0 : std::ldexp(1.0L, std::ilogb(expected) - mantissa));
      const double error = std::isnan(got) || std::isinf(got)
                               ? std::fabs(double(expected)) > largest ? 0 : 1e9
                               : double(std::fabs(got - expected) / unit);
      if (error > worst)
        worst = error, where = x[k];
    }
    INFO(type.name() << " " << functions[i].name << "(" << where << ") is off by " << worst
                     << " units of the last place");
    CHECK(worst <= allowed);
  }
}

} // namespace

TEST_CASE("functions of f32 are within their bounds of the host's") {
  checkFunctions(fx::f32, 23, 1e30, 0x1p-149, 8);
}
TEST_CASE("functions of f64 are within their bounds of the host's") {
  checkFunctions(fx::f64, 52, 1e300, 0x1p-1074, 8);
}
TEST_CASE("functions of f16 are within their bounds of the host's") {
  checkFunctions(fx::f16, 10, 60000, 0x1p-24, 2);
}
TEST_CASE("functions of bf16 are within their bounds of the host's") {
  checkFunctions(fx::bf16, 7, 1e30, 0x1p-133, 1);
}

TEST_CASE("functions of two and three arguments, of vectors, and classes of floats") {
  auto h = run::values<float>("more", 64, 16, [](fx::Tensor out, fx::Int32 tid) {
    fx::Numeric x = (tid - 20).to(fx::f32) * 0.37f, y = (tid + 1).to(fx::f32) * 0.11f;
    fx::Vector v = fx::Vector::of({x, y});
    int i = 0;
    out(tid, i++) = fx::math::pow(y, x);
    out(tid, i++) = fx::math::atan2(x, y);
    out(tid, i++) = fx::math::copysign(y, x);
    out(tid, i++) = fx::math::fma(x, y, 2);
    out(tid, i++) = fx::math::clampf(x, -1, 2.5f);
    out(tid, i++) = x % 0.5f;
    out(tid, i++) = fx::math::sincos(x).second;
    out(tid, i++) = fx::math::exp(v)[1];
    out(tid, i++) = fx::math::fma(v, 2, v)[0];
    fx::Numeric odd = fx::select(tid == 0, x / 0.0f, fx::select(tid == 1, (x - x) / 0.0f, x));
    out(tid, i++) = fx::math::isnan(odd).to(fx::f32);
    out(tid, i++) = fx::math::isinf(odd).to(fx::f32);
    out(tid, i++) = fx::math::isfinite(odd).to(fx::f32);
    out(tid, i++) = fx::math::isnormal(odd * 1e-38f).to(fx::f32);
    fx::Numeric n = (tid + 1) * 12;
    out(tid, i++) =
        (fx::math::ctlz(n) * 10000 + fx::math::cttz(n) * 100 + fx::math::ctpop(n)).to(fx::f32);
    out(tid, i++) = (fx::math::pow(tid - 7, 3) + fx::math::pow(tid - 7, tid % 5 - 1)).to(fx::f32);
    out(tid, i++) = fx::math::abs(tid - 30).to(fx::f32);
  });
  int wrong = 0;
  for (int t = 0; t < 64; ++t) {
    const float x = float(t - 20) * 0.37f, y = float(t + 1) * 0.11f;
    const int n = (t + 1) * 12, b = t - 7, e = t % 5 - 1;
    int power = e < 0 ? (b == 1 || b == -1 ? b : 0) : 1;
    for (int k = 0; k < e; ++k)
      power *= b;
    if (e < 0 && b == 0)
      power = 0;
    const double expected[] = {std::pow(double(y), double(x)),
                               std::atan2(x, y),
                               std::copysign(y, x),
                               std::fma(x, y, 2.0f),
                               std::clamp(x, -1.0f, 2.5f),
                               std::fmod(x, 0.5f),
                               std::cos(double(x)),
                               std::exp(double(y)),
                               3 * x,
                               double(t == 1),
                               double(t == 0),
                               double(t > 1),
                               double(t > 1 && std::fabs(x * 1e-38f) >= 1.17549435e-38f),
                               double(__builtin_clz(unsigned(n)) * 10000 +
                                      __builtin_ctz(unsigned(n)) * 100 +
                                      __builtin_popcount(unsigned(n))),
                               double(b * b * b + power),
                               double(std::abs(t - 30))};
    for (int i = 0; i < 16; ++i) {
      const double got = h[std::size_t(t * 16 + i)];
      if (!(std::fabs(got - expected[i]) <= 2e-6 * std::fabs(expected[i]) + 1e-30) && ++wrong < 6)
        WARN("thread " << t << " column " << i << ": " << got << ", expected " << expected[i]);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a fast-math scope changes what is computed") {
  // Not fused, (1 + e)(1 - e) - 1 is zero in f32; fused, it is -e * e.
  const float e = 1.0f / 8192;
  auto difference = [e](fx::FastMath flags) {
    return run::values<float>("fused", 64, 1, [e, flags](fx::Tensor out, fx::Int32 tid) {
      fx::Numeric n = (tid + 1).to(fx::f32);
      fx::FastMathScope scope(flags);
      out(tid, 0) = (1 + n * e) * (1 - n * e) - 1;
    })[0];
  };
  const float a = 1 + e, b = 1 - e;
  volatile float product = a * b;
  CHECK(difference(fx::FastMath::none) == product - 1);
  CHECK(difference(fx::FastMath::contract) == std::fma(a, b, -1.0f));
  CHECK(product - 1 != std::fma(a, b, -1.0f));
}

TEST_CASE("selection, minimum and maximum, and rounded quotients") {
  auto h = run::values<int>("choose", 64, 8, [](fx::Tensor out, fx::Int32 tid) {
    fx::Int32 x = tid - 32;
    int i = 0;
    out(tid, i++) = fx::min(x, 5) * 1000 + fx::max(x, -4);
    out(tid, i++) = fx::min(x.to(fx::u32), 40u).to(fx::i32);
    out(tid, i++) = fx::ceildiv(x, 7);
    out(tid, i++) = fx::floordiv(x, 7);
    out(tid, i++) = x / 7 * 100 + x % 7;
    out(tid, i++) = fx::select(x > 3 && !(x == 5) || x < -30, x, -1);
    out(tid, i++) = (x >> 2) + (x.to(fx::u32) >> 28).to(fx::i32) + (x << 3);
    out(tid, i++) = fx::select(fx::Vector::of({x, x + 1}) > 0, fx::Vector::of({x, x}), 9)[1];
  });
  int wrong = 0;
  for (int t = 0; t < 64; ++t) {
    const int x = t - 32;
    auto floorDiv = [](int a, int b) { return int(std::floor(double(a) / b)); };
    const int expected[] = {std::min(x, 5) * 1000 + std::max(x, -4),
                            int(std::min(unsigned(x), 40u)),
                            -floorDiv(-x, 7),
                            floorDiv(x, 7),
                            x / 7 * 100 + x % 7,
                            (x > 3 && x != 5) || x < -30 ? x : -1,
                            (x >> 2) + int(unsigned(x) >> 28) + x * 8,
                            x + 1 > 0 ? x : 9};
    for (std::size_t i = 0; i < 8; ++i)
      wrong += h[std::size_t(t) * 8 + i] != expected[i];
  }
  CHECK(wrong == 0);
}
