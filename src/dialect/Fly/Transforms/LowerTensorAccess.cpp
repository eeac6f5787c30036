// Loads and stores through tensors.

#include "dialect/Fly/Transforms/AlgebraLowering.h"

#include "dialect/Fly/Transforms/RegisterMemory.h"
#include "layout/algebra.h"
#include "layout/coord.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::fly {

using namespace flydsl::layout;

namespace {

/// How a tensor of static shape is taken apart for vector accesses: along one mode of stride 1,
/// chunk by chunk.
struct Chunks {
  std::vector<IntTuple> offsets; ///< of the chunks, the other modes running colexicographically
  int64_t width = 1;             ///< elements of a chunk
  SmallVector<int64_t> chunked;  ///< extents, slowest first, as the chunks follow each other
  SmallVector<int64_t> permutation,
      natural; ///< the transpose to the tensor's own order, and its extents
  bool isPermuted() const { return !llvm::is_sorted(permutation); }
};

Chunks chunksOf(const Layout &layout) {
  if (int64_t elements = size(layout).value(); elements > kMostRegisterElements)
    fail("a vector of ", elements, " elements of ", layout,
         " is more than registers hold, which is ", kMostRegisterElements);
  Layout flat = coalesce(layout);
  if (flat.isLeaf() && (flat.stride().isLeaf(1) || flat.shape().isLeaf(1)))
    return {{IntTuple(0)}, flat.shape().leaf().value(), {}, {}, {}};

  std::vector<Int> shapes, strides;
  std::vector<Int> allShapes = layout.shape().leaves(), allStrides = layout.stride().leaves();
  for (size_t i = 0; i < allShapes.size(); ++i)
    if (!allShapes[i].isStatic(1)) {
      shapes.push_back(allShapes[i]);
      strides.push_back(allStrides[i]);
    }
  int unit = -1;
  for (size_t i = 0; i < shapes.size() && unit < 0; ++i)
    if (strides[i].isStatic(1))
      unit = static_cast<int>(i);

  Chunks chunks;
  chunks.width = unit < 0 ? 1 : shapes[unit].value();
  std::vector<IntTuple> restShapes, restStrides;
  for (size_t i = 0; i < shapes.size(); ++i)
    if (static_cast<int>(i) != unit) {
      restShapes.push_back(IntTuple(shapes[i]));
      restStrides.push_back(IntTuple(strides[i]));
    }
  if (restShapes.empty()) {
    chunks.offsets.push_back(IntTuple(0));
  } else {
    Layout rest(IntTuple::unwrapped(restShapes), IntTuple::unwrapped(restStrides));
    int64_t count = size(rest).value();
    if (count > kMostCalls)
      fail("a vector in ", count, " pieces of ", layout, " is more than the ", kMostCalls,
           " accesses that one load or store becomes");
    for (int64_t i = 0; i < count; ++i)
      chunks.offsets.push_back(crd2idx(IntTuple(i), rest));
  }
  if (unit > 0) {
    // Slowest first: the chunks have the unit mode last, the tensor has it `unit` places from the
    // end.
    int rank = static_cast<int>(shapes.size());
    for (int i = rank - 1; i >= 0; --i)
      if (i != unit)
        chunks.chunked.push_back(shapes[i].value());
    chunks.chunked.push_back(chunks.width);
    for (int i = rank - 1; i >= 0; --i)
      chunks.natural.push_back(shapes[i].value());
    int next = 0;
    for (int i = rank - 1; i >= 0; --i)
      chunks.permutation.push_back(i == unit ? rank - 1 : next++);
  }
  return chunks;
}

/// The layout of a tensor for a vector access, which needs a plain one of static shape.
FailureOr<Layout> accessLayout(Operation *op, const AnyLayout &layout) {
  const auto *plain = std::get_if<Layout>(&layout);
  if (!plain)
    return op->emitOpError("needs a plain layout, not the composed layout ") << str(layout);
  if (!plain->shape().isStatic())
    return op->emitOpError("needs a static shape, not ") << plain->shape().str();
  return *plain;
}

SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation.size());
  for (auto [i, p] : llvm::enumerate(permutation))
    result[p] = static_cast<int64_t>(i);
  return result;
}

Value transposed(OpBuilder &builder, Location loc, Value vector, ArrayRef<int64_t> from,
                 ArrayRef<int64_t> permutation) {
  auto flat = cast<VectorType>(vector.getType());
  vector = vector::ShapeCastOp::create(builder, loc, VectorType::get(from, flat.getElementType()),
                                       vector);
  vector = vector::TransposeOp::create(builder, loc, vector, permutation);
  return vector::ShapeCastOp::create(builder, loc, flat, vector);
}

/// The coordinate that a tensor of coordinates has at `index`.
IntTuple coordinateAt(const CoordTensorValue &tensor, const IntTuple &index) {
  return add(tensor.base, crd2idx(index, tensor.layout));
}

LogicalResult loadCoordinates(MemRefLoadVecOp op, const CoordTensorValue &tensor,
                              AlgebraLowering &lowering) {
  auto type = cast<VectorType>(op.getResult().getType());
  OpBuilder builder(op);
  Location loc = op.getLoc();
  // Elements that are constants form a constant vector; the others are inserted into it.
  auto elemTy = cast<IntegerType>(type.getElementType());
  if (type.getNumElements() > kMostCalls)
    return op.emitOpError("gives at most ")
           << kMostCalls << " coordinates, not " << type.getNumElements();
  SmallVector<APInt> known;
  SmallVector<std::pair<int64_t, Int>> computed;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    FailureOr<Int> number =
        emitLayoutErrors(op, [&] { return coordinateAt(tensor, IntTuple(i)).leaf(); });
    if (failed(number))
      return failure();
    bool isKnown = !number->isDynamic() || number->expr()->isConstant();
    known.push_back(APInt(elemTy.getWidth(), isKnown ? number->expr()->value() : 0,
                          /*isSigned=*/true, /*implicitTrunc=*/true));
    if (!isKnown)
      computed.push_back({i, *number});
  }
  Value result = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, known));
  for (const auto &[i, number] : computed) {
    Value scalar = lowering.getExprs().materializeHere(builder, loc, number.expr(), elemTy);
    result = vector::InsertOp::create(builder, loc, scalar, result, ArrayRef<int64_t>{i});
  }
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return success();
}

} // namespace

LogicalResult lowerMemRefLoad(MemRefLoadOp op, AlgebraLowering &lowering) {
  FailureOr<SymbolicValue> tensor = lowering.get(op.getMemref(), op),
                           index = lowering.get(op.getIndices(), op);
  if (failed(tensor) || failed(index))
    return failure();
  if (const CoordTensorValue *coords = tensor->asCoordTensor()) {
    FailureOr<IntTuple> coord =
        emitLayoutErrors(op, [&] { return coordinateAt(*coords, *index->asTuple()); });
    if (failed(coord))
      return failure();
    lowering.set(op.getResult(), {*coord, {}, {}});
    return success();
  }
  FailureOr<IntTuple> offset =
      emitLayoutErrors(op, [&] { return crd2idx(*index->asTuple(), tensor->asMemRef()->layout); });
  if (failed(offset))
    return failure();
  OpBuilder builder(op);
  Value pointer = lowering.materializePointer(builder, op.getLoc(), *tensor, *offset);
  op.getResult().replaceAllUsesWith(
      PtrLoadOp::create(builder, op.getLoc(), op.getResult().getType(), pointer).getResult());
  op.erase();
  return success();
}

LogicalResult lowerMemRefStore(MemRefStoreOp op, AlgebraLowering &lowering) {
  FailureOr<SymbolicValue> tensor = lowering.get(op.getMemref(), op),
                           index = lowering.get(op.getIndices(), op);
  if (failed(tensor) || failed(index))
    return failure();
  FailureOr<IntTuple> offset =
      emitLayoutErrors(op, [&] { return crd2idx(*index->asTuple(), tensor->asMemRef()->layout); });
  if (failed(offset))
    return failure();
  OpBuilder builder(op);
  Value pointer = lowering.materializePointer(builder, op.getLoc(), *tensor, *offset);
  PtrStoreOp::create(builder, op.getLoc(), op.getValue(), pointer);
  op.erase();
  return success();
}

LogicalResult lowerMemRefLoadVec(MemRefLoadVecOp op, AlgebraLowering &lowering) {
  FailureOr<SymbolicValue> tensor = lowering.get(op.getMemref(), op);
  if (failed(tensor))
    return failure();
  if (const CoordTensorValue *coords = tensor->asCoordTensor())
    return loadCoordinates(op, *coords, lowering);
  FailureOr<Layout> layout = accessLayout(op, tensor->asMemRef()->layout);
  if (failed(layout))
    return failure();
  FailureOr<Chunks> chunks = emitLayoutErrors(op, [&] { return chunksOf(*layout); });
  if (failed(chunks))
    return failure();

  auto type = cast<VectorType>(op.getResult().getType());
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value result;
  if (chunks->offsets.size() == 1) {
    Value pointer = lowering.materializePointer(builder, loc, *tensor, chunks->offsets.front());
    result = PtrLoadOp::create(builder, loc, type, pointer);
  } else {
    Type chunkType = VectorType::get({chunks->width}, type.getElementType());
    result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    for (auto [i, offset] : llvm::enumerate(chunks->offsets)) {
      Value pointer = lowering.materializePointer(builder, loc, *tensor, offset);
      auto at = static_cast<int64_t>(i) * chunks->width;
      if (chunks->width == 1) {
        Value element = PtrLoadOp::create(builder, loc, type.getElementType(), pointer);
        result = vector::InsertOp::create(builder, loc, element, result, ArrayRef<int64_t>{at});
      } else {
        Value chunk = PtrLoadOp::create(builder, loc, chunkType, pointer);
        result = vector::InsertStridedSliceOp::create(builder, loc, chunk, result,
                                                      ArrayRef<int64_t>{at}, ArrayRef<int64_t>{1});
      }
    }
    if (chunks->isPermuted())
      result = transposed(builder, loc, result, chunks->chunked, chunks->permutation);
  }
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return success();
}

LogicalResult lowerMemRefStoreVec(MemRefStoreVecOp op, AlgebraLowering &lowering) {
  FailureOr<SymbolicValue> tensor = lowering.get(op.getMemref(), op);
  if (failed(tensor))
    return failure();
  FailureOr<Layout> layout = accessLayout(op, tensor->asMemRef()->layout);
  if (failed(layout))
    return failure();
  FailureOr<Chunks> chunks = emitLayoutErrors(op, [&] { return chunksOf(*layout); });
  if (failed(chunks))
    return failure();

  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value vector = op.getVector();
  if (chunks->offsets.size() == 1) {
    PtrStoreOp::create(builder, loc, vector,
                       lowering.materializePointer(builder, loc, *tensor, chunks->offsets.front()));
    op.erase();
    return success();
  }
  if (chunks->isPermuted())
    vector = transposed(builder, loc, vector, chunks->natural, inverse(chunks->permutation));
  for (auto [i, offset] : llvm::enumerate(chunks->offsets)) {
    Value pointer = lowering.materializePointer(builder, loc, *tensor, offset);
    auto at = static_cast<int64_t>(i) * chunks->width;
    Value chunk;
    if (chunks->width == 1)
      chunk = vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{at});
    else
      chunk = vector::ExtractStridedSliceOp::create(builder, loc, vector, ArrayRef<int64_t>{at},
                                                    ArrayRef<int64_t>{chunks->width},
                                                    ArrayRef<int64_t>{1});
    PtrStoreOp::create(builder, loc, chunk, pointer);
  }
  op.erase();
  return success();
}

LogicalResult lowerRegisterAllocation(Operation *op, AlgebraLowering &lowering) {
  auto type = cast<MemRefType>(op->getResult(0).getType());
  const auto *layout = std::get_if<Layout>(&type.getLayout());
  if (!layout || !layout->isStatic())
    return op->emitOpError("register memory needs a plain static layout, not ")
           << str(type.getLayout());
  FailureOr<int64_t> elements = emitLayoutErrors(op, [&] { return cosize(*layout).value(); });
  if (failed(elements))
    return failure();
  if (*elements > kMostRegisterElements)
    return op->emitOpError("register memory of ")
           << *elements << " elements is more than the " << kMostRegisterElements
           << " that a fragment has at most";
  OpBuilder builder(op);
  Value shape = lowering.materializeLayout(builder, op->getLoc(), type.getLayout());
  auto attrs = builder.getDictionaryAttr(builder.getNamedAttr(
      "allocSize", builder.getI64IntegerAttr(std::max<int64_t>(*elements, 1))));
  Value pointer =
      MakePtrOp::create(builder, op->getLoc(), type.getPointerType(), ValueRange(), attrs);
  Value view = MakeViewOp::create(builder, op->getLoc(), pointer, shape);
  SymbolicValue symbolic{MemRefValue{PointerValue{type.getPointerType(), 0}, type.getLayout()},
                         pointer, view};
  lowering.set(op->getResult(0), symbolic);
  return success();
}

LogicalResult lowerAssume(AssumeOp op, AlgebraLowering &lowering) {
  FailureOr<SymbolicValue> source = lowering.get(op.getSrc(), op);
  if (failed(source))
    return failure();
  auto type = dyn_cast<IntTupleType>(op.getResult().getType());
  const IntTuple *tuple = source->asTuple();
  if (!type || !tuple) {
    if (op.getSrc().getType() != op.getResult().getType())
      return op.emitOpError("can't assume a value of type ")
             << op.getSrc().getType() << " to be of type " << op.getResult().getType();
    lowering.set(op.getResult(), *source);
    return success();
  }
  if (!isCongruent(type.getValue(), *tuple))
    return op.emitOpError("can't assume ") << tuple->str() << " to be " << type.getValue().str();
  std::vector<Int> leaves = tuple->leaves();
  size_t next = 0;
  IntTuple assumed = type.getValue().mapLeaves([&](const Int &leaf) {
    ExprRef expr = leaves[next++].expr();
    return leaf.withExpr(expr && leaf.isDynamic()
                             ? lowering.getExprs().promised(expr, op, leaf.divisibility())
                             : expr);
  });
  lowering.set(op.getResult(), {assumed, {}, {}});
  return success();
}

LogicalResult lowerPtrLoad(PtrLoadOp op, AlgebraLowering &lowering) {
  FailureOr<SymbolicValue> pointer = lowering.get(op.getPtr(), op);
  if (failed(pointer))
    return failure();
  if (pointer->asTuple()) {
    lowering.set(op.getResult(), *pointer);
    return success();
  }
  OpBuilder builder(op);
  FailureOr<Value> made = lowering.materialize(builder, op.getLoc(), *pointer);
  if (failed(made))
    return failure();
  op.getPtrMutable().assign(*made);
  return success();
}

} // namespace mlir::fly
