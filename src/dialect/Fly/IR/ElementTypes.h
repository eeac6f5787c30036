// The element types of the public API as types of the IR, and back.
#pragma once

#include <flydsl/dtype.h>

#include "mlir/IR/Types.h"

#include <string>

namespace mlir::fly {

/// The IR type of one element. Null for `none`.
Type elementType(flydsl::DType type, MLIRContext *context);
/// The element type of an IR type; integers come out signed. DType() if it is none.
flydsl::DType dtypeOfElement(Type type);

/// The type as the IR spells it.
std::string typeText(Type type);

} // namespace mlir::fly
