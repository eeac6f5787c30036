// The Fly dialect: layouts, tensors, atoms and tiled operations as MLIR types and operations.
#pragma once

#include "mlir/IR/Dialect.h"

#include "dialect/Fly/IR/FlyDialect.h.inc"

namespace mlir::fly {

/// The attribute of a gpu.module that names bitcode files to link, an array of strings.
inline constexpr llvm::StringLiteral kLinkLibsAttribute = "fly.link_libs";

} // namespace mlir::fly
