// Work of MLIR on modules that were written elsewhere, under the guard.
#pragma once

#include <functional>
#include <string>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace flydsl::jit {

/// Runs `work` in `context` under the guard (see guard.h), for `timeoutSeconds` at most. It returns
/// false after an error through the context's diagnostics. Throws CompileError with `name`, what it
/// was `doing` ("reading it") and what went wrong, errors with their file and line; after a crash
/// or a stop `context` is abandoned, and what `work` holds is lost, so it owns all that it touches.
void runOnModule(mlir::MLIRContext &context, const std::string &name, const std::string &doing,
                 unsigned timeoutSeconds, std::function<bool()> work);

} // namespace flydsl::jit
