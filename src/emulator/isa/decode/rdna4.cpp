// Encodings of RDNA4 (gfx12): memory instructions.
#include "emulator/isa/decode/rdna.h"

#include "emulator/isa/op.h"

namespace flyemu {

namespace {
// How the first dword of an encoding begins: six bits.
constexpr uint32_t kBuffer = 0x31, ///< both kinds of buffer instructions
    kFlat = 0x3b, kImage = 0x34;

void flat(const Machine &target, const uint32_t *words, Inst &inst, unsigned segment) {
  const uint32_t w1 = words[1], w2 = words[2];
  inst.enc = rdnaSegment(segment);
  rdnaMemoryOperands(inst, bitField(w2, 0, 8), bitField(w1, 23, 8), bitField(w1, 0, 8));
  const unsigned saddr = bitField(words[0], 0, 7);
  if (saddr != target.nullSgpr) {
    inst.flags |= kSaddr;
    inst.src[2] = sgpr(saddr);
  }
  if (inst.enc == Enc::Scratch && bitField(w1, 17, 1))
    inst.flags |= kVaddr;
  inst.offset = static_cast<int32_t>(w2) >> 8;
  if (target.isGfx1250() && bitField(w1, 16, 1))
    inst.flags |= kScaleOffset;
  if (bitField(w1, 20, 1)) // temporal hint of atomics: return the old value
    inst.flags |= kGlc;
  inst.flags |= scopeFlags(bitField(w1, 18, 2)) | temporalFlags(bitField(w1, 20, 3));
  // The LDS address of a copy is the second source, in whichever field it stands.
  if (inst.op->transfer.isAsync && inst.op->transfer.toLds)
    inst.src[1] = inst.dst;
}

void buffer(const Machine &target, const uint32_t *words, Inst &inst) {
  const uint32_t w1 = words[1], w2 = words[2];
  inst.enc = inst.op->has(Trait::TypedBuffer) ? Enc::Mtbuf : Enc::Mubuf;
  if (inst.enc == Enc::Mtbuf)
    inst.bufferFormat = static_cast<uint8_t>(bitField(w1, 23, 7));
  rdnaMemoryOperands(inst, bitField(w2, 0, 8), bitField(w1, 0, 8), bitField(w1, 0, 8));
  inst.src[2] = sgpr(bitField(w1, 9, 9) & 127);
  inst.soffset = decodeSource(target, bitField(words[0], 0, 7), Type::B32, 0);
  inst.offset = static_cast<int32_t>(w2 >> 8);
  inst.flags |= (bitField(w1, 30, 1) ? kOffen : 0) | (bitField(w1, 31, 1) ? kIdxen : 0) |
                (bitField(w1, 20, 1) ? kGlc : 0) | scopeFlags(bitField(w1, 18, 2)) |
                temporalFlags(bitField(w1, 20, 3));
}

} // namespace

const char *decodeRdna4(const Machine &target, const uint32_t *words, Inst &inst) {
  if (decodeRdnaVector(target, words, inst)) {
    // LLVM's FeatureFP8E5M3Insts: of conversions from and to 8 bits, the bit chooses another format.
    if (target.isGfx1250() && inst.flags & kClamp && inst.op->has(Trait::ClampIsFormat))
      return "the clamp bit of a conversion";
    return nullptr;
  }
  switch (words[0] >> 26) {
  case kFlat:
    flat(target, words, inst, bitField(words[0], 24, 2));
    return nullptr;
  case kBuffer:
    buffer(target, words, inst);
    return nullptr;
  case kImage:
    return decodeTensor(target, words, inst);
  default:
    if (target.isGfx1250() && rdnaPrefix(words[0]) == RdnaPrefix::Smem && bitField(words[1], 24, 1))
      inst.flags |= kScaleOffset;
    return decodeRdnaScalar(target, words, inst, 24);
  }
}

} // namespace flyemu
