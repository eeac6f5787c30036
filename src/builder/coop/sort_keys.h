// What sorts check of their keys and values, and keys as unsigned numbers in the same order.
#pragma once

#include "builder/coop/expr.h"

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// TraceError that names `what` where keys of this type have no order by bits.
void expectSortable(const char *what, DType key, Loc loc);
/// TraceErrors where values are given to a sort without, or the other way round, or not one of its
/// type for each key.
void expectPayload(const char *what, const std::optional<ValueType> &type, const Items *values,
                   std::size_t keys, Loc loc);

/// The unsigned type of a key's bits.
DType keyBits(DType key);
/// The type of a key's bits with its value's fields behind them.
ValueType keyWithValue(DType key, const std::optional<ValueType> &value);
/// The bits of the unsigned number that a key is sorted as, and the key of such bits.
Expr ordered(const Expr &key, bool descending);
Expr fromOrdered(const Expr &bits, DType key, bool descending);

} // namespace coop::impl
FLYDSL_NAMESPACE_END
