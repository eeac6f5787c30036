// The dialects of all vendors, by which the rooms that name none get them.
#pragma once

namespace mlir {
class DialectRegistry;
class MLIRContext;
} // namespace mlir

namespace flydsl {

/// Loads those that have the vendors' atoms and address spaces as types.
void loadVendorTypes(mlir::MLIRContext &context);
/// Adds those whose operations a trace creates; each is loaded when it is first needed.
void registerVendorOperations(mlir::DialectRegistry &registry);

} // namespace flydsl
