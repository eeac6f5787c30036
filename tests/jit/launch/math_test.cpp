// Functions of ROCm's device library, linked into kernels, are compared with the host's in double
// precision.
#include <flydsl/flydsl.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace fx = flydsl;

namespace {
constexpr int block = 64, functions = 10;

double reference(int function, double x) {
  switch (function) {
  case 0:
    return std::sin(x);
  case 1:
    return std::cos(x);
  case 2:
    return std::tan(x);
  case 3:
    return std::erf(x);
  case 4:
    return std::tanh(x);
  case 5:
    return std::atan(x);
  case 6:
    return std::expm1(x);
  case 7:
    return std::log1p(std::abs(x));
  case 8:
    return std::atan2(x, double(float(x * 0.5) + 1.0f));
  default:
    return std::pow(std::abs(x), 1.25);
  }
}
} // namespace

TEST_CASE("functions of the device library are exact to a few units in the last place") {
  const fx::Kernel all{"device_library", [](fx::Tensor x, fx::Tensor y) {
                         auto i = fx::block_idx().x * block + fx::thread_idx().x;
                         auto v = x(i);
                         y(i, 0) = fx::math::sin(v);
                         y(i, 1) = fx::math::cos(v);
                         y(i, 2) = fx::math::tan(v);
                         y(i, 3) = fx::math::erf(v);
                         y(i, 4) = fx::math::tanh(v);
                         y(i, 5) = fx::math::atan(v);
                         y(i, 6) = fx::math::expm1(v);
                         y(i, 7) = fx::math::log1p(fx::math::abs(v));
                         y(i, 8) = fx::math::atan2(v, v * 0.5f + 1.0f);
                         y(i, 9) = fx::math::pow(fx::math::abs(v), 1.25f);
                       }};
  constexpr std::int64_t n = 512;
  std::vector<float> in;
  for (int i = 0; i < n; ++i) {
    const float exponent = static_cast<float>(i % 40) - 30; // to 2^9 in both directions
    in.push_back((i % 2 ? -1.0f : 1.0f) * std::exp2(exponent) *
                 (1.0f + static_cast<float>(i) / 512));
  }
  auto x = fx::DeviceArray<float>::from_host(in, {n});
  fx::DeviceArray<float> y({n, functions});
  fx::Stream stream;
  all(x, y).launch({.grid = n / block, .block = block, .stream = stream});
  stream.synchronize();
  const std::vector<float> out = y.to_host();
  for (int i = 0; i < n; ++i)
    for (int f = 0; f < functions; ++f) {
      const double exact = reference(f, static_cast<double>(in[i]));
      const float got = out[static_cast<std::size_t>(i * functions + f)];
      CAPTURE(f, in[i], exact, got);
      if (std::abs(exact) > 3.4e38)
        CHECK(std::isinf(got));
      else
        CHECK(std::abs(got - exact) <= 4 * std::ldexp(std::abs(exact), -23) + 1e-44);
    }
}

TEST_CASE("approximate functions are the hardware's instructions, exact ones are exact") {
  const fx::Kernel both{"approximate", [](fx::Tensor x, fx::Tensor y, fx::Constexpr<bool> fast) {
                          fx::FastMathScope scope(fast ? fx::FastMath::fast : fx::FastMath::none);
                          auto i = fx::block_idx().x * block + fx::thread_idx().x;
                          auto v = x(i);
                          y(i, 0) = fx::math::exp2(v);
                          y(i, 1) = fx::math::exp(v);
                          y(i, 2) = fx::math::rsqrt(fx::math::abs(v));
                        }};
  constexpr std::int64_t n = 128;
  auto x = fx::DeviceArray<float>::random({n}, /*seed=*/7);
  fx::DeviceArray<float> y({n, 3});
  fx::Stream stream;
  const std::vector<float> in = x.to_host();
  std::size_t size[2];
  for (bool fast : {false, true}) {
    const auto compiled = both(x, y, fast).compile({.block = block});
    size[fast] = compiled.code_size();
    const std::string isa = compiled.isa();
    auto has = [&](const char *instruction) { return isa.find(instruction) != std::string::npos; };
    CHECK(has("v_exp_f32"));
    CHECK(has("v_ldexp_f32") == !fast); // scaling of small results
    CHECK(has("v_rsq_f32"));
    CHECK(has("v_cndmask_b32") == !fast); // scaling of subnormal arguments
    compiled(x, y, fast).launch({.grid = n / block, .block = block, .stream = stream});
    stream.synchronize();
    const std::vector<float> out = y.to_host();
    for (std::size_t i = 0; i < n; ++i) {
      const double v = static_cast<double>(in[i]);
      const double exact[] = {std::exp2(v), std::exp(v), 1 / std::sqrt(std::abs(v))};
      for (std::size_t f = 0; f < 3; ++f) {
        CAPTURE(fast, f, v, exact[f], out[i * 3 + f]);
        CHECK(std::abs(static_cast<double>(out[i * 3 + f]) - exact[f]) <=
              (fast ? 8 : 4) * std::ldexp(exact[f], -23));
      }
    }
  }
  CHECK(size[1] * 3 < size[0] * 2);
}

TEST_CASE("reciprocal roots of f32 are within two places of the last, subnormal arguments too") {
  const fx::Kernel roots{"roots", [](fx::Tensor x, fx::Tensor y) {
                           auto i = fx::thread_idx().x;
                           y(i, 0) = fx::math::rsqrt(x(i));
                           y(i, 1) = fx::math::rsqrt(fx::Vector::of({x(i), x(i) * 4}))[1];
                         }};
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> in{0.0f,      -0.0f,       0x1p-149f, 0x1.8p-148f, 0x1p-127f, 0x1.fffffcp-127f,
                        0x1p-126f, 0x1.8p-126f, 0.1f,      1.0f,        3.0f,      0x1.fffffep127f,
                        infinity,  -1.0f,       -0x1p-140f};
  for (int exponent = -148; exponent < 126; exponent += 2)
    in.push_back(std::ldexp(1.37f, exponent));
  const auto n = static_cast<std::int64_t>(in.size());
  const auto x = fx::DeviceArray<float>::from_host(in, {n});
  fx::DeviceArray<float> y({n, 2});
  fx::Stream stream;
  roots(x, y).launch({.block = n, .stream = stream});
  stream.synchronize();
  const std::vector<float> out = y.to_host();
  for (std::size_t i = 0; i < in.size(); ++i)
    for (std::size_t k = 0; k < 2; ++k) {
      const float argument = k ? in[i] * 4 : in[i], got = out[i * 2 + k];
      const double exact = 1 / std::sqrt(static_cast<double>(argument));
      CAPTURE(argument, exact, got);
      if (std::isfinite(exact) && exact != 0)
        CHECK(std::abs(got - exact) <= 2 * std::ldexp(1.0, std::ilogb(exact) - 23));
      else if (std::isnan(exact))
        CHECK(std::isnan(got));
      else
        CHECK(static_cast<double>(got) == exact);
    }
}
