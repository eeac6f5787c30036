// The pass is one walk in program order. It evaluates operations of the algebra on symbols and
// emits nothing for them; it rewrites accesses through tensors, copies and gemms; and for every
// other operation that takes a Fly value, it makes that value anew in normal form, by arith on the
// numbers that the function computes with. At the end it erases operations that have no users any
// more.

#include "dialect/Fly/Transforms/AlgebraLowering.h"
#include "dialect/Fly/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fly {

#define GEN_PASS_DEF_FLYLAYOUTLOWERINGPASS
#include "dialect/Fly/Transforms/Passes.h.inc"

namespace {

/// Replaces the operands of `op` by the same values in normal form.
LogicalResult normalizeOperands(Operation *op, AlgebraLowering &lowering) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!lowering.isKnown(value))
      continue;
    FailureOr<SymbolicValue> symbolic = lowering.get(value, op);
    if (failed(symbolic))
      return failure();
    OpBuilder builder(op);
    FailureOr<Value> made = lowering.materialize(builder, op->getLoc(), *symbolic);
    if (failed(made))
      return failure();
    // The lowering may know a better alignment of a pointer than inference wrote into its type.
    if (made->getType() != value.getType() && !isa<FlyDialect>(op->getDialect()))
      return op->emitOpError("operand of type ")
             << value.getType() << " was lowered to type " << made->getType();
    operand.set(*made);
  }
  return success();
}

LogicalResult lower(Operation *op, AlgebraLowering &lowering) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AddOffsetOp>([&](auto move) { return lowering.lowerAddOffset(move); })
      .Case<AlgebraOpInterface>([&](auto algebra) { return lowering.evaluate(algebra); })
      .Case<MemRefLoadOp>([&](auto load) { return lowerMemRefLoad(load, lowering); })
      .Case<MemRefStoreOp>([&](auto store) { return lowerMemRefStore(store, lowering); })
      .Case<MemRefLoadVecOp>([&](auto load) { return lowerMemRefLoadVec(load, lowering); })
      .Case<MemRefStoreVecOp>([&](auto store) { return lowerMemRefStoreVec(store, lowering); })
      .Case<MakeFragmentLikeOp, MmaMakeFragmentOp, MemRefAllocaOp>(
          [&](auto) { return lowerRegisterAllocation(op, lowering); })
      .Case<AssumeOp>([&](auto assume) { return lowerAssume(assume, lowering); })
      .Case<PtrLoadOp>([&](auto load) { return lowerPtrLoad(load, lowering); })
      .Case<PrintOp>([&](auto print) { return lowerPrint(print, lowering); })
      .Case<CopyOp>([&](auto copy) { return expandCopy(copy, lowering); })
      .Case<GemmOp>([&](auto gemm) { return expandGemm(gemm, lowering); })
      .Default([&](Operation *other) { return normalizeOperands(other, lowering); });
}

/// MLIR is built without exceptions, so no error of the algebra may leave this function as one.
LogicalResult lowerGuarded(Operation *op, AlgebraLowering &lowering) {
  return emitLayoutErrors(op, [&] { return lower(op, lowering); });
}

void eraseDead(Operation *root) {
  SmallVector<Operation *> order;
  // Backwards, users come before what they use, and what a loop or a branch holds before the loop:
  // where that is erased, all that it held is erased with it.
  root->walk<WalkOrder::PreOrder>([&](Operation *op) { order.push_back(op); });
  // Unused loads are kept here; see KeptLoads.
  for (Operation *op : llvm::reverse(order))
    if (isOpTriviallyDead(op) && !isa<PtrLoadOp>(op))
      op->erase();
}

/// Keeps CSE from erasing unused loads while this object lives, by uses that print nothing.
///
/// A load may be merged with an equal one and erased when it is unused, and its memory effect says
/// so. But FlyDSL's pass leaves unused loads behind, and the text of the IR after each pass is the
/// same as FlyDSL's, so that dumps can be compared line by line. MLIR's CSE, which this pass needs
/// for the arithmetic, erases what is dead as it goes and takes no filter. The canonicalizer, which
/// runs next, removes the loads.
class KeptLoads {
public:
  explicit KeptLoads(Operation *root) {
    root->walk([&](PtrLoadOp load) {
      if (!load->use_empty())
        return;
      OpBuilder builder(load->getContext());
      builder.setInsertionPointAfter(load);
      uses_.push_back(
          PrintOp::create(builder, load.getLoc(), builder.getStringAttr(""), load->getResults()));
    });
  }
  KeptLoads(const KeptLoads &) = delete;
  ~KeptLoads() {
    for (PrintOp use : uses_)
      use->erase();
  }

private:
  SmallVector<PrintOp> uses_;
};

struct LayoutLowering : impl::FlyLayoutLoweringPassBase<LayoutLowering> {
  void runOnOperation() override {
    DominanceInfo dominance(getOperation());
    AlgebraLowering lowering(&getContext(), dominance);
    SmallVector<Operation *> order;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) { order.push_back(op); });
    for (Operation *op : order)
      if (op != getOperation() && failed(lowerGuarded(op, lowering)))
        return signalPassFailure();
    eraseDead(getOperation());
    KeptLoads kept(getOperation());
    IRRewriter rewriter(&getContext());
    DominanceInfo after(getOperation());
    eliminateCommonSubExpressions(rewriter, after, getOperation());
  }
};

} // namespace

} // namespace mlir::fly
