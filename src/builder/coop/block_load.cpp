#include "builder/coop/exchange.h"

#include <flydsl/coop/block_load.h>
#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

namespace {

/// How memory is accessed.
Order orderOf(BlockTransfer transfer) {
  switch (transfer) {
  case BlockTransfer::direct:
  case BlockTransfer::vectorize:
    return Order::blocked;
  case BlockTransfer::striped:
  case BlockTransfer::transpose:
    return Order::striped;
  case BlockTransfer::warp_transpose:
    return Order::warp_striped;
  }
  return Order::blocked;
}
bool exchanges(BlockTransfer transfer) {
  return transfer == BlockTransfer::transpose || transfer == BlockTransfer::warp_transpose;
}

Plan planOf(const ValueType &type, int threads, int items, BlockTransfer transfer) {
  Plan plan;
  if (exchanges(transfer) && items > 1)
    plan.add(type, SharedTile(threads, items).places());
  return plan;
}

bool hasUnitStride(const Tensor &tile, Loc loc) { return onlyNumber(tile.stride(loc), loc) == 1; }

} // namespace

BlockTile::BlockTile(const char *what, DType type, int threads, int items, BlockTransfer transfer,
                     Loc loc)
    : BlockCollective(what, type, threads, items, loc), transfer_(transfer) {
  storage_ = planOf(type_, threads, items, transfer).size();
}

void BlockTile::expectTile(const Tensor &tile, const IntTuple *valid, Loc loc) const {
  const std::string name = what_;
  if (const ValueType given(tile.dtype(loc)); given != type_)
    throw TraceError(name + " of " + type_.str() + " is given a tensor of " + given.str(), loc);
  if (tile.rank(loc) != 1)
    throw TraceError(name + " is given a tensor of " + std::to_string(tile.rank(loc)) +
                         " modes; a tile is a sequence, of one mode",
                     loc);
  if (transfer_ == BlockTransfer::vectorize && !hasUnitStride(tile, loc))
    throw TraceError(name + " by vectors of a tensor " + tile.layout(loc).str() +
                         ": its elements are not known to be neighbours in memory; "
                         "BlockTransfer::direct takes any stride",
                     loc);
  const std::int64_t count = std::int64_t(threads_) * items_;
  if (valid && valid->is_static(loc) && (valid->value(loc) < 0 || valid->value(loc) > count))
    throw TraceError(name + " of " + std::to_string(valid->value(loc)) + " elements of a tile of " +
                         std::to_string(count) + ": 0 to all of them",
                     loc);
}

BlockLoad::BlockLoad(DType type, int threads, int items_per_thread, BlockTransfer transfer, Loc loc)
    : BlockTile("BlockLoad", type, threads, items_per_thread, transfer, loc) {}

Vector BlockLoad::load(const Tensor &tile, const IntTuple *valid, const Handle *fill,
                       const Storage &storage, Loc loc) const {
  expectTile(tile, valid, loc);
  expectStorage(storage, loc);
  const Thread thread(loc);
  const SharedTile places(threads_, items_);
  if (transfer_ == BlockTransfer::vectorize && !valid) {
    const Expr first = places.position(Order::blocked, thread, 0);
    return (tile.iter(loc) + IntTuple::Arg(first.number(), loc)).load(items_, loc);
  }
  const Order order = orderOf(transfer_);
  Items items;
  for (int i = 0; i < items_; ++i) {
    const Expr at = places.position(order, thread, i);
    auto element = [&] { return Expr(tile.point(at.index(), loc).handle(), loc); };
    if (!valid) {
      items.push_back({element().handle});
      continue;
    }
    const Expr other(expectTypes("the fill", {*fill}, type_.fields(), loc).front(), loc);
    items.push_back({loadWhere(at < numberOf(*valid, loc), element, other).handle});
  }
  if (exchanges(transfer_) && items_ > 1)
    items = rearrange(places, planOf(type_, threads_, items_, transfer_).in(storage, 0, loc), order,
                      Order::blocked, thread, items, loc);
  return vectorOfItems(items, loc);
}

BlockStore::BlockStore(DType type, int threads, int items_per_thread, BlockTransfer transfer,
                       Loc loc)
    : BlockTile("BlockStore", type, threads, items_per_thread, transfer, loc) {}

void BlockStore::store(const Tensor &tile, const IntTuple *valid, const Items &given,
                       const Storage &storage, Loc loc) const {
  expectItems(given, loc);
  expectTile(tile, valid, loc);
  expectStorage(storage, loc);
  const Thread thread(loc);
  const SharedTile places(threads_, items_);
  if (transfer_ == BlockTransfer::vectorize && !valid) {
    const Expr first = places.position(Order::blocked, thread, 0);
    (tile.iter(loc) + IntTuple::Arg(first.number(), loc)).store(vectorOfItems(given, loc), loc);
    return;
  }
  const Order order = orderOf(transfer_);
  Items items = given;
  if (exchanges(transfer_) && items_ > 1)
    items = rearrange(places, planOf(type_, threads_, items_, transfer_).in(storage, 0, loc),
                      Order::blocked, order, thread, items, loc);
  for (int i = 0; i < items_; ++i) {
    const Expr at = places.position(order, thread, i);
    auto write = [&] {
      tile.point(at.index(), loc) =
          Numeric::Arg(Numeric(items[static_cast<std::size_t>(i)].front()), loc);
    };
    if (valid)
      where(at < numberOf(*valid, loc), write);
    else
      write();
  }
}

} // namespace coop
FLYDSL_NAMESPACE_END
