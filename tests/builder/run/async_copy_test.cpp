// gfx1250's asynchronous copies between global memory and LDS: a ring of stages on it, and what
// other targets say.
#include "run.h"

#include <flydsl/rocdl/async_copy.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;
using fx::_;

namespace {
constexpr int kBlock = 128, kStages = 3;
constexpr int kPad = 4; ///< floats between the lanes' places, which no load of gfx950 could leave

/// Copies x to y through a ring of three stages in LDS: a thread stores what its mirror image among
/// the threads has loaded, by an asynchronous copy too.
const fx::Kernel mirrored{
    "mirrored", [](fx::Tensor x, fx::Tensor y, fx::Int32 tiles, fx::Constexpr<int> bytes) {
      const int width = bytes / 4;
      auto tid = fx::thread_idx().x;
      fx::SharedAllocator shared;
      std::vector<fx::Tensor> stages;
      for (int s = 0; s < kStages; ++s)
        stages.push_back(
            shared.tensor(fx::f32, fx::make_layout({width, kBlock}, {1, width + kPad})));
      auto of = [&](const fx::Tensor &all, const fx::Numeric &tile, const fx::Numeric &thread) {
        return all.iter() + (tile * kBlock + thread) * width;
      };
      auto fill = [&](int s, const fx::Numeric &tile) {
        fx::rocdl::global_load_async_to_lds(of(x, tile, tid), stages[std::size_t(s)](_, tid).iter(),
                                            bytes);
      };
      for (int s = 0; s < kStages - 1; ++s)
        fill(s, fx::Int32(s));
      for (fx::Int32 first : fx::range(0, tiles, kStages))
        for (int s = 0; s < kStages; ++s) {
          const fx::Int32 tile = first + s;
          fx::rocdl::s_wait_asynccnt(0); // loads of this tile, and the store of the one before
          fx::gpu::barrier();
          fill((s + kStages - 1) % kStages, tile + (kStages - 1));
          auto read = stages[std::size_t(s)](_, kBlock - 1 - tid);
          fx::rocdl::global_store_async_from_lds(read.iter(), of(y, tile, tid), bytes);
        }
      fx::rocdl::s_wait_asynccnt(0);
    }};
} // namespace

TEST_CASE("asynchronous copies move tiles to LDS and back, each lane where it says") {
  const fx::Target target = fx::Device::current().target();
  const int tiles = 6;
  for (int bytes : {4, 8, 16}) {
    const std::int64_t size = std::int64_t(tiles + kStages) * kBlock * (bytes / 4);
    auto x = fx::DeviceArray<float>::random({size}, 7);
    fx::DeviceArray<float> y({size});
    y.fill(-1);
    const auto run = [&] {
      mirrored(x, y, tiles, bytes).launch({.grid = 1, .block = kBlock});
      fx::Device::current().synchronize();
    };
    if (!target.has(fx::feature::async_lds)) {
      CHECK_THROWS_WITH(run(), Catch::Contains("there is no global_load_async_to_lds on " +
                                               target.name() + "; gfx1250 has it") &&
                                   Catch::Contains("async_copy_test.cpp:"));
      continue;
    }
    run();
    const auto from = x.to_host(), to = y.to_host();
    const int width = bytes / 4;
    unsigned wrong = 0;
    for (int tile = 0; tile < tiles; ++tile)
      for (int thread = 0; thread < kBlock; ++thread)
        for (int e = 0; e < width; ++e)
          wrong += to[std::size_t((tile * kBlock + thread) * width + e)] !=
                   from[std::size_t((tile * kBlock + kBlock - 1 - thread) * width + e)];
    CHECK(wrong == 0);
  }
}
