// Integers that 32 bits hold.
#pragma once

#include "layout/expr.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::fly {

/// Whether 32 bits hold the number that `make` describes, with a sign or without one.
bool fits32(function_ref<flydsl::layout::ExprRef()> make);
bool fitsUnsigned32(function_ref<flydsl::layout::ExprRef()> make);
/// Whether 32 bits without a sign are known to hold a multiple of a number.
bool fitsUnsigned32(Value value, int64_t times = 1);

/// The low 32 bits of an integer, computed in 32 bits as far as they depend on nothing else.
Value low32(OpBuilder &builder, Location loc, Value value);
/// These bits in 64, extended without a sign.
Value unsigned32(OpBuilder &builder, Location loc, Value value);
/// An integer of 32 or 64 bits in 64, extended with its sign.
Value wide(OpBuilder &builder, Location loc, Value value);

/// Sums of integers: in 64 bits, and the low 32 bits of them.
Value sum64(OpBuilder &builder, Location loc, ArrayRef<Value> terms);
Value sum32(OpBuilder &builder, Location loc, ArrayRef<Value> terms);
/// The low 32 bits of a number times a constant.
Value times32(OpBuilder &builder, Location loc, Value value, int64_t by);

} // namespace mlir::fly
