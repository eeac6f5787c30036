// Modules that were written elsewhere: text, as dumps hold it, or bytecode.
#pragma once

#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <string_view>

namespace mlir {
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

/// Parses and verifies. Throws CompileError, with `name`, line and what is wrong, for what is no
/// module.
mlir::OwningOpRef<mlir::ModuleOp> readModule(std::string_view bytes, const std::string &name,
                                             mlir::MLIRContext &context);

} // namespace flydsl::jit
