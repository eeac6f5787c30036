// The parts of the conversion to ROCDL.

#ifndef FLYDSL_DIALECT_CONVERSION_FLYTOLLVM_CONVERSIONPATTERNS_H
#define FLYDSL_DIALECT_CONVERSION_FLYTOLLVM_CONVERSIONPATTERNS_H

#include "mlir/Transforms/DialectConversion.h"

namespace mlir::fly {

/// Fly types to LLVM's. Floats below 16 bits, alone and in vectors, become integers.
struct ROCDLTypeConverter : TypeConverter {
  ROCDLTypeConverter();
};

/// Pointers, views, loads and stores, shared memory.
void populateMemoryPatterns(RewritePatternSet &patterns, const TypeConverter &converter);
/// Atoms, their state and their calls.
void populateAtomPatterns(RewritePatternSet &patterns, const TypeConverter &converter);

/// Attach to the atoms' types how they become instructions.
void attachUniversalAtomModels(DialectRegistry &registry);
void attachBufferAtomModels(DialectRegistry &registry);
void attachMatrixAtomModels(DialectRegistry &registry);
void attachTensorMoverModel(DialectRegistry &registry);

} // namespace mlir::fly

#endif // FLYDSL_DIALECT_CONVERSION_FLYTOLLVM_CONVERSIONPATTERNS_H
