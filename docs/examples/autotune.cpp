// Examples of docs/autotune.md.
#include "example.h"

#include <flydsl/host/autotune.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

// region: kernel
const fx::Kernel shift{"shift", [](fx::Tensor x, fx::Tensor y, fx::Float32 by,
                                   fx::Constexpr<int> block, fx::Constexpr<int> items) {
  auto first = fx::block_idx().x * block * items + fx::thread_idx().x;
  for (int k = 0; k < items; ++k)
    y(first + k * block) = x(first + k * block) + by;
}};
// endregion

// region: tune
fx::AutotuneResult tune(const fx::DeviceArray<float> &x, fx::DeviceArray<float> &y) {
  std::vector<fx::Config> configs;
  for (int block : {64, 128, 256})
    for (int items : {1, 4})
      configs.push_back({{"block", block}, {"items", items}});

  const auto n = std::int64_t(x.size());
  auto build = [&](const fx::Config &config) {
    const int block = int(config.integer("block")), items = int(config.integer("items"));
    auto compiled = shift(x, y, 1.0f, block, items).compile({.block = block});
    auto run = [=, &x, &y](fx::StreamRef stream, int) {
      compiled(x, y, 1.0f, block, items)
          .launch({.grid = n / (block * items), .block = block, .stream = stream});
    };
    return fx::Candidate{compiled, run};
  };
  auto validate = [&](const fx::Config &) { // the fastest of those whose results are right
    auto in = x.to_host(), out = y.to_host();
    y.poison();
    return std::equal(in.begin(), in.end(), out.begin(),
                      [](float i, float o) { return o == i + 1.0f; });
  };
  return fx::autotune("shift", configs, /*key=*/{{"n", n}}, build,
                      {.warmup = 1, .repeat = 3, .validate = validate});
}
// endregion

} // namespace

TEST_CASE("autotune: a search, then the cache", "[autotune]") {
  const std::string directory = example::scratchPath("autotune");
  std::filesystem::remove_all(directory);
  setenv("FLYDSL_AUTOTUNE_CACHE_DIR", directory.c_str(), 1);
  auto x = fx::DeviceArray<float>::random({2048}, 1);
  fx::DeviceArray<float> y({2048});
  y.poison();
  auto first = tune(x, y);
  CHECK(first.source == fx::AutotuneResult::Source::search);
  CHECK(first.trials.size() == 6);
  for (const fx::Trial &trial : first.trials)
    CHECK(trial.outcome == fx::Trial::Outcome::measured);
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < in.size(); ++i)
    REQUIRE(out[i] == in[i] + 1);

  auto second = tune(x, y);
  CHECK(second.source == fx::AutotuneResult::Source::cache);
  CHECK(second.config == first.config);
  unsetenv("FLYDSL_AUTOTUNE_CACHE_DIR");
  std::filesystem::remove_all(directory);
}
