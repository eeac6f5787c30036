// Brings Fly values into normal form: tuples are made by make_int_tuple, and static values by
// constructors over constant tuples. Later passes then see one way of writing each value.

#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::fly {

#define GEN_PASS_DEF_FLYCANONICALIZEPASS
#include "dialect/Fly/Transforms/Passes.h.inc"

namespace {

template <class TupleOp> struct ToMakeIntTuple : OpRewritePattern<TupleOp> {
  using OpRewritePattern<TupleOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(TupleOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<MakeIntTupleOp>(op, op.getType(), op.getDyncElems());
    return success();
  }
};

/// Replaces a pure operation whose result type determines its value by that value's constructors.
struct RebuildStatic : RewritePattern {
  explicit RebuildStatic(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isMemoryEffectFree(op))
      return failure();
    auto type = dyn_cast<MayStaticTypeInterface>(op->getResult(0).getType());
    if (!type || !type.isStatic())
      return failure();
    Value rebuilt = type.rebuildStaticValue(rewriter, op->getLoc(), op->getResult(0));
    if (!rebuilt)
      return failure();
    rewriter.replaceOp(op, rebuilt);
    return success();
  }
};

struct Canonicalize : impl::FlyCanonicalizePassBase<Canonicalize> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ToMakeIntTuple<MakeShapeOp>, ToMakeIntTuple<MakeStrideOp>,
                 ToMakeIntTuple<MakeCoordOp>, RebuildStatic>(&getContext());
    LLVM::ExtractValueOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

} // namespace mlir::fly
