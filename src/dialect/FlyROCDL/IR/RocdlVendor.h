// What AMD's dialects tell tracing: FlyROCDL, and MLIR's ROCDL.
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::fly_rocdl {

class FlyROCDLDialect;

/// Gives the dialect its VendorInterface.
void addVendorInterface(FlyROCDLDialect &dialect);
/// Gives MLIR's ROCDL dialect, and its LLVM dialect for the intrinsics of AMD's, one when they are loaded.
void registerRocdlVendorInterface(DialectRegistry &registry);

} // namespace mlir::fly_rocdl
