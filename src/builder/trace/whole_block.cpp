#include "builder/trace/whole_block.h"

#include "dialect/Fly/IR/FlyDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace flydsl::builder {

namespace {

bool isSameForBlock(mlir::Value value) {
  llvm::SmallVector<mlir::Value, 8> left{value};
  llvm::SmallPtrSet<mlir::Value, 8> seen;
  while (!left.empty()) {
    const mlir::Value made = left.pop_back_val();
    if (!seen.insert(made).second)
      continue;
    mlir::Operation *op = made.getDefiningOp();
    if (!op) {
      mlir::Operation *owner = mlir::cast<mlir::BlockArgument>(made).getOwner()->getParentOp();
      if (!mlir::isa<mlir::FunctionOpInterface>(owner))
        return false;
      continue;
    }
    if (mlir::isa<mlir::gpu::BlockIdOp, mlir::gpu::BlockDimOp, mlir::gpu::GridDimOp>(op))
      continue;
    const bool isArithmetic =
        mlir::isa_and_nonnull<mlir::arith::ArithDialect, mlir::fly::FlyDialect>(op->getDialect()) &&
        mlir::isPure(op) && op->getNumRegions() == 0;
    if (!isArithmetic)
      return false;
    llvm::append_range(left, op->getOperands());
  }
  return true;
}

} // namespace

bool isForWholeBlock(Tracer &tracer) {
  mlir::Operation *op = tracer.builder().getInsertionBlock()->getParentOp();
  for (; op; op = op->getParentOp())
    if (auto branch = mlir::dyn_cast<mlir::scf::IfOp>(op);
        branch && !isSameForBlock(branch.getCondition()))
      return false;
  return true;
}

} // namespace flydsl::builder
