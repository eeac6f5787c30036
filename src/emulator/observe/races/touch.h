// Who touched a place, and when: what the race checks remember.
#pragma once

#include <cstdint>

namespace flyemu {

/// One access, in 16 bytes: of a lane, or of several lanes to bytes behind one another.
struct Touch {
  uint32_t inst = 0;  ///< index into the program
  uint32_t group = 0; ///< number of the workgroup, from 1; 0: nobody
  uint32_t time =
      0; ///< LDS: barriers passed; global memory: the launch's count of synchronizations
  /// Bits: the wave 0-7, the lane that touched the place's first byte 8-15, its kind 16-17,
  /// and from 24 on the shift: each lane has touched 1 << shift bytes, one behind the other.
  uint32_t who = 0;
  static constexpr unsigned kOneLane = 63;

  /// Atomic operations, and accesses of a wide scope.
  static constexpr uint32_t kAtomic = 1u << 16;
  /// Loads of a wide scope that may see the store of one: nothing can be told of them.
  static constexpr uint32_t kExpectsWrites = 1u << 17;

  static uint32_t of(unsigned wave, unsigned lane, uint32_t kind, unsigned shift) {
    return wave | lane << 8 | kind | shift << 24;
  }
  unsigned wave() const { return who & 0xff; }
  /// The wave among all of the launch. (A launch of 2^24 workgroups uses numbers again, so that a race
  /// may be missed.)
  uint32_t owner() const { return group << 8 | wave(); }
  unsigned lane() const { return who >> 8 & 0xff; }
  bool atomic() const { return who & kAtomic; }
  bool expectsWrites() const { return who & kExpectsWrites; }
  unsigned shift() const { return who >> 24; }

  /// Becomes the access `t`, of the place that begins so many bytes later. (Field by field, because
  /// a copy in one piece waits until fields that were just written are in the cache.)
  void set(const Touch &t, uint64_t bytes) {
    inst = t.inst;
    group = t.group;
    time = t.time;
    who = t.who + (static_cast<uint32_t>(bytes >> t.shift()) << 8);
  }
  Touch later(uint64_t bytes) const {
    Touch t;
    t.set(*this, bytes);
    return t;
  }
};

/// Returns true if two unordered accesses are a race. Two writes are one unless both are atomic; a
/// write and a read are one unless the write is atomic, or the read expects it. (Compilers begin
/// compare-and-swap loops with a plain read.)
inline bool races(const Touch &before, bool wrote, const Touch &now, bool writes) {
  return wrote && writes ? !(before.atomic() && now.atomic())
         : wrote         ? !before.atomic() && !now.expectsWrites()
                         : writes && !now.atomic() && !before.expectsWrites();
}

} // namespace flyemu
