// AMD's part of the conversion of Fly to LLVM, and the pass that runs all of it.
#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"

#include "dialect/Conversion/FlyToLLVM/FlyToLLVM.h"
#include "dialect/Conversion/FlyToROCDL/BufferPointers.h"
#include "dialect/Conversion/FlyToROCDL/LoweringModels.h"

#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

namespace mlir::fly {

#define GEN_PASS_DEF_CONVERTFLYTOROCDLPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

namespace {

class ROCDLTarget final : public LoweringTarget {
public:
  StringRef getDialect() const override {
    return fly_rocdl::FlyROCDLDialect::getDialectNamespace();
  }

  unsigned getLLVMAddressSpace(AddressSpace space) const override {
    switch (space) {
    case AddressSpace::Generic:
      return 0;
    case AddressSpace::Global:
      return ROCDL::ROCDLDialect::kGlobalMemoryAddressSpace;
    case AddressSpace::Shared:
      return ROCDL::ROCDLDialect::kSharedMemoryAddressSpace;
    case AddressSpace::Register:
      return ROCDL::ROCDLDialect::kPrivateMemoryAddressSpace;
    }
    llvm_unreachable("all address spaces are above");
  }

  void populatePatterns(RewritePatternSet &patterns,
                        const TypeConverter &converter) const override {
    populateBufferPatterns(patterns, converter);
    populateTensorMovePatterns(patterns, converter);
  }
};

struct ConvertFlyToROCDL : impl::ConvertFlyToROCDLPassBase<ConvertFlyToROCDL> {
  void getDependentDialects(DialectRegistry &registry) const override {
    insertFlyToLLVMDialects(registry);
    registry.insert<fly_rocdl::FlyROCDLDialect, ROCDL::ROCDLDialect>();
    attachBufferPointerModel(registry);
    attachBufferAtomModels(registry);
    attachMatrixAtomModels(registry);
    attachTensorMoverModel(registry);
  }

  void runOnOperation() override {
    if (failed(convertFlyToLLVM(getOperation(), ROCDLTarget())))
      signalPassFailure();
  }
};

} // namespace

} // namespace mlir::fly
