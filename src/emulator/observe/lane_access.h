// What the lanes of a wave access by one instruction.
#pragma once

#include "emulator/observe/lane_loops.h"

#include <array>
#include <bit>
#include <cstdint>
#include <numeric>

namespace flyemu {

/// The accesses of some lanes, in their order; each has as many bytes as the others.
struct LaneAccess {
  unsigned count = 0, bytes = 0;
  bool write = false, atomic = false;
  /// Bit k: the k-th begins a run, of lanes one after another that access bytes one behind the other.
  uint64_t starts = 1;
  std::array<uint64_t, 64> at; ///< the places: host addresses, or offsets in LDS
  std::array<uint8_t, 64> lane;

  /// Of all lanes in `lanes`; the place of each is places[lane] - origin.
  LaneAccess(uint64_t lanes, const uint64_t *places, uint64_t origin, unsigned size, bool writes)
      : bytes(size), write(writes) {
    if (lanes == ~uint64_t(0) || lanes == 0xffffffffu) {
      count = lanes >> 32 ? 64 : 32;
      for (unsigned k = 0; k < count; ++k)
        at[k] = places[k] - origin;
      std::iota(lane.begin(), lane.end(), uint8_t(0));
    } else {
      for (; lanes; lanes &= lanes - 1) {
        lane[count] = static_cast<uint8_t>(std::countr_zero(lanes));
        at[count] = places[lane[count]] - origin;
        if (count && lane[count] != lane[count - 1] + 1)
          starts |= uint64_t(1) << count;
        ++count;
      }
    }
    // Where bytes are no power of two, a place does not say whose it is by a shift.
    starts |=
        std::has_single_bit(bytes) ? laneLoops().runStarts(at.data(), count, bytes) : ~uint64_t(0);
  }
  /// Of one lane.
  LaneAccess(unsigned one, uint64_t place, unsigned size, bool writes, bool isAtomic)
      : count(1), bytes(size), write(writes), atomic(isAtomic) {
    at[0] = place;
    lane[0] = static_cast<uint8_t>(one);
  }

  /// Whether all of it is one run.
  bool isRun() const { return starts == 1; }
  /// The lanes of a run that begins with the k-th.
  unsigned runLength(unsigned k) const {
    const uint64_t later = k == 63 ? 0 : starts >> (k + 1);
    const auto next = static_cast<unsigned>(std::countr_zero(later)) + 1;
    return next < count - k ? next : count - k;
  }
};

} // namespace flyemu
