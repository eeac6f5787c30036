// C = A + B for any M x N, in float: tiles of 128-bit copies, one per thread, masked at the border.
//
// New here: a kernel, a tiled copy, a launch. Options: --m rows (100), --n columns (1000).
#include "common/options.h"
#include "common/report.h"

#include <flydsl/flydsl.h>

#include <cstdio>

namespace fx = flydsl;
using fx::_;

const fx::Kernel vector_add{
    "vector_add", [](fx::Tensor A, fx::Tensor B, fx::Tensor C, fx::TiledCopy tiled_copy) {
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
      auto tA = thr.partition_S(gA); // (V, m, n)
      auto tB = thr.partition_S(gB); // (V, m, n)
      auto tC = thr.partition_D(gC); // (V, m, n)
      auto tcC =
          thr.partition_S(cC)(fx::make_coord(0, _), _, _); // (1, m, n): a coordinate per copy

      auto rA = fx::make_fragment_like(tA), rB = fx::make_fragment_like(tB),
           rC = fx::make_fragment_like(tC);                 // (V, m, n)
      auto pred = fx::make_fragment_like(tcC, fx::boolean); // (1, m, n)
      for (int i = 0; i < fx::size(pred).value(); ++i)      // a C++ loop unrolls
        pred(i) = fx::elem_less(tcC(i), shape);

      auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
      fx::copy(atom, tA, rA, {.pred = pred});
      fx::copy(atom, tB, rB, {.pred = pred});
      rC.store(rA.load() + rB.load());
      fx::copy(atom, rC, tC, {.pred = pred});
    }};

static int run(const samples::Options &options) {
  const std::int64_t M = options.get("m", 100), N = options.get("n", 1000);
  // Each row starts at a multiple of 128 bits, so that the last copy of a row stays inside its row.
  const std::int64_t ld = (N + 3) / 4 * 4;

  // 8 x 16 threads with 1 x 4 values each cover a tile of 8 x 64.
  auto tiled_copy = fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32),
                                           fx::make_ordered_layout({8, 16}, {1, 0}),
                                           fx::make_ordered_layout({1, 4}, {0, 1}));
  constexpr int threads = 128;
  const std::int64_t gm = (M + 7) / 8, gn = (N + 63) / 64;
  auto matrix = [&](float *data) {
    return fx::TensorArg(fx::tensor(data, {M, N}, {ld, 1}).mark_layout_dynamic(1, 4));
  };

  if (fx::compile_only()) { // needs no device
    auto none = matrix(nullptr);
    auto compiled = vector_add(none, none, none, tiled_copy).compile({.block = threads});
    std::printf("%s", compiled.summary().c_str());
    return 0;
  }

  samples::reportDevice(); // a GPU, or the emulator if there is none
  fx::Stream stream;
  auto A = fx::DeviceArray<float>::random({M, ld}, /*seed=*/1);
  auto B = fx::DeviceArray<float>::random({M, ld}, /*seed=*/2);
  fx::DeviceArray<float> C({M, ld});
  C.poison();

  auto compiled = vector_add(matrix(A.data()), matrix(B.data()), matrix(C.data()), tiled_copy)
                      .compile({.block = threads});
  samples::report(compiled);

  compiled(matrix(A.data()), matrix(B.data()), matrix(C.data()), tiled_copy)
      .launch({.grid = {gm, gn}, .block = threads, .stream = stream});
  stream.synchronize();

  const auto a = A.to_host(), b = B.to_host(), c = C.to_host();
  samples::Worst worst;
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t n = 0; n < N; ++n) {
      const std::size_t i = std::size_t(m * ld + n);
      worst.add(double(c[i]) - (double(a[i]) + double(b[i])));
    }
  // The only rounding is that of a sum below 2 in magnitude.
  return samples::verdict("largest error", samples::dims(M, N), worst, 0x1p-24);
}

int main(int argc, char **argv) { return samples::main(argc, argv, {"m", "n"}, run); }
