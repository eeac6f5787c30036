// LLVM 22 puts the instruction that sets the banks of gfx1250's registers (s_set_vgpr_msb) before
// barriers, and by mistake before what stands before them, too: a vector instruction there then reads and
// writes registers of other banks. (AMDGPULowerVGPREncoding::handleCoissue; later versions do not.)
// So an instruction without vector registers stands before each barrier.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

namespace flydsl::jit {
namespace {

class PauseBeforeBarriers final : public llvm::MachineFunctionPass {
public:
  static char id;
  PauseBeforeBarriers() : MachineFunctionPass(id) {}
  llvm::StringRef getPassName() const override { return "Pauses before barriers"; }
  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    const llvm::TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    bool changed = false;
    for (llvm::MachineBasicBlock &block : function)
      for (llvm::MachineInstr &instruction : block)
        if (instructions.getName(instruction.getOpcode()).starts_with("S_BARRIER")) {
          instructions.insertNoop(block, instruction.getIterator());
          changed = true;
        }
    return changed;
  }
};
char PauseBeforeBarriers::id = 0;

} // namespace

void pauseBeforeBarriers(llvm::TargetPassConfig &passes) {
  // The last pass before those that the target has before emitting.
  passes.insertPass(&llvm::XRayInstrumentationID, new PauseBeforeBarriers);
}

} // namespace flydsl::jit
