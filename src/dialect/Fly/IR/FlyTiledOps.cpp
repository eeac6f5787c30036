// Tiled copies and multiplications, and a thread's part of a tensor.
#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/IR/TiledLayouts.h"

#include "layout/coord.h"
#include "layout/error.h"

#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyTiledOps.cpp.inc"

namespace layout = flydsl::layout;
using layout::IntTuple;

namespace mlir::fly {

void FlyDialect::registerTiledOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Fly/IR/FlyTiledOps.cpp.inc"
      >();
}

using Results = SmallVectorImpl<AlgebraValue>;

//===----------------------------------------------------------------------===//
// Making
//===----------------------------------------------------------------------===//

/// T::getChecked, which emits its error at `location` if one is given.
template <class T, class... Args>
static LogicalResult inferChecked(MLIRContext *context, std::optional<Location> location,
                                  SmallVectorImpl<Type> &types, Args... args) {
  Location at = location.value_or(UnknownLoc::get(context));
  T type = T::getChecked([&] { return emitError(at); }, context, args...);
  if (!type)
    return failure();
  types.push_back(type);
  return success();
}

LogicalResult MakeTiledCopyOp::inferReturnTypes(MLIRContext *context,
                                                std::optional<Location> location,
                                                ValueRange operands, DictionaryAttr,
                                                OpaqueProperties, RegionRange,
                                                SmallVectorImpl<Type> &types) {
  auto atom = dyn_cast<CopyAtomType>(operands[0].getType());
  auto thrVal = dyn_cast<LayoutType>(operands[1].getType());
  auto tile = dyn_cast<TileType>(operands[2].getType());
  if (!atom || !thrVal || !tile)
    return emitOptionalError(location,
                             "'fly.make_tiled_copy' op expected a copy atom, a layout and "
                             "a tile");
  return inferChecked<TiledCopyType>(context, location, types, atom, thrVal, tile);
}

LogicalResult MakeTiledMmaOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location> location,
                                               ValueRange operands, DictionaryAttr,
                                               OpaqueProperties, RegionRange,
                                               SmallVectorImpl<Type> &types) {
  auto atom = dyn_cast<MmaAtomType>(operands[0].getType());
  auto atoms = dyn_cast<LayoutType>(operands[1].getType());
  auto permutation = operands.size() > 2 ? dyn_cast<TileType>(operands[2].getType())
                                         : TiledMmaType::getDefaultPermutationMNK(context);
  if (!atom || !atoms || !permutation)
    return emitOptionalError(location, "'fly.make_tiled_mma' op expected an mma atom, a layout and "
                                       "perhaps a tile");
  return inferChecked<TiledMmaType>(context, location, types, atom, atoms, permutation);
}

//===----------------------------------------------------------------------===//
// The part of a thread
//===----------------------------------------------------------------------===//

/// The part of operand `i` that `partition` describes.
static void pushPart(const AlgebraArgs &args, unsigned i, const layout::Partition &part,
                     Results &results) {
  if (auto *memref = std::get_if<MemRefValue>(&args.operands[i])) {
    results.push_back(MemRefValue{movedBy(memref->iterator, part.offset), part.layout});
    return;
  }
  const auto &tensor = args.get<CoordTensorValue>(i);
  results.push_back(CoordTensorValue{layout::add(tensor.base, part.offset), part.layout});
}

void TiledCopyPartitionSrcOp::compute(const AlgebraArgs &args, Results &results) {
  layout::TiledCopy copy = toTiledCopy(args.type<TiledCopyType>(0));
  pushPart(args, 1, layout::partitionSrc(copy, args.layout(1), args.get<IntTuple>(2)), results);
}

void TiledCopyPartitionDstOp::compute(const AlgebraArgs &args, Results &results) {
  layout::TiledCopy copy = toTiledCopy(args.type<TiledCopyType>(0));
  pushPart(args, 1, layout::partitionDst(copy, args.layout(1), args.get<IntTuple>(2)), results);
}

void TiledCopyRetileOp::compute(const AlgebraArgs &args, Results &results) {
  layout::AnyLayout fragment = args.layout(1);
  auto *plain = std::get_if<layout::Layout>(&fragment);
  if (!plain)
    layout::fail("a fragment has a plain layout, not ", layout::str(fragment));
  results.push_back(
      args.withLayout(1, layout::retile(toTiledCopy(args.type<TiledCopyType>(0)), *plain)));
}

void TiledMmaPartitionOp::compute(const AlgebraArgs &args, Results &results) {
  layout::TiledMma mma = toTiledMma(args.type<TiledMmaType>(0));
  auto operand = toMmaOperand(args.props<TiledMmaPartitionOp>().operand_id.getValue());
  pushPart(args, 1, layout::partition(mma, operand, args.layout(1), args.get<IntTuple>(2)),
           results);
}

void TiledMmaPartitionShapeOp::compute(const AlgebraArgs &args, Results &results) {
  layout::TiledMma mma = toTiledMma(args.type<TiledMmaType>(0));
  auto operand = toMmaOperand(args.props<TiledMmaPartitionShapeOp>().operand_id.getValue());
  results.push_back(layout::partitionShape(mma, operand, args.get<IntTuple>(1)));
}

LogicalResult GetCopyAtomOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              ValueRange operands, DictionaryAttr, OpaqueProperties,
                                              RegionRange, SmallVectorImpl<Type> &types) {
  auto tiled = dyn_cast<TiledCopyType>(operands[0].getType());
  if (!tiled)
    return emitOptionalError(location, "'fly.get_copy_atom' op expected a tiled copy, found ",
                             operands[0].getType());
  types.push_back(tiled.getCopyAtom());
  return success();
}

OpFoldResult GetCopyAtomOp::fold(FoldAdaptor) {
  auto made = getTiledCopy().getDefiningOp<MakeTiledCopyOp>();
  return made ? OpFoldResult(made.getCopyAtom()) : OpFoldResult();
}

LogicalResult GetMmaAtomOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                             ValueRange operands, DictionaryAttr, OpaqueProperties,
                                             RegionRange, SmallVectorImpl<Type> &types) {
  auto tiled = dyn_cast<TiledMmaType>(operands[0].getType());
  if (!tiled)
    return emitOptionalError(location, "'fly.get_mma_atom' op expected a tiled mma, found ",
                             operands[0].getType());
  types.push_back(tiled.getMmaAtom());
  return success();
}

OpFoldResult GetMmaAtomOp::fold(FoldAdaptor) {
  auto made = getTiledMma().getDefiningOp<MakeTiledMmaOp>();
  return made ? OpFoldResult(made.getMmaAtom()) : OpFoldResult();
}

LogicalResult MmaMakeFragmentOp::inferReturnTypes(MLIRContext *context,
                                                  std::optional<Location> location,
                                                  ValueRange operands, DictionaryAttr,
                                                  OpaqueProperties properties, RegionRange,
                                                  SmallVectorImpl<Type> &types) {
  auto compute = [](const AlgebraArgs &args, Results &results) {
    auto &props = args.props<MmaMakeFragmentOp>();
    auto type = args.type<TiledMmaType>(0);
    int64_t stages = props.stages ? props.stages.getInt() : 0;
    if (props.stages && stages < 1)
      layout::fail("expected at least one stage, found ", stages);
    MmaOperand operand = props.operand_id.getValue();
    layout::Layout fragment =
        layout::fragmentLayout(toTiledMma(type), toMmaOperand(operand),
                               layout::outermost(args.layout(1)), static_cast<int>(stages));
    auto pointer = PointerType::get(type.getMmaAtom().getValType(operand), AddressSpace::Register);
    results.push_back(MemRefValue{PointerValue{pointer}, fragment});
  };
  return detail::inferByAlgebra(compute, getOperationName(), context, location, operands,
                                properties, types);
}

} // namespace mlir::fly
