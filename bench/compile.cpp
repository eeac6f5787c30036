// Compiles a small kernel from IR to code object, by phase: the first compile of the process, and
// later ones.
#include "../tests/jit/module_text.h"
#include "jit/compile/compile_pool.h"
#include "jit/compile/compiler.h"
#include "jit/compile/module/context_pool.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <benchmark/benchmark.h>

using namespace flydsl;
using namespace flydsl::jit;

static void report(benchmark::State &state, const CompileTimes &sum, double runs) {
  state.counters["passes_ms"] = sum.passes / runs;
  state.counters["translate_ms"] = sum.translate / runs;
  state.counters["optimize_ms"] = sum.optimize / runs;
  state.counters["codegen_ms"] = sum.codegen / runs;
  state.counters["link_ms"] = sum.link / runs;
}

static void compile(benchmark::State &state, const char *target) {
  CompileOptions options;
  options.target = Target::parse(target);
  CompileTimes sum;
  double runs = 0;
  for (auto _ : state) {
    ContextLease context;
    auto module = mlir::parseSourceString<mlir::ModuleOp>(test::scaleKernel(), context.get());
    auto object = compileModule(*module, options);
    sum.passes += object->times.passes;
    sum.translate += object->times.translate;
    sum.optimize += object->times.optimize;
    sum.codegen += object->times.codegen;
    sum.link += object->times.link;
    ++runs;
  }
  report(state, sum, runs);
}

// CPU time is measured for the whole process, because compiles run on threads of their own. There
// is one iteration first, which pays for contexts, LLVM's targets and comgr.
BENCHMARK_CAPTURE(compile, cold, "gfx942")
    ->Iterations(1)
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile, warm, "gfx942")->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile, warm_gfx1201, "gfx1201")
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

/// Compiles sixteen kernels on the given number of threads of a pool.
static void compileOnThreads(benchmark::State &state) {
  CompilePool pool(static_cast<unsigned>(state.range(0)));
  CompileOptions options;
  options.target = Target::parse("gfx942");
  int number = 0;
  for (auto _ : state) {
    const int first = number;
    runAll(
        pool, 16,
        [&](std::size_t i) {
          ContextLease context;
          auto module = mlir::parseSourceString<mlir::ModuleOp>(
              test::scaleKernel("scale" + std::to_string(first + static_cast<int>(i))),
              context.get());
          compileModule(*module, options);
        },
        [&](std::size_t) { ++number; });
  }
  state.counters["kernels_per_s"] =
      benchmark::Counter(16.0 * double(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(compileOnThreads)
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
