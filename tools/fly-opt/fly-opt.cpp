// fly-opt: reads Fly IR, verifies it, runs passes by name and prints the result.
#include "Registry.h"

#include "dialect/FlyROCDL/Text/ModuleText.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

#include <string>

/// Runs MlirOptMain on a file whose text is converted to the spelling of the MLIR version that this
/// program is built with.
static llvm::LogicalResult run(int argc, char **argv, mlir::DialectRegistry &registry) {
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "Fly IR: parse, verify, transform\n", registry);
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::MlirOptMain(argc, argv, input, output, registry);

  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(input, &error);
  std::unique_ptr<llvm::ToolOutputFile> out = file ? mlir::openOutputFile(output, &error) : nullptr;
  if (!out) {
    llvm::errs() << error << "\n";
    return llvm::failure();
  }
  file = llvm::MemoryBuffer::getMemBufferCopy(mlir::fly_rocdl::forThisMlir(file->getBuffer()),
                                              file->getBufferIdentifier());
  if (failed(mlir::MlirOptMain(out->os(), std::move(file), registry, config)))
    return llvm::failure();
  out->keep();
  return llvm::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  flydsl::tools::registerDialects(registry);
  flydsl::tools::registerPasses();
  return mlir::asMainReturnCode(run(argc, argv, registry));
}
