// What RDNA3 and RDNA4 share.
#pragma once

#include "emulator/isa/decode/decode.h"
#include "emulator/isa/decode/fields.h"
#include "emulator/isa/registers.h"

namespace flyemu {

/// How the first dword of an encoding begins: six bits. Those of flat and of buffer instructions
/// differ from generation to generation.
enum class RdnaPrefix : uint8_t {
  Vopd = 0x32,
  Vop3p = 0x33,
  Vop3 = 0x35,
  Ds = 0x36,
  Smem = 0x3d,
};
inline RdnaPrefix rdnaPrefix(uint32_t word) { return static_cast<RdnaPrefix>(word >> 26); }

/// VOP1, VOP2, VOPC, VOP3, VOP3P and DS. Returns false if it is none of them.
bool decodeRdnaVector(const Machine &target, const uint32_t *words, Inst &inst);

/// Scalar memory, whose signed offset has `offsetBits` bits, and all other scalar instructions. What
/// it returns is as for decodeScalar.
const char *decodeRdnaScalar(const Machine &target, const uint32_t *words, Inst &inst,
                             unsigned offsetBits);

// gfx1250 alone has these: dual instructions of three dwords, and matrix instructions after a half
// with their scales.
bool isLongDual(const Machine &target, uint32_t word);
void decodeLongDual(const Machine &target, const uint32_t *words, Inst &x, Inst &y);
bool hasScales(const Machine &target, const Inst &inst, uint32_t word);
/// A scalar of a packed operation on floats is both of its elements.
void repeatScalars(const Machine &target, Inst &inst);
/// All but the scales, which prepareMatrix() decodes.
void decodeScaledMatrix(const Machine &target, const uint32_t *words, Inst &inst);

/// The descriptor of an instruction of the tensor data mover. What it returns is as for
/// decodeScalar.
const char *decodeTensor(const Machine &target, const uint32_t *words, Inst &inst);

/// The flags of gfx12's field SCOPE, whose values are a compute unit, its shader engine, the device
/// and the system.
inline uint16_t scopeFlags(unsigned scope) {
  constexpr unsigned kDevice = 2, kSystem = 3;
  return static_cast<uint16_t>((scope >= kDevice ? kWideScope : 0) |
                               (scope == kSystem ? kSystemScope : 0));
}

/// The flag of a load by gfx12's field TH: not temporal, everywhere or far from the lanes. Of atomics the
/// field means something else.
inline uint16_t temporalFlags(unsigned hint) {
  constexpr unsigned kNotTemporal = 1, kNotTemporalFar = 5;
  return hint == kNotTemporal || hint == kNotTemporalFar ? kStreams : 0;
}

/// The vector registers of a memory instruction.
void rdnaMemoryOperands(Inst &inst, unsigned address, unsigned data, unsigned dst);

/// Which of the flat family's encodings a segment is.
Enc rdnaSegment(unsigned segment);

} // namespace flyemu
