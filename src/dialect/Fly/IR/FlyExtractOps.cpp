// Operations that take algebra values and views apart.
#include "dialect/Fly/IR/FlyOps.h"

#include "layout/error.h"

#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyExtractOps.cpp.inc"

namespace layout = flydsl::layout;
using layout::IntTuple;

namespace mlir::fly {

void FlyDialect::registerExtractOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Fly/IR/FlyExtractOps.cpp.inc"
      >();
}

using Results = SmallVectorImpl<AlgebraValue>;

/// A leaf as a number; its basis modes are left behind.
static ScalarValue scalar(const layout::Int &leaf) {
  if (leaf.isWildcard())
    layout::fail("a wildcard is no number");
  return {leaf.withoutBasis(), static_cast<unsigned>(leaf.width())};
}

/// The constant of a static leaf, or null.
static OpFoldResult foldLeaf(const layout::Int &leaf, Type type) {
  if (!leaf.isStatic())
    return {};
  return IntegerAttr::get(type, leaf.value());
}

/// The leaf of a tuple of one leaf, however deep.
static const layout::Int &onlyLeaf(const IntTuple &tuple) {
  const IntTuple *at = &tuple;
  while (!at->isLeaf() && at->rank() == 1)
    at = &at->at(0);
  if (!at->isLeaf())
    layout::fail("expected a tuple of one number, found ", tuple);
  return at->leaf();
}

void GetScalarOp::compute(const AlgebraArgs &args, Results &results) {
  results.push_back(scalar(onlyLeaf(args.get<IntTuple>(0))));
}
OpFoldResult GetScalarOp::fold(FoldAdaptor) {
  return foldLeaf(getIntTuple().getType().getValue().leaves()[0], getType());
}

void GetLeavesOp::compute(const AlgebraArgs &args, Results &results) {
  bool dynamicOnly = false;
  if (args.properties)
    if (BoolAttr attr = args.props<GetLeavesOp>().dynamicOnly)
      dynamicOnly = attr.getValue();
  for (const layout::Int &leaf : args.get<IntTuple>(0).leaves())
    if (!dynamicOnly || leaf.isDynamic())
      results.push_back(scalar(leaf));
}
LogicalResult GetLeavesOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &folded) {
  if (getDynamicOnly() || getNumResults() == 0 || !isStaticType(getInput().getType()))
    return failure();
  std::vector<layout::Int> leaves = getInput().getType().getValue().leaves();
  for (auto [leaf, result] : llvm::zip_equal(leaves, getResults()))
    folded.push_back(foldLeaf(leaf, result.getType()));
  return success();
}

void GetIterOp::compute(const AlgebraArgs &args, Results &results) {
  if (auto *tensor = std::get_if<CoordTensorValue>(&args.operands[0]))
    results.push_back(tensor->base);
  else
    results.push_back(args.get<MemRefValue>(0).iterator);
}

} // namespace mlir::fly
