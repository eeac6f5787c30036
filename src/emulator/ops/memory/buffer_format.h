// Element formats of typed buffer instructions.
#pragma once

#include "emulator/isa/machine.h"

#include <cstdint>

namespace flyemu {

/// How the bits of a component stand for a number.
enum class NumberKind : uint8_t { Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Float };

/// One element of a typed buffer: up to four components, the first in the lowest bits.
struct BufferFormat {
  NumberKind kind = NumberKind::Uint;
  uint8_t count = 0; ///< components; 0: the format does not exist
  uint8_t bits[4] = {};

  unsigned bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8u; }
  bool isInteger() const { return kind == NumberKind::Uint || kind == NumberKind::Sint; }
};

/// The format of a code. gfx9: data format in bits 0-3, number format in bits 4-6 (CDNA3 ISA,
/// "Buffer Resource Descriptor"); gfx11 and gfx12: the unified code (RDNA3 ISA, "Data Formats").
/// `count` is 0 where the code has no format.
BufferFormat bufferFormat(const Machine &target, unsigned code);

/// A component's bits as the register receives them: a float's bits, or an integer.
uint32_t fromComponent(NumberKind kind, unsigned bits, uint32_t x);

/// A register's value as a component's bits. Normalised and scaled formats saturate and round to
/// nearest even; integers lose their upper bits.
uint32_t toComponent(NumberKind kind, unsigned bits, uint32_t x);

} // namespace flyemu
