#include <flydsl/math.h>

#include "builder/tracer.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

using builder::Tracer;

static DType floatType(const char *op, const Handle &x, Loc loc) {
  DType type = dtypeOf(x);
  if (!type.is_float())
    throw TraceError(std::string(op).substr(5) + " takes floats, not " + std::string(type.name()),
                     loc);
  return type;
}

static mlir::Value operand(Tracer &t, const Handle &x, DType type, Loc loc) {
  return t.use(hostAs<HostNumber>(x) ? expectScalar(x, type, loc) : convert(x, type, loc), loc);
}

Handle mathUnary(const char *op, const Handle &x, Loc loc) {
  Tracer &t = Tracer::require(op, loc);
  DType type = floatType(op, x, loc);
  mlir::Value v = operand(t, x, type, loc);
  return t.wrap(t.emit(op, v, loc, {}, v.getType()), type, loc);
}

Handle mathBinary(const char *op, const Handle &x, const Handle &y, Loc loc) {
  Tracer &t = Tracer::require(op, loc);
  DType type = floatType(op, x, loc);
  mlir::Value a = operand(t, x, type, loc);
  return t.wrap(t.emit(op, {a, operand(t, y, type, loc)}, loc, {}, a.getType()), type, loc);
}

Handle mathFma(const Handle &a, const Handle &b, const Handle &c, Loc loc) {
  Tracer &t = Tracer::require("fma", loc);
  DType type = floatType("math.fma", a, loc);
  mlir::Value x = operand(t, a, type, loc);
  auto alike = [&](const Handle &h) {
    mlir::Value v = operand(t, h, type, loc);
    return v.getType() == x.getType() ? v : t.emit("vector.broadcast", v, loc, {}, x.getType());
  };
  return t.wrap(t.emit("math.fma", {x, alike(b), alike(c)}, loc, {}, x.getType()), type, loc);
}

} // namespace detail
FLYDSL_NAMESPACE_END
