#include "builder/trace/whole_block.h"

#include "builder/trace/thread_values.h"
#include "dialect/Fly/IR/FlyDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace flydsl::builder {

namespace {

bool isSameForBlock(mlir::Value value);

/// Whether all threads take a loop's body equally often.
bool hasSameSteps(mlir::scf::ForOp loop) {
  return isSameForBlock(loop.getLowerBound()) && isSameForBlock(loop.getUpperBound()) &&
         isSameForBlock(loop.getStep());
}

bool isSameForBlock(mlir::Value value) {
  llvm::SmallVector<mlir::Value, 8> left{value};
  llvm::SmallPtrSet<mlir::Value, 8> seen;
  while (!left.empty()) {
    const mlir::Value made = left.pop_back_val();
    if (!seen.insert(made).second)
      continue;
    mlir::Operation *op = made.getDefiningOp();
    if (!op) {
      auto argument = mlir::cast<mlir::BlockArgument>(made);
      mlir::Operation *owner = argument.getOwner()->getParentOp();
      if (mlir::isa<mlir::FunctionOpInterface>(owner))
        continue;
      // The number of a loop's step; what a loop carries is not followed.
      auto loop = mlir::dyn_cast<mlir::scf::ForOp>(owner);
      if (!loop || argument != loop.getInductionVar() || !hasSameSteps(loop))
        return false;
      continue;
    }
    if (mlir::isa<mlir::gpu::BlockIdOp, mlir::gpu::BlockDimOp, mlir::gpu::GridDimOp>(op))
      continue;
    if (mlir::scf::IfOp both = shortCircuitOf(op)) {
      left.push_back(both.getCondition());
      for (mlir::Region &region : both->getRegions())
        left.push_back(region.front().getTerminator()->getOperand(0));
      continue;
    }
    const bool isArithmetic =
        mlir::isa_and_nonnull<mlir::arith::ArithDialect, mlir::fly::FlyDialect>(op->getDialect()) &&
        mlir::isPure(op);
    if (!isArithmetic || isThreadNumber(op) || hidesThread(op))
      return false;
    llvm::append_range(left, op->getOperands());
  }
  return true;
}

} // namespace

bool isInBranchOfSome(Tracer &tracer) {
  mlir::Operation *op = tracer.builder().getInsertionBlock()->getParentOp();
  for (; op; op = op->getParentOp())
    if (auto branch = mlir::dyn_cast<mlir::scf::IfOp>(op);
        branch && !isSameForBlock(branch.getCondition()))
      return true;
  return false;
}

bool isForWholeBlock(Tracer &tracer) {
  mlir::Operation *op = tracer.builder().getInsertionBlock()->getParentOp();
  for (; op; op = op->getParentOp()) {
    auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op);
    if (loop && !hasSameSteps(loop))
      return false;
    if (mlir::isa<mlir::scf::WhileOp>(op)) // how long each thread stays is not followed
      return false;
  }
  return !isInBranchOfSome(tracer);
}

} // namespace flydsl::builder
