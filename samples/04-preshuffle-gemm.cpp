// C = A * B^T in half precision with B preshuffled: tiles of 128 x 128 x 64, A through LDS with an
// XOR swizzle and two stages, B straight into registers.
//
// New here: a pipeline over k with a runtime loop, LDS, swizzles, a permuted tiled mma, scheduler
// hints. Options: --m, --n (256; multiples of 128), --k (256; a multiple of 128, at least 256).
#include "common/options.h"

#include <flydsl/flydsl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

namespace fx = flydsl;
using fx::_;

constexpr int BM = 128, BN = 128, BK = 64, stages = 2, threads = 256;

/// The order in which the hot loop's instructions are wanted.
static void schedule() {
  using namespace fx::rocdl;
  sched_dsrd(2);
  sched_mfma(2);
  sched_dsrd(1);
  sched_mfma(1);
  sched_dsrd(1);
  sched_mfma(2);
  auto round = [](bool vmem, bool dswr) {
    if (vmem)
      sched_vmem(1);
    sched_mfma(2);
    sched_dsrd(1);
    sched_mfma(2);
    if (dswr)
      sched_dswr(1);
  };
  for (int i = 0; i < 8; ++i)
    round(true, false);
  round(false, false);
  for (int i = 0; i < 7; ++i)
    round(false, true);
  sched_barrier(0);
}

const fx::Kernel preshuffle_gemm{
    "preshuffle_gemm", [](fx::Tensor tA, fx::Tensor tB, fx::Tensor tC, fx::Layout layout_B,
                          fx::TiledMma mma, fx::TiledCopy g2s_A, fx::Constexpr<int> K) {
      auto tid = fx::thread_idx().x;
      auto [bid_m, bid_n, bid_z] = fx::block_idx();

      auto A = fx::rocdl::make_buffer_tensor(tA, {.max_size = false});
      auto B =
          fx::rocdl::make_buffer_tensor(fx::make_view(tB.iter(), layout_B), {.max_size = false});
      auto C = fx::rocdl::make_buffer_tensor(tC, {.max_size = false});

      auto gA = fx::flat_divide(A, {BM, BK})(_, _, bid_m, _);     // (BM, BK, k)
      auto gB = fx::flat_divide(B, {BN, BK})(_, _, bid_n, _);     // (BN, BK, k)
      auto gC = fx::flat_divide(C, {BM, BN})(_, _, bid_m, bid_n); // (BM, BN)

      auto thr = mma.thr_slice(tid);
      auto thr_g2s_A = g2s_A.get_slice(tid);
      auto uni_128b = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f16);
      auto buffer_128b = fx::make_copy_atom(fx::rocdl::BufferCopy128b(), fx::f16);
      auto buffer_16b = fx::make_copy_atom(fx::rocdl::BufferCopy16b(), fx::f16);
      auto thr_s2r_A = fx::make_tiled_copy_A(buffer_128b, mma).get_slice(tid);
      auto thr_g2r_B = fx::make_tiled_copy_B(buffer_128b, mma).get_slice(tid);
      auto thr_r2g_C = fx::make_tiled_copy_C(buffer_16b, mma).get_slice(tid);

      auto sA = fx::make_view(
          fx::get_dyn_shared(fx::f16),
          fx::make_composed_layout(fx::Swizzle(3, 3, 3),
                                   fx::make_ordered_layout({BM, BK, stages}, {1, 0, 2})));
      // (BM, BK, stages)
      auto thr_gA = thr_g2s_A.partition_S(gA);     // (VA, VM, VK, k)
      auto thr_sA = thr_g2s_A.partition_D(sA);     // (VA, VM, VK, stages)
      auto thr_sA_s2r = thr_s2r_A.partition_S(sA); // (VA, VM, VK, stages)
      auto thr_gB = thr_g2r_B.partition_S(gB);     // (VB, VN, VK, k)
      auto thr_gC = thr_r2g_C.partition_D(gC);     // (VC, VM, VN)

      auto copy_rA = fx::make_fragment_like(thr_sA(_, _, _, 0), fx::f16); // (VA, VM, VK)
      auto rA = thr.make_fragment_A(sA(_, _, 0));                         // (VA, VM, VK)
      auto rB = thr.make_fragment_B(gB, {.stages = 2});                   // (VB, VN, VK, 2)
      auto rC = thr.make_fragment_C(gC);                                  // (VC, VM, VN)
      auto rA_retile = thr_s2r_A.retile(rA);
      auto rB_retile = thr_g2r_B.retile(rB);

      auto stride_A = gA.stride()[2], stride_B = gB.stride()[2];

      auto stage = [&](int read, const fx::IntTuple *next_k) {
        const int write = read ^ 1;
        if (next_k) {
          fx::Numeric offset_A = fx::Int32(*next_k) * fx::Int32(stride_A);
          fx::Numeric offset_B = fx::Int32(*next_k) * fx::Int32(stride_B);
          fx::copy(buffer_128b, thr_gA(_, _, _, 0), copy_rA, {.soffset = offset_A});
          fx::copy(buffer_128b, thr_gB(_, _, _, 0), rB_retile(_, _, _, write),
                   {.soffset = offset_B});
        }
        for (int k = 0; k < BK / 32; ++k) {
          fx::copy(uni_128b, thr_sA_s2r(_, _, k, read), rA_retile(_, _, k));
          fx::gemm(mma, rC, rA(_, _, fx::make_coord(_, k)), rB(_, _, fx::make_coord(_, k), read),
                   rC, {.order = fx::GemmTraversalOrder::KNM});
        }
        fx::copy(uni_128b, copy_rA, thr_sA(_, _, _, write));
        fx::gpu::barrier();
        schedule();
      };

      fx::copy(buffer_128b, thr_gA(_, _, _, 0), copy_rA);
      fx::copy(buffer_128b, thr_gB(_, _, _, 0), rB_retile(_, _, _, 0));
      rC.fill(0);
      fx::copy(uni_128b, copy_rA, thr_sA(_, _, _, 0));
      fx::gpu::barrier();

      const int steps = K / BK;
      for (fx::Int32 k : fx::range(0, steps - 2, 2)) {
        fx::IntTuple one = k + 1, two = k + 2;
        stage(0, &one);
        stage(1, &two);
      }
      fx::IntTuple last = steps - 1;
      stage(0, &last);
      stage(1, nullptr);

      auto rC_f16 = fx::make_fragment_like(rC, fx::f16);
      rC_f16.store(rC.load().to(fx::f16));
      fx::copy(buffer_16b, thr_r2g_C.retile(rC_f16), thr_gC);
    }};

static std::uint16_t toHalf(float v) {
  _Float16 h = static_cast<_Float16>(v);
  std::uint16_t bits;
  std::memcpy(&bits, &h, 2);
  return bits;
}
static float fromHalf(std::uint16_t bits) {
  _Float16 h;
  std::memcpy(&h, &bits, 2);
  return static_cast<float>(h);
}

static int run(const samples::Options &options) {
  const int M = static_cast<int>(options.get("m", 256)),
            N = static_cast<int>(options.get("n", 256)),
            K = static_cast<int>(options.get("k", 256));
  if (M % BM || N % BN || K % (2 * BK) || K < 4 * BK)
    throw std::invalid_argument("m and n are multiples of 128, k of 128 and at least 256");

  // Where B's element (n, k) lies: blocks of 16 rows by 32 columns, 8 columns of a row side by
  // side.
  auto layout_B =
      fx::make_layout({{16, N / 16}, {8, 4, K / 32}}, {{8, 16 * K}, {1, 8 * 16, 8 * 16 * 4}});
  auto g2s_A = fx::make_tiled_copy(fx::make_copy_atom(fx::UniversalCopy128b(), fx::f16),
                                   fx::make_layout({{8, 32}, {1, 8}}, {{256, 1}, {1, 32}}),
                                   fx::make_tile(32, BK));
  auto mma = fx::make_tiled_mma(fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 16, fx::f16)),
                                fx::make_layout({1, 4, 1}, {0, 1, 0}),
                                fx::make_tile(_, _, fx::make_layout({4, 4, 2}, {1, 8, 4})));

  auto half = [](void *data, std::int64_t rows, std::int64_t columns) {
    return fx::TensorArg(fx::tensor(data, fx::f16, {rows, columns}));
  };
  auto compiledFor = [&](void *a, void *b, void *c) {
    return preshuffle_gemm(half(a, M, K), half(b, N, K), half(c, M, N), layout_B, mma, g2s_A, K);
  };
  if (fx::compile_only()) { // needs no device
    std::printf(
        "%s", compiledFor(nullptr, nullptr, nullptr).compile({.block = threads}).summary().c_str());
    return 0;
  }

  std::printf("device      %s\n", fx::Device::current().str().c_str());
  std::vector<float> a(std::size_t(M) * K), b(std::size_t(N) * K);
  std::vector<std::uint16_t> hostA(a.size()), hostB(b.size());
  std::uint32_t state = 1;
  auto next = [&] { // multiples of 1/16 in [-1, 1): exact in half precision
    state = state * 1664525u + 1013904223u;
    return float(int(state >> 27) - 16) / 16;
  };
  for (std::size_t i = 0; i < a.size(); ++i)
    hostA[i] = toHalf(a[i] = next());
  for (std::int64_t n = 0; n < N; ++n)
    for (std::int64_t k = 0; k < K; ++k) {
      const std::size_t i = std::size_t(n * K + k);
      b[i] = next();
      hostB[std::size_t(layout_B(n, k).value())] = toHalf(b[i]);
    }

  fx::Stream stream;
  fx::DeviceArray<std::uint16_t> A({M, K}), B({N, K}), C({M, N});
  A.copy_from(hostA);
  B.copy_from(hostB);
  C.poison();
  compiledFor(A.data(), B.data(), C.data())
      .launch({.grid = {M / BM, N / BN},
               .block = threads,
               .smem = BM * BK * stages * 2,
               .stream = stream});
  stream.synchronize();

  const auto c = C.to_host();
  double worst = 0;
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t n = 0; n < N; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < K; ++k)
        sum += double(a[std::size_t(m * K + k)]) * double(b[std::size_t(n * K + k)]);
      const double error =
          std::fabs(double(fromHalf(c[std::size_t(m * N + n)])) - sum) / (1 + std::fabs(sum));
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
  // Sums of such products are exact in float; the result is rounded once, to half precision.
  const bool pass = worst <= 0x1p-10;
  std::printf("largest relative error of %d x %d x %d: %g\n%s\n", M, N, K, worst,
              pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}

int main(int argc, char **argv) { return samples::main(argc, argv, {"m", "n", "k"}, run); }
