// A sample of the cache lines that workgroups touch, with the times at which they do: what the
// estimate's caches are filled with when a launch has ended.
#pragma once

#include <cstdint>
#include <vector>

namespace flyemu {

/// One of so many lines is sampled: always the same ones, whoever touches them, so that a cache of
/// as small a part of its size hits and misses as the whole one does (spatial sampling, as in
/// Waldspurger et al., SHARDS, FAST 2015).
constexpr uint64_t kSampledLines = 8;

/// A touch that the compute unit's own cache could not serve.
struct SampledTouch {
  uint64_t line;
  uint64_t time : 63; ///< by the wave's clock, from the workgroup's start
  uint64_t streams : 1 =
      0; ///< by a load that keeps no lines: caches have the line no longer than before
};

/// The sample of one workgroup.
struct GroupTouches {
  uint64_t group = 0;  ///< its number, by which it goes to a die
  uint64_t cycles = 0; ///< its time alone
  uint64_t seen = 0;   ///< sampled touches, also those that the compute unit's cache served
  std::vector<SampledTouch> touches;
};

} // namespace flyemu
