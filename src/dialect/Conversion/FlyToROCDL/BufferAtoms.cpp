// Copies through buffers and into LDS.
//
// The state of these atoms starts with soffset, in elements. The state of copies into LDS also has
// a byte offset.

#include "dialect/Conversion/FlyToLLVM/LoweringInterfaces.h"
#include "dialect/Conversion/FlyToLLVM/Pointers.h"
#include "dialect/Conversion/FlyToROCDL/BufferPointers.h"
#include "dialect/Conversion/FlyToROCDL/LoweringModels.h"

#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

namespace mlir::fly {

using namespace mlir::fly_rocdl;

namespace {

MemRefType bufferMemRef(Type type) {
  auto memref = dyn_cast_or_null<MemRefType>(type);
  return memref && isBufferPointer(memref.getPointerType()) ? memref : MemRefType();
}

bool isSharedMemRef(Type type) {
  auto memref = dyn_cast_or_null<MemRefType>(type);
  return memref && memref.isIn(AddressSpace::Shared);
}

/// Shared memory without a swizzle. Instructions that write to LDS directly, lane after lane, would
/// ignore a swizzle.
bool isPlainSharedMemRef(Type type) {
  return isSharedMemRef(type) && cast<MemRefType>(type).getSwizzle().isTrivial();
}

/// The resource, and the offset and soffset in bytes, of an access through a buffer.
struct BufferAccess {
  Value resource, offset, soffset;

  /// `elements` is the soffset as the atom's state holds it.
  BufferAccess(OpBuilder &builder, Location loc, MemRefType type, Value pointer, Value elements) {
    PointerType pointerTy = type.getPointerType();
    soffset = elementsToBytes(builder, loc, type.getElemTy(), elements);
    resource = bufferResource(builder, loc, pointer);
    offset = bufferByteOffset(builder, loc, pointerTy, pointer);
  }
};

struct BufferCopy : CopyOpLoweringInterface::ExternalModel<BufferCopy, CopyOpCDNA3BufferCopyType> {
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type resultTy, Type,
                            Type srcTy, Type dstTy, Value atom, Value src, Value dst) const {
    auto copy = cast<CopyOpCDNA3BufferCopyType>(type);
    Type dataTy = wordsType(builder, copy.getBitSize());
    if (MemRefType from = bufferMemRef(srcTy)) {
      if (!resultTy || bitsOf(resultTy) != copy.getBitSize())
        return failure();
      BufferAccess access(builder, loc, from, src, stateField(builder, loc, atom, 0));
      Value aux = constantI32(builder, loc, copy.getCacheModifier());
      Value data = ROCDL::RawPtrBufferLoadOp::create(builder, loc, dataTy, access.resource,
                                                     access.offset, access.soffset, aux,
                                                     ArrayAttr(), ArrayAttr(), ArrayAttr());
      return bitcastTo(builder, loc, data, resultTy);
    }
    MemRefType to = bufferMemRef(dstTy);
    if (!to || isa<MemRefType>(srcTy) || bitsOf(src.getType()) != copy.getBitSize())
      return failure();
    BufferAccess access(builder, loc, to, dst, stateField(builder, loc, atom, 0));
    Value data = bitcastTo(builder, loc, src, dataTy);
    Value aux = constantI32(builder, loc, copy.getCacheModifier());
    ROCDL::RawPtrBufferStoreOp::create(builder, loc, data, access.resource, access.offset,
                                       access.soffset, aux, ArrayAttr(), ArrayAttr(), ArrayAttr());
    return src;
  }
};

/// `copy` is the type of the instruction.
template <class Copy>
FailureOr<Value> emitBufferToLDS(OpBuilder &builder, Location loc, Copy copy, Type srcTy,
                                 Type dstTy, Value atom, Value src, Value dst) {
  MemRefType from = bufferMemRef(srcTy);
  if (!from || !isPlainSharedMemRef(dstTy))
    return failure();
  Value elements = stateField(builder, loc, atom, 0), immediate = stateField(builder, loc, atom, 1);
  BufferAccess access(builder, loc, from, src, elements);
  Value bytes = constantI32(builder, loc, copy.getBitSize() / 8),
        aux = constantI32(builder, loc, copy.getCacheModifier());
  ROCDL::RawPtrBufferLoadLdsOp::create(builder, loc, access.resource, dst, bytes, access.offset,
                                       access.soffset, immediate, aux, ArrayAttr(), ArrayAttr(),
                                       ArrayAttr());
  return dst;
}

struct BufferCopyLDS
    : CopyOpLoweringInterface::ExternalModel<BufferCopyLDS, CopyOpCDNA3BufferCopyLDSType> {
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type, Type, Type srcTy,
                            Type dstTy, Value atom, Value src, Value dst) const {
    return emitBufferToLDS(builder, loc, cast<CopyOpCDNA3BufferCopyLDSType>(type), srcTy, dstTy,
                           atom, src, dst);
  }
};

// LLVM 22 has no form of these loads without the waits that the compiler inserts. The ordinary form
// moves the same data, and the waits make it complete before anything reads the data.
struct BufferLoadAsyncLDS
    : CopyOpLoweringInterface::ExternalModel<BufferLoadAsyncLDS,
                                             CopyOpCDNA4BufferLoadAsyncLDSType> {
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type, Type, Type srcTy,
                            Type dstTy, Value atom, Value src, Value dst) const {
    return emitBufferToLDS(builder, loc, cast<CopyOpCDNA4BufferLoadAsyncLDSType>(type), srcTy,
                           dstTy, atom, src, dst);
  }
};

struct GlobalLoadAsyncLDS
    : CopyOpLoweringInterface::ExternalModel<GlobalLoadAsyncLDS,
                                             CopyOpCDNA4GlobalLoadAsyncLDSType> {
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type, Type, Type srcTy,
                            Type dstTy, Value, Value src, Value dst) const {
    auto from = dyn_cast<MemRefType>(srcTy);
    if (!from || !from.isIn(AddressSpace::Global) || !isPlainSharedMemRef(dstTy))
      return failure();
    src = swizzledAddress(builder, loc, from.getPointerType(), src);
    auto copy = cast<CopyOpCDNA4GlobalLoadAsyncLDSType>(type);
    ROCDL::GlobalLoadLDSOp::create(
        builder, loc, src, dst, builder.getI32IntegerAttr(copy.getBitSize() / 8),
        builder.getI32IntegerAttr(0), builder.getI32IntegerAttr(copy.getCacheModifier()),
        ArrayAttr(), ArrayAttr(), ArrayAttr());
    return dst;
  }
};

/// The name of an operation's raw buffer atomic, without "llvm.amdgcn.raw.ptr.buffer.atomic.";
/// empty if there is none.
StringRef bufferAtomic(AtomicOp op, bool isFloat) {
  switch (op) {
  case AtomicOp::Add:
    return isFloat ? "fadd" : "add";
  case AtomicOp::Max:
    return isFloat ? "fmax" : "smax";
  case AtomicOp::Min:
    return isFloat ? "fmin" : "smin";
  case AtomicOp::And:
    return isFloat ? "" : "and";
  case AtomicOp::Or:
    return isFloat ? "" : "or";
  case AtomicOp::Inc:
    return isFloat ? "" : "inc";
  case AtomicOp::Dec:
    return isFloat ? "" : "dec";
  }
  return "";
}

struct BufferAtomic
    : CopyOpLoweringInterface::ExternalModel<BufferAtomic, CopyOpCDNA3BufferAtomicType> {
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type, Type, Type srcTy,
                            Type dstTy, Value atom, Value src, Value dst) const {
    auto atomic = cast<CopyOpCDNA3BufferAtomicType>(type);
    MemRefType to = bufferMemRef(dstTy);
    Type elemTy = getElementTypeOrSelf(atomic.getValType());
    StringRef name = bufferAtomic(atomic.getAtomicOp().getValue(), isa<FloatType>(elemTy));
    if (!to || isa<MemRefType>(srcTy) || name.empty() ||
        bitsOf(src.getType()) != bitsOf(atomic.getValType()))
      return failure();
    src = bitcastTo(builder, loc, src, atomic.getValType());
    BufferAccess access(builder, loc, to, dst, stateField(builder, loc, atom, 0));
    Value aux = constantI32(builder, loc, 0);
    StringRef prefix = "llvm.amdgcn.raw.ptr.buffer.atomic.";
    LLVM::CallIntrinsicOp::create(
        builder, loc, src.getType(), builder.getStringAttr(prefix + name),
        ValueRange{src, access.resource, access.offset, access.soffset, aux});
    return src;
  }
};

struct LdsReadTranspose
    : CopyOpLoweringInterface::ExternalModel<LdsReadTranspose, CopyOpCDNA4LdsReadTransposeType> {
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type resultTy, Type,
                            Type srcTy, Type, Value, Value src, Value) const {
    auto copy = cast<CopyOpCDNA4LdsReadTransposeType>(type);
    auto from = dyn_cast<MemRefType>(srcTy);
    if (!resultTy || bitsOf(resultTy) != copy.getBitSize() || !isSharedMemRef(srcTy))
      return failure();
    Type i32 = builder.getI32Type();
    StringRef name;
    Type dataTy;
    switch (copy.getTransGranularity()) {
    case 4:
      name = "rocdl.ds.read.tr4.b64", dataTy = VectorType::get({2}, i32);
      break;
    case 6:
      name = "rocdl.ds.read.tr6.b96", dataTy = VectorType::get({3}, i32);
      break;
    case 8:
      name = "rocdl.ds.read.tr8.b64", dataTy = VectorType::get({2}, i32);
      break;
    case 16:
      name = "rocdl.ds.read.tr16.b64", dataTy = VectorType::get({4}, builder.getI16Type());
      break;
    default:
      return failure();
    }
    Value address = swizzledAddress(builder, loc, from.getPointerType(), src);
    OperationState state(loc, name, address, dataTy, {});
    return bitcastTo(builder, loc, builder.create(state)->getResult(0), resultTy);
  }
};

} // namespace

void attachBufferAtomModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, FlyROCDLDialect *) {
    CopyOpCDNA3BufferCopyType::attachInterface<BufferCopy>(*context);
    CopyOpCDNA3BufferCopyLDSType::attachInterface<BufferCopyLDS>(*context);
    CopyOpCDNA3BufferAtomicType::attachInterface<BufferAtomic>(*context);
    CopyOpCDNA4BufferLoadAsyncLDSType::attachInterface<BufferLoadAsyncLDS>(*context);
    CopyOpCDNA4GlobalLoadAsyncLDSType::attachInterface<GlobalLoadAsyncLDS>(*context);
    CopyOpCDNA4LdsReadTransposeType::attachInterface<LdsReadTranspose>(*context);
  });
}

} // namespace mlir::fly
