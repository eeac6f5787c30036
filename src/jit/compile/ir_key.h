// The key of a kernel in the cache.
#pragma once

#include "cache/key.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

struct CompileOptions;

/// Everything that changes the code, and nothing else: the device part of the module as bytecode
/// (without locations, unless line tables are asked for), target with features, the options that
/// LLVM sees, and the builds of this library and LLVM.
cache::Key irKey(mlir::ModuleOp module, const CompileOptions &options);

} // namespace flydsl::jit
