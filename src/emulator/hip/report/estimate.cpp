#include "emulator/hip/report/estimate.h"

#include "emulator/core/line_set.h"
#include "emulator/hip/launch/occupancy.h"

#include <algorithm>
#include <cmath>

namespace flyemu::hip {

namespace {
constexpr double kL1BytesPerClock = 64; ///< of a multiprocessor's vector cache (ISA manuals)
} // namespace

Estimate estimate(const Counters &counters, const Timing &timing, const DeviceFigures &info,
                  const loader::KernelNotes &kernel, const loader::LaunchShape &shape) {
  Estimate result;
  const uint64_t threads = uint64_t(shape.block[0]) * shape.block[1] * shape.block[2];
  const int resident = residentWorkgroups(info, kernel, threads, shape.dynamicLds);
  if (!timing.groups || !resident)
    return result;
  const auto groups = static_cast<double>(timing.groups);
  const double waves = static_cast<double>(counters.SQ_WAVES) / groups;
  const double simds = info.simdsPerUnit;
  // The busiest multiprocessor's share, and how many workgroups of it run at a time.
  const double share = std::ceil(groups / info.computeUnits);
  const double together = std::min(share, static_cast<double>(resident));
  const double busySimds = std::min(simds, std::ceil(together * waves));
  const double ofUnit = share / groups; // from the launch's sums to the multiprocessor's part
  const double lineBytes = static_cast<double>(counters.TCP_TOTAL_CACHE_ACCESSES) * kLine;
  const double memoryBytesPerClock = info.memoryGigabytes * 1e6 / info.clockKhz;

  struct Part {
    const char *name;
    double cycles;
  };
  const Part parts[] = {
      {"vector", static_cast<double>(timing.valuCycles) * ofUnit / busySimds},
      {"matrix", static_cast<double>(timing.matrixCycles) * ofUnit / busySimds},
      {"scalar", static_cast<double>(timing.scalarCycles) * ofUnit / busySimds},
      {"lds", static_cast<double>(counters.SQ_LDS_IDX_ACTIVE) * ofUnit},
      {"l1", lineBytes * ofUnit / kL1BytesPerClock},
      {"l2", lineBytes / info.l2BytesPerClock},
      {"memory", static_cast<double>(counters.globalBytesTouched) / memoryBytesPerClock},
      {"latency", static_cast<double>(timing.groupCycles) / groups * std::ceil(share / together)},
  };
  const Part *most = parts;
  for (const Part &part : parts)
    if (part.cycles > most->cycles)
      most = &part;
  double sum = 0;
  for (const Part &part : parts)
    sum += std::pow(most->cycles ? part.cycles / most->cycles : 0, 4);
  result.cycles = most->cycles * std::pow(sum, 0.25);
  result.microseconds = result.cycles * 1e3 / info.clockKhz;
  result.bound = most->name;
  result.groupsPerUnit = static_cast<unsigned>(resident);
  result.wavesPerSimd = resident * waves / simds;
  return result;
}

} // namespace flyemu::hip
