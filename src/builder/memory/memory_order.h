// Orders and scopes of atomic accesses as LLVM's.
#pragma once

#include <flydsl/kernel/memory_order.h>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace flydsl::builder {

mlir::LLVM::AtomicOrdering orderingOf(MemoryOrder order);
/// LLVM's name of the scope, whose empty one is the system. A TraceError for others.
llvm::StringRef scopeNamed(SyncScope scope, Loc loc);

} // namespace flydsl::builder
