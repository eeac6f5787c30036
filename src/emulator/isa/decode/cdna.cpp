// Encodings of CDNA: gfx90a, gfx942 and gfx950.
#include "emulator/isa/decode/decode.h"
#include "emulator/isa/decode/fields.h"

#include "emulator/isa/registers.h"

namespace flyemu {

namespace {
/// How the first dword of an encoding begins: six bits.
enum class Prefix : uint8_t {
  Smem = 0x30,
  Vop3 = 0x34, ///< VOP3P too
  Ds = 0x36,
  Flat = 0x37,
  Mubuf = 0x38,
  Mtbuf = 0x3a,
};
Prefix prefix(uint32_t word) { return static_cast<Prefix>(word >> 26); }

constexpr unsigned kSdwaCode = 249, kDppCode = 250;
constexpr unsigned kNoScalarAddress = 0x7f;
/// From this opcode on, VOP3's instructions are not VOP1's, VOP2's or VOPC's too.
constexpr unsigned kFirstVop3Only = 0x1c0;

/// The flags of a vector memory instruction's scope. From CDNA3 on SC1 says device scope, and SC0
/// with it system scope; before, GLC says both.
uint16_t scopeFlags(const Machine &target, bool sc0OrGlc, bool sc1) {
  if (target.processor->family == flydsl::Family::cdna2)
    return sc0OrGlc ? kWideScope : 0;
  return static_cast<uint16_t>((sc1 ? kWideScope : 0) | (sc1 && sc0OrGlc ? kSystemScope : 0));
}

/// SDWA's selector of a part; the reserved one is the whole dword too.
uint8_t part(unsigned selector) {
  return static_cast<uint8_t>(selector > kWholeDword ? kWholeDword : selector);
}

struct Vop {
  const Machine &target;
  const uint32_t *words;
  Inst &inst;

  uint32_t literal() const { return inst.dwords > 1 ? words[1] : 0; }
  Operand source(unsigned code, unsigned k) const {
    return decodeSource(target, code, inst.op->src[k], literal());
  }

  /// src0 of a VOP1/VOP2/VOPC with its SDWA or DPP word, and src1 if there is one.
  void sources(unsigned src0, unsigned src1, bool hasSrc1, bool compare) const {
    if (src0 == kSdwaCode)
      return sdwa(src1, hasSrc1, compare);
    if (hasSrc1)
      inst.src[1] = vgpr(src1);
    if (src0 == kDppCode)
      return dpp(hasSrc1);
    inst.src[0] = source(src0, 0);
  }

  void sdwa(unsigned src1, bool hasSrc1, bool compare) const {
    uint32_t x = words[1];
    inst.permute = Permute::Sdwa;
    inst.src[0] = bitField(x, 23, 1) ? source(bitField(x, 0, 8), 0) : vgpr(bitField(x, 0, 8));
    if (hasSrc1)
      inst.src[1] = bitField(x, 31, 1) ? source(src1, 1) : vgpr(src1);
    auto modifiers = [&](unsigned k, unsigned sext, unsigned neg, unsigned abs) {
      inst.src[k].flags |= (bitField(x, sext, 1) ? kSext : 0) | (bitField(x, neg, 1) ? kNeg : 0) |
                           (bitField(x, abs, 1) ? kAbs : 0);
    };
    modifiers(0, 19, 20, 21);
    if (hasSrc1)
      modifiers(1, 27, 28, 29);
    inst.sdwa = {kWholeDword, {part(bitField(x, 16, 3)), part(bitField(x, 24, 3))}, 0};
    if (compare) {
      inst.mask = sgpr(bitField(x, 15, 1) ? bitField(x, 8, 7) : kVcc);
    } else {
      inst.sdwa.result = part(bitField(x, 8, 3));
      inst.sdwa.unused = static_cast<uint8_t>(bitField(x, 11, 2));
      if (bitField(x, 13, 1))
        inst.flags |= kClamp;
      inst.omod = static_cast<uint8_t>(bitField(x, 14, 2));
    }
  }

  void dpp(bool hasSrc1) const {
    uint32_t x = words[1];
    inst.permute = Permute::Dpp;
    inst.src[0] = vgpr(bitField(x, 0, 8));
    inst.dpp = dppControl(x);
    inst.dpp.fetchInactive = false;
    inst.src[0].flags |= (bitField(x, 20, 1) ? kNeg : 0) | (bitField(x, 21, 1) ? kAbs : 0);
    if (hasSrc1)
      inst.src[1].flags |= (bitField(x, 22, 1) ? kNeg : 0) | (bitField(x, 23, 1) ? kAbs : 0);
  }
};

void vop3(const Machine &target, const uint32_t *words, Inst &inst) {
  uint32_t w0 = words[0], w1 = words[1];
  const OpDef &op = *inst.op;
  unsigned opcode = bitField(w0, 16, 10);
  inst.enc = Enc::Vop3;
  if (opcode < 0x100)
    inst.mask = sgpr(bitField(w0, 0, 7));
  else
    inst.dst = vgpr(bitField(w0, 0, 8));
  for (unsigned k = 0; k < 3; ++k)
    if (op.src[k] != Type::None)
      inst.src[k] = decodeSource(target, bitField(w1, 9 * k, 9), op.src[k], 0);
  vop3Modifiers(inst, w0, w1);
  if (op.has(Trait::CarryMask))
    inst.mask = sgpr(bitField(w0, 8, 7));
  // VOP3-only 16-bit operations of gfx9 leave the other half alone; those that are also VOP1 or
  // VOP2, and the "legacy" ones, clear it.
  if (opcode >= kFirstVop3Only && !op.has(Trait::ClearsHigh))
    inst.flags |= kKeepHigh;
}

void mai(const Machine &target, const uint32_t *words, Inst &inst) {
  uint32_t w0 = words[0], w1 = words[1];
  inst.enc = Enc::Vop3p;
  inst.dst = vgpr(bitField(w0, 0, 8) + (bitField(w0, 15, 1) ? kAccRow : 0));
  for (unsigned k = 0; k < 3; ++k)
    if (inst.op->src[k] != Type::None)
      inst.src[k] = decodeSource(target, bitField(w1, 9 * k, 9), inst.op->src[k], 0);
  for (unsigned k = 0; k < 2; ++k)
    if (bitField(w1, 27 + k, 1) && inst.src[k].isVgpr())
      inst.src[k].index += kAccRow;
  if (bitField(w0, 15, 1) && inst.src[2].isVgpr())
    inst.src[2].index += kAccRow;
  inst.matrix.cbsz = static_cast<uint8_t>(bitField(w0, 8, 3));
  inst.matrix.abid = static_cast<uint8_t>(bitField(w0, 11, 4));
  inst.matrix.blgp = static_cast<uint8_t>(bitField(w1, 29, 3));
}

/// Moves to and from accumulation registers imply which side is one; their accumulation bits say
/// nothing. Returns null, or why the source cannot be one.
const char *accumulationRegisters(Inst &inst) {
  if (inst.op->has(Trait::AccResult))
    inst.dst.index += kAccRow;
  if (!inst.op->has(Trait::AccSource))
    return nullptr;
  if (!inst.src[0].isVgpr())
    return "an operand that is no accumulation register";
  inst.src[0].index += kAccRow;
  return nullptr;
}

void memoryData(Inst &inst, unsigned row, bool acc, unsigned dst) {
  inst.src[1] = vgpr(row + (acc ? kAccRow : 0));
  inst.dst = vgpr(dst + (acc ? kAccRow : 0));
}

void scalarMemory(const uint32_t *words, Inst &inst) {
  const uint32_t w = words[0], w1 = words[1];
  inst.enc = Enc::Smem;
  inst.scalarData = sgpr(bitField(w, 6, 7));
  inst.src[0] = sgpr(bitField(w, 0, 6) * 2);
  const bool imm = bitField(w, 17, 1), soffset = bitField(w, 14, 1);
  if (bitField(w, 16, 1))
    inst.flags |= kGlc;
  if (imm)
    inst.offset = static_cast<int32_t>(w1 << 11) >> 11;
  if (soffset)
    inst.src[2] = sgpr(bitField(w1, 25, 7));
  else if (!imm)
    inst.src[2] = sgpr(bitField(w1, 0, 7));
}

void ds(const uint32_t *words, Inst &inst) {
  const uint32_t w = words[0], w1 = words[1];
  inst.enc = Enc::Ds;
  const bool acc = bitField(w, 25, 1);
  inst.src[0] = vgpr(bitField(w1, 0, 8));
  memoryData(inst, bitField(w1, 8, 8), acc, bitField(w1, 24, 8));
  inst.src[2] = vgpr(bitField(w1, 16, 8) + (acc ? kAccRow : 0));
  inst.offset = static_cast<int32_t>(bitField(w, 0, 16));
  if (bitField(w, 16, 1))
    inst.flags |= kGds;
}

void flat(const Machine &target, const uint32_t *words, Inst &inst) {
  const uint32_t w = words[0], w1 = words[1];
  const unsigned segment = bitField(w, 14, 2);
  inst.enc = segment == 0 ? Enc::Flat : segment == 1 ? Enc::Scratch : Enc::Global;
  inst.src[0] = vgpr(bitField(w1, 0, 8));
  memoryData(inst, bitField(w1, 8, 8), bitField(w1, 23, 1), bitField(w1, 24, 8));
  const unsigned saddr = bitField(w1, 16, 7);
  if (segment != 0 && saddr != kNoScalarAddress) {
    inst.flags |= kSaddr;
    inst.src[2] = sgpr(saddr);
  }
  // CDNA3 has a bit for the scratch access' vector address where CDNA2 has that of loads to LDS.
  const bool addressBit = target.processor->family != flydsl::Family::cdna2;
  if (segment == 1 && (addressBit ? bitField(w, 13, 1) : saddr == kNoScalarAddress))
    inst.flags |= kVaddr;
  if (segment == 0)
    inst.offset = static_cast<int32_t>(bitField(w, 0, 12));
  else
    inst.offset = static_cast<int32_t>(w << 19) >> 19;
  if (bitField(w, 16, 1))
    inst.flags |= kGlc;
  inst.flags |= scopeFlags(target, bitField(w, 16, 1), bitField(w, 25, 1)) |
                (bitField(w, 17, 1) ? kStreams : 0);
  if (!addressBit && bitField(w, 13, 1))
    inst.flags |= kToLds;
}

void buffer(const Machine &target, const uint32_t *words, Inst &inst) {
  const uint32_t w = words[0], w1 = words[1];
  const bool typed = prefix(w) == Prefix::Mtbuf;
  inst.enc = typed ? Enc::Mtbuf : Enc::Mubuf;
  inst.src[0] = vgpr(bitField(w1, 0, 8));
  const unsigned data = bitField(w1, 8, 8);
  memoryData(inst, data, bitField(w1, 23, 1), data);
  inst.src[2] = sgpr(bitField(w1, 16, 5) * 4);
  inst.soffset = decodeSource(target, bitField(w1, 24, 8), Type::B32, 0);
  inst.offset = static_cast<int32_t>(bitField(w, 0, 12));
  inst.flags |= (bitField(w, 12, 1) ? kOffen : 0) | (bitField(w, 13, 1) ? kIdxen : 0) |
                (bitField(w, 14, 1) ? kGlc : 0) | (!typed && bitField(w, 16, 1) ? kToLds : 0) |
                ((typed ? bitField(w1, 22, 1) : bitField(w, 17, 1)) ? kStreams : 0) |
                scopeFlags(target, bitField(w, 14, 1),
                           typed ? bitField(w1, 21, 1) : bitField(w, 15, 1)); // bit 15: an opcode's
  if (typed)
    inst.bufferFormat = static_cast<uint8_t>(bitField(w, 19, 7)); // data format, number format
}
} // namespace

const char *decodeCdna(const Machine &target, const uint32_t *words, Inst &inst) {
  const OpDef &op = *inst.op;
  uint32_t w = words[0], w1 = inst.dwords > 1 ? words[1] : 0;
  Vop vop{target, words, inst};
  if (!(w >> 31)) {
    unsigned opcode = bitField(w, 25, 6);
    if (opcode == kVop1Opcode) {
      inst.enc = Enc::Vop1;
      inst.dst = vgpr(bitField(w, 17, 8));
      vop.sources(bitField(w, 0, 9), 0, false, false);
      return accumulationRegisters(inst);
    } else if (opcode == kVopcOpcode) {
      inst.enc = Enc::Vopc;
      inst.mask = sgpr(kVcc);
      vop.sources(bitField(w, 0, 9), bitField(w, 9, 8), true, true);
    } else {
      inst.enc = Enc::Vop2;
      inst.dst = vgpr(bitField(w, 17, 8));
      vop.sources(bitField(w, 0, 9), bitField(w, 9, 8), true, false);
      implicitOperands(inst, w1);
    }
    return nullptr;
  }
  switch (prefix(w)) {
  case Prefix::Vop3:
    if (bitField(w, 23, 3) == 7) { // VOP3P
      if (op.cls == Class::Mfma) {
        // Scaled ones have 8 bytes with the scales before the instruction proper.
        mai(target, inst.dwords > 2 ? words + 2 : words, inst);
        return nullptr;
      }
      inst.enc = Enc::Vop3p;
      if (op.hasAny({Trait::AccSource, Trait::AccResult})) {
        inst.dst = vgpr(bitField(w, 0, 8));
        inst.src[0] = decodeSource(target, bitField(w1, 0, 9), op.src[0], 0);
        return accumulationRegisters(inst);
      }
      if (inst.dwords > 2)
        return "a scaled matrix instruction";
      vop3pFields(target, inst, w, w1, 0);
      return nullptr;
    }
    vop3(target, words, inst);
    return nullptr;
  case Prefix::Smem:
    scalarMemory(words, inst);
    return nullptr;
  case Prefix::Ds:
    ds(words, inst);
    return nullptr;
  case Prefix::Flat:
    flat(target, words, inst);
    return nullptr;
  case Prefix::Mubuf:
  case Prefix::Mtbuf:
    buffer(target, words, inst);
    return nullptr;
  default:
    break;
  }
  return decodeScalar(target, words, inst);
}

} // namespace flyemu
