#include "jit/program/read_launch.h"

#include "dialect/Fly/IR/ElementTypes.h"
#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

#include <cstring>
#include <optional>

namespace flydsl::jit {
namespace {

using namespace mlir;

/// The bytes of a value as kernels take it; 0 for what is none of those.
std::size_t sizeOf(Type type) {
  if (type.isIndex() || isa<fly::PointerType, LLVM::LLVMPointerType>(type))
    return 8;
  if (type.isIntOrFloat())
    return (type.getIntOrFloatBitWidth() + 7) / 8;
  std::size_t size = 0;
  if (auto packed = dyn_cast<LLVM::LLVMStructType>(type); packed && packed.isPacked())
    for (Type field : packed.getBody())
      size += sizeOf(field);
  return size;
}

/// The number of elements by which `add_offset` moves an address; none where it is not known.
std::optional<std::int64_t> elementsOf(Value offset) {
  const layout::IntTuple &tuple = cast<fly::IntTupleType>(offset.getType()).getValue();
  if (!tuple.isLeaf())
    return std::nullopt;
  if (tuple.leaf().isStatic())
    return tuple.leaf().value();
  llvm::APInt value;
  auto made = offset.getDefiningOp<fly::MakeIntTupleOp>();
  if (!made || made->getNumOperands() != 1 ||
      !matchPattern(made->getOperand(0), m_ConstantInt(&value)))
    return std::nullopt;
  return value.getSExtValue();
}

bool isConstant(Value value) { return matchPattern(value, m_Constant()); }

/// The operation that keeps a value from being a constant: among those that it is computed from,
/// the first whose own operands are known.
Operation *obstacle(Value value) {
  Operation *op = value.getDefiningOp();
  for (bool deeper = op != nullptr; deeper;) {
    deeper = false;
    for (Value operand : op->getOperands())
      if (Operation *below = operand.getDefiningOp(); below && !isConstant(operand)) {
        op = below;
        deeper = true;
        break;
      }
  }
  return op;
}

} // namespace

std::size_t offsetInPacked(LLVM::LLVMStructType type, llvm::ArrayRef<int64_t> position) {
  std::size_t offset = 0;
  for (int64_t index : position) {
    ArrayRef<Type> fields = type.getBody();
    for (Type before : fields.take_front(static_cast<std::size_t>(index)))
      offset += sizeOf(before);
    type = dyn_cast<LLVM::LLVMStructType>(fields[static_cast<std::size_t>(index)]);
  }
  return offset;
}

bool LaunchReader::refuse(gpu::LaunchFuncOp launch, Value value, const std::string &what) const {
  Operation *found = obstacle(value);
  InFlightDiagnostic error = (found ? found : launch.getOperation())->emitError();
  error << "in '" << host_.name << "': " << what << " of the launch of "
        << launch.getKernelName().getValue() << " is not known from the arguments: ";
  if (found)
    error << "'" << found->getName() << "' does not fold";
  else
    error << "it is an argument that no call gives a number for";
  return false;
}

bool LaunchReader::number(gpu::LaunchFuncOp launch, Value value, const std::string &what,
                          std::int64_t &into) const {
  llvm::APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return refuse(launch, value, what);
  into = constant.getSExtValue();
  return true;
}

bool LaunchReader::extents(gpu::LaunchFuncOp launch, const gpu::KernelDim3 &values,
                           const char *what, std::array<std::int64_t, 3> &into) const {
  return number(launch, values.x, std::string("the x of the ") + what, into[0]) &&
         number(launch, values.y, std::string("the y of the ") + what, into[1]) &&
         number(launch, values.z, std::string("the z of the ") + what, into[2]);
}

/// A launch is on the stream of the token that it waits for, which may be another launch's. Without
/// one it is on the default stream.
bool LaunchReader::stream(gpu::LaunchFuncOp launch, int &into) const {
  std::optional<int> found;
  for (Value token : launch.getAsyncDependencies()) {
    while (auto before = token.getDefiningOp<gpu::LaunchFuncOp>()) {
      if (before.getAsyncDependencies().empty())
        break;
      token = before.getAsyncDependencies().front();
    }
    auto argument = dyn_cast<BlockArgument>(token);
    if (!argument && !token.getDefiningOp<gpu::LaunchFuncOp>())
      return refuse(launch, token, "the stream");
    const int stream = argument ? host_.slots[argument.getArgNumber()].stream : -1;
    if (found && *found != stream)
      return launch.emitError() << "in '" << host_.name << "': the launch of "
                                << launch.getKernelName().getValue()
                                << " waits for two streams; a launch is on one",
             false;
    found = stream;
  }
  into = found.value_or(-1);
  return true;
}

/// Appends what the bytes of `value` are, from byte `at` of an argument on. False where that is not
/// known.
bool LaunchReader::append(Value value, std::size_t at, std::vector<ArgumentPart> &parts) const {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner()->getParentOp() != function_)
      return false;
    parts.push_back({at, host_.slots[argument.getArgNumber()].piece, 0, {}});
    return true;
  }
  Operation *op = value.getDefiningOp();
  if (isa<LLVM::UndefOp, LLVM::PoisonOp>(op)) // fields are inserted into it
    return true;
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    llvm::APInt bits;
    if (auto integer = dyn_cast<IntegerAttr>(constant))
      bits = integer.getValue();
    else if (auto floating = dyn_cast<FloatAttr>(constant))
      bits = floating.getValue().bitcastToAPInt();
    else
      return false;
    std::vector<std::byte> bytes(sizeOf(value.getType()));
    const std::uint64_t word = bits.getZExtValue();
    std::memcpy(bytes.data(), &word, bytes.size());
    parts.push_back({at, {}, 0, std::move(bytes)});
    return true;
  }
  if (auto insert = dyn_cast<LLVM::InsertValueOp>(op))
    return append(insert.getContainer(), at, parts) &&
           append(insert.getValue(),
                  at + offsetInPacked(cast<LLVM::LLVMStructType>(insert.getContainer().getType()),
                                      insert.getPosition()),
                  parts);
  if (auto recast = dyn_cast<fly::RecastIterOp>(op))
    return append(recast.getSrc(), at, parts);
  if (auto moved = dyn_cast<fly::AddOffsetOp>(op)) {
    auto type = dyn_cast<fly::PointerType>(moved.getPtr().getType());
    const std::optional<std::int64_t> elements = elementsOf(moved.getOffset());
    if (!type || !elements || type.getSwizzle() != layout::Swizzle() ||
        !append(moved.getPtr(), at, parts))
      return false;
    parts.back().offset += *elements * type.getElemTy().getIntOrFloatBitWidth() / 8;
    return true;
  }
  return false;
}

bool LaunchReader::operand(gpu::LaunchFuncOp launch, Value value, KernelOperand &into) const {
  into.size = sizeOf(value.getType());
  if (into.size && append(value, 0, into.parts))
    return true;
  return refuse(launch, value, "an argument, of type " + fly::typeText(value.getType()) + ",");
}

bool LaunchReader::read(gpu::LaunchFuncOp launch, PlannedLaunch &into) const {
  into.kernel = launch.getKernelName().getValue().str();
  if (!extents(launch, launch.getGridSizeOperandValues(), "grid", into.grid) ||
      !extents(launch, launch.getBlockSizeOperandValues(), "block", into.block))
    return false;
  if (launch.hasClusterSize() &&
      !extents(launch, launch.getClusterSizeOperandValues(), "cluster", into.cluster))
    return false;
  if (Value bytes = launch.getDynamicSharedMemorySize()) {
    if (!number(launch, bytes, "the dynamic shared memory", into.smem))
      return false;
  }
  if (!stream(launch, into.stream))
    return false;
  for (Value value : launch.getKernelOperands())
    if (!operand(launch, value, into.operands.emplace_back()))
      return false;
  return true;
}

} // namespace flydsl::jit
