#include "emulator/hip/report/launch_report.h"

#include "emulator/hip/module/module.h"
#include "emulator/hip/report/estimate.h"
#include "emulator/hip/report/log.h"

#include <cstdio>
#include <sstream>

namespace flyemu::hip {
namespace {

std::string dimensions(const std::array<uint32_t, 3> &value) {
  return std::to_string(value[0]) + "x" + std::to_string(value[1]) + "x" + std::to_string(value[2]);
}

void keep(const KernelOperation &operation, const DispatchResult &result, const Estimate &guess,
          Device &device) {
  flydslEmulatorLaunch launch = {};
  launch.size = sizeof launch;
  launch.device = device.index();
  std::snprintf(launch.kernel, sizeof launch.kernel, "%s",
                operation.function->kernel->metadata.name.c_str());
  for (unsigned axis = 0; axis < 3; ++axis) {
    launch.grid[axis] = operation.shape.grid[axis];
    launch.block[axis] = operation.shape.block[axis];
  }
  launch.dynamic_lds = operation.shape.dynamicLds;
#define FLYEMU_ONE(name, text) +1
  static_assert(0 FLYEMU_COUNTERS(FLYEMU_ONE) <= FLYDSL_EMULATOR_MAX_COUNTERS);
#undef FLYEMU_ONE
  forEachCounter(result.counters, [&](const char *, uint64_t value, const char *) {
    launch.values[launch.counters++] = value;
  });
  launch.estimated_cycles = guess.cycles;
  launch.estimated_microseconds = guess.microseconds;
  std::snprintf(launch.estimated_bound, sizeof launch.estimated_bound, "%s", guess.bound);
  launch.resident_groups = guess.groupsPerUnit;
  launch.waves_per_simd = guess.wavesPerSimd;
  device.history.add(launch);
}

} // namespace

void reportLaunch(const KernelOperation &operation, const DispatchResult &result,
                  const Options &options, Device &device) {
  for (const Finding &finding : result.findings) {
    log(ReportLevel::Error, "check: " + finding.message);
    device.history.noteFinding(finding.message);
  }
  if (!result.ok) {
    switch (result.fault.kind) {
    case FaultKind::Address:
      fail(hipErrorIllegalAddress, result.fault.message);
    case FaultKind::Limit:
      fail(hipErrorLaunchTimeOut, result.fault.message);
    case FaultKind::Kernel:
      fail(hipErrorLaunchFailure, result.fault.message);
    }
  }
  const loader::KernelNotes &kernel = operation.function->kernel->metadata;
  const std::string what = kernel.name + " grid " + dimensions(operation.shape.grid) + " block " +
                           dimensions(operation.shape.block) +
                           (operation.shape.cluster == std::array<uint32_t, 3>{1, 1, 1}
                                ? ""
                                : " cluster " + dimensions(operation.shape.cluster));
  if (options.counters) {
    const Estimate guess = estimate(result.counters, result.timing, result.sample, device.figures(),
                                    kernel, operation.shape,
                                    device.configuration().warmLastCache);
    keep(operation, result, guess, device);
    if (device.configuration().counters) {
      std::ostringstream text;
      text << "counters of " << what << ":";
      forEachCounter(result.counters, [&](const char *name, uint64_t value, const char *) {
        if (value)
          text << " " << name << "=" << value;
      });
      text << "; estimate: " << static_cast<uint64_t>(guess.cycles) << " cycles, "
           << guess.microseconds << " us, bound by " << guess.bound << ", " << guess.wavesPerSimd
           << " waves a SIMD; parts in cycles:";
      for (const EstimatePart &part : guess.parts)
        text << " " << part.name << "=" << static_cast<uint64_t>(part.cycles);
      text << "; " << 100 * guess.reuse.shareOfL2() << " % of the touches of lines go to L2, which "
           << "fetches a line " << guess.reuse.fetches() << " times, "
           << guess.reuse.memoryFetches() << " of them from memory";
      log(ReportLevel::Notice, text.str());
    }
  } else if (logs(ReportLevel::Debug)) {
    log(ReportLevel::Debug, "ran " + what);
  }
}

} // namespace flyemu::hip
