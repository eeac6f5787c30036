// Conversions between element types.
#include "builder/trace/types.h"
#include "builder/values/operand.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

namespace arith = mlir::arith;

template <class Op> static Typed cast(Tracer &t, const Typed &from, DType to, Loc loc) {
  mlir::Type type = from.like(to, t.context());
  return {t.create<Op>(loc, mlir::TypeRange(type), mlir::ValueRange(from.value)), to};
}

static bool isNarrow(DType type) { return type.is_float() && type.bits() < 16; }

static Typed toBoolean(Tracer &t, const Typed &from, Loc loc) {
  Typed zero{t.use(typedConstant({HostNumber::Kind::integer, {0}}, from.dtype, loc), loc),
             from.dtype};
  Typed value = from;
  matchShapes(t, value, zero, loc);
  const mlir::Type truth = from.like(boolean, t.context());
  if (from.dtype.is_float())
    return {t.create<arith::CmpFOp>(loc, truth, arith::CmpFPredicate::UNE, from.value, zero.value),
            boolean};
  return {t.create<arith::CmpIOp>(loc, truth, arith::CmpIPredicate::ne, from.value, zero.value),
          boolean};
}

Typed converted(Tracer &t, Typed from, DType to, Loc loc) {
  DType src = from.dtype;
  if (src == to)
    return from;
  // Narrow floats go to and from f32 alone; two floats of one width have it between them.
  if ((isNarrow(src) && to != f32) || (src.is_float() && to.is_float() && src.bits() == to.bits()))
    return converted(t, cast<arith::ExtFOp>(t, from, f32, loc), to, loc);
  if (isNarrow(to) && src != f32)
    return converted(t, converted(t, from, f32, loc), to, loc);
  if (src.is_float() && to.is_float())
    return src.bits() < to.bits() ? cast<arith::ExtFOp>(t, from, to, loc)
                                  : cast<arith::TruncFOp>(t, from, to, loc);
  if (to == boolean)
    return toBoolean(t, from, loc);
  if (src.is_float())
    return to.is_signed() ? cast<arith::FPToSIOp>(t, from, to, loc)
                          : cast<arith::FPToUIOp>(t, from, to, loc);
  if (to.is_float())
    return src.is_signed() ? cast<arith::SIToFPOp>(t, from, to, loc)
                           : cast<arith::UIToFPOp>(t, from, to, loc);
  if (src.bits() == to.bits())
    return {from.value, to};
  if (src.bits() > to.bits())
    return cast<arith::TruncIOp>(t, from, to, loc);
  return src.is_signed() ? cast<arith::ExtSIOp>(t, from, to, loc)
                         : cast<arith::ExtUIOp>(t, from, to, loc);
}

Handle convert(const Handle &a, DType to, Loc loc) {
  if (auto *number = hostAs<HostNumber>(a); number && !isTraced(a)) {
    if (to.is_float())
      return roundedConstant(*number, to);
    if (fits(*number, to))
      return typedConstant(*number, to, loc);
  }
  DType from = dtypeOf(a, loc);
  if (from == to)
    return a;
  Tracer &t = Tracer::require("a conversion", loc);
  return wrap(t, converted(t, operand(t, a, from, loc), to, loc), loc);
}

Handle bitcast(const Handle &a, DType to, Loc loc) {
  Tracer &t = Tracer::require("a bitcast", loc);
  Typed from = operand(t, a, loc);
  mlir::Value v = from.value;
  mlir::Type type = builder::elementType(to, t.context());
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(v.getType())) {
    std::int64_t bits = vector.getNumElements() * from.dtype.bits();
    if (bits % to.bits() != 0)
      throw TraceError("bitcast: " + builder::typeText(vector) + " is no whole number of " +
                           std::string(to.name()),
                       loc);
    type = mlir::VectorType::get(bits / to.bits(), type);
  } else if (from.dtype.bits() != to.bits()) {
    throw TraceError("bitcast: " + std::string(from.dtype.name()) + " and " +
                         std::string(to.name()) + " differ in width",
                     loc);
  }
  if (type == v.getType())
    return t.wrap(v, to, loc);
  if (mlir::isa<mlir::VectorType>(type))
    return t.wrap(t.create<mlir::vector::BitCastOp>(loc, type, v), to, loc);
  return t.wrap(t.create<arith::BitcastOp>(loc, type, v), to, loc);
}

} // namespace detail
FLYDSL_NAMESPACE_END
