// C = A * B^T in half precision with B preshuffled, for any M, N and K that tiles of 128 x 128 x 64
// divide. A goes through LDS with an XOR swizzle and two stages, B straight into registers. The
// products are MFMA on CDNA and WMMA on gfx1250.
//
// New here: a pipeline over k with a runtime loop, LDS, swizzles, a permuted tiled mma, scheduler
// hints. Options: --m (256), --n (256), --k (256).
//
// The pipeline has steps of 64 in k. It fetches the tile of B one step ahead and the tile of A two
// steps ahead; the latter spends the second step in registers until its place in LDS is free. The
// fragments of A of a step are read from LDS in two halves, each during the multiplications of the
// half before it, so that nothing waits for LDS. The barrier between the halves has multiplications
// on both sides.
//
// The product is computed as C^T = B * A^T. The four values of a lane are then neighbours in a row
// of C and are stored together.
#include "common/options.h"
#include "common/products.h"
#include "common/report.h"

#include <flydsl/flydsl.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace fx = flydsl;
using fx::_;

constexpr int BM = 128, BN = 128, BK = 64, stages = 2, threads = 256;

/// The tiles that a step of the pipeline still has to fetch.
struct Ahead {
  bool a, b;
};

/// Tells the scheduler the desired order of a step's instructions: the memory operations are spread
/// evenly between the multiplications. A half has 32 multiplications of MFMA.
static void schedule(Ahead ahead) {
  using namespace fx::rocdl;
  for (int i = 0; i < 8; ++i) { // the first half, with the fragments of A for the second half
    sched_dsrd(1);
    sched_mfma(2);
    if (ahead.b && i % 2 == 0)
      sched_vmem(1);
    sched_mfma(2);
  }
  if (ahead.b) { // the second half, with the next step's A and its first fragments
    for (int i = 0; i < 4; ++i) {
      sched_dswr(1);
      sched_mfma(2);
      if (ahead.a)
        sched_vmem(1);
      sched_mfma(1);
    }
    for (int i = 0; i < 8; ++i) {
      sched_dsrd(1);
      sched_mfma(2);
    }
    sched_mfma(4);
  }
  sched_barrier(0);
}

/// How the threads of a block share the work, by the target's waves and matrix instruction.
struct Partition {
  fx::TiledMma mma;
  fx::TiledCopy g2s; ///< copies A to LDS
  bool mfma;         ///< fragments have modes (2, halves) in k; one instruction of WMMA is a half
};

static Partition partition() {
  const fx::Target target = fx::target();
  const bool mfma = target.has(fx::feature::mfma);
  const fx::rocdl::MatrixProduct product = samples::shortestProduct(fx::f16);
  fx::require(mfma || product.k == 32,
              "this product is for targets with MFMA, or with WMMA of 32 halves, such as gfx1250; "
              "sample 08 is for {}",
              target.name());
  // Four waves, or eight of 32 lanes, lie along N first. Of 32 elements in k, a lane takes eight
  // neighbours at a time, which one load brings. MFMA uses them in two multiplications.
  auto waves = mfma ? fx::make_layout({4, 1, 1}, {1, 0, 0}) : fx::make_layout({4, 2, 1}, {1, 4, 0});
  auto half = mfma ? fx::make_layout({4, 4, 2}, {1, 8, 4}) : fx::make_layout(32, 1);
  return {fx::make_tiled_mma(fx::make_mma_atom(fx::rocdl::Mma(product)), waves,
                             fx::make_tile(_, _, half)),
          fx::make_tiled_copy(fx::make_copy_atom(fx::UniversalCopy128b(), fx::f16),
                              fx::make_layout({{8, 32}, {1, 8}}, {{256, 1}, {1, 32}}),
                              fx::make_tile(32, BK)),
          mfma};
}

static void body(fx::Tensor A, fx::Tensor B, fx::Tensor C, fx::Layout layout_B,
                 fx::Constexpr<int> K) {
  const auto [mma, g2s, mfma] = partition();
  auto tid = fx::thread_idx().x;
  auto [bid_m, bid_n, bid_z] = fx::block_idx();

  fx::rocdl::BufferOptions exact{.max_size = false};
  auto bA = fx::rocdl::make_buffer_tensor(A, exact);                                 // (M, K)
  auto bB = fx::rocdl::make_buffer_tensor(fx::make_view(B.iter(), layout_B), exact); // (N, K)
  auto transposed = fx::select(C.layout(), {1, 0});
  auto bC = fx::rocdl::make_buffer_tensor(fx::make_view(C.iter(), transposed), exact); // (N, M)
  auto gA = fx::flat_divide(bA, {BM, BK})(_, _, bid_m, _);     // (BM, BK, k)
  auto gB = fx::flat_divide(bB, {BN, BK})(_, _, bid_n, _);     // (BN, BK, k)
  auto gC = fx::flat_divide(bC, {BN, BM})(_, _, bid_n, bid_m); // (BN, BM)
  auto sA =
      fx::make_view(fx::get_dyn_shared(fx::f16),
                    fx::make_composed_layout(fx::Swizzle(3, 3, 3),
                                             fx::make_ordered_layout({BM, BK, stages}, {1, 0, 2})));
  // (BM, BK, stages)

  auto lds_128b = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f16);
  auto buffer_128b = fx::make_copy_atom(fx::rocdl::BufferCopy128b(), fx::f16);
  auto buffer_64b = fx::make_copy_atom(fx::rocdl::BufferCopy64b(), fx::f16);
  auto thr = mma.thr_slice(tid);
  auto thr_g2s = g2s.get_slice(tid);
  auto thr_s2r = fx::make_tiled_copy_B(lds_128b, mma).get_slice(tid);
  auto thr_g2r = fx::make_tiled_copy_A(buffer_128b, mma).get_slice(tid);
  auto thr_r2g = fx::make_tiled_copy_C(buffer_64b, mma).get_slice(tid);

  auto fetch_A = thr_g2s.partition_S(gA)(_, _, _, 0); // (V, m, k), of step 0
  auto fetch_B = thr_g2r.partition_S(gB)(_, _, _, 0); // (V, n, k), of step 0
  auto write_A = thr_g2s.partition_D(sA);             // (V, m, k, stages)
  auto read_A = thr_s2r.partition_S(sA);              // (V, m, halves, stages)

  auto fetched_A = fx::make_fragment_like(write_A(_, _, _, 0)); // (V, m, k)
  auto rA = thr.make_fragment_B(sA(_, _, 0));                   // (V, m, (2, halves))
  auto rB = thr.make_fragment_A(gB, {.stages = stages});        // (V, n, (2, halves), stages)
  auto rC = thr.make_fragment_C(gC);                            // (V, n, m)
  auto rA_copy = thr_s2r.retile(rA);                            // (V, m, halves)
  auto rB_copy = thr_g2r.retile(rB);                            // (V, n, halves, stages)

  // The steps differ by an offset that is the same for all lanes, so it is a scalar of the
  // instruction.
  auto fetchA = [&](const fx::Int32 &step) {
    fx::copy(buffer_128b, fetch_A, fetched_A, {.soffset = step * fx::Int32(gA.stride()[2])});
  };
  auto fetchB = [&](const fx::Int32 &step, int stage) {
    fx::copy(buffer_128b, fetch_B, rB_copy(_, _, _, stage),
             {.soffset = step * fx::Int32(gB.stride()[2])});
  };
  auto readA = [&](int half, int stage) {
    fx::copy(lds_128b, read_A(_, _, half, stage), rA_copy(_, _, half));
  };
  auto multiply = [&](int half, int stage) {
    auto of = [&](auto k) {
      fx::gemm(mma, rC, rB(_, _, k, stage), rA(_, _, k), rC,
               {.order = fx::GemmTraversalOrder::MKN});
    };
    if (mfma)
      of(fx::make_coord(_, half));
    else
      of(half);
  };
  auto step = [&](const fx::Int32 &k, int stage, Ahead ahead) {
    const int next = stage ^ 1;
    if (ahead.b)
      fetchB(k + 1, next);
    readA(1, stage);
    multiply(0, stage);
    if (ahead.b)
      fx::copy(lds_128b, fetched_A, write_A(_, _, _, next));
    if (ahead.a)
      fetchA(k + 2);
    if (ahead.b) {
      fx::gpu::barrier();
      readA(0, next);
    }
    multiply(1, stage);
    if (mfma)
      schedule(ahead);
  };

  const int steps = K / BK;
  fetchA(0);
  fetchB(0, 0);
  rC.fill(0);
  fx::copy(lds_128b, fetched_A, write_A(_, _, _, 0));
  if (steps > 1)
    fetchA(1);
  fx::gpu::barrier();
  readA(0, 0);
  // The loop runs pairs of steps that fetch everything; the remaining steps follow.
  const int looped = steps > 3 ? (steps - 2) / 2 * 2 : 0;
  if (looped)
    for (fx::Int32 k : fx::range(0, looped, 2)) {
      step(k, 0, {true, true});
      step(k + 1, 1, {true, true});
    }
  for (int k = looped; k < steps; ++k)
    step(k, k % 2, {.a = k + 2 < steps, .b = k + 1 < steps});

  auto rC_f16 = fx::make_fragment_like(rC, fx::f16); // (V, n, m)
  rC_f16.store(rC.load().to(fx::f16));
  fx::copy(buffer_64b, thr_r2g.retile(rC_f16), thr_r2g.partition_D(gC));
}

const fx::Kernel preshuffle_gemm{"preshuffle_gemm", &body};

/// The place of B's element (n, k): blocks of 16 rows by 32 columns, in which 8 columns of a row are
/// neighbours.
static fx::Layout layoutOfB(std::int64_t N, std::int64_t K) {
  return fx::make_layout({{16, N / 16}, {8, 4, K / 32}}, {{8, 16 * K}, {1, 8 * 16, 8 * 16 * 4}});
}

static int run(const samples::Options &options) {
  const std::int64_t M = options.get("m", 256), N = options.get("n", 256),
                     K = options.get("k", 256);
  auto expectTiles = [](const char *what, std::int64_t size, int tile) {
    if (size % tile)
      throw std::invalid_argument(std::string("--") + what + " " + std::to_string(size) +
                                  " is no multiple of the tile's " + std::to_string(tile));
  };
  expectTiles("m", M, BM);
  expectTiles("n", N, BN);
  expectTiles("k", K, BK);

  const fx::Layout layout_B = layoutOfB(N, K);
  auto half = [](void *data, std::int64_t rows, std::int64_t columns) {
    return fx::TensorArg(fx::tensor(data, fx::f16, {rows, columns}));
  };
  auto gemm = [&](void *a, void *b, void *c) {
    return preshuffle_gemm(half(a, M, K), half(b, N, K), half(c, M, N), layout_B, int(K));
  };
  if (fx::compile_only()) { // needs no device
    std::printf("%s",
                gemm(nullptr, nullptr, nullptr).compile({.block = threads}).summary().c_str());
    return 0;
  }

  samples::reportDevice();
  std::vector<float> a(std::size_t(M) * K), b(std::size_t(N) * K);
  std::vector<fx::half_t> hostA(a.size()), hostB(b.size());
  std::uint32_t state = 1;
  auto next = [&] { // multiples of 1/16 in [-1, 1): exact in half precision
    state = state * 1664525u + 1013904223u;
    return float(int(state >> 27) - 16) / 16;
  };
  for (std::size_t i = 0; i < a.size(); ++i)
    hostA[i] = fx::half_t(a[i] = next());
  for (std::int64_t n = 0; n < N; ++n)
    for (std::int64_t k = 0; k < K; ++k) {
      const std::size_t i = std::size_t(n * K + k);
      b[i] = next();
      hostB[std::size_t(layout_B(n, k).value())] = fx::half_t(b[i]);
    }

  fx::Stream stream;
  fx::DeviceArray<fx::half_t> A({M, K}), B({N, K}), C({M, N});
  A.copy_from(hostA);
  B.copy_from(hostB);
  C.poison();
  auto compiled = gemm(A.data(), B.data(), C.data()).compile({.block = threads});
  samples::report(compiled);
  gemm(A.data(), B.data(), C.data())
      .launch({.grid = {M / BM, N / BN},
               .block = threads,
               .smem = BM * BK * stages * 2,
               .stream = stream});
  stream.synchronize();

  const auto c = C.to_host();
  samples::Worst worst;
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t n = 0; n < N; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < K; ++k)
        sum += double(a[std::size_t(m * K + k)]) * double(b[std::size_t(n * K + k)]);
      worst.add((double(float(c[std::size_t(m * N + n)])) - sum) / (1 + std::fabs(sum)));
    }
  // Sums of such products are exact in float. The result is rounded once, to half precision.
  return samples::verdict("largest relative error", samples::dims(M, N, K), worst, 0x1p-11);
}

int main(int argc, char **argv) { return samples::main(argc, argv, {"m", "n", "k"}, run); }
