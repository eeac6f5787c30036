// The dialects and passes that the tools know: those of this project, and those of MLIR that its
// modules are lowered with.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace flydsl::tools {

void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();

} // namespace flydsl::tools
