// Arithmetic on tuples, and what regroups the modes of tuples, layouts and tensors.
#include "dialect/Fly/IR/FlyOps.h"

#include "layout/coord.h"

#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyIntTupleOps.cpp.inc"

namespace layout = flydsl::layout;
using layout::IntTuple;
using layout::Layout;

namespace mlir::fly {

void FlyDialect::registerIntTupleOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Fly/IR/FlyIntTupleOps.cpp.inc"
      >();
}

using Results = SmallVectorImpl<AlgebraValue>;

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// The answer if the types of the operands determine it, else nothing.
static OpFoldResult foldCompare(AlgebraFn fn, Operation *op) {
  SmallVector<AlgebraValue, 2> operands, results;
  for (Type type : op->getOperandTypes())
    operands.push_back(getAlgebraValue(type));
  std::string error;
  if (!detail::runAlgebra(fn, {op->getContext(), operands, OpaqueProperties(nullptr)}, results,
                          error))
    return {};
  const layout::Int &answer = std::get<ScalarValue>(results[0]).value;
  return answer.isStatic() ? OpFoldResult(BoolAttr::get(op->getContext(), answer.value() != 0))
                           : OpFoldResult();
}

void ElemLessOp::compute(const AlgebraArgs &args, Results &results) {
  detail::computeByRow<ElemLessOp>(args, results);
}
OpFoldResult ElemLessOp::fold(FoldAdaptor) { return foldCompare(&ElemLessOp::compute, *this); }

void EqualOp::compute(const AlgebraArgs &args, Results &results) {
  detail::computeByRow<EqualOp>(args, results);
}
OpFoldResult EqualOp::fold(FoldAdaptor) { return foldCompare(&EqualOp::compute, *this); }

//===----------------------------------------------------------------------===//
// Modes
//===----------------------------------------------------------------------===//

void SliceOp::compute(const AlgebraArgs &args, Results &results) {
  // The iterator of a tensor with a plain layout moves to the coordinate. A composed layout takes
  // the offset itself, as the row's function says, and the iterator stays.
  const bool isTensor = std::holds_alternative<MemRefValue>(args.operands[0]) ||
                        std::holds_alternative<CoordTensorValue>(args.operands[0]);
  if (!isTensor || std::holds_alternative<layout::ComposedLayout>(args.layout(0)))
    return detail::computeByRow<SliceOp>(args, results);
  const IntTuple &coord = args.get<IntTuple>(1);
  const Layout linear = layout::outermost(args.layout(0));
  const Layout kept = layout::slice(linear, coord);
  const IntTuple offset = layout::crd2idx(coord, linear);
  if (auto *memref = std::get_if<MemRefValue>(&args.operands[0]))
    results.push_back(MemRefValue{movedBy(memref->iterator, offset), kept});
  else
    results.push_back(
        CoordTensorValue{layout::add(args.get<CoordTensorValue>(0).base, offset), kept});
}

} // namespace mlir::fly
