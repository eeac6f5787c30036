// The operators of values, written once for scalars, vectors and the variables that hold them.
#pragma once

#include <flydsl/detail/handle.h>

#include <concepts>

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
/// Applies an operation, element by element on vectors. Throws TraceError if the operation does not
/// take the operands.
FLYDSL_API Handle binary(BinaryOp op, const Handle &a, const Handle &b, Loc loc);
FLYDSL_API Handle unary(UnaryOp op, const Handle &a, Loc loc);

/// Operators as friends, which are found only for arguments with this base. `Arg` is an operand
/// with the source location of its expression, `R` is the class of results, `B` is the class of a
/// comparison's result. A shift to the right is arithmetic for signed types and logical for
/// unsigned types.
template <class Arg, class R, class B> struct Operators {
  using OperandOf = Arg;
  using TruthOf = B;
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
#undef FLYDSL_OPERATOR
  friend R operator-(const Arg &a) { return R(unary(UnaryOp::neg, a.handle, a.loc)); }
  friend R operator~(const Arg &a) { return R(unary(UnaryOp::bitNot, a.handle, a.loc)); }
};

// A class of values, which has no operators that change it.
#define FLYDSL_NO_CHANGES(Class)                                                                   \
  Class(const Class &) = default;                                                                  \
  Class(Class &&) = default;                                                                       \
  FLYDSL_REFUSED(FLYDSL_NOT_ASSIGNED, Class &operator=(const Class &));                            \
  FLYDSL_CHANGES_REFUSED

/// The classes that have these operators: scalars, vectors, and the variables that hold them.
template <class T>
concept Operated = requires { typename T::OperandOf; };

template <class T> struct OperandIn {
  using type = Loc; // no value converts to it
};
template <Operated T> struct OperandIn<T> {
  using type = typename T::OperandOf;
};

/// && and || of truth values; a number is true if it is not 0. `leftIsOwn` is true if the left side
/// is an expression and not a named value.
///
/// As in C++, the right side accesses memory only if the left side does not decide, as far as
/// tracing can tell what belongs to the right side: what was traced after a left side that is an
/// expression, and what stands on the line of the right side. What was read before and has a name,
/// the elements of vectors, and a right side in which lanes exchange values, are always evaluated.
FLYDSL_API Handle logical(BinaryOp op, const Handle &a, const Handle &b, bool leftIsOwn, Loc loc);
/// The same for programs that were compiled with version 0.1.0: both sides are evaluated.
FLYDSL_API Handle logical(BinaryOp op, const Handle &a, const Handle &b, Loc loc);

template <class L>
concept OperatedIn = Operated<std::remove_cvref_t<L>>;

} // namespace detail

// &&, || and ! are templates, so that they match a value better than C++'s own operators, which
// would convert it to bool. The operand on the right carries the source location of the expression.
#define FLYDSL_LOGICAL(symbol, op)                                                                 \
  template <detail::OperatedIn Left, class L = std::remove_cvref_t<Left>>                          \
  typename L::TruthOf operator symbol(Left &&a, const typename L::OperandOf &b) {                  \
    return typename L::TruthOf(                                                                    \
        detail::logical(detail::BinaryOp::op, typename L::OperandOf(a, b.loc).handle, b.handle,    \
                        !std::is_lvalue_reference_v<Left>, b.loc));                                \
  }                                                                                                \
  template <detail::OperatedIn Left, class R, class L = std::remove_cvref_t<Left>>                 \
    requires(!detail::Operated<R> && std::convertible_to<const R &, typename L::OperandOf>)        \
  typename L::TruthOf operator symbol(Left &&a, const R &b) {                                      \
    const Loc loc = detail::unknownPlace();                                                        \
    return typename L::TruthOf(detail::logical(detail::BinaryOp::op,                               \
                                               typename L::OperandOf(a, loc).handle,               \
                                               typename L::OperandOf(b, loc).handle,               \
                                               !std::is_lvalue_reference_v<Left>, loc));           \
  }                                                                                                \
  template <class L, detail::Operated R>                                                           \
    requires(std::convertible_to<const L &, typename R::OperandOf> &&                              \
             (!detail::Operated<L> ||                                                              \
              !std::convertible_to<const R &, typename detail::OperandIn<L>::type>))               \
  typename R::TruthOf operator symbol(const L &a, const R &b) {                                    \
    const Loc loc = detail::unknownPlace();                                                        \
    return typename R::TruthOf(detail::logical(detail::BinaryOp::op,                               \
                                               typename R::OperandOf(a, loc).handle,               \
                                               typename R::OperandOf(b, loc).handle, false, loc)); \
  }
FLYDSL_LOGICAL(&&, bitAnd)
FLYDSL_LOGICAL(||, bitOr)
#undef FLYDSL_LOGICAL
template <detail::Operated T> typename T::TruthOf operator!(const T &a) {
  const Loc loc = detail::unknownPlace();
  return typename T::TruthOf(
      detail::unary(detail::UnaryOp::logicalNot, typename T::OperandOf(a, loc).handle, loc));
}
FLYDSL_NAMESPACE_END
