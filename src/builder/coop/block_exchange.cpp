#include "builder/coop/exchange.h"

#include <flydsl/coop/block_exchange.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

static Plan planOf(const ValueType &type, int threads, int items) {
  Plan plan;
  plan.add(type, SharedTile(threads, items).places());
  return plan;
}

BlockExchange::BlockExchange(ValueType type, int threads, int items_per_thread, Loc loc)
    : BlockCollective("BlockExchange", std::move(type), threads, items_per_thread, loc) {
  storage_ = planOf(type_, threads_, items_).size();
}

Items BlockExchange::exchange(const Items &items, Order from, Order to, const Storage &storage,
                              Loc loc) const {
  expectItems(items, loc);
  expectStorage(storage, loc);
  const SharedValues shared = planOf(type_, threads_, items_).in(storage, 0, loc);
  return rearrange(SharedTile(threads_, items_), shared, from, to, Thread(loc), items, waitForBlock,
                   loc);
}

Items BlockExchange::scatter(const Items &items, const Items &ranks, Order to,
                             const Storage &storage, Loc loc) const {
  expectItems(items, loc);
  expectBeside(what_, "ranks", ranks, items.size(), i32, loc);
  expectStorage(storage, loc);
  const SharedValues shared = planOf(type_, threads_, items_).in(storage, 0, loc);
  return rearrangeByRank(SharedTile(threads_, items_), shared, ranks, to, Thread(loc), items,
                         waitForBlock, loc);
}

Items BlockExchange::scatterFlagged(const Items &items, const Items &ranks, const Items *flags,
                                    const IntTuple &count, const Fields &fill,
                                    const Storage &storage, Loc loc) const {
  expectItems(items, loc);
  expectBeside(what_, "ranks", ranks, items.size(), i32, loc);
  if (flags)
    expectBeside(what_, "flags", *flags, items.size(), boolean, loc);
  expectStorage(storage, loc);
  expectValid(count, 0, std::int64_t(threads_) * items_, loc);
  Items inside;
  if (!flags)
    for (const Fields &rank : ranks)
      inside.push_back({(Expr(rank.front(), loc) >= 0).handle});
  const Fields other = expectTypes("the fill", fill, type_.fields(), loc);
  const SharedTile tile(threads_, items_);
  const Thread thread(loc);
  const SharedValues shared = planOf(type_, threads_, items_).in(storage, 0, loc);
  scatterItems(tile, shared, items, ranks, flags ? flags : &inside, waitForBlock, loc);
  const Expr written = numberOf(count, loc);
  Items results;
  for (int i = 0; i < items_; ++i) {
    const Expr position = tile.position(Order::striped, thread, i);
    results.push_back(shared.loadWhere(position < written, tile.place(position), other));
  }
  return results;
}

} // namespace coop
FLYDSL_NAMESPACE_END
