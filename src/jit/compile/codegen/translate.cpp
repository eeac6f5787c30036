// The LLVM dialect becomes LLVM IR; the backend then gives it what its processors need.
#include "jit/compile/codegen/codegen.h"

#include "mlir/IR/Operation.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Target/TargetMachine.h"

namespace flydsl::jit {

std::unique_ptr<llvm::Module> translate(mlir::Operation *gpuModule, llvm::LLVMContext &context,
                                        llvm::TargetMachine &machine, const Backend &backend,
                                        const CompileOptions &options) {
  std::unique_ptr<llvm::Module> module =
      mlir::translateModuleToLLVMIR(gpuModule, context, "flydsl", /*disableVerification=*/true);
  if (!module)
    return nullptr;
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  return backend.prepare(*module, machine, options) ? std::move(module) : nullptr;
}

void alignPrivateMemory(llvm::Function &function, std::uint64_t maxAlignment) {
  const llvm::DataLayout &layout = function.getParent()->getDataLayout();
  for (llvm::Instruction &instruction : function.getEntryBlock()) {
    auto *alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    std::optional<llvm::TypeSize> size = alloca ? alloca->getAllocationSize(layout) : std::nullopt;
    if (size && !size->isScalable() && size->getFixedValue() > 0)
      alloca->setAlignment(
          std::max(alloca->getAlign(), llvm::Align(llvm::PowerOf2Ceil(std::min<std::uint64_t>(
                                           size->getFixedValue(), maxAlignment)))));
  }
}

} // namespace flydsl::jit
