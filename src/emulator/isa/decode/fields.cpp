#include "emulator/isa/decode/fields.h"

#include "emulator/isa/registers.h"

namespace flyemu {

namespace {
struct InlineFloat {
  uint16_t half;
  uint32_t single;
  uint32_t doubleHigh;
};
// From kFirstFloat on: 0.5, -0.5, 1, -1, 2, -2, 4, -4.
constexpr InlineFloat kInlineFloats[] = {
    {0x3800, 0x3f000000, 0x3fe00000}, {0xb800, 0xbf000000, 0xbfe00000},
    {0x3c00, 0x3f800000, 0x3ff00000}, {0xbc00, 0xbf800000, 0xbff00000},
    {0x4000, 0x40000000, 0x40000000}, {0xc000, 0xc0000000, 0xc0000000},
    {0x4400, 0x40800000, 0x40100000}, {0xc400, 0xc0800000, 0xc0100000}};
// 1 / (2 pi), whose double has a kind of its own.
constexpr InlineFloat kInlineOneOverTwoPi = {0x3118, 0x3e22f983, 0};

bool is64(Type t) { return t == Type::B64 || t == Type::F64; }

/// What an inline constant of \p f is to an operand. Integers of 16 bits get the float of 32, of
/// which a packed operation may take either half; halves and bfloats stand in the lower half below
/// zeros (LLVM, AMDGPUBaseInfo.cpp: getInlineEncodingV216 says that the ISA manuals mislead here).
uint32_t inlineBits(const InlineFloat &f, Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16Pair:
    return f.half;
  case Type::BF16:
  case Type::BF16Pair:
    return f.single >> 16;
  default:
    return f.single;
  }
}
} // namespace

Operand decodeSource(const Machine &target, unsigned code, Type type, uint32_t literal) {
  if (code >= kFirstVgprCode)
    return vgpr(code - kFirstVgprCode);
  if (code < kIntegerZero) {
    if (target.nullSgpr && code == target.nullSgpr)
      return {Kind::Imm, 0, 0, 0};
    return sgpr(code);
  }
  if (code <= kLastPositive)
    return {Kind::Imm, 0, 0, code - kIntegerZero};
  if (code <= kLastNegative)
    return {Kind::Imm, 0, 0, kLastPositive - code};
  if (code >= kFirstFloat && code <= kLastFloat) {
    const InlineFloat &f = kInlineFloats[code - kFirstFloat];
    if (is64(type))
      return {Kind::ImmHigh, 0, 0, f.doubleHigh};
    return {Kind::Imm, 0, 0, inlineBits(f, type)};
  }
  if (code == kOneOverTwoPi) {
    if (is64(type))
      return {Kind::ImmPi, 0, 0, 0};
    return {Kind::Imm, 0, 0, inlineBits(kInlineOneOverTwoPi, type)};
  }
  if (code == kWideLiteralCode && target.isGfx1250())
    return {Kind::ImmWide, 0, 1, 0};
  if (code == kLiteralCode) {
    if (type == Type::F64)
      return {Kind::ImmHigh, 0, 0, literal};
    // LLVM encodes -256 and 0xffffff00 alike in VOP3 instructions of gfx1250, and as operands of 64
    // bits in all others: what such a literal means is not known.
    if (is64(type) && target.isGfx1250() && literal >> 31)
      return {Kind::Special, 0, kLiteralCode, 0};
    return {is64(type) ? Kind::ImmZero : Kind::Imm, 0, 0, literal};
  }
  return {Kind::Special, 0, static_cast<uint16_t>(code), 0};
}

Operand scalarDestination(const Machine &target, unsigned code) {
  if (target.nullSgpr && code == target.nullSgpr)
    return sgpr(kNullSink);
  return sgpr(code);
}

const char *decodeScalar(const Machine &target, const uint32_t *words, Inst &inst) {
  const OpDef &op = *inst.op;
  const uint32_t w = words[0], literal = inst.dwords > 1 ? words[1] : 0;
  auto source = [&](unsigned k, unsigned low) {
    const unsigned code = bitField(w, low, 8);
    const bool number = op.has(Trait::NumberSource) && (k == 1 || op.src[1] == Type::None);
    inst.src[k] =
        number ? Operand{Kind::Imm, 0, 0, code} : decodeSource(target, code, op.src[k], literal);
  };
  inst.dst = scalarDestination(target, bitField(w, 16, 7));
  switch (w >> 23) {
  case kSop1Prefix:
    inst.enc = Enc::Sop1;
    source(0, 0);
    return nullptr;
  case kSopcPrefix:
    inst.enc = Enc::Sopc;
    source(0, 0);
    source(1, 8);
    return nullptr;
  case kSoppPrefix:
    inst.enc = Enc::Sopp;
    inst.offset = static_cast<int16_t>(w);
    return nullptr;
  default:
    break;
  }
  if (w >> 28 == kSopkPrefix) {
    inst.enc = Enc::Sopk;
    inst.offset = static_cast<int16_t>(w);
    inst.src[1] = {Kind::Imm, 0, 0, literal};
    return nullptr;
  }
  if (w >> 30 != kSop2Prefix)
    return "an encoding that is not handled";
  inst.enc = Enc::Sop2;
  source(0, 0);
  source(1, 8);
  inst.src[2] = {Kind::Imm, 0, 0, literal}; // the third operand of multiply-adds with a constant
  return nullptr;
}

void implicitOperands(Inst &inst, uint32_t literal) {
  const Operand constant = inst.op->dst == Type::F64 ? Operand{Kind::ImmWide, 0, 1, 0}
                                                     : Operand{Kind::Imm, 0, 0, literal};
  if (inst.op->literal == Literal::Second) {
    inst.src[2] = inst.src[1];
    inst.src[1] = constant;
  } else if (inst.op->literal == Literal::Third) {
    inst.src[2] = constant;
  } else {
    if (inst.op->src[2] == Type::Mask)
      inst.src[2] = sgpr(kVcc);
    inst.mask = sgpr(kVcc);
  }
}

DppControl dppControl(uint32_t word) {
  DppControl c;
  c.control = static_cast<uint16_t>(bitField(word, 8, 9));
  c.banks = bitField(word, 24, 4) & 15;
  c.rows = bitField(word, 28, 4) & 15;
  c.zero = bitField(word, 19, 1);
  c.fetchInactive = bitField(word, 18, 1);
  return c;
}

void vop3Modifiers(Inst &inst, uint32_t w0, uint32_t w1) {
  if (bitField(w0, 15, 1))
    inst.flags |= kClamp;
  inst.omod = static_cast<uint8_t>(bitField(w1, 27, 2));
  for (unsigned k = 0; k < 3; ++k)
    if (bitField(w1, 29 + k, 1))
      inst.src[k].flags |= kNeg;
  const OpDef &op = *inst.op;
  if (op.has(Trait::CarryMask))
    return;
  for (unsigned k = 0; k < 3; ++k)
    if (bitField(w0, 8 + k, 1))
      inst.src[k].flags |= kAbs;
  inst.opsel = static_cast<uint8_t>(bitField(w0, 11, 4));
  for (unsigned k = 0; k < 3; ++k)
    if (inst.opsel >> k & 1 && is16(op.src[k]))
      inst.src[k].flags |= kHigh;
  if (inst.opsel & 8 && is16(op.dst))
    inst.dst.flags |= kHigh;
  if (op.has(Trait::TruthTable)) { // in the place of omod, abs and neg
    inst.truthTable = static_cast<uint8_t>(bitField(w1, 27, 2) << 6 | bitField(w0, 8, 3) << 3 |
                                           bitField(w1, 29, 3));
    inst.omod = 0;
    for (Operand &o : inst.src)
      o.flags &= static_cast<uint8_t>(~(kNeg | kAbs));
  }
}

void vop3pFields(const Machine &target, Inst &inst, uint32_t w0, uint32_t w1, uint32_t literal) {
  inst.dst = vgpr(bitField(w0, 0, 8));
  if (bitField(w0, 15, 1))
    inst.flags |= kClamp;
  inst.opsel = static_cast<uint8_t>(bitField(w0, 11, 3));
  inst.opselHi = static_cast<uint8_t>(bitField(w1, 27, 2) | bitField(w0, 14, 1) << 2);
  for (unsigned k = 0; k < 3; ++k) {
    if (inst.op->src[k] == Type::None)
      continue;
    inst.src[k] = decodeSource(target, bitField(w1, 9 * k, 9), inst.op->src[k], literal);
    if (bitField(w1, 29 + k, 1))
      inst.src[k].flags |= kNeg;
    if (bitField(w0, 8 + k, 1))
      inst.src[k].flags |= kNegHi;
  }
}

} // namespace flyemu
