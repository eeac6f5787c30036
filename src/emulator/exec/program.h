// A code object's instructions, decoded.
#pragma once

#include "emulator/isa/inst.h"
#include "emulator/isa/machine.h"

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
  unsigned vgprs = 0;    ///< the highest vector register used, plus one
  unsigned accVgprs = 0; ///< as vgprs, of the accumulation registers

  /// The disassembled text of the instruction at index `i`.
  std::string text(size_t i) const;
};

} // namespace flyemu
