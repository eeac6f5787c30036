// Copies of CDNA: buffers, buffers to LDS, atomics, transposing reads of LDS, asynchronous copies.
#include "dialect/FlyROCDL/IR/TypeUtils.h"

namespace layout = flydsl::layout;
using layout::Layout;
using layout::tup;

namespace mlir::fly_rocdl {

std::optional<unsigned> fieldIndex(StringRef name, ArrayRef<StringRef> names) {
  auto *at = llvm::find(names, name);
  if (at == names.end())
    return std::nullopt;
  return static_cast<unsigned>(at - names.begin());
}

SmallVector<Type> integerFields(MLIRContext *context, unsigned count, unsigned bits) {
  return SmallVector<Type>(count, IntegerType::get(context, bits));
}

//===----------------------------------------------------------------------===//
// Routes
//===----------------------------------------------------------------------===//

static Attribute buffer(MLIRContext *context) { return BufferDescAddressAttr::get(context); }
static Attribute memory(MLIRContext *context, fly::AddressSpace space) {
  return fly::AddressSpaceAttr::get(context, space);
}
static Attribute registers(MLIRContext *context) {
  return memory(context, fly::AddressSpace::Register);
}
static Attribute shared(MLIRContext *context) { return memory(context, fly::AddressSpace::Shared); }
static Attribute global(MLIRContext *context) { return memory(context, fly::AddressSpace::Global); }

SmallVector<fly::CopyRoute> CopyOpCDNA3BufferCopyType::getRoutes() const {
  MLIRContext *context = getContext();
  return {{{buffer(context)}, {registers(context)}}, {{registers(context)}, {buffer(context)}}};
}
SmallVector<fly::CopyRoute> CopyOpCDNA3BufferAtomicType::getRoutes() const {
  return {{{registers(getContext())}, {buffer(getContext())}}};
}
SmallVector<fly::CopyRoute> CopyOpCDNA3BufferCopyLDSType::getRoutes() const {
  return {{{buffer(getContext())}, {shared(getContext())}}};
}
SmallVector<fly::CopyRoute> CopyOpCDNA4BufferLoadAsyncLDSType::getRoutes() const {
  return {{{buffer(getContext())}, {shared(getContext())}}};
}
SmallVector<fly::CopyRoute> CopyOpCDNA4GlobalLoadAsyncLDSType::getRoutes() const {
  return {{{global(getContext())}, {shared(getContext())}}};
}
SmallVector<fly::CopyRoute> CopyOpCDNA4LdsReadTransposeType::getRoutes() const {
  return {{{shared(getContext())}, {registers(getContext())}}};
}
SmallVector<fly::CopyRoute> CopyOpGFX1250TDMType::getRoutes() const {
  MLIRContext *context = getContext();
  return {{{global(context)}, {shared(context)}}, {{shared(context)}, {global(context)}}};
}

//===----------------------------------------------------------------------===//
// Buffers. State: soffset, in elements of the buffer's tensor.
//===----------------------------------------------------------------------===//

static LogicalResult verifyCacheModifier(EmitError emitError, int32_t cacheModifier) {
  if (cacheModifier < 0)
    return emitError() << "a cache modifier is not negative, but is " << cacheModifier;
  return success();
}

LogicalResult CopyOpCDNA3BufferCopyType::verify(EmitError emitError, int32_t bitSize,
                                                int32_t cacheModifier) {
  if (!llvm::is_contained({8, 16, 32, 64, 96, 128}, bitSize))
    return emitError() << "a buffer copy moves 8, 16, 32, 64, 96 or 128 bits, not " << bitSize;
  return verifyCacheModifier(emitError, cacheModifier);
}
Layout CopyOpCDNA3BufferCopyType::getThrLayout() const { return oneThread(); }
Layout CopyOpCDNA3BufferCopyType::getThrBitLayoutSrc() const { return oneThreadOf(getBitSize()); }
Layout CopyOpCDNA3BufferCopyType::getThrBitLayoutDst() const { return oneThreadOf(getBitSize()); }
Layout CopyOpCDNA3BufferCopyType::getThrBitLayoutRef() const { return oneThreadOf(getBitSize()); }
std::optional<unsigned> CopyOpCDNA3BufferCopyType::getStateFieldIndex(StringRef name) const {
  return fieldIndex(name, {"soffset"});
}
SmallVector<Type> CopyOpCDNA3BufferCopyType::getStateFieldTypes() const {
  return integerFields(getContext(), 1);
}
SmallVector<int64_t> CopyOpCDNA3BufferCopyType::getStateFieldDefaults() const { return {0}; }

/// Bits of a scalar, or of a pair of 16-bit floats, on which packed atomics work. 0 for others.
static unsigned bitsOfAtomic(Type valType) {
  if (auto pair = dyn_cast<VectorType>(valType))
    return pair.getShape() == ArrayRef<int64_t>{2} &&
                   (pair.getElementType().isF16() || pair.getElementType().isBF16())
               ? 32
               : 0;
  return valType.isIntOrFloat() ? valType.getIntOrFloatBitWidth() : 0;
}

LogicalResult CopyOpCDNA3BufferAtomicType::verify(EmitError emitError, fly::AtomicOpAttr op,
                                                  Type valType) {
  unsigned bits = bitsOfAtomic(valType);
  if (bits < 1 || bits > 64)
    return emitError() << "a buffer atomic works on an integer or float of at most 64 bits, or on "
                          "a pair of f16 or bf16, not "
                       << valType;
  if (isa<VectorType>(valType) && op.getValue() != fly::AtomicOp::Add)
    return emitError() << "an atomic on a pair of floats adds; it can't do '"
                       << fly::stringifyAtomicOp(op.getValue()) << "'";
  return success();
}
Layout CopyOpCDNA3BufferAtomicType::getThrLayout() const { return oneThread(); }
Layout CopyOpCDNA3BufferAtomicType::getThrBitLayoutSrc() const {
  return oneThreadOf(bitsOfAtomic(getValType()));
}
Layout CopyOpCDNA3BufferAtomicType::getThrBitLayoutDst() const { return getThrBitLayoutSrc(); }
Layout CopyOpCDNA3BufferAtomicType::getThrBitLayoutRef() const { return getThrBitLayoutSrc(); }
std::optional<unsigned> CopyOpCDNA3BufferAtomicType::getStateFieldIndex(StringRef name) const {
  return fieldIndex(name, {"soffset"});
}
SmallVector<Type> CopyOpCDNA3BufferAtomicType::getStateFieldTypes() const {
  return integerFields(getContext(), 1);
}
SmallVector<int64_t> CopyOpCDNA3BufferAtomicType::getStateFieldDefaults() const { return {0}; }

//===----------------------------------------------------------------------===//
// Into LDS. State: soffset in elements, and an immediate byte offset.
//===----------------------------------------------------------------------===//

// The instructions move 1, 2 or 4 bytes per lane, and 12 or 16 on gfx950. None moves 8.
LogicalResult CopyOpCDNA3BufferCopyLDSType::verify(EmitError emitError, int32_t bitSize,
                                                   int32_t cacheModifier) {
  if (bitSize != 32 && bitSize != 128)
    return emitError() << "a buffer copy to LDS moves 32 bits, or 128 on gfx950, not " << bitSize;
  return verifyCacheModifier(emitError, cacheModifier);
}
Layout CopyOpCDNA3BufferCopyLDSType::getThrLayout() const { return oneThread(); }
Layout CopyOpCDNA3BufferCopyLDSType::getThrBitLayoutSrc() const {
  return oneThreadOf(getBitSize());
}
Layout CopyOpCDNA3BufferCopyLDSType::getThrBitLayoutDst() const {
  return oneThreadOf(getBitSize());
}
Layout CopyOpCDNA3BufferCopyLDSType::getThrBitLayoutRef() const {
  return oneThreadOf(getBitSize());
}
std::optional<unsigned> CopyOpCDNA3BufferCopyLDSType::getStateFieldIndex(StringRef name) const {
  return fieldIndex(name, {"soffset", "imm_offset"});
}
SmallVector<Type> CopyOpCDNA3BufferCopyLDSType::getStateFieldTypes() const {
  return integerFields(getContext(), 2);
}
SmallVector<int64_t> CopyOpCDNA3BufferCopyLDSType::getStateFieldDefaults() const { return {0, 0}; }

static LogicalResult verifyAsync(EmitError emitError, int32_t bitSize, int32_t cacheModifier) {
  if (bitSize != 32 && bitSize != 96 && bitSize != 128)
    return emitError() << "an asynchronous copy to LDS moves 32, 96 or 128 bits, not " << bitSize;
  return verifyCacheModifier(emitError, cacheModifier);
}

LogicalResult CopyOpCDNA4BufferLoadAsyncLDSType::verify(EmitError emitError, int32_t bitSize,
                                                        int32_t cacheModifier) {
  return verifyAsync(emitError, bitSize, cacheModifier);
}
Layout CopyOpCDNA4BufferLoadAsyncLDSType::getThrLayout() const { return oneThread(); }
Layout CopyOpCDNA4BufferLoadAsyncLDSType::getThrBitLayoutSrc() const {
  return oneThreadOf(getBitSize());
}
Layout CopyOpCDNA4BufferLoadAsyncLDSType::getThrBitLayoutDst() const {
  return oneThreadOf(getBitSize());
}
Layout CopyOpCDNA4BufferLoadAsyncLDSType::getThrBitLayoutRef() const {
  return oneThreadOf(getBitSize());
}
std::optional<unsigned>
CopyOpCDNA4BufferLoadAsyncLDSType::getStateFieldIndex(StringRef name) const {
  return fieldIndex(name, {"soffset", "imm_offset"});
}
SmallVector<Type> CopyOpCDNA4BufferLoadAsyncLDSType::getStateFieldTypes() const {
  return integerFields(getContext(), 2);
}
SmallVector<int64_t> CopyOpCDNA4BufferLoadAsyncLDSType::getStateFieldDefaults() const {
  return {0, 0};
}

LogicalResult CopyOpCDNA4GlobalLoadAsyncLDSType::verify(EmitError emitError, int32_t bitSize,
                                                        int32_t cacheModifier) {
  return verifyAsync(emitError, bitSize, cacheModifier);
}
Layout CopyOpCDNA4GlobalLoadAsyncLDSType::getThrLayout() const { return oneThread(); }
Layout CopyOpCDNA4GlobalLoadAsyncLDSType::getThrBitLayoutSrc() const {
  return oneThreadOf(getBitSize());
}
Layout CopyOpCDNA4GlobalLoadAsyncLDSType::getThrBitLayoutDst() const {
  return oneThreadOf(getBitSize());
}
Layout CopyOpCDNA4GlobalLoadAsyncLDSType::getThrBitLayoutRef() const {
  return oneThreadOf(getBitSize());
}

//===----------------------------------------------------------------------===//
// Transposing reads (ds_read_b64_tr_b4, _b8, _b16, ds_read_b96_tr_b6): each of 16 threads points at
// a row of consecutive elements, and receives a column: element t of every row.
//===----------------------------------------------------------------------===//

LogicalResult CopyOpCDNA4LdsReadTransposeType::verify(EmitError emitError, int32_t granularity,
                                                      int32_t bitSize) {
  bool known = granularity == 6 ? bitSize == 96
                                : bitSize == 64 && llvm::is_contained({4, 8, 16}, granularity);
  if (!known)
    return emitError() << "a transposing read of LDS moves 64 bits by 4, 8 or "
                          "16, or 96 bits by 6, "
                          "not "
                       << bitSize << " by " << granularity;
  return success();
}
Layout CopyOpCDNA4LdsReadTransposeType::getThrLayout() const { return Layout(16, 1); }
Layout CopyOpCDNA4LdsReadTransposeType::getThrBitLayoutSrc() const {
  return Layout(tup(16, getBitSize()), tup(getBitSize(), 1));
}
Layout CopyOpCDNA4LdsReadTransposeType::getThrBitLayoutDst() const {
  int32_t element = getTransGranularity();
  return Layout(tup(16, tup(element, getBitSize() / element)), tup(element, tup(1, 16 * element)));
}
Layout CopyOpCDNA4LdsReadTransposeType::getThrBitLayoutRef() const { return getThrBitLayoutDst(); }

} // namespace mlir::fly_rocdl
