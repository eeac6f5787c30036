#include "emulator/isa/decode/decode.h"

#include "emulator/isa/op.h"

#include <iterator>
#include <utility>

namespace flyemu {

const char *decodeOperands(const Machine &target, const uint32_t *words, Inst &inst) {
  switch (target.encoding) {
  case Encoding::Gfx9:
    return decodeCdna(target, words, inst);
  case Encoding::Gfx11:
    return decodeRdna3(target, words, inst);
  case Encoding::Gfx12:
    return decodeRdna4(target, words, inst);
  }
  return "an encoding that is not handled";
}

MemoryRows memoryRows(const McInstruction &mc, const Inst &inst) {
  MemoryRows rows;
  const bool buffer = inst.enc == Enc::Mubuf || inst.enc == Enc::Mtbuf;
  const bool loads = inst.op->cls == Class::VmemRead;
  // LLVM lists the data first for stores and atomics of buffers, and the address first for all
  // others.
  uint8_t *slots[] = {&rows.address, &rows.data, &rows.second};
  const bool noAddress =
      inst.op->has(Trait::NoAddress) || (inst.enc == Enc::Scratch && !(inst.flags & kVaddr));
  unsigned next = noAddress ? 1 : 0;
  // Of an asynchronous load, LLVM lists the LDS address first.
  if ((buffer && !loads) || (loads && inst.op->transfer.isAsync))
    std::swap(slots[0], slots[1]);
  for (unsigned k = 0; k < mc.vectorCount; ++k) {
    const McVectorOperand &v = mc.vectors[k];
    if (v.written)
      rows.result = v.dwords;
    else if (v.tied && !(buffer && !loads)) // a part of the register is kept
      continue;
    else if (next < std::size(slots))
      *slots[next++] = v.dwords;
  }
  return rows;
}

} // namespace flyemu
