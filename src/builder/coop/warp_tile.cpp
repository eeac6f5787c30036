// Exchanges and tiles of the groups of a wave: each group has a part of the storage, and waits for no
// other.
#include "builder/coop/tile_access.h"

#include <flydsl/coop/warp_exchange.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

namespace {

/// Room for `places` values of each group of the block.
Plan planOf(const ValueType &type, int width, std::int64_t places, Loc loc) {
  Plan plan;
  if (places)
    plan.add(type, blockThreads(loc) / width * places);
  return plan;
}

/// A group's own part of it.
SharedValues ownPart(const ValueType &type, int width, std::int64_t places, const Storage &storage,
                     Loc loc) {
  return planOf(type, width, places, loc)
      .in(storage, 0, loc)
      .from(groupOfThread(width, loc) * static_cast<int>(places));
}

Transfer transferOf(WarpTransfer transfer) {
  switch (transfer) {
  case WarpTransfer::direct:
    break;
  case WarpTransfer::vectorize:
    return {.order = Order::blocked, .asVector = true};
  case WarpTransfer::striped:
    return {.order = Order::striped};
  case WarpTransfer::transpose:
    return {.order = Order::striped, .viaExchange = true};
  }
  return {.order = Order::blocked};
}

} // namespace

WarpExchange::WarpExchange(ValueType type, int items_per_lane, int width, Loc loc)
    : WarpCollective("WarpExchange", std::move(type), items_per_lane, width, loc) {
  storage_ = planOf(type_, width_, SharedTile(width_, items_).places(), loc).size();
}

Items WarpExchange::exchange(const Items &items, Order from, Order to, const Storage &storage,
                             Loc loc) const {
  expectItems(items, loc);
  expectStorage(storage, loc);
  const SharedTile tile(width_, items_);
  waitForWave(loc); // for reads by the call before
  return rearrange(tile, ownPart(type_, width_, tile.places(), storage, loc), from, to,
                   Thread::inGroup(width_, loc), items, waitForWave, loc);
}

Items WarpExchange::scatter(const Items &items, const Items &ranks, Order to,
                            const Storage &storage, Loc loc) const {
  expectItems(items, loc);
  expectBeside(what_, "ranks", ranks, items.size(), i32, loc);
  expectStorage(storage, loc);
  const SharedTile tile(width_, items_);
  const SharedValues shared = ownPart(type_, width_, tile.places(), storage, loc);
  waitForWave(loc); // for reads by the call before
  scatterItems(tile, shared, items, ranks, nullptr, waitForWave, loc);
  return tile.load(shared, to, Thread::inGroup(width_, loc));
}

WarpLoad::WarpLoad(DType type, int items_per_lane, WarpTransfer transfer, int width, Loc loc)
    : WarpCollective("WarpLoad", type, items_per_lane, width, loc),
      transfer_(transferOf(transfer)) {
  storage_ =
      planOf(type_, width_, TileAccess(what_, type_, width_, items_, transfer_).places(), loc)
          .size();
}

Vector WarpLoad::load(const Tensor &tile, const IntTuple *valid, const Handle *fill,
                      const Storage &storage, Loc loc) const {
  const TileAccess access(what_, type_, width_, items_, transfer_);
  access.expect(tile, loc);
  if (valid)
    expectValid(*valid, 0, std::int64_t(width_) * items_, loc);
  expectStorage(storage, loc);
  auto shared = [&] {
    waitForWave(loc); // for reads by the call before
    return ownPart(type_, width_, access.places(), storage, loc);
  };
  return vectorOfItems(
      access.load(tile, valid, fill, Thread::inGroup(width_, loc), shared, waitForWave, loc), loc);
}

WarpStore::WarpStore(DType type, int items_per_lane, WarpTransfer transfer, int width, Loc loc)
    : WarpCollective("WarpStore", type, items_per_lane, width, loc),
      transfer_(transferOf(transfer)) {
  storage_ =
      planOf(type_, width_, TileAccess(what_, type_, width_, items_, transfer_).places(), loc)
          .size();
}

void WarpStore::store(const Tensor &tile, const IntTuple *valid, const Items &items,
                      const Storage &storage, Loc loc) const {
  const TileAccess access(what_, type_, width_, items_, transfer_);
  expectItems(items, loc);
  access.expect(tile, loc);
  if (valid)
    expectValid(*valid, 0, std::int64_t(width_) * items_, loc);
  expectStorage(storage, loc);
  auto shared = [&] {
    waitForWave(loc); // for reads by the call before
    return ownPart(type_, width_, access.places(), storage, loc);
  };
  access.store(tile, valid, items, Thread::inGroup(width_, loc), shared, waitForWave, loc);
}

} // namespace coop
FLYDSL_NAMESPACE_END
