// From a kernel object to its code through the public API, in a process that has done it before:
// sample 01's kernel, sample 04's, and kernels of growing unrolled size.
#include <flydsl/flydsl.h>

// Sample 04 is a single file. This program uses its kernel and its plan, but not its main function.
#define main sample_main
#include "04-preshuffle-gemm.cpp"
#undef main

#include "forks.h"

#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {
void add(fx::Tensor A, fx::Tensor B, fx::Tensor C, fx::TiledCopy tiled_copy) {
  auto tid = fx::thread_idx().x;
  auto [bid_m, bid_n, bid_z] = fx::block_idx();
  auto shape = A.shape();                     // (M, N)
  auto idC = fx::make_identity_tensor(shape); // (M, N) -> (m, n)
  auto tile = tiled_copy.tile_mn();
  auto gA = fx::flat_divide(A, tile)(_, _, bid_m, bid_n);   // (TM, TN)
  auto gB = fx::flat_divide(B, tile)(_, _, bid_m, bid_n);   // (TM, TN)
  auto gC = fx::flat_divide(C, tile)(_, _, bid_m, bid_n);   // (TM, TN)
  auto cC = fx::flat_divide(idC, tile)(_, _, bid_m, bid_n); // (TM, TN)
  auto thr = tiled_copy.get_slice(tid);
  auto tA = thr.partition_S(gA), tB = thr.partition_S(gB), tC = thr.partition_D(gC); // (V, m, n)
  auto tcC = thr.partition_S(cC)(fx::make_coord(0, _), _, _);                        // (1, m, n)
  auto rA = fx::make_fragment_like(tA), rB = fx::make_fragment_like(tB),
       rC = fx::make_fragment_like(tC);                 // (V, m, n)
  auto pred = fx::make_fragment_like(tcC, fx::boolean); // (1, m, n)
  for (int i = 0; i < fx::size(pred).value(); ++i)
    pred(i) = fx::elem_less(tcC(i), shape);
  auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
  fx::copy(atom, tA, rA, {.pred = pred});
  fx::copy(atom, tB, rB, {.pred = pred});
  rC.store(rA.load() + rB.load());
  fx::copy(atom, rC, tC, {.pred = pred});
}

auto compile(const std::string &name) {
  const fx::Kernel kernel{name, &add};
  static const auto tiled_copy = fx::make_tiled_copy_tv(
      fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32),
      fx::make_ordered_layout({8, 16}, {1, 0}), fx::make_ordered_layout({1, 4}, {0, 1}));
  const auto any = fx::tensor(static_cast<float *>(nullptr), {64, 64});
  return kernel(any, any, any, tiled_copy).compile({.block = 128, .arch = "gfx942"});
}

void trace(benchmark::State &state) {
  compile("traced");
  for (auto _ : state)
    state.SetIterationTime(compile("traced").trace_milliseconds() / 1e3);
}
BENCHMARK(trace)->UseManualTime()->Unit(benchmark::kMillisecond);

/// Sixteen threads that trace, in a process that forks every so many milliseconds (0: never).
void traceBesideForks(benchmark::State &state) {
  static std::unique_ptr<Forks> forks;
  if (state.thread_index() == 0) {
    compile("traced");
    forks = std::make_unique<Forks>(std::chrono::milliseconds(state.range(0)));
  }
  for (auto _ : state)
    compile("traced");
  if (state.thread_index() == 0)
    forks = nullptr;
}
BENCHMARK(traceBesideForks)
    ->Arg(0)
    ->Arg(10)
    ->Threads(16)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// The key and the look-up in memory, for IR that was compiled before.
void memoryHit(benchmark::State &state) {
  compile("remembered");
  for (auto _ : state)
    state.SetIterationTime(compile("remembered").compile_milliseconds() / 1e3);
}
BENCHMARK(memoryHit)->UseManualTime()->Unit(benchmark::kMillisecond);

/// Each iteration compiles a kernel that is in no cache: run with FLYDSL_RUNTIME_ENABLE_CACHE=0.
void compileNew(benchmark::State &state) {
  static int number = 0;
  compile("first");
  for (auto _ : state)
    state.SetIterationTime(compile("new_" + std::to_string(number++)).compile_milliseconds() / 1e3);
}
BENCHMARK(compileNew)->UseManualTime()->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

/// Compiles sample 04's kernel for 4096 x 4096 x 4096.
auto compileGemm(const std::string &name) {
  const fx::Kernel kernel{name, &body};
  constexpr int size = 4096;
  static const fx::Layout layout_B = layoutOfB(size, size);
  const fx::TensorArg any = fx::tensor(static_cast<void *>(nullptr), fx::f16, {size, size});
  return kernel(any, any, any, layout_B, size).compile({.block = threads, .arch = "gfx942"});
}

void traceGemm(benchmark::State &state) {
  compileGemm("traced_gemm");
  for (auto _ : state)
    state.SetIterationTime(compileGemm("traced_gemm").trace_milliseconds() / 1e3);
}
BENCHMARK(traceGemm)->UseManualTime()->Unit(benchmark::kMillisecond);

void compileNewGemm(benchmark::State &state) {
  static int number = 0;
  compileGemm("first_gemm");
  for (auto _ : state)
    state.SetIterationTime(
        compileGemm("new_gemm_" + std::to_string(number++)).compile_milliseconds() / 1e3);
}
BENCHMARK(compileNewGemm)->UseManualTime()->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

/// A tuning loop: sample 04's kernel in 64 configurations, which differ in the
/// length of k, a constant of the kernel, and in the waves that the compiler aims
/// at. Threads take the next one in turns.
void tuneGemm(benchmark::State &state) {
  constexpr int configurations = 64, largest = 8192;
  static int run = 0;
  compileGemm("first_gemm");
  for (auto _ : state) {
    const std::string name = "tuned_gemm_" + std::to_string(run++);
    std::atomic<int> next{0};
    auto work = [&] {
      for (int i; (i = next++) < configurations;) {
        const fx::Kernel kernel{name, &body, {.waves_per_eu = 1 + unsigned(i) % 2}};
        const int depth = largest / (configurations / 2) * (1 + i / 2);
        const auto any = [](int rows, int columns) {
          return fx::tensor(static_cast<void *>(nullptr), fx::f16, {rows, columns});
        };
        kernel(any(largest, depth), any(largest, depth), any(largest, largest),
               layoutOfB(largest, depth), depth)
            .compile({.block = threads, .arch = "gfx942"});
      }
    };
    std::vector<std::thread> others;
    for (std::int64_t i = 1; i < state.range(0); ++i)
      others.emplace_back(work);
    work();
    for (std::thread &other : others)
      other.join();
  }
  state.SetItemsProcessed(state.iterations() * configurations);
}
BENCHMARK(tuneGemm)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->Iterations(1)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

/// A kernel with `count` unrolled rounds. Each round has a copy from LDS, a multiplication, and one
/// step of scalar arithmetic.
auto compileUnrolled(int count) {
  static int number = 0;
  const fx::Kernel kernel{
      "unrolled_" + std::to_string(number++),
      [](fx::Tensor out, fx::Int32 n, fx::Constexpr<int> rounds) {
        auto tid = fx::thread_idx().x;
        auto atom = fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 16, fx::f16));
        auto mma = fx::make_tiled_mma(atom, fx::make_layout({1, 1, 1}, {1, 1, 1}));
        auto copy_atom = fx::make_copy_atom(fx::UniversalCopy64b(), fx::f16);
        auto copy = fx::make_tiled_copy_A(copy_atom, mma).get_slice(tid);
        auto shared = fx::make_view(fx::get_dyn_shared(fx::f16),
                                    fx::make_layout({16, 16, 16}, {16, 1, 256})); // (16, 16, 16)
        auto part = copy.partition_S(shared);                                     // (V, 1, 1, 16)
        auto rA = mma.make_fragment_A(shared(_, _, 0));                           // (V, 1, 1)
        auto tile = fx::make_view(out.iter(), fx::make_layout({16, 16}, {16, 1}));
        auto rC = mma.make_fragment_C(tile); // (V, 1, 1)
        auto rA_copy = copy.retile(rA);
        rC.fill(0);
        fx::Var<fx::Int32> sum(0);
        for (int i = 0; i < rounds; ++i) {
          fx::copy(copy_atom, part(_, _, _, i % 16), rA_copy);
          fx::gemm(mma, rC, rA, rA, rC);
          sum = sum * n + i;
        }
        auto stored = fx::make_fragment_like(rC, fx::f16);
        stored.store((rC.load() + sum.get().to(fx::f32)).to(fx::f16));
        for (int i = 0; i < 4; ++i)
          out(tid / 16 * 4 + i, tid % 16) = stored(i);
      }};
  const fx::TensorArg any = fx::tensor(static_cast<void *>(nullptr), fx::f16, {16, 16});
  return kernel(any, 0, count).compile({.block = 64, .arch = "gfx942"});
}

void traceUnrolled(benchmark::State &state) {
  compileUnrolled(1);
  double total = 0;
  for (auto _ : state) {
    const double ms = compileUnrolled(static_cast<int>(state.range(0))).trace_milliseconds();
    state.SetIterationTime(ms / 1e3);
    total += ms;
  }
  state.counters["us/round"] = total * 1e3 / double(state.iterations()) / double(state.range(0));
}
BENCHMARK(traceUnrolled)
    ->RangeMultiplier(4)
    ->Range(16, 1024)
    ->Iterations(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void compileNewUnrolled(benchmark::State &state) {
  compileUnrolled(1);
  double total = 0;
  for (auto _ : state) {
    const double ms = compileUnrolled(static_cast<int>(state.range(0))).compile_milliseconds();
    state.SetIterationTime(ms / 1e3);
    total += ms;
  }
  state.counters["us/round"] = total * 1e3 / double(state.iterations()) / double(state.range(0));
}
BENCHMARK(compileNewUnrolled)
    ->RangeMultiplier(4)
    ->Range(16, 1024)
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
} // namespace

int main(int argc, char **argv) {
  setenv("FLYDSL_RUNTIME_ENABLE_CACHE", "0", /*overwrite=*/0);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
