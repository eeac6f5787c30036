// The dialects and passes of the pipeline, registered by name.
#include "jit/compile/backends/backends.h"
#include "jit/compile/module/context_pool.h"

#include "dialect/Conversion/FlyToLLVM/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

#include <mutex>

namespace flydsl::jit {

void registerDialects(mlir::DialectRegistry &registry) {
  mlir::fly::registerLoweringDialects(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerGPUDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  registerTracedDialects(registry);
  for (const Backend *backend : allBackends())
    backend->registerLoweringDialects(registry);
}

void registerTracedDialects(mlir::DialectRegistry &registry) {
  for (const Backend *backend : allBackends())
    backend->registerDialects(registry);
}

void registerPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    mlir::fly::registerLoweringPasses();
    for (const Backend *backend : allBackends())
      backend->registerPasses();
  });
}

} // namespace flydsl::jit
