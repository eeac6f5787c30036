#include "emulator/isa/disassembler.h"

#include <map>

namespace flyemu {

Disassembler &disassemblerOf(const Machine &machine) {
  static std::mutex mutex;
  // It is never destroyed, because streams may run while the process exits.
  static auto &all = *new std::map<const Machine *, std::unique_ptr<Disassembler>>;
  std::lock_guard lock(mutex);
  auto &found = all[&machine];
  if (!found)
    found = std::make_unique<Disassembler>(machine);
  return *found;
}

} // namespace flyemu
