// LLVM intrinsics by name.
#pragma once

#include "builder/trace/tracer.h"

#include <flydsl/rocdl/intrinsics.h>

namespace flydsl::builder {

/// The IR's type of a result. Throws TraceError for a vector of fewer than one element.
mlir::Type typeOf(Tracer &tracer, const rocdl::ResultType &result, Loc loc);

/// The result; null where `type` is.
mlir::Value callIntrinsic(Tracer &tracer, llvm::StringRef name, mlir::ValueRange operands,
                          mlir::Type type, Loc loc);

} // namespace flydsl::builder
