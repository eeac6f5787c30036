// What gfx1250 has besides RDNA4's encodings: vector registers in banks, dual instructions of three
// dwords, scaled matrix instructions of four. Sources: LLVM's assembler, whose encodings are those
// of the fields below; its AMDGPULowerVGPREncoding.cpp for the operands that each part of a banks'
// setting is for.
#include "emulator/isa/decode/decode.h"
#include "emulator/isa/decode/fields.h"
#include "emulator/isa/decode/rdna.h"

#include "emulator/isa/op.h"
#include "emulator/isa/registers.h"

namespace flyemu {

namespace {
constexpr uint32_t kLongDual = 0xcf; ///< eight bits
/// VOP3P's opcodes that hold the scales of the matrix instruction which follows them.
constexpr uint32_t kScales = 0x35, kScales16 = 0x3a;

/// A register of a source's or the result's bank. Temporary registers are in no bank.
void intoBank(Operand &o, unsigned setting, unsigned place) {
  if (o.isVgpr() && o.index < kBankRows)
    o.index = static_cast<uint16_t>(o.index + (setting >> (2 * place) & 3) * kBankRows);
}

void negate(Operand &o, uint32_t word, unsigned bit) {
  if (bitField(word, bit, 1))
    o.flags |= kNeg;
}

/// A half's third operand: the old result of a multiply-accumulate is no field, the mask of a
/// selection is a scalar.
void thirdSource(const Machine &target, Inst &half, unsigned code) {
  const Type type = half.op->src[2];
  if (type == Type::Mask)
    half.src[2] = decodeSource(target, code & 127, Type::B32, 0);
  else if (type != Type::None)
    half.src[2] = vgpr(code);
}
} // namespace

bool isLongDual(const Machine &target, uint32_t word) {
  return target.registerBanks && word >> 24 == kLongDual;
}

bool hasScales(const Machine &target, const Inst &inst, uint32_t word) {
  const uint32_t opcode = word >> 16 & 0xff;
  return target.registerBanks && inst.dwords == 4 && (opcode == kScales || opcode == kScales16);
}

// LLVM, GCNSubtarget::hasPKF32InstrsReplicatingLower32BitsOfScalarInput.
void repeatScalars(const Machine &target, Inst &inst) {
  if (!target.registerBanks || inst.op->flow != Flow::Packed)
    return;
  for (unsigned k = 0; k < 3; ++k)
    if (inst.src[k].kind == Kind::Sgpr) {
      inst.opsel &= static_cast<uint8_t>(~(1u << k));
      inst.opselHi &= static_cast<uint8_t>(~(1u << k));
    }
}

void decodeLongDual(const Machine &target, const uint32_t *words, Inst &x, Inst &y) {
  const uint32_t w0 = words[0], w1 = words[1], w2 = words[2];
  x.enc = y.enc = Enc::Vopd;
  x.dst = vgpr(bitField(w2, 0, 8));
  y.dst = vgpr(bitField(w2, 24, 8));
  x.src[0] = decodeSource(target, bitField(w0, 0, 9), x.op->src[0], 0);
  y.src[0] = decodeSource(target, bitField(w1, 0, 9), y.op->src[0], 0);
  if (x.op->src[1] != Type::None)
    x.src[1] = vgpr(bitField(w1, 16, 8));
  if (y.op->src[1] != Type::None)
    y.src[1] = vgpr(bitField(w2, 8, 8));
  thirdSource(target, x, bitField(w1, 24, 8));
  thirdSource(target, y, bitField(w2, 16, 8));
  // A function of bits has its table in the third source's field.
  if (x.op->has(Trait::TruthTable))
    x.truthTable = static_cast<uint8_t>(bitField(w1, 24, 8));
  if (y.op->has(Trait::TruthTable))
    y.truthTable = static_cast<uint8_t>(bitField(w2, 16, 8));
  for (unsigned k = 0; k < 3; ++k) {
    negate(x.src[k], w1, 9 + k);
    negate(y.src[k], w1, 12 + k);
  }
}

void decodeScaledMatrix(const Machine &target, const uint32_t *words, Inst &inst) {
  const uint32_t s0 = words[0], s1 = words[1], w0 = words[2], w1 = words[3];
  inst.enc = Enc::Vop3p;
  vop3pFields(target, inst, w0, w1, 0);
  const Type type = bitField(s0, 16, 8) == kScales16 ? Type::B64 : Type::B32;
  inst.scaleA = decodeSource(target, bitField(s1, 0, 9), type, 0);
  inst.scaleB = decodeSource(target, bitField(s1, 9, 9), type, 0);
  inst.matrix.halfOfA = static_cast<uint8_t>(bitField(s0, 11, 1));
  inst.matrix.halfOfB = static_cast<uint8_t>(bitField(s1, 27, 1));
  inst.matrix.scaleFormatA = static_cast<uint8_t>(bitField(s1, 29, 2));
  inst.matrix.scaleFormatB = static_cast<uint8_t>(bitField(s0, 8, 2));
}

void useBanks(Inst &inst, uint8_t setting) {
  for (unsigned k = 0; k < 3; ++k)
    intoBank(inst.src[k], setting, k);
  intoBank(inst.dst, setting, 3);
  // Of a buffer instruction, the data has the field of the result, whatever is done with it.
  if (inst.enc == Enc::Mubuf && inst.src[1].isVgpr())
    inst.src[1].index = inst.dst.index;
  if (inst.op && inst.op->cls == Class::Mfma) {
    intoBank(inst.scaleA, setting, 0);
    intoBank(inst.scaleB, setting, 1);
  }
}

} // namespace flyemu
