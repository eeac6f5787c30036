// A file from which a failed compile can be run again.
#pragma once

#include <string>

namespace llvm {
class Module;
} // namespace llvm
namespace mlir {
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

struct CompileOptions;

/// Writes <dump folder>/<kernel>/reproducer.mlir, the module with its pipeline as `fly-opt
/// --run-reproducer` takes it, and beside it failed.ll where LLVM was at work. The dump folder is
/// the options', else FLYDSL_DUMP_DIR, else ~/.flydsl/debug. Returns the path, or "" if it can't be
/// written; runs guarded, because a crash may have left the IR damaged.
std::string writeReproducer(mlir::ModuleOp module, const CompileOptions &options,
                            const std::string &kernel, llvm::Module *llvmModule);

} // namespace flydsl::jit
