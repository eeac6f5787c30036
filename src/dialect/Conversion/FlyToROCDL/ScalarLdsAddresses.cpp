//===- ScalarLdsAddresses.cpp - One LDS address for all lanes of a wave ----===//
//
// A load into LDS takes its address from M0, a scalar register: lane i writes i elements behind it,
// whether or not the lanes before it are active. LLVM reads the address of the first active lane
// just before the load. In a loop that is an instruction a round for a value that mostly does not
// change, and under a predicate the first active lane need not be lane 0, whose address it is.
//
// This pass computes the address of a wave's first thread instead: it repeats the arithmetic from
// the thread's id to the address with the id of the first thread. What follows is then scalar, and
// what the loop does not change stands before the loop.
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"
#include "dialect/Conversion/FlyToROCDL/LanePlaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fly {

#define GEN_PASS_DEF_SCALARLDSADDRESSESPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

namespace {

/// Values of a wave's first thread, by the values that all threads have.
class FirstThread {
public:
  /// The value that the first thread of the wave has; `value` itself if it does not depend on the
  /// thread, or not by arithmetic alone.
  Value valueOf(Value value) {
    auto known = values_.find(value);
    if (known != values_.end())
      return known->second;
    Value first = compute(value);
    values_[value] = first;
    return first;
  }

private:
  Value compute(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumResults() != 1 || op->getNumRegions() || !isPure(op))
      return value;
    if (isa<gpu::ThreadIdOp>(op))
      return readFirst(value);
    IRMapping operands;
    bool depends = false;
    for (Value operand : op->getOperands()) {
      Value first = valueOf(operand);
      depends |= first != operand;
      operands.map(operand, first);
    }
    if (!depends)
      return value;
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    return b.clone(*op, operands)->getResult(0);
  }

  /// The id of the wave's first thread, as an index. A block has at most 1024 threads.
  static Value readFirst(Value id) {
    OpBuilder b(id.getContext());
    b.setInsertionPointAfterValue(id);
    const Location loc = id.getLoc();
    Value bits = arith::IndexCastOp::create(b, loc, b.getI32Type(), id);
    Value first = ROCDL::ReadfirstlaneOp::create(b, loc, bits.getType(), bits);
    return arith::IndexCastOp::create(b, loc, id.getType(), first);
  }

  llvm::DenseMap<Value, Value> values_;
};

/// The hardware writes each lane's bytes after those of the lane before. An error where the lanes
/// of a wave are known to ask for other places, which would stay as they were.
LogicalResult expectLanesInTurn(Operation *load, Value address, std::optional<int64_t> bytes) {
  // The lanes of a wave differ in x alone if its rows are whole waves.
  auto kernel = load->getParentOfType<gpu::GPUFuncOp>();
  const auto block = kernel ? kernel.getKnownBlockSize() : std::nullopt;
  if (!bytes || !block || block->front() % 64)
    return success();
  const std::optional<MisplacedLane> misplaced = misplacedLane(address, *bytes);
  if (!misplaced)
    return success();
  return load->emitError("a load into LDS writes each lane's ")
         << *bytes << " bytes after those of the lane before, so those of lane " << misplaced->lane
         << " lie " << misplaced->lane * *bytes
         << " bytes after those of lane 0; its destination is " << misplaced->bytes
         << " bytes after it. The lanes' destinations have no gaps and stand in the order of the "
            "threads";
}

struct ScalarLdsAddresses : impl::ScalarLdsAddressesPassBase<ScalarLdsAddresses> {
  void runOnOperation() override {
    FirstThread first;
    const WalkResult done = getOperation()->walk([&](Operation *op) -> WalkResult {
      LogicalResult inTurn = success();
      if (auto load = dyn_cast<ROCDL::RawPtrBufferLoadLdsOp>(op)) {
        inTurn = expectLanesInTurn(op, load.getLdsPtr(), getConstantIntValue(load.getSize()));
        load.getLdsPtrMutable().assign(first.valueOf(load.getLdsPtr()));
      } else if (auto load = dyn_cast<ROCDL::GlobalLoadLDSOp>(op)) {
        inTurn = expectLanesInTurn(op, load.getLdsPtr(), load.getSize());
        load.getLdsPtrMutable().assign(first.valueOf(load.getLdsPtr()));
      }
      return inTurn;
    });
    if (done.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

} // namespace mlir::fly
