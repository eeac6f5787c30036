// C = A * B^T for one 64 x 64 tile per block and a long K, whose parts several blocks multiply at
// the same time. The block that comes last to a tile adds the parts, always in the same order, so
// that the result does not depend on which block that is.
//
// New here: the order of memory accesses. A part is written, the barrier gathers the block, and one
// thread counts the block by an atomic that releases what the block has written and acquires what
// the blocks before it have; a configuration as one parameter. Options: --m (128), --n (64), --k
// (512), --splits (4).
#include "common/options.h"
#include "common/products.h"
#include "common/report.h"

#include <flydsl/flydsl.h>

#include <cstdio>
#include <stdexcept>

namespace fx = flydsl;
using fx::_;

struct Config {
  int tile_m = 64, tile_n = 64, tile_k = 8;
  int splits = 4;
  int steps = 16; // tiles of K for each of the splits
};
constexpr int waves = 4;

const fx::Kernel split_k{
    "split_k", [](fx::Tensor gA, fx::Tensor gB, fx::Tensor gC, fx::Tensor gParts,
                  fx::Tensor gArrived, fx::Constexpr<Config> config) {
      const int BM = config->tile_m, BN = config->tile_n, BK = config->tile_k;
      auto tid = fx::thread_idx().x;
      auto [tile_m, tile_n, split] = fx::block_idx();

      auto A = fx::flat_divide(gA, {BM, BK})(_, _, tile_m, _);                 // (BM, BK, k)
      auto B = fx::flat_divide(gB, {BN, BK})(_, _, tile_n, _);                 // (BN, BK, k)
      auto C = fx::flat_divide(gC, {BM, BN})(_, _, tile_m, tile_n);            // (BM, BN)
      auto parts = fx::flat_divide(gParts, {BM, BN})(_, _, tile_m, tile_n, _); // (BM, BN, splits)

      auto mma_atom = fx::make_mma_atom(fx::rocdl::Mma(samples::shortestProduct(fx::f32)));
      auto mma = fx::make_tiled_mma(mma_atom, fx::make_layout({2, 2, 1}, {1, 2, 0}));
      auto thr = mma.thr_slice(tid);
      auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
      auto copy_A = fx::make_tiled_copy_A(atom, mma).get_slice(tid);
      auto copy_B = fx::make_tiled_copy_B(atom, mma).get_slice(tid);
      auto copy_C = fx::make_tiled_copy_C(atom, mma).get_slice(tid);

      auto rA = thr.make_fragment_A(A(_, _, 0)); // (V, m, k)
      auto rB = thr.make_fragment_B(B(_, _, 0)); // (V, n, k)
      auto rC = thr.make_fragment_C(C);          // (V, m, n)
      rC.fill(0);
      for (fx::Int32 step : fx::range(config->steps)) {
        auto k = split * config->steps + step;
        fx::copy(atom, copy_A.partition_S(A(_, _, k)), copy_A.retile(rA));
        fx::copy(atom, copy_B.partition_S(B(_, _, k)), copy_B.retile(rB));
        fx::gemm(mma_atom, rC, rA, rB, rC);
      }
      // region: count
      fx::copy(atom, copy_C.retile(rC), copy_C.partition_D(parts(_, _, split)));

      struct Storage {
        fx::Array<fx::Int32, 1> is_last;
      };
      auto shared = fx::SharedAllocator().allocate<Storage>();
      auto is_last = shared.is_last.view(fx::make_layout(1, 1)); // (1)
      fx::gpu::barrier(); // the whole block has written its part
      fx::if_(tid == 0, [&] {
        auto arrived = gArrived.iter() + (tile_m * fx::grid_dim().y + tile_n);
        auto before = fx::atomic(fx::AtomicOp::add, arrived, 1, fx::MemoryOrder::acq_rel,
                                 fx::MemoryScope::agent);
        is_last(0) = fx::select(before == config->splits - 1, 1, 0);
      });
      fx::gpu::barrier(); // what one thread acquired, the block sees
      // endregion

      // region: last
      fx::if_(is_last(0) != 0, [&] {
        auto rPart = thr.make_fragment_C(C); // (V, m, n)
        rC.fill(0);
        for (int s = 0; s < config->splits; ++s) {
          fx::copy(atom, copy_C.partition_S(parts(_, _, s)), copy_C.retile(rPart));
          rC.store(rC.load() + rPart.load());
        }
        fx::copy(atom, copy_C.retile(rC), copy_C.partition_D(C));
      });
      // endregion
    }};

static int run(const samples::Options &options) {
  Config config;
  config.splits = static_cast<int>(options.get("splits", 4));
  const std::int64_t M = options.get("m", 128), N = options.get("n", 64), K = options.get("k", 512);
  if (config.splits < 1 || M % config.tile_m || N % config.tile_n ||
      K % (config.tile_k * config.splits))
    throw std::invalid_argument("--m and --n are multiples of 64, --k is one of 8 times --splits");
  config.steps = static_cast<int>(K / config.tile_k / config.splits);

  if (fx::compile_only()) { // needs no device
    float *none = nullptr;
    int *nobody = nullptr;
    auto compiled =
        split_k(fx::tensor(none, {M, K}), fx::tensor(none, {N, K}), fx::tensor(none, {M, N}),
                fx::tensor(none, {M, N, config.splits}), fx::tensor(nobody, {1}), config)
            .compile();
    std::printf("%s", compiled.summary().c_str());
    return 0;
  }

  samples::reportDevice();
  const int threads = waves * fx::Device::current().target().wave_size();
  fx::Stream stream;
  auto A = fx::DeviceArray<float>::random({M, K}, /*seed=*/1);
  auto B = fx::DeviceArray<float>::random({N, K}, /*seed=*/2);
  fx::DeviceArray<float> C({M, N}), parts({M, N, config.splits});
  const std::int64_t gm = M / config.tile_m, gn = N / config.tile_n;
  fx::DeviceArray<int> arrived({gm * gn});
  C.poison();
  parts.poison();
  arrived.fill(0);
  auto compiled = split_k(A, B, C, parts, arrived, config).compile({.block = threads});
  samples::report(compiled);
  compiled(A, B, C, parts, arrived, config)
      .launch({.grid = {gm, gn, config.splits}, .block = threads, .stream = stream});
  stream.synchronize();

  const auto a = A.to_host(), b = B.to_host(), c = C.to_host();
  samples::Worst worst;
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t n = 0; n < N; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < K; ++k)
        sum += double(a[std::size_t(m * K + k)]) * double(b[std::size_t(n * K + k)]);
      worst.add(double(c[std::size_t(m * N + n)]) - sum);
    }
  // K products and K sums are rounded once each; they are below K in magnitude.
  return samples::verdict("largest error", samples::dims(M, N, K), worst,
                          2 * double(K) * double(K) * 0x1p-24);
}

int main(int argc, char **argv) {
  return samples::main(argc, argv, {"m", "n", "k", "splits"}, run);
}
