// What Fly values are passed as.
//
// The kernel ABI's view of Fly values: the LLVM types and pointers that carry what a type does not
// already say.

#ifndef FLYDSL_DIALECT_FLY_TRANSFORMS_VALUECARRIERS_H
#define FLYDSL_DIALECT_FLY_TRANSFORMS_VALUECARRIERS_H

#include "mlir/IR/Builders.h"

namespace mlir::fly {

/// Whether values of `type` are passed as something other than themselves.
bool isCarried(Type type);

/// The types that carry a value of `type`: none for static types, a pointer and, where it is
/// dynamic, its layout's struct for memrefs, one packed struct of the dynamic numbers otherwise.
SmallVector<Type> carrierTypes(Type type);

/// Takes the carriers of `value` out of it.
SmallVector<Value> packIntoCarriers(OpBuilder &builder, Location loc, Value value);

/// Builds a value of `type` from its carriers.
Value unpackFromCarriers(OpBuilder &builder, Location loc, Type type, ValueRange carriers);

} // namespace mlir::fly

#endif // FLYDSL_DIALECT_FLY_TRANSFORMS_VALUECARRIERS_H
