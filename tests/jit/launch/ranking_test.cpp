// The purpose of the emulator's estimate: of configurations whose order is known, it must rank the
// better ones first. The tests check the order, and what binds a launch, not the figures.
#include <flydsl/flydsl.h>
#include <flydsl/host/autotune.h>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <functional>
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

/// Searches over configurations, which are given from worst to best, and checks that the estimates
/// say so.
void ranks(const std::vector<fx::Config> &configs,
           const std::function<fx::Candidate(const fx::Config &)> &build) {
  const std::string kept =
      (std::filesystem::temp_directory_path() / ("flydsl_ranking_" + std::to_string(::getpid())))
          .string();
  setenv("FLYDSL_AUTOTUNE_CACHE_DIR", kept.c_str(), 1);
  const fx::AutotuneResult found = fx::autotune("ranked", configs, {}, build);
  unsetenv("FLYDSL_AUTOTUNE_CACHE_DIR");
  std::filesystem::remove_all(kept);
  REQUIRE(found.trials.size() == configs.size());
  for (std::size_t i = 0; i < configs.size(); ++i) {
    INFO(configs[i].str() << ": " << found.trials[i].milliseconds << " ms "
                          << found.trials[i].reason);
    CHECK(found.trials[i].outcome == fx::Trial::Outcome::measured);
    if (i)
      CHECK(found.trials[i].milliseconds < found.trials[i - 1].milliseconds);
  }
  CHECK(found.config == configs.back());
}

/// Searches over tiles, which are given from worst to best; then the product must be right.
void ranksTiles(int M, int N, int K, const std::vector<std::pair<int, int>> &tiles) {
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
  ranks(configs, build);

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
  ranksTiles(18 * 128, 17 * 128, 128, {{32, 32}, {256, 64}, {128, 128}});
}

TEST_CASE("tilings of a product that does not: the more multiprocessors have a tile, the better") {
  ranksTiles(256, 256, 256, {{128, 128}, {64, 64}, {32, 32}});
}

namespace {
constexpr int groups = 608; // two for each multiprocessor of an MI300X
constexpr int lanes = 64;

/// What a launch of `kernel` is bound by, as the estimate has it.
template <class Launch> std::string boundOf(Launch launch) {
  return fx::Device(0).count_launches(launch).at(0).estimate.bound;
}
} // namespace

TEST_CASE("a pitch of LDS by which all lanes meet in one bank is worse than one apart") {
  const fx::Kernel transpose{"transpose", [](fx::Tensor x, fx::Tensor y, fx::Constexpr<int> pitch) {
                               auto tid = fx::thread_idx().x;
                               auto tile = fx::SharedAllocator().tensor(
                                   fx::f32, fx::make_layout(lanes * 33));
                               auto first = fx::block_idx().x * lanes * 32;
                               for (int row = 0; row < 32; ++row)
                                 tile(tid * pitch + row) = x(first + row * lanes + tid);
                               fx::gpu::barrier();
                               for (int row = 0; row < 32; ++row)
                                 y(first + row * lanes + tid) = tile(tid * pitch + row);
                             }};
  const std::int64_t n = std::int64_t(groups) * lanes * 32;
  fx::DeviceArray<float> x({n}), y({n});
  auto build = [&](const fx::Config &config) {
    const int pitch = int(config.integer("pitch"));
    auto compiled = transpose(x, y, pitch).compile({.block = lanes});
    return fx::Candidate{
        compiled, [=, &x, &y](fx::StreamRef stream, int) {
          compiled(x, y, pitch).launch({.grid = groups, .block = lanes, .stream = stream});
        }};
  };
  // 32 banks of a word: at a pitch of 32 all lanes begin in one, at 33 in all.
  ranks({{{"pitch", 32}}, {{"pitch", 33}}}, build);
}

TEST_CASE("loads of lanes that are apart are worse the farther they are, up to a cache line") {
  const fx::Kernel copy{"strided_copy", [](fx::Tensor x, fx::Tensor y, fx::Constexpr<int> stride) {
                          auto i = fx::block_idx().x * lanes + fx::thread_idx().x;
                          y(i) = x(i * stride);
                        }};
  fx::DeviceArray<float> x({std::int64_t(groups) * lanes * 32}), y({std::int64_t(groups) * lanes});
  auto build = [&](const fx::Config &config) {
    const int stride = int(config.integer("stride"));
    auto compiled = copy(x, y, stride).compile({.block = lanes});
    return fx::Candidate{
        compiled, [=, &x, &y](fx::StreamRef stream, int) {
          compiled(x, y, stride).launch({.grid = groups, .block = lanes, .stream = stream});
        }};
  };
  ranks({{{"stride", 32}}, {{"stride", 8}}, {{"stride", 2}}, {{"stride", 1}}}, build);
}

TEST_CASE("two waves on a SIMD hide more of memory's latency than one") {
  // All of LDS, so that a multiprocessor has one block: its waves are all that there is.
  const fx::Kernel scale{"latency", [](fx::Tensor x, fx::Tensor y, fx::Constexpr<int> block) {
                           auto all = fx::SharedAllocator().tensor(fx::f32, fx::make_layout(16384));
                           auto tid = fx::thread_idx().x;
                           auto first = fx::block_idx().x * 8192;
                           fx::if_(tid == 0, [&] { all(0) = 2.0f; });
                           fx::gpu::barrier();
                           fx::Numeric by = all(0);
                           for (fx::Int32 k : fx::range(0, 8192, block))
                             y(first + k + tid) = x(first + k + tid) * by;
                         }};
  const std::int64_t n = 304 * 8192;
  fx::DeviceArray<float> x({n}), y({n});
  auto build = [&](const fx::Config &config) {
    const int block = int(config.integer("block"));
    auto compiled = scale(x, y, block).compile({.block = block});
    return fx::Candidate{
        compiled, [=, &x, &y](fx::StreamRef stream, int) {
          compiled(x, y, block).launch({.grid = 304, .block = block, .stream = stream});
        }};
  };
  ranks({{{"block", 256}}, {{"block", 512}}}, build); // four SIMDs of waves of 64
}

TEST_CASE("waves that share a matrix unit gain nothing by being two") {
  // The same products by one wave on each SIMD, and by two.
  const fx::Kernel multiply{
      "matrix_bound", [](fx::Tensor x, fx::Tensor y, fx::Constexpr<int> block) {
        auto tid = fx::thread_idx().x;
        fx::Vector a = (x.iter() + tid * 4).load(4), sum = fx::Vector::splat(0.0f, 16, fx::f32);
        auto total = fx::for_(0, 8192 / block, 1, fx::carry(sum), [&](fx::Int32, fx::Vector c) {
          return fx::yield(fx::rocdl::mfma_f32_32x32x8f16(a, a, c));
        });
        y(fx::block_idx().x * block + tid) = total[0];
      }};
  auto x = fx::DeviceArray<fx::half_t>::random({512 * 4}, 1);
  fx::DeviceArray<float> y({304 * 512});
  double cycles[2];
  for (const int waves : {1, 2}) {
    const int block = waves * 256;
    const auto launches = fx::Device(0).count_launches([&] {
      multiply(x, y, block).launch({.grid = 304, .block = block});
      fx::Stream().synchronize();
    });
    cycles[waves - 1] = launches.at(0).estimate.cycles;
  }
  CHECK(cycles[1] > 0.9 * cycles[0]);
}

TEST_CASE("products on what is in registers and on what is in memory are bound by what they use") {
  constexpr int many = 8 * 304; // two waves for each SIMD
  // `loads` times 8 bytes a lane, and after each `products` of 8192 multiply-adds.
  const fx::Kernel roof{
      "roof",
      [](fx::Tensor x, fx::Tensor y, fx::Constexpr<int> loads, fx::Constexpr<int> products) {
        auto lane = fx::block_idx().x * lanes + fx::thread_idx().x;
        fx::Vector zero = fx::Vector::splat(0.0f, 16, fx::f32);
        auto sum = fx::for_(0, loads, 1, fx::carry(zero), [&](fx::Int32 k, fx::Vector s) {
          fx::Vector a = (x.iter() + (lane + k * (many * lanes)) * 4).load(4);
          return fx::yield(fx::for_(0, products, 1, fx::carry(s), [&](fx::Int32, fx::Vector t) {
            return fx::yield(fx::rocdl::mfma_f32_32x32x8f16(a, a, t));
          }));
        });
        y(lane) = sum[0];
      }};
  auto x = fx::DeviceArray<fx::half_t>::random({std::int64_t(many) * lanes * 4 * 16}, 1);
  fx::DeviceArray<float> y({std::int64_t(many) * lanes});
  auto build = [&](const fx::Config &config) {
    const int loads = int(config.integer("loads")), products = int(config.integer("products"));
    auto compiled = roof(x, y, loads, products).compile({.block = lanes});
    return fx::Candidate{
        compiled, [=, &x, &y](fx::StreamRef stream, int) {
          compiled(x, y, loads, products).launch({.grid = many, .block = lanes, .stream = stream});
        }};
  };
  auto bound = [&](int loads, int products) {
    return boundOf([&] {
      build({{"loads", loads}, {"products", products}}).run(fx::Stream(), 0);
      fx::Stream().synchronize();
    });
  };
  CHECK(bound(1, 64) == "matrix");
  CHECK(bound(16, 1) == "memory");
  // 16 loads of all waves are 20 MB, which take 8,000 clocks of 5.3 TB/s at 2.1 GHz; 64 products of
  // two waves take 4,096.
  ranks({{{"loads", 16}, {"products", 1}},
         {{"loads", 1}, {"products", 64}},
         {{"loads", 1}, {"products", 1}}},
        build);
}
