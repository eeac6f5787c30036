// The dialects and passes that the tools know: ours, and those of MLIR that our modules are lowered
// with.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace flydsl::tools {

void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();

} // namespace flydsl::tools
