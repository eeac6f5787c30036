// Programs that compile and launch during exit(). An operation that is impossible then is an error;
// none crashes.
//   exits MODE [MILLISECONDS]
#include "scale.h"

#include <flydsl/host/compile_async.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace fx = flydsl;

namespace {

/// Compiles and says how it went; nothing but an error of the library may come.
void tryToCompile(const char *name) {
  try {
    auto none = fx::tensor(static_cast<float *>(nullptr), {axpyBlock});
    makeAxpy(name)(none, none, 0.0f).compile({.block = axpyBlock, .arch = "gfx942"});
    std::puts("compiled");
  } catch (const fx::Error &error) {
    std::printf("error: %s\n", error.what());
  }
  std::fflush(stdout);
}

struct CompilesAtTheEnd {
  const char *name = nullptr;
  ~CompilesAtTheEnd() {
    if (name)
      tryToCompile(name);
  }
};
CompilesAtTheEnd atTheEnd; // made before anything is compiled

const auto globalKernel = makeAxpy("axpy_global");

/// Launches until the process is gone.
void launchForEver(std::atomic<int> &launches) {
  try {
    const std::vector<float> ones(64, 1.0f);
    auto x = onDevice(ones), y = onDevice(ones);
    fx::Stream stream;
    for (;;) {
      globalKernel(x, y, 1.0f).launch({.grid = 1, .block = axpyBlock, .stream = stream});
      stream.synchronize();
      ++launches;
    }
  } catch (const fx::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    for (;;)
      std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

} // namespace

int main(int, char **argv) {
  const std::string mode = argv[1];
  if (mode == "threads") { // that compile, and are given no end
    for (int thread = 0; thread < 6; ++thread)
      std::thread([thread] {
        auto none = fx::tensor(static_cast<float *>(nullptr), {axpyBlock});
        for (int i = 0;; ++i)
          try {
            const std::string name = "k" + std::to_string(thread) + "_" + std::to_string(i);
            makeAxpy(name.c_str())(none, none, 0.0f).compile({.block = axpyBlock, .arch = "gfx942"});
          } catch (const fx::Error &) {
          }
      }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argv[2])));
    std::exit(7);
  }
  if (mode == "atexit-before") { // registered before the first compile: runs after LLVM's statics
    std::atexit([] { tryToCompile("late"); });
    tryToCompile("first");
  } else if (mode == "atexit-after") {
    tryToCompile("first");
    std::atexit([] { tryToCompile("late"); });
  } else if (mode == "atexit-between") {
    tryToCompile("first");
    std::atexit([] { tryToCompile("late"); });
    tryToCompile("second");
  } else if (mode == "static") {
    tryToCompile("first");
    atTheEnd.name = "late";
  } else if (mode == "static-alone") {
    atTheEnd.name = "first";
  } else if (mode == "background") { // compiles are under way
    static std::vector<std::future<fx::Executable>> futures;
    for (int i = 0; i < 16; ++i)
      futures.push_back(fx::compile_async([i]() -> fx::Executable {
        auto none = fx::tensor(static_cast<float *>(nullptr), {axpyBlock});
        return makeAxpy(("k" + std::to_string(i)).c_str())(none, none, 0.0f)
            .compile({.block = axpyBlock, .arch = "gfx942"});
      }));
    futures[0].get();
    std::puts("compiled");
  } else if (mode == "made-meanwhile") { // as a shared LLVM's statics are, in a first compile
    static std::atomic<bool> registered{false}, traced{false};
    std::thread([] {
      try {
        auto none = fx::tensor(static_cast<float *>(nullptr), {axpyBlock});
        fx::Kernel{"meanwhile",
                   [](fx::Tensor x) {
                     std::atexit([] { std::puts(traced ? "after the compile" : "in the middle"); });
                     registered = true;
                     std::this_thread::sleep_for(std::chrono::milliseconds(300));
                     x(fx::thread_idx().x) = 1.0f;
                     traced = true;
                   }}(none)
            .compile({.block = axpyBlock, .arch = "gfx942"});
      } catch (const fx::Error &) { // the process exits
      }
    }).detach();
    while (!registered)
      std::this_thread::yield();
  } else if (mode == "launch") {
    static std::atomic<int> launches{0};
    for (int i = 0; i < 3; ++i)
      std::thread([] { launchForEver(launches); }).detach();
    while (launches < 20)
      std::this_thread::yield();
    std::puts("compiled");
  } else {
    return 2;
  }
  std::exit(0);
}
