#include "builder/trace/arrivals.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace flydsl::builder {

bool Arrivals::anyAround(unsigned group,
                         llvm::function_ref<bool(Around, Agreement, mlir::Operation *)> visit) {
  for (mlir::Region *region = ir_.builder().getInsertionBlock()->getParent(); region;
       region = region->getParentRegion()) {
    mlir::Operation *op = region->getParentOp();
    bool isDone = false;
    if (auto branch = mlir::dyn_cast<mlir::scf::IfOp>(op))
      isDone = visit(exits_.has(branch) ? Around::exit : Around::branch,
                     dependence_.of(branch.getCondition(), group), op);
    else if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op))
      isDone = visit(Around::range, dependence_.ofSteps(loop, group), op);
    else if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(op))
      // While a loop's condition is traced, nothing is known of it yet.
      isDone = visit(Around::condition,
                     region == &loop.getAfter()
                         ? dependence_.of(loop.getConditionOp().getCondition(), group)
                         : Agreement::unknown,
                     op);
    if (isDone)
      return true;
  }
  return false;
}

bool Arrivals::isForWholeBlock() {
  return !anyAround(0, [](Around, Agreement agreement, mlir::Operation *) {
    return agreement != Agreement::same;
  });
}

bool Arrivals::mayLackThreads() {
  return anyAround(0, [](Around around, Agreement agreement, mlir::Operation *) {
    const bool isBranch = around == Around::exit || around == Around::branch;
    return agreement == Agreement::different || (isBranch && agreement == Agreement::unknown);
  });
}

void Arrivals::expect(const char *what, unsigned group, bool inBranches, Loc loc) {
  const std::string all = group ? "the same for each group of " + std::to_string(group) + " lanes"
                                : "the same for the whole block";
  const auto refuse = [&](const std::string &where, mlir::Operation *op, const std::string &why) {
    throw TraceError(std::string(what) + " " + where + " comes from the thread's number, at " +
                         placeOf(op->getLoc()) + ": " + why + all,
                     loc);
  };
  anyAround(group, [&](Around around, Agreement agreement, mlir::Operation *op) {
    if (agreement != Agreement::different || (around != Around::exit && !inBranches))
      return false;
    switch (around) {
    case Around::exit:
      refuse("after an exit_if whose condition", op,
             "threads that left do not arrive; exit after the last barrier, or on a condition "
             "that is ");
      break;
    case Around::branch:
      refuse("in a branch whose condition", op,
             "threads that do not take it do not arrive; put it after the branch, or branch on "
             "what is ");
      break;
    case Around::range:
      refuse("in a loop whose range", op,
             "threads whose loop ends first do not arrive; let the loop run over what is ");
      break;
    case Around::condition:
      refuse("in a loop whose condition", op,
             "threads whose loop ends first do not arrive; let it end on what is ");
      break;
    }
    return false;
  });
}

} // namespace flydsl::builder
