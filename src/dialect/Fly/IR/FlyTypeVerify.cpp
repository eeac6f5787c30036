// The verifiers of Fly's types.
#include "dialect/Fly/IR/FlyTypes.h"

#include "layout/tuple_ops.h"

namespace layout = flydsl::layout;

namespace mlir::fly {

using EmitError = function_ref<InFlightDiagnostic()>;

/// MLIR has integers of 0 bits, which neither memory nor arithmetic can hold.
static bool hasBits(Type type) { return type.isIntOrFloat() && type.getIntOrFloatBitWidth() > 0; }

static LogicalResult verifyPointer(EmitError emitError, Type elemTy, Attribute addressSpace,
                                   int64_t alignment) {
  if (!hasBits(elemTy))
    return emitError() << "the element of a pointer is an integer or a float, not " << elemTy;
  if (!isa_and_nonnull<AddressSpaceInterface>(addressSpace))
    return emitError() << "the address space of a pointer is generic, global, shared, register or "
                          "a target's own (#fly_rocdl.buffer_desc), not "
                       << addressSpace;
  int64_t bytes = (elemTy.getIntOrFloatBitWidth() + 7) / 8;
  // A smaller alignment is that of elements in records whose size is no multiple of theirs.
  if (alignment <= 0 || (alignment % bytes != 0 && bytes % alignment != 0))
    return emitError() << "alignment must be positive, and a multiple or a divisor of the "
                          "element's size of "
                       << bytes << " bytes, but is " << alignment;
  return success();
}

LogicalResult PointerType::verify(EmitError emitError, Type elemTy, Attribute addressSpace,
                                  int64_t alignment, layout::Swizzle) {
  return verifyPointer(emitError, elemTy, addressSpace, alignment);
}

LogicalResult MemRefType::verify(EmitError emitError, Type elemTy, Attribute addressSpace,
                                 layout::AnyLayout, int64_t alignment, layout::Swizzle) {
  return verifyPointer(emitError, elemTy, addressSpace, alignment);
}

LogicalResult CopyAtomType::verify(EmitError emitError, Type copyOp, int32_t valBits) {
  auto copy = dyn_cast<CopyOpTypeInterface>(copyOp);
  if (!copy)
    return emitError() << "the instruction of a copy atom must be a copy, but is " << copyOp;
  // An instruction that moves whole tiles has no values of its own; that is written as 0 bits.
  if (valBits < (copy.isWholeTileCopy() ? 0 : 1))
    return emitError() << "the values of a copy atom have at least 1 bit, not " << valBits;
  // The bits that a thread moves are mode 1 of (thread, bit), which is static.
  int64_t bits = layout::product(copy.getThrBitLayoutSrc().shape().at(1)).value();
  if (!copy.isWholeTileCopy() && bits % valBits != 0)
    return emitError() << "the " << bits << " bits of " << copyOp
                       << " are no whole number of values of " << valBits << " bits";
  return success();
}

LogicalResult MmaAtomType::verify(EmitError emitError, Type mmaOp) {
  if (!isa<MmaOpTypeInterface>(mmaOp))
    return emitError() << "the instruction of an mma atom must be a multiplication, but is "
                       << mmaOp;
  return success();
}

LogicalResult TiledCopyType::verify(EmitError emitError, CopyAtomType, LayoutType layoutThrVal,
                                    TileType tileMN) {
  if (!layoutThrVal.isStatic() || layoutThrVal.getValue().rank() != 2)
    return emitError() << "a tiled copy needs a static (thread, value) layout, not "
                       << layoutThrVal;
  if (!tileMN.isStatic())
    return emitError() << "a tiled copy needs a static tile, not " << tileMN;
  return success();
}

LogicalResult TiledMmaType::verify(EmitError emitError, MmaAtomType, LayoutType atomLayout,
                                   TileType permutation) {
  if (!atomLayout.isStatic() || atomLayout.getValue().rank() != 3)
    return emitError() << "a tiled mma needs a static (M, N, K) layout of atoms, not "
                       << atomLayout;
  if (!permutation.isStatic())
    return emitError() << "a tiled mma needs a static permutation, not " << permutation;
  return success();
}

LogicalResult CopyOpUniversalCopyType::verify(EmitError emitError, int32_t bitSize,
                                              bool /*nontemporal*/) {
  if (bitSize <= 0)
    return emitError() << "a copy moves at least 1 bit, not " << bitSize;
  return success();
}

LogicalResult CopyOpUniversalAtomicType::verify(EmitError emitError, AtomicOpAttr, Type valType,
                                                StringRef) {
  if (!hasBits(valType))
    return emitError() << "an atomic works on an integer or a float, not " << valType;
  return success();
}

LogicalResult MmaOpUniversalFMAType::verify(EmitError emitError, Type elemTy) {
  if (!hasBits(elemTy))
    return emitError() << "a universal FMA works on integers or floats, not " << elemTy;
  return success();
}

} // namespace mlir::fly
