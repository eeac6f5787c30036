// Modules as text, with their locations.
#pragma once

#include <string>

namespace llvm {
class Module;
} // namespace llvm
namespace mlir {
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

/// Whether a module has been verified. One that was not may be damaged, and is printed in the
/// generic form if it is.
enum class Verified { no, yes };

std::string printed(mlir::ModuleOp module, Verified verified = Verified::no);
std::string printed(const llvm::Module &module);

/// The module with what `mlir-opt --run-reproducer` reads: a pipeline, and whether it verifies
/// between its passes.
std::string printedReproducer(mlir::ModuleOp module, const std::string &pipeline, bool verifyEach);

} // namespace flydsl::jit
