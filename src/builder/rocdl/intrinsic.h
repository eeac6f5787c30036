// LLVM intrinsics by name.
#pragma once

#include "builder/trace/tracer.h"

namespace flydsl::builder {

/// The result; null where `type` is.
mlir::Value callIntrinsic(Tracer &tracer, llvm::StringRef name, mlir::ValueRange operands,
                          mlir::Type type, Loc loc);

} // namespace flydsl::builder
