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
// Arithmetic
//===----------------------------------------------------------------------===//

using Binary = IntTuple (*)(const IntTuple &, const IntTuple &);

static void binary(Binary fn, const AlgebraArgs &args, Results &results) {
  results.push_back(fn(args.get<IntTuple>(0), args.get<IntTuple>(1)));
}

void IntTupleAddOp::compute(const AlgebraArgs &args, Results &results) {
  binary(&layout::add, args, results);
}
void IntTupleSubOp::compute(const AlgebraArgs &args, Results &results) {
  binary(&layout::sub, args, results);
}
void IntTupleMulOp::compute(const AlgebraArgs &args, Results &results) {
  binary(&layout::mul, args, results);
}
void IntTupleDivOp::compute(const AlgebraArgs &args, Results &results) {
  binary(&layout::div, args, results);
}
void IntTupleModOp::compute(const AlgebraArgs &args, Results &results) {
  binary(&layout::mod, args, results);
}
void ShapeDivOp::compute(const AlgebraArgs &args, Results &results) {
  binary(&layout::shapeDiv, args, results);
}
void CeilDivOp::compute(const AlgebraArgs &args, Results &results) {
  binary(&layout::ceilDiv, args, results);
}
void IntTupleProductLikeOp::compute(const AlgebraArgs &args, Results &results) {
  binary(&layout::productLike, args, results);
}
void IntTupleProductOp::compute(const AlgebraArgs &args, Results &results) {
  results.push_back(IntTuple(layout::product(args.get<IntTuple>(0))));
}
void IntTupleProductEachOp::compute(const AlgebraArgs &args, Results &results) {
  results.push_back(layout::productEach(args.get<IntTuple>(0)));
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

using Compare = layout::Int (*)(const IntTuple &, const IntTuple &);

static void compare(Compare fn, const AlgebraArgs &args, Results &results) {
  results.push_back(ScalarValue{fn(args.get<IntTuple>(0), args.get<IntTuple>(1)), 1});
}

/// The answer, where the operands' types settle it.
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
  compare(&layout::elemLess, args, results);
}
OpFoldResult ElemLessOp::fold(FoldAdaptor) { return foldCompare(&ElemLessOp::compute, *this); }

void EqualOp::compute(const AlgebraArgs &args, Results &results) {
  compare(&layout::equal, args, results);
}
OpFoldResult EqualOp::fold(FoldAdaptor) { return foldCompare(&EqualOp::compute, *this); }

//===----------------------------------------------------------------------===//
// Modes
//===----------------------------------------------------------------------===//

/// The same change to a tuple, or to shape and stride of whatever has a layout.
template <class Fn> static AlgebraValue onModes(const AlgebraArgs &args, unsigned i, Fn fn) {
  if (auto *tuple = std::get_if<IntTuple>(&args.operands[i]))
    return fn(*tuple);
  Layout linear = layout::outermost(args.layout(i));
  return args.withLinear(i, Layout(fn(linear.shape()), fn(linear.stride())));
}

void GetOp::compute(const AlgebraArgs &args, Results &results) {
  ArrayRef<int32_t> mode = args.props<GetOp>().mode;
  layout::ModePath path(mode.begin(), mode.end());
  results.push_back(onModes(args, 0, [&](const IntTuple &t) { return t.at(path); }));
}

void TakeOp::compute(const AlgebraArgs &args, Results &results) {
  auto &props = args.props<TakeOp>();
  results.push_back(onModes(args, 0, [&](const IntTuple &t) {
    return layout::take(t, static_cast<int>(props.begin.getInt()),
                        static_cast<int>(props.end.getInt()));
  }));
}

void SelectOp::compute(const AlgebraArgs &args, Results &results) {
  ArrayRef<int32_t> indices = args.props<SelectOp>().indices;
  std::vector<int32_t> modes(indices.begin(), indices.end());
  results.push_back(onModes(args, 0, [&](const IntTuple &t) { return layout::select(t, modes); }));
}

void GroupOp::compute(const AlgebraArgs &args, Results &results) {
  auto &props = args.props<GroupOp>();
  results.push_back(onModes(args, 0, [&](const IntTuple &t) {
    return layout::group(t, static_cast<int>(props.begin.getInt()),
                         static_cast<int>(props.end.getInt()));
  }));
}

using Extend = IntTuple (*)(const IntTuple &, const IntTuple &, int);

static void extend(Extend fn, IntegerAttr n, const AlgebraArgs &args, Results &results) {
  int rank = n ? static_cast<int>(n.getInt()) : -1;
  if (auto *tuple = std::get_if<IntTuple>(&args.operands[0])) {
    results.push_back(fn(*tuple, args.get<IntTuple>(1), rank));
    return;
  }
  Layout linear = layout::outermost(args.layout(0));
  const Layout &mode = args.get<Layout>(1);
  results.push_back(args.withLinear(
      0, Layout(fn(linear.shape(), mode.shape(), rank), fn(linear.stride(), mode.stride(), rank))));
}
void AppendOp::compute(const AlgebraArgs &args, Results &results) {
  extend(&layout::append, args.props<AppendOp>().n, args, results);
}
void PrependOp::compute(const AlgebraArgs &args, Results &results) {
  extend(&layout::prepend, args.props<PrependOp>().n, args, results);
}

void SliceOp::compute(const AlgebraArgs &args, Results &results) {
  const IntTuple &coord = args.get<IntTuple>(1);
  if (auto *tuple = std::get_if<IntTuple>(&args.operands[0])) {
    results.push_back(layout::slice(*tuple, coord));
    return;
  }
  Layout linear = layout::outermost(args.layout(0));
  Layout kept(layout::slice(linear.shape(), coord), layout::slice(linear.stride(), coord));
  if (std::holds_alternative<Layout>(args.operands[0])) {
    results.push_back(kept);
    return;
  }
  IntTuple offset = layout::crd2idx(coord, linear);
  if (auto *memref = std::get_if<MemRefValue>(&args.operands[0])) {
    results.push_back(movedBy(*memref, offset, kept));
  } else if (auto *tensor = std::get_if<CoordTensorValue>(&args.operands[0])) {
    results.push_back(movedBy(*tensor, offset, kept));
  } else {
    // A composed layout moves as the layout of a tensor does.
    CoordTensorValue moved = movedBy(CoordTensorValue{0, args.layout(0)}, offset, kept);
    results.push_back(std::get<layout::ComposedLayout>(moved.layout));
  }
}

void DiceOp::compute(const AlgebraArgs &args, Results &results) {
  const IntTuple &coord = args.get<IntTuple>(1);
  results.push_back(onModes(args, 0, [&](const IntTuple &t) { return layout::dice(t, coord); }));
}

} // namespace mlir::fly
