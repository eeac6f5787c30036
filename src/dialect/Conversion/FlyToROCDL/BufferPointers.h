// Buffer pointers: pointers in #fly_rocdl.buffer_desc, as LLVM values.
//
// Such a pointer is a struct of a buffer resource (!llvm.ptr<8>) and an offset in elements (i32).
#pragma once

#include "dialect/Fly/IR/FlyTypes.h"

#include "mlir/Transforms/DialectConversion.h"

namespace mlir::fly {

/// Whether the pointer is a buffer pointer.
bool isBufferPointer(PointerType type);

/// The resource, and the offset in bytes with the swizzle applied to it.
Value bufferResource(OpBuilder &builder, Location loc, Value pointer);
Value bufferByteOffset(OpBuilder &builder, Location loc, PointerType type, Value pointer);

/// An element count as bytes of elements of `elemTy`, in i32.
Value elementsToBytes(OpBuilder &builder, Location loc, Type elemTy, Value elements);

/// Adds the patterns of FlyROCDL's operations on buffer pointers.
void populateBufferPatterns(RewritePatternSet &patterns, const TypeConverter &converter);

} // namespace mlir::fly
