#include "jit/compile/rocm/register_aliases.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCRegister.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

#include <utility>

namespace flydsl::jit {

/// How many registers of a class LLVM counts at least (SIRegisterInfo::getNumUsedPhysRegs).
static std::size_t countedOf(llvm::StringRef registerClass, const llvm::MCSubtargetInfo &features) {
  if (registerClass == "VGPR_32")
    return 256; // of 1024 that LLVM knows
  if (registerClass == "AGPR_32")
    return features.checkFeatures("+mai-insts") ? 256 : 0;
  return registerClass == "SGPR_32" ? 128 : 0;
}

std::function<void()> findRegisterAliases(llvm::TargetMachine &machine) {
  // The machine keeps a description of its registers for each set of features that a function has.
  llvm::LLVMContext context;
  llvm::Module module("", context);
  llvm::Function *any = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, "", module);
  const llvm::TargetSubtargetInfo &processor = *machine.getSubtargetImpl(*any);
  const llvm::TargetRegisterInfo *registers = processor.getRegisterInfo();
  llvm::SmallVector<llvm::MCPhysReg> counted;
  for (const llvm::TargetRegisterClass *each : registers->regclasses()) {
    const llvm::ArrayRef<llvm::MCPhysReg> all = each->getRegisters();
    const std::size_t count = countedOf(registers->getRegClassName(each), processor);
    llvm::append_range(counted, all.take_front(count));
  }
  return [registers, counted = std::move(counted)] {
    for (llvm::MCPhysReg number : counted)
      (void)llvm::MCRegAliasIterator(number, registers, /*IncludeSelf=*/true);
  };
}

} // namespace flydsl::jit
