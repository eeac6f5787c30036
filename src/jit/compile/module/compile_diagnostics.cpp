// CompileDiagnostics of MLIR and of LLVM end in one list, in the order in which they come.
#include "jit/compile/module/compile_diagnostics.h"

#include "support/log.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/Support/raw_ostream.h"

namespace flydsl::jit {

SourceLocation sourceLocation(mlir::Location location) {
  SourceLocation place;
  location->walk([&](mlir::Location part) {
    auto file = mlir::dyn_cast<mlir::FileLineColLoc>(part);
    if (!file || file.getLine() == 0)
      return mlir::WalkResult::advance();
    place.file = file.getFilename().str();
    place.line = file.getLine();
    place.column = file.getColumn();
    return mlir::WalkResult::interrupt();
  });
  return place;
}

static std::string text(mlir::Diagnostic &diagnostic) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  SourceLocation place = sourceLocation(diagnostic.getLocation());
  if (place.known())
    stream << place.file << ':' << place.line << ": ";
  diagnostic.print(stream);
  for (mlir::Diagnostic &note : diagnostic.getNotes()) {
    stream << "\n  note: ";
    note.print(stream);
  }
  return message;
}

CollectMlirDiagnostics::CollectMlirDiagnostics(mlir::MLIRContext *context, CompileDiagnostics &into)
    : handler_(context, [&into](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error) {
          support::log().debug("{}", text(diagnostic));
          return;
        }
        if (into.errors.empty())
          into.first = diagnostic.str();
        if (!into.where.known())
          into.where = sourceLocation(diagnostic.getLocation());
        into.errors += (into.errors.empty() ? "" : "\n") + text(diagnostic);
      }) {}

namespace {

struct LlvmHandler final : llvm::DiagnosticHandler {
  explicit LlvmHandler(CompileDiagnostics &into) : into(into) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    std::string message;
    llvm::raw_string_ostream stream(message);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    if (info.getSeverity() == llvm::DS_Error)
      explain(info, message);
    if (info.getSeverity() == llvm::DS_Error && into.errors.find(message) == std::string::npos)
      into.errors += (into.errors.empty() ? "" : "\n") + message;
    else if (info.getSeverity() == llvm::DS_Warning)
      support::log().debug("LLVM: {}", message);
    return true;
  }
  /// LLVM does not know the lines of shared variables; they were noted before the translation.
  void explain(const llvm::DiagnosticInfo &info, std::string &message) {
    const auto *over = llvm::dyn_cast<llvm::DiagnosticInfoResourceLimit>(&info);
    if (!over || llvm::StringRef(over->getResourceName()) != "local memory")
      return;
    message = support::overSharedLimit(into.shared, over->getResourceSize(), over->getResourceLimit());
    if (!into.where.known() && !into.shared.empty())
      into.where = into.shared.front().place;
  }
  CompileDiagnostics &into;
};

} // namespace

std::unique_ptr<llvm::DiagnosticHandler> collectLlvmDiagnostics(CompileDiagnostics &into) {
  return std::make_unique<LlvmHandler>(into);
}

} // namespace flydsl::jit
