// Copies and kernels in two streams of the emulator that events order: what the check of streams costs
// (FLYDSL_EMULATOR_CHECK=streams, against none). CPU time of the process, over all its threads.
#include <flydsl/flydsl.h>
#include <flydsl/host/device_array.h>
#include <flydsl/host/stream.h>

#include <benchmark/benchmark.h>

#include <vector>

namespace fx = flydsl;

namespace {

/// y = x + 1, by blocks of 256 threads with four elements each.
const fx::Kernel increment{"increment", [](fx::Tensor x, fx::Tensor y) {
                             auto first = (fx::block_idx().x * 256 + fx::thread_idx().x) * 4;
                             for (int k = 0; k < 4; ++k)
                               y(first + k) = x(first + k) + 1;
                           }};

/// A round: stream a fills a buffer, and stream b, which waits for it, works on it. The host waits
/// after every so many rounds, which lets the check forget what was touched.
void rounds(benchmark::State &state) {
  const auto count = static_cast<std::int64_t>(state.range(0));
  const std::int64_t between = state.range(1);
  fx::DeviceArray<float> from({count}), x({count}), y({count});
  fx::Stream a, b;
  fx::Event filled, used;
  const auto blocks = static_cast<unsigned>(count / 1024);
  std::int64_t round = 0;
  for (auto _ : state) {
    if (round)
      a.wait(used);
    increment(from, x).launch({.grid = blocks, .block = 256, .stream = a});
    filled.record(a);
    b.wait(filled);
    increment(x, y).launch({.grid = blocks, .block = 256, .stream = b});
    used.record(b);
    if (++round % between == 0)
      b.synchronize();
  }
  b.synchronize();
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(rounds)
    ->ArgNames({"floats", "rounds_between_waits"})
    ->Args({1024, 1})
    ->Args({1024, 64})
    ->Args({1 << 20, 1})
    ->Args({1 << 20, 16})
    ->MeasureProcessCPUTime();

} // namespace

BENCHMARK_MAIN();
