#include "builder/trace/thread_dependence.h"

#include "builder/trace/thread_values.h"
#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/Interfaces/VendorInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"

namespace flydsl::builder {

bool isThreadNumber(mlir::Operation *op) {
  return mlir::isa<mlir::gpu::ThreadIdOp, mlir::gpu::LaneIdOp>(op) ||
         mlir::fly::vendorOperation(op).isThreadNumber;
}

bool hidesThread(mlir::Operation *op) {
  return op->getNumRegions() != 0 ||
         mlir::isa<mlir::fly::MemRefLoadOp, mlir::fly::MemRefLoadVecOp, mlir::fly::PtrLoadOp,
                   mlir::LLVM::LoadOp>(op) ||
         mlir::fly::vendorOperation(op).hidesThread;
}

mlir::scf::IfOp shortCircuitOf(mlir::Operation *op) {
  auto branch = mlir::dyn_cast<mlir::scf::IfOp>(op);
  if (!branch || branch.getNumResults() != 1 || branch.getElseRegion().empty())
    return {};
  const bool isDecided = llvm::any_of(branch->getRegions(), [](mlir::Region &region) {
    mlir::Operation *end = region.front().getTerminator();
    return &region.front().front() == end &&
           mlir::matchPattern(end->getOperand(0), mlir::m_Constant());
  });
  return isDecided && branch.getResult(0).getType().isInteger(1) ? branch : mlir::scf::IfOp();
}

namespace {

/// What a value is in a thread; null where it is made of more than the thread's number.
mlir::Attribute valueIn(mlir::Value value, const Thread &thread) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  mlir::Builder b(op->getContext());
  if (auto id = mlir::dyn_cast<mlir::gpu::ThreadIdOp>(op))
    return b.getIndexAttr(thread.at[static_cast<unsigned>(id.getDimension())]);
  if (mlir::isa<mlir::gpu::LaneIdOp>(op))
    return b.getIndexAttr(thread.lane);
  if (mlir::Attribute constant; mlir::matchPattern(value, mlir::m_Constant(&constant)))
    return constant;
  if (!mlir::isa_and_nonnull<mlir::arith::ArithDialect>(op->getDialect()))
    return {};
  llvm::SmallVector<mlir::Attribute, 3> operands;
  for (mlir::Value operand : op->getOperands()) {
    operands.push_back(valueIn(operand, thread));
    if (!operands.back())
      return {};
  }
  llvm::SmallVector<mlir::OpFoldResult, 1> results;
  if (mlir::failed(op->fold(operands, results)) || results.size() != 1)
    return {};
  return mlir::dyn_cast<mlir::Attribute>(results[0]);
}

} // namespace

std::array<unsigned, 3> ThreadDependence::block() const {
  if (!kernel_.knowsBlock())
    return {2 * waveSize(), 1, 1};
  return {kernel_.blockSize(0), kernel_.blockSize(1), kernel_.blockSize(2)};
}

bool ThreadDependence::mayDiffer(mlir::Value value, unsigned group) {
  const auto key = std::pair(value, group);
  if (const auto found = known_.find(key); found != known_.end())
    return found->second;
  const bool differs = find(value, group);
  known_.try_emplace(key, differs);
  return differs;
}

bool ThreadDependence::isDifferent(llvm::function_ref<mlir::Attribute(const Thread &)> make,
                                   unsigned group) const {
  const auto [x, y, z] = block();
  mlir::Attribute first;
  for (unsigned number = 0; number < x * y * z; ++number) {
    const mlir::Attribute here =
        make({{number % x, number / x % y, number / x / y}, number % waveSize()});
    if (!here)
      return true;
    if (number == 0 || (group && number % group == 0))
      first = here;
    else if (here != first)
      return true;
  }
  return false;
}

bool ThreadDependence::find(mlir::Value value, unsigned group) {
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value)) {
    // The number of a loop's step; what a loop carries is not followed.
    auto loop = mlir::dyn_cast<mlir::scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() &&
           (mayDiffer(loop.getLowerBound(), group) || mayDiffer(loop.getStep(), group));
  }
  mlir::Operation *op = value.getDefiningOp();
  const auto operandsDiffer = [&] {
    return llvm::any_of(op->getOperands(), [&](mlir::Value v) { return mayDiffer(v, group); });
  };
  if (auto branch = shortCircuitOf(op))
    return mayDiffer(branch.getCondition(), group) ||
           llvm::any_of(branch->getRegions(), [&](mlir::Region &region) {
             return mayDiffer(region.front().getTerminator()->getOperand(0), group);
           });
  if (hidesThread(op) || !(isThreadNumber(op) || operandsDiffer()))
    return false;
  // Something in it differs; the value itself may be the same again, as the number of a wave is.
  return isDifferent([&](const Thread &thread) { return valueIn(value, thread); }, group);
}

bool ThreadDependence::stepsMayDiffer(mlir::scf::ForOp loop, unsigned group) {
  const std::array bounds{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  if (llvm::none_of(bounds, [&](mlir::Value v) { return mayDiffer(v, group); }))
    return false;
  return isDifferent(
      [&](const Thread &thread) -> mlir::Attribute {
        std::array<std::int64_t, 3> numbers;
        for (std::size_t i = 0; i < 3; ++i) {
          const auto number =
              mlir::dyn_cast_if_present<mlir::IntegerAttr>(valueIn(bounds[i], thread));
          if (!number)
            return {};
          numbers[i] = number.getValue().getSExtValue();
        }
        const auto [first, end, step] = numbers;
        const std::int64_t steps = end > first && step > 0 ? (end - first - 1) / step + 1 : 0;
        return mlir::Builder(loop.getContext()).getI64IntegerAttr(steps);
      },
      group);
}

} // namespace flydsl::builder
