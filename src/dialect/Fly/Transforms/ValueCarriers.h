// How Fly values are passed to functions, kernels, loops and branches: as the LLVM values that
// carry what the type of a Fly value does not already say.
#pragma once

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
