// Whether a target has the instructions of a module that was written elsewhere. A traced kernel's
// are looked at as it is traced.
#pragma once

#include "jit/compile/options/options.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

/// Throws CompileError, with the operation's file and line, where the module executes an atom of an
/// instruction that the target does not have: LLVM would give up without a line.
void expectOnTarget(mlir::ModuleOp module, const CompileOptions &options);

} // namespace flydsl::jit
