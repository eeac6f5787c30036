// The cache with a small kernel: the key of its IR, a hit in memory, a hit on disk that is not in
// memory, and the fleet's cache on a server of this machine: a hit, a miss with its store, and what
// a server that is gone costs.
#include "../tests/jit/module_text.h"
#ifdef REDIS_SERVER
#include "../tests/cache/remote/redis_server.h"
#endif
#include "jit/compile/ir_key.h"
#include "jit/compile/kernel_cache.h"
#include "jit/compile/module/context_pool.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <benchmark/benchmark.h>
#include <filesystem>
#include <unistd.h>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

struct Setup {
  ContextLease context;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(test::scaleKernel(), context.get());
  CompileOptions options;
  cache::CacheConfig config;

  Setup() {
    options.target = Target::parse("gfx942");
    config.directory =
        std::filesystem::temp_directory_path() / ("flydsl-bench-" + std::to_string(getpid()));
  }
  ~Setup() { std::filesystem::remove_all(config.directory); }
};

void irKeyOfKernel(benchmark::State &state) {
  Setup setup;
  for (auto _ : state)
    benchmark::DoNotOptimize(irKey(*setup.module, setup.options));
}
BENCHMARK(irKeyOfKernel)->Unit(benchmark::kMicrosecond);

void memoryHit(benchmark::State &state) {
  Setup setup;
  KernelCache kernels(setup.config);
  cache::Key key = kernels.compile(*setup.module, setup.options).key;
  for (auto _ : state)
    benchmark::DoNotOptimize(kernels.fetch(key, "scale", setup.options.target, {}));
}
BENCHMARK(memoryHit)->Unit(benchmark::kMicrosecond);

void diskHit(benchmark::State &state) {
  Setup setup;
  cache::Key key = KernelCache(setup.config).compile(*setup.module, setup.options).key;
  for (auto _ : state) {
    KernelCache kernels(setup.config);
    benchmark::DoNotOptimize(kernels.fetch(key, "scale", setup.options.target, {}));
  }
  state.counters["entry_bytes"] = static_cast<double>(
      std::filesystem::file_size(cache::entryPath(setup.config.directory, key)));
}
BENCHMARK(diskHit)->Unit(benchmark::kMicrosecond);

#ifdef REDIS_SERVER
/// Without a disk: what the server's part costs.
struct Fleet : Setup {
  cache::test::RedisServer server;
  std::shared_ptr<const CodeObject> object;
  cache::Key key;

  Fleet() {
    config.disk = false;
    KernelCache kernels(config);
    const CachedKernel made = kernels.compile(*module, options);
    object = made.object;
    key = made.key;
  }
  /// A kernel that this process does not have, with a compiler that takes no time.
  CachedKernel fetch(const cache::Key &which, cache::RemoteTier *tier) {
    return KernelCache(config, tier).fetch(which, "scale", options.target, [&] { return object; });
  }
  cache::Key newKey() { return cache::test::keyOf(count_++); }

private:
  std::uint64_t count_ = 0;
};

void remoteHit(benchmark::State &state) {
  Fleet fleet;
  cache::RemoteConfig config = fleet.server.config();
  if (state.range(0))
    config.signingKey.assign(32, 1);
  cache::RemoteTier tier(config);
  fleet.fetch(fleet.key, &tier);
  for (auto _ : state)
    if (fleet.fetch(fleet.key, &tier).tier != CacheTier::remote)
      state.SkipWithError("no hit");
}
BENCHMARK(remoteHit)
    ->ArgName("signed")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

void remoteMissAndStore(benchmark::State &state) {
  Fleet fleet;
  cache::RemoteTier tier(fleet.server.config());
  for (auto _ : state)
    benchmark::DoNotOptimize(fleet.fetch(fleet.newKey(), &tier));
}
BENCHMARK(remoteMissAndStore)->Unit(benchmark::kMicrosecond)->UseRealTime();

void noFleet(benchmark::State &state) {
  Fleet fleet;
  for (auto _ : state)
    benchmark::DoNotOptimize(fleet.fetch(fleet.newKey(), nullptr));
}
BENCHMARK(noFleet)->Unit(benchmark::kMicrosecond)->UseRealTime();

/// The server answers nothing from the start: the first kernel, which waits for it, and the others.
void remoteDown(benchmark::State &state) {
  Fleet fleet;
  fleet.server.stop();
  cache::RemoteConfig config = fleet.server.config();
  config.timeout = std::chrono::milliseconds(500);
  cache::RemoteTier tier(config);
  const auto start = std::chrono::steady_clock::now();
  fleet.fetch(fleet.newKey(), &tier);
  state.counters["first_ms"] =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  for (auto _ : state)
    benchmark::DoNotOptimize(fleet.fetch(fleet.newKey(), &tier));
}
// Fewer than pass in the second before the next probe.
BENCHMARK(remoteDown)->Unit(benchmark::kMicrosecond)->UseRealTime()->Iterations(5000);
#endif

} // namespace

BENCHMARK_MAIN();
