#include "builder/coop/tile_access.h"

#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

void TileAccess::expect(const Tensor &tile, const IntTuple *valid, Loc loc) const {
  const std::string name = what_;
  if (const ValueType given(tile.dtype(loc)); given != type_)
    throw TraceError(name + " of " + type_.str() + " is given a tensor of " + given.str(), loc);
  if (tile.rank(loc) != 1)
    throw TraceError(name + " is given a tensor of " + std::to_string(tile.rank(loc)) +
                         " modes; a tile is a sequence, of one mode",
                     loc);
  const std::optional<std::int64_t> has = onlyNumber(tile.shape(loc), loc),
                                    needs = valid ? onlyNumber(*valid, loc)
                                                  : std::int64_t(places_.threads()) * items_;
  if (has && needs && *has < *needs)
    throw TraceError(name + " of " + std::to_string(*needs) + " elements is given a tensor of " +
                         std::to_string(*has) +
                         (valid ? "" : "; .partial takes how many of a tile are there"),
                     loc);
  if (transfer_.asVector && onlyNumber(tile.stride(loc), loc) != 1)
    throw TraceError(name + " by vectors of a tensor " + tile.layout(loc).str() +
                         ": its elements are not known to be neighbours in memory; the transfer "
                         "`direct` takes any stride",
                     loc);
}

Items TileAccess::read(const Tensor &tile, const IntTuple *valid, const Handle *fill,
                       const Thread &thread, Loc loc) const {
  if (transfer_.asVector && !valid) {
    const Expr first = places_.position(Order::blocked, thread, 0);
    return itemsOfVector((tile.iter(loc) + IntTuple::Arg(first.number(), loc)).load(items_, loc),
                         loc);
  }
  Items items;
  for (int i = 0; i < items_; ++i) {
    const Expr at = places_.position(transfer_.order, thread, i);
    auto element = [&] { return Expr(tile.point(at.index(), loc).handle(), loc); };
    if (!valid) {
      items.push_back({element().handle});
      continue;
    }
    const Expr other(expectTypes("the fill", {*fill}, type_.fields(), loc).front(), loc);
    items.push_back({loadWhere(at < numberOf(*valid, loc), element, other).handle});
  }
  return items;
}

void TileAccess::write(const Tensor &tile, const IntTuple *valid, const Items &items,
                       const Thread &thread, Loc loc) const {
  if (transfer_.asVector && !valid) {
    const Expr first = places_.position(Order::blocked, thread, 0);
    (tile.iter(loc) + IntTuple::Arg(first.number(), loc)).store(vectorOfItems(items, loc), loc);
    return;
  }
  for (int i = 0; i < items_; ++i) {
    const Expr at = places_.position(transfer_.order, thread, i);
    auto element = [&] {
      tile.point(at.index(), loc) =
          Numeric::Arg(Numeric(items[static_cast<std::size_t>(i)].front()), loc);
    };
    if (valid)
      where(at < numberOf(*valid, loc), element);
    else
      element();
  }
}

} // namespace coop::impl
FLYDSL_NAMESPACE_END
