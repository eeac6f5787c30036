#include "emulator/core/program.h"

#include "emulator/isa/disassembler.h"

namespace flyemu {

std::string Program::text(size_t i) const {
  if (i * 4 >= bytes)
    return {};
  Disassembler &d = disassemblerOf(*target);
  std::lock_guard lock(d.mutex);
  return d.mc.print(reinterpret_cast<const uint8_t *>(address) + i * 4, bytes - i * 4,
                    address + i * 4);
}

} // namespace flyemu
