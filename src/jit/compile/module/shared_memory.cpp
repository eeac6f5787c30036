// Adds up the shared variables of a kernel by the line that declares them.
#include "jit/compile/module/shared_memory.h"

#include "jit/compile/module/compile_diagnostics.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

namespace flydsl::jit {

std::vector<support::SharedUse> sharedUses(mlir::Operation *gpuModule, unsigned addressSpace) {
  std::vector<support::SharedUse> uses;
  const mlir::DataLayout layout = mlir::DataLayout::closest(gpuModule);
  for (auto global : gpuModule->getRegion(0).getOps<mlir::LLVM::GlobalOp>())
    // A variable of a target's own type, as a named barrier, takes no bytes.
    if (global.getAddrSpace() == addressSpace &&
        !mlir::isa<mlir::LLVM::LLVMTargetExtType>(global.getType()))
      uses.push_back(
          {layout.getTypeSize(global.getType()).getFixedValue(), sourceLocation(global.getLoc())});
  return support::byLine(uses);
}

} // namespace flydsl::jit
