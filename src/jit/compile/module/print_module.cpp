#include "jit/compile/module/print_module.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

namespace flydsl::jit {

static mlir::OpPrintingFlags flagsFor(Verified verified) {
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  if (verified == Verified::yes)
    flags.assumeVerified(); // else the printer verifies it again
  return flags;
}

std::string printed(mlir::ModuleOp module, Verified verified) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, flagsFor(verified));
  return text;
}

std::string printed(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

std::string printedReproducer(mlir::ModuleOp module, const std::string &pipeline, bool verifyEach) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::AsmState state(module, flagsFor(Verified::no));
  state.attachResourcePrinter("mlir_reproducer",
                              [&](mlir::Operation *, mlir::AsmResourceBuilder &builder) {
                                builder.buildString("pipeline", pipeline);
                                builder.buildBool("disable_threading", true);
                                builder.buildBool("verify_each", verifyEach);
                              });
  module.print(stream, state);
  return text;
}

} // namespace flydsl::jit
