// Element types as MLIR types, and the algebra's view of handles.
#pragma once

#include "builder/trace/node.h"

#include "mlir/IR/Types.h"

namespace flydsl::builder {

/// The IR type of one element.
mlir::Type elementType(DType type, mlir::MLIRContext *context);
/// The element type of an IR type; integers come out signed. DType() for what is none.
DType dtypeOfElement(mlir::Type type);

/// The IR type of a static host value (a tuple, layout, tile, swizzle, atom). Null for others.
mlir::Type staticType(const detail::HostValue &value, mlir::MLIRContext *context);
/// The host value that a static IR type stands for; monostate where it is not static or not the
/// algebra's.
detail::HostValue valueOfStaticType(mlir::Type type);

std::string typeText(mlir::Type type);

} // namespace flydsl::builder
