// The estimate of a launch's time from sums that are given.
#include "emulator/hip/report/estimate.h"
#include "emulator/observe/memory_times.h"
#include "target/products.h"

#include <catch2/catch.hpp>

namespace {

/// A launch of workgroups of four waves on a device. Each wave takes a cycle.
struct EstimatedLaunch {
  const flyemu::hip::DeviceFigures *on;
  flyemu::loader::KernelNotes kernel = {};
  flyemu::loader::LaunchShape shape = {};
  flyemu::Timing timing = {};
  flyemu::Counters counters = {};

  EstimatedLaunch(const flyemu::hip::DeviceFigures &on, uint32_t groups) : on(&on) {
    shape.grid = {groups, 1, 1};
    shape.block = {256, 1, 1};
    timing.groups = timing.groupCycles = groups;
    counters.SQ_WAVES = groups * 4;
  }
  flyemu::hip::Estimate estimate(const flyemu::TouchSample &sample, bool warm = false) const {
    return flyemu::hip::estimate(counters, timing, sample, *on, kernel, shape, warm);
  }
  double microseconds(bool warm = false) const { return estimate({}, warm).microseconds; }
  /// Bytes that are read once.
  void reads(uint64_t bytes) { counters.globalBytesTouched = counters.globalReadFootprint = bytes; }
};

} // namespace

TEST_CASE("The estimate's time has the launch itself, what memory sustains and the clock that "
          "power leaves") {
  using namespace flyemu;
  const hip::DeviceFigures &mi300x = *hip::findDeviceFigures("gfx942");
  const hip::DeviceFigures &mi325x = hip::figuresOf(*flydsl::detail::findProduct("MI325X"));
  EstimatedLaunch launch(mi300x, 304);
  const double least = launch.microseconds();
  CHECK(least > 1.5); // the shortest kernel that a profiler has seen took 1.79 us
  CHECK(least < 3.5);

  // Reading 5.3 GB takes a millisecond at the peak of MI300X, and longer as it is.
  launch.reads(5'300'000'000);
  const double stream = launch.microseconds();
  CHECK(stream - least == Approx(1000 / 0.79).epsilon(0.001));
  launch.on = &mi325x;
  CHECK(launch.microseconds() < stream);
  launch.on = &mi300x;

  // Products of 2.1 million cycles take a millisecond at the peak clock, and power leaves 57 % of it.
  launch.reads(0);
  launch.counters.SQ_INSTS_MFMA = 304 * 4 * (2'100'000 / 16);
  launch.timing.matrixCycles = uint64_t(304) * 4 * 2'100'000;
  const double bf16 = launch.microseconds();
  CHECK(bf16 - least == Approx(1000 / 0.57).epsilon(0.001));
  launch.counters.SQ_INSTS_VALU_MFMA_F8 = launch.counters.SQ_INSTS_MFMA;
  CHECK(launch.microseconds() - least == Approx(1000 / 0.54).epsilon(0.001));
  launch.counters.SQ_INSTS_VALU_MFMA_F8 = 0;
  launch.counters.SQ_INSTS_VALU_MFMA_F16 = launch.counters.SQ_INSTS_MFMA / 2; // the rest is bf16
  CHECK(launch.microseconds() - least == Approx(500 / 0.53 + 500 / 0.57).epsilon(0.001));
}

TEST_CASE("Instructions on 8 bits of half the rate leave a higher clock to MI355X") {
  using namespace flyemu;
  EstimatedLaunch launch(*hip::findDeviceFigures("gfx950"), 256);
  const double least = launch.microseconds();
  launch.timing.matrixCycles = uint64_t(256) * 4 * 2'400'000; // a millisecond at the peak clock
  launch.counters.SQ_INSTS_MFMA = launch.counters.SQ_INSTS_VALU_MFMA_I8 = 1000;
  CHECK(launch.microseconds() - least == Approx(1000 / 0.73).epsilon(0.001));
  launch.timing.matrixHalf8 = 1000;
  CHECK(launch.microseconds() - least == Approx(1000 / 0.81).epsilon(0.001));
  launch.timing.matrixHalf8 = 500;
  CHECK(launch.microseconds() - least == Approx(500 / 0.73 + 500 / 0.81).epsilon(0.001));
}

TEST_CASE(
    "Memory serves reads faster than copies, and lines that are read and written move twice") {
  using namespace flyemu;
  // In 10^9 bytes, and the microseconds that they take beyond those of a launch without any.
  const auto of = [&](uint64_t read, uint64_t written, uint64_t touched) {
    EstimatedLaunch launch(*hip::findDeviceFigures("gfx950"), 256);
    const double least = launch.microseconds();
    Counters &counters = launch.counters;
    counters.globalReadFootprint = read * 1'000'000'000;
    counters.globalWriteFootprint = written * 1'000'000'000;
    counters.globalBytesTouched = touched * 1'000'000'000;
    return launch.microseconds() - least;
  };
  // Of MI355X's 8 TB/s reads get 78 % and copies 72 %.
  CHECK(of(8, 0, 8) == Approx(1000 / 0.78).epsilon(0.001));
  CHECK(of(4, 4, 8) == Approx(1000 / 0.72).epsilon(0.001));
  CHECK(of(4, 4, 4) == Approx(1000 / 0.72).epsilon(0.001)); // in place
  CHECK(of(0, 8, 8) == Approx(1000 / 0.72).epsilon(0.001));
  CHECK(of(12, 4, 16) == Approx(1000 / 0.72 + 1000 / 0.78).epsilon(0.001));
}

TEST_CASE("Loads that keep no lines have the bandwidth that was measured with them") {
  using namespace flyemu;
  const auto of = [](const char *product, uint64_t streamed, uint64_t written = 0) {
    EstimatedLaunch launch(hip::figuresOf(*flydsl::detail::findProduct(product)), 256);
    const double least = launch.microseconds();
    launch.reads(8'000'000'000);
    launch.counters.globalStreamFootprint = streamed * 1'000'000'000;
    launch.counters.globalWriteFootprint = written * 1'000'000'000;
    return launch.microseconds() - least;
  };
  CHECK(of("MI355X", 8) == Approx(1000 / 0.86).epsilon(0.001));
  CHECK(of("MI355X", 4) == Approx(500 / 0.86 + 500 / 0.78).epsilon(0.001));
  CHECK(of("MI355X", 8, 8) == of("MI355X", 0, 8)); // copies are what they are
  CHECK(of("MI325X", 8) == Approx(8000 / (0.84 * 6)).epsilon(0.001));
  CHECK(of("MI300X", 8) == of("MI300X", 0)); // not known
  for (const flydsl::detail::ProductRow &row : flydsl::detail::allProducts()) {
    INFO(row.name);
    CHECK(streamPercent(row) >= row.sustained.readPercent);
    CHECK(streamPercent(row) <= 100);
  }
}

TEST_CASE("What the last round of workgroups adds by atomic operations comes after all else, where "
          "dies meet") {
  using namespace flyemu;
  const auto of = [](const char *product, uint32_t groups, uint64_t added, uint64_t atOneLine = 0) {
    EstimatedLaunch launch(hip::figuresOf(*flydsl::detail::findProduct(product)), groups);
    launch.kernel.groupSegmentSize = 64 << 10;                // one workgroup of a unit at a time
    launch.timing.groupCycles = groups * uint64_t(1'000'000); // loads hide what they can
    const double least = launch.microseconds();
    launch.counters.globalAtomicBytes = added;
    launch.counters.globalAtomicGroups = atOneLine;
    return launch.microseconds() - least;
  };
  // Lines go both ways at the bandwidth of copies, 77 % of 5.3 TB/s.
  CHECK(of("MI300X", 304, 5'300'000) == Approx(2 / 0.77).epsilon(0.001));
  CHECK(of("MI300X", 304, 0) == 0);
  // Of several rounds it is the last one's share.
  CHECK(of("MI300X", 304 * 4, 5'300'000) == Approx(0.5 / 0.77).epsilon(0.001));
  CHECK(of("MI210", 104, 5'300'000) == 0); // its one die adds in L2
  // Workgroups wait for each other at a line, 4 ns each.
  CHECK(of("MI300X", 304, 0, 1000) == Approx(4).epsilon(0.001));
  CHECK(of("MI300X", 304 * 4, 0, 1000) == Approx(1).epsilon(0.001));
  CHECK(of("MI210", 104, 0, 1000) == 0);
}

TEST_CASE("Lines that loads do not keep are fetched again by the next workgroup") {
  using namespace flyemu;
  EstimatedLaunch launch(*hip::findDeviceFigures("gfx942"), 16);
  launch.reads(5'300'000'000);
  const auto fetches = [&](bool firstStreams, bool secondStreams) {
    TouchSample sample;
    for (uint64_t group : {0, 8}) { // of one die, one after another
      sample.groups.push_back({.group = group, .cycles = 1000, .seen = 100, .touches = {}});
      for (uint64_t i = 0; i < 100; ++i)
        sample.groups.back().touches.push_back(
            {.line = i, .time = i + group * 100, .streams = group ? secondStreams : firstStreams});
    }
    return launch.estimate(sample).reuse.fetches();
  };
  CHECK(fetches(false, false) == 1);
  CHECK(fetches(false, true) == 1); // what is there serves it
  CHECK(fetches(true, false) == 2);
  CHECK(fetches(true, true) == 2);
}

TEST_CASE(
    "Lines that two dies fetch come from memory once, and again from the cache in front of it") {
  using namespace flyemu;
  EstimatedLaunch launch(*hip::findDeviceFigures("gfx942"), 16);
  launch.reads(5'300'000'000);
  // All of a die's workgroups touch the same lines, and so do those of the other dies, or not.
  const auto microseconds = [&](bool shared) {
    TouchSample sample;
    for (uint64_t group = 0; group < 16; ++group) {
      sample.groups.push_back({.group = group, .cycles = 1000, .seen = 100, .touches = {}});
      for (uint64_t i = 0; i < 100; ++i)
        sample.groups.back().touches.push_back(
            {.line = (shared ? 0 : group % 8 * 1000) + i, .time = i});
    }
    return launch.estimate(sample);
  };
  const hip::Estimate apart = microseconds(false), shared = microseconds(true);
  CHECK(apart.reuse.fetches() == 1);
  CHECK(shared.reuse.fetches() == 8);
  CHECK(shared.reuse.memoryFetches() == 1);
  // Seven times more, at the 6,423 GB/s that AMD's benchmark reads of MI300X's last cache.
  CHECK(shared.microseconds - apart.microseconds == Approx(7000 * 5300. / 6423).epsilon(0.001));
}

TEST_CASE("A warm last cache serves what it has room for") {
  using namespace flyemu;
  const auto of = [](uint64_t bytes, bool warm) {
    EstimatedLaunch launch(*hip::findDeviceFigures("gfx942"), 304);
    launch.reads(bytes);
    return launch.microseconds(warm);
  };
  CHECK(of(200'000'000, false) - of(0, false) == Approx(200e6 / (0.79 * 5.3e6)).epsilon(0.001));
  CHECK(of(200'000'000, true) - of(0, true) == Approx(200e6 / 6.423e6).epsilon(0.001));
  // Where lines are in the cache, addresses are translated: 1,900 cycles of 2,400 MHz without 525 ns.
  CHECK(of(0, false) - of(0, true) == Approx(1.9 / 2.4 - 0.525).epsilon(0.001));
  CHECK(of(300'000'000, true) == of(300'000'000, false));
}

TEST_CASE("Latencies beyond L2 are nanoseconds, whatever the engine's clock is") {
  using namespace flyemu;
  const auto cycles = [](const char *name, bool warm) {
    return memoryLatency(*flydsl::detail::findProduct(name), warm);
  };
  // RRZE's pointer chases: 880 and 456 cycles of 2,092 MHz on MI300X, 588 of 1,700 MHz on MI210.
  CHECK(cycles("MI300X", false) == Approx(880 * 2100 / 2092.).epsilon(0.002));
  CHECK(cycles("MI300X", true) == Approx(456 * 2100 / 2092.).epsilon(0.002));
  CHECK(cycles("MI210", false) == 588);
  CHECK(cycles("MI210", true) == 588); // without such a cache
  CHECK(cycles("MI308X", false) == Approx(cycles("MI300X", false) * 1420. / 2100).epsilon(0.002));
}

TEST_CASE("The clock that power leaves to matrix units is not memory's") {
  using namespace flyemu;
  EstimatedLaunch launch(*hip::findDeviceFigures("gfx942"), 304);
  launch.timing.matrixCycles = uint64_t(304) * 4 * 2'100'000;
  launch.counters.SQ_INSTS_MFMA = 1000;
  const double products = launch.microseconds();
  // A stream that alone takes ten times as long: the products hide behind it.
  launch.reads(uint64_t(10 * 1.754e-3 * 4.187e12));
  const double both = launch.microseconds();
  CHECK(both == Approx(10 * products).epsilon(0.01));
}
