// The library's part of a launch: from the call to HIP's launch function, which here returns at
// once.
#include "fake_params.h"
#include "five_matrices.h"
#include "forks.h"

#include <flydsl/host/aot.h>
#include <flydsl/host/device_array.h>

#include <benchmark/benchmark.h>

#include <array>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace fx = flydsl;

namespace {
const fx::Kernel kernel{"bench", [](FakeTensor, FakeTensor, FakeTensor, FakeTensor, FakeTensor,
                                    FakeInt32, FakeInt32, FakeInt32) {}};

FiveMatrices &setup() {
  static FiveMatrices made;
  return made;
}

void kernelObject(benchmark::State &state) {
  auto &[t, stream] = setup();
  int i = 0;
  for (auto _ : state)
    kernel(t[0], t[1], t[2], t[3], t[4], ++i, 2, 3)
        .launch({.grid = {8, 8}, .block = 256, .stream = stream});
}
BENCHMARK(kernelObject)->ThreadRange(1, 2)->UseRealTime();

/// In a process that forks every so many milliseconds (0: never).
void besideForks(benchmark::State &state) {
  static std::unique_ptr<Forks> forks;
  auto &[t, stream] = setup();
  if (state.thread_index() == 0)
    forks = std::make_unique<Forks>(std::chrono::milliseconds(state.range(0)));
  int i = 0;
  for (auto _ : state)
    kernel(t[0], t[1], t[2], t[3], t[4], ++i, 2, 3)
        .launch({.grid = {8, 8}, .block = 256, .stream = stream});
  if (state.thread_index() == 0)
    forks = nullptr;
}
BENCHMARK(besideForks)->Arg(0)->Arg(10)->Threads(16)->UseRealTime();

/// The engine passes raw pointers, so every launch describes the tensors anew.
void kernelObjectRawPointers(benchmark::State &state) {
  auto &[t, stream] = setup();
  int i = 0;
  for (auto _ : state)
    kernel(fx::tensor(t[0].data(), {64, 128}), fx::tensor(t[1].data(), {64, 128}),
           fx::tensor(t[2].data(), {64, 128}), fx::tensor(t[3].data(), {64, 128}),
           fx::tensor(t[4].data(), {64, 128}), ++i, 2, 3)
        .launch({.grid = {8, 8}, .block = 256, .stream = stream});
}
BENCHMARK(kernelObjectRawPointers);

void compiledKernel(benchmark::State &state) {
  auto &[t, stream] = setup();
  auto compiled = kernel(t[0], t[1], t[2], t[3], t[4], 1, 2, 3).compile({.block = 256});
  int i = 0;
  for (auto _ : state)
    compiled(t[0], t[1], t[2], t[3], t[4], ++i, 2, 3)
        .launch({.grid = {8, 8}, .block = 256, .stream = stream});
}
BENCHMARK(compiledKernel)->ThreadRange(1, 2)->UseRealTime();

/// A kernel compiled ahead of time for two targets; one is the device's.
void aotKernel(benchmark::State &state) {
  auto &[t, stream] = setup();
  const std::string path =
      std::filesystem::temp_directory_path() / ("bench-" + std::to_string(getpid()) + ".flyaot");
  kernel(t[0], t[1], t[2], t[3], t[4], 1, 2, 3)
      .export_aot(path, {.block = 256, .archs = {"gfx950", "gfx942"}});
  const fx::AotKernel shipped = fx::load_aot(path).kernel("bench");
  std::filesystem::remove(path);
  int i = 0;
  for (auto _ : state)
    shipped(t[0], t[1], t[2], t[3], t[4], ++i, 2, 3)
        .launch({.grid = {8, 8}, .block = 256, .stream = stream});
}
BENCHMARK(aotKernel);

/// A kernel that was called with many static shapes.
void manySignatures(benchmark::State &state) {
  auto &[t, stream] = setup();
  std::vector<fx::TensorArg> marked;
  for (int i = 0; i < state.range(0); ++i)
    marked.push_back(fx::tensor(t[0].data(), {1 + i, 8}).mark_layout_static());
  std::size_t next = 0;
  for (auto _ : state) {
    kernel(marked[next], t[1], t[2], t[3], t[4], 1, 2, 3)
        .launch({.grid = {8, 8}, .block = 256, .stream = stream});
    next = next + 1 == marked.size() ? 0 : next + 1;
  }
}
BENCHMARK(manySignatures)->Arg(16)->Arg(1024);
} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
