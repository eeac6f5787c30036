// The pass is a one-to-many type conversion of all operations that pass Fly values on, such as
// calls and loops. Operations of the dialect keep their types. If one of them uses a converted
// value, the framework inserts a constructor (unpackFromCarriers); if a converted operation uses a
// Fly value, the framework takes the value apart (packIntoCarriers).

#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/Fly/Transforms/Passes.h"
#include "dialect/Fly/Transforms/ValueCarriers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::fly {

#define GEN_PASS_DEF_FLYREWRITEFUNCSIGNATUREPASS
#include "dialect/Fly/Transforms/Passes.h.inc"

namespace {

struct CarrierConverter : TypeConverter {
  CarrierConverter() {
    addConversion([](Type type) { return type; });
    addConversion([](Type type, SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
      if (!isCarried(type))
        return std::nullopt;
      llvm::append_range(types, carrierTypes(type));
      return success();
    });
    addSourceMaterialization([](OpBuilder &builder, Type type, ValueRange carriers, Location loc) {
      return unpackFromCarriers(builder, loc, type, carriers);
    });
    addTargetMaterialization([](OpBuilder &builder, TypeRange types, ValueRange values,
                                Location loc) -> SmallVector<Value> {
      if (values.size() != 1)
        return {};
      return packIntoCarriers(builder, loc, values.front());
    });
  }
};

SmallVector<Value> flatten(ArrayRef<ValueRange> ranges) {
  SmallVector<Value> values;
  for (ValueRange range : ranges)
    llvm::append_range(values, range);
  return values;
}

struct LaunchFunc : OpConversionPattern<gpu::LaunchFuncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(gpu::LaunchFuncOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> operands;
    for (ValueRange range : adaptor.getKernelOperands())
      llvm::append_range(operands, range);
    rewriter.modifyOpInPlace(op, [&] { op.getKernelOperandsMutable().assign(operands); });
    return success();
  }
};

struct GPUReturn : OpConversionPattern<gpu::ReturnOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(gpu::ReturnOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<gpu::ReturnOp>(op, flatten(adaptor.getOperands()));
    return success();
  }
};

struct Select : OpConversionPattern<arith::SelectOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(arith::SelectOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> values;
    Value condition = llvm::getSingleElement(adaptor.getCondition());
    for (auto [a, b] : llvm::zip_equal(adaptor.getTrueValue(), adaptor.getFalseValue()))
      values.push_back(arith::SelectOp::create(rewriter, op.getLoc(), condition, a, b));
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

struct RewriteFuncSignature : impl::FlyRewriteFuncSignaturePassBase<RewriteFuncSignature> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    CarrierConverter converter;
    RewritePatternSet patterns(context);
    ConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });

    target.addDynamicallyLegalOp<func::FuncOp>(
        [&](func::FuncOp op) { return converter.isSignatureLegal(op.getFunctionType()); });
    target.addDynamicallyLegalOp<gpu::GPUFuncOp>(
        [&](gpu::GPUFuncOp op) { return converter.isSignatureLegal(op.getFunctionType()); });
    target.addDynamicallyLegalOp<gpu::LaunchFuncOp, gpu::ReturnOp>(
        [&](Operation *op) { return converter.isLegal(op->getOperandTypes()); });
    target.addDynamicallyLegalOp<func::CallOp, func::ReturnOp, arith::SelectOp>(
        [&](Operation *op) { return converter.isLegal(op); });

    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns, converter);
    populateFunctionOpInterfaceTypeConversionPattern<gpu::GPUFuncOp>(patterns, converter);
    populateCallOpTypeConversionPattern(patterns, converter);
    populateReturnOpTypeConversionPattern(patterns, converter);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    patterns.add<LaunchFunc, GPUReturn, Select>(converter, context);

    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

} // namespace mlir::fly
