// An estimate of a launch's time on the product that the device stands for.
#pragma once

#include "emulator/core/counters.h"
#include "emulator/hip/device/device_figures.h"
#include "emulator/loader/kernarg.h"
#include "emulator/loader/metadata.h"
#include "emulator/observe/reuse.h"

#include <array>
#include <cstdint>

namespace flyemu::hip {

/// How a part of a launch's time goes with the others.
enum class PartTime : std::uint8_t {
  engine,  ///< beside the others, at the engine's clock
  memory,  ///< beside the others, at a clock of its own
  exposed, ///< after the others
};

/// What a launch's time is made of.
struct EstimatePart {
  /// "vector", "matrix", "scalar", "lds", "l1", "l2", "memory", "latency" or "atomics"
  const char *name = "";
  double cycles = 0; ///< if there were no other part
  PartTime time = PartTime::engine;
};

struct Estimate {
  double cycles = 0; ///< of the engine clock, the launch itself left out
  /// With what a launch takes before and after its kernel, and at the clock that power leaves.
  double microseconds = 0;
  std::array<EstimatePart, 9> parts;
  Reuse reuse;                ///< of the lines that were sampled
  const char *bound = "";     ///< the name of the largest part
  unsigned groupsPerUnit = 0; ///< workgroups resident on a multiprocessor at a time
  double wavesPerSimd = 0;    ///< resident waves of a SIMD while all multiprocessors are full
};

/// Estimates by the model of docs/emulator.md, "The estimate". A multiprocessor runs its share of
/// the workgroups. Each of its parts needs its cycles; the time of the workgroups themselves,
/// latencies included, is divided by the number that are resident. The parts overlap, but not
/// wholly, so the result is the 4-norm of these times. (RRZE's gpu-stream on MI210 reads with more and more
/// threads. From a quarter of the most on, the 4-norm of the time that the loads on their way allow and of
/// the time at full bandwidth is within 5 % of what it measures.) What the last round of workgroups adds by
/// atomic operations comes after them.
/// `sample` says which caches serve what; without it, every line comes from memory once, and from L2
/// each time. `warm`: the cache in front of memory has what the launch touches, if that is no more than it
/// holds.
Estimate estimate(const Counters &counters, const Timing &timing, const TouchSample &sample,
                  const DeviceFigures &info, const loader::KernelNotes &kernel,
                  const loader::LaunchShape &shape, bool warm = false);

} // namespace flyemu::hip
