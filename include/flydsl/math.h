// Elementary functions of scalars and vectors of floats.
#pragma once

#include <flydsl/vector.h>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
/// An operation of the IR on floats.
FLYDSL_API Handle mathUnary(const char *op, const Handle &x, Loc loc);
FLYDSL_API Handle mathBinary(const char *op, const Handle &x, const Handle &y, Loc loc);
FLYDSL_API Handle mathFma(const Handle &a, const Handle &b, const Handle &c, Loc loc);
} // namespace detail

namespace math {

/// e to the power of x.
inline Numeric exp(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.exp", x.handle, x.loc));
}
inline Vector exp(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.exp", x.handle(), loc));
}
/// 2 to the power of x.
inline Numeric exp2(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.exp2", x.handle, x.loc));
}
inline Vector exp2(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.exp2", x.handle(), loc));
}
/// exp(x) - 1, exact near 0.
inline Numeric expm1(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.expm1", x.handle, x.loc));
}
inline Vector expm1(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.expm1", x.handle(), loc));
}
/// The natural logarithm.
inline Numeric log(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.log", x.handle, x.loc));
}
inline Vector log(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.log", x.handle(), loc));
}
/// The logarithm to base 2.
inline Numeric log2(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.log2", x.handle, x.loc));
}
inline Vector log2(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.log2", x.handle(), loc));
}
/// The logarithm to base 10.
inline Numeric log10(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.log10", x.handle, x.loc));
}
inline Vector log10(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.log10", x.handle(), loc));
}
/// log(1 + x), exact near 0.
inline Numeric log1p(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.log1p", x.handle, x.loc));
}
inline Vector log1p(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.log1p", x.handle(), loc));
}
/// The square root.
inline Numeric sqrt(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.sqrt", x.handle, x.loc));
}
inline Vector sqrt(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.sqrt", x.handle(), loc));
}
/// 1 over the square root.
inline Numeric rsqrt(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.rsqrt", x.handle, x.loc));
}
inline Vector rsqrt(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.rsqrt", x.handle(), loc));
}
/// The sine of radians.
inline Numeric sin(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.sin", x.handle, x.loc));
}
inline Vector sin(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.sin", x.handle(), loc));
}
/// The cosine of radians.
inline Numeric cos(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.cos", x.handle, x.loc));
}
inline Vector cos(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.cos", x.handle(), loc));
}
/// The tangent of radians.
inline Numeric tan(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.tan", x.handle, x.loc));
}
inline Vector tan(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.tan", x.handle(), loc));
}
/// The angle of a tangent.
inline Numeric atan(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.atan", x.handle, x.loc));
}
inline Vector atan(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.atan", x.handle(), loc));
}
/// The hyperbolic tangent.
inline Numeric tanh(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.tanh", x.handle, x.loc));
}
inline Vector tanh(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.tanh", x.handle(), loc));
}
/// The error function.
inline Numeric erf(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.erf", x.handle, x.loc));
}
inline Vector erf(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.erf", x.handle(), loc));
}
/// The largest integer not above x.
inline Numeric floor(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.floor", x.handle, x.loc));
}
inline Vector floor(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.floor", x.handle(), loc));
}
/// The smallest integer not below x.
inline Numeric ceil(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.ceil", x.handle, x.loc));
}
inline Vector ceil(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.ceil", x.handle(), loc));
}
/// x without its fraction.
inline Numeric trunc(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.trunc", x.handle, x.loc));
}
inline Vector trunc(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.trunc", x.handle(), loc));
}
/// The nearest integer, halves away from zero.
inline Numeric round(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.round", x.handle, x.loc));
}
inline Vector round(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.round", x.handle(), loc));
}
/// The nearest integer, halves to the even one.
inline Numeric rint(const detail::NumericArg &x) {
  return Numeric(detail::mathUnary("math.roundeven", x.handle, x.loc));
}
inline Vector rint(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::mathUnary("math.roundeven", x.handle(), loc));
}
/// |x|, of integers too.
inline Numeric abs(const detail::NumericArg &x) {
  return Numeric(detail::unary(detail::UnaryOp::abs, x.handle, x.loc));
}
inline Vector abs(const Vector &x, Loc loc = Loc::current()) {
  return Vector(detail::unary(detail::UnaryOp::abs, x.handle(), loc));
}
/// x to the power of y.
inline Numeric pow(const Numeric &x, const detail::NumericArg &y) {
  return Numeric(detail::binary(detail::BinaryOp::pow, x.handle(), y.handle, y.loc));
}
inline Vector pow(const Vector &x, const detail::VectorArg &y) {
  return Vector(detail::binary(detail::BinaryOp::pow, x.handle(), y.handle, y.loc));
}
/// The angle of (x, y): atan(y / x), in the quadrant of both signs.
inline Numeric atan2(const Numeric &y, const Numeric &x, Loc loc = Loc::current()) {
  return Numeric(detail::mathBinary("math.atan2", y.handle(), x.handle(), loc));
}
/// The magnitude of x with the sign of y.
inline Numeric copysign(const Numeric &x, const Numeric &y, Loc loc = Loc::current()) {
  return Numeric(detail::mathBinary("math.copysign", x.handle(), y.handle(), loc));
}
/// a * b + c, rounded once.
inline Numeric fma(const Numeric &a, const detail::NumericArg &b, const detail::NumericArg &c) {
  return Numeric(detail::mathFma(a.handle(), b.handle, c.handle, b.loc));
}
inline Vector fma(const Vector &a, const detail::VectorArg &b, const detail::VectorArg &c) {
  return Vector(detail::mathFma(a.handle(), b.handle, c.handle, b.loc));
}

} // namespace math
FLYDSL_NAMESPACE_END
