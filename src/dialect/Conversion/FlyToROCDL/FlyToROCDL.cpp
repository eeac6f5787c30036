#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"
#include "dialect/Conversion/FlyToLLVM/ConversionPatterns.h"
#include "dialect/Conversion/FlyToLLVM/Pointers.h"

#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::fly {

#define GEN_PASS_DEF_CONVERTFLYTOROCDLPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

namespace {

Type atomStruct(Type instruction) {
  SmallVector<Type> fields;
  if (auto stateful = dyn_cast<StatefulOpTypeInterface>(instruction))
    fields = stateful.getStateFieldTypes();
  return LLVM::LLVMStructType::getLiteral(instruction.getContext(), fields);
}

/// Rewrites an operation that passes values on, with operands and results of converted types.
template <class Op> struct ConvertTypes : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    if (failed(this->getTypeConverter()->convertTypes(op->getResultTypes(), types)))
      return failure();
    OperationState state(op->getLoc(), op->getName(), adaptor.getOperands(), types, op->getAttrs());
    rewriter.replaceOp(op, rewriter.create(state));
    return success();
  }
};

struct ConvertLaunchFunc : OpConversionPattern<gpu::LaunchFuncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(gpu::LaunchFuncOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.modifyOpInPlace(
        op, [&] { op.getKernelOperandsMutable().assign(adaptor.getKernelOperands()); });
    return success();
  }
};

struct ConvertFlyToROCDL : impl::ConvertFlyToROCDLPassBase<ConvertFlyToROCDL> {
  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registry.insert<FlyDialect, fly_rocdl::FlyROCDLDialect, math::MathDialect, ub::UBDialect>();
    attachUniversalAtomModels(registry);
    attachBufferAtomModels(registry);
    attachMatrixAtomModels(registry);
    attachTensorMoverModel(registry);
  }

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    ROCDLTypeConverter converter;
    RewritePatternSet patterns(context);
    ConversionTarget target(*context);

    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<FlyDialect, fly_rocdl::FlyROCDLDialect>();
    // Constructors are left to be dead; they go with the operations that used them.
    target.addLegalOp<MakeIntTupleOp, MakeLayoutOp, MakeComposedLayoutOp>();
    target.addDynamicallyLegalOp<StaticOp>([](StaticOp op) {
      return !isa<CopyAtomType, MmaAtomType, TiledCopyType, TiledMmaType>(op.getType());
    });
    target.addDynamicallyLegalOp<func::FuncOp>(
        [&](func::FuncOp op) { return converter.isSignatureLegal(op.getFunctionType()); });
    target.addDynamicallyLegalOp<gpu::GPUFuncOp>(
        [&](gpu::GPUFuncOp op) { return converter.isSignatureLegal(op.getFunctionType()); });
    target.addDynamicallyLegalOp<gpu::LaunchFuncOp, gpu::ReturnOp, func::CallOp, func::ReturnOp,
                                 arith::SelectOp, ub::PoisonOp>(
        [&](Operation *op) { return converter.isLegal(op); });

    populateMemoryPatterns(patterns, converter);
    populateAtomPatterns(patterns, converter);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns, converter);
    populateFunctionOpInterfaceTypeConversionPattern<gpu::GPUFuncOp>(patterns, converter);
    populateCallOpTypeConversionPattern(patterns, converter);
    populateReturnOpTypeConversionPattern(patterns, converter);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    patterns.add<ConvertLaunchFunc, ConvertTypes<gpu::ReturnOp>, ConvertTypes<arith::SelectOp>,
                 ConvertTypes<ub::PoisonOp>>(converter, context);

    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      return signalPassFailure();
    eraseDeadConstructors();
  }

private:
  void eraseDeadConstructors() {
    SmallVector<Operation *> constructors;
    getOperation()->walk([&](Operation *op) {
      if (isa<FlyDialect>(op->getDialect()))
        constructors.push_back(op);
    });
    for (Operation *op : llvm::reverse(constructors)) {
      if (op->use_empty()) {
        op->erase();
      } else {
        op->emitOpError("is still used after the conversion; run fly-layout-lowering first");
        return signalPassFailure();
      }
    }
  }
};

} // namespace

ROCDLTypeConverter::ROCDLTypeConverter() {
  addConversion([](Type type) { return type; });
  addConversion([](FloatType type) -> Type { return storedElementType(type); });
  addConversion([](VectorType type) -> Type {
    return VectorType::get(type.getShape(), storedElementType(type.getElementType()),
                           type.getScalableDims());
  });
  // What other operations make or take of a narrow float is cast to and from the bits that are
  // stored.
  auto cast = [](OpBuilder &builder, Type to, ValueRange from, Location loc) -> Value {
    if (from.size() != 1 || !arith::BitcastOp::areCastCompatible(from.getTypes(), to))
      return {};
    return arith::BitcastOp::create(builder, loc, to, from.front());
  };
  addSourceMaterialization(cast);
  addTargetMaterialization(cast);
  addConversion([](PointerType type) { return convertedPointerType(type); });
  addConversion([](MemRefType type) { return convertedPointerType(type.getPointerType()); });
  addConversion([](CopyAtomType type) { return atomStruct(type.getCopyOp()); });
  addConversion([](MmaAtomType type) { return atomStruct(type.getMmaOp()); });
  addConversion([](TiledCopyType type) { return atomStruct(type.getCopyAtom().getCopyOp()); });
  addConversion([](TiledMmaType type) { return atomStruct(type.getMmaAtom().getMmaOp()); });
}

} // namespace mlir::fly
