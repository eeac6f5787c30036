// The passes from Fly IR to the LLVM dialect.
#pragma once

#include "jit/compile/options/options.h"

#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

class Dump;
class Guard;

/// True if the module holds operations or types of the Fly dialects.
bool holdsFly(mlir::ModuleOp module);

struct PipelineResult {
  bool ok = false;
  std::string failedPass; ///< the pass that failed, or the stage that did not parse
};

/// Lowers `module` in place. CompileDiagnostics go to the context's handler. With a dump, each
/// stage is written.
PipelineResult runPipeline(mlir::ModuleOp module, const CompileOptions &options, Dump &dump,
                           const Guard &guard);

} // namespace flydsl::jit
