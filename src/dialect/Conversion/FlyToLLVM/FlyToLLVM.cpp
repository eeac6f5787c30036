#include "dialect/Conversion/FlyToLLVM/FlyToLLVM.h"

#include "dialect/Conversion/FlyToLLVM/ConversionPatterns.h"
#include "dialect/Conversion/FlyToLLVM/LoweringInterfaces.h"
#include "dialect/Conversion/FlyToLLVM/Pointers.h"

#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>

namespace mlir::fly {

#define GEN_PASS_DEF_CONVERTFLYTOLLVMPASS
#include "dialect/Conversion/FlyToLLVM/Passes.h.inc"

namespace {

/// The struct in which an atom of this instruction carries its state.
Type atomStruct(Type instruction) {
  SmallVector<Type> fields;
  if (auto stateful = dyn_cast<StatefulOpTypeInterface>(instruction))
    fields = stateful.getStateFieldTypes();
  return LLVM::LLVMStructType::getLiteral(instruction.getContext(), fields);
}

/// Rewrites an operation that passes values on with operands and results of converted types.
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

/// Constructors stay legal, because an operation that is not converted yet may use them. Once the
/// conversion is over, nobody does.
LogicalResult eraseDeadConstructors(Operation *root) {
  SmallVector<Operation *> constructors;
  root->walk([&](Operation *op) {
    if (isa<FlyDialect>(op->getDialect()))
      constructors.push_back(op);
  });
  for (Operation *op : llvm::reverse(constructors)) {
    if (!op->use_empty())
      return op->emitOpError("is still used after the conversion; run fly-layout-lowering first");
    op->erase();
  }
  return success();
}

/// A target without a dialect of its own: address spaces have the given numbers.
class PlainTarget final : public LoweringTarget {
public:
  explicit PlainTarget(std::array<unsigned, 4> spaces) : spaces_(spaces) {}

  unsigned getLLVMAddressSpace(AddressSpace space) const override {
    switch (space) {
    case AddressSpace::Generic:
      return spaces_[0];
    case AddressSpace::Global:
      return spaces_[1];
    case AddressSpace::Shared:
      return spaces_[2];
    case AddressSpace::Register:
      return spaces_[3];
    }
    llvm_unreachable("all address spaces are above");
  }

private:
  std::array<unsigned, 4> spaces_;
};

struct ConvertFlyToLLVM : impl::ConvertFlyToLLVMPassBase<ConvertFlyToLLVM> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    insertFlyToLLVMDialects(registry);
  }

  void runOnOperation() override {
    std::array<unsigned, 4> spaces{};
    if (!addressSpaces.empty() && addressSpaces.size() != spaces.size()) {
      getOperation()->emitError("address-spaces takes ")
          << spaces.size() << " numbers, for generic, global, shared and register memory, not "
          << addressSpaces.size();
      return signalPassFailure();
    }
    llvm::copy(addressSpaces, spaces.begin());
    if (failed(convertFlyToLLVM(getOperation(), PlainTarget(spaces))))
      signalPassFailure();
  }
};

} // namespace

void insertFlyToLLVMDialects(DialectRegistry &registry) {
  registry.insert<FlyDialect, arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect,
                  scf::SCFDialect, ub::UBDialect, vector::VectorDialect>();
}

LogicalResult convertFlyToLLVM(Operation *root, const LoweringTarget &target) {
  MLIRContext *context = root->getContext();
  FlyTypeConverter converter(target);
  RewritePatternSet patterns(context);
  ConversionTarget legal(*context);

  legal.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  legal.addIllegalDialect<FlyDialect>();
  if (!target.getDialect().empty())
    legal.addIllegalDialect(target.getDialect());
  legal.addLegalOp<MakeIntTupleOp, MakeLayoutOp, MakeComposedLayoutOp>();
  legal.addDynamicallyLegalOp<StaticOp>([](StaticOp op) {
    return !isa<CopyAtomType, MmaAtomType, TiledCopyType, TiledMmaType>(op.getType());
  });
  legal.addDynamicallyLegalOp<func::FuncOp>(
      [&](func::FuncOp op) { return converter.isSignatureLegal(op.getFunctionType()); });
  legal.addDynamicallyLegalOp<gpu::GPUFuncOp>(
      [&](gpu::GPUFuncOp op) { return converter.isSignatureLegal(op.getFunctionType()); });
  legal.addDynamicallyLegalOp<gpu::LaunchFuncOp, gpu::ReturnOp, func::CallOp, func::ReturnOp,
                              arith::SelectOp, ub::PoisonOp>(
      [&](Operation *op) { return converter.isLegal(op); });

  populateMemoryPatterns(patterns, converter);
  populateAtomPatterns(patterns, converter);
  target.populatePatterns(patterns, converter);
  populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns, converter);
  populateFunctionOpInterfaceTypeConversionPattern<gpu::GPUFuncOp>(patterns, converter);
  populateCallOpTypeConversionPattern(patterns, converter);
  populateReturnOpTypeConversionPattern(patterns, converter);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, legal);
  patterns.add<ConvertLaunchFunc, ConvertTypes<gpu::ReturnOp>, ConvertTypes<arith::SelectOp>,
               ConvertTypes<ub::PoisonOp>>(converter, context);

  if (failed(applyPartialConversion(root, legal, std::move(patterns))))
    return failure();
  return eraseDeadConstructors(root);
}

FlyTypeConverter::FlyTypeConverter(const LoweringTarget &target) : target_(target) {
  addConversion([](Type type) { return type; });
  addConversion([](FloatType type) -> Type { return storedElementType(type); });
  addConversion([](VectorType type) -> Type {
    return VectorType::get(type.getShape(), storedElementType(type.getElementType()),
                           type.getScalableDims());
  });
  // Operations of other dialects still make and take narrow floats; those are cast to and from the
  // bits that are stored.
  auto cast = [](OpBuilder &builder, Type to, ValueRange from, Location loc) -> Value {
    if (from.size() != 1 || !arith::BitcastOp::areCastCompatible(from.getTypes(), to))
      return {};
    return arith::BitcastOp::create(builder, loc, to, from.front());
  };
  addSourceMaterialization(cast);
  addTargetMaterialization(cast);
  addConversion([this](PointerType type) -> Type {
    AddressSpaceInterface space = type.getSpace();
    if (auto own = dyn_cast<AddressSpaceAttr>(space))
      return LLVM::LLVMPointerType::get(type.getContext(),
                                        this->target_.getLLVMAddressSpace(own.getValue()));
    auto descriptor = dyn_cast<DescriptorLoweringInterface>(type.getAddressSpace());
    return descriptor && isTaken(space.getDialect()) ? descriptor.getConvertedType(type) : Type();
  });
  addConversion([this](MemRefType type) { return convertType(type.getPointerType()); });
  auto atom = [this](Type instruction) {
    return isTaken(instruction.getDialect()) ? atomStruct(instruction) : Type();
  };
  addConversion([atom](CopyAtomType type) { return atom(type.getCopyOp()); });
  addConversion([atom](MmaAtomType type) { return atom(type.getMmaOp()); });
  addConversion([atom](TiledCopyType type) { return atom(type.getCopyAtom().getCopyOp()); });
  addConversion([atom](TiledMmaType type) { return atom(type.getMmaAtom().getMmaOp()); });
}

bool FlyTypeConverter::isTaken(Dialect &dialect) const {
  return isa<FlyDialect>(dialect) || dialect.getNamespace() == target_.getDialect();
}

} // namespace mlir::fly
