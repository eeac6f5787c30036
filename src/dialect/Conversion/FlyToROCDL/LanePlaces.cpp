#include "dialect/Conversion/FlyToROCDL/LanePlaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fly {

namespace {

/// A value in one lane: a number, or a number behind a value that all lanes share.
struct InLane {
  int64_t number;
  bool isWhole;    ///< nothing is added to the number
  bool isConstant; ///< and it is the same in all lanes
};

/// Values in one lane of the block's first wave, whose threads differ in x alone.
class Lane {
public:
  explicit Lane(int64_t thread) : thread_(thread) {}

  std::optional<InLane> of(Value value) {
    auto known = values_.find(value);
    if (known != values_.end())
      return known->second;
    std::optional<InLane> found = compute(value);
    values_[value] = found;
    return found;
  }

private:
  static constexpr InLane kShared{0, false, false};

  std::optional<InLane> compute(Value value) {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return InLane{constant.getSExtValue(), true, true};
    Operation *op = value.getDefiningOp();
    if (!op)
      return argument(cast<BlockArgument>(value));
    return TypeSwitch<Operation *, std::optional<InLane>>(op)
        .Case<gpu::ThreadIdOp>([&](auto id) -> std::optional<InLane> {
          return id.getDimension() == gpu::Dimension::x ? InLane{thread_, true, false} : kShared;
        })
        .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
              arith::TruncIOp, LLVM::PtrToIntOp, LLVM::IntToPtrOp>(
            [&](auto cast) { return of(cast->getOperand(0)); })
        .Case<arith::AddIOp>([&](auto sum) { return add(sum.getLhs(), sum.getRhs(), 1); })
        .Case<arith::SubIOp>([&](auto sum) { return add(sum.getLhs(), sum.getRhs(), -1); })
        .Case<arith::MulIOp>(
            [&](auto product) { return times(product.getLhs(), product.getRhs()); })
        .Case<arith::DivUIOp, arith::DivSIOp>(
            [&](auto op) { return whole(op, [](int64_t a, int64_t b) { return b ? a / b : 0; }); })
        .Case<arith::RemUIOp, arith::RemSIOp>(
            [&](auto op) { return whole(op, [](int64_t a, int64_t b) { return b ? a % b : 0; }); })
        .Case<arith::ShLIOp>([&](auto op) -> std::optional<InLane> {
          const std::optional<InLane> a = of(op.getLhs()), by = of(op.getRhs());
          if (a && by && by->isConstant)
            return InLane{a->number << by->number, a->isWhole, a->isConstant};
          return sharedUnlessThreads(op);
        })
        .Case<arith::ShRUIOp, arith::ShRSIOp>(
            [&](auto op) { return whole(op, [](int64_t a, int64_t b) { return a >> b; }); })
        .Case<arith::AndIOp>(
            [&](auto op) { return whole(op, [](int64_t a, int64_t b) { return a & b; }); })
        .Case<arith::OrIOp>(
            [&](auto op) { return whole(op, [](int64_t a, int64_t b) { return a | b; }); })
        .Case<arith::XOrIOp>(
            [&](auto op) { return whole(op, [](int64_t a, int64_t b) { return a ^ b; }); })
        .Case<LLVM::GEPOp>([&](LLVM::GEPOp op) { return element(op); })
        .Default([&](Operation *op) { return sharedUnlessThreads(op); });
  }

  /// Arguments of the kernel are the same in all lanes, and so is the
  /// index of a loop whose bounds are.
  std::optional<InLane> argument(BlockArgument argument) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (isa<FunctionOpInterface>(owner))
      return kShared;
    auto loop = dyn_cast<scf::ForOp>(owner);
    if (!loop || argument != loop.getInductionVar() || !isShared(loop.getLowerBound()) ||
        !isShared(loop.getStep()))
      return std::nullopt;
    return kShared;
  }

  bool isShared(Value value) {
    const std::optional<InLane> in = of(value);
    return in && (in->isConstant || (!in->isWhole && !in->number));
  }

  /// What is computed in another way is the same in all lanes where its operands are, unless it
  /// looks at the lanes.
  std::optional<InLane> sharedUnlessThreads(Operation *op) {
    if (isa<ROCDL::ReadfirstlaneOp, LLVM::AddressOfOp, gpu::BlockIdOp, gpu::GridDimOp,
            gpu::BlockDimOp>(op))
      return kShared;
    if (op->getNumRegions() || !op->getNumOperands() || !isMemoryEffectFree(op) ||
        isa<ROCDL::ROCDLDialect, gpu::GPUDialect>(op->getDialect()))
      return std::nullopt;
    for (Value operand : op->getOperands())
      if (!isShared(operand))
        return std::nullopt;
    return kShared;
  }

  std::optional<InLane> add(Value left, Value right, int64_t sign) {
    const std::optional<InLane> a = of(left), b = of(right);
    if (!a || !b)
      return std::nullopt;
    return InLane{a->number + sign * b->number, a->isWhole && b->isWhole,
                  a->isConstant && b->isConstant};
  }

  std::optional<InLane> times(Value left, Value right) {
    const std::optional<InLane> a = of(left), b = of(right);
    if (!a || !b)
      return std::nullopt;
    if (a->isWhole && b->isWhole)
      return InLane{a->number * b->number, true, a->isConstant && b->isConstant};
    if (a->isConstant || b->isConstant)
      return InLane{a->number * b->number, false, false};
    // A product of two values that all lanes share is one.
    return !a->number && !b->number && !a->isWhole && !b->isWhole ? std::optional(kShared)
                                                                  : std::nullopt;
  }

  template <class Op, class Compute> std::optional<InLane> whole(Op op, Compute compute) {
    const std::optional<InLane> a = of(op.getLhs()), b = of(op.getRhs());
    if (a && b && a->isWhole && b->isWhole)
      return InLane{compute(a->number, b->number), true, a->isConstant && b->isConstant};
    return sharedUnlessThreads(op);
  }

  std::optional<InLane> element(LLVM::GEPOp op) {
    std::optional<InLane> base = of(op.getBase());
    if (!base || op.getIndices().size() != 1)
      return std::nullopt;
    const auto index = op.getIndices()[0];
    const int64_t size = DataLayout::closest(op).getTypeSize(op.getElemType()).getFixedValue();
    std::optional<InLane> at = isa<Value>(index)
                                   ? of(cast<Value>(index))
                                   : InLane{cast<IntegerAttr>(index).getInt(), true, true};
    if (!at)
      return std::nullopt;
    return InLane{base->number + at->number * size, false, false};
  }

  int64_t thread_;
  llvm::DenseMap<Value, std::optional<InLane>> values_;
};

} // namespace

std::optional<MisplacedLane> misplacedLane(Value address, int64_t bytes) {
  constexpr int lanes = 64; // all targets with loads into LDS have as many
  const std::optional<InLane> first = Lane(0).of(address);
  std::optional<MisplacedLane> misplaced;
  bool differ = false;
  for (int lane = 1; first && lane < lanes; ++lane) {
    const std::optional<InLane> at = Lane(lane).of(address);
    if (!at)
      return std::nullopt;
    const int64_t behind = at->number - first->number;
    differ |= behind != 0;
    if (behind != lane * bytes && !misplaced)
      misplaced = MisplacedLane{lane, behind};
  }
  return differ ? misplaced : std::nullopt;
}

} // namespace mlir::fly
