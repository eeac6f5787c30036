// The emulator's measurements of a launch: exact counters, and an estimate of its time.
#pragma once

#include <flydsl/export.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN

/// An estimate of a launch's time on the device that the emulator models, made by a small model
/// (docs/emulator.md). It is good enough to rank configurations of a kernel; it does not predict
/// times.
struct LaunchEstimate {
  double cycles = 0; ///< cycles of the engine clock
  double microseconds = 0;
  /// The largest part of the estimate: "vector", "matrix", "scalar", "lds", "l1", "l2", "memory",
  /// "latency" or "atomics".
  std::string bound;
  unsigned resident_groups = 0; ///< workgroups that a multiprocessor holds at a time
  double waves_per_simd = 0;    ///< waves per SIMD while all multiprocessors are full
};

/// The counters of one launch. Their names are rocprof's for counters that rocprof has.
struct FLYDSL_API LaunchCounters {
  std::string kernel;
  std::array<std::uint32_t, 3> grid = {}, block = {};
  std::vector<std::pair<std::string, std::uint64_t>> values;
  LaunchEstimate estimate;

  /// The value of a counter, as in `counters["SQ_LDS_BANK_CONFLICT"]`. Throws RuntimeError for an
  /// unknown name.
  std::uint64_t operator[](std::string_view name) const;
  /// A line for each counter that is not 0, and a line that is marked as the estimate.
  std::string str() const;
};

FLYDSL_NAMESPACE_END
