// What the lanes of a wave access by one instruction.
#pragma once

#include "emulator/observe/lane_loops.h"

#include <array>
#include <bit>
#include <cstdint>
#include <numeric>

namespace flyemu {

/// The accesses of some lanes, in their order; each has as many bytes as the others. Refers to the
/// places that it is made of.
class LaneAccess {
public:
  unsigned count = 0, bytes = 0;
  bool write = false, atomic = false;
  /// Bit k: the k-th begins a run, of lanes one after another that
  /// access bytes one behind the other.
  uint64_t starts = 1;
  uint64_t ends = 0; ///< all places, or-ed: the zeros below say what all are aligned to

  /// Of all lanes in `lanes`; the place of each is places[lane] - origin.
  LaneAccess(uint64_t lanes, const uint64_t *places, uint64_t origin, unsigned size, bool writes,
             bool isAtomic)
      : bytes(size), write(writes), atomic(isAtomic), origin_(origin) {
    if (lanes & (lanes + 1)) {
      for (; lanes; lanes &= lanes - 1) {
        laneStorage_[count] = static_cast<uint8_t>(std::countr_zero(lanes));
        placeStorage_[count] = places[laneStorage_[count]];
        if (count && laneStorage_[count] != laneStorage_[count - 1] + 1)
          starts |= uint64_t(1) << count;
        ++count;
      }
      places_ = placeStorage_.data();
      lanes_ = laneStorage_.data();
    } else { // the first so many lanes
      count = static_cast<unsigned>(std::countr_one(lanes));
      places_ = places;
      lanes_ = kAllLanes.data();
    }
    const LaneLoops::Places found = laneLoops().lookAt(places_, count, origin, bytes);
    ends = found.ends;
    // Where bytes are no power of two, a place does not say whose it is by a shift.
    starts |= std::has_single_bit(bytes) ? found.starts : ~uint64_t(0);
  }
  /// Of one lane.
  LaneAccess(unsigned one, uint64_t place, unsigned size, bool writes, bool isAtomic)
      : count(1), bytes(size), write(writes), atomic(isAtomic), ends(place) {
    placeStorage_[0] = place;
    places_ = placeStorage_.data();
    lanes_ = &kAllLanes[one];
  }
  LaneAccess(const LaneAccess &) = delete;
  LaneAccess &operator=(const LaneAccess &) = delete;

  /// The place of the k-th: a host address, or an offset in LDS.
  uint64_t at(unsigned k) const { return places_[k] - origin_; }
  unsigned lane(unsigned k) const { return lanes_[k]; }
  /// All host addresses.
  const uint64_t *addresses() const { return places_; }
  /// All lanes.
  const uint8_t *lanes() const { return lanes_; }
  /// to[k] = at(k) >> shift
  void offsets(uint32_t *to, unsigned shift) const {
    laneLoops().offsets(places_, count, origin_, shift, to);
  }

  /// Whether all of it is one run.
  bool isRun() const { return starts == 1; }
  /// The lanes of a run that begins with the k-th.
  unsigned runLength(unsigned k) const {
    const uint64_t later = k == 63 ? 0 : starts >> (k + 1);
    const auto next = static_cast<unsigned>(std::countr_zero(later)) + 1;
    return next < count - k ? next : count - k;
  }

private:
  static constexpr std::array<uint8_t, 64> kAllLanes = [] {
    std::array<uint8_t, 64> all;
    std::iota(all.begin(), all.end(), uint8_t(0));
    return all;
  }();

  uint64_t origin_ = 0;
  const uint64_t *places_;
  const uint8_t *lanes_;
  std::array<uint64_t, 64> placeStorage_;
  std::array<uint8_t, 64> laneStorage_;
};

} // namespace flyemu
