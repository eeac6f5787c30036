// Collects what MLIR and LLVM report during one compile.
#pragma once

#include "jit/compile/module/shared_memory.h"

#include <flydsl/error.h>

#include "mlir/IR/Diagnostics.h"

#include <memory>
#include <string>

namespace llvm {
struct DiagnosticHandler;
} // namespace llvm

namespace flydsl::jit {

/// The errors of one compile, in order, with their notes; and the first place in the user's source
/// among them.
struct CompileDiagnostics {
  std::string errors;
  std::string first; ///< the first of MLIR's errors alone, without its place
  SourceLocation where;
  std::vector<support::SharedUse> shared; ///< what explains LLVM's refusal of too much shared memory

  bool failed() const { return !errors.empty(); }
};

/// The first file position in `location` (through name, fused and call-site locations); unknown if
/// there is none.
SourceLocation sourceLocation(mlir::Location location);

/// Adds MLIR's errors to a CompileDiagnostics while it lives; warnings and remarks go to the log.
class CollectMlirDiagnostics {
public:
  CollectMlirDiagnostics(mlir::MLIRContext *context, CompileDiagnostics &into);

private:
  mlir::ScopedDiagnosticHandler handler_;
};

/// The same for an LLVMContext, which owns the handler. Without one LLVM prints and ends the
/// process.
std::unique_ptr<llvm::DiagnosticHandler> collectLlvmDiagnostics(CompileDiagnostics &into);

} // namespace flydsl::jit
