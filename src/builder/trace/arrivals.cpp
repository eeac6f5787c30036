#include "builder/trace/arrivals.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace flydsl::builder {

void Arrivals::expect(const char *what, unsigned group, bool inBranches, Loc loc) {
  const auto differs = [&](mlir::Value value) { return dependence_.mayDiffer(value, group); };
  const std::string all = group ? "the same for each group of " + std::to_string(group) + " lanes"
                                : "the same for the whole block";
  const auto refuse = [&](const std::string &where, mlir::Operation *op, const std::string &why) {
    throw TraceError(std::string(what) + " " + where + " comes from the thread's number, at " +
                         placeOf(op->getLoc()) + ": " + why + all,
                     loc);
  };
  for (mlir::Region *region = ir_.builder().getInsertionBlock()->getParent(); region;
       region = region->getParentRegion()) {
    mlir::Operation *op = region->getParentOp();
    if (auto branch = mlir::dyn_cast<mlir::scf::IfOp>(op)) {
      const bool isExit = exits_.has(branch);
      if ((!isExit && !inBranches) || !differs(branch.getCondition()))
        continue;
      if (isExit)
        refuse("after an exit_if whose condition", op,
               "threads that left do not arrive; exit after the last barrier, or on a condition "
               "that is ");
      refuse("in a branch whose condition", op,
             "threads that do not take it do not arrive; put it after the branch, or branch on "
             "what is ");
    } else if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op); loop && inBranches) {
      if (dependence_.stepsMayDiffer(loop, group))
        refuse("in a loop whose range", op,
               "threads whose loop ends first do not arrive; let the loop run over what is ");
    } else if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(op);
               loop && inBranches && region == &loop.getAfter()) {
      if (differs(loop.getConditionOp().getCondition()))
        refuse("in a loop whose condition", op,
               "threads whose loop ends first do not arrive; let it end on what is ");
    }
  }
}

} // namespace flydsl::builder
