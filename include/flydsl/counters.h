// What the emulator saw of a launch: exact counters, and an estimate of its time.
#pragma once

#include <flydsl/export.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN

/// An estimate of a launch's time on the device that the emulator stands for, from a small model
/// (docs/emulator.md): good enough to rank configurations of a kernel, no prediction.
struct LaunchEstimate {
  double cycles = 0; ///< of the engine clock
  double microseconds = 0;
  /// The model's largest part: "vector", "matrix", "scalar", "lds", "l1", "l2", "memory",
  /// "latency".
  std::string bound;
  unsigned resident_groups = 0; ///< workgroups that a multiprocessor holds at a time
  double waves_per_simd = 0;    ///< while all multiprocessors are full
};

/// The counters of one launch, by rocprof's names where rocprof has them.
struct FLYDSL_API LaunchCounters {
  std::string kernel;
  std::array<std::uint32_t, 3> grid = {}, block = {};
  std::vector<std::pair<std::string, std::uint64_t>> values;
  LaunchEstimate estimate;

  /// A counter's value, `counters["SQ_LDS_BANK_CONFLICT"]`; throws RuntimeError for an unknown
  /// name.
  std::uint64_t operator[](std::string_view name) const;
  /// A line for each counter that is not 0, and the estimate, called one.
  std::string str() const;
};

FLYDSL_NAMESPACE_END
