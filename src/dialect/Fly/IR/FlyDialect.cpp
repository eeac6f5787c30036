#include "dialect/Fly/IR/FlyDialect.h"

#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/IR/InferenceMemo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "dialect/Fly/IR/FlyDialect.cpp.inc"

namespace mlir::fly {

void FlyDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerConstructorOps();
  registerExtractOps();
  registerIntTupleOps();
  registerLayoutOps();
  registerAtomOps();
  registerTiledOps();
  registerMemoryOps();
  addInterfaces<InferenceMemo>();
}

Operation *FlyDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                           Location loc) {
  if (auto constant = dyn_cast<TypeAttr>(value))
    return constant.getValue() == type ? StaticOp::create(builder, loc, type).getOperation()
                                       : nullptr;
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

} // namespace mlir::fly
