// One walk in program order. Operations of the algebra are evaluated on symbols and leave nothing
// behind; accesses through tensors, copies and gemms are rewritten; every other operation that
// takes a Fly value gets it made anew in normal form, from arith on what the function really
// computes with. What nobody uses any more is erased at the end.

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

/// Gives `op` its operands in normal form.
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
    // A pointer's own moves may be known to be better aligned than the type that inference gave it.
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

/// No error of the algebra may pass through MLIR's frames, which know no exceptions.
LogicalResult lowerGuarded(Operation *op, AlgebraLowering &lowering) {
  return guarded(op, [&] { return lower(op, lowering); });
}

void eraseDead(Operation *root) {
  SmallVector<Operation *> order;
  root->walk([&](Operation *op) { order.push_back(op); });
  // Loads that nobody uses are left to the optimizer: that they are dead is no business of this
  // pass.
  for (Operation *op : llvm::reverse(order))
    if (isOpTriviallyDead(op) && !isa<PtrLoadOp>(op))
      op->erase();
}

/// Gives loads that nobody uses a use for as long as it lives.
class KeptLoads {
public:
  explicit KeptLoads(Operation *root) {
    root->walk([&](PtrLoadOp load) {
      if (!load->use_empty())
        return;
      OpBuilder builder(load->getContext());
      builder.setInsertionPointAfter(load);
      uses.push_back(
          PrintOp::create(builder, load.getLoc(), builder.getStringAttr(""), load->getResults()));
    });
  }
  KeptLoads(const KeptLoads &) = delete;
  ~KeptLoads() {
    for (PrintOp use : uses)
      use->erase();
  }

private:
  SmallVector<PrintOp> uses;
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
