// What operations do with the thread's number: the facts by which values are followed to it.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace flydsl::builder {

/// Whether the result is the number of a thread, or differs from lane to lane otherwise.
bool isThreadNumber(mlir::Operation *op);

/// True for operations whose result is no longer the thread's own: what comes out of memory, or out
/// of the first lane.
bool hidesThread(mlir::Operation *op);

/// The branch of an && or || whose second side is computed only where the first does not decide; null for
/// other operations.
mlir::scf::IfOp shortCircuitOf(mlir::Operation *op);

} // namespace flydsl::builder
