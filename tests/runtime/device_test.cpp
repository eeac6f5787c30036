#include "fake.h"

#include <flydsl/host/device_array.h>
#include <flydsl/host/graph.h>
#include <flydsl/host/product.h>
#include <flydsl/host/stream.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;

TEST_CASE("devices report what HIP says of them") {
  REQUIRE(fx::Device::count() == 2);
  fx::Device device(1);
  CHECK(device.name() == "Fake gfx device");
  CHECK(device.arch() == "gfx942");
  CHECK(device.arch_full() == "gfx942:sramecc+:xnack-");
  CHECK(device.target() == fx::Target::parse("gfx942:sramecc+:xnack-"));
  CHECK(device.target().has(fx::feature::mfma));
  CHECK(device.warp_size() == 64);
  CHECK(device.compute_units() == 80);
  CHECK(device.xcds() == 4); // the fake library is too old to say it
  CHECK(device.shared_memory() == 65536);
  CHECK(device.total_memory() == std::size_t{192} << 30);
  CHECK_FALSE(device.is_emulator());
  CHECK(fx::Device::all().size() == 2);
}

TEST_CASE("devices of one processor are different products") {
  const fx::Product large = fx::product(fx::Device(0)).value(),
                    small = fx::product(fx::Device(1)).value();
  CHECK(large.name == "MI300X");
  CHECK(large.compute_units == 304);
  CHECK(large.dies == 8);
  CHECK(small.name == "MI308X");
  CHECK(small.compute_units == 80);
  CHECK(small.dies == 4);
  // The product in hand is the current device's if that runs the target's code.
  const fx::Target here = fx::Target::parse("gfx942"), other = fx::Target::parse("gfx950");
  fx::Device(1).make_current();
  CHECK(fx::product_in_hand(here).value().name == "MI308X");
  CHECK(fx::product_in_hand(other).value().name == "MI355X");
  fx::Device(0).make_current();
  CHECK(fx::product_in_hand(here).value().name == "MI300X");
  CHECK(fx::product_in_hand(fx::Target::parse("gfx1250")).value().name == "MI455X");
}

TEST_CASE("the current device is the thread's") {
  fx::Device(1).make_current();
  CHECK(fx::Device::current().ordinal() == 1);
  fx::Device(0).synchronize();
  CHECK(fx::Device::current().ordinal() == 1);
  fx::Device(0).make_current();
}

TEST_CASE("a device that does not exist is an error with the user's line") {
  const unsigned line = __LINE__ + 2;
  try {
    fx::Device device(7);
    FAIL("no error");
  } catch (const fx::RuntimeError &error) {
    CHECK(error.where().line == line);
    CHECK_THAT(error.what(), Catch::Contains("device 7 does not exist; there are 2"));
    CHECK_THAT(error.what(), Catch::Contains("device_test.cpp"));
  }
}

TEST_CASE("streams and events") {
  fx::Stream stream;
  CHECK(stream.native() != nullptr);
  CHECK(stream.device().ordinal() == 0);
  CHECK(fx::Stream(fx::Device(1)).device().ordinal() == 1);
  CHECK(fx::Device::current().ordinal() == 0);
  fx::Event start, stop;
  start.record(stream);
  stop.record(stream.native());
  CHECK(stop.milliseconds_since(start) == 1.5f);
  stream.wait(stop);
  CHECK(stream.idle());
  fake().failNext = 600; // hipErrorNotReady
  CHECK_FALSE(stream.idle());
  fx::Stream other = std::move(stream);
  CHECK(other.native() != nullptr);
}

TEST_CASE("a stream or an event that was moved from is an error with the user's line") {
  fx::Stream stream, other = std::move(stream);
  fx::Event event, later = std::move(event);
  using Catch::Contains;
#define MOVED Contains("device_test.cpp") && Contains("a Stream that was moved from is used")
  CHECK_THROWS_WITH(stream.native(), MOVED);
  CHECK_THROWS_WITH(stream.synchronize(), MOVED);
  CHECK_THROWS_WITH(stream.idle(), MOVED);
  CHECK_THROWS_WITH(stream.wait(later), MOVED);
  CHECK_THROWS_WITH(fx::StreamRef(stream), MOVED);
  CHECK_THROWS_WITH(later.record(stream), MOVED);
#undef MOVED
#define MOVED Contains("device_test.cpp") && Contains("an Event that was moved from is used")
  CHECK_THROWS_WITH(event.native(), MOVED);
  CHECK_THROWS_WITH(event.record(other), MOVED);
  CHECK_THROWS_WITH(event.synchronize(), MOVED);
  CHECK_THROWS_WITH(event.reached(), MOVED);
  CHECK_THROWS_WITH(later.milliseconds_since(event), MOVED);
  CHECK_THROWS_WITH(event.milliseconds_since(later), MOVED);
  CHECK_THROWS_WITH(other.wait(event), MOVED);
#undef MOVED

  stream = std::move(other); // as good as new
  stream.synchronize();
  event = std::move(later);
  event.record(stream);
}

TEST_CASE("a reset takes what the device had, and that alone") {
  fx::Stream first{fx::Device(0)}, second{fx::Device(1)};
  fx::Event event;
  fx::DeviceArray<int> array({4});
  const int destroyed = fake().streamsDestroyed, allocations = fake().allocations;
  const int strays = fake().strayReleases;
  fx::Device(0).reset();
  CHECK(fake().resets == 1);
  using Catch::Contains;
  CHECK_THROWS_WITH(first.synchronize(), Contains("whose device was reset"));
  CHECK_THROWS_WITH(fx::StreamRef(first), Contains("whose device was reset"));
  CHECK_THROWS_WITH(event.synchronize(), Contains("whose device was reset"));
  CHECK_THROWS_WITH(array.to_host(), Contains("the array's device was reset"));
  CHECK_THROWS_WITH(array.tensor(), Contains("the array's device was reset"));
  second.synchronize();
  // What is gone is not given back a second time: its address may be another's.
  first = fx::Stream(fx::Device(0));
  first.synchronize();
  array = fx::DeviceArray<int>({4});
  array.fill(1);
  CHECK(fake().streamsDestroyed == destroyed);
  CHECK(fake().allocations == allocations);
  CHECK(fake().strayReleases == strays);
}

TEST_CASE("a graph on a driver without graphs is an error with the user's line") {
  fx::Stream stream;
  CHECK_THROWS_WITH(fx::Graph::capture(stream, [](const fx::Stream &) {}),
                    Catch::Contains("device_test.cpp") && Catch::Contains("has no graphs") &&
                        Catch::Contains("put the work into the stream each time"));
}

TEST_CASE("an error of HIP carries its code, its name and what was being done") {
  fx::Stream stream;
  fake().failNext = 719; // hipErrorLaunchFailure
  const unsigned line = __LINE__ + 2;
  try {
    stream.synchronize();
    FAIL("no error");
  } catch (const fx::RuntimeError &error) {
    CHECK(error.code() == 719);
    CHECK(error.where().line == line);
    CHECK_THAT(
        error.what(),
        Catch::Contains("waiting for a stream: hipErrorLaunchFailure (719): as the test asked"));
  }
}

TEST_CASE("launches are counted on the emulator alone") {
  CHECK_THROWS_WITH(fx::Device(0).count_launches([] { FAIL("called"); }),
                    Catch::Contains("has no counters"));
}
