// The address of an element as a sum of terms, by who computes them.
#pragma once

#include "dialect/Conversion/FlyToROCDL/Uniformity.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::fly {

/// A sum of integers of 64 bits.
struct AddressTerms {
  SmallVector<Value> ofWave, ofLane; ///< of 32 or of 64 bits, which are extended with their sign
  uint64_t constant = 0;             ///< wraps, as addresses do
};

/// Adds the terms of an integer of 32 or 64 bits, as a number with a sign. It makes operations at
/// `builder` where it multiplies a sum out.
void addTerms(OpBuilder &builder, Location loc, const Uniformity &uniformity, Value value,
              AddressTerms &to);

/// Whether the result of an addition or a multiplication is that of the numbers: in 64 bits, addresses
/// wrap as their sums do; in 32 bits, the result must be known to fit.
bool isExact(Operation *op);

} // namespace mlir::fly
