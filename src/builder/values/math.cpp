#include <flydsl/math.h>

#include "builder/values/operand.h"
#include "builder/trace/types.h"

#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

namespace {

/// The operand's type, which is a float that is computed with.
DType floatType(const char *op, const Handle &x, Loc loc) {
  DType type = dtypeOf(x, loc);
  const std::string name = std::string(op).substr(std::string_view(op).find('.') + 1);
  if (!type.is_float())
    throw TraceError(name + " takes floats, not " + std::string(type.name()), loc);
  expectComputable(name.c_str(), type, loc);
  return type;
}

/// The type that a function is computed in. The device's functions know no bf16, and f16 loses too
/// much in the reduction of large angles.
DType computedType(std::string_view op, DType type) {
  const bool isAngle = op == "math.sin" || op == "math.cos" || op == "math.tan";
  return type == bf16 || (type == f16 && isAngle) ? f32 : type;
}

/// An operation on operands of one float type and shape.
Handle floatOp(const char *op, std::initializer_list<const Handle *> operands, DType type,
               Loc loc) {
  Tracer &t = Tracer::require(op, loc);
  const DType inner = computedType(op, type);
  llvm::SmallVector<Typed, 3> typed;
  for (const Handle *h : operands)
    typed.push_back(operand(t, *h, inner, loc));
  for (int again = 0; again < 2; ++again) // a vector may come last
    for (std::size_t i = 1; i < typed.size(); ++i)
      matchShapes(t, typed[i - 1], typed[i], loc);
  llvm::SmallVector<mlir::Value, 3> values;
  for (const Typed &v : typed)
    values.push_back(v.value);
  Typed result{t.emit(op, values, loc, {}, values.front().getType()), inner};
  return wrap(t, converted(t, result, type, loc), loc);
}

} // namespace

Handle mathUnary(const char *op, const Handle &x, Loc loc) {
  return floatOp(op, {&x}, floatType(op, x, loc), loc);
}

Handle mathBinary(const char *op, const Handle &x, const Handle &y, Loc loc) {
  DType type = operandType(x, y, loc);
  return floatOp(op, {&x, &y}, type.is_float() ? type : floatType(op, x, loc), loc);
}

Handle mathFma(const Handle &a, const Handle &b, const Handle &c, Loc loc) {
  return floatOp("math.fma", {&a, &b, &c}, floatType("math.fma", a, loc), loc);
}

Handle mathBits(const char *op, const Handle &x, Loc loc) {
  Tracer &t = Tracer::require(op, loc);
  DType type = dtypeOf(x, loc);
  if (!type.is_integer())
    throw TraceError(std::string(op).substr(5) + " takes integers, not " + std::string(type.name()),
                     loc);
  mlir::Value v = operand(t, x, loc).value;
  return t.wrap(t.emit(op, v, loc, {}, v.getType()), type, loc);
}

Handle mathClass(FloatClass what, const Handle &x, Loc loc) {
  static constexpr const char *names[] = {"isnan", "isinf", "isfinite", "isnormal"};
  Tracer &t = Tracer::require(names[static_cast<int>(what)], loc);
  const DType type = floatType(names[static_cast<int>(what)], x, loc);
  if (what == FloatClass::nan) {
    Typed v = operand(t, x, loc);
    return t.wrap(t.emit("arith.cmpf", {v.value, v.value}, loc,
                         {t.named("predicate", t.builder().getI64IntegerAttr(14))}, // uno
                         v.like(boolean, t.context())),
                  boolean, loc);
  }
  auto number = [&](double v) { return constant(hostNumber(v), type, loc); };
  Handle magnitude = unary(UnaryOp::abs, x, loc), inf = number(HUGE_VAL);
  if (what == FloatClass::inf)
    return binary(BinaryOp::eq, magnitude, inf, loc);
  Handle isFinite = binary(BinaryOp::lt, magnitude, inf, loc);
  if (what == FloatClass::finite)
    return isFinite;
  const int least = type == f16   ? -14
                    : type == f64 ? -1022
                                  : -126; // the smallest normal's exponent
  return binary(BinaryOp::bitAnd, isFinite,
                binary(BinaryOp::ge, magnitude, number(std::ldexp(1.0, least)), loc), loc);
}

} // namespace detail

FastMathScope::FastMathScope(FastMath flags, Loc loc) {
  builder::Tracer &t = builder::Tracer::require("a fast-math scope", loc);
  tracer_ = &t;
  outer_ = t.setFastMath(static_cast<unsigned>(flags));
}

FastMathScope::~FastMathScope() {
  if (builder::Tracer::current() == tracer_)
    static_cast<builder::Tracer *>(tracer_)->setFastMath(outer_);
}

FLYDSL_NAMESPACE_END
