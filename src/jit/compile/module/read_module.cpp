// Text is checked for its depth before MLIR's recursive parser sees it.
#include "jit/compile/module/read_module.h"

#include "dialect/Fly/IR/ModuleText.h"
#include "jit/compile/guard/guard.h"
#include "jit/compile/module/compile_diagnostics.h"
#include "jit/compile/module/context_pool.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>

namespace flydsl::jit {

bool isMlirBytecode(std::string_view bytes) {
  return mlir::isBytecode(llvm::MemoryBufferRef({bytes.data(), bytes.size()}, "module"));
}

/// The line where brackets nest too deep, or 0. Strings and comments count for nothing.
static unsigned tooDeepAt(std::string_view text) {
  unsigned depth = 0, line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    switch (text[i]) {
    case '\n':
      ++line;
      break;
    case '"':
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
      --i; // what ends it is looked at again; a quote would open the next string
      if (i + 1 < text.size() && text[i + 1] == '"')
        ++i;
      break;
    case '/':
      if (next == '/')
        while (i + 1 < text.size() && text[i + 1] != '\n')
          ++i;
      break;
    case '-': // an arrow
      i += next == '>';
      break;
    case '(':
    case '[':
    case '{':
    case '<':
      if (++depth > kMaxNesting)
        return line;
      break;
    case ')':
    case ']':
    case '}':
    case '>':
      depth -= depth > 0;
      break;
    default:
      break;
    }
  }
  return 0;
}

namespace {

/// Shared with the guarded thread.
struct Reading {
  std::string text, name;
  CompileDiagnostics diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  void read(mlir::MLIRContext &context) {
    CollectMlirDiagnostics collect(&context, diagnostics);
    text = mlir::fly::forThisMlir(text);
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, name), {});
    module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
    // The cache's key is made of the module as bytecode. Writing it here finds the modules that
    // crash MLIR's writer, because a crash is survived here.
    if (module)
      (void)mlir::writeBytecodeToFile(*module, llvm::nulls());
  }
};

std::string whatWentWrong(const GuardOutcome &outcome, unsigned timeoutSeconds) {
  switch (outcome.kind) {
  case GuardOutcome::fatal:
    return "LLVM gave up while reading it: " + outcome.message;
  case GuardOutcome::crashed:
    return "MLIR crashed while reading it (" + outcome.message + "): it is damaged";
  case GuardOutcome::timedOut:
    return "reading it took longer than " + std::to_string(timeoutSeconds) + " s and was given up";
  case GuardOutcome::exiting:
    return "it is not read: the process exits";
  case GuardOutcome::threw:
    try {
      std::rethrow_exception(outcome.error);
    } catch (const std::exception &error) {
      return std::string("reading it failed: ") + error.what();
    }
  case GuardOutcome::finished:
    break;
  }
  return {};
}

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> readModule(std::string_view bytes, const std::string &name,
                                             mlir::MLIRContext &context, unsigned timeoutSeconds) {
  if (!isMlirBytecode(bytes))
    if (unsigned line = tooDeepAt(bytes))
      throw CompileError(name + ":" + std::to_string(line) + ": brackets nest deeper than " +
                         std::to_string(kMaxNesting));
  auto reading = std::make_shared<Reading>();
  reading->text = std::string(bytes);
  reading->name = name;
  GuardOutcome outcome =
      runGuarded([reading, &context](Guard &) { reading->read(context); }, timeoutSeconds);
  if (outcome.kind != GuardOutcome::finished) {
    // The reader stopped in its middle, so its objects are neither used nor destroyed.
    abandonContext(context);
    new std::shared_ptr<Reading>(reading);
    throw CompileError(name + ": " + whatWentWrong(outcome, timeoutSeconds));
  }
  const CompileDiagnostics &diagnostics = reading->diagnostics;
  if (!reading->module)
    throw CompileError(diagnostics.where.known() ? diagnostics.errors
                       : diagnostics.failed()    ? name + ": " + diagnostics.errors
                                                 : name + ": it holds no module");
  return std::move(reading->module);
}

} // namespace flydsl::jit
