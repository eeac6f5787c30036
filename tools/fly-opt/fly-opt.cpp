// fly-opt: reads Fly IR, verifies it, runs passes by name and prints the result.
#include "Registry.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  flydsl::tools::registerDialects(registry);
  flydsl::tools::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Fly IR: parse, verify, transform\n", registry));
}
