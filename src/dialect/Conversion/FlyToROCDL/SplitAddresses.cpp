//===- SplitAddresses.cpp - A wave's base and a lane's offset ----------------===//
//
// The address of a tensor's element is one sum: of the tile that the block has, the round of a
// loop, and the place of the thread. A load or store of global memory takes a base of 64 bits from
// scalar registers, an offset of 32 bits from a vector register, and a constant. LLVM finds these
// three only where the address is added up in this order.
//
// This pass takes a chain of llvm.getelementptr apart into its terms, and adds them up anew: first
// the terms that all lanes of a wave have in common, then those of the lane, in 32 bits where they
// are known to fit, then the constant. What the scalar unit computes then costs no vector register,
// and stands before a loop that does not change it. A lane whose row is its own has a base or terms of
// 64 bits; its accesses share these, and differ in the constant. A constant that is too large for the instruction
// is divided: what is left of it after whole multiples of the instruction's range stays the last
// term, and the multiples, which neighbouring accesses have in common, go to the wave's terms.
//
// The start of a buffer has nothing but terms of the wave. It becomes a number too: what it has in
// common with the buffer's range, such as a stride in bytes, is then computed once. The range is a
// number of 32 bits where it is known to be one, also by what the kernel assumes.
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/AddressSum.h"
#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"
#include "dialect/Conversion/FlyToROCDL/NarrowIntegers.h"

#include "dialect/Fly/Transforms/IntegerFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fly {

#define GEN_PASS_DEF_SPLITADDRESSESPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

namespace {

/// The one number by which an llvm.getelementptr moves its pointer, in steps of its element type;
/// none if it has several or moves by a constant alone.
struct Step {
  Value number;
  int64_t constant = 0;
};
std::optional<Step> stepOf(LLVM::GEPOp op) {
  if (op.getRawConstantIndices().size() != 1 || op.getNoWrapFlags() != LLVM::GEPNoWrapFlags::none)
    return std::nullopt;
  if (op.getDynamicIndices().empty())
    return Step{{}, op.getRawConstantIndices().front()};
  Value number = op.getDynamicIndices().front();
  if (!number.getType().isInteger(32) && !number.getType().isInteger(64))
    return std::nullopt;
  return Step{number};
}

class Splitter {
public:
  Splitter(Operation *kernel, unsigned offsetBits)
      : uniformity_(kernel), sums_(uniformity_), offsetBits_(offsetBits) {}

  /// The same address as `end`, added up in the order of the terms; null if it is so already.
  Value split(LLVM::GEPOp end) {
    SmallVector<LLVM::GEPOp> chain;
    Value base = end;
    while (auto move = base.getDefiningOp<LLVM::GEPOp>()) {
      if (!stepOf(move))
        break;
      chain.push_back(move);
      base = move.getBase();
    }
    if (chain.empty())
      return {};
    OpBuilder builder(end);
    SmallVector<AddressMove> moves;
    for (LLVM::GEPOp each : llvm::reverse(chain)) {
      if (moves.empty() || moves.back().step != each.getElemType())
        moves.push_back({each.getElemType(), {}});
      const Step step = *stepOf(each);
      if (step.number)
        addTerms(builder, end.getLoc(), uniformity_, step.number, moves.back().by);
      moves.back().by.constant += static_cast<uint64_t>(step.constant);
    }
    uint64_t bytes = 0;
    for (const AddressMove &move : moves) {
      const std::optional<int64_t> step = bytesOf(move.step);
      if (!step)
        return {};
      bytes += static_cast<uint64_t>(*step) * move.by.constant;
    }
    // Of a base that is each lane's own, nothing is the wave's.
    if (!uniformity_.isUniform(base))
      for (AddressMove &move : moves) {
        move.by.ofLane.append(move.by.ofWave);
        move.by.ofWave.clear();
      }
    const AddressConstant constant = uniformity_.isUniform(base)
                                         ? AddressConstant::of(bytes, offsetBits_)
                                         : AddressConstant::nearby(bytes);
    const bool ofWave =
                   llvm::any_of(moves, [](const AddressMove &m) { return !m.by.ofWave.empty(); }),
               ofLane =
                   llvm::any_of(moves, [](const AddressMove &m) { return !m.by.ofLane.empty(); });
    if (!ofLane && ofWave && isStartOfBuffers(end))
      return sums_.addUp(builder, end, base, moves, {static_cast<int64_t>(bytes), 0});
    // LLVM would take a sum of 64 bits apart again.
    const bool isWideSum = llvm::any_of(moves, [](const AddressMove &m) {
      return m.by.ofLane.size() > 1 && !fitsLane(m.by.ofLane);
    });
    if (!ofLane || (!ofWave && constant.common == 0 && !isWideSum && !fitsByAssumptions(moves) &&
                    isAddedUp(chain, constant.near)))
      return {};
    return sums_.addUp(builder, end, base, moves, constant);
  }

private:
  /// Whether an address is used by nothing but descriptors of buffers, and further steps.
  static bool isStartOfBuffers(LLVM::GEPOp op) {
    return llvm::all_of(op->getUsers(), [](Operation *user) {
      return isa<ROCDL::MakeBufferRsrcOp, LLVM::GEPOp>(user);
    });
  }
  /// Whether the chain moves once by what its lanes have, and then by all of the constant.
  static bool isAddedUp(ArrayRef<LLVM::GEPOp> chain, int64_t constant) {
    int64_t atEnd = 0;
    while (chain.size() > 1 && !stepOf(chain.front())->number) {
      LLVM::GEPOp last = chain.front(); // of the chain, which goes back from the end
      atEnd += *bytesOf(last.getElemType()) * stepOf(last)->constant;
      chain = chain.drop_front();
    }
    return chain.size() == 1 && atEnd == constant;
  }

  const Uniformity uniformity_;
  AddressSums sums_;
  const unsigned offsetBits_;
};

/// Makes the ranges of buffers numbers of 32 bits where they are known to be. A bound of 32 bits on
/// such a range changes nothing.
void shortenRange(ROCDL::MakeBufferRsrcOp op) {
  Value bytes = op.getNumRecords();
  if (auto least = bytes.getDefiningOp<arith::MinUIOp>();
      least && constantValue(least.getRhs()) == int64_t(UINT32_MAX))
    bytes = least.getLhs();
  if (!bytes.getType().isInteger(64) || constantValue(bytes) || !fitsUnsigned32(bytes))
    return;
  OpBuilder builder(op);
  op.getNumRecordsMutable().assign(unsigned32(builder, op.getLoc(), bytes));
}

/// Whether a pointer is used by more than further steps.
bool isAccessed(LLVM::GEPOp op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) { return !isa<LLVM::GEPOp>(user); });
}

struct SplitAddresses : impl::SplitAddressesPassBase<SplitAddresses> {
  using SplitAddressesPassBase::SplitAddressesPassBase;
  void runOnOperation() override {
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      kernel.walk(shortenRange);
      SmallVector<LLVM::GEPOp> ends;
      kernel.walk([&](LLVM::GEPOp op) {
        auto type = dyn_cast<LLVM::LLVMPointerType>(op.getType());
        if (type && type.getAddressSpace() == ROCDL::ROCDLDialect::kGlobalMemoryAddressSpace &&
            isAccessed(op))
          ends.push_back(op);
      });
      if (ends.empty())
        return;
      Splitter splitter(kernel, offsetBits);
      SmallVector<std::pair<LLVM::GEPOp, Value>> made;
      for (LLVM::GEPOp end : ends)
        if (Value address = splitter.split(end))
          made.push_back({end, address});
      for (auto [end, address] : made)
        end->getResult(0).replaceUsesWithIf(
            address, [](OpOperand &use) { return !isa<LLVM::GEPOp>(use.getOwner()); });
    });
  }
};

} // namespace

} // namespace mlir::fly
