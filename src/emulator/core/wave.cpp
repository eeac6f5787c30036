#include "emulator/core/wave.h"

#include "emulator/core/program.h"
#include "emulator/core/weak_memory.h"

namespace flyemu {

bool Wave::findRange(uint64_t address) {
  MemoryRange found;
  if (weak || !memory->find(address, found))
    return false;
  ranges[nextRange++ % 4] = found;
  return true;
}

uint8_t *Wave::globalSlow(uint64_t address, uint32_t bytes, bool write, int lane) {
  MemoryRange found;
  if (!memory->find(address, found) || !found.contains(address, bytes)) {
    std::string what = std::string(write ? "write" : "read") + " of " + std::to_string(bytes) +
                       " bytes outside of any allocation";
    throw WaveFault{what, lane, address, FaultKind::Address};
  }
  if (write && !found.writable)
    throw WaveFault{"write to read-only memory", lane, address, FaultKind::Address};
  if (weak) // every access goes through here
    return weak->place(cache, found, address, bytes, write, *current, program->isAtomic(*current));
  ranges[nextRange++ % 4] = found;
  return reinterpret_cast<uint8_t *>(address);
}

uint32_t readSpecial(const Wave &w, unsigned code) {
  switch (code) {
  case kVcczCode:
    return w.vcc() == 0;
  case kExeczCode:
    return w.exec() == 0;
  case kSccCode:
    return w.scc;
  case kSharedBaseCode:
  case kSharedLimitCode:
    return static_cast<uint32_t>(kSharedAperture);
  case kPrivateBaseCode:
  case kPrivateLimitCode:
    return static_cast<uint32_t>(kPrivateAperture);
  case kLiteralCode:
    throw WaveFault{
        "a literal of 32 bits for an operand of 64: whether its sign is extended is not "
        "known"};
  case kScratchBaseLowCode:
    return static_cast<uint32_t>(kScratchBase);
  case kScratchBaseHighCode:
    return kScratchBase >> 32;
  default:
    throw WaveFault{"scalar operand " + std::to_string(code) +
                    " is not part of the emulated state"};
  }
}

void Wave::jump(uint64_t address) {
  uint64_t offset = address - codeAddress;
  uint64_t count = static_cast<uint64_t>(codeEnd - codeBegin);
  if (offset % 4 || offset / 4 >= count)
    throw WaveFault{"jump to an address outside of the code", -1, address, FaultKind::Address};
  ip = codeBegin + offset / 4;
}

void Wave::useBanks(uint8_t setting) {
  // An instruction that runs by itself belongs to no code whose copies have other banks.
  if (!program && !setting)
    return;
  if (!program)
    throw WaveFault{"banks of vector registers, of an instruction that belongs to no code"};
  const Inst *begin = program->copyFor(setting);
  if (!begin)
    throw WaveFault{"banks of vector registers that no s_set_vgpr_msb of the code names"};
  ip = begin + (ip - codeBegin);
  codeEnd = begin + (codeEnd - codeBegin);
  codeBegin = begin;
}

uint64_t readWide(const Wave &w, const Operand &o) {
  const uint64_t place = w.pcOf(w.current) + 4 * o.index;
  uint64_t value;
  std::memcpy(&value, reinterpret_cast<const void *>(place), sizeof value);
  return value;
}

} // namespace flyemu
