// Counters and estimates of launches by the emulator's own C functions. A configuration that is
// worse in one respect must get a worse counter and a slower estimate.
#include "support.h"

#include <flydsl/emulator.h>

#include <cstring>
#include <functional>
#include <string>

namespace {

/// The launches that `work` makes on device 0, counted.
std::vector<flydslEmulatorLaunch> counted(const std::function<void()> &work) {
  HIP_OK(hipDeviceSynchronize());
  const int64_t first = flydslEmulatorCountedLaunches(0);
  REQUIRE(flydslEmulatorCountLaunches(0, 1) == 0);
  work();
  HIP_OK(hipDeviceSynchronize());
  REQUIRE(flydslEmulatorCountLaunches(0, 0) == 0);
  std::vector<flydslEmulatorLaunch> launches;
  for (int64_t i = first; i < flydslEmulatorCountedLaunches(0); ++i) {
    flydslEmulatorLaunch launch = {};
    launch.size = sizeof launch;
    REQUIRE(flydslEmulatorGetLaunch(0, static_cast<uint64_t>(i), &launch) == 0);
    CHECK(launch.index == static_cast<uint64_t>(i));
    launches.push_back(launch);
  }
  return launches;
}

uint64_t value(const flydslEmulatorLaunch &launch, const std::string &name) {
  for (uint32_t i = 0; i < launch.counters; ++i)
    if (flydslEmulatorCounterName(i) == name)
      return launch.values[i];
  FAIL("no counter " << name);
  return 0;
}

} // namespace

TEST_CASE("Counted launches say who ran, what ran and how much", "[counters]") {
  TestModule module;
  DeviceBuffer<int> out(256);
  auto launches = counted([&] {
    HIP_OK(launch1D(module.function("fill"), 2, 128, nullptr, out.data, 7, 256));
    HIP_OK(launch1D(module.function("fill"), 1, 64, nullptr, out.data, 8, 64));
  });
  REQUIRE(launches.size() == 2);
  CHECK(std::string(launches[0].kernel) == "fill");
  CHECK((launches[0].grid[0] == 2 && launches[0].block[0] == 128 && launches[1].grid[0] == 1));
  CHECK(value(launches[0], "SQ_WAVES") == 4);
  CHECK(value(launches[0], "SQ_ITEMS") == 256);
  CHECK(value(launches[0], "SQ_INSTS_VMEM_WR") == 4);
  CHECK(value(launches[0], "SQ_INSTS_VMEM") == 4);
  CHECK(value(launches[0], "globalBytesWritten") == 1024);
  CHECK(value(launches[0], "globalBytesTouched") == 1024);
  CHECK(value(launches[1], "globalBytesWritten") == 256);
  CHECK(launches[0].estimated_cycles > 0);
  CHECK(launches[0].estimated_microseconds > 0);
  CHECK(launches[0].resident_groups > 0);
}

TEST_CASE("Counting: what is not asked for is not kept, and bad requests say so", "[counters]") {
  TestModule module;
  DeviceBuffer<int> out(64);
  CHECK(counted([] {}).empty());
  const int64_t before = flydslEmulatorCountedLaunches(0);
  HIP_OK(launch1D(module.function("fill"), 1, 64, nullptr, out.data, 7, 64));
  HIP_OK(hipDeviceSynchronize());
  CHECK(flydslEmulatorCountedLaunches(0) == before);
  CHECK(flydslEmulatorCountLaunches(0, 0) == -1);
  CHECK(flydslEmulatorCountLaunches(99, 1) == -1);
  CHECK(flydslEmulatorCountedLaunches(-1) == -1);
  flydslEmulatorLaunch launch = {};
  CHECK(flydslEmulatorGetLaunch(0, 0, &launch) == -2);
  launch.size = sizeof launch;
  CHECK(flydslEmulatorGetLaunch(0, uint64_t(1) << 40, &launch) == -1);
  CHECK(flydslEmulatorGetLaunch(0, 0, nullptr) == -1);
  CHECK(flydslEmulatorCounterName(1000) == nullptr);
  for (uint32_t i = 0; flydslEmulatorCounterName(i); ++i)
    CHECK(std::strlen(flydslEmulatorCounterText(i)) > 0);
}

TEST_CASE("More bank conflicts take more cycles", "[counters]") {
  TestModule module("tuning.gfx942.co");
  DeviceBuffer<int> out(256 * 8);
  auto launches = counted([&] {
    for (int stride : {1, 2, 4, 8, 16, 32})
      HIP_OK(launch1D(module.function("lds_stride"), 8, 256, nullptr, out.data, stride));
  });
  REQUIRE(launches.size() == 6);
  // 8 workgroups of 4 waves, 16 rounds of a write and a read. 32 lanes are served at a time:
  // without conflict in one cycle, at a stride of s words in s.
  const uint64_t halves = 8 * 4 * 16 * 2 * 2;
  for (unsigned i = 0; i < 6; ++i) {
    INFO("stride " << (1 << i));
    CHECK(value(launches[i], "SQ_LDS_IDX_ACTIVE") == halves << i);
    CHECK(value(launches[i], "SQ_LDS_BANK_CONFLICT") == (halves << i) - halves);
    if (i)
      CHECK(launches[i].estimated_cycles > launches[i - 1].estimated_cycles);
  }
}

TEST_CASE("Fewer lanes to a cache line take more cycles", "[counters]") {
  TestModule module("tuning.gfx942.co");
  const unsigned groups = 608; // two for each multiprocessor
  DeviceBuffer<int> in(groups * 256 * 32), out(groups * 256);
  auto launches = counted([&] {
    for (int stride : {1, 2, 8, 32})
      HIP_OK(launch1D(module.function("load_stride"), groups, 256, nullptr, in.data, out.data,
                      stride));
  });
  REQUIRE(launches.size() == 4);
  // A wave reads 64 words: 2 lines at a stride of 1, then 4, 16, 64; it writes 2 lines.
  const uint64_t waves = groups * 4;
  const uint64_t lines[] = {2, 4, 16, 64};
  for (unsigned i = 0; i < 4; ++i) {
    CHECK(value(launches[i], "TCP_TOTAL_CACHE_ACCESSES") == waves * (lines[i] + 2));
    CHECK(value(launches[i], "TCP_MINIMUM_CACHE_ACCESSES") == waves * 4);
    CHECK(value(launches[i], "globalBytesRead") == waves * 256);
    CHECK(value(launches[i], "globalBytesTouched") == waves * (lines[i] + 2) * 128);
    CHECK(value(launches[i], "globalReadFootprint") == waves * lines[i] * 128);
    CHECK(value(launches[i], "globalWriteFootprint") == waves * 2 * 128);
    if (i)
      CHECK(launches[i].estimated_cycles > launches[i - 1].estimated_cycles);
  }
}

TEST_CASE("Less occupancy, more cycles where latency counts", "[counters]") {
  TestModule module("tuning.gfx942.co");
  const unsigned groups = 304 * 16;
  DeviceBuffer<int> next(64), out(groups * 64);
  std::vector<int> chain(64);
  for (int i = 0; i < 64; ++i)
    chain[i] = (i + 1) % 64;
  next.write(chain);
  int length = 8;
  void *arguments[] = {&next.data, &out.data, &length};
  auto launches = counted([&] {
    for (unsigned lds : {0u, 8192u, 32768u, 65536u})
      HIP_OK(hipModuleLaunchKernel(module.function("chase"), groups, 1, 1, 64, 1, 1, lds, nullptr,
                                   arguments, nullptr));
  });
  REQUIRE(launches.size() == 4);
  const uint32_t resident[] = {32, 8, 2, 1};
  for (unsigned i = 0; i < 4; ++i) {
    CHECK(launches[i].resident_groups == resident[i]);
    CHECK(launches[i].waves_per_simd == resident[i] / 4.0);
    CHECK(launches[i].dynamic_lds == (i ? 2048u << (i == 1 ? 2 : i + 2) : 0u));
    if (i)
      CHECK(launches[i].estimated_cycles > launches[i - 1].estimated_cycles);
  }
  CHECK(std::string(launches[3].estimated_bound) == "latency");
}

TEST_CASE("More work and dearer instructions, more cycles; bound by what there is most of",
          "[counters]") {
  TestModule module("tuning.gfx942.co");
  const unsigned groups = 304 * 8;
  DeviceBuffer<float> out(groups * 64);
  auto launches = counted([&] {
    HIP_OK(launch1D(module.function("multiply"), groups, 64, nullptr, out.data, 64));
    HIP_OK(launch1D(module.function("multiply"), groups, 64, nullptr, out.data, 256));
    HIP_OK(launch1D(module.function("divide"), groups, 64, nullptr, out.data, 256));
    HIP_OK(launch1D(module.function("divide"), groups * 2 / 3, 64, nullptr, out.data, 256));
  });
  REQUIRE(launches.size() == 4);
  CHECK(launches[1].estimated_cycles > launches[0].estimated_cycles);
  CHECK(launches[2].estimated_cycles > launches[1].estimated_cycles);
  CHECK(launches[3].estimated_cycles < launches[2].estimated_cycles);
  CHECK(std::string(launches[2].estimated_bound) == "vector");
}
