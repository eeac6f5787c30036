// Finding the device part of a module, and dropping the rest.
#include "jit/compile/module/kernel_module.h"

#include "jit/compile/backends/backends.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"

namespace flydsl::jit {

mlir::Operation *findGpuModule(mlir::ModuleOp module) {
  mlir::Operation *found = nullptr;
  for (auto gpuModule : module.getOps<mlir::gpu::GPUModuleOp>()) {
    if (found) {
      gpuModule.emitError("one gpu.module is compiled at a time; this is a second one");
      return nullptr;
    }
    found = gpuModule;
  }
  if (!found)
    mlir::emitError(module.getLoc(), "no gpu.module with kernels to compile");
  return found;
}

std::string kernelName(mlir::ModuleOp module) {
  std::string name;
  const std::vector<const Backend *> backends = allBackends();
  module.walk([&](mlir::FunctionOpInterface function) {
    bool kernel = function->hasAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName());
    for (const Backend *backend : backends)
      kernel |= function->hasAttr(backend->kernelAttribute());
    if (auto gpuFunction = mlir::dyn_cast<mlir::gpu::GPUFuncOp>(function.getOperation()))
      kernel = gpuFunction.isKernel();
    if (!kernel)
      return mlir::WalkResult::advance();
    name = function.getName().str();
    return mlir::WalkResult::interrupt();
  });
  return name.empty() ? "kernel" : name;
}

bool keepDeviceCode(mlir::ModuleOp module) {
  bool launches = module.walk([](mlir::gpu::LaunchOp) { return mlir::WalkResult::interrupt(); })
                      .wasInterrupted();
  if (launches) {
    mlir::PassManager passes(module.getContext());
    passes.addPass(mlir::createGpuKernelOutliningPass());
    if (mlir::failed(passes.run(module)))
      return false;
  }
  for (mlir::Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (mlir::isa<mlir::FunctionOpInterface>(op))
      op.erase();
  return true;
}

} // namespace flydsl::jit
