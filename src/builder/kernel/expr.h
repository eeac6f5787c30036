// Arithmetic of what the builder itself computes in a kernel: numbers with the place of the user's
// call.
#pragma once

#include <flydsl/kernel/control_flow.h>
#include <flydsl/kernel/gpu.h>
#include <flydsl/kernel/math.h>

namespace flydsl::builder {

using detail::BinaryOp;
using detail::Handle;

/// A number of the kernel. All operations on it stand at the place of the user's call. Unlike a
/// Numeric it can be assigned to, so that C++ loops can build up expressions.
struct Expr {
  Handle handle;
  Loc loc;

  Expr(Handle value, Loc place) : handle(std::move(value)), loc(place) {}
  Expr(const Numeric &value, Loc place) : handle(value.handle()), loc(place) {}
  /// A constant of a type.
  template <detail::HostNumeric T>
  Expr(DType type, T value, Loc place)
      : handle(detail::constant(detail::hostNumber(value), type, place)), loc(place) {}

  DType type() const { return detail::dtypeOf(handle, loc); }
  Numeric number() const { return Numeric(handle); }
  Boolean truth() const { return Boolean(handle); }
  IntTuple index() const { return IntTuple(number(), loc); }
  Expr to(DType type) const { return {detail::convert(handle, type, loc), loc}; }
  Expr bitcast(DType type) const { return {detail::bitcast(handle, type, loc), loc}; }
};

// clang-format off
#define FLYDSL_EXPR_OPERATOR(symbol, op)                                                           \
  inline Expr operator symbol(const Expr &a, const Expr &b) {                                      \
    return {detail::binary(BinaryOp::op, a.handle, b.handle, a.loc), a.loc};                       \
  }                                                                                                \
  template <detail::HostNumeric T> Expr operator symbol(const Expr &a, T b) {                      \
    return a symbol Expr(a.type(), b, a.loc);                                                      \
  }
FLYDSL_EXPR_OPERATOR(+, add)
FLYDSL_EXPR_OPERATOR(-, sub)
FLYDSL_EXPR_OPERATOR(*, mul)
FLYDSL_EXPR_OPERATOR(/, div)
FLYDSL_EXPR_OPERATOR(%, rem)
FLYDSL_EXPR_OPERATOR(&, bitAnd)
FLYDSL_EXPR_OPERATOR(|, bitOr)
FLYDSL_EXPR_OPERATOR(^, bitXor)
FLYDSL_EXPR_OPERATOR(<<, shl)
FLYDSL_EXPR_OPERATOR(>>, shr)
FLYDSL_EXPR_OPERATOR(<, lt)
FLYDSL_EXPR_OPERATOR(<=, le)
FLYDSL_EXPR_OPERATOR(>, gt)
FLYDSL_EXPR_OPERATOR(>=, ge)
FLYDSL_EXPR_OPERATOR(==, eq)
FLYDSL_EXPR_OPERATOR(!=, ne)
#undef FLYDSL_EXPR_OPERATOR
// clang-format on
inline Expr operator~(const Expr &a) {
  return {detail::unary(detail::UnaryOp::bitNot, a.handle, a.loc), a.loc};
}
inline Expr operator!(const Expr &a) {
  return {detail::unary(detail::UnaryOp::logicalNot, a.handle, a.loc), a.loc};
}
inline Expr min(const Expr &a, const Expr &b) {
  return {detail::binary(BinaryOp::min, a.handle, b.handle, a.loc), a.loc};
}
inline Expr max(const Expr &a, const Expr &b) {
  return {detail::binary(BinaryOp::max, a.handle, b.handle, a.loc), a.loc};
}
inline Expr select(const Expr &condition, const Expr &a, const Expr &b) {
  return {detail::select(condition.handle, a.handle, b.handle, condition.loc), condition.loc};
}
inline Expr popcount(const Expr &a) { return {math::ctpop(a.number(), a.loc), a.loc}; }
inline Expr leadingZeros(const Expr &a) { return {math::ctlz(a.number(), a.loc), a.loc}; }
inline Expr trailingZeros(const Expr &a) { return {math::cttz(a.number(), a.loc), a.loc}; }

} // namespace flydsl::builder
