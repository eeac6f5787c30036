// The buffer descriptor of a wave's scratch.
#pragma once

#include "emulator/core/wave.h"

namespace flyemu {

/// Whether a descriptor is that of the wave's scratch, which targets without architected flat
/// scratch get from the launch (wave_setup.cpp).
inline bool isScratchBuffer(const Wave &w, const uint32_t *descriptor) {
  if (w.target->architectedScratch || !w.scratch)
    return false;
  const uint64_t base = descriptor[0] | uint64_t(descriptor[1] & 0xffff) << 32;
  const bool swizzled = descriptor[1] >> 31 && descriptor[3] >> 23 & 1;
  return swizzled &&
         base - reinterpret_cast<uint64_t>(w.scratch) < uint64_t(w.scratchSize) * kLanes;
}

} // namespace flyemu
