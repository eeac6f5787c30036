// From the bits of an instruction to its operands. LLVM has said which instruction it is and how
// long; the fields are at fixed places for each encoding (the ISA manuals' chapter "Microcode
// Formats").
#pragma once

#include "emulator/isa/inst.h"
#include "emulator/isa/machine.h"
#include "emulator/isa/mc.h"
#include "emulator/isa/op.h"

namespace flyemu {

// How the first dword of an encoding begins. Vector instructions of 32 bits begin with a zero;
// their opcode is VOP2's, but for two values that VOP1 and VOPC have.
constexpr unsigned kVopcOpcode = 0x3e, kVop1Opcode = 0x3f;
/// Nine bits.
constexpr unsigned kSop1Prefix = 0x17d, kSopcPrefix = 0x17e, kSoppPrefix = 0x17f;
constexpr unsigned kSopkPrefix = 0xb; ///< four bits
constexpr unsigned kSop2Prefix = 2;   ///< two bits
/// Six bits, on gfx9.
enum class Prefix9 : uint8_t {
  Smem = 0x30,
  Vop3 = 0x34, ///< VOP3P too
  Ds = 0x36,
  Flat = 0x37,
  Mubuf = 0x38,
  Mtbuf = 0x3a,
};
/// Six bits, from gfx11 on.
enum class Prefix11 : uint8_t {
  Buffer12 = 0x31, ///< gfx12: both kinds of buffer instructions
  Vopd = 0x32,
  Vop3p = 0x33,
  Vop3 = 0x35,
  Ds = 0x36,
  Flat11 = 0x37,
  Mubuf11 = 0x38,
  Mtbuf11 = 0x3a,
  Flat12 = 0x3b,
  Smem = 0x3d,
};
inline Prefix9 prefix9(uint32_t word) { return static_cast<Prefix9>(word >> 26); }
inline Prefix11 prefix11(uint32_t word) { return static_cast<Prefix11>(word >> 26); }

/// Fills the operands of `inst` from `words`, whose number is inst.dwords. inst.op is set. Returns
/// null, or a reason why the fields cannot be represented.
const char *decodeGfx9(const Machine &target, const uint32_t *words, Inst &inst);
const char *decodeGfx11(const Machine &target, const uint32_t *words, Inst &inst);

/// Which vector registers a memory instruction has, as LLVM lists them. inst has been decoded.
MemoryRows memoryRows(const McInstruction &mc, const Inst &inst);

/// SOP1, SOP2, SOPC, SOPK and SOPP, which all families share.
const char *decodeScalar(const Machine &target, const uint32_t *words, Inst &inst);

/// The two halves of a dual instruction. x.op, y.op and x.dwords are set.
const char *decodeVopd(const Machine &target, const uint32_t *words, Inst &x, Inst &y);

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
