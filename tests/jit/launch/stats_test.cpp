#include "scale.h"

#include <flydsl/stats.h>

#include <catch2/catch.hpp>

#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace fx = flydsl;

TEST_CASE("what a kernel costs is counted and told, in order") {
  std::vector<std::string> told;
  auto subscription = fx::on_event([&](const fx::EventInfo &event) {
    static const char *const names[] = {"traced", "compiled", "memory", "disk", "loaded", "failed"};
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
  const std::string text = fx::prometheus_text(stats);
  // https://prometheus.io/docs/instrumenting/exposition_formats, "Text-based format".
  const std::regex line("(# HELP [a-z_]+ [^\\n]+|# TYPE [a-z_]+ counter|[a-z_]+_total [0-9.e+-]+)");
  std::istringstream lines(text);
  int samples = 0;
  for (std::string one; std::getline(lines, one);) {
    CHECK(std::regex_match(one, line));
    samples += one[0] != '#';
  }
  CHECK(samples == 12);
  CHECK(text.back() == '\n');
  using Catch::Contains;
  CHECK_THAT(text, Contains("\nflydsl_compiles_total 3\n") &&
                       Contains("\nflydsl_disk_read_bytes_total 12345678901234567890\n") &&
                       Contains("\nflydsl_compile_seconds_total 1.2505\n") &&
                       Contains("# TYPE flydsl_compiles_total counter\n"));
}
