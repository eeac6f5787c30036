// The lowering of what FlyROCDL adds to Fly, attached to its types and attributes.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace mlir {
class RewritePatternSet;
class TypeConverter;
} // namespace mlir

namespace mlir::fly {

/// Attach to the atoms' types, and to the address space of buffers, how they become instructions.
void attachBufferPointerModel(DialectRegistry &registry);
void attachBufferAtomModels(DialectRegistry &registry);
void attachMatrixAtomModels(DialectRegistry &registry);
void attachTensorMoverModel(DialectRegistry &registry);
/// The pattern of fly_rocdl.tensor_move.
void populateTensorMovePatterns(RewritePatternSet &patterns, const TypeConverter &converter);

} // namespace mlir::fly
