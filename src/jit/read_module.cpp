#include "jit/read_module.h"

#include "dialect/Fly/IR/ModuleText.h"
#include "jit/diagnostics.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace flydsl::jit {

mlir::OwningOpRef<mlir::ModuleOp> readModule(std::string_view bytes, const std::string &name,
                                             mlir::MLIRContext &context) {
  const std::string text = mlir::fly::forThisMlir(bytes);
  Diagnostics diagnostics;
  CollectMlirDiagnostics collect(&context, diagnostics);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, name), {});
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    throw CompileError(diagnostics.where.known() ? diagnostics.errors
                       : diagnostics.failed()    ? name + ": " + diagnostics.errors
                                                 : name + ": it holds no module");
  return module;
}

} // namespace flydsl::jit
