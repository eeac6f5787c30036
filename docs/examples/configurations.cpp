// Examples of docs/configurations.md.
#include "example.h"

#include <flydsl/host/aot.h>
#include <flydsl/host/autotune.h>

#include <cstdio>
#include <filesystem>

namespace {

// region: struct
/// What the code depends on besides the types of its arguments.
struct Config {
  int threads = 64;
  int items = 4;
  fx::DType sums = fx::f32; // in which type a thread adds
  bool backwards = false;
};

/// y = the sums of `items` neighbours of x.
const fx::Kernel group_sums{"group_sums", [](fx::Tensor x, fx::Tensor y,
                                             fx::Constexpr<Config> config) {
  fx::require(config->items > 0 && config->items <= 16, "1 to 16 items a thread, not {}",
              config->items);
  fx::require(config->sums.is_float(), "sums are floats, not {}", config->sums);
  auto i = fx::block_idx().x * config->threads + fx::thread_idx().x;
  fx::Vector mine = fx::flat_divide(x, config->items)(_, i).load().to(config->sums);
  fx::Var<fx::Numeric> sum(mine[0]);
  for (int k = 1; k < config->items; ++k) // unrolled: items is known
    sum += mine[config->backwards ? config->items - k : k];
  y(i) = sum.get().to(fx::f32);
}};
// endregion

} // namespace

TEST_CASE("configurations: a struct as a parameter", "[configurations]") {
  fx::DeviceArray<float> x({1024}), y({256});
  x.fill(0.25f);
  // region: launch
  group_sums(x, y, Config{.threads = 128}).launch({.grid = 2, .block = 128});
  // endregion
  CHECK(y.to_host()[255] == 1.0f);
  // region: symbol
  auto compiled = group_sums(x, y, Config{.threads = 32, .sums = fx::f64}).compile({.block = 32});
  std::printf("%s\n", compiled.name().c_str()); // group_sums_32x4_f64
  // endregion
  CHECK(compiled.name() == "group_sums_32x4_f64");
  example::expectOutput("configurations-require.txt", example::messageOf<fx::TraceError>([&] {
    // region: refused
    group_sums(x, y, Config{.items = 64}).launch({.grid = 4, .block = 64});
    // endregion
  }));
}

TEST_CASE("configurations: the best of some", "[configurations]") {
  const std::int64_t n = 4096;
  auto x = fx::DeviceArray<float>::random({n}, 1);
  fx::DeviceArray<float> y({n / 4});
  // region: tune
  std::vector<fx::Config> candidates;
  for (int threads : {64, 128, 256})
    candidates.push_back(fx::to_config(Config{.threads = threads}));
  auto build = [&](const fx::Config &candidate) {
    const auto config = fx::from_config<Config>(candidate);
    auto compiled = group_sums(x, y, config).compile({.block = config.threads});
    auto run = [=, &x, &y](fx::StreamRef stream, int) {
      compiled(x, y, config)
          .launch({.grid = n / 4 / config.threads, .block = config.threads, .stream = stream});
    };
    return fx::Candidate{compiled, run};
  };
  fx::AutotuneResult best =
      fx::autotune("group_sums", candidates, {{"n", n}}, build, {.warmup = 1, .repeat = 2});
  const auto config = fx::from_config<Config>(best.config);
  // endregion
  CHECK((config.threads == 64 || config.threads == 128 || config.threads == 256));
  CHECK(config.sums == fx::f32);
}

TEST_CASE("configurations: shipped in a file", "[configurations]") {
  fx::DeviceArray<float> x({1024}), y({256});
  x.fill(0.5f);
  const std::string path = example::scratchPath("sums.flyaot");
  // region: aot
  float *unknown = nullptr;
  auto any = fx::tensor(unknown, {1024});
  for (const Config &config : {Config{}, Config{.threads = 256}})
    group_sums(any, any, config)
        .export_aot(path, {.block = config.threads, .archs = {"gfx942", "gfx1201"}, .append = true});

  // In the engine, which has no compiler:
  fx::AotModule file = fx::load_aot(path);
  fx::AotKernel wide = file.kernel("group_sums", fx::variant_name(Config{.threads = 256}));
  wide(x, y).launch({.grid = 1});
  // endregion
  CHECK(y.to_host()[0] == 2.0f);
  CHECK(file.variants("group_sums") == std::vector<std::string>{"256x4_f32", "64x4_f32"});
  example::expectOutput("configurations-variants.txt", example::messageOf<fx::RuntimeError>([&] {
    file.kernel("group_sums");
  }));
  std::filesystem::remove(path);
}
