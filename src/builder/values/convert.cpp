// Conversions between element types.
#include "builder/values/operand.h"
#include "builder/trace/types.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

static Typed cast(Tracer &t, const Typed &from, const char *op, DType to, Loc loc) {
  return {t.emit(op, from.value, loc, {}, from.like(to, t.context())), to};
}

static bool isNarrow(DType type) { return type.is_float() && type.bits() < 16; }

static Typed toBoolean(Tracer &t, const Typed &from, Loc loc) {
  Typed zero{t.use(typedConstant({HostNumber::Kind::integer, {0}}, from.dtype, loc), loc),
             from.dtype};
  Typed value = from;
  matchShapes(t, value, zero, loc);
  const bool isFloat = from.dtype.is_float();
  auto predicate = t.builder().getI64IntegerAttr(isFloat ? 13 : 1); // une, ne
  return {t.emit(isFloat ? "arith.cmpf" : "arith.cmpi", {from.value, zero.value}, loc,
                 {t.named("predicate", predicate)}, from.like(boolean, t.context())),
          boolean};
}

Typed converted(Tracer &t, Typed from, DType to, Loc loc) {
  DType src = from.dtype;
  if (src == to)
    return from;
  // Narrow floats go to and from f32 alone; two floats of one width have it between them.
  if ((isNarrow(src) && to != f32) || (src.is_float() && to.is_float() && src.bits() == to.bits()))
    return converted(t, cast(t, from, "arith.extf", f32, loc), to, loc);
  if (isNarrow(to) && src != f32)
    return converted(t, converted(t, from, f32, loc), to, loc);
  if (src.is_float() && to.is_float())
    return cast(t, from, src.bits() < to.bits() ? "arith.extf" : "arith.truncf", to, loc);
  if (to == boolean)
    return toBoolean(t, from, loc);
  if (src.is_float())
    return cast(t, from, to.is_signed() ? "arith.fptosi" : "arith.fptoui", to, loc);
  if (to.is_float())
    return cast(t, from, src.is_signed() ? "arith.sitofp" : "arith.uitofp", to, loc);
  if (src.bits() == to.bits())
    return {from.value, to};
  if (src.bits() > to.bits())
    return cast(t, from, "arith.trunci", to, loc);
  return cast(t, from, src.is_signed() ? "arith.extsi" : "arith.extui", to, loc);
}

Handle convert(const Handle &a, DType to, Loc loc) {
  if (auto *number = hostAs<HostNumber>(a); number && !isTraced(a) && fits(*number, to))
    return typedConstant(*number, to, loc);
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
  const char *op = "arith.bitcast";
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(v.getType())) {
    std::int64_t bits = vector.getNumElements() * from.dtype.bits();
    if (bits % to.bits() != 0)
      throw TraceError("bitcast: " + builder::typeText(vector) + " is no whole number of " +
                           std::string(to.name()),
                       loc);
    type = mlir::VectorType::get(bits / to.bits(), type);
    op = "vector.bitcast";
  } else if (from.dtype.bits() != to.bits()) {
    throw TraceError("bitcast: " + std::string(from.dtype.name()) + " and " +
                         std::string(to.name()) + " differ in width",
                     loc);
  }
  return t.wrap(type == v.getType() ? v : t.emit(op, v, loc, {}, type), to, loc);
}

} // namespace detail
FLYDSL_NAMESPACE_END
