// Elementary functions of scalars and vectors of floats. For bf16 they compute in f32 and round the
// result.
#pragma once

#include <flydsl/kernel/var.h>

#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
/// Operations of the IR on one float or vector of floats.
enum class MathUnary {
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sqrt,
  rsqrt,
  cbrt,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  floor,
  ceil,
  trunc,
  round,
  roundeven
};
/// Operations of the IR on two floats or vectors of floats.
enum class MathBinary { atan2, copysign };
/// Operations of the IR on one integer or vector of integers.
enum class MathBits { ctlz, cttz, ctpop };
FLYDSL_API Handle math(MathUnary function, const Handle &x, Loc loc);
FLYDSL_API Handle math(MathBinary function, const Handle &x, const Handle &y, Loc loc);
FLYDSL_API Handle math(MathBits function, const Handle &x, Loc loc);
FLYDSL_API Handle mathFma(const Handle &a, const Handle &b, const Handle &c, Loc loc);

enum class FloatClass { nan, inf, finite, normal };
FLYDSL_API Handle mathClass(FloatClass what, const Handle &x, Loc loc);

template <class X>
concept VectorLike = std::derived_from<X, Vector> || std::derived_from<X, VectorVar>;
/// The class of the operand or result of a function of arguments of these types.
template <class... X>
using MathArg = std::conditional_t<(VectorLike<X> || ...), VectorArg, NumericArg>;
template <class... X>
using MathResult = std::conditional_t<(VectorLike<X> || ...), Vector, Numeric>;
template <class... X> using MathTruth = std::conditional_t<(VectorLike<X> || ...), Vector, Boolean>;
template <class... X> Handle mathOperand(const auto &x, Loc loc) {
  return MathArg<X...>(x, loc).handle;
}
} // namespace detail

namespace math {

#define FLYDSL_MATH_FUNCTION(name, function)                                                       \
  template <class X> detail::MathResult<X> name(const X &x, Loc loc = Loc::current()) {            \
    return detail::MathResult<X>(                                                                  \
        detail::math(detail::MathUnary::function, detail::mathOperand<X>(x, loc), loc));           \
  }

/// e to the power x.
FLYDSL_MATH_FUNCTION(exp, exp)
/// 2 to the power x.
FLYDSL_MATH_FUNCTION(exp2, exp2)
/// exp(x) - 1, accurate near 0.
FLYDSL_MATH_FUNCTION(expm1, expm1)
/// The natural logarithm.
FLYDSL_MATH_FUNCTION(log, log)
/// The logarithm to base 2.
FLYDSL_MATH_FUNCTION(log2, log2)
/// The logarithm to base 10.
FLYDSL_MATH_FUNCTION(log10, log10)
/// log(1 + x), accurate near 0.
FLYDSL_MATH_FUNCTION(log1p, log1p)
/// The square root.
FLYDSL_MATH_FUNCTION(sqrt, sqrt)
/// 1 over the square root.
FLYDSL_MATH_FUNCTION(rsqrt, rsqrt)
/// The cube root.
FLYDSL_MATH_FUNCTION(cbrt, cbrt)
/// The sine of an angle in radians.
FLYDSL_MATH_FUNCTION(sin, sin)
/// The cosine of an angle in radians.
FLYDSL_MATH_FUNCTION(cos, cos)
/// The tangent of an angle in radians.
FLYDSL_MATH_FUNCTION(tan, tan)
/// The inverse sine, from -pi/2 to pi/2.
FLYDSL_MATH_FUNCTION(asin, asin)
/// The inverse cosine, from 0 to pi.
FLYDSL_MATH_FUNCTION(acos, acos)
/// The inverse tangent, from -pi/2 to pi/2.
FLYDSL_MATH_FUNCTION(atan, atan)
/// The hyperbolic sine.
FLYDSL_MATH_FUNCTION(sinh, sinh)
/// The hyperbolic cosine.
FLYDSL_MATH_FUNCTION(cosh, cosh)
/// The hyperbolic tangent.
FLYDSL_MATH_FUNCTION(tanh, tanh)
/// The inverse hyperbolic sine.
FLYDSL_MATH_FUNCTION(asinh, asinh)
/// The inverse hyperbolic cosine of x >= 1.
FLYDSL_MATH_FUNCTION(acosh, acosh)
/// The inverse hyperbolic tangent of x between -1 and 1.
FLYDSL_MATH_FUNCTION(atanh, atanh)
/// The error function.
FLYDSL_MATH_FUNCTION(erf, erf)
/// 1 - erf(x), accurate where erf(x) is near 1.
FLYDSL_MATH_FUNCTION(erfc, erfc)
/// The largest integer not above x.
FLYDSL_MATH_FUNCTION(floor, floor)
/// The smallest integer not below x.
FLYDSL_MATH_FUNCTION(ceil, ceil)
/// x rounded towards zero.
FLYDSL_MATH_FUNCTION(trunc, trunc)
/// The nearest integer; halves are rounded away from zero.
FLYDSL_MATH_FUNCTION(round, round)
/// The nearest integer; halves are rounded to the even one.
FLYDSL_MATH_FUNCTION(roundeven, roundeven)
/// The same function by its name in C.
FLYDSL_MATH_FUNCTION(rint, roundeven)
#undef FLYDSL_MATH_FUNCTION

/// The number of zero bits above the highest set bit of an integer. If no bit is set, the result is
/// the width of the type.
template <class X> detail::MathResult<X> ctlz(const X &x, Loc loc = Loc::current()) {
  return detail::MathResult<X>(
      detail::math(detail::MathBits::ctlz, detail::mathOperand<X>(x, loc), loc));
}
/// The number of zero bits below the lowest set bit of an integer. If no bit is set, the result is
/// the width of the type.
template <class X> detail::MathResult<X> cttz(const X &x, Loc loc = Loc::current()) {
  return detail::MathResult<X>(
      detail::math(detail::MathBits::cttz, detail::mathOperand<X>(x, loc), loc));
}
/// The number of set bits of an integer.
template <class X> detail::MathResult<X> ctpop(const X &x, Loc loc = Loc::current()) {
  return detail::MathResult<X>(
      detail::math(detail::MathBits::ctpop, detail::mathOperand<X>(x, loc), loc));
}

/// True if x is a NaN.
template <class X> detail::MathTruth<X> isnan(const X &x, Loc loc = Loc::current()) {
  return detail::MathTruth<X>(
      detail::mathClass(detail::FloatClass::nan, detail::mathOperand<X>(x, loc), loc));
}
/// True if x is infinite.
template <class X> detail::MathTruth<X> isinf(const X &x, Loc loc = Loc::current()) {
  return detail::MathTruth<X>(
      detail::mathClass(detail::FloatClass::inf, detail::mathOperand<X>(x, loc), loc));
}
/// True if x is neither a NaN nor infinite.
template <class X> detail::MathTruth<X> isfinite(const X &x, Loc loc = Loc::current()) {
  return detail::MathTruth<X>(
      detail::mathClass(detail::FloatClass::finite, detail::mathOperand<X>(x, loc), loc));
}
/// True if x is finite and neither zero nor denormal.
template <class X> detail::MathTruth<X> isnormal(const X &x, Loc loc = Loc::current()) {
  return detail::MathTruth<X>(
      detail::mathClass(detail::FloatClass::normal, detail::mathOperand<X>(x, loc), loc));
}

/// The magnitude of x, a float or an integer.
template <class X> detail::MathResult<X> abs(const X &x, Loc loc = Loc::current()) {
  return detail::MathResult<X>(
      detail::unary(detail::UnaryOp::abs, detail::mathOperand<X>(x, loc), loc));
}
/// The sine and the cosine of an angle in radians.
template <class X>
std::pair<detail::MathResult<X>, detail::MathResult<X>> sincos(const X &x,
                                                               Loc loc = Loc::current()) {
  return {sin(x, loc), cos(x, loc)};
}
/// x to the power y. For integers the result is reduced to the bits that fit; a negative exponent
/// gives the quotient 1 / x^-y, rounded towards zero.
template <class X, class Y>
detail::MathResult<X, Y> pow(const X &x, const Y &y, Loc loc = Loc::current()) {
  return detail::MathResult<X, Y>(detail::binary(detail::BinaryOp::pow,
                                                 detail::mathOperand<X, Y>(x, loc),
                                                 detail::mathOperand<X, Y>(y, loc), loc));
}
/// The angle of the point (x, y): atan(y / x), in the quadrant that both signs give.
template <class Y, class X>
detail::MathResult<X, Y> atan2(const Y &y, const X &x, Loc loc = Loc::current()) {
  return detail::MathResult<X, Y>(detail::math(detail::MathBinary::atan2,
                                               detail::mathOperand<X, Y>(y, loc),
                                               detail::mathOperand<X, Y>(x, loc), loc));
}
/// The magnitude of x with the sign of y.
template <class X, class Y>
detail::MathResult<X, Y> copysign(const X &x, const Y &y, Loc loc = Loc::current()) {
  return detail::MathResult<X, Y>(detail::math(detail::MathBinary::copysign,
                                               detail::mathOperand<X, Y>(x, loc),
                                               detail::mathOperand<X, Y>(y, loc), loc));
}
/// a * b + c, rounded once. A result in bf16 is rounded to f32 first, except on gfx1250.
template <class A, class B, class C>
detail::MathResult<A, B, C> fma(const A &a, const B &b, const C &c, Loc loc = Loc::current()) {
  return detail::MathResult<A, B, C>(detail::mathFma(detail::mathOperand<A, B, C>(a, loc),
                                                     detail::mathOperand<A, B, C>(b, loc),
                                                     detail::mathOperand<A, B, C>(c, loc), loc));
}
/// x limited to [lo, hi]. A NaN gives the lower limit.
template <class X, class L, class H>
detail::MathResult<X, L, H> clampf(const X &x, const L &lo, const H &hi, Loc loc = Loc::current()) {
  using detail::BinaryOp;
  detail::Handle above = detail::binary(BinaryOp::max, detail::mathOperand<X, L, H>(x, loc),
                                        detail::mathOperand<X, L, H>(lo, loc), loc);
  return detail::MathResult<X, L, H>(
      detail::binary(BinaryOp::min, above, detail::mathOperand<X, L, H>(hi, loc), loc));
}

} // namespace math

/// Permissions that the compiler gets for floating-point computations: LLVM's fast-math flags.
enum class FastMath : unsigned {
  none = 0,
  reassoc = 1,   ///< sums and products may be computed in another order
  nnan = 2,      ///< no operand or result is a NaN
  ninf = 4,      ///< no operand or result is infinite
  nsz = 8,       ///< the sign of a zero does not matter
  arcp = 16,     ///< x / y may be computed as x * (1 / y)
  contract = 32, ///< a product and a sum may be rounded once
  afn = 64,      ///< functions may be approximated
  fast = 127     ///< all of these
};
constexpr FastMath operator|(FastMath a, FastMath b) {
  return static_cast<FastMath>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// While this object lives, the floating-point operations of the kernel are traced with these
/// permissions too, besides those of the enclosing scope or, outside of one, of the kernel's hint:
///
///   { fx::FastMathScope scope(fx::FastMath::contract); sum = sum + a * b; }
///
/// `FastMath::none` takes all of them away: what is traced is computed as it is written, until a scope
/// inside of it permits something again.
class FLYDSL_API FastMathScope {
public:
  explicit FastMathScope(FastMath flags, Loc loc = Loc::current());
  ~FastMathScope();
  FastMathScope(const FastMathScope &) = delete;

private:
  unsigned outer_;
  void *tracer_;
};

FLYDSL_NAMESPACE_END
