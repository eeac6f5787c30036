// C = A * B^T in half precision, whose tiles go from global memory straight into LDS, for any M, N
// and K that tiles of 128 x 128 x 64 divide. Three stages of LDS form a ring: while a step's tile
// is multiplied, the tiles of the next two are under way.
//
// New here: loads into LDS that bypass the registers (gfx950), the waits that belong to them, and a
// kernel that chooses by the target's features. Elsewhere tiles go through registers, into as many
// stages as the target's LDS has room for. Options: --m (128), --n (128), --k (320).
//
// A step waits until its own tile has landed, by the count of the loads after it that may still be
// under way, and until its reads of the tile before are done. After the barrier that holds of all
// waves, so that the loads of a later tile may overwrite the tile before.
#include "common/options.h"
#include "common/report.h"

#include <flydsl/flydsl.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace fx = flydsl;
using fx::_;

constexpr int BM = 128, BN = 128, BK = 64, threads = 256;
/// Neighbours in K that one lane loads at once: 16 bytes.
constexpr int chunk = 8;

/// A tile in LDS. The chunks of a row are in an order of the row's own, so that the lanes that read
/// a column of chunks find them in different banks. The swizzle stands in the layout by which the
/// tile is read. Loads into LDS write lane after lane, so they take their chunks from global memory
/// in that order.
struct Tile {
  fx::Tensor swizzled; ///< (rows, BK)
  fx::Tensor chunks;   ///< (chunk, rows * BK / chunk), as the bytes lie

  Tile(fx::SharedAllocator &shared, int rows)
      : swizzled(shared.tensor(
            fx::f16, fx::make_composed_layout(fx::Swizzle(3, 3, 3),
                                              fx::make_ordered_layout({rows, BK}, {1, 0})))),
        chunks(fx::make_view(swizzled.iter(), fx::make_layout({chunk, rows * BK / chunk}))) {}
};

const fx::Kernel ring_gemm{
    "ring_gemm", [](fx::Tensor A, fx::Tensor B, fx::Tensor C, fx::Constexpr<int> K) {
      const fx::Target target = fx::target();
      fx::require(target.has(fx::feature::mfma),
                  "a target with MFMA, which {} does not have, and gfx942 has", target.name());
      const bool direct = target.has(fx::feature::buffer_to_lds_wide);
      const int stage_bytes = (BM + BN) * BK * fx::f16.bytes(), steps = K / BK,
                stages = std::min(3, static_cast<int>(target.lds_bytes()) / stage_bytes);

      auto tid = fx::thread_idx().x;
      auto [bid_m, bid_n, bid_z] = fx::block_idx();
      fx::rocdl::BufferOptions exact{.max_size = false};
      auto bA = fx::rocdl::make_buffer_tensor(A, exact);          // (M, K)
      auto bB = fx::rocdl::make_buffer_tensor(B, exact);          // (N, K)
      auto gA = fx::flat_divide(bA, {BM, BK})(_, _, bid_m, _);    // (BM, BK, k)
      auto gB = fx::flat_divide(bB, {BN, BK})(_, _, bid_n, _);    // (BN, BK, k)
      auto gC = fx::flat_divide(C, {BM, BN})(_, _, bid_m, bid_n); // (BM, BN)

      fx::SharedAllocator shared;
      std::vector<Tile> sA, sB; // each tile of each stage is a variable of its own
      for (int s = 0; s < stages; ++s) {
        sA.emplace_back(shared, BM);
        sB.emplace_back(shared, BN);
      }

      // Each load moves a chunk for each thread.
      auto load_128b = fx::make_copy_atom(fx::rocdl::BufferCopy128b(), fx::f16);
      auto store_128b = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f16);
      auto fetch = [&](const fx::Tensor &tile, int rows, const Tile &to) {
        constexpr int of_row = BK / chunk;
        auto from = fx::flat_divide(tile, {1, chunk})(0, _, _, _); // (chunk, rows, BK / chunk)
        for (int first = 0; first < rows * of_row; first += threads) {
          auto place = first + tid, row = place / of_row, column = place % of_row ^ row % of_row;
          auto source = from(_, row, column), destination = to.chunks(_, place); // (chunk)
          if (direct) {
            fx::copy(fx::make_copy_atom(fx::rocdl::BufferLoadAsyncLDS(128), fx::f16), source,
                     destination);
            continue;
          }
          auto registers = fx::make_fragment_like(source); // (chunk)
          fx::copy(load_128b, source, registers);
          fx::copy(store_128b, registers, destination);
        }
      };
      constexpr int loads = (BM + BN) * BK / chunk / threads; // of a stage, by one thread
      auto fill = [&](int stage, const fx::Int32 &step) {
        fetch(gA(_, _, step), BM, sA[std::size_t(stage)]);
        fetch(gB(_, _, step), BN, sB[std::size_t(stage)]);
      };

      // gfx950 multiplies twice as many elements of K at once.
      const int k = direct ? 32 : 16;
      auto mma_atom = fx::make_mma_atom(fx::rocdl::MFMA(16, 16, k, fx::f16));
      auto mma = fx::make_tiled_mma(mma_atom, fx::make_layout({2, 2, 1}, {1, 2, 0}));
      auto thr = mma.thr_slice(tid);
      auto read = fx::make_copy_atom(fx::UniversalCopy(k * 4), fx::f16);
      auto read_A = fx::make_tiled_copy_A(read, mma).get_slice(tid);
      auto read_B = fx::make_tiled_copy_B(read, mma).get_slice(tid);
      auto rA = thr.make_fragment_A(sA[0].swizzled); // (V, m, k)
      auto rB = thr.make_fragment_B(sB[0].swizzled); // (V, n, k)
      auto rC = thr.make_fragment_C(gC);             // (V, m, n)
      rC.fill(0);

      // A step with the tile of `stage`. `waiting` is the number of stages whose loads may be under
      // way when it begins, its own among them.
      auto step = [&](int stage, int waiting, const fx::Int32 &number, bool fills) {
        fx::rocdl::WaitCounts done{.lgkmcnt = 0};
        if (direct)
          done.vmcnt = loads * (waiting - 1);
        fx::rocdl::s_waitcnt(done);
        fx::rocdl::s_barrier();
        if (fills)
          fill((stage + stages - 1) % stages, number + (stages - 1));
        const Tile &a = sA[std::size_t(stage)], &b = sB[std::size_t(stage)];
        fx::copy(read, read_A.partition_S(a.swizzled), read_A.retile(rA));
        fx::copy(read, read_B.partition_S(b.swizzled), read_B.retile(rB));
        fx::gemm(mma_atom, rC, rA, rB, rC);
      };
      for (int s = 0; s < std::min(stages - 1, steps); ++s)
        fill(s, fx::Int32(s));
      // The loop's body is as long as the ring, so that each step knows its stage.
      const int rolled = std::max(0, steps - (stages - 1)) / stages * stages;
      for (fx::Int32 first : fx::range(0, rolled, stages))
        for (int s = 0; s < stages; ++s)
          step(s, stages - 1, first + s, true);
      for (int n = rolled; n < steps; ++n)
        step(n % stages, std::min(stages - 1, steps - n), fx::Int32(n), n + stages - 1 < steps);

      auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
      auto write_C = fx::make_tiled_copy_C(atom, mma).get_slice(tid);
      fx::copy(atom, write_C.retile(rC), write_C.partition_D(gC));
    }};

static int run(const samples::Options &options) {
  const std::int64_t M = options.get("m", 128), N = options.get("n", 128),
                     K = options.get("k", 320);
  if (M % BM || N % BN || K % BK || K < BK)
    throw std::invalid_argument("--m and --n are multiples of 128, --k is one of 64");

  if (fx::compile_only()) { // needs no device
    fx::half_t *none = nullptr;
    float *nowhere = nullptr;
    auto compiled = ring_gemm(fx::tensor(none, {M, K}), fx::tensor(none, {N, K}),
                              fx::tensor(nowhere, {M, N}), int(K))
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
  auto compiled = ring_gemm(A, B, C, int(K)).compile({.block = threads});
  samples::report(compiled);
  std::printf("LDS         %zu bytes\n", compiled.shared_bytes());
  compiled(A, B, C, int(K)).launch({.grid = {M / BM, N / BN}, .block = threads, .stream = stream});
  stream.synchronize();

  const auto a = A.to_host(), b = B.to_host();
  const auto c = C.to_host();
  samples::Worst worst;
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t n = 0; n < N; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < K; ++k)
        sum += double(float(a[std::size_t(m * K + k)])) * double(float(b[std::size_t(n * K + k)]));
      worst.add(double(c[std::size_t(m * N + n)]) - sum);
    }
  // Products of halves are exact; of the K sums, which are below K in magnitude, each is cut off
  // in the last place of a float at worst.
  return samples::verdict("largest error", samples::dims(M, N, K), worst,
                          double(K) * double(K) * 0x1p-23);
}

int main(int argc, char **argv) { return samples::main(argc, argv, {"m", "n", "k"}, run); }
