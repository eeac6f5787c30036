// What AMD's dialects tell tracing: FlyROCDL, and MLIR's ROCDL.
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::fly_rocdl {

class FlyROCDLDialect;

/// Gives the dialect its VendorInterface.
void addVendorInterface(FlyROCDLDialect &dialect);
/// Gives MLIR's ROCDL dialect one when it is loaded.
void registerRocdlVendorInterface(DialectRegistry &registry);

} // namespace mlir::fly_rocdl
