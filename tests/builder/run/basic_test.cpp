// Basic constructs of the eDSL, run on the device (the emulator if there is none) and compared with
// the host.
#include "run.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

namespace fx = flydsl;
using fx::_;

TEST_CASE("loops, branches and variables run") {
  const fx::Kernel flow{
      "flow", [](fx::Tensor out, fx::Int32 n) {
        auto tid = fx::thread_idx().x;
        fx::Var<fx::Int32> sum(0);
        for (fx::Int32 i : fx::range(n))
          sum += i;
        fx::Int32 carried =
            fx::for_(0, n, 1, fx::carry(tid), [](fx::Int32 i, auto x) { return x + i; });
        fx::Int32 halved =
            fx::while_(fx::carry(n), [](auto i) { return i > 1; }, [](auto i) { return i / 2; });
        fx::Int32 branch = fx::if_(tid < 3, [&] { return tid * 10; }, [&] { return tid + 100; });
        out(tid, 0) = sum;
        out(tid, 1) = carried;
        out(tid, 2) = halved;
        out(tid, 3) = branch;
      }};
  for (int n : {0, 1, 10}) {
    fx::DeviceArray<int> out({64, 4});
    out.poison();
    flow(out, n).launch({.grid = 1, .block = 64});
    auto h = out.to_host();
    int wrong = 0;
    for (int t = 0; t < 64; ++t) {
      const int total = n * (n - 1) / 2;
      wrong += h[std::size_t(t) * 4] != total;
      wrong += h[std::size_t(t) * 4 + 1] != t + total;
      wrong += h[std::size_t(t) * 4 + 2] != (n ? 1 : 0);
      wrong += h[std::size_t(t) * 4 + 3] != (t < 3 ? t * 10 : t + 100);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a kernel knows the size of its block and of the grid") {
  const fx::Kernel sizes{"sizes", [](fx::Tensor out) {
                           auto [bx, by, bz] = fx::block_dim();
                           auto [gx, gy, gz] = fx::grid_dim();
                           fx::if_(fx::thread_idx().x == 0, [&] {
                             out(0) = bx;
                             out(1) = by;
                             out(2) = gx;
                             out(3) = gy;
                             out(4) = gz;
                           });
                         }};
  fx::DeviceArray<int> out({5});
  const std::vector<int> expected{64, 2, 3, 5, 7};
  out.poison();
  sizes(out).launch({.grid = {3, 5, 7}, .block = {64, 2}});
  CHECK(out.to_host() == expected);
  // Compiled for any block, the launch says it.
  out.poison();
  sizes.compile(out)(out).launch({.grid = {3, 5, 7}, .block = {64, 2}});
  CHECK(out.to_host() == expected);
}

TEST_CASE("reductions, scans and math run") {
  const fx::Kernel reduce{"reduce", [](fx::Tensor out, fx::Tensor in) {
                            auto tid = fx::thread_idx().x;
                            fx::Numeric x = in(tid);
                            fx::SharedAllocator shared;
                            out(tid, 0) = fx::gpu::warp_reduce(x, fx::Reduction::add);
                            out(tid, 1) = fx::gpu::block_reduce(x, fx::Reduction::max, shared);
                            out(tid, 2) = fx::gpu::warp_inclusive_scan(x, fx::Reduction::add, 16);
                            out(tid, 3) = fx::math::exp2(x) + fx::math::sqrt(x);
                          }};
  auto in = fx::DeviceArray<float>::random({256}, /*seed=*/1);
  auto x = in.to_host();
  for (float &v : x)
    v = std::fabs(v);
  in.copy_from(x);
  fx::DeviceArray<float> out({256, 4});
  out.poison();
  reduce(out, in).launch({.grid = 1, .block = 256});
  auto h = out.to_host();
  double worst = 0;
  for (std::size_t t = 0; t < 256; ++t) {
    double wave = 0, scan = 0;
    const auto lanes = std::size_t(run::waveSize());
    for (std::size_t l = 0; l < lanes; ++l)
      wave += x[t / lanes * lanes + l];
    for (std::size_t l = t / 16 * 16; l <= t; ++l)
      scan += x[l];
    const double expected[] = {wave, *std::max_element(x.begin(), x.end()), scan,
                               std::exp2(double(x[t])) + std::sqrt(double(x[t]))};
    for (std::size_t i = 0; i < 4; ++i) {
      const double error = std::fabs(h[t * 4 + i] - expected[i]);
      worst = std::isnan(error) ? 1 : std::max(worst, error);
    }
  }
  CHECK(worst < 1e-5);
}

TEST_CASE("indexed copies and atomics run") {
  const fx::Kernel indexed{"indexed", [](fx::Tensor out, fx::Tensor in, fx::Tensor total) {
                             auto tid = fx::thread_idx().x;
                             auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
                             auto from = fx::make_rmem_tensor(2, fx::i32);
                             from(0) = tid;
                             from(1) = (tid + 1) % 64;
                             auto values = fx::make_rmem_tensor({1, 2}, fx::f32);
                             fx::gather(atom, in.iter(), from, values);
                             auto to = fx::make_rmem_tensor(2, fx::i32);
                             to(0) = tid * 2;
                             to(1) = tid * 2 + 1;
                             fx::scatter(atom, values, out.iter(), to);
                             fx::atomic(fx::AtomicOp::add, total.iter(), in(tid));
                           }};
  auto in = fx::DeviceArray<float>::random({64}, /*seed=*/3);
  fx::DeviceArray<float> out({128}), total({1});
  out.poison();
  total.copy_from(std::vector<float>{0});
  indexed(out, in, total).launch({.grid = 1, .block = 64});
  auto h = out.to_host(), x = in.to_host();
  double sum = 0;
  for (std::size_t t = 0; t < 64; ++t) {
    CHECK(h[2 * t] == x[t]);
    CHECK(h[2 * t + 1] == x[(t + 1) % 64]);
    sum += x[t];
  }
  CHECK(std::fabs(total.to_host()[0] - sum) < 1e-5);
}

TEST_CASE("swizzled shared memory gives back what it was given") {
  const fx::Kernel transpose{"transpose", [](fx::Tensor out, fx::Tensor in) {
                               auto tid = fx::thread_idx().x;
                               struct Storage {
                                 fx::Array<fx::Float32, 32 * 32, 16> tile;
                               };
                               auto shared = fx::SharedAllocator().allocate<Storage>();
                               auto tile = shared.tile.view(fx::make_composed_layout(
                                   fx::Swizzle(3, 2, 3), fx::make_layout({32, 32}, {32, 1})));
                               for (int i = 0; i < 4; ++i)
                                 tile(tid / 32 + i * 8, tid % 32) = in(tid / 32 + i * 8, tid % 32);
                               fx::gpu::barrier();
                               for (int i = 0; i < 4; ++i)
                                 out(tid / 32 + i * 8, tid % 32) = tile(tid % 32, tid / 32 + i * 8);
                             }};
  auto in = fx::DeviceArray<float>::random({32, 32}, /*seed=*/5);
  fx::DeviceArray<float> out({32, 32});
  out.poison();
  transpose(out, in).launch({.grid = 1, .block = 256});
  auto h = out.to_host(), x = in.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < 32; ++i)
    for (std::size_t j = 0; j < 32; ++j)
      wrong += !(h[i * 32 + j] == x[j * 32 + i]);
  CHECK(wrong == 0);
}
