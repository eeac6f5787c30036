#include "dialect/Conversion/FlyToLLVM/Pointers.h"

#include "dialect/Fly/Transforms/RegisterMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

#include <numeric>

namespace mlir::fly {

namespace {

/// x ^ ((x & mask) >> shift) on an integer.
Value swizzled(OpBuilder &builder, Location loc, const flydsl::layout::Swizzle &swizzle, Value x) {
  Type type = x.getType();
  auto number = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, v));
  };
  int64_t mask = ((int64_t(1) << swizzle.mask) - 1) << (swizzle.base + swizzle.shift);
  Value bits = arith::AndIOp::create(builder, loc, x, number(mask));
  Value low = arith::ShRUIOp::create(builder, loc, bits, number(swizzle.shift));
  return arith::XOrIOp::create(builder, loc, x, low);
}

/// LLVM's alignment of a value of `type` where none is given, in bytes.
int64_t naturalAlignment(Type type) {
  int64_t bytes = std::max<int64_t>(bitsOf(type) / 8, 1);
  return static_cast<int64_t>(llvm::PowerOf2Ceil(bytes));
}

/// The alignment to write down; 0 for none.
unsigned alignmentFor(PointerType pointerTy, Type type, Alignment when) {
  if (when == Alignment::Never)
    return 0;
  int64_t alignment = accessAlignment(pointerTy);
  return when == Alignment::IfLess && alignment >= naturalAlignment(type) ? 0 : alignment;
}

/// What holds a value of `type` in memory where that is another type: bytes for truth values. A
/// single one needs that in buffers only.
Type typeInMemory(OpBuilder &builder, Type type, bool isBuffer) {
  if (!getElementTypeOrSelf(type).isInteger(1))
    return type;
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), builder.getI8Type());
  return isBuffer ? Type(builder.getI8Type()) : type;
}

void copyBuffer(OpBuilder &builder, Location loc, PointerType type, Value pointer, Value &resource,
                Value &offset) {
  resource = bufferResource(builder, loc, pointer);
  offset = bufferByteOffset(builder, loc, type, pointer);
}

} // namespace

int64_t bitsOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * vector.getElementTypeBitWidth();
  return type.getIntOrFloatBitWidth();
}

bool isBufferPointer(PointerType type) { return !isa<AddressSpaceAttr>(type.getAddressSpace()); }

unsigned llvmAddressSpace(PointerType type) {
  auto space = dyn_cast<AddressSpaceAttr>(type.getAddressSpace());
  if (!space)
    return 8;
  switch (space.getValue()) {
  case AddressSpace::Generic:
    return 0;
  case AddressSpace::Global:
    return ROCDL::ROCDLDialect::kGlobalMemoryAddressSpace;
  case AddressSpace::Shared:
    return ROCDL::ROCDLDialect::kSharedMemoryAddressSpace;
  case AddressSpace::Register:
    return ROCDL::ROCDLDialect::kPrivateMemoryAddressSpace;
  }
  llvm_unreachable("all address spaces are above");
}

Type convertedPointerType(PointerType type) {
  auto pointer = LLVM::LLVMPointerType::get(type.getContext(), llvmAddressSpace(type));
  if (!isBufferPointer(type))
    return pointer;
  return LLVM::LLVMStructType::getLiteral(type.getContext(),
                                          {pointer, IntegerType::get(type.getContext(), 32)});
}

Type storedElementType(Type elemTy) { return registerElementType(elemTy); }

int64_t memoryBits(Type elemTy) { return elemTy.isInteger(1) ? 8 : bitsOf(elemTy); }

int64_t accessAlignment(PointerType type) {
  int64_t alignment = std::max<int64_t>(type.getAlignment(), 1);
  if (!type.getSwizzle().isTrivial())
    alignment = std::gcd(alignment, int64_t(1) << type.getSwizzle().base);
  return alignment & -alignment;
}

LogicalResult verifyAccess(Operation *op, PointerType type, int64_t bits) {
  Type elemTy = type.getElemTy();
  bits = bits / bitsOf(elemTy) * memoryBits(elemTy);
  if (bits % 8 != 0)
    return op->emitOpError("accesses ")
           << bits << " bits through " << type << ", which has no address for parts of a byte";
  if (!type.getSwizzle().isTrivial() && (int64_t(8) << type.getSwizzle().base) % bits != 0)
    return op->emitOpError("accesses ")
           << bits / 8 << " bytes through a swizzle that keeps only "
           << (int64_t(1) << type.getSwizzle().base) << " bytes together";
  return success();
}

Value swizzledAddress(OpBuilder &builder, Location loc, PointerType type, Value pointer) {
  if (type.getSwizzle().isTrivial())
    return pointer;
  Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), pointer);
  address = swizzled(builder, loc, type.getSwizzle(), address);
  return LLVM::IntToPtrOp::create(builder, loc, pointer.getType(), address);
}

Value offsetBy(OpBuilder &builder, Location loc, PointerType type, Value pointer, Value offset) {
  if (!isBufferPointer(type)) {
    Type step = storedElementType(type.getElemTy());
    if (int64_t bits = memoryBits(step); bits % 8 != 0) {
      // LLVM would move by whole bytes an element.
      step = builder.getI64Type();
      auto number = [&](int64_t v) {
        return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(v));
      };
      if (offset.getType() != step)
        offset = builder.createOrFold<arith::ExtSIOp>(loc, step, offset);
      offset = builder.createOrFold<arith::MulIOp>(loc, offset, number(bits));
      offset = builder.createOrFold<arith::ShRSIOp>(loc, offset, number(3));
      step = builder.getI8Type();
    }
    return LLVM::GEPOp::create(builder, loc, pointer.getType(), step, pointer, ValueRange{offset});
  }
  if (offset.getType().isInteger(64))
    offset = arith::TruncIOp::create(builder, loc, builder.getI32Type(), offset);
  Value before = LLVM::ExtractValueOp::create(builder, loc, pointer, ArrayRef<int64_t>{1});
  Value sum = arith::AddIOp::create(builder, loc, before, offset);
  return LLVM::InsertValueOp::create(builder, loc, pointer, sum, ArrayRef<int64_t>{1});
}

Value constantI32(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value emitLoad(OpBuilder &builder, Location loc, Type type, PointerType pointerTy, Value pointer,
               Alignment alignment) {
  if (Type held = typeInMemory(builder, type, isBufferPointer(pointerTy)); held != type) {
    Value bytes = emitLoad(builder, loc, held, pointerTy, pointer, alignment);
    return arith::TruncIOp::create(builder, loc, type, bytes);
  }
  if (!isBufferPointer(pointerTy))
    return LLVM::LoadOp::create(builder, loc, type,
                                swizzledAddress(builder, loc, pointerTy, pointer),
                                alignmentFor(pointerTy, type, alignment));
  Value resource, offset;
  copyBuffer(builder, loc, pointerTy, pointer, resource, offset);
  Value zero = constantI32(builder, loc, 0);
  Type dataTy = bufferDataType(builder, bitsOf(type));
  Value data = ROCDL::RawPtrBufferLoadOp::create(builder, loc, dataTy, resource, offset, zero, zero,
                                                 ArrayAttr(), ArrayAttr(), ArrayAttr());
  return bitcastTo(builder, loc, data, type);
}

void emitStore(OpBuilder &builder, Location loc, Value value, PointerType pointerTy, Value pointer,
               Alignment alignment) {
  if (Type held = typeInMemory(builder, value.getType(), isBufferPointer(pointerTy));
      held != value.getType())
    value = arith::ExtUIOp::create(builder, loc, held, value);
  if (!isBufferPointer(pointerTy)) {
    LLVM::StoreOp::create(builder, loc, value, swizzledAddress(builder, loc, pointerTy, pointer),
                          alignmentFor(pointerTy, value.getType(), alignment));
    return;
  }
  Value resource, offset;
  copyBuffer(builder, loc, pointerTy, pointer, resource, offset);
  Value zero = constantI32(builder, loc, 0);
  value = bitcastTo(builder, loc, value, bufferDataType(builder, bitsOf(value.getType())));
  ROCDL::RawPtrBufferStoreOp::create(builder, loc, value, resource, offset, zero, zero, ArrayAttr(),
                                     ArrayAttr(), ArrayAttr());
}

Value makeBufferPointer(OpBuilder &builder, Location loc, Value resource) {
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               {resource.getType(), builder.getI32Type()});
  Value packed = LLVM::UndefOp::create(builder, loc, type);
  packed = LLVM::InsertValueOp::create(builder, loc, packed, resource, ArrayRef<int64_t>{0});
  return LLVM::InsertValueOp::create(builder, loc, packed, constantI32(builder, loc, 0),
                                     ArrayRef<int64_t>{1});
}

Value bufferResource(OpBuilder &builder, Location loc, Value pointer) {
  return LLVM::ExtractValueOp::create(builder, loc, pointer, ArrayRef<int64_t>{0});
}

Value bufferByteOffset(OpBuilder &builder, Location loc, PointerType type, Value pointer) {
  Value elements = LLVM::ExtractValueOp::create(builder, loc, pointer, ArrayRef<int64_t>{1});
  Value bytes = elementsToBytes(builder, loc, type.getElemTy(), elements);
  return type.getSwizzle().isTrivial() ? bytes : swizzled(builder, loc, type.getSwizzle(), bytes);
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

Type bufferDataType(OpBuilder &builder, int64_t bits) {
  if (bits <= 32)
    return builder.getIntegerType(bits);
  return VectorType::get({bits / 32}, builder.getI32Type());
}

Value bitcastTo(OpBuilder &builder, Location loc, Value value, Type type) {
  return value.getType() == type ? value
                                 : Value(LLVM::BitcastOp::create(builder, loc, type, value));
}

} // namespace mlir::fly
