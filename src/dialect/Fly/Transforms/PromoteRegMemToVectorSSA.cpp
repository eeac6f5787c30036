// The pass replaces each make_ptr in register memory by one vector value. PromotionAnalysis says
// which can be, Promoter goes through the blocks in order, and Contents is what each such memory
// contains: a vector, and the pieces that were stored over it since. A load takes a piece or a slice of the vector.
// Control flow passes the memory on: loops carry it, branches return it. It goes as one
// vector, or with pieces in parts that no access crosses, so that nothing is put together
// and taken apart again in each round of a loop.
//
// Memory stays memory if its uses can't be followed: if it is recast to other elements, reached at
// an offset that is known only at run time, used by an operation other than a load or a store, or
// used inside control flow other than scf's.

#include "dialect/Fly/Transforms/Passes.h"
#include "dialect/Fly/Transforms/Promoter.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

namespace mlir::fly {

#define GEN_PASS_DEF_FLYPROMOTEREGMEMTOVECTORSSAPASS
#include "dialect/Fly/Transforms/Passes.h.inc"

namespace {

/// Erases the promoted memories and the pointers and views that are left of them.
void eraseDead(FunctionOpInterface func) {
  SmallVector<Operation *> order;
  func->walk([&](Operation *op) { order.push_back(op); });
  for (Operation *op : llvm::reverse(order))
    if (op->use_empty() &&
        isa<MakeViewOp, AddOffsetOp, RecastIterOp, MakeLayoutOp, MakeIntTupleOp, MakePtrOp>(op)) {
      auto make = dyn_cast<MakePtrOp>(op);
      if (!make || make.getType().isIn(AddressSpace::Register))
        op->erase();
    }
}

struct PromoteRegMemToVectorSSA
    : impl::FlyPromoteRegMemToVectorSSAPassBase<PromoteRegMemToVectorSSA> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](FunctionOpInterface func) {
      if (func.isExternal())
        return;
      promotion::PromotionAnalysis analysis(func, requireStatic);
      if (analysis.failed())
        return signalPassFailure();
      promotion::Promoter promoter(analysis, pieces);
      promotion::State state;
      for (Block &block : func.getFunctionBody())
        promoter.run(block, state);
      eraseDead(func);
    });
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};

} // namespace

} // namespace mlir::fly
