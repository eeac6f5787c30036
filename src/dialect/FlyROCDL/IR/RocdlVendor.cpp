#include "dialect/FlyROCDL/IR/RocdlVendor.h"

#include "dialect/Fly/Interfaces/VendorInterface.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

namespace mlir::fly_rocdl {

namespace {

struct FlyRocdlVendor final : fly::VendorInterface {
  using fly::VendorInterface::VendorInterface;

  std::string missingOn(Type instruction, const flydsl::Target &target,
                        bool byName) const override {
    if (!isa<fly::CopyOpTypeInterface, fly::MmaOpTypeInterface>(instruction))
      return {};
    // FlyDSL writes gfx942's format of FP8 for gfx950 too, whose instruction of the same name takes
    // the other one.
    if (auto matrix = dyn_cast<MatrixOpTypeInterface>(instruction); byName && matrix)
      if (flydsl::detail::findRaw(flydsl::detail::rawName(matrix.row()), target))
        return {};
    return fly_rocdl::missingOn(instruction, target);
  }
  std::string originOf(Attribute space) const override {
    return isBufferDesc(space) ? "fx::rocdl::make_buffer_tensor makes one of global memory" : "";
  }
};

struct RocdlVendor final : fly::VendorInterface {
  using fly::VendorInterface::VendorInterface;

  fly::VendorOperation describe(Operation *op) const override {
    return {.isOfOneLane = isa<ROCDL::RawPtrBufferLoadOp, ROCDL::RawPtrBufferStoreOp>(op),
            .onlyReads = isa<ROCDL::RawPtrBufferLoadOp>(op),
            .isThreadNumber = isa<ROCDL::MbcntLoOp, ROCDL::MbcntHiOp>(op),
            .hidesThread = isa<ROCDL::RawPtrBufferLoadOp, ROCDL::ReadfirstlaneOp>(op)};
  }
};

} // namespace

void addVendorInterface(FlyROCDLDialect &dialect) { dialect.addInterfaces<FlyRocdlVendor>(); }

void registerRocdlVendorInterface(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *, ROCDL::ROCDLDialect *dialect) { dialect->addInterfaces<RocdlVendor>(); });
}

} // namespace mlir::fly_rocdl
