// C = A * B^T of halves, for any M, N and K, on gfx1250. Its tensor data mover brings the tiles into
// a ring of three stages of LDS, and stores the result from LDS.
//
// New here: moves of whole tiles, which leave out what is outside of the matrices and put a gap after
// each row in LDS; the waits that belong to them; WMMA on tiles with gaps; clusters of workgroups,
// whose tiles memory reads once for all that want them. Options: --m (100), --n (70), --k (150),
// --cluster-m (1), --cluster-n (1), workgroups of a cluster along both.
//
// Each wave issues one instruction for its part of a tile, computes no address and needs no register
// for what comes. A step waits until the two moves of its own stage have ended, by the count of those
// after them that may still be under way. After the barrier that holds for all waves, and all have
// read the stage before, so that the next tile may overwrite it.
#include "common/options.h"
#include "common/product_check.h"
#include "common/products.h"
#include "common/report.h"

#include <flydsl/flydsl.h>
#include <flydsl/rocdl/tensor_mover.h>

#include <cstdio>
#include <vector>

namespace fx = flydsl;
using fx::_;

constexpr int BM = 64, BN = 64, BK = 64, threads = 128, stages = 3; // 2 x 2 waves
/// Halves and floats after each row in LDS, 16 bytes, so that rows begin in different banks.
constexpr int gap = 8, gap_C = 4;

struct Config {
  int cluster_m = 1, cluster_n = 1; ///< workgroups of a cluster
  bool hasClusters() const { return cluster_m * cluster_n > 1; }
};

const fx::Kernel tdm_gemm{
    "tdm_gemm", [](fx::Tensor A, fx::Tensor B, fx::Tensor C, fx::Constexpr<Config> config) {
      fx::require(fx::target().has(fx::feature::tensor_mover),
                  "a target with a tensor data mover, which {} does not have, and gfx1250 has: set "
                  "FLYDSL_EMULATOR_ARCH=gfx1250",
                  fx::target().name());
      auto tid = fx::thread_idx().x;
      auto [bid_m, bid_n, unused] = fx::block_idx();
      fx::SharedAllocator shared;
      std::vector<fx::Tensor> sA, sB; // each stage is a variable of its own
      for (int s = 0; s < stages; ++s) {
        sA.push_back(shared.tensor(fx::f16, fx::make_layout({BM, BK}, {BK + gap, 1})));
        sB.push_back(shared.tensor(fx::f16, fx::make_layout({BN, BK}, {BK + gap, 1})));
      }
      auto sC = shared.tensor(fx::f32, fx::make_layout({BM, BN}, {BN + gap_C, 1}));

      // region: cluster
      // Workgroups of a cluster, as bits, that want the same tile of A or of B.
      fx::rocdl::TensorMoveOptions same_m, same_n;
      if (config->hasClusters()) {
        const int CM = config->cluster_m;
        auto [m, n, none] = fx::rocdl::cluster_workgroup_id(); // counted along m first
        std::int32_t row = 0;
        for (int k = 0; k < config->cluster_n; ++k)
          row |= 1 << (k * CM);
        same_m.workgroups.emplace(fx::Int32(row) << m);
        same_n.workgroups.emplace(fx::Int32((1 << CM) - 1) << (n * CM));
      }
      // endregion
      // region: fill
      auto fill = [&](int stage, const fx::Int32 &step) {
        fx::rocdl::tensor_load_to_lds(A, {bid_m, step}, sA[std::size_t(stage)], same_m);
        fx::rocdl::tensor_load_to_lds(B, {bid_n, step}, sB[std::size_t(stage)], same_n);
      };
      // endregion
      auto mma_atom = fx::make_mma_atom(fx::rocdl::Mma(samples::shortestProduct(fx::f16)));
      auto mma = fx::make_tiled_mma(mma_atom, fx::make_layout({2, 2, 1}, {1, 2, 0}));
      auto thr = mma.thr_slice(tid);
      auto read = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f16);
      auto read_A = fx::make_tiled_copy_A(read, mma).get_slice(tid);
      auto read_B = fx::make_tiled_copy_B(read, mma).get_slice(tid);
      auto rA = thr.make_fragment_A(sA[0]); // (V, m, k)
      auto rB = thr.make_fragment_B(sB[0]); // (V, n, k)
      auto rC = thr.make_fragment_C(sC);    // (V, m, n)
      rC.fill(0);

      // region: loop
      for (int s = 0; s < stages - 1; ++s)
        fill(s, fx::Int32(s));
      auto steps = fx::ceildiv(fx::Int32(A.shape()[1]), BK);
      for (fx::Int32 first : fx::range(0, steps, stages))
        for (int s = 0; s < stages; ++s) {               // tiles after the last one are zeros
          fx::rocdl::s_wait_tensorcnt(2 * (stages - 2)); // this stage's two moves have ended
          if (s == 0 && config->hasClusters())
            fx::rocdl::cluster_barrier(); // so that all ask for a tile at about the same time
          else
            fx::gpu::barrier();
          fill((s + stages - 1) % stages, first + (s + stages - 1));
          fx::copy(read, read_A.partition_S(sA[std::size_t(s)]), read_A.retile(rA));
          fx::copy(read, read_B.partition_S(sB[std::size_t(s)]), read_B.retile(rB));
          fx::gemm(mma, rC, rA, rB, rC);
        }
      // endregion

      // region: store
      auto write = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
      auto write_C = fx::make_tiled_copy_C(write, mma).get_slice(tid);
      fx::copy(write, write_C.retile(rC), write_C.partition_D(sC));
      fx::gpu::barrier(); // all of the tile is in LDS
      fx::rocdl::tensor_store_from_lds(sC, C, {bid_m, bid_n});
      fx::rocdl::s_wait_tensorcnt(0); // the block keeps its LDS until its moves have ended
      // endregion
    }};

static int run(const samples::Options &options) {
  const std::int64_t M = options.get("m", 100), N = options.get("n", 70), K = options.get("k", 150);
  const Config config{int(options.get("cluster-m", 1)), int(options.get("cluster-n", 1))};
  auto matrix = [](auto *data, std::int64_t rows, std::int64_t columns) {
    return fx::TensorArg(fx::tensor(data, {rows, columns}).mark_layout_dynamic(1));
  };
  if (fx::compile_only()) { // needs no device
    fx::half_t *none = nullptr;
    float *nowhere = nullptr;
    auto compiled = tdm_gemm(matrix(none, M, K), matrix(none, N, K), matrix(nowhere, M, N), config)
                        .compile({.block = threads});
    std::printf("%s", compiled.summary().c_str());
    return 0;
  }

  samples::reportDevice();
  fx::Stream stream;
  auto A = fx::DeviceArray<fx::half_t>::random({M, K}, /*seed=*/1);
  auto B = fx::DeviceArray<fx::half_t>::random({N, K}, /*seed=*/2);
  fx::DeviceArray<float> C({M, N});
  C.poison();
  // The grid is whole clusters. Workgroups beyond the matrix find zeros, and store nothing.
  auto whole = [](std::int64_t n, std::int64_t of) { return (n + of - 1) / of; };
  const fx::TensorArg a_arg = matrix(A.data(), M, K), b_arg = matrix(B.data(), N, K),
                      c_arg = matrix(C.data(), M, N);
  auto compiled = tdm_gemm(a_arg, b_arg, c_arg, config).compile({.block = threads});
  samples::report(compiled);
  std::printf("LDS         %zu bytes\n", compiled.shared_bytes());
  compiled(a_arg, b_arg, c_arg, config)
      .launch({.grid = {whole(M, BM * config.cluster_m) * config.cluster_m,
                        whole(N, BN * config.cluster_n) * config.cluster_n},
               .block = threads,
               .stream = stream,
               .cluster = {config.cluster_m, config.cluster_n}});
  stream.synchronize();

  // As in sample 08: products of halves are exact, and what an instruction sums is rounded at most
  // log2(32) + 1 times; K / 32 instructions follow each other.
  const double roundings = double((K + 31) / 32) + 5 + 1;
  const auto a = A.to_host(), b = B.to_host();
  const auto c = C.to_host();
  const samples::Worst worst = samples::errorOfProduct<fx::half_t>(
      {.a = a, .b = b, .c = c, .m = M, .n = N, .k = K, .pitch = K}, roundings);
  return samples::verdict("largest error, of what rounding allows,", samples::dims(M, N, K), worst,
                          1);
}

int main(int argc, char **argv) {
  return samples::main(argc, argv, {"m", "n", "k", "cluster-m", "cluster-n"}, run);
}
