#include "dialect/FlyROCDL/IR/RocdlVendor.h"

#include "dialect/Fly/Interfaces/VendorInterface.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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
            .result = resultOf(op)};
  }

private:
  static fly::VendorResult resultOf(Operation *op) {
    using fly::VendorResult;
    if (isa<ROCDL::MbcntLoOp, ROCDL::MbcntHiOp>(op))
      return VendorResult::lane_number;
    if (isa<ROCDL::ReadfirstlaneOp>(op))
      return VendorResult::first_lane;
    if (isa<ROCDL::ReadlaneOp, ROCDL::BallotOp>(op))
      return VendorResult::of_wave;
    return isa<ROCDL::RawPtrBufferLoadOp>(op) ? VendorResult::memory : VendorResult::of_operands;
  }
};

/// LLVM's intrinsics that the ROCDL dialect has no operation for, or that a program calls by name.
struct IntrinsicVendor final : fly::VendorInterface {
  using fly::VendorInterface::VendorInterface;

  fly::VendorOperation describe(Operation *op) const override {
    using fly::VendorResult;
    auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
    StringRef name = call ? call.getIntrin() : StringRef();
    if (!name.consume_front("llvm.amdgcn."))
      return {};
    // The type may follow the name.
    const auto is = [&](StringRef known) {
      return name == known || (name.starts_with(known) && name[known.size()] == '.');
    };
    if (is("mbcnt.lo") || is("mbcnt.hi") || name.starts_with("workitem.id."))
      return {.result = VendorResult::lane_number};
    if (is("wave.id"))
      return {.result = VendorResult::wave_number};
    if (is("readfirstlane"))
      return {.result = VendorResult::first_lane};
    if (is("readlane") || is("ballot"))
      return {.result = VendorResult::of_wave};
    if (name.starts_with("workgroup.id.") || name.starts_with("cluster.workgroup."))
      return {.result = VendorResult::of_block};
    if (name.contains(".load") || name.contains(".atomic.") || name.starts_with("ds.read."))
      return {.result = VendorResult::memory};
    return {};
  }
};

} // namespace

void addVendorInterface(FlyROCDLDialect &dialect) { dialect.addInterfaces<FlyRocdlVendor>(); }

void registerRocdlVendorInterface(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *, ROCDL::ROCDLDialect *dialect) { dialect->addInterfaces<RocdlVendor>(); });
  registry.addExtension(+[](MLIRContext *, LLVM::LLVMDialect *dialect) {
    dialect->addInterfaces<IntrinsicVendor>();
  });
}

} // namespace mlir::fly_rocdl
