//===- PinImmediates.cpp - Constant operands that stay constants ----------===//
//
// MLIR's greedy rewriter merges blocks that do alike, and gives the block that remains arguments for
// the operands in which they differ. Some operands of AMD's operations must be constants in LLVM
// ("immarg" in its intrinsics), and no type of MLIR says which.
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fly {

#define GEN_PASS_DEF_PINIMMEDIATESPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

namespace {

struct PinImmediates : impl::PinImmediatesPassBase<PinImmediates> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (!isa_and_present<ROCDL::ROCDLDialect>(op->getDialect()) &&
          !isa<LLVM::CallIntrinsicOp>(op))
        return;
      SmallVector<Attribute> constants;
      for (Value operand : op->getOperands())
        if (Attribute value; matchPattern(operand, m_Constant(&value)))
          constants.push_back(value);
      if (!constants.empty())
        op->setDiscardableAttr("fly.immediates", ArrayAttr::get(op->getContext(), constants));
    });
  }
};

} // namespace

} // namespace mlir::fly
