#include "builder/coop/tile_access.h"

#include <flydsl/coop/block_load.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

static Transfer transferOf(BlockTransfer transfer) {
  switch (transfer) {
  case BlockTransfer::direct:
    break;
  case BlockTransfer::vectorize:
    return {.order = Order::blocked, .asVector = true};
  case BlockTransfer::striped:
    return {.order = Order::striped};
  case BlockTransfer::transpose:
    return {.order = Order::striped, .viaExchange = true};
  case BlockTransfer::warp_transpose:
    return {.order = Order::warp_striped, .viaExchange = true};
  }
  return {.order = Order::blocked};
}

static Plan planOf(const TileAccess &access, const ValueType &type) {
  Plan plan;
  if (access.exchanges())
    plan.add(type, access.places());
  return plan;
}

BlockTile::BlockTile(const char *what, DType type, int threads, int items, BlockTransfer transfer,
                     Loc loc)
    : BlockCollective(what, type, threads, items, loc), transfer_(transferOf(transfer)) {
  storage_ = planOf(TileAccess(what_, type_, threads_, items_, transfer_), type_).size();
}

void BlockTile::expectTile(const Tensor &tile, const IntTuple *valid, Loc loc) const {
  TileAccess(what_, type_, threads_, items_, transfer_).expect(tile, valid, loc);
  if (valid)
    expectValid(*valid, 0, std::int64_t(threads_) * items_, loc);
}

BlockLoad::BlockLoad(DType type, int threads, int items_per_thread, BlockTransfer transfer, Loc loc)
    : BlockTile("BlockLoad", type, threads, items_per_thread, transfer, loc) {}

Vector BlockLoad::load(const Tensor &tile, const IntTuple *valid, const Handle *fill,
                       const Storage &storage, Loc loc) const {
  expectTile(tile, valid, loc);
  expectStorage(storage, loc);
  const TileAccess access = TileAccess(what_, type_, threads_, items_, transfer_);
  auto shared = [&] { return planOf(access, type_).in(storage, 0, loc); };
  return vectorOfItems(access.load(tile, valid, fill, Thread(loc), shared, waitForBlock, loc), loc);
}

BlockStore::BlockStore(DType type, int threads, int items_per_thread, BlockTransfer transfer,
                       Loc loc)
    : BlockTile("BlockStore", type, threads, items_per_thread, transfer, loc) {}

void BlockStore::store(const Tensor &tile, const IntTuple *valid, const Items &items,
                       const Storage &storage, Loc loc) const {
  expectItems(items, loc);
  expectTile(tile, valid, loc);
  expectStorage(storage, loc);
  const TileAccess access = TileAccess(what_, type_, threads_, items_, transfer_);
  auto shared = [&] { return planOf(access, type_).in(storage, 0, loc); };
  access.store(tile, valid, items, Thread(loc), shared, waitForBlock, loc);
}

} // namespace coop
FLYDSL_NAMESPACE_END
