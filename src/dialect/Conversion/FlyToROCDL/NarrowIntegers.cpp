#include "dialect/Conversion/FlyToROCDL/NarrowIntegers.h"

#include "dialect/Fly/Transforms/IntegerFacts.h"
#include "layout/error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::fly {

using namespace flydsl::layout;

// The algebra refuses constants of more than 64 bits by an exception, which must not get into MLIR.
bool fits32(function_ref<ExprRef()> make) {
  try {
    return make()->range().fits32();
  } catch (const LayoutError &) {
    return false;
  }
}
bool fitsUnsigned32(function_ref<ExprRef()> make) {
  try {
    const auto range = make()->range();
    return range.isNonNegative() && range.hi <= int64_t(UINT32_MAX);
  } catch (const LayoutError &) {
    return false;
  }
}
bool fitsUnsigned32(Value value, int64_t times) {
  return fitsUnsigned32([&] { return exprMul(factsOf(value), exprConstant(times)); });
}

Value low32(OpBuilder &builder, Location loc, Value value) {
  if (value.getType().isInteger(32))
    return value;
  Type type = builder.getI32Type();
  if (std::optional<int64_t> constant = constantValue(value))
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(static_cast<int32_t>(*constant)));
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op) &&
      op->getOperand(0).getType().isInteger(32))
    return op->getOperand(0);
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    Value low[] = {low32(builder, loc, op->getOperand(0)), low32(builder, loc, op->getOperand(1))};
    return builder.create(loc, op->getName().getIdentifier(), low, {type})->getResult(0);
  }
  if (auto shift = dyn_cast_or_null<arith::ShLIOp>(op)) {
    std::optional<int64_t> by = constantValue(shift.getRhs());
    if (by && *by >= 0 && *by < 32)
      return arith::ShLIOp::create(builder, loc, low32(builder, loc, shift.getLhs()),
                                   low32(builder, loc, shift.getRhs()));
  }
  return arith::TruncIOp::create(builder, loc, type, value);
}
Value unsigned32(OpBuilder &builder, Location loc, Value value) {
  return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), low32(builder, loc, value));
}
Value wide(OpBuilder &builder, Location loc, Value value) {
  return value.getType().isInteger(64)
             ? value
             : Value(arith::ExtSIOp::create(builder, loc, builder.getI64Type(), value));
}

static Value sum(OpBuilder &builder, Location loc, ArrayRef<Value> terms,
                 Value (*inType)(OpBuilder &, Location, Value)) {
  Value all;
  for (Value term : terms) {
    Value next = inType(builder, loc, term);
    all = all ? Value(arith::AddIOp::create(builder, loc, all, next)) : next;
  }
  return all;
}
Value sum64(OpBuilder &builder, Location loc, ArrayRef<Value> terms) {
  return sum(builder, loc, terms, wide);
}
Value sum32(OpBuilder &builder, Location loc, ArrayRef<Value> terms) {
  return sum(builder, loc, terms, low32);
}
Value times32(OpBuilder &builder, Location loc, Value value, int64_t by) {
  Value low = low32(builder, loc, value);
  if (by == 1)
    return low;
  return arith::MulIOp::create(
      builder, loc, low,
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(by))));
}

} // namespace mlir::fly
