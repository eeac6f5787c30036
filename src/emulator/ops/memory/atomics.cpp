#include "emulator/ops/memory/atomics.h"

#include "emulator/ops/vector/lanes.h"

namespace flyemu::atomics {

float halfBitsToFloat(uint16_t h) { return halfToFloatSoft(h); }
uint16_t floatToHalfBits(float x) { return floatToHalfSoft(x); }
uint16_t floatToBfloat(float x) {
  uint32_t b = bitsOf(x);
  if (x != x)
    return static_cast<uint16_t>(b >> 16 | 0x40);
  return static_cast<uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

} // namespace flyemu::atomics
