#include <flydsl/kernel/math.h>

#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

namespace {

/// A function on floats as an operation of the IR, its operands of one type and shape.
struct Function {
  const char *name;
  mlir::Value (*make)(Tracer &, mlir::ValueRange, Loc);
  /// True if f16 loses too much in the reduction of large angles.
  bool ofAngle = false;
};

template <class Op> mlir::Value make(Tracer &t, mlir::ValueRange operands, Loc loc) {
  mlir::Type type = operands.front().getType();
  return t.create<Op>(loc, mlir::TypeRange(type), operands);
}
template <class Op> Function function(bool ofAngle = false) {
  return {Op::getOperationName().split('.').second.data(), &make<Op>, ofAngle};
}

Function functionOf(MathUnary what) {
  using namespace mlir::math;
  switch (what) {
  case MathUnary::exp:
    return function<ExpOp>();
  case MathUnary::exp2:
    return function<Exp2Op>();
  case MathUnary::expm1:
    return function<ExpM1Op>();
  case MathUnary::log:
    return function<LogOp>();
  case MathUnary::log2:
    return function<Log2Op>();
  case MathUnary::log10:
    return function<Log10Op>();
  case MathUnary::log1p:
    return function<Log1pOp>();
  case MathUnary::sqrt:
    return function<SqrtOp>();
  case MathUnary::rsqrt:
    return function<RsqrtOp>();
  case MathUnary::cbrt:
    return function<CbrtOp>();
  case MathUnary::sin:
    return function<SinOp>(/*ofAngle=*/true);
  case MathUnary::cos:
    return function<CosOp>(/*ofAngle=*/true);
  case MathUnary::tan:
    return function<TanOp>(/*ofAngle=*/true);
  case MathUnary::asin:
    return function<AsinOp>();
  case MathUnary::acos:
    return function<AcosOp>();
  case MathUnary::atan:
    return function<AtanOp>();
  case MathUnary::sinh:
    return function<SinhOp>();
  case MathUnary::cosh:
    return function<CoshOp>();
  case MathUnary::tanh:
    return function<TanhOp>();
  case MathUnary::asinh:
    return function<AsinhOp>();
  case MathUnary::acosh:
    return function<AcoshOp>();
  case MathUnary::atanh:
    return function<AtanhOp>();
  case MathUnary::erf:
    return function<ErfOp>();
  case MathUnary::erfc:
    return function<ErfcOp>();
  case MathUnary::floor:
    return function<FloorOp>();
  case MathUnary::ceil:
    return function<CeilOp>();
  case MathUnary::trunc:
    return function<TruncOp>();
  case MathUnary::round:
    return function<RoundOp>();
  case MathUnary::roundeven:
    return function<RoundEvenOp>();
  }
  llvm_unreachable("a function of one float");
}

Function functionOf(MathBinary what) {
  switch (what) {
  case MathBinary::atan2:
    return function<mlir::math::Atan2Op>();
  case MathBinary::copysign:
    return function<mlir::math::CopySignOp>();
  }
  llvm_unreachable("a function of two floats");
}

Function functionOf(MathBits what) {
  switch (what) {
  case MathBits::ctlz:
    return function<mlir::math::CountLeadingZerosOp>();
  case MathBits::cttz:
    return function<mlir::math::CountTrailingZerosOp>();
  case MathBits::ctpop:
    return function<mlir::math::CtPopOp>();
  }
  llvm_unreachable("a function of one integer");
}

/// The operand's type, which is a float that is computed with.
DType floatType(const char *function, const Handle &x, Loc loc) {
  DType type = dtypeOf(x, loc);
  if (!type.is_float())
    throw TraceError(std::string(function) + " takes floats, not " + std::string(type.name()), loc);
  expectComputable(function, type, loc);
  return type;
}

/// The type that a function is computed in. The device's functions know no bf16.
DType computedType(const Function &function, DType type) {
  return type == bf16 || (type == f16 && function.ofAngle) ? f32 : type;
}

/// A function of operands of one float type and shape.
Handle floatFunction(const Function &function, std::initializer_list<const Handle *> operands,
                     DType type, Loc loc) {
  Tracer &t = Tracer::require(function.name, loc);
  const DType inner = computedType(function, type);
  llvm::SmallVector<Typed, 3> typed;
  for (const Handle *h : operands)
    typed.push_back(operand(t, *h, inner, loc));
  for (int again = 0; again < 2; ++again) // a vector may come last
    for (std::size_t i = 1; i < typed.size(); ++i)
      matchShapes(t, typed[i - 1], typed[i], loc);
  llvm::SmallVector<mlir::Value, 3> values;
  for (const Typed &v : typed)
    values.push_back(v.value);
  Typed result{function.make(t, values, loc), inner};
  return wrap(t, converted(t, result, type, loc), loc);
}

} // namespace

Handle math(MathUnary what, const Handle &x, Loc loc) {
  const Function function = functionOf(what);
  return floatFunction(function, {&x}, floatType(function.name, x, loc), loc);
}

Handle math(MathBinary what, const Handle &x, const Handle &y, Loc loc) {
  const Function function = functionOf(what);
  DType type = operandType(x, y, loc);
  return floatFunction(function, {&x, &y},
                       type.is_float() ? type : floatType(function.name, x, loc), loc);
}

Handle mathFma(const Handle &a, const Handle &b, const Handle &c, Loc loc) {
  const Function fma = function<mlir::math::FmaOp>();
  return floatFunction(fma, {&a, &b, &c}, floatType(fma.name, a, loc), loc);
}

Handle math(MathBits what, const Handle &x, Loc loc) {
  const Function function = functionOf(what);
  Tracer &t = Tracer::require(function.name, loc);
  DType type = dtypeOf(x, loc);
  if (!type.is_integer())
    throw TraceError(
        std::string(function.name) + " takes integers, not " + std::string(type.name()), loc);
  return t.wrap(function.make(t, operand(t, x, loc).value, loc), type, loc);
}

static const char *nameOf(FloatClass what) {
  switch (what) {
  case FloatClass::nan:
    return "isnan";
  case FloatClass::inf:
    return "isinf";
  case FloatClass::finite:
    return "isfinite";
  case FloatClass::normal:
    return "isnormal";
  }
  llvm_unreachable("a class of floats");
}

Handle mathClass(FloatClass what, const Handle &x, Loc loc) {
  Tracer &t = Tracer::require(nameOf(what), loc);
  const DType type = floatType(nameOf(what), x, loc);
  if (what == FloatClass::nan) {
    Typed v = operand(t, x, loc);
    return t.wrap(t.create<mlir::arith::CmpFOp>(loc, v.like(boolean, t.context()),
                                                mlir::arith::CmpFPredicate::UNO, v.value, v.value),
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

// fx::FastMath's flags are the dialect's.
static constexpr bool isSame(FastMath ours, mlir::arith::FastMathFlags dialects) {
  return static_cast<unsigned>(ours) == static_cast<unsigned>(dialects);
}
static_assert(isSame(FastMath::none, mlir::arith::FastMathFlags::none) &&
              isSame(FastMath::reassoc, mlir::arith::FastMathFlags::reassoc) &&
              isSame(FastMath::nnan, mlir::arith::FastMathFlags::nnan) &&
              isSame(FastMath::ninf, mlir::arith::FastMathFlags::ninf) &&
              isSame(FastMath::nsz, mlir::arith::FastMathFlags::nsz) &&
              isSame(FastMath::arcp, mlir::arith::FastMathFlags::arcp) &&
              isSame(FastMath::contract, mlir::arith::FastMathFlags::contract) &&
              isSame(FastMath::afn, mlir::arith::FastMathFlags::afn) &&
              isSame(FastMath::fast, mlir::arith::FastMathFlags::fast));

FastMathScope::FastMathScope(FastMath flags, Loc loc) {
  builder::Tracer &t = builder::Tracer::require("a fast-math scope", loc);
  tracer_ = &t;
  outer_ = t.ir.fastMath();
  t.ir.setFastMath(flags == FastMath::none ? 0 : outer_ | static_cast<unsigned>(flags));
}

FastMathScope::~FastMathScope() {
  if (detail::running() == tracer_)
    static_cast<builder::Tracer *>(tracer_)->ir.setFastMath(outer_);
}

FLYDSL_NAMESPACE_END
