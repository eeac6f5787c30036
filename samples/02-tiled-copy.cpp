// B = A for a matrix of 8 x 24 tiles. Four threads move each tile; each of them has 1 x 8 values at
// a time.
//
// New here: a thread-value layout, tiles by zipped_divide, buffer copies with range check, layouts
// computed and printed on the host. Options: --rows tiles down (3), --columns tiles across (5).
#include "common/options.h"
#include "common/report.h"

#include <flydsl/flydsl.h>

#include <cstdio>

namespace fx = flydsl;
using fx::_;

constexpr int BM = 8, BN = 24, threads = 4;

const fx::Kernel tiled_copy{"tiled_copy", [](fx::Tensor gA, fx::Tensor gB, fx::TiledCopy copy) {
                              auto tid = fx::thread_idx().x;
                              auto bid = fx::block_idx().x;

                              auto A = fx::rocdl::make_buffer_tensor(gA);
                              auto B = fx::rocdl::make_buffer_tensor(gB);
                              auto bA = fx::zipped_divide(A, {BM, BN})(_, bid); // ((BM, BN))
                              auto bB = fx::zipped_divide(B, {BM, BN})(_, bid); // ((BM, BN))

                              auto thr = copy.get_slice(tid);
                              auto tA = thr.partition_S(bA);        // (V, m, n)
                              auto tB = thr.partition_D(bB);        // (V, m, n)
                              auto rA = fx::make_fragment_like(tA); // (V, m, n)

                              auto atom = fx::make_copy_atom(fx::rocdl::BufferCopy128b(), fx::f32);
                              fx::copy(atom, tA, rA);
                              fx::copy(atom, rA, tB);
                            }};

static int run(const samples::Options &options) {
  const std::int64_t rows = options.get("rows", 3), columns = options.get("columns", 5);
  const std::int64_t M = rows * BM, N = columns * BN;

  auto atom = fx::make_copy_atom(fx::rocdl::BufferCopy128b(), fx::f32);
  auto copy = fx::make_tiled_copy_tv(atom, fx::make_layout({threads, 1}, {1, 1}),
                                     fx::make_layout({1, 8}, {1, 1}));
  std::printf("tile        %s\n", copy.tile_mn().str().c_str());
  std::printf("layout      (thread, value) -> tile: %s\n", copy.layout_tv_tiled().str().c_str());

  if (fx::compile_only()) { // needs no device
    fx::TensorArg none = fx::tensor(static_cast<float *>(nullptr), {M, N});
    std::printf("%s", tiled_copy(none, none, copy).compile({.block = threads}).summary().c_str());
    return 0;
  }

  samples::reportDevice();
  fx::Stream stream;
  auto A = fx::DeviceArray<float>::random({M, N}, /*seed=*/1);
  fx::DeviceArray<float> B({M, N});
  B.poison();
  auto compiled = tiled_copy(A, B, copy).compile({.block = threads});
  samples::report(compiled);
  compiled(A, B, copy).launch({.grid = rows * columns, .block = threads, .stream = stream});
  stream.synchronize();

  const auto a = A.to_host(), b = B.to_host();
  samples::Worst worst;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst.add(double(b[i]) - double(a[i]));
  return samples::verdict("largest error", samples::dims(M, N), worst, 0);
}

int main(int argc, char **argv) { return samples::main(argc, argv, {"rows", "columns"}, run); }
