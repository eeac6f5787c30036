#include "dialect/Conversion/FlyToROCDL/Uniformity.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::fly {

namespace {

/// Lanes may have memory of their own at one private or generic address. Loads of global, constant and
/// shared memory give all lanes the same if the address is the same.
bool readsShared(LLVM::LoadOp load) {
  const unsigned space = load.getAddr().getType().getAddressSpace();
  constexpr unsigned kConstantMemory = 4; // "Address Spaces" in LLVM's AMDGPU guide
  return space == ROCDL::ROCDLDialect::kGlobalMemoryAddressSpace || space == kConstantMemory ||
         space == ROCDL::ROCDLDialect::kSharedMemoryAddressSpace;
}

/// Whether the result is in a scalar register, which the lanes have in common whatever the operands
/// are: as a constraint of assembly says, too.
bool isScalar(Operation *op) {
  auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
  return isa<ROCDL::ReadfirstlaneOp>(op) || (assembly && assembly.getNumResults() == 1 &&
                                             assembly.getResult(0).getType().isInteger() &&
                                             assembly.getConstraints().starts_with("=s,"));
}

/// Whether the results are the same in all lanes wherever the operands are.
bool followsOperands(Operation *op) {
  if (isScalar(op) ||
      isa<gpu::BlockIdOp, gpu::GridDimOp, gpu::BlockDimOp, scf::ForOp, scf::IfOp>(op))
    return true;
  if (isa<gpu::ThreadIdOp, gpu::LaneIdOp, LLVM::InlineAsmOp>(op) || op->getNumRegions() != 0)
    return false;
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return readsShared(load);
  // A division has no effect, though it may not be computed where it is not wanted. Intrinsics of the
  // target give what the lane has, such as its number.
  return isMemoryEffectFree(op) && !isa<ROCDL::ROCDLDialect>(op->getDialect());
}

} // namespace

Uniformity::Uniformity(Operation *kernel) {
  kernel->walk([&](Operation *op) { begin(op); });
  while (!fresh_.empty()) {
    const Value value = fresh_.pop_back_val();
    for (OpOperand &use : value.getUses())
      pass(value, use);
  }
}

void Uniformity::begin(Operation *op) {
  if (!followsOperands(op))
    mark(op->getResults());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (!isa<scf::ForOp>(op) && !(isa<FunctionOpInterface>(op) && block.isEntryBlock()))
        mark(block.getArguments());
}

void Uniformity::pass(Value value, OpOperand &use) {
  Operation *user = use.getOwner();
  if (isScalar(user))
    return;
  if (isa<scf::YieldOp>(user))
    return passYield(use);
  auto loop = dyn_cast<scf::ForOp>(user);
  if (!loop)
    return mark(user->getResults());
  if (OpResult result = loop.getTiedLoopResult(&use)) {
    mark(loop.getTiedLoopRegionIterArg(&use));
    return mark(result);
  }
  // A bound or the step: lanes leave after different rounds. While they are in the loop, they have
  // done as many rounds, so that only its number differs, by its first value or the step.
  if (value != loop.getUpperBound())
    mark(loop.getInductionVar());
  mark(loop.getResults());
}

void Uniformity::passYield(OpOperand &use) {
  Operation *parent = use.getOwner()->getParentOp();
  const unsigned number = use.getOperandNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent))
    mark(loop.getRegionIterArg(number));
  // What other operations give or carry was marked at the beginning, as it may be any value.
  if (isa<scf::ForOp, scf::IfOp>(parent))
    mark(parent->getResult(number));
}

void Uniformity::mark(Value value) {
  if (differing_.insert(value).second)
    fresh_.push_back(value);
}

} // namespace mlir::fly
