// What LLVM has to know of the marks of arrays in LDS (fly-lds-red-zones).
#include "jit/compile/rocm/rocm_codegen.h"
#include "support/red_zones.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ModRef.h"

#include <string>

namespace flydsl::jit {

void leaveMemoryToMarks(llvm::Module &module) {
  const std::string word = std::to_string(support::kArrayMark);
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      auto *assembly = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
      if (assembly && llvm::StringRef(assembly->getAsmString()).contains(word))
        call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
    }
}

} // namespace flydsl::jit
