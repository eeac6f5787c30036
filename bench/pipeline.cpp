// From a kernel object to its code, in a process that has done it before: sample 01's kernel
// through the public API.
#include <flydsl/flydsl.h>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

namespace fx = flydsl;
using fx::_;

namespace {
void body(fx::Tensor A, fx::Tensor B, fx::Tensor C, fx::TiledCopy tiled_copy) {
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
  const fx::Kernel kernel{name, &body};
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

/// Key and look-up in memory, for IR that was compiled before.
void memoryHit(benchmark::State &state) {
  compile("remembered");
  for (auto _ : state)
    state.SetIterationTime(compile("remembered").compile_milliseconds() / 1e3);
}
BENCHMARK(memoryHit)->UseManualTime()->Unit(benchmark::kMillisecond);

/// Every iteration is a kernel that no cache has: run with FLYDSL_RUNTIME_ENABLE_CACHE=0.
void compileNew(benchmark::State &state) {
  static int number = 0;
  compile("first");
  for (auto _ : state)
    state.SetIterationTime(compile("new_" + std::to_string(number++)).compile_milliseconds() / 1e3);
}
BENCHMARK(compileNew)->UseManualTime()->Unit(benchmark::kMillisecond);
} // namespace

int main(int argc, char **argv) {
  setenv("FLYDSL_RUNTIME_ENABLE_CACHE", "0", /*overwrite=*/0);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
