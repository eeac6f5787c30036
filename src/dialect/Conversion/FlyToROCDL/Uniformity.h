// Which values are the same in all lanes of a wave.
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::fly {

/// The values of one kernel that lanes of a wave may differ in. The kernel must not change while it
/// is asked; values that are made later are not known.
///
/// Ids of threads and lanes differ. Arguments, constants and the ids of blocks do not. Arithmetic
/// and loads differ where an operand does. A loop's or a branch's results differ as well where lanes
/// may take different ways through it. Operations that are not known may give any value.
class Uniformity {
public:
  explicit Uniformity(Operation *kernel);
  bool isUniform(Value value) const { return !differing_.contains(value); }

private:
  void begin(Operation *op);
  void pass(Value value, OpOperand &use);
  void passYield(OpOperand &use);
  void mark(Value value);
  void mark(ValueRange values) {
    for (Value value : values)
      mark(value);
  }

  llvm::DenseSet<Value> differing_;
  SmallVector<Value> fresh_; ///< marked, and not yet passed on to their users
};

} // namespace mlir::fly
