// A sample of the cache lines that workgroups touch, with the times at which they do: what the
// estimate's caches are filled with when a launch has ended.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

namespace flyemu {

/// One of so many lines is sampled: always the same ones, whoever touches them, so that a cache of
/// as small a part of its size hits and misses as the whole one does (spatial sampling, as in
/// Waldspurger et al., SHARDS, FAST 2015).
constexpr uint64_t kSampledLines = 8;

/// A touch that the compute unit's own cache could not serve.
struct SampledTouch {
  uint64_t line : 50; ///< addresses have 57 bits at most (x86-64's five levels of pages)
  /// Of the line, the same for whoever touches it: which lines are left when a sample is thinned.
  uint64_t lot : 14 = 0;
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

/// The samples of workgroups. Those of a launch that touches many lines are thinned, so that they take a
/// bounded memory.
struct TouchSample {
  std::vector<GroupTouches> groups;
  /// One of so many sampled lines is left in `touches`; a power of two, at most kMostThinned.
  uint64_t thinned = 1;
  static constexpr uint64_t kMostThinned = uint64_t(1) << 14;

  /// Leaves one of so many sampled lines.
  void thin(uint64_t to) {
    if (to <= thinned)
      return;
    thinned = to;
    for (GroupTouches &group : groups) {
      std::erase_if(group.touches, [&](const SampledTouch &touch) { return touch.lot % to != 0; });
      group.touches.shrink_to_fit();
    }
  }
  /// Adds what another thread has sampled.
  void add(TouchSample other) {
    thin(other.thinned);
    other.thin(thinned);
    groups.insert(groups.end(), std::make_move_iterator(other.groups.begin()),
                  std::make_move_iterator(other.groups.end()));
  }
};

} // namespace flyemu
