// Copies in the order of a stream.
#include <flydsl/flydsl.h>
#include <flydsl/host/copy.h>
#include <flydsl/host/device_array.h>
#include <flydsl/host/graph.h>
#include <flydsl/host/host_memory.h>

#include <catch2/catch.hpp>

#include <numeric>

namespace fx = flydsl;

namespace {

constexpr std::int64_t kCount = 256;

const fx::Kernel twice{"twice", [](fx::Tensor x) {
                         const auto i = fx::thread_idx().x;
                         x(i) = x(i) * 2;
                       }};

std::vector<std::int32_t> numbers(int first) {
  std::vector<std::int32_t> all(kCount);
  std::iota(all.begin(), all.end(), first);
  return all;
}
std::vector<std::int32_t> doubled(std::vector<std::int32_t> all) {
  for (auto &number : all)
    number *= 2;
  return all;
}

} // namespace

TEST_CASE(
    "copies keep the order of their stream: to the device, between devices' memory, to the host") {
  const fx::Stream stream;
  const fx::DeviceArray<std::int32_t> x({kCount}), y({kCount});
  fx::HostMemory pinned(x.bytes());
  const auto in = numbers(5);
  fx::copy_async(x.data(), in.data(), x.bytes(), stream);
  twice(x).launch({.grid = 1, .block = kCount, .stream = stream});
  fx::copy_async(y.data(), x.data(), x.bytes(), stream);
  twice(x).launch({.grid = 1, .block = kCount, .stream = stream}); // y has the numbers before
  fx::copy_async(pinned.data(), y.data(), y.bytes(), stream);
  std::vector<std::int32_t> out(kCount);
  fx::copy_async(out.data(), x.data(), x.bytes(), stream);
  stream.synchronize();
  const auto *words = static_cast<const std::int32_t *>(pinned.data());
  CHECK(std::vector<std::int32_t>(words, words + kCount) == doubled(in));
  CHECK(out == doubled(doubled(in)));
}

TEST_CASE("a copy between devices waits for an event of the other device's stream") {
  REQUIRE(fx::Device::count() > 1);
  const fx::Device first{0}, second{1};
  const auto in = numbers(-7);
  first.make_current();
  const fx::Stream from(first);
  const auto x = fx::DeviceArray<std::int32_t>::from_host(in, {kCount});
  fx::Event ready;
  second.make_current();
  const fx::Stream to(second);
  const fx::DeviceArray<std::int32_t> y({kCount});
  first.make_current();
  twice(x).launch({.grid = 1, .block = kCount, .stream = from});
  ready.record(from);
  second.make_current();
  to.wait(ready);
  fx::copy_async(y.data(), x.data(), x.bytes(), to);
  to.synchronize();
  CHECK(y.to_host() == doubled(in));
  first.make_current();
}

TEST_CASE("a graph has the copies that were captured, and copies anew each time") {
  const fx::Stream stream;
  const fx::DeviceArray<std::int32_t> x({kCount}), y({kCount});
  const fx::Graph graph = fx::Graph::capture(stream, [&](const fx::Stream &captured) {
    twice(x).launch({.grid = 1, .block = kCount, .stream = captured});
    fx::copy_async(y.data(), x.data(), x.bytes(), captured);
  });
  CHECK(graph.size() == 2);
  for (int first : {1, 100}) {
    const auto in = numbers(first);
    fx::copy_async(x.data(), in.data(), x.bytes(), stream);
    graph.launch(stream);
    stream.synchronize();
    CHECK(y.to_host() == doubled(in));
  }
}

TEST_CASE("a copy past an allocation and a copy to nowhere are refused, and no bytes are none") {
  const fx::Stream stream;
  const fx::DeviceArray<std::int32_t> x({kCount}), y({2 * kCount});
  CHECK_THROWS_AS(fx::copy_async(x.data(), y.data(), y.bytes(), stream), fx::RuntimeError);
  CHECK_THROWS_AS(fx::copy_async(nullptr, y.data(), 4, stream), fx::RuntimeError);
  fx::copy_async(nullptr, nullptr, 0, stream);
  stream.synchronize();
  fx::Stream moved(fx::Device::current());
  const fx::Stream other = std::move(moved);
  CHECK_THROWS_AS(fx::copy_async(x.data(), y.data(), 4, moved), fx::RuntimeError);
}
