#include "builder/coop/expr.h"
#include "builder/kernel/lanes.h"

#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

std::string ValueType::str() const {
  if (fields_.size() == 1)
    return std::string(fields_[0].name());
  std::string text = "(";
  for (DType field : fields_)
    text += (text.size() > 1 ? ", " : "") + std::string(field.name());
  return text + ")";
}

namespace impl {

Items itemsOfVector(const Vector &vector, Loc loc) {
  Items items;
  for (std::int64_t i = 0; i < vector.size(loc); ++i)
    items.push_back({detail::vectorExtract(vector.handle(), i, loc)});
  return items;
}

Vector vectorOfItems(const Items &items, Loc loc) {
  std::vector<const Handle *> elements;
  for (const Fields &item : items)
    elements.push_back(&item.front());
  return Vector(detail::vectorOf(elements.data(), elements.size(), loc));
}

Fields select(const Expr &condition, const Fields &a, const Fields &b) {
  Fields chosen;
  for (std::size_t i = 0; i < a.size(); ++i)
    chosen.push_back(detail::select(condition.handle, a[i], b[i], condition.loc));
  return chosen;
}

std::optional<std::int64_t> onlyNumber(const IntTuple &tuple, Loc loc) {
  if (!tuple.is_leaf(loc))
    return tuple.rank(loc) == 1 ? onlyNumber(tuple.at(0, loc), loc) : std::nullopt;
  return tuple.is_static(loc) ? std::optional(tuple.value(loc)) : std::nullopt;
}

Fields combine(const Operator &op, const Fields &a, const Fields &b, Loc loc) {
  if (op.reduction) {
    Fields combined;
    for (std::size_t i = 0; i < a.size(); ++i)
      combined.push_back(gpu::impl::combine(*op.reduction, a[i], b[i], loc));
    return combined;
  }
  Fields combined = op.function(a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const DType taken = detail::dtypeOf(a[i], loc), given = detail::dtypeOf(combined[i], loc);
    if (taken != given)
      throw TraceError("the operator takes values of " + std::string(taken.name()) +
                           " and gives one of " + std::string(given.name()) +
                           ": a collective's operator gives what it takes",
                       loc);
  }
  return combined;
}

Fields combineAll(const Operator &op, const Items &items, Loc loc) {
  Fields all = items.front();
  for (std::size_t i = 1; i < items.size(); ++i)
    all = combine(op, all, items[i], loc);
  return all;
}

std::vector<DType> typesOf(const char *what, const Fields &value, Loc loc) {
  std::vector<DType> types;
  for (const Handle &field : value) {
    const DType type = detail::dtypeOf(field, loc);
    if (type != boolean && type.bits() % 8 != 0)
      throw TraceError(std::string(what) + " takes numbers of whole bytes, not " +
                           std::string(type.name()) + "; .to(fx::i8) or another type converts",
                       loc);
    types.push_back(type);
  }
  return types;
}

std::vector<DType> typesOf(const char *what, const Items &items, Loc loc) {
  if (items.empty())
    throw TraceError(std::string(what) + " is given no items; a thread has at least one", loc);
  std::vector<DType> types = typesOf(what, items.front(), loc);
  for (const Fields &item : items)
    if (typesOf(what, item, loc) != types)
      throw TraceError(std::string(what) + " is given items of " + ValueType(types).str() +
                           " and of " + ValueType(typesOf(what, item, loc)).str() +
                           "; a thread's items have one type",
                       loc);
  return types;
}

void expectCount(const char *what, const IntTuple &count, std::int64_t least, std::int64_t most,
                 Loc loc) {
  if (count.is_static(loc) && (count.value(loc) < least || count.value(loc) > most))
    throw TraceError(std::string(what) + " of " + std::to_string(count.value(loc)) +
                         " items of a tile of " + std::to_string(most) + ": " +
                         std::to_string(least) + " to all of them",
                     loc);
}

Fields expectTypes(const char *what, const Fields &value, const std::vector<DType> &types,
                   Loc loc) {
  Fields typed;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const DType type = detail::dtypeOf(value[i], loc);
    if (type != types[i] && !Numeric(value[i]).is_static(loc))
      throw TraceError(std::string(what) + " is " + std::string(type.name()) + ", the items are " +
                           std::string(types[i].name()) + "; .to(...) converts",
                       loc);
    typed.push_back(detail::expectScalar(value[i], types[i], loc));
  }
  return typed;
}

} // namespace impl
} // namespace coop
FLYDSL_NAMESPACE_END
