#include "dialect/Conversion/FlyToLLVM/Pointers.h"

#include "dialect/Conversion/FlyToLLVM/LoweringInterfaces.h"
#include "dialect/Fly/Transforms/RegisterMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <numeric>

namespace mlir::fly {

namespace {

/// The alignment in bytes that LLVM assumes for a value of `type` if the access gives none.
int64_t naturalAlignment(Type type) {
  int64_t bytes = std::max<int64_t>(bitsOf(type) / 8, 1);
  return static_cast<int64_t>(llvm::PowerOf2Ceil(bytes));
}

/// The alignment that the access gives; 0 if it gives none.
unsigned alignmentFor(PointerType pointerTy, Type type, Alignment when) {
  if (when == Alignment::Never)
    return 0;
  int64_t alignment = accessAlignment(pointerTy);
  return when == Alignment::IfLess && alignment >= naturalAlignment(type) ? 0 : alignment;
}

/// The type in which memory holds a value of `type`: truth values have a byte each. LLVM does that
/// by itself for a single one at an address.
Type typeInMemory(OpBuilder &builder, Type type, PointerType pointerTy) {
  if (!getElementTypeOrSelf(type).isInteger(1))
    return type;
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), builder.getI8Type());
  return isDescriptor(pointerTy) ? Type(builder.getI8Type()) : type;
}

/// The lowering of a descriptor's address space. The type converter takes no pointer that has none.
DescriptorLoweringInterface loweringOf(PointerType type) {
  return cast<DescriptorLoweringInterface>(type.getAddressSpace());
}

} // namespace

int64_t bitsOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * vector.getElementTypeBitWidth();
  return type.getIntOrFloatBitWidth();
}

bool isDescriptor(PointerType type) { return type.getSpace().isDescriptor(); }

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

Value swizzled(OpBuilder &builder, Location loc, const flydsl::layout::Swizzle &swizzle, Value x) {
  if (swizzle.isTrivial())
    return x;
  Type type = x.getType();
  auto number = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, v));
  };
  int64_t mask = ((int64_t(1) << swizzle.mask) - 1) << (swizzle.base + swizzle.shift);
  Value bits = arith::AndIOp::create(builder, loc, x, number(mask));
  Value low = arith::ShRUIOp::create(builder, loc, bits, number(swizzle.shift));
  return arith::XOrIOp::create(builder, loc, x, low);
}

Value swizzledAddress(OpBuilder &builder, Location loc, PointerType type, Value pointer) {
  if (type.getSwizzle().isTrivial())
    return pointer;
  Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), pointer);
  address = swizzled(builder, loc, type.getSwizzle(), address);
  return LLVM::IntToPtrOp::create(builder, loc, pointer.getType(), address);
}

Value offsetBy(OpBuilder &builder, Location loc, PointerType type, Value pointer, Value offset) {
  if (isDescriptor(type))
    return loweringOf(type).offsetBy(builder, loc, type, pointer, offset);
  Type step = storedElementType(type.getElemTy());
  if (int64_t bits = memoryBits(step); bits % 8 != 0) {
    // A getelementptr would count each element as whole bytes.
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

Value stateField(OpBuilder &builder, Location loc, Value atom, int64_t field) {
  return LLVM::ExtractValueOp::create(builder, loc, atom, ArrayRef<int64_t>{field});
}

Value constantI32(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value emitLoad(OpBuilder &builder, Location loc, Type type, PointerType pointerTy, Value pointer,
               Alignment alignment, bool nontemporal) {
  if (Type held = typeInMemory(builder, type, pointerTy); held != type) {
    Value bytes = emitLoad(builder, loc, held, pointerTy, pointer, alignment, nontemporal);
    return arith::TruncIOp::create(builder, loc, type, bytes);
  }
  if (isDescriptor(pointerTy))
    return loweringOf(pointerTy).load(builder, loc, pointerTy, type, pointer);
  return LLVM::LoadOp::create(builder, loc, type, swizzledAddress(builder, loc, pointerTy, pointer),
                              alignmentFor(pointerTy, type, alignment), /*isVolatile=*/false,
                              nontemporal);
}

void emitStore(OpBuilder &builder, Location loc, Value value, PointerType pointerTy, Value pointer,
               Alignment alignment, bool nontemporal) {
  if (Type held = typeInMemory(builder, value.getType(), pointerTy); held != value.getType())
    value = arith::ExtUIOp::create(builder, loc, held, value);
  if (isDescriptor(pointerTy))
    return loweringOf(pointerTy).store(builder, loc, pointerTy, value, pointer);
  LLVM::StoreOp::create(builder, loc, value, swizzledAddress(builder, loc, pointerTy, pointer),
                        alignmentFor(pointerTy, value.getType(), alignment), /*isVolatile=*/false,
                        nontemporal);
}

Type wordsType(OpBuilder &builder, int64_t bits) {
  if (bits <= 32)
    return builder.getIntegerType(bits);
  return VectorType::get({bits / 32}, builder.getI32Type());
}

Value bitcastTo(OpBuilder &builder, Location loc, Value value, Type type) {
  return value.getType() == type ? value
                                 : Value(LLVM::BitcastOp::create(builder, loc, type, value));
}

} // namespace mlir::fly
