// Timelines of kernels on the emulator: what is recorded, where it goes, and what finds no room.
#include "run.h"

#include <flydsl/kernel/ktrace.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace fx = flydsl;
using fx::ktrace::Kind;

namespace {

/// Sets an environment variable for a while.
struct Variable {
  Variable(const char *name, const char *value) : name(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name); }
  const char *name;
};

/// Two waves of 64 a block; each marks, counts in a range, and times a loop by a token.
auto timed(bool records) {
  fx::KernelHints hints;
  hints.ktrace = records;
  return fx::Kernel{"timed",
                    [](fx::Tensor y, fx::Int32 n) {
                      auto tid = fx::thread_idx().x;
                      fx::ktrace::mark("start", n);
                      auto whole = fx::ktrace::range_start("whole");
                      fx::ktrace::range_push("sum");
                      fx::Var<fx::Float32> sum(0.0f);
                      for (fx::Int32 i : fx::range(0, n, 1))
                        sum += i.to(fx::f32);
                      fx::ktrace::range_pop();
                      // One lane of the second wave alone.
                      fx::if_(tid == 100, [&] { fx::ktrace::mark("one", sum.get()); });
                      y(fx::block_idx().x * 128 + tid) = sum;
                      fx::ktrace::range_stop(whole, true);
                    },
                    hints};
}

} // namespace

TEST_CASE("a launch's events are each wave's, in order, with payloads and times") {
  fx::ktrace::Capture capture;
  const fx::Kernel kernel = timed(true);
  fx::DeviceArray<float> y({384});
  kernel(y, 10).launch({.grid = 3, .block = 128});
  CHECK(y.to_host()[383] == 45.0f);

  const std::vector<fx::ktrace::Launch> launches = capture.launches();
  REQUIRE(launches.size() == 1);
  const fx::ktrace::Launch &launch = launches[0];
  CHECK(launch.kernel == "timed");
  CHECK(launch.grid.x == 3);
  CHECK(launch.dropped == 0);
  const int waveSize = fx::Device::current().target().wave_size(), waves = 128 / waveSize;
  std::size_t at = 0;
  for (int block = 0; block < 3; ++block)
    for (int wave = 0; wave < waves; ++wave) {
      const bool hasOne = wave == 100 / waveSize;
      const std::size_t first = at, count = hasOne ? 6 : 5;
      REQUIRE(launch.events.size() >= at + count);
      std::vector<Kind> kinds;
      for (; at < first + count; ++at) {
        const fx::ktrace::Event &event = launch.events[at];
        kinds.push_back(event.kind);
        CHECK(event.block == std::array<std::int64_t, 3>{block, 0, 0});
        CHECK(event.wave == unsigned(wave));
        if (at > first)
          CHECK(event.ticks >= launch.events[at - 1].ticks);
      }
      std::vector<Kind> expected{Kind::mark, Kind::range_start, Kind::range_push, Kind::range_pop};
      if (hasOne)
        expected.push_back(Kind::mark);
      expected.push_back(Kind::range_stop);
      CHECK(kinds == expected);
      CHECK(launch.events[first].name == "start");
      CHECK(std::get<std::int64_t>(launch.events[first].payload) == 10);
      CHECK(launch.events[first + 1].name == "whole");
      CHECK(launch.events[first + 1].payload.index() == 0);
      // The loop takes time.
      CHECK(launch.events[first + 3].ticks > launch.events[first + 2].ticks);
      if (hasOne)
        CHECK(std::get<float>(launch.events[first + 4].payload) == 45.0f);
      CHECK(launch.events[at - 1].start == first + 1);
      CHECK(std::get<bool>(launch.events[at - 1].payload));
    }
  CHECK(at == launch.events.size());
}

TEST_CASE("the emulator's clock is its estimate: equal launches take equal times") {
  fx::ktrace::Capture capture;
  const fx::Kernel kernel = timed(true);
  fx::DeviceArray<float> y({128});
  kernel(y, 100).launch({.grid = 1, .block = 128});
  kernel(y, 100).launch({.grid = 1, .block = 128});
  kernel(y, 1000).launch({.grid = 1, .block = 128});
  const auto launches = capture.launches();
  REQUIRE(launches.size() == 3);
  auto loop = [](const fx::ktrace::Launch &l) {
    return double(l.events[3].ticks) - double(l.events[2].ticks);
  };
  CHECK(std::abs(loop(launches[0]) - loop(launches[1])) <= 1); // ticks are rounded down
  CHECK(loop(launches[2]) > 8 * loop(launches[0]));
}

TEST_CASE("events that are off cost nothing: the code is that without them") {
  const fx::Kernel off = timed(false);
  fx::KernelHints none;
  const fx::Kernel plain{"timed",
                         [](fx::Tensor y, fx::Int32 n) {
                           auto tid = fx::thread_idx().x;
                           fx::Var<fx::Float32> sum(0.0f);
                           for (fx::Int32 i : fx::range(0, n, 1))
                             sum += i.to(fx::f32);
                           fx::if_(tid == 100, [&] {});
                           y(fx::block_idx().x * 128 + tid) = sum;
                         },
                         none};
  fx::DeviceArray<float> y({128});
  for (const char *arch : {"gfx942", "gfx950", "gfx1201"}) {
    CAPTURE(arch);
    CHECK(off(y, 10).compile({.block = 128, .arch = arch}).isa() ==
          plain(y, 10).compile({.block = 128, .arch = arch}).isa());
  }
  fx::ktrace::Capture capture;
  off(y, 10).launch({.grid = 1, .block = 128});
  CHECK(capture.launches().empty());
}

TEST_CASE("events that find no room are counted") {
  Variable small("FLYDSL_KTRACE_BUFFER_BYTES", "256"); // eight records
  fx::ktrace::Capture capture;
  const fx::Kernel kernel{"many",
                          [](fx::Tensor y) {
                            for (fx::Int32 i : fx::range(0, 10, 1))
                              fx::ktrace::mark("turn", i);
                            y(fx::thread_idx().x) = 1.0f;
                          },
                          {.ktrace = true}};
  fx::DeviceArray<float> y({32});
  kernel(y).launch({.grid = 1, .block = 32});
  const auto launches = capture.launches();
  REQUIRE(launches.size() == 1);
  CHECK(launches[0].events.size() == 8);
  CHECK(launches[0].dropped == 2);
  CHECK_THAT(fx::ktrace::chrome_trace(launches), Catch::Contains("2 events dropped"));
}

TEST_CASE("one block of a grid records where the variable names it") {
  Variable only("FLYDSL_KTRACE_BLOCKS", "1,0,0");
  fx::ktrace::Capture capture;
  fx::DeviceArray<float> y({384});
  const fx::Kernel kernel = timed(true);
  kernel(y, 1).launch({.grid = 3, .block = 128});
  const auto launches = capture.launches();
  REQUIRE(launches.size() == 1);
  CHECK(launches[0].dropped == 0);
  REQUIRE_FALSE(launches[0].events.empty());
  for (const fx::ktrace::Event &event : launches[0].events)
    CHECK(event.block == std::array<std::int64_t, 3>{1, 0, 0});

  Variable wrong("FLYDSL_KTRACE_BLOCKS", "1;0;0");
  CHECK_THROWS_WITH(kernel(y, 1).launch({.grid = 3, .block = 128}),
                    Catch::Contains("FLYDSL_KTRACE_BLOCKS is x,y,z, the numbers of one block, not "
                                    "'1;0;0'"));
}

TEST_CASE("a Chrome trace nests what was pushed and pairs what was started") {
  fx::ktrace::Capture capture;
  const fx::Kernel kernel = timed(true);
  fx::DeviceArray<float> y({128});
  kernel(y, 10).launch({.grid = 1, .block = 128});
  const auto trace = nlohmann::json::parse(fx::ktrace::chrome_trace(capture.launches()));
  std::map<std::string, int> phases;
  double last = -1;
  for (const auto &event : trace["traceEvents"]) {
    phases[event["ph"].get<std::string>()]++;
    CHECK(event["pid"] == 1);
    if (event.contains("ts")) {
      CHECK(event["ts"].get<double>() >= 0);
      last = std::max(last, event["ts"].get<double>());
    }
  }
  CHECK(last > 0);
  const int waves = 128 / fx::Device::current().target().wave_size();
  CHECK(phases["M"] == 1 + waves);
  CHECK(phases["B"] == waves);
  CHECK(phases["E"] == waves);
  CHECK(phases["b"] == waves);
  CHECK(phases["e"] == waves);
  CHECK(phases["i"] == waves + 1);
}

TEST_CASE("a kernel that records events is not compiled ahead of time") {
  const fx::Kernel kernel = timed(true);
  fx::DeviceArray<float> y({128});
  CHECK_THROWS_WITH(kernel(y, 10).export_aot("never.flyaot", {.block = 128, .archs = {"gfx942"}}),
                    Catch::Contains("records events (ktrace), which a kernel that is compiled "
                                    "ahead of time can't"));
}
