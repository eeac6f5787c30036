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
  /// Where registers are in banks (Machine::registerBanks), the code has a copy here for each
  /// setting of the banks that it makes, one after the other; else one.
  std::vector<Inst> insts;
  std::vector<uint16_t> effects; ///< what LLVM says of each entry: McEffect
  std::vector<uint8_t> banks = {0}; ///< the setting of each copy: 2 bits for src0, src1, src2, dst
  unsigned vgprs = 0;            ///< the highest vector register used, plus one
  unsigned accVgprs = 0;         ///< as vgprs, of the accumulation registers
  bool readsClock = false;       ///< an instruction asks for the time

  /// The entries of one copy.
  size_t entries() const { return bytes / 4 + 1; }
  /// The entry of an instruction in its copy: the dword of the code where it begins.
  size_t entryOf(const Inst &inst) const {
    const auto at = static_cast<size_t>(&inst - insts.data());
    return at < entries() ? at : at % entries(); // no division where there is one copy
  }
  /// The first entry of the copy for a setting of the banks; null if the code never makes it.
  const Inst *copyFor(uint8_t setting) const {
    for (size_t k = 0; k < banks.size(); ++k)
      if (banks[k] == setting)
        return insts.data() + k * entries();
    return nullptr;
  }
  uint16_t effectsOf(const Inst &inst) const { return effects[entryOf(inst)]; }
  /// Whether it reads and writes one place of memory, in one step. (A copy between memory and LDS reads
  /// and writes two.)
  bool isAtomic(const Inst &inst) const {
    const unsigned both = kLoads | kStores;
    const bool copies = inst.op && (inst.op->cls == Class::VmemRead || inst.op->transfer.isAsync ||
                                    inst.enc == Enc::Tensor);
    return inst.op && !copies && (effectsOf(inst) & both) == both;
  }

  /// The disassembled text of the instruction at index `i`.
  std::string text(size_t i) const;
};

} // namespace flyemu
