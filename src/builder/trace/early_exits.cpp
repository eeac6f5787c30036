#include "builder/trace/early_exits.h"

#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace flydsl::builder {

/// True for operations whose result is no longer the thread's own: what comes out of memory, or out
/// of the first lane.
static bool hidesThread(mlir::Operation *op) {
  return op->getNumRegions() != 0 ||
         mlir::isa<mlir::fly::MemRefLoadOp, mlir::fly::MemRefLoadVecOp, mlir::fly::PtrLoadOp,
                   mlir::LLVM::LoadOp, mlir::ROCDL::RawPtrBufferLoadOp,
                   mlir::ROCDL::ReadfirstlaneOp>(op);
}

/// What comes out of thread numbers alone, through operations that touch no memory: whether a
/// value is sure to differ between threads of a block is not known, but it is made to.
static bool dependsOnThread(mlir::Value value) {
  llvm::SmallVector<mlir::Value, 8> open{value};
  llvm::SmallPtrSet<mlir::Operation *, 16> seen;
  while (!open.empty()) {
    mlir::Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (mlir::isa<mlir::gpu::ThreadIdOp, mlir::gpu::LaneIdOp, mlir::ROCDL::MbcntLoOp,
                  mlir::ROCDL::MbcntHiOp>(op))
      return true;
    if (!hidesThread(op))
      llvm::append_range(open, op->getOperands());
  }
  return false;
}

void EarlyExits::exitIf(mlir::Value condition, Loc loc) {
  mlir::OpBuilder &b = ir_.builder();
  if (b.getInsertionBlock() != top())
    throw TraceError(
        "exit_if stands in a loop or a branch; the kernel ends early only from outside "
        "of those: keep the condition in a Var, and exit behind them",
        loc);
  mlir::Value stays = ir_.create<mlir::arith::XOrIOp>(loc, condition.getType(), condition,
                                                      ir_.constant(1, boolean, loc));
  auto rest = mlir::scf::IfOp::create(b, ir_.location(loc), mlir::TypeRange(), stays,
                                      /*addThenBlock=*/true, /*addElseBlock=*/false);
  exits_.push_back({rest, loc, dependsOnThread(condition)});
  b.setInsertionPointToEnd(rest.thenBlock());
}

void EarlyExits::expectAllThreads(const char *what, Loc loc) const {
  for (const Exit &exit : exits_)
    if (exit.mayDiffer)
      throw TraceError(std::string(what) +
                           " after an exit_if whose condition comes from the thread's number, at " +
                           exit.loc.file_name() + ":" + std::to_string(exit.loc.line()) +
                           ": threads that left do not arrive; exit behind the last barrier, or on "
                           "a condition that is the same for the whole block",
                       loc);
}

void EarlyExits::finish(mlir::Location loc) {
  mlir::OpBuilder &b = ir_.builder();
  for (; !exits_.empty(); exits_.pop_back()) {
    mlir::scf::YieldOp::create(b, loc);
    b.setInsertionPointAfter(exits_.back().rest);
  }
  mlir::gpu::ReturnOp::create(b, loc);
}

} // namespace flydsl::builder
