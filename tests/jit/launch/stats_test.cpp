#include "scale.h"

#include <flydsl/host/stats.h>

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace fx = flydsl;

TEST_CASE("what a kernel costs is counted and told, in order") {
  std::vector<std::string> told;
  auto subscription = fx::on_event([&](const fx::EventInfo &event) {
    static const char *const names[] = {"traced", "compiled", "memory", "disk",
                                        "loaded", "failed",   "remote"};
    told.push_back(std::string(event.kernel) + " " + names[static_cast<int>(event.kind)]);
  });
  const fx::Stats before = fx::stats();
  auto x = fx::DeviceArray<float>::random({64}, 1);
  const auto axpy = makeAxpy("axpy_told");
  axpy(x, x, 1.0f).launch({.block = axpyBlock});
  axpy(x, x, 1.0f).launch({.block = axpyBlock});
  fx::Device::current().synchronize();
  CHECK(told ==
        std::vector<std::string>{"axpy_told traced", "axpy_told compiled", "axpy_told loaded"});
  const fx::Stats after = fx::stats();
  CHECK(after.traces == before.traces + 1);
  CHECK(after.compiles == before.compiles + 1);
  CHECK(after.bytes_compiled > before.bytes_compiled);
  CHECK(after.compile_milliseconds > before.compile_milliseconds);
}

TEST_CASE("a mistake in a body is a failure with the user's line") {
  const fx::Stats before = fx::stats();
  const fx::Kernel wrong{"wrong", [](fx::Tensor x) {
                           x.store(fx::make_rmem_tensor(fx::make_shape(3), fx::f64).load());
                         }};
  auto x = fx::DeviceArray<float>::random({64}, 1);
  try {
    wrong(x).launch({.block = 64});
    FAIL("no error");
  } catch (const fx::TraceError &error) {
    CHECK_THAT(error.what(), Catch::Contains("stats_test.cpp"));
  }
  CHECK(fx::stats().failures == before.failures + 1);
}

TEST_CASE("the emulator counts a kernel's launches and estimates their cycles") {
  auto x = fx::DeviceArray<float>::random({axpyBlock * 4}, 1);
  auto y = fx::DeviceArray<float>::random({axpyBlock * 4}, 2);
  const auto axpy = makeAxpy("axpy_counted");
  const fx::Device device = fx::Device::current();
  axpy(x, y, 1.0f).launch({.grid = 4, .block = axpyBlock});
  auto launches = device.count_launches([&] {
    axpy(x, y, 1.0f).launch({.grid = 4, .block = axpyBlock});
    axpy(x, y, 1.0f).launch({.grid = 2, .block = axpyBlock});
  });
  axpy(x, y, 1.0f).launch({.grid = 4, .block = axpyBlock});
  REQUIRE(launches.size() == 2);
  CHECK(launches[0].kernel == "axpy_counted");
  CHECK(launches[0].grid[0] == 4);
  CHECK(launches[0]["SQ_ITEMS"] == axpyBlock * 4);
  CHECK(launches[1]["SQ_WAVES"] * 2 == launches[0]["SQ_WAVES"]);
  CHECK(launches[1]["globalBytesWritten"] == axpyBlock * 2 * sizeof(float));
  CHECK(launches[0].estimate.cycles > 0);
  CHECK(launches[0].estimate.waves_per_simd > 0);
  CHECK_THAT(launches[0].str(), Catch::Contains("estimate: ") && Catch::Contains("SQ_WAVES"));
  CHECK_THROWS_AS(launches[0]["SQ_NOTHING"], fx::RuntimeError);
}

TEST_CASE("The counters are text that Prometheus reads") {
  fx::Stats stats;
  stats.compiles = 3;
  stats.bytes_from_disk = 12345678901234567890u;
  stats.compile_milliseconds = 1250.5;
  stats.remote_hits = 4;
  stats.remote_milliseconds = 500;
  const std::string text = fx::prometheus_text(stats);
  // https://prometheus.io/docs/instrumenting/exposition_formats, "Text-based format".
  const std::regex line("(# HELP [a-z_]+ [^\\n]+|# TYPE [a-z_]+ counter|[a-z_]+_total [0-9.e+-]+)");
  std::istringstream lines(text);
  int samples = 0;
  for (std::string one; std::getline(lines, one);) {
    CHECK(std::regex_match(one, line));
    samples += one[0] != '#';
  }
  CHECK(samples == 20);
  CHECK(text.back() == '\n');
  using Catch::Contains;
  CHECK_THAT(text, Contains("\nflydsl_compiles_total 3\n") &&
                       Contains("\nflydsl_disk_read_bytes_total 12345678901234567890\n") &&
                       Contains("\nflydsl_compile_seconds_total 1.2505\n") &&
                       Contains("\nflydsl_remote_hits_total 4\n") &&
                       Contains("\nflydsl_remote_seconds_total 0.5\n") &&
                       Contains("# TYPE flydsl_compiles_total counter\n"));
}

namespace {
/// What was counted since `before`: traces, compiles, hits in memory and on disk, loads.
std::vector<std::uint64_t> since(const fx::Stats &before) {
  const fx::Stats now = fx::stats();
  return {now.traces - before.traces, now.compiles - before.compiles,
          now.memory_hits - before.memory_hits, now.disk_hits - before.disk_hits,
          now.loads - before.loads};
}
using Counted = std::vector<std::uint64_t>;
} // namespace

TEST_CASE("A launch after compile() of its signature traces nothing and looks nothing up") {
  auto x = fx::DeviceArray<float>::random({64}, 1);
  const auto axpy = makeAxpy("axpy_warm");
  const fx::Stats before = fx::stats();
  auto compiled = axpy(x, x, 1.0f).compile({.block = axpyBlock});
  CHECK(since(before) == Counted{1, 1, 0, 0, 0});
  axpy(x, x, 1.0f).launch({.block = axpyBlock});
  CHECK(since(before) == Counted{1, 1, 0, 0, 1});
  // What compile() returned launches what is loaded already, and copies of the kernel are warm.
  compiled(x, x, 1.0f).launch({.block = axpyBlock});
  const auto copy = axpy;
  copy(x, x, 1.0f).launch({.block = axpyBlock});
  CHECK(since(before) == Counted{1, 1, 0, 0, 1});
  // compile() traces for its IR, whatever is there; its code is not loaded again.
  auto again = axpy(x, x, 1.0f).compile({.block = axpyBlock});
  CHECK_FALSE(again.print_ir().empty());
  again(x, x, 1.0f).launch({.block = axpyBlock});
  CHECK(since(before) == Counted{2, 1, 1, 0, 1});
  // Another block is another signature.
  axpy(x, x, 1.0f).launch({.block = 32});
  CHECK(since(before) == Counted{3, 2, 1, 0, 2});
  fx::Device::current().synchronize();
}

TEST_CASE(
    "With load = true the first launch does not load either, on the device that was current") {
  REQUIRE(fx::Device::count() == 2);
  auto x = fx::DeviceArray<float>::random({64}, 1);
  const auto axpy = makeAxpy("axpy_loaded");
  const fx::Stats before = fx::stats();
  auto compiled = axpy(x, x, 1.0f).compile({.block = axpyBlock, .load = true});
  CHECK(since(before) == Counted{1, 1, 0, 0, 1});
  axpy(x, x, 1.0f).launch({.block = axpyBlock});
  compiled(x, x, 1.0f).launch({.block = axpyBlock});
  CHECK(since(before) == Counted{1, 1, 0, 0, 1});
  // The other device has the same target, so its first launch loads and does no more.
  fx::Device(1).make_current();
  fx::Stream other{fx::Device(1)};
  auto y = fx::DeviceArray<float>::random({64}, 1);
  axpy(y, y, 0.0f).launch({.block = axpyBlock, .stream = other});
  other.synchronize();
  CHECK(since(before) == Counted{1, 1, 0, 0, 2});
  fx::Device(0).make_current();
  fx::Device::current().synchronize();
  // Code for another target can't be loaded here.
  CHECK_THROWS_AS(makeAxpy("axpy_far")(x, x, 1.0f).compile({.arch = "gfx950", .load = true}),
                  fx::RuntimeError);
}

TEST_CASE("First launches of one signature by many threads share one trace, compile and load") {
  auto x = fx::DeviceArray<float>::random({64}, 1);
  std::atomic<int> ready{0}, bodies{0};
  constexpr int threads = 8;
  const fx::Kernel kernel{"axpy_rush", [&](fx::Tensor t, fx::Float32 a) {
                            ++bodies;
                            std::this_thread::sleep_for(std::chrono::milliseconds(20));
                            auto i = fx::thread_idx().x;
                            t(i) = a * t(i);
                          }};
  const fx::Stats before = fx::stats();
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      ++ready;
      while (ready != threads)
        std::this_thread::yield();
      fx::Stream stream{fx::Device(0)};
      if (t == 0) // who compiles ahead meanwhile is in the same race
        (void)kernel(x, 1.0f).compile({.block = 64, .load = true});
      else
        kernel(x, 1.0f).launch({.block = 64, .stream = stream});
      stream.synchronize();
    });
  for (std::thread &thread : all)
    thread.join();
  // If a launch begins before the compile(), that traces once more, for its IR.
  const Counted counted = since(before);
  CHECK(bodies == static_cast<int>(counted[0]));
  CHECK(counted[0] <= 2);
  CHECK(counted[1] == 1);
  CHECK(counted[2] == counted[0] - 1);
  CHECK(counted[4] == 1);
}

TEST_CASE("A first launch that fails fails for all who wait for it, and is tried again after") {
  auto x = fx::DeviceArray<float>::random({64}, 1);
  std::atomic<int> ready{0}, failed{0}, bodies{0};
  std::atomic<bool> good{false};
  const fx::Kernel kernel{"axpy_fails", [&](fx::Tensor t, fx::Float32 a) {
                            ++bodies;
                            std::this_thread::sleep_for(std::chrono::milliseconds(20));
                            if (!good)
                              throw std::runtime_error("not yet");
                            t(fx::thread_idx().x) = a;
                          }};
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&] {
      ++ready;
      while (ready != 4)
        std::this_thread::yield();
      try {
        kernel(x, 1.0f).launch({.block = 64});
      } catch (const std::exception &error) {
        failed += std::string(error.what()).find("not yet") != std::string::npos;
      }
    });
  for (std::thread &thread : all)
    thread.join();
  CHECK(failed == 4);
  CHECK(bodies >= 1);
  good = true;
  kernel(x, 1.0f).launch({.block = 64});
  fx::Device::current().synchronize();
  CHECK(x.to_host()[5] == 1.0f);
}
