// C = A * B^T for one 64 x 64 tile with K = 8, in float, by 16 x 16 x 4 matrix instructions of four
// waves: MFMA on CDNA, WMMA on gfx1250. RDNA has no such instruction for floats.
//
// New here: an mma atom, a tiled mma, fragments, copies that hold what the fragments hold, a gemm.
#include "common/options.h"
#include "common/products.h"
#include "common/report.h"

#include <flydsl/flydsl.h>

#include <cstdio>

namespace fx = flydsl;
using fx::_;

constexpr int M = 64, N = 64, K = 8, waves = 4;

const fx::Kernel tiled_mma{
    "tiled_mma", [](fx::Tensor gA, fx::Tensor gB, fx::Tensor gC) {
      auto tid = fx::thread_idx().x;
      auto bid = fx::block_idx().x;

      auto A = fx::zipped_divide(fx::rocdl::make_buffer_tensor(gA), {M, K})(_, bid); // ((M, K))
      auto B = fx::zipped_divide(fx::rocdl::make_buffer_tensor(gB), {N, K})(_, bid); // ((N, K))
      auto C = fx::zipped_divide(fx::rocdl::make_buffer_tensor(gC), {M, N})(_, bid); // ((M, N))

      // Four waves as 2 x 2 atoms cover a tile of 32 x 32 x 4, which is repeated over M, N and K.
      auto mma_atom = fx::make_mma_atom(fx::rocdl::Mma(samples::shortestProduct(fx::f32)));
      auto mma = fx::make_tiled_mma(mma_atom, fx::make_layout({2, 2, 1}, {1, 2, 0}));
      auto thr = mma.thr_slice(tid);

      auto copy_atom = fx::make_copy_atom(fx::rocdl::BufferCopy32b(), fx::f32);
      auto copy_A = fx::make_tiled_copy_A(copy_atom, mma).get_slice(tid);
      auto copy_B = fx::make_tiled_copy_B(copy_atom, mma).get_slice(tid);
      auto copy_C = fx::make_tiled_copy_C(copy_atom, mma).get_slice(tid);

      auto rA = thr.make_fragment_A(A); // (V, m, k)
      auto rB = thr.make_fragment_B(B); // (V, n, k)
      auto rC = thr.make_fragment_C(C); // (V, m, n)

      fx::copy(copy_atom, copy_A.partition_S(A), copy_A.retile(rA));
      fx::copy(copy_atom, copy_B.partition_S(B), copy_B.retile(rB));
      rC.fill(0);
      fx::gemm(mma_atom, rC, rA, rB, rC);
      fx::copy(copy_atom, copy_C.retile(rC), copy_C.partition_D(C));
    }};

static int run(const samples::Options &) {
  if (fx::compile_only()) { // needs no device
    float *none = nullptr;
    auto compiled =
        tiled_mma(fx::tensor(none, {M, K}), fx::tensor(none, {N, K}), fx::tensor(none, {M, N}))
            .compile();
    std::printf("%s", compiled.summary().c_str());
    return 0;
  }

  samples::reportDevice();
  const int threads = waves * fx::Device::current().target().wave_size();
  fx::Stream stream;
  auto A = fx::DeviceArray<float>::random({M, K}, /*seed=*/1);
  auto B = fx::DeviceArray<float>::random({N, K}, /*seed=*/2);
  fx::DeviceArray<float> C({M, N});
  C.poison();
  auto compiled = tiled_mma(A, B, C).compile({.block = threads});
  samples::report(compiled);
  compiled(A, B, C).launch({.grid = 1, .block = threads, .stream = stream});
  stream.synchronize();

  const auto a = A.to_host(), b = B.to_host(), c = C.to_host();
  samples::Worst worst;
  for (std::size_t m = 0; m < M; ++m)
    for (std::size_t n = 0; n < N; ++n) {
      double sum = 0;
      for (std::size_t k = 0; k < K; ++k)
        sum += double(a[m * K + k]) * double(b[n * K + k]);
      worst.add(double(c[m * N + n]) - sum);
    }
  // K products and K sums are rounded once each; they are below K in magnitude.
  return samples::verdict("largest error", samples::dims(M, N, K), worst, 2 * K * K * 0x1p-24);
}

int main(int argc, char **argv) { return samples::main(argc, argv, {}, run); }
