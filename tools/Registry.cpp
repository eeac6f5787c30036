#include "Registry.h"

#include "dialect/Conversion/FlyToLLVM/Registration.h"
#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"
#include "dialect/FlyKtrace/IR/FlyKtraceDialect.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Target/LLVM/ROCDL/Target.h"
#include "mlir/Transforms/Passes.h"

namespace flydsl::tools {

void registerDialects(mlir::DialectRegistry &registry) {
  mlir::fly::registerLoweringDialects(registry);
  registry.insert<mlir::fly_rocdl::FlyROCDLDialect, mlir::ROCDL::ROCDLDialect,
                  mlir::fly_ktrace::FlyKtraceDialect, mlir::affine::AffineDialect>();
  mlir::func::registerInlinerExtension(registry);
  mlir::ROCDL::registerROCDLTargetInterfaceExternalModels(registry);
}

void registerPasses() {
  mlir::fly::registerLoweringPasses();
  mlir::fly::registerFlyToROCDLPasses();
  mlir::registerInlinerPass();
  mlir::registerSCCPPass();
  mlir::registerStripDebugInfoPass();
  mlir::registerSymbolDCEPass();
  mlir::registerGpuROCDLAttachTarget();
  mlir::registerArithToLLVMConversionPass();
  mlir::registerConvertControlFlowToLLVMPass();
  mlir::registerConvertFuncToLLVMPass();
  mlir::registerConvertGpuOpsToROCDLOps();
  mlir::registerConvertIndexToLLVMPass();
  mlir::registerConvertMathToLLVMPass();
  mlir::registerConvertMathToROCDL();
  mlir::registerGpuToLLVMConversionPass();
  mlir::registerPass([] { return mlir::math::createMathExpandOpsPass(); });
  mlir::registerUBToLLVMConversionPass();
}

} // namespace flydsl::tools
