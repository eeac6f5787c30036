#include "builder/trace/diagnostics.h"

#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <utility>

namespace flydsl::builder {

namespace fly = mlir::fly;

/// Operations that users know by another name than their own.
static constexpr std::pair<llvm::StringLiteral, const char *> kUserNames[] = {
    {fly::IntTupleAddOp::getOperationName(), "add"},
    {fly::IntTupleSubOp::getOperationName(), "sub"},
    {fly::IntTupleMulOp::getOperationName(), "mul"},
    {fly::IntTupleDivOp::getOperationName(), "div"},
    {fly::IntTupleModOp::getOperationName(), "mod"},
    {fly::IntTupleProductOp::getOperationName(), "product"},
    {fly::IntTupleProductEachOp::getOperationName(), "product_each"},
    {fly::IntTupleProductLikeOp::getOperationName(), "product_like"},
    {fly::ComposedGetInnerOp::getOperationName(), "inner"},
    {fly::ComposedGetOffsetOp::getOperationName(), "offset"},
    {fly::ComposedGetOuterOp::getOperationName(), "outer"},
    {fly::GetShapeOp::getOperationName(), "shape"},
    {fly::GetStrideOp::getOperationName(), "stride"},
    {fly::GetLayoutOp::getOperationName(), "layout"},
};

/// Whether operations of the dialect are called by functions of the same names. Those of these
/// dialects are what operators and control flow become.
static bool isCalledByUsers(llvm::StringRef dialect) {
  return dialect != mlir::arith::ArithDialect::getDialectNamespace() &&
         dialect != mlir::scf::SCFDialect::getDialectNamespace() &&
         dialect != mlir::vector::VectorDialect::getDialectNamespace() &&
         dialect != mlir::LLVM::LLVMDialect::getDialectNamespace();
}

std::string userName(llvm::StringRef operation) {
  for (const auto &[name, known] : kUserNames)
    if (operation == name)
      return known;
  const auto [dialect, name] = operation.split('.');
  return (isCalledByUsers(dialect) ? name : operation).str();
}

static SourceLocation sourceOf(mlir::Location location) {
  SourceLocation where;
  if (auto at = location->findInstanceOf<mlir::FileLineColLoc>()) {
    where.file = at.getFilename().str();
    where.line = at.getLine();
    where.column = at.getColumn();
  }
  return where;
}

std::string placeOf(mlir::Location location) {
  const SourceLocation where = sourceOf(location);
  return where.file + ":" + std::to_string(where.line);
}

/// What emitOpError puts in front of a message: a quote, the operation's name, and this.
static constexpr llvm::StringLiteral kBehindName = "' op ";

Diagnostics::Message Diagnostics::read(mlir::Diagnostic &diagnostic) {
  using Argument = mlir::DiagnosticArgument;
  llvm::ArrayRef<Argument> parts = std::as_const(diagnostic).getArguments();
  auto isText = [&](std::size_t i) {
    return parts[i].getKind() == Argument::DiagnosticArgumentKind::String;
  };
  Message message;
  message.where = sourceOf(diagnostic.getLocation());
  if (parts.size() > 2 && isText(1) && isText(2) && parts[2].getAsString() == kBehindName) {
    message.operation = parts[1].getAsString().str();
    parts = parts.drop_front(3);
  }
  llvm::raw_string_ostream os(message.text);
  for (const Argument &part : parts)
    part.print(os);
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    os << "\n  " << note.str();
  return message;
}

Diagnostics::Diagnostics(mlir::MLIRContext &context)
    : handler_(&context, [this](mlir::Diagnostic &diagnostic) {
        messages_.push_back(read(diagnostic));
        return mlir::success();
      }) {}

std::string Diagnostics::take() {
  std::string text;
  for (const Message &message : std::exchange(messages_, {}))
    text += (text.empty() ? "" : "\n") + message.text;
  return text;
}

void Diagnostics::fail(const std::string &message, Loc loc) {
  const std::string detail = take();
  throw TraceError(detail.empty() ? message : message + ": " + detail, loc);
}

void Diagnostics::failVerification(const std::string &kernel) {
  const std::vector<Message> messages = std::exchange(messages_, {});
  std::string text;
  for (const Message &message : messages) {
    text += text.empty() ? "" : "\n";
    if (!message.operation.empty())
      text += isCalledByUsers(llvm::StringRef(message.operation).split('.').first)
                  ? userName(message.operation) + ": "
                  : "'" + message.operation + kBehindName.str();
    text += message.text;
  }
  throw TraceError("kernel " + kernel + ": " + text,
                   messages.empty() ? SourceLocation() : messages.front().where);
}

void Diagnostics::defer(const std::string &message, Loc loc) {
  if (!deferred_)
    deferred_.emplace(message, loc);
}

void Diagnostics::throwDeferred() {
  if (deferred_) {
    TraceError error = *deferred_;
    deferred_.reset();
    throw error;
  }
}

} // namespace flydsl::builder
