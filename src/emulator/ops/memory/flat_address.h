// Addresses of the flat family: GLOBAL, FLAT, SCRATCH.
#pragma once

#include "emulator/ops/memory/memory_ops.h"

#include <string>

namespace flyemu {

/// Lane addresses of the three segments. Scratch is kept lane by lane: lane i's bytes are at i *
/// scratchSize.
template <Enc Segment> struct FlatAddress {
  Wave &w;
  const Inst &i;
  const uint32_t *lo, *hi;
  uint64_t scalar;
  int64_t unit = 1;          ///< what the vector offset to a scalar address counts
  bool signedOffset = false; ///< that of a scalar address of 64 bits

  FlatAddress(Wave &wave, const Inst &inst) : w(wave), i(inst) {
    lo = w.row(i.src[0].index);
    hi = lo + kLanes;
    bool saddr = i.flags & kSaddr;
    if (Segment == Enc::Scratch)
      scalar = saddr ? w.s[i.src[2].index] : 0;
    else
      scalar = saddr ? w.s64(i.src[2].index) : 0;
    scalar += static_cast<uint64_t>(static_cast<int64_t>(i.offset));
    if (i.flags & kScaleOffset)
      unit = i.op->transfer.bytes; // that of an atomic operation is set by its handler
    signedOffset = saddr && w.target->signedScalarAddressOffset;
  }

  /// What a lane adds to the scalar address.
  uint64_t vectorOffset(unsigned lane) const {
    const int64_t offset =
        signedOffset ? int64_t(static_cast<int32_t>(lo[lane])) : int64_t(lo[lane]);
    return static_cast<uint64_t>(offset * unit);
  }

  uint8_t *at(unsigned lane, unsigned skip, unsigned bytes, bool write) const {
    uint64_t a;
    if constexpr (Segment == Enc::Scratch) {
      a = static_cast<uint32_t>(scalar + (i.flags & kVaddr ? lo[lane] * unit : 0));
      return scratchAt(lane, a + skip, bytes, write);
    } else {
      if (i.flags & kSaddr)
        a = scalar + vectorOffset(lane) + skip;
      else
        a = scalar + (lo[lane] | uint64_t(hi[lane]) << 32) + skip;
      if constexpr (Segment == Enc::Flat) {
        if (a >> 32 == kSharedAperture >> 32)
          return ldsAt(lane, static_cast<uint32_t>(a), bytes, write);
        if (w.target->flatScratchBase) {
          // Any lane's bytes can be reached.
          const uint64_t there = a - kScratchBase, owner = there >> kScratchLaneShift;
          if (owner < w.lanes)
            return scratchAt(static_cast<unsigned>(owner),
                             there & ((uint64_t(1) << kScratchLaneShift) - 1), bytes, write);
        } else if (a >> 32 == kPrivateAperture >> 32) {
          return scratchAt(lane, static_cast<uint32_t>(a), bytes, write);
        }
      }
      if (__builtin_expect(w.probe != nullptr, 0))
        w.probe->access(w, i, lane, Space::Global, a, bytes, write, false);
      return w.global(a, bytes, write, static_cast<int>(lane));
    }
  }

  bool bulk(uint64_t exec, uint32_t bytes, bool write, uint64_t *at) const {
    if constexpr (Segment == Enc::Scratch)
      return false; // no flat address of scratch or LDS lies in a range of memory
    if (i.flags & kSaddr)
      for (unsigned lane = 0; lane < w.lanes; ++lane)
        at[lane] = scalar + vectorOffset(lane);
    else
      for (unsigned lane = 0; lane < w.lanes; ++lane)
        at[lane] = scalar + (lo[lane] | uint64_t(hi[lane]) << 32);
    return inOneRange(w, exec, at, bytes, write);
  }

  uint8_t *scratchAt(unsigned lane, uint64_t offset, unsigned bytes, bool write) const {
    const unsigned base = w.target->architectedScratch ? 0 : w.target->flatScratch;
    if (base && w.s64(base) != reinterpret_cast<uint64_t>(w.scratch))
      throw WaveFault{"flat access to scratch, and FLAT_SCRATCH does not hold its address",
                      static_cast<int>(lane)};
    return laneScratch(w, i, lane, offset, bytes, write);
  }

  uint8_t *ldsAt(unsigned lane, uint64_t offset, unsigned bytes, bool write) const {
    if (w.probe)
      w.probe->access(w, i, lane, Space::Lds, offset, bytes, write, false);
    return offset + bytes > w.ldsSize ? nullptr : w.lds + offset;
  }
};

} // namespace flyemu
