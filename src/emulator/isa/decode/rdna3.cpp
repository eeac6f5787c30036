// Encodings of RDNA3 (gfx11): memory instructions.
#include "emulator/isa/decode/rdna.h"

#include "emulator/isa/op.h"

namespace flyemu {

namespace {
// How the first dword of an encoding begins: six bits.
constexpr uint32_t kFlat = 0x37, kMubuf = 0x38, kMtbuf = 0x3a;

void flat(const Machine &target, const uint32_t *words, Inst &inst) {
  const uint32_t w = words[0], w1 = words[1];
  inst.enc = rdnaSegment(bitField(w, 16, 2));
  rdnaMemoryOperands(inst, bitField(w1, 0, 8), bitField(w1, 8, 8), bitField(w1, 24, 8));
  const unsigned saddr = bitField(w1, 16, 7);
  if (inst.enc != Enc::Flat && saddr != target.nullSgpr) {
    inst.flags |= kSaddr;
    inst.src[2] = sgpr(saddr);
  }
  if (inst.enc == Enc::Scratch && bitField(w1, 23, 1))
    inst.flags |= kVaddr;
  inst.offset = static_cast<int32_t>(w << 19) >> 19;
  inst.flags |= (bitField(w, 14, 1) ? kGlc | kWideScope : 0) | (bitField(w, 15, 1) ? kStreams : 0);
}

void buffer(const Machine &target, const uint32_t *words, Inst &inst) {
  const uint32_t w = words[0], w1 = words[1];
  inst.enc = w >> 26 == kMtbuf ? Enc::Mtbuf : Enc::Mubuf;
  if (inst.enc == Enc::Mtbuf)
    inst.bufferFormat = static_cast<uint8_t>(bitField(w, 19, 7));
  rdnaMemoryOperands(inst, bitField(w1, 0, 8), bitField(w1, 8, 8), bitField(w1, 8, 8));
  inst.src[2] = sgpr(bitField(w1, 16, 5) * 4);
  inst.soffset = decodeSource(target, bitField(w1, 24, 8), Type::B32, 0);
  inst.offset = static_cast<int32_t>(bitField(w, 0, 12));
  inst.flags |= (bitField(w1, 22, 1) ? kOffen : 0) | (bitField(w1, 23, 1) ? kIdxen : 0) |
                (bitField(w, 14, 1) ? kGlc | kWideScope : 0) | (bitField(w, 12, 1) ? kStreams : 0);
}

} // namespace

const char *decodeRdna3(const Machine &target, const uint32_t *words, Inst &inst) {
  if (decodeRdnaVector(target, words, inst))
    return nullptr;
  switch (words[0] >> 26) {
  case kFlat:
    flat(target, words, inst);
    return nullptr;
  case kMubuf:
  case kMtbuf:
    buffer(target, words, inst);
    return nullptr;
  default:
    return decodeRdnaScalar(target, words, inst, 21);
  }
}

} // namespace flyemu
