// Operations that make algebra values and views.
#include "dialect/Fly/IR/FlyOps.h"

#include "layout/coord.h"
#include "layout/make.h"

#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyConstructorOps.cpp.inc"

namespace layout = flydsl::layout;
using layout::IntTuple;
using layout::Layout;

namespace mlir::fly {

void FlyDialect::registerConstructorOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Fly/IR/FlyConstructorOps.cpp.inc"
      >();
}

using Results = SmallVectorImpl<AlgebraValue>;

LogicalResult StaticOp::verify() {
  if (!isStaticType(getType()))
    return emitOpError("expected a type that determines its value, found ") << getType();
  return success();
}
OpFoldResult StaticOp::fold(FoldAdaptor) { return TypeAttr::get(getType()); }

void MakeLayoutOp::compute(const AlgebraArgs &args, Results &results) {
  detail::computeByRow<MakeLayoutOp>(args, results);
}

void MakeComposedLayoutOp::compute(const AlgebraArgs &args, Results &results) {
  detail::computeByRow<MakeComposedLayoutOp>(args, results);
}

void MakeViewOp::compute(const AlgebraArgs &args, Results &results) {
  if (auto *base = std::get_if<IntTuple>(&args.operands[0]))
    results.push_back(CoordTensorValue{*base, args.layout(1)});
  else
    results.push_back(MemRefValue{args.get<PointerValue>(0), args.layout(1)});
}

LogicalResult MakeFragmentLikeOp::inferReturnTypes(MLIRContext *context,
                                                   std::optional<Location> location,
                                                   ValueRange operands, DictionaryAttr,
                                                   OpaqueProperties properties, RegionRange,
                                                   SmallVectorImpl<Type> &types) {
  Type source = operands[0].getType();
  Type elemTy;
  if (TypeAttr dtype = properties ? properties.as<Properties *>()->dtype : TypeAttr())
    elemTy = dtype.getValue();
  else if (auto memref = dyn_cast<MemRefType>(source))
    elemTy = memref.getElemTy();
  if (!elemTy)
    return emitOptionalError(location, "'fly.make_fragment_like' op needs an element type for ",
                             source);
  if (!elemTy.isIntOrFloat() || elemTy.getIntOrFloatBitWidth() == 0)
    return emitOptionalError(location, "'fly.make_fragment_like' op expected an integer or float ",
                             "element type, found ", elemTy);
  auto compute = [](const AlgebraArgs &args, Results &results) {
    results.push_back(layout::makeFragmentLayout(layout::outermost(args.layout(0))));
  };
  if (failed(detail::inferByAlgebra(compute, getOperationName(), context, location, operands,
                                    properties, types)))
    return failure();
  auto fragment = cast<LayoutType>(types.pop_back_val());
  types.push_back(
      MemRefType::get(PointerType::get(elemTy, AddressSpace::Register), fragment.getValue()));
  return success();
}

} // namespace mlir::fly
