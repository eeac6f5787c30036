// Pointers, views, loads and stores.

#include "dialect/Conversion/FlyToLLVM/ConversionPatterns.h"
#include "dialect/Conversion/FlyToLLVM/LoweringInterfaces.h"
#include "dialect/Conversion/FlyToLLVM/Pointers.h"

#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/Transforms/RegisterMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::fly {

namespace {

/// A variable of `bytes` bytes in shared memory, LLVM's address space `space`, at the start of the
/// module.
LLVM::GlobalOp createShared(ConversionPatternRewriter &rewriter, gpu::GPUModuleOp module,
                            Location loc, unsigned space, StringRef prefix, int64_t bytes,
                            int64_t alignment) {
  std::string name;
  for (unsigned i = 0;; ++i) {
    name = (prefix + "_" + Twine(i)).str();
    if (!module.lookupSymbol(name))
      break;
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(rewriter.getI8Type(), bytes);
  auto global =
      LLVM::GlobalOp::create(rewriter, loc, type, /*isConstant=*/false, LLVM::Linkage::External,
                             name, Attribute(), alignment, space);
  global.setDsoLocal(true);
  return global;
}

/// The number of shared memory's address space, as the target of `pattern` says.
unsigned sharedSpace(const ConversionPattern &pattern) {
  return pattern.getTypeConverter<FlyTypeConverter>()->getTarget().getLLVMAddressSpace(
      AddressSpace::Shared);
}

std::optional<int64_t> sizeAttr(MakePtrOp op, StringRef name) {
  DictionaryAttr attrs = op.getDictAttrs().value_or(DictionaryAttr());
  auto value = attrs ? attrs.getAs<IntegerAttr>(name) : IntegerAttr();
  return value ? std::optional(value.getInt()) : std::nullopt;
}

struct ConvertMakePtr : OpConversionPattern<MakePtrOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MakePtrOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PointerType type = op.getType();
    Type convertedTy = getTypeConverter()->convertType(type);
    if (convertedTy && isDescriptor(type))
      return makeDescriptor(op, adaptor, rewriter);
    if (type.isIn(AddressSpace::Register))
      return makeRegister(op, convertedTy, rewriter);
    if (type.isIn(AddressSpace::Shared))
      return makeShared(op, sharedSpace(*this), rewriter);
    return op.emitOpError("can't make a pointer of type ") << type;
  }

private:
  static LogicalResult makeDescriptor(MakePtrOp op, OpAdaptor adaptor,
                                      ConversionPatternRewriter &rewriter) {
    auto lowering = cast<DescriptorLoweringInterface>(op.getType().getAddressSpace());
    FailureOr<Value> pointer = lowering.makePointer(rewriter, op, adaptor.getArgs());
    if (failed(pointer))
      return failure();
    rewriter.replaceOp(op, *pointer);
    return success();
  }

  static LogicalResult makeRegister(MakePtrOp op, Type convertedTy,
                                    ConversionPatternRewriter &rewriter) {
    std::optional<int64_t> elements = sizeAttr(op, "allocSize");
    if (!elements || *elements <= 0)
      return op.emitOpError("in register memory needs a positive allocSize");
    if (*elements > kMostRegisterElements)
      return op.emitOpError("in register memory has an allocSize of at most ")
             << kMostRegisterElements << ", not " << *elements;
    // Allocate once per function: an alloca in a loop would take new memory in every iteration.
    OpBuilder::InsertionGuard guard(rewriter);
    if (auto func = op->getParentOfType<FunctionOpInterface>()) {
      // Insert after the allocations that are there already, so that they keep the program's order.
      rewriter.setInsertionPointToStart(&func.getFunctionBody().front());
      while (isa<arith::ConstantOp, LLVM::AllocaOp>(*rewriter.getInsertionPoint()))
        rewriter.setInsertionPointAfter(&*rewriter.getInsertionPoint());
    }
    Value count =
        arith::ConstantOp::create(rewriter, op.getLoc(), rewriter.getI64IntegerAttr(*elements));
    rewriter.replaceOp(op, LLVM::AllocaOp::create(rewriter, op.getLoc(), convertedTy,
                                                  storedElementType(op.getType().getElemTy()),
                                                  count, 0));
    return success();
  }

  static LogicalResult makeShared(MakePtrOp op, unsigned space,
                                  ConversionPatternRewriter &rewriter) {
    std::optional<int64_t> bytes = sizeAttr(op, "allocBytes"),
                           alignment = sizeAttr(op, "allocAlign");
    if (!bytes || !alignment || *bytes < 0 || *alignment <= 0 || !llvm::isPowerOf2_64(*alignment))
      return op.emitOpError(
          "in shared memory needs allocBytes, and allocAlign that is a power of two");
    auto module = op->getParentOfType<gpu::GPUModuleOp>();
    if (!module)
      return op.emitOpError("in shared memory must stand in a gpu.module");
    rewriter.replaceOpWithNewOp<LLVM::AddressOfOp>(
        op,
        createShared(rewriter, module, op.getLoc(), space, "__shared_alloc", *bytes, *alignment));
    return success();
  }
};

struct ConvertGetDynShared : OpConversionPattern<GetDynSharedOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(GetDynSharedOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto module = op->getParentOfType<gpu::GPUModuleOp>();
    if (!module)
      return op.emitOpError("must stand in a gpu.module");
    // All kernels of a module share one variable, which lies behind the static allocations.
    LLVM::GlobalOp global;
    for (auto candidate : module.getBody()->getOps<LLVM::GlobalOp>())
      if (candidate.getSymName().starts_with("__dynamic_shared"))
        global = candidate;
    if (!global)
      global = createShared(rewriter, module, op.getLoc(), sharedSpace(*this), "__dynamic_shared",
                            0, cast<PointerType>(op.getType()).getAlignment());
    Value address = LLVM::AddressOfOp::create(rewriter, op.getLoc(), global);
    rewriter.replaceOpWithNewOp<LLVM::GEPOp>(op, address.getType(), rewriter.getI8Type(), address,
                                             ArrayRef<LLVM::GEPArg>{0});
    return success();
  }
};

struct ConvertAddOffset : OpConversionPattern<AddOffsetOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AddOffsetOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<PointerType>(op.getPtr().getType());
    const flydsl::layout::IntTuple &tuple = cast<IntTupleType>(op.getOffset().getType()).getValue();
    if (!type || !tuple.isLeaf())
      return op.emitOpError("moves a pointer by one number; run fly-layout-lowering first");
    Value offset;
    if (tuple.isStatic()) {
      int64_t value = tuple.leaf().value();
      if (int64_t bits = memoryBits(type.getElemTy()); value % 8 * bits % 8 != 0)
        return op.emitOpError("moves by ")
               << value << " elements of " << bits << " bits, into the middle of a byte";
      Type number = llvm::isInt<32>(value) ? rewriter.getI32Type() : rewriter.getI64Type();
      offset =
          arith::ConstantOp::create(rewriter, op.getLoc(), rewriter.getIntegerAttr(number, value));
    } else if (auto make = op.getOffset().getDefiningOp<MakeIntTupleOp>()) {
      offset = make.getDyncElems().front();
    } else {
      return op.emitOpError(
          "offset is not made by fly.make_int_tuple; run fly-layout-lowering first");
    }
    rewriter.replaceOp(op, offsetBy(rewriter, op.getLoc(), type, adaptor.getPtr(), offset));
    return success();
  }
};

struct ConvertPtrLoad : OpConversionPattern<PtrLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(PtrLoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto pointerTy = dyn_cast<PointerType>(op.getPtr().getType());
    Type type = getTypeConverter()->convertType(op.getResult().getType());
    if (!pointerTy || !type)
      return op.emitOpError("can't load a value of type ") << op.getResult().getType();
    if (failed(verifyAccess(op, pointerTy, bitsOf(op.getResult().getType()))))
      return failure();
    rewriter.replaceOp(op, emitLoad(rewriter, op.getLoc(), type, pointerTy, adaptor.getPtr()));
    return success();
  }
};

struct ConvertPtrStore : OpConversionPattern<PtrStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(PtrStoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PointerType pointerTy = op.getPtr().getType();
    if (failed(verifyAccess(op, pointerTy, bitsOf(op.getValue().getType()))))
      return failure();
    emitStore(rewriter, op.getLoc(), adaptor.getValue(), pointerTy, adaptor.getPtr());
    rewriter.eraseOp(op);
    return success();
  }
};

/// Operations that make no difference to LLVM: the result is the converted first operand.
template <class Op> struct Forward : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  LogicalResult matchAndRewrite(Op op, typename OpConversionPattern<Op>::OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ValueRange first = adaptor.getOperands().front();
    if (first.size() != 1 || !isa<PointerType, MemRefType>(op->getResult(0).getType()))
      return op->emitOpError("is not lowered; run fly-layout-lowering first");
    rewriter.replaceOp(op, first.front());
    return success();
  }
};

struct ConvertIntToPtr : OpConversionPattern<IntToPtrOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(IntToPtrOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<LLVM::LLVMPointerType>(getTypeConverter()->convertType(op.getType()));
    if (!type)
      return op.emitOpError("can't make a pointer of type ") << op.getType() << " from a number";
    rewriter.replaceOpWithNewOp<LLVM::IntToPtrOp>(op, type, adaptor.getSrc());
    return success();
  }
};

struct ConvertPtrToInt : OpConversionPattern<PtrToIntOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(PtrToIntOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isa<LLVM::LLVMPointerType>(adaptor.getPtr().getType()))
      return op.emitOpError("a pointer of type ") << op.getPtr().getType() << " is not an address";
    rewriter.replaceOpWithNewOp<LLVM::PtrToIntOp>(op, op.getType(), adaptor.getPtr());
    return success();
  }
};

struct ConvertToLLVMPtr : OpConversionPattern<ToLLVMPtrOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ToLLVMPtrOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (adaptor.getPtr().getType() != op.getType())
      return op.emitOpError("asks for ")
             << op.getType() << " but the pointer is " << adaptor.getPtr().getType();
    rewriter.replaceOp(op, adaptor.getPtr());
    return success();
  }
};

struct ConvertExtractPointer : OpConversionPattern<ExtractAlignedPointerAsIndexOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ExtractAlignedPointerAsIndexOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value pointer = adaptor.getSource();
    Type type = getTypeConverter()->convertType(op.getType());
    if (!isa<LLVM::LLVMPointerType>(pointer.getType()) || !isa<LLVM::LLVMPointerType>(type))
      return op.emitOpError("can't take a value of type ")
             << op.getType() << " out of " << op.getSource().getType();
    if (pointer.getType() != type)
      pointer = LLVM::AddrSpaceCastOp::create(rewriter, op.getLoc(), type, pointer);
    rewriter.replaceOp(op, pointer);
    return success();
  }
};

} // namespace

void populateMemoryPatterns(RewritePatternSet &patterns, const FlyTypeConverter &converter) {
  patterns
      .add<ConvertMakePtr, ConvertGetDynShared, ConvertAddOffset, ConvertPtrLoad, ConvertPtrStore,
           Forward<MakeViewOp>, Forward<GetIterOp>, Forward<RecastIterOp>, Forward<ApplySwizzleOp>,
           ConvertIntToPtr, ConvertPtrToInt, ConvertToLLVMPtr, ConvertExtractPointer>(
          converter, patterns.getContext());
}

} // namespace mlir::fly
