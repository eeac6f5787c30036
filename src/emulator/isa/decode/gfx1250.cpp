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

/// One half of a dual instruction, as an instruction of its own. Of the third operand, the old result
/// of a multiply-accumulate is no field, the mask of a selection is a scalar, and a function of bits
/// has its table there. The signs of the sources are bits of `signs` from `firstSign` on.
void longDualHalf(const Machine &target, Inst &half, unsigned src0, unsigned src1, unsigned src2,
                  unsigned dst, uint32_t signs, unsigned firstSign) {
  half.enc = Enc::Vopd;
  half.dst = vgpr(dst);
  half.src[0] = decodeSource(target, src0, half.op->src[0], 0);
  if (half.op->src[1] != Type::None)
    half.src[1] = vgpr(src1);
  if (half.op->src[2] == Type::Mask)
    half.src[2] = decodeSource(target, src2 & 127, Type::B32, 0);
  else if (half.op->src[2] != Type::None)
    half.src[2] = vgpr(src2);
  if (half.op->has(Trait::TruthTable))
    half.truthTable = static_cast<uint8_t>(src2);
  for (unsigned k = 0; k < 3; ++k)
    if (bitField(signs, firstSign + k, 1))
      half.src[k].flags |= kNeg;
}

/// Whether the field of the result holds the LDS address that memory is copied to.
bool isAsyncLoad(const Inst &inst) {
  return inst.op && inst.op->transfer.isAsync && inst.op->transfer.toLds;
}
} // namespace

bool isLongDual(const Machine &target, uint32_t word) {
  return target.isGfx1250() && word >> 24 == kLongDual;
}

bool hasScales(const Machine &target, const Inst &inst, uint32_t word) {
  const uint32_t opcode = word >> 16 & 0xff;
  return target.isGfx1250() && inst.dwords == 4 && (opcode == kScales || opcode == kScales16);
}

// LLVM, GCNSubtarget::hasPKF32InstrsReplicatingLower32BitsOfScalarInput.
void repeatScalars(const Machine &target, Inst &inst) {
  if (!target.isGfx1250() || inst.op->flow != Flow::Packed)
    return;
  for (unsigned k = 0; k < 3; ++k)
    if (inst.src[k].kind == Kind::Sgpr) {
      inst.opsel &= static_cast<uint8_t>(~(1u << k));
      inst.opselHi &= static_cast<uint8_t>(~(1u << k));
    }
}

void decodeLongDual(const Machine &target, const uint32_t *words, Inst &x, Inst &y) {
  const uint32_t w0 = words[0], w1 = words[1], w2 = words[2];
  longDualHalf(target, x, bitField(w0, 0, 9), bitField(w1, 16, 8), bitField(w1, 24, 8),
               bitField(w2, 0, 8), w1, 9);
  longDualHalf(target, y, bitField(w1, 0, 9), bitField(w2, 8, 8), bitField(w2, 16, 8),
               bitField(w2, 24, 8), w1, 12);
}

void decodeScaledMatrix(const Machine &target, const uint32_t *words, Inst &inst) {
  inst.enc = Enc::Vop3p;
  vop3pFields(target, inst, words[2], words[3], 0);
}

// The fields of image instructions, whose addresses are scalar registers here.
const char *decodeTensor(const Machine &target, const uint32_t *words, Inst &inst) {
  inst.enc = Enc::Tensor;
  inst.flags |= scopeFlags(bitField(words[1], 18, 2)) | temporalFlags(bitField(words[1], 20, 3));
  Operand *const groups[] = {&inst.src[0], &inst.src[1], &inst.src[2], &inst.soffset};
  constexpr unsigned kDwords[] = {4, 8, 4, 4};
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned code = bitField(words[2], 8 * k, 8);
    if (code == target.nullSgpr)
      continue;
    if (code + kDwords[k] > kVcc)
      return "a descriptor that is not in scalar registers";
    *groups[k] = sgpr(code);
  }
  const bool hasThird = inst.src[2].kind != Kind::None, hasFourth = inst.soffset.kind != Kind::None;
  if (inst.src[0].kind == Kind::None || inst.src[1].kind == Kind::None || hasThird != hasFourth)
    return "a descriptor without one of its groups";
  return nullptr;
}

void useBanks(Inst &inst, uint8_t setting) {
  for (unsigned k = 0; k < 3; ++k)
    intoBank(inst.src[k], setting, k);
  intoBank(inst.dst, setting, 3);
  // Of a buffer instruction, the data has the field of the result, whatever is done with it; and so
  // has the LDS address of an asynchronous load.
  if ((inst.enc == Enc::Mubuf || isAsyncLoad(inst)) && inst.src[1].isVgpr())
    inst.src[1].index = inst.dst.index;
  // Scales of a matrix instruction are in no bank (LLVM, getVGPRLoweringOperandTables).
}

} // namespace flyemu
