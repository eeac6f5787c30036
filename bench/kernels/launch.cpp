// The library's part of a plan's call, from the call to HIP's launch function, which here returns
// at once.
#include "fake.h"

#include <flydsl/host/device_array.h>
#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/softmax.h>

#include <benchmark/benchmark.h>

#include <filesystem>
#include <unistd.h>

namespace fx = flydsl;
namespace fk = flydsl::kernels;

namespace {

constexpr std::int64_t kRows = 64, kColumns = 512;

/// The only device of this process, and operands on it.
struct Setup {
  Setup() {
    fake().devices = 1;
    fake().record = false;
  }
  struct Operands {
    fx::DeviceArray<fx::half_t> x{{kRows, kColumns}}, y{{kRows, kColumns}}, weight{{kColumns}};
    fx::Stream stream;
  };
};
Setup::Operands &setup() {
  static Setup device;
  static Setup::Operands operands;
  return operands;
}

const fk::SoftmaxProblem kSoftmax{.n = kColumns};
const fk::NormProblem kNorm{.n = kColumns, .residual = true};

void plan(benchmark::State &state) {
  auto &[x, y, weight, stream] = setup();
  const fk::SoftmaxPlan softmax(kSoftmax, fk::choose(kSoftmax, kRows));
  const fk::SoftmaxArgs args{.x = x, .y = y};
  for (auto _ : state)
    softmax(args, stream);
}
BENCHMARK(plan);

/// The engine passes raw pointers, so every call describes its tensors anew.
void planRawPointers(benchmark::State &state) {
  auto &[x, y, weight, stream] = setup();
  const fk::SoftmaxPlan softmax(kSoftmax, fk::choose(kSoftmax, kRows));
  for (auto _ : state)
    softmax({.x = fx::tensor(x.data(), {kRows, kColumns}),
             .y = fx::tensor(y.data(), {kRows, kColumns})},
            stream);
}
BENCHMARK(planRawPointers);

/// Fifteen run-time arguments, five tensors to check.
void planOfNorm(benchmark::State &state) {
  auto &[x, y, weight, stream] = setup();
  const fk::NormPlan norm(kNorm, fk::choose(kNorm, kRows));
  const fk::NormArgs args{.x = x, .weight = weight, .residual = y, .y = x, .residual_out = y};
  for (auto _ : state)
    norm(args, stream);
}
BENCHMARK(planOfNorm);

void planOfFile(benchmark::State &state) {
  auto &[x, y, weight, stream] = setup();
  const std::string path =
      std::filesystem::temp_directory_path() / ("bench-plans-" + std::to_string(getpid()));
  const auto config = fk::choose(kSoftmax, kRows);
  fk::export_aot(kSoftmax, config, path);
  const auto softmax = fk::SoftmaxPlan::load(fx::load_aot(path), kSoftmax, config);
  std::filesystem::remove(path);
  const fk::SoftmaxArgs args{.x = x, .y = y};
  for (auto _ : state)
    softmax(args, stream);
}
BENCHMARK(planOfFile);

/// The convenience call, which looks its plan up.
void run(benchmark::State &state) {
  auto &[x, y, weight, stream] = setup();
  const fk::SoftmaxArgs args{.x = x, .y = y};
  for (auto _ : state)
    fk::run(kSoftmax, args, stream);
}
BENCHMARK(run);

} // namespace

BENCHMARK_MAIN();
