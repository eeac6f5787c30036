// The purpose of the emulator's estimate: of known tilings of a matrix product, it must rank the
// better ones first. The test checks the order, not the figures.
#include <flydsl/autotune.h>
#include <flydsl/flydsl.h>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace fx = flydsl;
using fx::_;

namespace {
constexpr int threads = 256, BK = 32;

/// C = A * B^T in half precision, four waves as 2 x 2 atoms, operands straight from memory: a tile
/// reads its rows of A and of B once for each step in k.
const fx::Kernel product{
    "ranked_product", [](fx::Tensor A, fx::Tensor B, fx::Tensor C, fx::TiledMma mma,
                         fx::Constexpr<int> BM, fx::Constexpr<int> BN, fx::Constexpr<int> K) {
      auto tid = fx::thread_idx().x;
      auto [bid_m, bid_n, bid_z] = fx::block_idx();
      auto gA = fx::flat_divide(fx::rocdl::make_buffer_tensor(A), {BM, BK})(_, _, bid_m, _);
      auto gB = fx::flat_divide(fx::rocdl::make_buffer_tensor(B), {BN, BK})(_, _, bid_n, _);
      auto gC = fx::flat_divide(fx::rocdl::make_buffer_tensor(C), {BM, BN})(_, _, bid_m, bid_n);

      auto atom = fx::make_copy_atom(fx::rocdl::BufferCopy64b(), fx::f16);
      auto atom_C = fx::make_copy_atom(fx::rocdl::BufferCopy32b(), fx::f32);
      auto thr = mma.thr_slice(tid);
      auto copy_A = fx::make_tiled_copy_A(atom, mma).get_slice(tid);
      auto copy_B = fx::make_tiled_copy_B(atom, mma).get_slice(tid);
      auto copy_C = fx::make_tiled_copy_C(atom_C, mma).get_slice(tid);
      auto rA = thr.make_fragment_A(gA(_, _, 0)); // (V, m, k)
      auto rB = thr.make_fragment_B(gB(_, _, 0)); // (V, n, k)
      auto rC = thr.make_fragment_C(gC);          // (V, m, n)
      rC.fill(0);
      for (int k = 0; k < K / BK; ++k) {
        fx::copy(atom, copy_A.partition_S(gA(_, _, k)), copy_A.retile(rA));
        fx::copy(atom, copy_B.partition_S(gB(_, _, k)), copy_B.retile(rB));
        fx::gemm(mma, rC, rA, rB, rC);
      }
      fx::copy(atom_C, copy_C.retile(rC), copy_C.partition_D(gC));
    }};

/// Searches over tiles, which are given from worst to best, and checks that the estimates say so;
/// then that the product is right.
void ranks(int M, int N, int K, const std::vector<std::pair<int, int>> &tiles) {
  const std::string kept =
      (std::filesystem::temp_directory_path() / ("flydsl_ranking_" + std::to_string(::getpid())))
          .string();
  setenv("FLYDSL_AUTOTUNE_CACHE_DIR", kept.c_str(), 1);
  auto A = fx::DeviceArray<fx::half_t>::random({M, K}, 1);
  auto B = fx::DeviceArray<fx::half_t>::random({N, K}, 2);
  fx::DeviceArray<float> C({M, N});
  C.poison();
  const auto mma = fx::make_tiled_mma(fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 16, fx::f16)),
                                      fx::make_layout({2, 2, 1}, {1, 2, 0}));
  auto build = [&](const fx::Config &config) {
    const int bm = int(config.integer("bm")), bn = int(config.integer("bn"));
    auto compiled = product(A, B, C, mma, bm, bn, K).compile({.block = threads});
    auto run = [=, &A, &B, &C](fx::StreamRef stream, int) {
      compiled(A, B, C, mma, bm, bn, K)
          .launch({.grid = {M / bm, N / bn}, .block = threads, .stream = stream});
    };
    return fx::Candidate{compiled, run};
  };
  std::vector<fx::Config> configs;
  for (auto [bm, bn] : tiles)
    configs.push_back({{"bm", bm}, {"bn", bn}});
  const fx::AutotuneResult found =
      fx::autotune("ranked_product", configs, {{"m", M}, {"n", N}, {"k", K}}, build);
  unsetenv("FLYDSL_AUTOTUNE_CACHE_DIR");
  std::filesystem::remove_all(kept);
  REQUIRE(found.trials.size() == configs.size());
  for (std::size_t i = 0; i < configs.size(); ++i) {
    INFO("tile " << tiles[i].first << " x " << tiles[i].second << ": "
                 << found.trials[i].milliseconds << " ms " << found.trials[i].reason);
    CHECK(found.trials[i].outcome == fx::Trial::Outcome::measured);
    if (i)
      CHECK(found.trials[i].milliseconds < found.trials[i - 1].milliseconds);
  }
  CHECK(found.config == configs.back());

  const auto a = A.to_host(), b = B.to_host();
  const auto c = C.to_host();
  for (auto [m, n] : {std::pair(0, 0), std::pair(M / 3, N / 5), std::pair(M - 1, N - 1)}) {
    double sum = 0;
    for (int k = 0; k < K; ++k)
      sum += double(float(a[std::size_t(m * K + k)])) * double(float(b[std::size_t(n * K + k)]));
    CHECK(c[std::size_t(m) * std::size_t(N) + std::size_t(n)] == Approx(sum).margin(1e-3));
  }
}
} // namespace

TEST_CASE("tilings of a product that fills the device: the larger and the squarer, the better") {
  // Just over a tile of 128 x 128 for each of 304 multiprocessors. A tile reads what grows with its
  // edges and computes what grows with its area.
  ranks(18 * 128, 17 * 128, 128, {{32, 32}, {64, 64}, {256, 64}, {128, 128}});
}

TEST_CASE("tilings of a product that does not: the more multiprocessors have a tile, the better") {
  ranks(256, 256, 256, {{128, 128}, {64, 64}, {32, 32}});
}
