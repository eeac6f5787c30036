#include "emulator/ops/vector/fp8.h"

namespace flyemu {

using flydsl::detail::FloatOverflow;
using flydsl::detail::FloatSpecials;

float fp8ToFloat(uint32_t pattern, const FloatFormat &format) { return format.toFloat(pattern); }

uint8_t floatToFp8(float x, const FloatFormat &format, bool saturate, const uint32_t *stochastic) {
  const auto bits = std::bit_cast<uint32_t>(x);
  // The hardware sets all bits of the mantissa of a NaN.
  if ((bits & 0x7fffffff) > 0x7f800000 && format.specials == FloatSpecials::ieee)
    return static_cast<uint8_t>((bits >> 31 ? format.signBit() : 0) | format.magnitudeMask());
  const FloatOverflow how = saturate ? FloatOverflow::saturate : FloatOverflow::special;
  return static_cast<uint8_t>(stochastic ? format.fromFloat(x, how, *stochastic)
                                         : format.fromFloat(x, how));
}

} // namespace flyemu
