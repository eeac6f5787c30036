// Boxes of the tensor data mover whose tensor is in the atom's state.
#include "dialect/Conversion/FlyToROCDL/LoweringModels.h"
#include "dialect/Conversion/FlyToROCDL/TensorDescriptor.h"

#include "dialect/Conversion/FlyToLLVM/FlyToLLVM.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "layout/error.h"

#include "mlir/Transforms/DialectConversion.h"

namespace mlir::fly {

using namespace fly_rocdl;

namespace {

struct ConvertTensorMove : OpConversionPattern<TensorMoveOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(TensorMoveOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type instruction = cast<CopyAtomType>(op.getAtom().getType()).getCopyOp();
    try {
      if (auto load = dyn_cast<CopyOpCDNA5TensorLoadType>(instruction))
        emit(load, op, adaptor, rewriter, /*isLoad=*/true);
      else
        emit(cast<CopyOpCDNA5TensorStoreType>(instruction), op, adaptor, rewriter,
             /*isLoad=*/false);
    } catch (const flydsl::layout::LayoutError &error) {
      return op.emitOpError(error.what());
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  template <class MoveType>
  static void emit(MoveType type, TensorMoveOp op, OpAdaptor adaptor, OpBuilder &builder,
                   bool isLoad) {
    DescriptorArith arith(builder, op.getLoc());
    const int64_t rank = static_cast<int64_t>(type.getShape().size());
    Value atom = adaptor.getAtom();
    auto field = [&](const Twine &name) {
      return arith.stateField(atom, *type.getStateFieldIndex(name.str()));
    };
    TensorDescriptor d;
    d.box.assign(type.getShape().begin(), type.getShape().end());
    d.elementBits = type.getElemTy().getIntOrFloatBitWidth();
    Value elements; // from the tensor's start to the box
    for (int64_t i = 0; i < rank; ++i) {
      // Coordinates list the innermost dimension first. They are not negative.
      Value at = adaptor.getCoordinates()[rank - 1 - i];
      Value stride = i + 1 < rank ? field("stride_" + Twine(i)) : arith.i64(1);
      if (i + 1 < rank)
        d.strides.push_back(stride);
      Value step = arith.mul(arith.zext(at), stride);
      elements = elements ? arith.add(elements, step) : step;
      // The mover counts a dimension's size from the box on. One that is not checked keeps its
      // whole size, which no box inside the tensor reaches.
      Value extent = field("extent_" + Twine(i));
      Value left =
          arith.binary<arith::MaxSIOp>(arith.binary<arith::SubIOp>(extent, at), arith.i32(0));
      Value isChecked = builder.createOrFold<arith::CmpIOp>(
          op.getLoc(), arith::CmpIPredicate::ne, field("check_" + Twine(i)), arith.i32(0));
      d.extents.push_back(
          builder.createOrFold<arith::SelectOp>(op.getLoc(), isChecked, left, extent));
    }
    d.global = arith.add(field("base"), arith.mul(elements, arith.i64(d.elementBits / 8)));
    d.lds = adaptor.getLds();
    d.workgroupMask = isLoad ? field("workgroup_mask") : arith.i32(0);
    d.earlyTimeout = isLoad ? field("early_timeout") : arith.i32(0);
    d.signalsBarrier = type.getAtomicBarrier();
    if (d.signalsBarrier)
      d.barrier = field("barrier");
    d.padInterval = type.getPadInterval();
    d.padAmount = type.getPadAmount();
    emitTensorMove(arith, d, isLoad, type.getCacheModifier());
  }
};

} // namespace

void populateTensorMovePatterns(RewritePatternSet &patterns, const TypeConverter &converter) {
  patterns.add<ConvertTensorMove>(converter, patterns.getContext());
}

} // namespace mlir::fly
