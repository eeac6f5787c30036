// Arithmetic of collectives: numbers with the place of the user's call.
#pragma once

#include <flydsl/coop/operator.h>
#include <flydsl/kernel/control_flow.h>
#include <flydsl/kernel/gpu.h>
#include <flydsl/kernel/math.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

using detail::BinaryOp;
using detail::Handle;

/// A number of the kernel. All operations on it stand at the place of the collective's call. Unlike
/// a Numeric it can be assigned to, so that C++ loops can build up expressions.
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
#define FLYDSL_COOP_OPERATOR(symbol, op)                                                           \
  inline Expr operator symbol(const Expr &a, const Expr &b) {                                      \
    return {detail::binary(BinaryOp::op, a.handle, b.handle, a.loc), a.loc};                       \
  }                                                                                                \
  template <detail::HostNumeric T> Expr operator symbol(const Expr &a, T b) {                      \
    return a symbol Expr(a.type(), b, a.loc);                                                      \
  }
FLYDSL_COOP_OPERATOR(+, add)
FLYDSL_COOP_OPERATOR(-, sub)
FLYDSL_COOP_OPERATOR(*, mul)
FLYDSL_COOP_OPERATOR(/, div)
FLYDSL_COOP_OPERATOR(%, rem)
FLYDSL_COOP_OPERATOR(&, bitAnd)
FLYDSL_COOP_OPERATOR(|, bitOr)
FLYDSL_COOP_OPERATOR(^, bitXor)
FLYDSL_COOP_OPERATOR(<<, shl)
FLYDSL_COOP_OPERATOR(>>, shr)
FLYDSL_COOP_OPERATOR(<, lt)
FLYDSL_COOP_OPERATOR(<=, le)
FLYDSL_COOP_OPERATOR(>, gt)
FLYDSL_COOP_OPERATOR(>=, ge)
FLYDSL_COOP_OPERATOR(==, eq)
FLYDSL_COOP_OPERATOR(!=, ne)
#undef FLYDSL_COOP_OPERATOR
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

/// The number of a leaf, of type i32.
inline Expr numberOf(const IntTuple &leaf, Loc loc) {
  return Expr(detail::scalarOfTuple(leaf.handle(), loc), loc).to(i32);
}

/// The number of a static leaf, or of the only leaf of a tuple. Nothing for other tuples and for
/// numbers known only at run time.
std::optional<std::int64_t> onlyNumber(const IntTuple &tuple, Loc loc);

/// `a` where the condition holds, else `b`, field by field.
Fields select(const Expr &condition, const Fields &a, const Fields &b);

/// All items combined in their order.
Fields combineAll(const Operator &op, const Items &items, Loc loc);

/// The types of a value. A TraceError that names `what` for a type of less than 8 bits beside
/// boolean, which has no place of its own in memory.
std::vector<DType> typesOf(const char *what, const Fields &value, Loc loc);
/// The types of the items. A TraceError for no items, or items of different types.
std::vector<DType> typesOf(const char *what, const Items &items, Loc loc);
/// TraceError where a number that is known while tracing is not `least` to `most`: of the `what` of
/// so many items.
void expectCount(const char *what, const IntTuple &count, std::int64_t least, std::int64_t most,
                 Loc loc);
/// A value given by the user as one of these types, which host numbers take. A TraceError that
/// names `what` for another type.
Fields expectTypes(const char *what, const Fields &value, const std::vector<DType> &types, Loc loc);

} // namespace coop::impl
FLYDSL_NAMESPACE_END
