// Lanes of one instruction that store to the same place.
#pragma once

#include "emulator/observe/lane_access.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace flyemu {

/// Finds the lanes of a store whose places overlap: of such stores one wins, and which one the ISA
/// does not say.
class LaneOverlaps {
public:
  struct Pair {
    unsigned first, second; ///< lanes
    bool samePlace;         ///< they begin at one address
    uint64_t address;       ///< of the second
  };
  /// Calls visit(Pair) for each lane that overlaps one before it; once for each such lane.
  template <class F> void each(const LaneAccess &a, F visit) {
    if (a.count < 2 || a.isRun())
      return;
    if (std::has_single_bit(a.bytes) && a.ends % a.bytes == 0)
      samePlaces(a, visit);
    else
      anyPlaces(a, visit);
  }

private:
  static constexpr unsigned kSlots = 256; ///< four times as many as lanes
  struct Slot {
    uint64_t address;
    uint32_t stamp = 0, lane = 0;
  };

  /// Places that are multiples of their size either are equal or do not overlap.
  template <class F> void samePlaces(const LaneAccess &a, F visit) {
    if (++stamp_ == 0) {
      slots_.fill({});
      stamp_ = 1;
    }
    const auto shift = static_cast<unsigned>(std::countr_zero(a.bytes));
    for (unsigned k = 0; k < a.count; ++k) {
      const uint64_t at = a.at(k);
      uint64_t slot = (at >> shift) * 0x9e3779b97f4a7c15 >> 56;
      while (slots_[slot].stamp == stamp_ && slots_[slot].address != at)
        slot = (slot + 1) % kSlots;
      if (slots_[slot].stamp == stamp_)
        visit(Pair{slots_[slot].lane, a.lane(k), true, at});
      else
        slots_[slot] = {at, stamp_, a.lane(k)};
    }
  }
  template <class F> void anyPlaces(const LaneAccess &a, F visit) {
    std::array<std::pair<uint64_t, unsigned>, 64> places;
    for (unsigned k = 0; k < a.count; ++k)
      places[k] = {a.at(k), a.lane(k)};
    std::sort(places.begin(), places.begin() + a.count);
    for (unsigned k = 1; k < a.count; ++k)
      if (places[k].first - places[k - 1].first < a.bytes)
        visit(Pair{places[k - 1].second, places[k].second, places[k].first == places[k - 1].first,
                   places[k].first});
  }

  std::array<Slot, kSlots> slots_ = {};
  uint32_t stamp_ = 0;
};

} // namespace flyemu
