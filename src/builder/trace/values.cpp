#include "builder/trace/values.h"

#include "builder/trace/types.h"
#include "builder/trace/view.h"
#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"

namespace flydsl::builder {

namespace fly = mlir::fly;
namespace gpu = mlir::gpu;
using detail::HostNumber;
using detail::LazyIndex;

Handle Values::wrap(mlir::Value value, DType dtype, Loc loc) const {
  return Handle(new Node(detail::TracedContent{value, trace_}, dtype, loc));
}

Handle Values::wrapVariable(mlir::Value memory, DType dtype, bool isVector, Loc loc) const {
  return Handle(new Node(detail::TracedContent{memory, trace_, isVector}, dtype, loc));
}

Handle Values::wrapParameter(mlir::BlockArgument argument, DType dtype, bool isLarge) const {
  return Handle(new Node(detail::TracedContent{argument, trace_, /*isVector=*/false, isLarge,
                                               kernel_.parameterName(argument.getArgNumber())},
                         dtype));
}

/// Whether the block that makes the value is around the insertion point.
bool Values::isVisible(mlir::Value value) {
  for (mlir::Block *at = ir_.builder().getInsertionBlock(); at;) {
    if (at == value.getParentBlock())
      return true;
    mlir::Operation *parent = at->getParentOp();
    at = parent ? parent->getBlock() : nullptr;
  }
  return false;
}

void Values::expectVisible(const Node &node, Loc loc) {
  const detail::TracedContent &traced = *node.traced();
  mlir::Value value = traced.value;
  if (!isOwn(traced))
    throw TraceError("kernel " + kernel_.name + " uses a value of another kernel" + originOf(node) +
                         "; a traced value is good in the kernel, and the trace of it, that made "
                         "it alone",
                     loc);
  while (!isVisible(value)) {
    mlir::Operation *branch = value.getParentBlock()->getParentOp();
    if (!shortCircuits_.contains(branch))
      break;
    // It was not made for one side of && or || alone, so it is made before.
    mlir::Block *side = value.getParentBlock();
    branch->getBlock()->getOperations().splice(branch->getIterator(), side->getOperations(),
                                               side->begin(), std::prev(side->end()));
  }
  if (isVisible(value))
    return;
  throw TraceError("kernel " + kernel_.name + " uses a value of type " + typeText(value.getType()) +
                       originOf(node) +
                       ", outside of the loop or branch that made it; carry it out of there, or "
                       "keep it in a Var",
                   loc);
}

mlir::Value Values::use(const Handle &handle, Loc loc) {
  diagnostics_.throwDeferred();
  if (!handle)
    throw TraceError("kernel " + kernel_.name + " uses a value that was moved from", loc);
  const Node &node = *handle.node();
  if (const detail::TracedContent *traced = node.traced()) {
    expectVisible(node, loc);
    return traced->value;
  }
  const detail::HostContent &host = *node.host();
  if (auto *number = std::get_if<HostNumber>(&host.value))
    return useNumber(*number, node.dtype, loc);
  if (auto *lazy = std::get_if<LazyIndex>(&host.value))
    return useLazy(*lazy, loc);
  auto *tuple = std::get_if<layout::IntTuple>(&host.value);
  if (tuple && !host.leaves.empty())
    return useTuple(*tuple, host.leaves, loc);
  mlir::Type type = staticType(host.value, ir_.context());
  if (!type)
    diagnostics_.fail("kernel " + kernel_.name + ": no IR for " + describe(nullptr, handle), loc);
  return useStatic(type, loc);
}

mlir::Value Values::useNumber(const HostNumber &number, DType type, Loc loc) {
  if (!type.is_float())
    return ir_.constant(number.integer, type, loc);
  const double value = number.kind == HostNumber::Kind::floating
                           ? number.floating
                           : static_cast<double>(number.integer);
  return ir_.constant(ir_.builder().getFloatAttr(elementType(type, ir_.context()), value), loc);
}

mlir::Value Values::useStatic(mlir::Type type, Loc loc) {
  if (mlir::Value known = statics_.lookup(type))
    return known;
  mlir::Value v = makeStatic(type, loc);
  statics_[type] = v;
  return v;
}

/// An atom that carries state is no constant: it is made with the state that it starts with.
mlir::Value Values::makeStatic(mlir::Type type, Loc loc) {
  if (mlir::isa<fly::IntTupleType>(type))
    return ir_.prologue<fly::MakeIntTupleOp>(loc, type, mlir::ValueRange());
  if (fly::isStaticType(type))
    return ir_.prologue<fly::StaticOp>(loc, type);
  if (auto atom = mlir::dyn_cast<fly::CopyAtomType>(type))
    return ir_.prologue<fly::MakeCopyAtomOp>(loc, type, atom.getValBits());
  if (mlir::isa<fly::MmaAtomType>(type))
    return ir_.prologue<fly::MakeMmaAtomOp>(loc, type);
  if (auto copy = mlir::dyn_cast<fly::TiledCopyType>(type)) {
    mlir::Value atom = useStatic(copy.getCopyAtom(), loc);
    mlir::Value threads = useStatic(copy.getLayoutThrVal(), loc);
    return ir_.prologue<fly::MakeTiledCopyOp>(loc, type, atom, threads,
                                              useStatic(copy.getTileMN(), loc));
  }
  if (auto mma = mlir::dyn_cast<fly::TiledMmaType>(type)) {
    mlir::Value atom = useStatic(mma.getMmaAtom(), loc);
    mlir::Value atoms = useStatic(mma.getAtomLayout(), loc);
    return ir_.prologue<fly::MakeTiledMmaOp>(loc, type, atom, atoms,
                                             useStatic(mma.getPermutation(), loc));
  }
  throw TraceError("kernel " + kernel_.name + ": no constant of type " + typeText(type), loc);
}

mlir::Type Values::typeOf(const Handle &handle, Loc loc) {
  if (!handle)
    throw TraceError("kernel " + kernel_.name + " uses a value that was moved from", loc);
  const Node &node = *handle.node();
  if (const detail::TracedContent *traced = node.traced()) {
    expectVisible(node, loc);
    return traced->value.getType();
  }
  const detail::HostValue &host = node.host()->value;
  if (auto *tuple = std::get_if<layout::IntTuple>(&host))
    return fly::IntTupleType::get(ir_.context(), *tuple);
  if (std::holds_alternative<LazyIndex>(host))
    return ir_.builder().getI32Type();
  if (std::holds_alternative<HostNumber>(host))
    return elementType(node.dtype, ir_.context());
  return staticType(host, ir_.context());
}

static gpu::Dimension dimensionOf(detail::Dimension dimension) {
  switch (dimension) {
  case detail::Dimension::x:
    return gpu::Dimension::x;
  case detail::Dimension::y:
    return gpu::Dimension::y;
  case detail::Dimension::z:
    return gpu::Dimension::z;
  }
  llvm_unreachable("a dimension");
}

static mlir::Value makeIndex(IrBuilder &ir, const LazyIndex &lazy, Loc loc) {
  const mlir::Type index = ir.builder().getIndexType();
  const gpu::Dimension dimension = dimensionOf(lazy.dimension);
  switch (lazy.kind) {
  case LazyIndex::Kind::thread:
    return ir.prologue<gpu::ThreadIdOp>(loc, index, dimension);
  case LazyIndex::Kind::block:
    return ir.prologue<gpu::BlockIdOp>(loc, index, dimension);
  case LazyIndex::Kind::block_size:
    return ir.prologue<gpu::BlockDimOp>(loc, index, dimension);
  case LazyIndex::Kind::grid_size:
    return ir.prologue<gpu::GridDimOp>(loc, index, dimension);
  case LazyIndex::Kind::lane:
    return ir.prologue<gpu::LaneIdOp>(loc, index, mlir::IntegerAttr());
  }
  llvm_unreachable("an index");
}

mlir::Value Values::useLazy(const LazyIndex &lazy, Loc loc) {
  const std::pair key(static_cast<unsigned>(lazy.kind), static_cast<unsigned>(lazy.dimension));
  if (mlir::Value known = lazies_.lookup(key))
    return known;
  mlir::Value index = makeIndex(ir_, lazy, loc);
  mlir::Value v = ir_.prologue<mlir::arith::IndexCastOp>(loc, ir_.builder().getI32Type(), index);
  lazies_[key] = v;
  return v;
}

mlir::Value Values::leafValue(const detail::DynamicLeaf &leaf, Loc loc) {
  mlir::Value v = use(leaf.value, loc);
  if (leaf.part >= 0) {
    fly::GetLeavesOp::Properties properties;
    properties.dynamicOnly = ir_.builder().getBoolAttr(true);
    return ir_.emit<fly::GetLeavesOp>(loc, v, properties)
        ->getResult(static_cast<unsigned>(leaf.part));
  }
  const DType type = leaf.value.node()->dtype;
  const mlir::Type i32Type = ir_.builder().getI32Type();
  if (type.bits() >= 32)
    return v;
  if (type.is_signed())
    return ir_.create<mlir::arith::ExtSIOp>(loc, i32Type, v);
  return ir_.create<mlir::arith::ExtUIOp>(loc, i32Type, v);
}

mlir::Value Values::useTuple(const layout::IntTuple &tuple,
                             llvm::ArrayRef<detail::DynamicLeaf> leaves, Loc loc) {
  llvm::SmallVector<mlir::Value, 8> operands;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const detail::DynamicLeaf &leaf = leaves[i];
    // One get_leaves serves neighbours from one tuple.
    if (leaf.part > 0 && i > 0 && leaves[i - 1].value.node() == leaf.value.node() &&
        leaves[i - 1].part == leaf.part - 1) {
      operands.push_back(
          operands.back().getDefiningOp()->getResult(static_cast<unsigned>(leaf.part)));
      continue;
    }
    operands.push_back(leafValue(leaf, loc));
  }
  return ir_.create<fly::MakeIntTupleOp>(loc, fly::IntTupleType::get(ir_.context(), tuple),
                                         operands);
}

} // namespace flydsl::builder
