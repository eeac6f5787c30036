#include "builder/coop/exchange.h"

#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {
namespace impl {

// Threads that write an even number of neighbouring items each would meet on few of LDS's 32 banks;
// up to four items, a thread's are written as one vector. One place is left out after every 32.
std::int64_t SharedTile::places() const {
  const std::int64_t count = std::int64_t(threads_) * items_;
  return padded() ? count + count / 32 : count;
}

Expr SharedTile::place(const Expr &position) const {
  return padded() ? position + position / 32 : position;
}

Expr SharedTile::position(Order order, const Thread &thread, int item) const {
  switch (order) {
  case Order::blocked:
    return thread.number() * items_ + item;
  case Order::striped:
    return thread.number() + item * threads_;
  case Order::warp_striped:
    break;
  }
  return thread.wave() * (thread.lanes() * items_) + thread.lane() + item * thread.lanes();
}

void SharedTile::store(const SharedValues &shared, Order order, const Thread &thread,
                       const Items &items) const {
  for (int i = 0; i < items_; ++i)
    shared.store(place(position(order, thread, i)), items[static_cast<std::size_t>(i)]);
}

Items SharedTile::load(const SharedValues &shared, Order order, const Thread &thread) const {
  Items items;
  for (int i = 0; i < items_; ++i)
    items.push_back(shared.load(place(position(order, thread, i))));
  return items;
}

Items rearrange(const SharedTile &tile, const SharedValues &shared, Order from, Order to,
                const Thread &thread, const Items &items, Loc loc) {
  tile.store(shared, from, thread, items);
  gpu::barrier(loc);
  return tile.load(shared, to, thread);
}

} // namespace impl

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
  return rearrange(SharedTile(threads_, items_),
                   planOf(type_, threads_, items_).in(storage, 0, loc), from, to, Thread(loc),
                   items, loc);
}

/// TraceError where the numbers that go with a thread's items are not one Int32 each (or of another
/// type).
static void expectBeside(const char *name, const Items &numbers, std::size_t items, DType type,
                         Loc loc) {
  if (numbers.size() != items)
    throw TraceError("BlockExchange of " + std::to_string(items) + " items per thread is given " +
                         std::to_string(numbers.size()) + " " + name + ": each item has one",
                     loc);
  if (const ValueType given(typesOf("BlockExchange", numbers, loc)); given != ValueType(type))
    throw TraceError(std::string("BlockExchange: the ") + name + " are " +
                         std::string(type.name()) + ", not " + given.str(),
                     loc);
}

Items BlockExchange::scatter(const Items &items, const Items &ranks, Order to,
                             const Storage &storage, Loc loc) const {
  expectItems(items, loc);
  expectBeside("ranks", ranks, items.size(), i32, loc);
  expectStorage(storage, loc);
  const SharedTile tile(threads_, items_);
  const SharedValues shared = planOf(type_, threads_, items_).in(storage, 0, loc);
  for (std::size_t i = 0; i < items.size(); ++i)
    shared.store(tile.place(Expr(ranks[i].front(), loc)), items[i]);
  gpu::barrier(loc);
  return tile.load(shared, to, Thread(loc));
}

Items BlockExchange::scatterFlagged(const Items &items, const Items &ranks, const Items &flags,
                                    const IntTuple &count, const Fields &fill,
                                    const Storage &storage, Loc loc) const {
  expectItems(items, loc);
  expectBeside("ranks", ranks, items.size(), i32, loc);
  expectBeside("flags", flags, items.size(), boolean, loc);
  expectStorage(storage, loc);
  const Fields other = expectTypes("the fill", fill, type_.fields(), loc);
  const SharedTile tile(threads_, items_);
  const Thread thread(loc);
  const SharedValues shared = planOf(type_, threads_, items_).in(storage, 0, loc);
  for (std::size_t i = 0; i < items.size(); ++i)
    where(Expr(flags[i].front(), loc),
          [&] { shared.store(tile.place(Expr(ranks[i].front(), loc)), items[i]); });
  gpu::barrier(loc);
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
