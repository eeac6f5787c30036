// What collectives do with numbers and with values of several.
#pragma once

#include "builder/kernel/expr.h"

#include <flydsl/coop/operator.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

using builder::Expr;
using detail::BinaryOp;
using detail::Handle;

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
