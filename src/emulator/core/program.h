// A code object's instructions, decoded.
#pragma once

#include "emulator/isa/inst.h"
#include "emulator/isa/machine.h"
#include "emulator/isa/mc.h"
#include "emulator/isa/op.h"

#include <memory>
#include <string>
#include <vector>

namespace flyemu {

/// One entry for each dword of the segment, plus one past the end; entries where no instruction can
/// be run carry a handler that reports why.
class Program {
public:
  const Machine *target = nullptr;
  uint64_t address = 0; ///< host address of the first instruction
  size_t bytes = 0;
  std::vector<Inst> insts;
  std::vector<uint16_t> effects; ///< what LLVM says of each entry: McEffect
  unsigned vgprs = 0;            ///< the highest vector register used, plus one
  unsigned accVgprs = 0;         ///< as vgprs, of the accumulation registers
  bool readsClock = false;       ///< an instruction asks for the time

  uint16_t effectsOf(const Inst &inst) const {
    return effects[static_cast<size_t>(&inst - insts.data())];
  }
  /// Whether it reads and writes one place of memory, in one step. (A load to LDS reads and writes
  /// two.)
  bool isAtomic(const Inst &inst) const {
    const unsigned both = kLoads | kStores;
    return inst.op && inst.op->cls != Class::VmemRead && (effectsOf(inst) & both) == both;
  }

  /// The disassembled text of the instruction at index `i`.
  std::string text(size_t i) const;
};

} // namespace flyemu
