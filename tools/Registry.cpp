#include "Registry.h"

#include "dialect/Conversion/FlyToLLVM/FlyToLLVM.h"
#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"
#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/Fly/Transforms/Passes.h"
#include "dialect/FlyKtrace/IR/FlyKtraceDialect.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"

#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Target/LLVM/ROCDL/Target.h"
#include "mlir/Transforms/Passes.h"

namespace flydsl::tools {

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::fly::FlyDialect, mlir::fly_rocdl::FlyROCDLDialect,
                  mlir::fly_ktrace::FlyKtraceDialect, mlir::affine::AffineDialect,
                  mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::DLTIDialect,
                  mlir::func::FuncDialect, mlir::gpu::GPUDialect, mlir::index::IndexDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::ROCDL::ROCDLDialect, mlir::scf::SCFDialect, mlir::ub::UBDialect,
                  mlir::vector::VectorDialect>();
  mlir::func::registerInlinerExtension(registry);
  mlir::registerConvertFuncToLLVMInterface(registry);
  mlir::registerConvertMathToLLVMInterface(registry);
  mlir::registerConvertMemRefToLLVMInterface(registry);
  mlir::arith::registerConvertArithToLLVMInterface(registry);
  mlir::cf::registerConvertControlFlowToLLVMInterface(registry);
  mlir::index::registerConvertIndexToLLVMInterface(registry);
  mlir::ub::registerConvertUBToLLVMInterface(registry);
  mlir::vector::registerConvertVectorToLLVMInterface(registry);
  mlir::ROCDL::registerROCDLTargetInterfaceExternalModels(registry);
}

void registerPasses() {
  mlir::fly::registerFlyPasses();
  mlir::fly::registerFlyToLLVMPasses();
  mlir::fly::registerFlyToROCDLPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerInlinerPass();
  mlir::registerSCCPPass();
  mlir::registerStripDebugInfoPass();
  mlir::registerSymbolDCEPass();
  mlir::registerGpuKernelOutliningPass();
  mlir::registerGpuROCDLAttachTarget();
  mlir::registerArithToLLVMConversionPass();
  mlir::registerConvertControlFlowToLLVMPass();
  mlir::registerConvertFuncToLLVMPass();
  mlir::registerConvertGpuOpsToROCDLOps();
  mlir::registerConvertIndexToLLVMPass();
  mlir::registerConvertMathToLLVMPass();
  mlir::registerConvertMathToROCDL();
  mlir::registerConvertVectorToLLVMPass();
  mlir::registerGpuToLLVMConversionPass();
  mlir::registerReconcileUnrealizedCastsPass();
  mlir::registerPass([] { return mlir::math::createMathExpandOpsPass(); });
  mlir::registerPass([] { return mlir::LLVM::createDIScopeForLLVMFuncOpPass(); });
  mlir::registerSCFToControlFlowPass();
  mlir::registerUBToLLVMConversionPass();
}

} // namespace flydsl::tools
