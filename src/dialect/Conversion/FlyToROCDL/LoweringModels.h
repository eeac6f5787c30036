// The lowering of what FlyROCDL adds to Fly, attached to its types and attributes.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace mlir::fly {

/// Attach to the atoms' types, and to the address space of buffers, how they become instructions.
void attachBufferPointerModel(DialectRegistry &registry);
void attachBufferAtomModels(DialectRegistry &registry);
void attachMatrixAtomModels(DialectRegistry &registry);
void attachTensorMoverModel(DialectRegistry &registry);

} // namespace mlir::fly
