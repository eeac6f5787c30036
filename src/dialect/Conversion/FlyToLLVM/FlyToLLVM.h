// The conversion of Fly to LLVM, as far as it is the same for every backend.
//
// It lowers pointers, views, loads and stores, shared memory, atoms with their state and their
// calls, and the universal atoms. A backend completes it with a LoweringTarget, and by attaching
// the interfaces of LoweringInterfaces.h to the atoms and address spaces of its own dialect. A
// backend's pass is then one call of convertFlyToLLVM; FlyToROCDL is the example to follow.
//
// Kernels stay gpu.func, and gpu.thread_id and its like stay as they are: what they become is the
// backend's too, and MLIR has conversions for it (convert-gpu-to-rocdl, convert-gpu-to-nvvm).
#pragma once

#include "dialect/Fly/IR/FlyAttrs.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/DialectConversion.h"

#include <memory>

namespace mlir::fly {

/// What a backend tells the conversion, and adds to it.
class LoweringTarget {
public:
  virtual ~LoweringTarget() = default;

  /// The namespace of the backend's own dialect ("fly_rocdl"): its operations are converted, its
  /// atoms and address spaces are taken, and those of all other dialects but Fly's are refused. It
  /// is empty for a backend without one.
  virtual StringRef getDialect() const { return {}; }

  /// LLVM's number of one of Fly's address spaces.
  virtual unsigned getLLVMAddressSpace(AddressSpace space) const = 0;

  /// Adds the patterns that convert the operations of the backend's dialect.
  virtual void populatePatterns(RewritePatternSet &patterns, const TypeConverter &converter) const {
  }

protected:
  LoweringTarget() = default;
  LoweringTarget(const LoweringTarget &) = default;
  LoweringTarget &operator=(const LoweringTarget &) = default;
};

/// Converts the operations of Fly and of the target's dialect under `root`, and the functions,
/// branches and calls that pass values of their types. Emits an error where that can't be done.
LogicalResult convertFlyToLLVM(Operation *root, const LoweringTarget &target);

/// Adds the dialects whose operations the conversion makes or meets, for getDependentDialects.
void insertFlyToLLVMDialects(DialectRegistry &registry);

#define GEN_PASS_DECL
#include "dialect/Conversion/FlyToLLVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "dialect/Conversion/FlyToLLVM/Passes.h.inc"

} // namespace mlir::fly
