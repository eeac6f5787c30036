// Counted launches come from the emulator; a GPU's driver has none of these functions.
#include "runtime/current_driver.h"

#include "support/text.h"

#include <flydsl/host/device.h>

#include <algorithm>
#include <cstdio>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace {
/// Counting of a device's launches while in scope.
class Counting {
public:
  Counting(const EmulatorFunctions &functions, int device)
      : functions_(functions), device_(device) {
    functions_.countLaunches(device_, 1);
  }
  ~Counting() { functions_.countLaunches(device_, 0); }
  Counting(const Counting &) = delete;
  Counting &operator=(const Counting &) = delete;

private:
  const EmulatorFunctions &functions_;
  int device_;
};

LaunchCounters convert(const EmulatorFunctions &functions, const flydslEmulatorLaunch &launch) {
  LaunchCounters result;
  result.kernel = launch.kernel;
  std::copy(std::begin(launch.grid), std::end(launch.grid), result.grid.begin());
  std::copy(std::begin(launch.block), std::end(launch.block), result.block.begin());
  for (std::uint32_t i = 0; i < launch.counters; ++i)
    result.values.emplace_back(functions.counterName(i), launch.values[i]);
  result.estimate = {launch.estimated_cycles, launch.estimated_microseconds, launch.estimated_bound,
                     launch.resident_groups, launch.waves_per_simd};
  return result;
}
} // namespace

std::uint64_t LaunchCounters::operator[](std::string_view name) const {
  for (const auto &[known, value] : values)
    if (known == name)
      return value;
  const std::string all =
      support::joined(values, [](const auto &value) -> const std::string & { return value.first; });
  throw RuntimeError("no counter '" + std::string(name) + "'; there are: " + all);
}

std::string LaunchCounters::str() const {
  char line[256];
  std::snprintf(line, sizeof line, "%s, grid %ux%ux%u, block %ux%ux%u\n", kernel.c_str(), grid[0],
                grid[1], grid[2], block[0], block[1], block[2]);
  std::string text = line;
  for (const auto &[name, value] : values)
    if (value) {
      std::snprintf(line, sizeof line, "  %-28s %llu\n", name.c_str(),
                    static_cast<unsigned long long>(value));
      text += line;
    }
  std::snprintf(
      line, sizeof line,
      "  estimate: %.0f cycles (%.3g us), bound by %s; %u workgroups a unit, %.3g waves a "
      "SIMD\n",
      estimate.cycles, estimate.microseconds, estimate.bound.c_str(), estimate.resident_groups,
      estimate.waves_per_simd);
  return text + line;
}

std::vector<LaunchCounters> Device::count_launches(const std::function<void()> &work,
                                                   std::source_location where) const {
  const EmulatorFunctions &functions = driver().emulator;
  if (!functions.counterName || !functions.countLaunches || !functions.countedLaunches ||
      !functions.getLaunch)
    throw RuntimeError("counting launches: " + str() +
                           " has no counters; run on the emulator (FLYDSL_RUNTIME_KIND=emulator)",
                       0, where);
  synchronize(where); // what was launched before is not counted
  const auto first = functions.countedLaunches(ordinal_);
  {
    Counting counting(functions, ordinal_);
    work();
    synchronize(where);
  }
  std::vector<LaunchCounters> result;
  const auto last = functions.countedLaunches(ordinal_);
  for (auto index = first; index < last; ++index) {
    flydslEmulatorLaunch launch = {};
    launch.size = sizeof launch;
    if (functions.getLaunch(ordinal_, static_cast<std::uint64_t>(index), &launch) == 0)
      result.push_back(convert(functions, launch));
  }
  return result;
}

FLYDSL_NAMESPACE_END
