// Examples of docs/fleet-cache.md: a program of a fleet, which says where its kernel and its
// winner came from. tests/jit/launch/fleet.sh runs it as machines that share a server.
#include <flydsl/flydsl.h>
#include <flydsl/host/autotune.h>
#include <flydsl/host/stats.h>

#include <cstdio>

namespace fx = flydsl;

namespace {

const fx::Kernel scale{"scale", [](fx::Tensor x, fx::Tensor y, fx::Constexpr<int> block) {
  auto i = fx::block_idx().x * block + fx::thread_idx().x;
  y(i) = 2.0f * x(i);
}};

fx::AutotuneResult tune(const fx::DeviceArray<float> &x, fx::DeviceArray<float> &y) {
  const auto n = std::int64_t(x.size());
  std::vector<fx::Config> configs;
  for (int block : {64, 128})
    configs.push_back({{"block", block}});
  return fx::autotune("scale", configs, /*key=*/{{"n", n}}, [&](const fx::Config &config) {
    const int block = int(config.integer("block"));
    auto compiled = scale(x, y, block).compile({.block = block});
    return fx::Candidate{compiled, [=, &x, &y](fx::StreamRef stream, int) {
      compiled(x, y, block).launch({.grid = n / block, .block = block, .stream = stream});
    }};
  });
}

} // namespace

int main() try {
  auto x = fx::DeviceArray<float>::random({1024}, /*seed=*/1);
  fx::DeviceArray<float> y({1024});
  // region: warm-up
  // Before the first request: whatever the fleet has is fetched, the rest is compiled for all.
  auto compiled = scale(x, y, 256).compile({.block = 256, .load = true});
  std::printf("kernel: %s\n", compiled.cache_tier_name());
  // endregion
  const fx::AutotuneResult tuned = tune(x, y);
  std::printf("winner: %s, %s\n", tuned.config.str().c_str(),
              tuned.source == fx::AutotuneResult::Source::search ? "searched" : "known");

  // region: stats
  const fx::Stats stats = fx::stats();
  std::printf("compiled %d, of the fleet %d, given to it %d, rejected %d, failures %d\n",
              int(stats.compiles), int(stats.remote_hits), int(stats.remote_stores),
              int(stats.remote_rejected), int(stats.remote_failures));
  // endregion
  scale(x, y, 256).launch({.grid = 4, .block = 256});
  fx::Device::current().synchronize();
  return y.to_host()[1000] == 2 * x.to_host()[1000] ? 0 : 1;
} catch (const fx::Error &error) {
  std::printf("error: %s\n", error.what());
  return 2;
}
