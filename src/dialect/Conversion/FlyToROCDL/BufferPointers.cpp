#include "dialect/Conversion/FlyToROCDL/BufferPointers.h"

#include "dialect/Conversion/FlyToLLVM/LoweringInterfaces.h"
#include "dialect/Conversion/FlyToLLVM/Pointers.h"
#include "dialect/Conversion/FlyToROCDL/LoweringModels.h"

#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

#include <numeric>

namespace mlir::fly {

using fly_rocdl::BufferDescAddressAttr;
using fly_rocdl::FlyROCDLDialect;

bool isBufferPointer(PointerType type) { return fly_rocdl::isBufferDesc(type.getAddressSpace()); }

Value bufferResource(OpBuilder &builder, Location loc, Value pointer) {
  return LLVM::ExtractValueOp::create(builder, loc, pointer, ArrayRef<int64_t>{0});
}

Value bufferByteOffset(OpBuilder &builder, Location loc, PointerType type, Value pointer) {
  Value elements = LLVM::ExtractValueOp::create(builder, loc, pointer, ArrayRef<int64_t>{1});
  Value bytes = elementsToBytes(builder, loc, type.getElemTy(), elements);
  return swizzled(builder, loc, type.getSwizzle(), bytes);
}

Value elementsToBytes(OpBuilder &builder, Location loc, Type elemTy, Value elements) {
  int64_t bits = memoryBits(elemTy), whole = std::gcd(bits, int64_t(8));
  // Of elements smaller than a byte, 8 / whole begin and end with one; counting those first keeps
  // the product within 32 bits.
  if (whole < 8)
    elements = arith::DivUIOp::create(builder, loc, elements, constantI32(builder, loc, 8 / whole));
  if (bits == whole)
    return elements;
  return arith::MulIOp::create(builder, loc, elements, constantI32(builder, loc, bits / whole));
}

namespace {

struct BufferPointer
    : DescriptorLoweringInterface::ExternalModel<BufferPointer, BufferDescAddressAttr> {
  Type getConvertedType(Attribute, PointerType type) const {
    MLIRContext *context = type.getContext();
    return LLVM::LLVMStructType::getLiteral(
        context, {fly_rocdl::getBufferResourceType(context), IntegerType::get(context, 32)});
  }

  /// The resource is made of what `op` is given; the offset is 0.
  FailureOr<Value> makePointer(Attribute, OpBuilder &builder, MakePtrOp op, ValueRange args) const {
    if (args.size() != 4 || !isa<LLVM::LLVMPointerType>(args[0].getType()) ||
        !args[1].getType().isInteger(16) || !args[2].getType().isInteger(64) ||
        !args[3].getType().isInteger(32))
      return op.emitOpError("of a buffer takes a pointer, its stride (i16), its size in bytes "
                            "(i64) and its flags (i32)");
    Location loc = op.getLoc();
    Value resource = ROCDL::MakeBufferRsrcOp::create(
        builder, loc, fly_rocdl::getBufferResourceType(op.getContext()), args[0], args[1], args[2],
        args[3]);
    auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                                 {resource.getType(), builder.getI32Type()});
    Value packed = LLVM::UndefOp::create(builder, loc, type);
    packed = LLVM::InsertValueOp::create(builder, loc, packed, resource, ArrayRef<int64_t>{0});
    return Value(LLVM::InsertValueOp::create(builder, loc, packed, constantI32(builder, loc, 0),
                                             ArrayRef<int64_t>{1}));
  }

  Value offsetBy(Attribute, OpBuilder &builder, Location loc, PointerType, Value pointer,
                 Value offset) const {
    if (offset.getType().isInteger(64))
      offset = arith::TruncIOp::create(builder, loc, builder.getI32Type(), offset);
    Value before = LLVM::ExtractValueOp::create(builder, loc, pointer, ArrayRef<int64_t>{1});
    Value sum = arith::AddIOp::create(builder, loc, before, offset);
    return LLVM::InsertValueOp::create(builder, loc, pointer, sum, ArrayRef<int64_t>{1});
  }

  Value load(Attribute, OpBuilder &builder, Location loc, PointerType pointerTy, Type type,
             Value pointer) const {
    Value resource = bufferResource(builder, loc, pointer);
    Value offset = bufferByteOffset(builder, loc, pointerTy, pointer);
    Value zero = constantI32(builder, loc, 0);
    Type dataTy = wordsType(builder, bitsOf(type));
    Value data = ROCDL::RawPtrBufferLoadOp::create(builder, loc, dataTy, resource, offset, zero,
                                                   zero, ArrayAttr(), ArrayAttr(), ArrayAttr());
    return bitcastTo(builder, loc, data, type);
  }

  void store(Attribute, OpBuilder &builder, Location loc, PointerType pointerTy, Value value,
             Value pointer) const {
    Value resource = bufferResource(builder, loc, pointer);
    Value offset = bufferByteOffset(builder, loc, pointerTy, pointer);
    Value zero = constantI32(builder, loc, 0);
    value = bitcastTo(builder, loc, value, wordsType(builder, bitsOf(value.getType())));
    ROCDL::RawPtrBufferStoreOp::create(builder, loc, value, resource, offset, zero, zero,
                                       ArrayAttr(), ArrayAttr(), ArrayAttr());
  }
};

struct ConvertGetBufferRsrc : OpConversionPattern<fly_rocdl::GetBufferRsrcOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(fly_rocdl::GetBufferRsrcOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, bufferResource(rewriter, op.getLoc(), adaptor.getPtr()));
    return success();
  }
};

} // namespace

void populateBufferPatterns(RewritePatternSet &patterns, const TypeConverter &converter) {
  patterns.add<ConvertGetBufferRsrc>(converter, patterns.getContext());
}

void attachBufferPointerModel(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, FlyROCDLDialect *) {
    BufferDescAddressAttr::attachInterface<BufferPointer>(*context);
  });
}

} // namespace mlir::fly
