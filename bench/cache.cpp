// The cache with a small kernel: the key of its IR, a hit in memory, and a hit on disk that is not
// in memory.
#include "../tests/jit/module_text.h"
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
  cache::Config config;

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

} // namespace

BENCHMARK_MAIN();
