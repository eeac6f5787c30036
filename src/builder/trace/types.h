// Element types as MLIR types, and the algebra's view of handles.
#pragma once

#include "builder/trace/node.h"

#include "dialect/Fly/IR/ElementTypes.h"

#include "mlir/IR/Types.h"

namespace flydsl::builder {

using mlir::fly::dtypeOfElement;
using mlir::fly::elementType;
using mlir::fly::typeText;

/// The IR type of a static host value (a tuple, layout, tile, swizzle, atom). Null for others.
mlir::Type staticType(const detail::HostValue &value, mlir::MLIRContext *context);
/// The host value that a static IR type stands for; monostate where it is not static or not the
/// algebra's.
detail::HostValue valueOfStaticType(mlir::Type type);

} // namespace flydsl::builder
