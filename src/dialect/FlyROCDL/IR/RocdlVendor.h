// What AMD's dialects tell tracing: FlyROCDL, and MLIR's ROCDL.
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::fly_rocdl {

class FlyROCDLDialect;

/// Gives the dialect its VendorInterface.
void addVendorInterface(FlyROCDLDialect &dialect);
/// Gives one to MLIR's ROCDL dialect, and one for AMD's intrinsics to its LLVM dialect, when they are loaded.
void registerRocdlVendorInterface(DialectRegistry &registry);

} // namespace mlir::fly_rocdl
