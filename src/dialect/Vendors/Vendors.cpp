#include "dialect/Vendors/Vendors.h"

#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "dialect/FlyROCDL/IR/RocdlVendor.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

namespace flydsl {

void loadVendorTypes(mlir::MLIRContext &context) {
  context.loadDialect<mlir::fly_rocdl::FlyROCDLDialect>();
}

void registerVendorOperations(mlir::DialectRegistry &registry) {
  registry.insert<mlir::ROCDL::ROCDLDialect>();
  mlir::fly_rocdl::registerRocdlVendorInterface(registry);
}

} // namespace flydsl
