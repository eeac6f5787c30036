#include "builder/trace/dialects.h"

#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/FlyKtrace/IR/FlyKtraceDialect.h"
#include "dialect/Vendors/Vendors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace flydsl::builder {

void loadDialects(mlir::MLIRContext &context) {
  context.loadDialect<mlir::fly::FlyDialect, mlir::fly_ktrace::FlyKtraceDialect,
                      mlir::gpu::GPUDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, mlir::vector::VectorDialect,
                      mlir::LLVM::LLVMDialect>();
  loadVendorTypes(context);
  mlir::DialectRegistry later;
  registerVendorOperations(later);
  context.appendDialectRegistry(later);
}

mlir::MLIRContext &hostContext() {
  static mlir::MLIRContext *context = [] {
    auto *made = new mlir::MLIRContext;
    // Types alone are made here. The dialects of a trace's operations take three times as long.
    made->loadDialect<mlir::fly::FlyDialect>();
    loadVendorTypes(*made);
    return made;
  }();
  return *context;
}

} // namespace flydsl::builder
