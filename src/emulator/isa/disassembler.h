// One disassembler a machine, which the decoder and those who print instructions share.
#pragma once

#include "emulator/isa/machine.h"
#include "emulator/isa/mc.h"

#include <mutex>

namespace flyemu {

/// LLVM's disassembler of a machine. Whoever uses it holds its mutex.
struct Disassembler {
  explicit Disassembler(const Machine &machine)
      : mc(machine.processor->name, machine.disassembler) {}

  std::mutex mutex;
  McTarget mc;
};

/// The disassembler of `machine`, made at the first call. It lives as long as the process.
Disassembler &disassemblerOf(const Machine &machine);

} // namespace flyemu
