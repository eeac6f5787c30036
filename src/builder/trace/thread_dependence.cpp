#include "builder/trace/thread_dependence.h"

#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/Interfaces/VendorInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <algorithm>

namespace flydsl::builder {

namespace {

using mlir::fly::VendorResult;

/// The branch of an && or || whose second side is computed only where the first does not decide; null for
/// other operations.
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

/// Which threads have the same result of an operation.
VendorResult resultOf(mlir::Operation *op) {
  if (mlir::isa<mlir::gpu::ThreadIdOp, mlir::gpu::LaneIdOp>(op))
    return VendorResult::lane_number;
  if (mlir::isa<mlir::gpu::BlockIdOp, mlir::gpu::BlockDimOp, mlir::gpu::GridDimOp>(op))
    return VendorResult::of_block;
  if (op->getNumRegions() != 0 || mlir::isa<mlir::fly::MemRefLoadOp, mlir::fly::MemRefLoadVecOp,
                                            mlir::fly::PtrLoadOp, mlir::LLVM::LoadOp>(op))
    return VendorResult::memory;
  return mlir::fly::vendorOperation(op).result;
}

/// Whether the same operands give the same result.
bool isArithmetic(mlir::Operation *op) {
  return mlir::isa_and_nonnull<mlir::arith::ArithDialect, mlir::fly::FlyDialect>(
             op->getDialect()) &&
         mlir::isPure(op);
}

} // namespace

mlir::Attribute ThreadDependence::valueIn(mlir::Value value, const Thread &thread) {
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
  const VendorResult result = resultOf(op);
  if (result == VendorResult::wave_number)
    return b.getIntegerAttr(value.getType(), thread.wave);
  // Which lane is the first one depends on the branch it stands in, unless all have the same.
  if (result == VendorResult::first_lane)
    return of(op->getOperand(0), waveSize()) == Agreement::same ? valueIn(op->getOperand(0), thread)
                                                                : mlir::Attribute();
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

std::array<unsigned, 3> ThreadDependence::block() const {
  if (!kernel_.knowsBlock())
    return {2 * waveSize(), 1, 1};
  return {kernel_.blockSize(0), kernel_.blockSize(1), kernel_.blockSize(2)};
}

Agreement ThreadDependence::of(mlir::Value value, unsigned group) {
  const auto key = std::pair(value, group);
  if (const auto found = known_.find(key); found != known_.end())
    return found->second;
  const Agreement agreement = find(value, group);
  known_.try_emplace(key, agreement);
  return agreement;
}

Agreement ThreadDependence::worst(mlir::ValueRange values, unsigned group) {
  Agreement all = Agreement::same;
  for (mlir::Value value : values)
    all = std::max(all, of(value, group));
  return all;
}

Agreement ThreadDependence::computed(llvm::function_ref<mlir::Attribute(const Thread &)> make,
                                     unsigned group) {
  const auto [x, y, z] = block();
  mlir::Attribute first;
  for (unsigned number = 0; number < x * y * z; ++number) {
    const mlir::Attribute here = make(
        {{number % x, number / x % y, number / x / y}, number % waveSize(), number / waveSize()});
    if (!here)
      return Agreement::different;
    if (number == 0 || (group && number % group == 0))
      first = here;
    else if (here != first)
      return Agreement::different;
  }
  return kernel_.knowsBlock() ? Agreement::same : Agreement::unknown;
}

Agreement ThreadDependence::find(mlir::Value value, unsigned group) {
  if (mlir::Operation *op = value.getDefiningOp())
    return findOperation(op, value, group);
  auto argument = mlir::cast<mlir::BlockArgument>(value);
  mlir::Operation *owner = argument.getOwner()->getParentOp();
  if (mlir::isa<mlir::FunctionOpInterface>(owner))
    return Agreement::same;
  // The number of a loop's step; what a loop carries is not followed.
  auto loop = mlir::dyn_cast<mlir::scf::ForOp>(owner);
  return loop && argument == loop.getInductionVar()
             ? worst({loop.getLowerBound(), loop.getStep()}, group)
             : Agreement::unknown;
}

Agreement ThreadDependence::findOperation(mlir::Operation *op, mlir::Value value, unsigned group) {
  if (auto branch = shortCircuitOf(op)) {
    llvm::SmallVector<mlir::Value, 3> sides{branch.getCondition()};
    for (mlir::Region &region : branch->getRegions())
      sides.push_back(region.front().getTerminator()->getOperand(0));
    return worst(sides, group);
  }
  const VendorResult result = resultOf(op);
  if (result == VendorResult::of_block)
    return Agreement::same;
  if (result == VendorResult::memory)
    return Agreement::unknown;
  const bool isInWave = group && waveSize() % group == 0;
  Agreement operands = worst(op->getOperands(), group);
  switch (result) {
  case VendorResult::lane_number:
    operands = Agreement::different;
    break;
  case VendorResult::wave_number:
    operands = isInWave ? Agreement::same : Agreement::different;
    break;
  case VendorResult::first_lane:
    if (isInWave)
      return Agreement::same;
    break;
  case VendorResult::of_wave:
    // What the lanes that are off have, and how many lanes are on, is not followed.
    return isInWave ? Agreement::same : operands == Agreement::same ? Agreement::unknown : operands;
  default:
    if (operands == Agreement::same && !isArithmetic(op))
      return Agreement::unknown;
  }
  // Where something in it differs, the value itself may be the same again, as the number of a wave is.
  return operands == Agreement::different
             ? computed([&](const Thread &thread) { return valueIn(value, thread); }, group)
             : operands;
}

Agreement ThreadDependence::ofSteps(mlir::scf::ForOp loop, unsigned group) {
  const std::array bounds{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  const Agreement numbers = worst(bounds, group);
  if (numbers != Agreement::different)
    return numbers;
  const Agreement counts = computed(
      [&](const Thread &thread) -> mlir::Attribute {
        std::array<std::int64_t, 3> found;
        for (std::size_t i = 0; i < 3; ++i) {
          const auto number =
              mlir::dyn_cast_if_present<mlir::IntegerAttr>(valueIn(bounds[i], thread));
          if (!number)
            return {};
          found[i] = number.getValue().getSExtValue();
        }
        const auto [first, end, step] = found;
        const std::int64_t steps = end > first && step > 0 ? (end - first - 1) / step + 1 : 0;
        return mlir::Builder(loop.getContext()).getI64IntegerAttr(steps);
      },
      group);
  return counts == Agreement::different ? counts : Agreement::unknown;
}

} // namespace flydsl::builder
