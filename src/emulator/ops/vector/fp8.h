// The conversions of the hardware to and from floats of at most 8 bits. They are functions of a
// file of their own because the lane files are compiled for several levels of the host's
// instruction set, and inline functions that they share would run at any of them.
#pragma once

#include "support/float_format.h"

namespace flyemu {

using flydsl::detail::FloatFormat;

/// The number of the pattern in the low bits.
float fp8ToFloat(uint32_t pattern, const FloatFormat &format);

/// Rounds to nearest even. Beyond the largest value: that value if `saturate`, else NaN or
/// infinity, as the format has it. `stochastic` (a 32-bit random value) replaces the rounding by
/// adding its highest bits below the last kept bit (FloatFormat::fromFloat).
uint8_t floatToFp8(float x, const FloatFormat &format, bool saturate,
                   const uint32_t *stochastic = nullptr);

} // namespace flyemu
