// Kernels whose configuration is a struct.
#include "run.h"

#include <catch2/catch.hpp>

namespace fx = flydsl;

namespace {
struct Unroll {
  int items = 2;
  bool backwards = false;
};
struct Config {
  int block = 64;
  fx::DType accumulate = fx::f32;
  Unroll unroll = {};
  std::array<int, 2> add = {1, 10};
};

const fx::Kernel scale{
    "scale", [](fx::Tensor x, fx::Tensor y, fx::Constexpr<Config> config) {
      const Config &c = config;
      fx::require(c.block % 32 == 0, "block is a multiple of 32, not {}", c.block);
      auto first = (fx::block_idx().x * c.block + fx::thread_idx().x) * c.unroll.items;
      for (int i = 0; i < c.unroll.items; ++i) {
        const int k = c.unroll.backwards ? c.unroll.items - 1 - i : i;
        auto v = x(first + k).to(config->accumulate) * 2 + c.add[k % 2];
        y(first + k) = v.to(fx::f32);
      }
    }};
} // namespace

TEST_CASE("a configuration of several values is one parameter of the kernel") {
  constexpr int n = 1024;
  std::vector<float> in(n);
  for (int i = 0; i < n; ++i)
    in[i] = static_cast<float>(i % 100);
  auto x = fx::DeviceArray<float>({n});
  x.copy_from(in);
  fx::DeviceArray<float> y({n});
  for (const Config &config :
       {Config{},
        Config{.block = 128, .accumulate = fx::f64, .unroll = {4, true}, .add = {3, 4}}}) {
    y.poison();
    const int blocks = n / config.block / config.unroll.items;
    scale(x, y, config).launch({blocks, config.block});
    const std::vector<float> out = y.to_host();
    for (int i = 0; i < n; ++i)
      CHECK(out[i] == 2 * in[i] + config.add[i % config.unroll.items % 2]);
  }
}

TEST_CASE("a kernel's symbol says its configuration") {
  fx::DeviceArray<float> x({1024}), y({1024});
  const auto name = [&](const Config &config) {
    return scale(x, y, config).compile({.block = config.block}).name();
  };
  CHECK(name({}) == "scale_64_f32_2x1x10");
  CHECK(name({.block = 128, .accumulate = fx::f64, .unroll = {4, true}}) ==
        "scale_128_f64_4_backwards_1x10");
}

TEST_CASE("a demand on the configuration fails with its line") {
  fx::DeviceArray<float> x({1024}), y({1024});
  try {
    scale(x, y, Config{.block = 48}).launch({1, 48});
    FAIL("not refused");
  } catch (const fx::TraceError &e) {
    CHECK_THAT(e.what(), Catch::Contains("configuration_test.cpp:") &&
                             Catch::Contains("block is a multiple of 32, not 48"));
  }
}
