// What a process keeps of kernels that it makes, compiles and lets go, as a loop that tunes does:
// allocated bytes, gaps of the heap and resident memory over the number of kernels.
//
//   FLYDSL_RUNTIME_ENABLE_CACHE=0 bench_memory small|gemm [kernels] [threads]
#include <flydsl/flydsl.h>

// Sample 04 is a single file. This program uses its kernel and its plan, but not its main function.
#define main sample_main
#include "04-preshuffle-gemm.cpp"
#undef main

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <malloc.h>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

/// A tile of its own for each number, so that no type of the trace was there before.
void compileSmall(int number) {
  const fx::Kernel kernel{"tuned_" + std::to_string(number),
                          [number](fx::Tensor x, fx::Tensor y, fx::Float32 scale) {
                            auto tile = fx::make_tile(4 + number % 61, 64 + number);
                            auto gx = fx::flat_divide(x, tile)(fx::_, fx::_, fx::block_idx().x, 0);
                            auto gy = fx::flat_divide(y, tile)(fx::_, fx::_, fx::block_idx().x, 0);
                            auto i = fx::thread_idx().x;
                            for (int k = 0; k < 4; ++k)
                              gy(k, i) = gx(k, i) * scale + float(number);
                          }};
  const auto any = fx::tensor(static_cast<float *>(nullptr), {512, 8192});
  (void)kernel(any, any, 1.0f).compile({.block = 64, .arch = "gfx942"});
}

/// Sample 04's kernel for another K, which is a constant of the kernel.
void compileGemm(int number) {
  const fx::Kernel kernel{"tuned_gemm_" + std::to_string(number), &body};
  constexpr int size = 8192;
  const int depth = 128 * (1 + number);
  const auto any = [](int rows, int columns) {
    return fx::tensor(static_cast<void *>(nullptr), fx::f16, {rows, columns});
  };
  (void)kernel(any(size, depth), any(size, depth), any(size, size), layoutOfB(size, depth), depth)
      .compile({.block = ::threads, .arch = "gfx942"});
}

double megabytes(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::size_t allocated() {
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

/// What the heap holds between and after the blocks that are allocated.
std::size_t heapGaps() { return mallinfo2().fordblks; }

std::size_t resident() {
  std::size_t pages = 0, inMemory = 0;
  std::ifstream("/proc/self/statm") >> pages >> inMemory;
  return inMemory * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

int main(int argc, char **argv) {
  const std::string_view which = argc > 1 ? argv[1] : "small";
  if (which != "small" && which != "gemm") {
    std::fprintf(stderr, "usage: bench_memory small|gemm [kernels] [threads]\n");
    return 1;
  }
  void (*const compileOne)(int) = which == "small" ? compileSmall : compileGemm;
  const int kernels = argc > 2 ? std::atoi(argv[2]) : 3000;
  const int threads = argc > 3 ? std::atoi(argv[3]) : 1;
  constexpr int kRows = 12;
  std::printf("%10s %14s %14s %14s\n", "kernels", "allocated MB", "gaps MB", "resident MB");
  int done = 0;
  for (int row = 0; row <= kRows; ++row) {
    const int until = kernels * row / kRows;
    std::vector<std::jthread> workers;
    for (int thread = 0; thread < threads; ++thread)
      workers.emplace_back([=] {
        for (int number = done + thread; number < until; number += threads)
          compileOne(number);
      });
    workers.clear();
    done = until;
    std::printf("%10d %14.1f %14.1f %14.1f\n", done, megabytes(allocated()), megabytes(heapGaps()),
                megabytes(resident()));
    std::fflush(stdout);
  }
}
