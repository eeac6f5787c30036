// The FlyROCDL dialect: the instructions of AMD GPUs as atoms.
#pragma once

#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "target/matrix_instructions.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h.inc"

namespace mlir::fly_rocdl {
using flydsl::detail::MatrixInstruction;
}

#include "dialect/FlyROCDL/IR/FlyROCDLTypeInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/FlyROCDL/IR/FlyROCDLAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/FlyROCDL/IR/FlyROCDLTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/FlyROCDL/IR/FlyROCDLOps.h.inc"

namespace mlir::fly_rocdl {

/// Whether pointers in this address space are a buffer descriptor with an offset.
inline bool isBufferDesc(Attribute addressSpace) {
  return isa_and_nonnull<BufferDescAddressAttr>(addressSpace);
}

/// LLVM's type of a buffer resource, the descriptor that buffer instructions take.
Type getBufferResourceType(MLIRContext *context);

} // namespace mlir::fly_rocdl
