#include "emulator/hip/report/estimate.h"

#include "emulator/core/line_set.h"
#include "emulator/hip/launch/occupancy.h"
#include "emulator/observe/memory_times.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

namespace flyemu::hip {

namespace {

constexpr double kL1BytesPerClock = 64; ///< of a multiprocessor's vector cache (ISA manuals)

/// What a launch takes before its first wave and after its last one: packets, caches that are made
/// clean, the signal. Fitted, see docs/emulator.md; the shortest kernel that profilers have seen on MI300X takes 1.79 us with
/// all that follows here, which is 0.1 us less than the least estimate.
constexpr double kDispatchMicroseconds = 1.3;

/// What a launch takes longer than its waves' clocks say, because it is the first to touch anything:
/// in cycles, from a wave's start to its first instruction, and of a first scalar and a first global
/// load, beyond the latencies that waves wait for (tinygrad's traces of gfx950, gfx1100 and gfx1200).
/// Of the first global load that is nanoseconds, since memory is no part of the engine. It is what the
/// address's translation takes, which a launch finds as it finds its lines in the last cache: where it is
/// repeated over so few bytes (RRZE's pointer chases on MI300X find no more than 30 ns there).
double coldCycles(const DeviceFigures &info, bool isThere) {
  const double megahertz = info.clockKhz / 1e3;
  const bool isCdna = info.machine->encoding == Encoding::Gfx9;
  // The traces' GPUs: 2,400 and 2,500 MHz, and 525 and 150 ns of memory (memory_times.cpp).
  const double translation = isCdna ? 1900 / 2.4 - 525 : 1700 / 2.5 - 150;
  return 720 + (isCdna ? 776 - 200 : 1100 - 160) + (isThere ? 0 : translation * megahertz / 1e3);
}

/// The share of the peak clock that power leaves to matrix instructions as the launch executed them.
double clockOfMatrix(const Counters &counters, const Timing &timing,
                     const flydsl::detail::Sustained &sustained) {
  const auto all = static_cast<double>(counters.SQ_INSTS_MFMA);
  if (all == 0)
    return 1;
  const auto f16 = static_cast<double>(counters.SQ_INSTS_VALU_MFMA_F16);
  const auto half8 = static_cast<double>(timing.matrixHalf8);
  const double of8 =
      static_cast<double>(counters.SQ_INSTS_VALU_MFMA_F8 + counters.SQ_INSTS_VALU_MFMA_I8) - half8;
  const auto of4 = static_cast<double>(counters.SQ_INSTS_VALU_MFMA_F6F4);
  // Times add, not clocks.
  const auto &percent = sustained.clockPercent;
  const double time = f16 / percent.f16 + (all - f16 - of8 - half8 - of4) / percent.bf16 +
                      of8 / percent.of8 + of4 / percent.of4 + half8 / percent.half8;
  return all / time / 100;
}

/// The 10^9 bytes a second at which memory serves the launch's lines: between what kernels reach that
/// only read and those that write as much as they read, by the part that is written. A kernel that
/// writes more is taken to do as well as the latter. What is only read, by loads that keep no lines, has a
/// bandwidth of its own.
double memoryBandwidth(const Counters &counters, const flydsl::detail::ProductRow &product) {
  const double peak = product.memoryGigabytes / 100.,
               read = static_cast<double>(counters.globalReadFootprint),
               written = static_cast<double>(counters.globalWriteFootprint);
  const double copied = 2 * std::min(read, written) + std::max(written - read, 0.),
               all = read + written;
  if (all == 0)
    return peak * product.sustained.readPercent;
  // Times add, not bandwidths.
  const double only = all - copied,
               streamed = std::min(only, static_cast<double>(counters.globalStreamFootprint));
  return peak * all /
         (copied / product.sustained.copyPercent + streamed / streamPercent(product) +
          (only - streamed) / product.sustained.readPercent);
}

/// What lines take on their way to the L2 caches and back: from and to memory, and again from the cache
/// in front of it, which is taken to be as fast as streams from memory where no figure is known. `isThere`: that
/// cache has them all.
double memoryCycles(const Counters &counters, const Reuse &reuse, const DeviceFigures &info,
                    bool isThere) {
  const flydsl::detail::ProductRow &product = *info.product;
  const double fromMemory = memoryBandwidth(counters, product);
  const double again = std::max<double>(product.sustained.lastLevelGigabytes, fromMemory);
  const double memory = isThere ? again : fromMemory;
  const double cycles = info.clockKhz * 1e-6;
  const auto read = static_cast<double>(counters.globalReadFootprint),
             written = static_cast<double>(counters.globalWriteFootprint);
  // Lines that are read and written move twice. What L2 caches ask for more than once is added for all
  // lines that were touched.
  return cycles *
         ((read + written) / memory + static_cast<double>(counters.globalBytesTouched) *
                                          ((reuse.memoryFetches() - 1) / memory +
                                           (reuse.fetches() - reuse.memoryFetches()) / again));
}

/// What a workgroup's atomic operations on a line keep the line from the next workgroup, where dies meet.
/// Fitted, see docs/emulator.md.
constexpr double kAtomicNanoseconds = 4;

/// What atomic operations take where dies meet. No L2 has what another die adds, so that each instruction's
/// lines are taken to be read from memory and written there, every time, at the bandwidth of copies. And
/// workgroups that begin together wait for each other at a line: those that share an output count themselves
/// in one word, and the words of many outputs lie in one line. They wait once, because after that they
/// come one by one, as the line serves them. A single die's L2 does it in place, which is in what its lines take.
double atomicCycles(const Counters &counters, const DeviceFigures &info) {
  const flydsl::detail::ProductRow &product = *info.product;
  if (product.dies < 2)
    return 0;
  const double copies = product.memoryGigabytes / 100. * product.sustained.copyPercent;
  return info.clockKhz * 1e-6 *
         (2 * static_cast<double>(counters.globalAtomicBytes) / copies +
          kAtomicNanoseconds * static_cast<double>(counters.globalAtomicGroups));
}

/// The 4-norm of the parts that overlap. Those at the engine's clock take so many times longer.
double normOf(std::span<const EstimatePart> parts, double slower) {
  double sum = 0;
  for (const EstimatePart &part : parts)
    if (part.time != PartTime::exposed)
      sum += std::pow(part.cycles * (part.time == PartTime::memory ? 1 : slower), 4);
  return std::pow(sum, 0.25);
}
double exposedOf(std::span<const EstimatePart> parts) {
  double sum = 0;
  for (const EstimatePart &part : parts)
    if (part.time == PartTime::exposed)
      sum += part.cycles;
  return sum;
}

} // namespace

Estimate estimate(const Counters &counters, const Timing &timing, const TouchSample &sample,
                  const DeviceFigures &info, const loader::KernelNotes &kernel,
                  const loader::LaunchShape &shape, bool warm) {
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
  const flydsl::detail::ProductRow &product = *info.product;
  const auto dies = static_cast<unsigned>(product.dies);
  result.reuse = reuseOf(sample, {.dies = dies,
                                  .residentOfDie = static_cast<size_t>(
                                      std::max(1, info.computeUnits / product.dies) * resident),
                                  .l2Bytes = product.l2Bytes,
                                  .lastLevelBytes = product.lastLevelBytes});

  const bool isThere = warm && counters.globalBytesTouched <= product.lastLevelBytes;
  // Workgroups add what they have summed up when they end, and so in the last round nothing is left that
  // could hide it. What those before them add meets with loads of the next ones.
  const double rounds = std::ceil(share / together), atomics = atomicCycles(counters, info);

  result.parts = {{
      {"vector", static_cast<double>(timing.valuCycles) * ofUnit / busySimds},
      {"matrix", static_cast<double>(timing.matrixCycles) * ofUnit / busySimds},
      {"scalar", static_cast<double>(timing.scalarCycles) * ofUnit / busySimds},
      {"lds", static_cast<double>(counters.SQ_LDS_IDX_ACTIVE) * ofUnit},
      {"l1", lineBytes * ofUnit / kL1BytesPerClock},
      {"l2", lineBytes * result.reuse.shareOfL2() /
                 (info.l2BytesPerClock * (memoryTimes(product).l2Percent / 100.))},
      {"memory", memoryCycles(counters, result.reuse, info, isThere) + atomics * (1 - 1 / rounds),
       PartTime::memory},
      {"latency", static_cast<double>(timing.groupCycles) / groups * rounds},
      {"atomics", atomics / rounds, PartTime::exposed},
  }};
  const EstimatePart *most = result.parts.data();
  for (const EstimatePart &part : result.parts)
    if (part.cycles > most->cycles)
      most = &part;
  const double last = exposedOf(result.parts);
  result.cycles = normOf(result.parts, 1) + last;
  // The clock falls with the part of the time that the matrix units are busy, because power does.
  // That of memory stays.
  const double busy = result.cycles ? result.parts[1].cycles / result.cycles : 0;
  const double slower = 1 + busy * (1 / clockOfMatrix(counters, timing, product.sustained) - 1);
  result.microseconds =
      kDispatchMicroseconds +
      (coldCycles(info, isThere) + normOf(result.parts, slower) + last) * 1e3 / info.clockKhz;
  result.bound = most->name;
  result.groupsPerUnit = static_cast<unsigned>(resident);
  result.wavesPerSimd = resident * waves / simds;
  return result;
}

} // namespace flyemu::hip
