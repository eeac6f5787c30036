// How often the lines that workgroups touch come from the L2 cache of their die, from the cache in
// front of memory, and from memory, given which workgroups run at the same time.
#pragma once

#include "emulator/core/sampled_touches.h"

#include <cstddef>
#include <cstdint>

namespace flyemu {

/// The caches behind compute units, and the workgroups that share them.
struct CacheShape {
  unsigned dies = 1;           ///< to which workgroups go in turn, each with an L2 of its own
  size_t residentOfDie = 1;    ///< workgroups that a die runs at a time
  uint64_t l2Bytes = 0;        ///< of a die
  uint64_t lastLevelBytes = 0; ///< in front of memory, shared by the dies; 0: there is none
};

/// Sampled touches, by where they were served.
struct Reuse {
  uint64_t seen = 0;     ///< all
  uint64_t ofL2 = 0;     ///< those that compute units' own caches did not serve
  uint64_t l2Misses = 0; ///< of these, those that L2 did not serve
  uint64_t ofMemory = 0; ///< of these, those that no cache served
  uint64_t distinct = 0; ///< lines

  /// What happened to a touch; shares of 1. 1 where nothing was sampled.
  double shareOfL2() const { return seen ? double(ofL2) / double(seen) : 1; }
  /// How often a line comes from behind L2, and from memory: 1 at least.
  double fetches() const { return distinct ? double(l2Misses) / double(distinct) : 1; }
  double memoryFetches() const { return distinct ? double(ofMemory) / double(distinct) : 1; }
};

/// Runs the workgroups through the caches: a die begins them in the order of their numbers, as many
/// as it can hold, the next one when one ends; each touches its lines by its own clock. All caches
/// are empty at first and forget what was used least recently.
Reuse reuseOf(const TouchSample &sample, const CacheShape &shape);

} // namespace flyemu
