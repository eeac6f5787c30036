// The operators of values, written once for scalars, vectors and the variables that hold them.
#pragma once

#include <flydsl/detail/handle.h>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

enum class BinaryOp {
  add,
  sub,
  mul,
  div,
  rem,
  bitAnd,
  bitOr,
  bitXor,
  shl,
  shr,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  min,
  max,
  floorDiv,
  ceilDiv,
  pow
};
enum class UnaryOp { neg, bitNot, logicalNot, abs };
/// Element by element on vectors; TraceError for operands that the operation does not take.
FLYDSL_API Handle binary(BinaryOp op, const Handle &a, const Handle &b, Loc loc);
FLYDSL_API Handle unary(UnaryOp op, const Handle &a, Loc loc);

/// Friends that only arguments with this base find. `Arg` is an operand with the place of its
/// expression, `R` the class of results, `B` that of comparisons. A shift to the right is
/// arithmetic for signed types, logical for unsigned ones; && and || evaluate both sides.
template <class Arg, class R, class B> struct Operators {
#define FLYDSL_OPERATOR(Result, symbol, op)                                                        \
  friend Result operator symbol(const Arg &a, const Arg &b) {                                      \
    return Result(binary(BinaryOp::op, a.handle, b.handle, a.loc));                                \
  }
  FLYDSL_OPERATOR(R, +, add)
  FLYDSL_OPERATOR(R, -, sub)
  FLYDSL_OPERATOR(R, *, mul)
  FLYDSL_OPERATOR(R, /, div)
  FLYDSL_OPERATOR(R, %, rem)
  FLYDSL_OPERATOR(R, &, bitAnd)
  FLYDSL_OPERATOR(R, |, bitOr)
  FLYDSL_OPERATOR(R, ^, bitXor)
  FLYDSL_OPERATOR(R, <<, shl)
  FLYDSL_OPERATOR(R, >>, shr)
  FLYDSL_OPERATOR(B, <, lt)
  FLYDSL_OPERATOR(B, <=, le)
  FLYDSL_OPERATOR(B, >, gt)
  FLYDSL_OPERATOR(B, >=, ge)
  FLYDSL_OPERATOR(B, ==, eq)
  FLYDSL_OPERATOR(B, !=, ne)
  FLYDSL_OPERATOR(B, &&, bitAnd)
  FLYDSL_OPERATOR(B, ||, bitOr)
#undef FLYDSL_OPERATOR
  friend R operator-(const Arg &a) { return R(unary(UnaryOp::neg, a.handle, a.loc)); }
  friend R operator~(const Arg &a) { return R(unary(UnaryOp::bitNot, a.handle, a.loc)); }
  friend B operator!(const Arg &a) { return B(unary(UnaryOp::logicalNot, a.handle, a.loc)); }
};

} // namespace detail
FLYDSL_NAMESPACE_END
