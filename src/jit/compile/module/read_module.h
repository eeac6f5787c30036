// Modules that were written elsewhere: text, as dumps hold it, or bytecode. They may be damaged or
// made to do harm, and MLIR's readers are not made for that: text is read under the guard.
#pragma once

#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <string_view>

namespace mlir {
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

/// Whether the bytes begin as MLIR bytecode does.
bool isMlirBytecode(std::string_view bytes);

/// Parses and verifies under the guard (see guard.h), for `timeoutSeconds` at most. Throws
/// CompileError, with `name`, line and what is wrong, for what is no module, is refused by
/// problemWithText, or crashes MLIR; `context` is then abandoned. Damaged bytecode may write over the
/// heap, which no guard undoes: it comes from a trusted source, or as text (see bytecode_reader.h).
mlir::OwningOpRef<mlir::ModuleOp> readModule(std::string_view bytes, const std::string &name,
                                             mlir::MLIRContext &context,
                                             unsigned timeoutSeconds = 600);

} // namespace flydsl::jit
