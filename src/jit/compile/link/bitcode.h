// LLVM bitcode of other compilers that kernels call into: what the user names in the IR, and ROCm's
// device library, which is a part of this library.
#pragma once

#include "jit/compile/options/options.h"

#include <vector>

namespace llvm {
class Module;
} // namespace llvm
namespace mlir {
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

/// Reads the files that the device module of `module` names, in order, each once: its
/// `fly.link_libs` and the `link` of its `#rocdl.target`. Throws flydsl::CompileError for a file
/// that can't be read or is no bitcode.
std::vector<Bitcode> readLinkedBitcode(mlir::ModuleOp module);

/// Defines what `module` declares and calls: first from `options.bitcode`, then from ROCm's device
/// library. Only what is needed is linked. What no bitcode defines stays a declaration, and the
/// linker names it. False after a diagnostic through the module's LLVMContext.
bool linkBitcode(llvm::Module &module, const CompileOptions &options);

} // namespace flydsl::jit
