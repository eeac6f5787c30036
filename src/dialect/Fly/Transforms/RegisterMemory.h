// Register memory seen as vectors.
#pragma once

#include "mlir/IR/Types.h"

namespace mlir::fly {

class MemRefType;

/// The most elements of a vector or fragment in registers. It is many times what a thread has, and
/// few enough to write the elements out one by one.
constexpr int64_t kMostRegisterElements = 1 << 16;

/// The element type that vectors of registers have: floats below 16 bits become integers of their
/// width, because neither arith nor the code generator knows vectors of them.
Type registerElementType(Type elemTy);

/// The value that a contiguous fragment in register memory holds: a scalar where it has one
/// element, else a vector of the layout's cosize. Null where the memref is not in register memory
/// or its elements are not contiguous.
Type registerValueType(MemRefType type);

} // namespace mlir::fly
