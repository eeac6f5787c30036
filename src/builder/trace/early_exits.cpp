#include "builder/trace/early_exits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace flydsl::builder {

void EarlyExits::exitIf(mlir::Value condition, Loc loc) {
  mlir::OpBuilder &b = ir_.builder();
  if (b.getInsertionBlock() != top())
    throw TraceError(
        "exit_if stands in a loop or a branch; the kernel ends early only from outside "
        "of those: keep the condition in a Var, and exit after them",
        loc);
  mlir::Value stays = ir_.create<mlir::arith::XOrIOp>(loc, condition.getType(), condition,
                                                      ir_.constant(1, boolean, loc));
  auto rest = mlir::scf::IfOp::create(b, ir_.location(loc), mlir::TypeRange(), stays,
                                      /*addThenBlock=*/true, /*addElseBlock=*/false);
  exits_.push_back(rest);
  b.setInsertionPointToEnd(rest.thenBlock());
}

void EarlyExits::finish(mlir::Location loc) {
  mlir::OpBuilder &b = ir_.builder();
  for (; !exits_.empty(); exits_.pop_back()) {
    mlir::scf::YieldOp::create(b, loc);
    b.setInsertionPointAfter(exits_.back());
  }
  mlir::gpu::ReturnOp::create(b, loc);
}

} // namespace flydsl::builder
