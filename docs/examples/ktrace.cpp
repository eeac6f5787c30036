// Examples of docs/ktrace.md.
#include "example.h"

#include <flydsl/kernel/ktrace.h>

#include <cstdio>
#include <filesystem>

namespace {

// region: kernel
/// Sums rows of X; every block tells when it loads, and when it adds.
const fx::Kernel row_sums{"row_sums", [](fx::Tensor X, fx::Tensor Y) {
  auto tid = fx::thread_idx().x;
  auto row = fx::block_idx().x;
  fx::ktrace::mark("begin", row);

  auto load = fx::ktrace::range_start("load"); // ends wherever its token says
  fx::Numeric first = X(row, tid), second = X(row, tid + 64);
  fx::ktrace::range_stop(load);

  fx::SharedAllocator shared;
  fx::ktrace::range("add", [&] { // pushed and popped: ranges of this kind nest
    auto sum = fx::gpu::block_reduce(first + second, fx::Reduction::add, shared);
    fx::if_(tid == 0, [&] { Y(row) = sum; });
  });
}, {.ktrace = true}};
// endregion

} // namespace

TEST_CASE("a kernel's timeline is captured and written") {
  const int rows = 4;
  fx::DeviceArray<float> X({rows, 128}), Y({rows});
  X.fill(0.5f);
  const std::string path =
      (std::filesystem::temp_directory_path() / "row_sums.ktrace.json").string();
  // region: capture
  fx::ktrace::Capture capture;
  row_sums(X, Y).launch({.grid = rows, .block = 64});

  for (const fx::ktrace::Launch &launch : capture.launches())
    for (const fx::ktrace::Event &event : launch.events)
      if (event.kind == fx::ktrace::Kind::range_stop) {
        const std::uint64_t ticks = event.ticks - launch.events[*event.start].ticks;
        std::printf("block %d: %s took %.2f us\n", int(event.block[0]), event.name.c_str(),
                    double(ticks) * launch.nanoseconds_per_tick / 1000);
      }
  capture.write(path);
  // endregion
  CHECK(Y.to_host() == std::vector<float>(rows, 64.0f));
  CHECK(capture.launches().at(0).events.size() >= rows * 5u);
  CHECK(std::filesystem::file_size(path) > 100);
  std::filesystem::remove(path);
}
