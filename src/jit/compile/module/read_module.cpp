// Text is checked before MLIR's parser sees it (module_text.h).
#include "jit/compile/module/read_module.h"

#include "jit/compile/backends/backends.h"
#include "jit/compile/module/guarded_work.h"
#include "jit/compile/module/inline_calls.h"
#include "jit/compile/module/module_text.h"

#include <flydsl/error.h>

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <optional>

namespace flydsl::jit {

bool isMlirBytecode(std::string_view bytes) {
  return mlir::isBytecode(llvm::MemoryBufferRef({bytes.data(), bytes.size()}, "module"));
}

namespace {

mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text, const std::string &name,
                                        mlir::MLIRContext &context) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, name), {});
  return mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
}

/// Names the operation whose dialect the library does not have, if that is why a module was
/// refused: MLIR's own error names none.
void explainRefusal(const std::string &text, const std::string &name, mlir::MLIRContext &context) {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
    context.allowUnregisteredDialects();
    module = parse(text, name, context);
    context.allowUnregisteredDialects(false);
  }
  if (!module)
    return;
  module->walk(
      [&](mlir::Operation *op) {
        if (op->isRegistered())
          return mlir::WalkResult::advance();
        mlir::emitError(op->getLoc())
            << "'" << op->getName() << "' is of the dialect '"
            << op->getName().getDialectNamespace()
            << "', which this library does not have; it reads modules as FlyDSL writes them "
               "(00_origin.mlir)";
        return mlir::WalkResult::interrupt();
      });
}

/// What the guarded thread reads and makes.
struct Reading {
  std::string text, name;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  bool read(mlir::MLIRContext &context) {
    for (const Backend *backend : allBackends())
      text = backend->forThisMlir(std::move(text));
    module = parse(text, name, context);
    if (!module)
      explainRefusal(text, name, context);
    // The cache's key is made of the module as bytecode. Writing it here finds the modules that
    // crash MLIR's writer, because a crash is survived here.
    if (module)
      (void)mlir::writeBytecodeToFile(*module, llvm::nulls());
    return module && inlineCalls(*module);
  }
};

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> readModule(std::string_view bytes, const std::string &name,
                                             mlir::MLIRContext &context, unsigned timeoutSeconds) {
  if (!isMlirBytecode(bytes))
    if (const std::optional<TextProblem> problem = problemWithText(bytes))
      throw CompileError(name + ":" + std::to_string(problem->line) + ": " + problem->what);
  auto reading = std::make_shared<Reading>();
  reading->text = std::string(bytes);
  reading->name = name;
  runOnModule(context, name, "reading it", timeoutSeconds,
              [reading, &context] { return reading->read(context); });
  return std::move(reading->module);
}

} // namespace flydsl::jit
