// Exchanges and tiles of the groups of a wave: each group has a part of the storage, and waits for
// no other.
#include "builder/coop/tile_access.h"

#include <flydsl/coop/warp_exchange.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

namespace {

/// A group's own part of the storage, when the reads of it by the call before are over.
SharedValues ownPart(const GroupPlan &plan, const Storage &storage, Loc loc) {
  waitForWave(loc);
  return plan.in(storage, loc);
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
  storage_ = GroupPlan(type_, width_, SharedTile(width_, items_).places(), loc).size();
}

Items WarpExchange::exchange(const Items &items, Order from, Order to, const Storage &storage,
                             Loc loc) const {
  expectItems(items, loc);
  expectStorage(storage, loc);
  const SharedTile tile(width_, items_);
  const SharedValues shared = ownPart({type_, width_, tile.places(), loc}, storage, loc);
  return rearrange(tile, shared, from, to, Thread::inGroup(width_, loc), items, waitForWave, loc);
}

Items WarpExchange::scatter(const Items &items, const Items &ranks, Order to,
                            const Storage &storage, Loc loc) const {
  expectItems(items, loc);
  expectBeside(what_, "ranks", ranks, items.size(), i32, loc);
  expectStorage(storage, loc);
  const SharedTile tile(width_, items_);
  const SharedValues shared = ownPart({type_, width_, tile.places(), loc}, storage, loc);
  return rearrangeByRank(tile, shared, ranks, to, Thread::inGroup(width_, loc), items, waitForWave,
                         loc);
}

WarpTile::WarpTile(const char *what, DType type, int items, WarpTransfer transfer, int width,
                   Loc loc)
    : WarpCollective(what, type, items, width, loc), transfer_(transferOf(transfer)) {
  const TileAccess access(what_, type_, width_, items_, transfer_);
  storage_ = GroupPlan(type_, width_, access.places(), loc).size();
}

void WarpTile::expectTile(const Tensor &tile, const IntTuple *valid, Loc loc) const {
  TileAccess(what_, type_, width_, items_, transfer_).expect(tile, valid, loc);
  if (valid)
    expectValid(*valid, 0, std::int64_t(width_) * items_, loc);
}

WarpLoad::WarpLoad(DType type, int items_per_lane, WarpTransfer transfer, int width, Loc loc)
    : WarpTile("WarpLoad", type, items_per_lane, transfer, width, loc) {}

Vector WarpLoad::load(const Tensor &tile, const IntTuple *valid, const Handle *fill,
                      const Storage &storage, Loc loc) const {
  expectTile(tile, valid, loc);
  expectStorage(storage, loc);
  const TileAccess access(what_, type_, width_, items_, transfer_);
  auto shared = [&] { return ownPart({type_, width_, access.places(), loc}, storage, loc); };
  const Thread thread = Thread::inGroup(width_, loc);
  return vectorOfItems(access.load(tile, valid, fill, thread, shared, waitForWave, loc), loc);
}

WarpStore::WarpStore(DType type, int items_per_lane, WarpTransfer transfer, int width, Loc loc)
    : WarpTile("WarpStore", type, items_per_lane, transfer, width, loc) {}

void WarpStore::store(const Tensor &tile, const IntTuple *valid, const Items &items,
                      const Storage &storage, Loc loc) const {
  expectItems(items, loc);
  expectTile(tile, valid, loc);
  expectStorage(storage, loc);
  const TileAccess access(what_, type_, width_, items_, transfer_);
  auto shared = [&] { return ownPart({type_, width_, access.places(), loc}, storage, loc); };
  access.store(tile, valid, items, Thread::inGroup(width_, loc), shared, waitForWave, loc);
}

} // namespace coop
FLYDSL_NAMESPACE_END
