// What MLIR says while a kernel is traced, and mistakes that can be reported only later.
#pragma once

#include <flydsl/detail/handle.h>
#include <flydsl/error.h>

#include "mlir/IR/Diagnostics.h"

#include <optional>
#include <string>
#include <vector>

namespace flydsl::builder {

/// The name of an operation as messages give it: that of the function that users call
/// ("fly.int_tuple_add" is "add").
std::string userName(llvm::StringRef operation);

/// "file:line" of the user's code that an operation comes from.
std::string placeOf(mlir::Location location);

/// Collects the diagnostics of a context as long as it lives.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext &context);

  /// What was said since the last call, without the names of the operations that it is about.
  std::string take();
  /// Throws what was said since the last call, under `message`.
  [[noreturn]] void fail(const std::string &message, Loc loc);
  /// Throws what the verifier said of the kernel, with the names of the operations, at the place of
  /// the first of them.
  [[noreturn]] void failVerification(const std::string &kernel);

  /// Keeps a mistake that can't be thrown where it is found (in a destructor); the next operation
  /// throws it.
  void defer(const std::string &message, Loc loc);
  void throwDeferred();

private:
  struct Message {
    std::string operation; ///< its name in the IR; empty if the message is about none
    std::string text;
    SourceLocation where;
  };
  static Message read(mlir::Diagnostic &diagnostic);

  std::vector<Message> messages_;
  mlir::ScopedDiagnosticHandler handler_;
  std::optional<TraceError> deferred_;
};

} // namespace flydsl::builder
