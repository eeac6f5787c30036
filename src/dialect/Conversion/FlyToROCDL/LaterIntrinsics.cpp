//===- LaterIntrinsics.cpp - Intrinsics of later versions of LLVM ---------===//
//
// FlyDSL's MLIR is ahead of the LLVM that this is built with. Operations of it that have no
// intrinsic here were read as calls of one (FlyROCDL/Text/LaterRocdl.h). Where this version can do the same, the
// call becomes that; all others are left, and the translation to LLVM IR says which intrinsic is
// missing.
//
// An asynchronous load into LDS is one around which the compiler inserts no waits: the program
// waits by counting marks (asyncmark). This version has the same loads in the form that the
// compiler waits for, and no count of marks. So a wait for all but so many marks becomes a wait for
// all loads, which waits longer, but never too short.
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"
#include "target/processors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringSwitch.h"

namespace mlir::fly {

#define GEN_PASS_DEF_LOWERLATERINTRINSICSPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

using flydsl::Feature;
using flydsl::detail::Processor;

namespace {

/// s_waitcnt's number for a wait for all vector memory operations and nothing else. On gfx9 the
/// count of these is in bits 0 to 3 and 14 to 15, that of exports in 4 to 6, that of LDS and scalar
/// loads in 8 to 11 (LLVM, AMDGPUAsmGFX9, waitcnt); a count of all ones waits for nothing.
constexpr int32_t kWaitVectorMemory = 0x0f70;

class Rewrite {
public:
  Rewrite(LLVM::CallIntrinsicOp call, const Processor *processor)
      : call_(call), processor_(processor), builder_(call), loc_(call.getLoc()) {}

  LogicalResult run() {
    StringRef name = call_.getIntrin();
    if (!name.consume_front("llvm.amdgcn."))
      return success();
    if (name == "asyncmark")
      return replaceBy(Value());
    if (name == "wait.asyncmark")
      return waitForLoads();
    if (name == "load.async.to.lds" || name == "global.load.async.lds" ||
        name == "raw.ptr.buffer.load.async.lds")
      return callInstead(StringRef(name == "load.async.to.lds"       ? "load.to.lds"
                                   : name == "global.load.async.lds" ? "global.load.lds"
                                                                     : "raw.ptr.buffer.load.lds"),
                         call_.getArgs());
    if (name == "tensor.load.to.lds" || name == "tensor.store.from.lds")
      return moveTensor(name);
    if (name == "ptr.s.buffer.load")
      return loadScalar();
    return success();
  }

private:
  LogicalResult replaceBy(Value result) {
    if (result)
      call_->getResult(0).replaceAllUsesWith(result);
    call_.erase();
    return success();
  }

  LogicalResult callInstead(StringRef intrinsic, ValueRange arguments) {
    StringAttr name = builder_.getStringAttr("llvm.amdgcn." + intrinsic);
    if (call_->getNumResults() == 0) {
      LLVM::CallIntrinsicOp::create(builder_, loc_, name, arguments);
      return replaceBy(Value());
    }
    return replaceBy(LLVM::CallIntrinsicOp::create(builder_, loc_, call_->getResult(0).getType(),
                                                   name, arguments)
                         ->getResult(0));
  }

  LogicalResult waitForLoads() {
    if (!processor_)
      return call_.emitOpError("needs to know the processor that it waits on: give the chipset");
    if (processor_->features.has(Feature::async_lds)) {
      ROCDL::WaitAsynccntOp::create(builder_, loc_, 0);
      ROCDL::WaitTensorcntOp::create(builder_, loc_, 0);
    } else if (processor_->features.has(Feature::buffer_to_lds)) {
      ROCDL::SWaitcntOp::create(builder_, loc_, kWaitVectorMemory);
    } else {
      return call_.emitOpError("waits for asynchronous loads into LDS, which ")
             << processor_->name << " does not have";
    }
    return replaceBy(Value());
  }

  static bool isZero(Value value) {
    DenseElementsAttr elements;
    return matchPattern(value, m_Constant(&elements)) && elements.isSplat() &&
           elements.getElementType().isInteger() && elements.getSplatValue<APInt>().isZero();
  }

  /// The fifth group of the descriptor is for processors after gfx1250, whose instruction has four.
  LogicalResult moveTensor(StringRef name) {
    SmallVector<Value> groups(call_.getArgs());
    if (groups.size() != 6)
      return success();
    if (!isZero(groups[4]))
      return call_.emitOpError(
          "the tensor data mover of gfx1250 takes four groups of a descriptor; "
          "expected zeros in the fifth");
    groups.erase(groups.begin() + 4);
    std::string intrinsic = name.str();
    if (isZero(groups[2]) && isZero(groups[3])) {
      groups.erase(groups.begin() + 2, groups.begin() + 4);
      intrinsic += ".d2";
    }
    return callInstead(intrinsic, groups);
  }

  /// The older intrinsic takes the resource as four words.
  LogicalResult loadScalar() {
    auto words = VectorType::get({4}, builder_.getI32Type());
    Value resource =
        LLVM::PtrToIntOp::create(builder_, loc_, builder_.getIntegerType(128), call_.getArgs()[0]);
    resource = LLVM::BitcastOp::create(builder_, loc_, words, resource);
    return callInstead("s.buffer.load", {resource, call_.getArgs()[1], call_.getArgs()[2]});
  }

  LLVM::CallIntrinsicOp call_;
  const Processor *processor_;
  OpBuilder builder_;
  Location loc_;
};

struct LowerLaterIntrinsics : impl::LowerLaterIntrinsicsPassBase<LowerLaterIntrinsics> {
  using LowerLaterIntrinsicsPassBase::LowerLaterIntrinsicsPassBase;

  void runOnOperation() override {
    const Processor *processor = flydsl::detail::findProcessor(chipset.getValue());
    SmallVector<LLVM::CallIntrinsicOp> calls;
    getOperation()->walk([&](LLVM::CallIntrinsicOp call) { calls.push_back(call); });
    for (LLVM::CallIntrinsicOp call : calls)
      if (failed(Rewrite(call, processor).run()))
        return signalPassFailure();
  }
};

} // namespace

} // namespace mlir::fly
