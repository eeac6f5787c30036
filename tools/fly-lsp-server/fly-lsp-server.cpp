// fly-lsp-server: lets an editor understand .mlir files with Fly IR, over the language server
// protocol.
#include "Registry.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  flydsl::tools::registerDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
