#include "dialect/FlyKtrace/IR/FlyKtraceDialect.h"

#include "support/ktrace_record.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialect/FlyKtrace/IR/FlyKtraceDialect.cpp.inc"

namespace mlir::fly_ktrace {

/// Checks what a payload is said to be.
static LogicalResult verifyPayload(Operation *op, StringRef type) {
  if (flydsl::support::ktrace::payloadTypeOf(type))
    return success();
  InFlightDiagnostic error = op->emitOpError("expected payload_type to be one of");
  for (std::string_view name : flydsl::support::ktrace::kPayloadTypeNames)
    error << ' ' << StringRef(name);
  return error << ", found '" << type << "'";
}

} // namespace mlir::fly_ktrace

#define GET_TYPEDEF_CLASSES
#include "dialect/FlyKtrace/IR/FlyKtraceTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/FlyKtrace/IR/FlyKtraceOps.cpp.inc"

namespace mlir::fly_ktrace {

void FlyKtraceDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/FlyKtrace/IR/FlyKtraceTypes.cpp.inc"
      >();
}

void FlyKtraceDialect::initialize() {
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialect/FlyKtrace/IR/FlyKtraceOps.cpp.inc"
      >();
}

} // namespace mlir::fly_ktrace
