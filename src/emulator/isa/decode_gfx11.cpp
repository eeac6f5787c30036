// Encodings of gfx11 and gfx12.
#include "emulator/isa/decode.h"

#include "emulator/isa/registers.h"

namespace flyemu {

namespace {
/// gfx12's scopes: a compute unit, its shader engine, the device, the system.
constexpr unsigned kScopeDevice = 2, kScopeSystem = 3;
/// The flags of gfx12's field SCOPE.
uint16_t scopeFlags(unsigned scope) {
  return static_cast<uint16_t>((scope >= kScopeDevice ? kWideScope : 0) |
                               (scope == kScopeSystem ? kSystemScope : 0));
}
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
    inst.sdst = scalarDestination(target, bitField(w0, 0, 7));
  else if (op.has(kScalarResult))
    inst.dst = scalarDestination(target, bitField(w0, 0, 7));
  else
    inst.dst = vgpr(bitField(w0, 0, 8));
  vop3Modifiers(inst, w0, w1);
  if (op.has(kCarryMask))
    inst.sdst = scalarDestination(target, bitField(w0, 8, 7));
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

void memoryOperands(Inst &inst, unsigned address, unsigned data, unsigned dst) {
  inst.src[0] = vgpr(address);
  inst.src[1] = vgpr(data);
  inst.dst = vgpr(dst);
}

Enc segmentOf(unsigned segment) {
  return segment == 0 ? Enc::Flat : segment == 1 ? Enc::Scratch : Enc::Global;
}

void flat11(const Machine &target, const uint32_t *words, Inst &inst) {
  const uint32_t w = words[0], w1 = words[1];
  inst.enc = segmentOf(bitField(w, 16, 2));
  memoryOperands(inst, bitField(w1, 0, 8), bitField(w1, 8, 8), bitField(w1, 24, 8));
  const unsigned saddr = bitField(w1, 16, 7);
  if (inst.enc != Enc::Flat && saddr != target.nullSgpr) {
    inst.flags |= kSaddr;
    inst.src[2] = sgpr(saddr);
  }
  if (inst.enc == Enc::Scratch && bitField(w1, 23, 1))
    inst.flags |= kVaddr;
  inst.offset = static_cast<int32_t>(w << 19) >> 19;
  if (bitField(w, 14, 1))
    inst.flags |= kGlc | kWideScope;
}

void flat12(const Machine &target, const uint32_t *words, Inst &inst, unsigned segment) {
  const uint32_t w1 = words[1], w2 = words[2];
  inst.enc = segmentOf(segment);
  memoryOperands(inst, bitField(w2, 0, 8), bitField(w1, 23, 8), bitField(w1, 0, 8));
  const unsigned saddr = bitField(words[0], 0, 7);
  if (saddr != target.nullSgpr) {
    inst.flags |= kSaddr;
    inst.src[2] = sgpr(saddr);
  }
  if (inst.enc == Enc::Scratch && bitField(w1, 17, 1))
    inst.flags |= kVaddr;
  inst.offset = static_cast<int32_t>(w2) >> 8;
  if (bitField(w1, 20, 1)) // temporal hint of atomics: return the old value
    inst.flags |= kGlc;
  inst.flags |= scopeFlags(bitField(w1, 18, 2));
}

void buffer11(const Machine &target, const uint32_t *words, Inst &inst) {
  const uint32_t w = words[0], w1 = words[1];
  inst.enc = prefix11(w) == Prefix11::Mtbuf11 ? Enc::Mtbuf : Enc::Mubuf;
  if (inst.enc == Enc::Mtbuf)
    inst.bufferFormat = static_cast<uint8_t>(bitField(w, 19, 7));
  memoryOperands(inst, bitField(w1, 0, 8), bitField(w1, 8, 8), bitField(w1, 8, 8));
  inst.src[2] = sgpr(bitField(w1, 16, 5) * 4);
  inst.src[3] = decodeSource(target, bitField(w1, 24, 8), Type::B32, 0);
  inst.offset = static_cast<int32_t>(bitField(w, 0, 12));
  inst.flags |= (bitField(w1, 22, 1) ? kOffen : 0) | (bitField(w1, 23, 1) ? kIdxen : 0) |
                (bitField(w, 14, 1) ? kGlc | kWideScope : 0);
}

void buffer12(const Machine &target, const uint32_t *words, Inst &inst) {
  const uint32_t w1 = words[1], w2 = words[2];
  inst.enc = inst.op->has(kTypedBuffer) ? Enc::Mtbuf : Enc::Mubuf;
  if (inst.enc == Enc::Mtbuf)
    inst.bufferFormat = static_cast<uint8_t>(bitField(w1, 23, 7));
  memoryOperands(inst, bitField(w2, 0, 8), bitField(w1, 0, 8), bitField(w1, 0, 8));
  inst.src[2] = sgpr(bitField(w1, 9, 9) & 127);
  inst.src[3] = decodeSource(target, bitField(words[0], 0, 7), Type::B32, 0);
  inst.offset = static_cast<int32_t>(w2 >> 8);
  inst.flags |= (bitField(w1, 30, 1) ? kOffen : 0) | (bitField(w1, 31, 1) ? kIdxen : 0) |
                (bitField(w1, 20, 1) ? kGlc : 0) | scopeFlags(bitField(w1, 18, 2));
}

void scalarMemory(const Machine &target, const uint32_t *words, Inst &inst) {
  const uint32_t w = words[0], w1 = words[1];
  inst.enc = Enc::Smem;
  inst.sdst = scalarDestination(target, bitField(w, 6, 7));
  inst.src[0] = sgpr(bitField(w, 0, 6) * 2);
  inst.offset = target.encoding == Encoding::Gfx12 ? static_cast<int32_t>(w1 << 8) >> 8
                                                   : static_cast<int32_t>(w1 << 11) >> 11;
  unsigned soffset = bitField(w1, 25, 7);
  if (soffset != target.nullSgpr)
    inst.src[2] = sgpr(soffset);
}
} // namespace

const char *decodeVopd(const Machine &target, const uint32_t *words, Inst &x, Inst &y) {
  const uint32_t w0 = words[0], w1 = words[1], literal = x.dwords > 2 ? words[2] : 0;
  const unsigned dstX = bitField(w1, 24, 8), dstY = bitField(w1, 17, 7) << 1 | (~dstX & 1);
  vopdHalf(target, x, bitField(w0, 0, 9), bitField(w0, 9, 8), dstX, literal);
  vopdHalf(target, y, bitField(w1, 0, 9), bitField(w1, 9, 8), dstY, literal);
  // Both read before either writes: the second half finds the first one's old destination in a
  // temporary row.
  for (Operand &o : y.src)
    if (o.isVgpr() && o.index == dstX)
      o.index = kDualRow;
  return nullptr;
}

const char *decodeGfx11(const Machine &target, const uint32_t *words, Inst &inst) {
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
      inst.sdst = sgpr(kVcc);
      return nullptr;
    }
    inst.enc = opcode == kVop1Opcode ? Enc::Vop1 : Enc::Vop2;
    inst.dst = shortVgpr(bitField(w, 17, 8), op.dst);
    if (opcode != kVop1Opcode)
      implicitOperands(inst, w1);
    return nullptr;
  }
  switch (prefix11(w)) {
  case Prefix11::Vop3:
    inst.flags |= kKeepHigh;
    vop3(target, words, inst);
    return nullptr;
  case Prefix11::Vop3p: {
    inst.enc = Enc::Vop3p;
    inst.flags |= kKeepHigh;
    Vop vop{target, words, inst, 2, false};
    vop3pFields(target, inst, w, w1, vop.extraWord());
    if (vop.isPermute(bitField(w1, 0, 9))) {
      const uint8_t modifiers = inst.src[0].flags;
      vop.source0(bitField(w1, 0, 9));
      inst.src[0].flags |= modifiers;
    }
    return nullptr;
  }
  case Prefix11::Ds: {
    inst.enc = Enc::Ds;
    memoryOperands(inst, bitField(w1, 0, 8), bitField(w1, 8, 8), bitField(w1, 24, 8));
    inst.src[2] = vgpr(bitField(w1, 16, 8));
    inst.offset = static_cast<int32_t>(bitField(w, 0, 16));
    if (bitField(w, 17, 1))
      inst.flags |= kGds;
    return nullptr;
  }
  case Prefix11::Flat11:
    flat11(target, words, inst);
    return nullptr;
  case Prefix11::Flat12:
    flat12(target, words, inst, bitField(w, 24, 2));
    return nullptr;
  case Prefix11::Mubuf11:
  case Prefix11::Mtbuf11:
    buffer11(target, words, inst);
    return nullptr;
  case Prefix11::Buffer12:
    buffer12(target, words, inst);
    return nullptr;
  case Prefix11::Smem:
    scalarMemory(target, words, inst);
    return nullptr;
  default:
    break;
  }
  return decodeScalar(target, words, inst);
}

} // namespace flyemu
