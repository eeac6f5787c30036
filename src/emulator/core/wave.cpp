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

} // namespace flyemu
