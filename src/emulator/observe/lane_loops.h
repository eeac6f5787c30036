// Loops of the checks over the lanes of a wave and over what is remembered of LDS, compiled once
// for each SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flyemu {

/// The last touch of each place of LDS of one kind. Who made it, and when: bits of `key`, from the
/// lowest on: whether it was atomic, eight of the wave, the time. What it was: the lane in the six
/// lowest bits of `detail`, the instruction above.
struct LdsTouches {
  uint32_t *key, *detail;

  static constexpr unsigned kTimeShift = 9;
  static constexpr uint32_t keyOf(uint32_t time, unsigned wave, bool atomic) {
    return time << kTimeShift | wave << 1 | uint32_t(atomic);
  }
};

/// The last write of each place, and the last reads of two different waves.
struct LdsShadow {
  LdsTouches write, read, otherRead;
};

/// Whether a touch was made by another wave at the time of the touch `mine`, both as keys. (Static,
/// because each SIMD level has its own.)
static constexpr bool isByOther(uint32_t key, uint32_t mine) { return (key ^ mine) - 2 < 510; }

/// What the wait check remembers of dwords of LDS in a row.
struct LdsUsers {
  const uint32_t *load;       ///< the last load to each
  uint32_t *last, *other;     ///< the last accesses of two waves, the wave in the low eight bits
  uint32_t *lastAt, *otherAt; ///< their instructions
};

struct LaneLoops {
  struct Places {
    uint64_t starts; ///< bit k: the k-th does not stand `bytes` behind the one before; bit 0 is set
    uint64_t ends;   ///< all of them, or-ed
  };
  /// What can be said of the places at[k] - origin.
  Places (*lookAt)(const uint64_t *at, unsigned count, uint64_t origin, uint64_t bytes);
  /// to[k] = (at[k] - origin) >> shift
  void (*offsets)(const uint64_t *at, unsigned count, uint64_t origin, unsigned shift,
                  uint32_t *to);
  /// Saves registers of 64 lanes, one behind the other, and gives each lane `value`.
  void (*hide)(uint32_t *rows, unsigned count, uint32_t *saved, uint32_t value);
  /// Notes an access of places in a row. Place k is touched as `detail` + (k >> shift) says.
  /// Returns false, and has noted nothing, if another wave has made one that may be a race with it.
  bool (*noteRow)(const LdsShadow &shadow, size_t first, size_t count, uint32_t key,
                  uint32_t detail, unsigned shift, bool write);
  /// Notes accesses of `each` places in a row from every index of `first` on, whose detail is
  /// `detail` + lanes[k]. Returns false if another wave has made one that may be a race with one of
  /// them; then some may have been noted, and all of them are to be noted again.
  bool (*notePlaces)(const LdsShadow &shadow, const uint32_t *first, const uint8_t *lanes,
                     unsigned count, unsigned each, uint32_t key, uint32_t detail, bool write);
  /// Notes an access to dwords as their last one. Returns the highest number of a load to them.
  uint32_t (*noteUsers)(const LdsUsers &users, size_t count, uint32_t user, uint32_t inst);
  /// Whether all of flags[at[k]] ... flags[at[k] + bytes - 1] are 1; bytes is 1, 2, 4, 8, 12 or 16.
  bool (*allSet)(const uint8_t *flags, const uint32_t *at, unsigned count, unsigned bytes);
  /// Makes them so.
  void (*setAll)(uint8_t *flags, const uint32_t *at, unsigned count, unsigned bytes);
};

/// The loops of this process's level (matrix/simd_level.h).
const LaneLoops &laneLoops();

} // namespace flyemu
