// Vector instructions and LDS of RDNA3 and RDNA4.
#include "emulator/isa/decode/rdna.h"

#include "emulator/isa/registers.h"

namespace flyemu {

namespace {
constexpr unsigned kDpp8Code = 233, kDpp8FiCode = 234, kDppCode = 250;

/// A register of VOP1, VOP2 or VOPC: 16-bit operands have 128 registers, and bit 7 tells the half.
Operand shortVgpr(unsigned row, Type type) {
  if (is16(type) && row >= 128) {
    Operand o = vgpr(row - 128);
    o.flags |= kHigh;
    return o;
  }
  return vgpr(row);
}

struct Vop {
  const Machine &target;
  const uint32_t *words;
  Inst &inst;
  unsigned extra; ///< the dword with the literal or the permute controls
  bool compact;   ///< VOP1, VOP2, VOPC

  uint32_t extraWord() const { return extra < inst.dwords ? words[extra] : 0; }

  Operand source(unsigned code, unsigned k) const {
    if (compact && code >= kFirstVgprCode)
      return shortVgpr(code - kFirstVgprCode, inst.op->src[k]);
    return decodeSource(target, code, inst.op->src[k], extraWord());
  }

  static bool isPermute(unsigned code) {
    return code == kDpp8Code || code == kDpp8FiCode || code == kDppCode;
  }

  /// src0, whose code may say that a permute word follows.
  void source0(unsigned code) const {
    uint32_t x = extraWord();
    if (code == kDpp8Code || code == kDpp8FiCode) {
      inst.permute = Permute::Dpp8;
      inst.dpp8 = {x >> 8, code == kDpp8FiCode};
    } else if (code == kDppCode) {
      inst.permute = Permute::Dpp;
      inst.dpp = dppControl(x);
    } else {
      inst.src[0] = source(code, 0);
      return;
    }
    inst.src[0] = compact ? shortVgpr(bitField(x, 0, 8), inst.op->src[0]) : vgpr(bitField(x, 0, 8));
    if (compact && code == kDppCode) {
      inst.src[0].flags |= (bitField(x, 20, 1) ? kNeg : 0) | (bitField(x, 21, 1) ? kAbs : 0);
      inst.src[1].flags |= (bitField(x, 22, 1) ? kNeg : 0) | (bitField(x, 23, 1) ? kAbs : 0);
    }
  }
};

void vop3(const Machine &target, const uint32_t *words, Inst &inst) {
  const uint32_t w0 = words[0], w1 = words[1];
  const OpDef &op = *inst.op;
  const unsigned opcode = bitField(w0, 16, 10);
  inst.enc = Enc::Vop3;
  Vop vop{target, words, inst, 2, false};
  if (op.src[0] != Type::None)
    vop.source0(bitField(w1, 0, 9));
  for (unsigned k = 1; k < 3; ++k)
    if (op.src[k] != Type::None)
      inst.src[k] = vop.source(bitField(w1, 9 * k, 9), k);
  if (opcode < 0x100)
    inst.mask = scalarDestination(target, bitField(w0, 0, 7));
  else if (op.has(Trait::ScalarResult))
    inst.dst = scalarDestination(target, bitField(w0, 0, 7));
  else
    inst.dst = vgpr(bitField(w0, 0, 8));
  vop3Modifiers(inst, w0, w1);
  if (op.has(Trait::CarryMask))
    inst.mask = scalarDestination(target, bitField(w0, 8, 7));
}

/// One half of a dual instruction, as an instruction of its own. A half that has one operand, such
/// as a move, leaves the field of the second one 0, which is no read of v0.
void vopdHalf(const Machine &target, Inst &half, unsigned src0, unsigned src1, unsigned dst,
              uint32_t literal) {
  half.enc = Enc::Vopd;
  half.dst = vgpr(dst);
  half.src[0] = decodeSource(target, src0, half.op->src[0], literal);
  if (half.op->src[1] != Type::None)
    half.src[1] = vgpr(src1);
  implicitOperands(half, literal);
}

} // namespace

const char *decodeRdnaScalar(const Machine &target, const uint32_t *words, Inst &inst,
                             unsigned offsetBits) {
  const uint32_t w = words[0], w1 = words[1];
  if (rdnaPrefix(w) != RdnaPrefix::Smem)
    return decodeScalar(target, words, inst);
  inst.enc = Enc::Smem;
  inst.scalarData = scalarDestination(target, bitField(w, 6, 7));
  inst.src[0] = sgpr(bitField(w, 0, 6) * 2);
  const unsigned above = 32 - offsetBits;
  inst.offset = static_cast<int32_t>(w1 << above) >> above;
  const unsigned soffset = bitField(w1, 25, 7);
  if (soffset != target.nullSgpr)
    inst.src[2] = sgpr(soffset);
  return nullptr;
}

void rdnaMemoryOperands(Inst &inst, unsigned address, unsigned data, unsigned dst) {
  inst.src[0] = vgpr(address);
  inst.src[1] = vgpr(data);
  inst.dst = vgpr(dst);
}

Enc rdnaSegment(unsigned segment) {
  return segment == 0 ? Enc::Flat : segment == 1 ? Enc::Scratch : Enc::Global;
}

bool isDual(const Machine &target, uint32_t word) {
  return target.encoding != Encoding::Gfx9 &&
         (rdnaPrefix(word) == RdnaPrefix::Vopd || isLongDual(target, word));
}

void decodeDual(const Machine &target, const uint32_t *words, Inst &x, Inst &y) {
  if (isLongDual(target, words[0]))
    return decodeLongDual(target, words, x, y);
  const uint32_t w0 = words[0], w1 = words[1], literal = x.dwords > 2 ? words[2] : 0;
  const unsigned dstX = bitField(w1, 24, 8), dstY = bitField(w1, 17, 7) << 1 | (~dstX & 1);
  vopdHalf(target, x, bitField(w0, 0, 9), bitField(w0, 9, 8), dstX, literal);
  vopdHalf(target, y, bitField(w1, 0, 9), bitField(w1, 9, 8), dstY, literal);
}

void keepOldResult(const Machine &target, const Inst &x, Inst &y) {
  const unsigned first = x.dst.index, count = dwordsOf(x.op->dst);
  for (Operand &o : y.src)
    if (o.isVgpr() && o.index >= first && o.index < first + count)
      o.index = static_cast<uint16_t>(target.dualRow() + o.index - first);
}

bool decodeRdnaVector(const Machine &target, const uint32_t *words, Inst &inst) {
  const OpDef &op = *inst.op;
  const uint32_t w = words[0], w1 = inst.dwords > 1 ? words[1] : 0;

  if (!(w >> 31)) {
    Vop vop{target, words, inst, 1, true};
    const unsigned opcode = bitField(w, 25, 6);
    inst.flags |= kKeepHigh;
    if (opcode != kVop1Opcode)
      inst.src[1] = shortVgpr(bitField(w, 9, 8), op.src[1]);
    vop.source0(bitField(w, 0, 9));
    if (opcode == kVopcOpcode) {
      inst.enc = Enc::Vopc;
      inst.mask = sgpr(kVcc);
      return true;
    }
    inst.enc = opcode == kVop1Opcode ? Enc::Vop1 : Enc::Vop2;
    inst.dst = shortVgpr(bitField(w, 17, 8), op.dst);
    if (opcode != kVop1Opcode)
      implicitOperands(inst, w1);
    return true;
  }
  switch (rdnaPrefix(w)) {
  case RdnaPrefix::Vop3:
    inst.flags |= kKeepHigh;
    vop3(target, words, inst);
    return true;
  case RdnaPrefix::Vop3p: {
    if (hasScales(target, inst, w)) {
      decodeScaledMatrix(target, words, inst);
      return true;
    }
    inst.enc = Enc::Vop3p;
    inst.flags |= kKeepHigh;
    Vop vop{target, words, inst, 2, false};
    vop3pFields(target, inst, w, w1, vop.extraWord());
    repeatScalars(target, inst);
    if (vop.isPermute(bitField(w1, 0, 9))) {
      const uint8_t modifiers = inst.src[0].flags;
      vop.source0(bitField(w1, 0, 9));
      inst.src[0].flags |= modifiers;
    }
    return true;
  }
  case RdnaPrefix::Ds: {
    inst.enc = Enc::Ds;
    rdnaMemoryOperands(inst, bitField(w1, 0, 8), bitField(w1, 8, 8), bitField(w1, 24, 8));
    inst.src[2] = vgpr(bitField(w1, 16, 8));
    inst.offset = static_cast<int32_t>(bitField(w, 0, 16));
    if (bitField(w, 17, 1))
      inst.flags |= kGds;
    return true;
  }
  default:
    return false;
  }
}

} // namespace flyemu
