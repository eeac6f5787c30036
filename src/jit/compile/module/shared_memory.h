// Which lines use how much shared memory, for the message when a workgroup would have too much.
#pragma once

#include "support/shared_use.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace flydsl::jit {

/// The variables in `addressSpace`, that of shared memory, of a gpu.module in the LLVM dialect.
/// Those of one line count together; the largest comes first.
std::vector<support::SharedUse> sharedUses(mlir::Operation *gpuModule, unsigned addressSpace);

} // namespace flydsl::jit
