// The parts of the conversion to LLVM.
#pragma once

#include "dialect/Conversion/FlyToLLVM/FlyToLLVM.h"

namespace mlir::fly {

/// Fly types to LLVM's. Floats below 16 bits, alone and in vectors, become integers.
class FlyTypeConverter : public TypeConverter {
public:
  explicit FlyTypeConverter(const LoweringTarget &target);

  const LoweringTarget &getTarget() const { return target_; }
  /// Whether atoms and address spaces of this dialect are the target's or every target's.
  bool isTaken(Dialect &dialect) const;

private:
  const LoweringTarget &target_;
};

/// Adds the patterns of pointers, views, loads and stores, and shared memory.
void populateMemoryPatterns(RewritePatternSet &patterns, const FlyTypeConverter &converter);
/// Adds the patterns of atoms, their state and their calls.
void populateAtomPatterns(RewritePatternSet &patterns, const FlyTypeConverter &converter);

} // namespace mlir::fly
