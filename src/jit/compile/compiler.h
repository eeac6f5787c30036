// From a module to a code object: pass pipeline, LLVM IR, object, link, metadata. Thread-safe.
#pragma once

#include "jit/code_object/code_object.h"
#include "jit/compile/options/options.h"

#include <memory>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

/// Why no module can be compiled with these options, or an empty text.
std::string problemWith(const CompileOptions &options);

/// Compiles the kernels of the one gpu.module in `module`, from Fly IR or from any later stage
/// (gpu, scf, arith, vector, memref, rocdl, llvm). Host functions in the module are ignored.
/// `module` itself is left as it is. Throws flydsl::CompileError, naming kernel, pass and target,
/// whatever goes wrong, crashes of LLVM included.
std::shared_ptr<const CodeObject> compileModule(mlir::ModuleOp module,
                                                const CompileOptions &options);

} // namespace flydsl::jit
