// The dialects and passes of the way from Fly to LLVM's dialect, as
// far as every backend shares them.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace mlir::fly {

/// Adds Fly's dialect, MLIR's dialects that stand between it and LLVM's, and their conversions. A
/// backend adds its own.
void registerLoweringDialects(DialectRegistry &registry);

/// Registers by name the passes that every pipeline to LLVM's dialect uses. A backend adds its own.
void registerLoweringPasses();

} // namespace mlir::fly
