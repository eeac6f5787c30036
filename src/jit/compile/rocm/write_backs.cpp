// A release of device or system scope writes caches back (buffer_wbl2) and waits until that is done, before
// the store or atomic operation that others see. LLVM 22 drops the wait where the wave has no load or store
// under way, because it does not know that the write-back itself is counted: what other waves of the block
// wrote before a barrier may then arrive after the flag (llvm/llvm-project #178316). So the
// wait is put in after LLVM has placed its own.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/ErrorHandling.h"

#include <cstdint>

namespace flydsl::jit {
namespace {

/// s_waitcnt of gfx9: bits 0 to 3 and 14 to 15 are vmcnt, 4 to 6 expcnt, 8 to 11 lgkmcnt ("CDNA3 ISA",
/// SOPP). A counter with all bits set is not waited for.
constexpr std::int64_t kLoadBits = 0xc00f, kWaitForLoads = 0x0f70;

class WaitForWriteBacks final : public llvm::MachineFunctionPass {
public:
  static char id;
  WaitForWriteBacks() : MachineFunctionPass(id) {}
  llvm::StringRef getPassName() const override { return "Waits for write-backs of caches"; }
  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    const llvm::TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    const auto is = [&](const llvm::MachineInstr &instruction, llvm::StringRef name) {
      return instructions.getName(instruction.getOpcode()) == name;
    };
    bool changed = false;
    for (llvm::MachineBasicBlock &block : function)
      for (llvm::MachineInstr &instruction : block.instrs()) {
        if (!is(instruction, "BUFFER_WBL2"))
          continue;
        const auto next = llvm::skipDebugInstructionsForward(std::next(instruction.getIterator()),
                                                             block.instr_end());
        if (next != block.instr_end() && is(*next, "S_WAITCNT") &&
            (next->getOperand(0).getImm() & kLoadBits) == 0)
          continue;
        llvm::BuildMI(block, std::next(instruction.getIterator()), instruction.getDebugLoc(),
                      instructions.get(waitOpcode(instructions)))
            .addImm(kWaitForLoads);
        changed = true;
      }
    return changed;
  }

private:
  static unsigned waitOpcode(const llvm::TargetInstrInfo &instructions) {
    for (unsigned opcode = 0; opcode < instructions.getNumOpcodes(); ++opcode)
      if (instructions.getName(opcode) == "S_WAITCNT")
        return opcode;
    llvm::report_fatal_error("LLVM knows no S_WAITCNT");
  }
};
char WaitForWriteBacks::id = 0;

} // namespace

void waitForWriteBacks(llvm::legacy::PassManagerBase &passes) { passes.add(new WaitForWriteBacks); }

} // namespace flydsl::jit
