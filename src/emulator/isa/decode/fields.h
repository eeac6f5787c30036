// Fields of instructions that all families have, and what becomes of them.
#pragma once

#include "emulator/isa/inst.h"
#include "emulator/isa/machine.h"
#include "emulator/isa/op.h"

namespace flyemu {

// How the first dword of an encoding begins. Vector instructions of 32 bits begin with a zero;
// their opcode is VOP2's, but for two values that VOP1 and VOPC have.
constexpr unsigned kVopcOpcode = 0x3e, kVop1Opcode = 0x3f;
/// Nine bits.
constexpr unsigned kSop1Prefix = 0x17d, kSopcPrefix = 0x17e, kSoppPrefix = 0x17f;
constexpr unsigned kSopkPrefix = 0xb; ///< four bits
constexpr unsigned kSop2Prefix = 2;   ///< two bits

/// SOP1, SOP2, SOPC, SOPK and SOPP, which all families share.
const char *decodeScalar(const Machine &target, const uint32_t *words, Inst &inst);

/// A 9-bit source field (or an 8-bit scalar one) as an operand of type `type`; `literal` is the
/// dword that a code of 255 stands for.
Operand decodeSource(const Machine &target, unsigned code, Type type, uint32_t literal);

/// A scalar destination. Writes to the null register go to kNullSink, which no operand reads.
Operand scalarDestination(const Machine &target, unsigned code);

inline Operand vgpr(unsigned row) { return {Kind::Vgpr, 0, static_cast<uint16_t>(row), 0}; }
inline Operand sgpr(unsigned code) { return {Kind::Sgpr, 0, static_cast<uint16_t>(code), 0}; }
inline unsigned bitField(uint32_t word, unsigned low, unsigned count) {
  return word >> low & ((1u << count) - 1);
}

/// The fields of a DPP word that all targets have in the same places; FI, which gfx9 does not have,
/// among them.
DppControl dppControl(uint32_t word);

/// Applies VOP2's implicit operands: VCC as carry or select mask, the constant of multiply-add
/// forms.
void implicitOperands(Inst &inst, uint32_t literal);

/// Copies clamp, omod and neg of VOP3's first and second word into place, and abs and op_sel unless
/// the instruction has a mask of carries, whose register stands in their bits.
void vop3Modifiers(Inst &inst, uint32_t w0, uint32_t w1);

/// Fills src[], neg, neg_hi, op_sel of a packed instruction.
void vop3pFields(const Machine &target, Inst &inst, uint32_t w0, uint32_t w1, uint32_t literal);

} // namespace flyemu
