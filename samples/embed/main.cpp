// An engine that embeds the library. At start it compiles all kernels that it will need, on the
// library's threads, with progress. Then workers with streams of their own run a hot loop, whose
// launches need no look-up.
//
// The "model" is a chain of y = a * x + y over vectors of several sizes; a size class has a kernel
// of its own.
#include <flydsl/flydsl.h>
#include <flydsl/host/compile_async.h>
#include <flydsl/host/stats.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

namespace fx = flydsl;

constexpr int block = 64;

// Each thread takes `items` elements, one from each block of elements. `items` is a constant of the
// code, so the loop unrolls.
const fx::Kernel axpy{"axpy",
                      [](fx::Tensor x, fx::Tensor y, fx::Float32 a, fx::Constexpr<int> items) {
                        auto first = fx::block_idx().x * (block * items) + fx::thread_idx().x;
                        for (int k = 0; k < items; ++k) {
                          auto i = first + k * block;
                          y(i) = a * x(i) + y(i);
                        }
                      }};

/// The compiled kernels that the hot loop uses, one per size class.
using Compiled =
    decltype(axpy(fx::tensor((float *)nullptr, {1}), fx::tensor((float *)nullptr, {1}), 0.0f, 1)
                 .compile());

static std::map<int, Compiled> warmUp() {
  const auto any = fx::tensor(static_cast<float *>(nullptr), {block}); // a vector of any length
  std::map<int, Compiled> kernels;
  std::mutex mutex;
  std::vector<fx::CompileRequest> requests;
  for (int items : {1, 2, 4, 8})
    requests.push_back({"axpy x" + std::to_string(items), [&, items]() -> fx::Executable {
                          Compiled made = axpy(any, any, 0.0f, items).compile({.block = block});
                          std::lock_guard<std::mutex> lock(mutex);
                          kernels.emplace(items, made);
                          return made;
                        }});
  for (auto &outcome :
       fx::compile_all(requests, [](const auto &outcome, std::size_t done, std::size_t total) {
         std::printf("warm-up: %s\n", fx::progress_line(outcome, done, total).c_str());
       }))
    if (outcome.error)
      std::rethrow_exception(outcome.error);
  return kernels;
}

/// One worker, with a stream and buffers of its own, that runs one request after another. Returns
/// true if all sums were right.
static bool work(const std::map<int, Compiled> &kernels, int id, int requests) {
  fx::Stream stream;
  bool right = true;
  for (int r = 0; r < requests; ++r) {
    const int items = 1 << ((id + r) % 4);
    const Compiled &kernel = kernels.at(items);
    const std::int64_t grid = 2, n = grid * block * items;
    auto x = fx::DeviceArray<float>::random({n}, static_cast<std::uint64_t>(id * 1000 + r));
    fx::DeviceArray<float> y({n});
    y.fill(0.0f);
    constexpr int layers = 8;
    for (int layer = 0; layer < layers; ++layer)
      kernel(x, y, 0.5f, items).launch({.grid = grid, .block = block, .stream = stream});
    stream.synchronize();
    const auto in = x.to_host(), out = y.to_host();
    for (std::int64_t i = 0; i < n; ++i)
      right &= std::fabs(out[i] - 0.5 * layers * in[i]) <= 1e-5;
  }
  return right;
}

int main() {
  try {
    // These figures stand for an engine's own counters.
    std::atomic<int> loads{0};
    auto metering = fx::on_event(
        [&](const fx::EventInfo &event) { loads += event.kind == fx::EventInfo::Kind::loaded; });
    std::printf("device %s\n", fx::Device::current().str().c_str());
    const auto kernels = warmUp();
    std::atomic<int> wrong{0};
    std::vector<std::thread> workers;
    for (int id = 0; id < 4; ++id)
      workers.emplace_back([&, id] {
        try {
          wrong += !work(kernels, id, 4);
        } catch (const std::exception &error) {
          std::fprintf(stderr, "worker %d: %s\n", id, error.what());
          ++wrong;
        }
      });
    for (std::thread &worker : workers)
      worker.join();
    const fx::Stats stats = fx::stats();
    std::printf("traced %llu, compiled %llu, from disk %llu, loaded %d; %s\n",
                static_cast<unsigned long long>(stats.traces),
                static_cast<unsigned long long>(stats.compiles),
                static_cast<unsigned long long>(stats.disk_hits), loads.load(),
                wrong ? "FAIL" : "PASS");
    return wrong ? 1 : 0;
  } catch (const fx::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
