#include "jit/compile/rocm/schedule/instruction_kinds.h"

#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetOpcodes.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

#include <iterator>
#include <utility>

namespace flydsl::jit {

const SpecialOpcodes &specialOpcodes(const llvm::TargetInstrInfo &instructions) {
  static const SpecialOpcodes found = [&] {
    SpecialOpcodes opcodes{~0u, ~0u, ~0u, ~0u, ~0u};
    const std::pair<llvm::StringRef, unsigned *> wanted[] = {
        {"SCHED_GROUP_BARRIER", &opcodes.groupBarrier},
        {"SCHED_BARRIER", &opcodes.barrier},
        {"IGLP_OPT", &opcodes.iglpOpt},
        {"V_ACCVGPR_READ_B32_e64", &opcodes.readAcc},
        {"V_ACCVGPR_WRITE_B32_e64", &opcodes.writeAcc}};
    // Most of the opcodes stand behind these.
    std::size_t missing = std::size(wanted);
    for (unsigned opcode = 0; missing && opcode < instructions.getNumOpcodes(); ++opcode) {
      const llvm::StringRef found = instructions.getName(opcode);
      for (const auto &[name, place] : wanted)
        if (found == name) {
          *place = opcode;
          --missing;
        }
    }
    return opcodes;
  }();
  return found;
}

static bool takesOne(std::int64_t mask, const llvm::MachineInstr &instruction) {
  using namespace instruction_flags;
  if (instruction.isMetaInstruction())
    return false;
  const std::uint64_t flags = instruction.getDesc().TSFlags;
  const SpecialOpcodes &special =
      specialOpcodes(*instruction.getMF()->getSubtarget().getInstrInfo());
  const unsigned opcode = instruction.getOpcode();
  const bool isMatrix = (flags & kMai && opcode != special.readAcc && opcode != special.writeAcc) ||
                        flags & (kWmma | kSwmmac);
  const bool isVmem = flags & (kMubuf | kMtbuf | kMimg | kVimage | kVsample | kFlat);
  const bool isValu = flags & kValu, isSalu = flags & kSalu, isTrans = flags & kTrans,
             isDs = flags & kDs;
  // An instruction of the processor that accesses memory, such as a load to LDS, is no arithmetic,
  // and the first kind of the mask that it looks like decides.
  if (mask & group_mask::kAlu && (isValu || isMatrix || isSalu || isTrans))
    return !instruction.mayLoadOrStore();
  if (mask & group_mask::kValu && isValu && !isMatrix && !isTrans)
    return !instruction.mayLoadOrStore();
  if (mask & group_mask::kSalu && isSalu)
    return !instruction.mayLoadOrStore();
  return (mask & group_mask::kMfma && isMatrix) || (mask & group_mask::kVmem && isVmem) ||
         (mask & group_mask::kVmemRead && isVmem && instruction.mayLoad()) ||
         (mask & group_mask::kVmemWrite && isVmem && instruction.mayStore()) ||
         (mask & group_mask::kDs && isDs) ||
         (mask & group_mask::kDsRead && isDs && instruction.mayLoad()) ||
         (mask & group_mask::kDsWrite && isDs && instruction.mayStore()) ||
         (mask & group_mask::kTrans && isTrans);
}

bool groupTakes(std::int64_t mask, const llvm::MachineInstr &instruction) {
  if (instruction.getOpcode() != llvm::TargetOpcode::BUNDLE)
    return takesOne(mask, instruction);
  auto at = std::next(instruction.getIterator());
  for (const auto end = instruction.getParent()->instr_end(); at != end && at->isBundledWithPred();
       ++at)
    if (!takesOne(mask, *at))
      return false;
  return true;
}

} // namespace flydsl::jit
