// gfx1250's named barriers: waves that produce and waves that consume, and what is refused.
#include "run.h"

#include <flydsl/rocdl/named_barrier.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;
namespace rocdl = flydsl::rocdl;

namespace {
constexpr int kWave = 32, kHalf = 2 * kWave;

/// Two waves store tiles of x into LDS, and two others take each element of a tile's mirror image: no
/// wave waits for one of its own kind.
const fx::Kernel mirrored{
    "mirrored_by_named_barriers", [](fx::Tensor x, fx::Tensor y, fx::Int32 tiles) {
      const auto lane = fx::thread_idx().x % kHalf;
      const fx::Tensor tileInLds = fx::SharedAllocator().tensor(fx::i32, fx::make_layout(kHalf));
      // A round of each ends when the two waves of the other kind have signalled.
      const rocdl::NamedBarrier full(2), empty(2);
      const auto kind = fx::gpu::uniform(fx::thread_idx().x / kHalf).to<fx::Int32>();
      fx::if_(kind == 0, [&] { empty.join(); });
      fx::if_(kind == 1, [&] { full.join(); });
      fx::gpu::barrier();
      fx::if_(kind == 0, [&] {
        for (fx::Int32 tile : fx::range(0, tiles)) {
          tileInLds(lane) = x(tile * kHalf + lane);
          full.signal();
          rocdl::NamedBarrier::wait();
        }
      });
      fx::if_(kind == 1, [&] {
        for (fx::Int32 tile : fx::range(0, tiles)) {
          rocdl::NamedBarrier::wait();
          y(tile * kHalf + lane) = tileInLds(kHalf - 1 - lane);
          empty.signal();
        }
      });
    }};
} // namespace

TEST_CASE("named barriers hold consumers until producers have signalled, and the other way round") {
  const fx::Target target = fx::Device::current().target();
  const int tiles = 5, size = tiles * kHalf;
  std::vector<int> values(size);
  for (int i = 0; i < size; ++i)
    values[std::size_t(i)] = 3 * i + 1;
  const auto x = fx::DeviceArray<int>::from_host(values, {size});
  fx::DeviceArray<int> y({size});
  y.fill(-1);
  const auto run = [&] {
    mirrored(x, y, tiles).launch({.grid = 1, .block = 2 * kHalf});
    fx::Device::current().synchronize();
  };
  if (!target.has(fx::feature::clusters)) {
    CHECK_THROWS_WITH(run(), Catch::Contains("there is no NamedBarrier on " + target.name() +
                                             "; gfx1250 has it") &&
                                 Catch::Contains("named_barrier_test.cpp:"));
    return;
  }
  run();
  const auto found = y.to_host();
  unsigned wrong = 0;
  for (int i = 0; i < size; ++i)
    wrong +=
        found[std::size_t(i)] != values[std::size_t(i / kHalf * kHalf + kHalf - 1 - i % kHalf)];
  CHECK(wrong == 0);
}
