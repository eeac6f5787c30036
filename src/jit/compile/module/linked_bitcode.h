// The bitcode that a module names to be linked.
#pragma once

#include "jit/compile/options/options.h"

#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

/// Reads the files that the device module of `module` names, in order, each once: its
/// `fly.link_libs` and what its target attributes name. Throws flydsl::CompileError for a file that
/// can't be read or is no bitcode.
std::vector<Bitcode> readLinkedBitcode(mlir::ModuleOp module);

} // namespace flydsl::jit
