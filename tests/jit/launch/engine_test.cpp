#include "scale.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

namespace fx = flydsl;

namespace {
struct Vectors {
  explicit Vectors(std::int64_t n, std::uint64_t seed)
      : x(fx::DeviceArray<float>::random({n}, seed)),
        y(fx::DeviceArray<float>::random({n}, seed + 1)), hostX(x.to_host()), before(y.to_host()) {}
  fx::DeviceArray<float> x, y;
  std::vector<float> hostX, before;
};
} // namespace

TEST_CASE("a kernel object computes, for one signature and many sizes") {
  const auto axpy = makeAxpy("axpy");
  fx::Stream stream;
  for (std::int64_t n : {64, 640, 4096}) {
    Vectors v(n, 10);
    axpy(v.x, v.y, 0.5f).launch({.grid = n / axpyBlock, .block = axpyBlock, .stream = stream});
    stream.synchronize();
    CHECK(isAxpy(v.y.to_host(), 0.5f, v.hostX, v.before));
  }
}

TEST_CASE("a compiled kernel computes and tells what it is") {
  const auto axpy = makeAxpy("axpy_compiled");
  Vectors v(256, 20);
  auto compiled = axpy(v.x, v.y, 0.0f).compile({.block = axpyBlock});
  CHECK(compiled.name() == "axpy_compiled");
  CHECK(compiled.target().substr(0, 6) == "gfx942");
  CHECK(compiled.registers() > 0);
  CHECK(compiled.spills() == 0);
  CHECK(compiled.code_size() > 0);
  CHECK(compiled.binary().size() > compiled.code_size());
  CHECK(compiled.hsaco().data() == compiled.binary().data());
  CHECK(compiled.ir_hash().size() == 32);
  CHECK_THAT(compiled.print_ir(), Catch::Contains("gpu.func @axpy_compiled"));
  CHECK_THAT(compiled.print_ir(), Catch::Contains("scale.h"));
  fx::Stream stream;
  compiled(v.x, v.y, 2.0f).launch({.grid = 4, .block = axpyBlock, .stream = stream});
  stream.synchronize();
  CHECK(isAxpy(v.y.to_host(), 2.0f, v.hostX, v.before));
}

TEST_CASE("a compile of the same kernel again comes from memory") {
  Vectors v(64, 30);
  auto first = makeAxpy("axpy_again")(v.x, v.y, 0.0f).compile({.block = axpyBlock});
  auto second = makeAxpy("axpy_again")(v.x, v.y, 0.0f).compile({.block = axpyBlock});
  CHECK(first.cache_tier() == fx::CacheTier::compiled);
  CHECK(second.cache_tier() == fx::CacheTier::memory);
  CHECK(first.ir_hash() == second.ir_hash());
}

TEST_CASE("two devices run the same kernel object") {
  REQUIRE(fx::Device::count() == 2);
  const auto axpy = makeAxpy("axpy_devices");
  for (int ordinal : {0, 1}) {
    fx::Device device(ordinal);
    device.make_current();
    Vectors v(128, 40);
    fx::Stream stream(device);
    axpy(v.x, v.y, 3.0f).launch({.grid = 2, .block = axpyBlock, .stream = stream});
    stream.synchronize();
    CHECK(isAxpy(v.y.to_host(), 3.0f, v.hostX, v.before));
  }
  fx::Device(0).make_current();
}

TEST_CASE("threads with streams of their own share a kernel object") {
  const auto axpy = makeAxpy("axpy_threads");
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      fx::Stream stream;
      Vectors v(256, 50 + static_cast<std::uint64_t>(t));
      for (int i = 0; i < 3; ++i) {
        std::vector<float> before = v.y.to_host();
        axpy(v.x, v.y, 1.0f + t).launch({.grid = 4, .block = axpyBlock, .stream = stream});
        stream.synchronize();
        right += isAxpy(v.y.to_host(), 1.0f + t, v.hostX, before);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(right == 12);
}

TEST_CASE("launches on one stream run in order") {
  const auto axpy = makeAxpy("axpy_order");
  Vectors v(64, 60);
  fx::DeviceArray<float> z({64});
  z.fill(0);
  fx::Stream stream;
  for (int i = 0; i < 10; ++i)
    axpy(v.x, z, 1.0f).launch({.grid = 1, .block = axpyBlock, .stream = stream});
  stream.synchronize();
  const std::vector<float> sums = z.to_host();
  for (std::size_t i = 0; i < sums.size(); ++i)
    CHECK(sums[i] == Approx(10.0 * v.hostX[i]).margin(1e-5));
}

TEST_CASE("an event waits for another stream's work") {
  const auto axpy = makeAxpy("axpy_events");
  Vectors v(64, 70);
  fx::DeviceArray<float> z({64});
  z.fill(0);
  fx::Stream first, second;
  fx::Event done;
  axpy(v.x, v.y, 1.0f).launch({.grid = 1, .block = axpyBlock, .stream = first});
  done.record(first);
  second.wait(done);
  axpy(v.y, z, 1.0f).launch({.grid = 1, .block = axpyBlock, .stream = second});
  second.synchronize();
  const std::vector<float> sums = z.to_host();
  for (std::size_t i = 0; i < sums.size(); ++i)
    CHECK(sums[i] == Approx(double(v.hostX[i]) + v.before[i]).margin(1e-5));
}
