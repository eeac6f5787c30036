#include "builder/coop/exchange.h"

#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

// Threads that write an even number of neighbouring items each would meet on few of LDS's 32 banks;
// up to four items, a thread's are written as one vector. One place is left out after every kRun.
static constexpr int kRun = 32;

std::int64_t SharedTile::places() const {
  const std::int64_t count = std::int64_t(threads_) * items_;
  return padded() ? count + count / kRun : count;
}

Expr SharedTile::place(const Expr &position) const {
  return padded() ? position + position / kRun : position;
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

std::optional<SharedTile::Walk> SharedTile::walk(Order order, const Thread &thread) const {
  const int step = order == Order::blocked   ? 1
                   : order == Order::striped ? threads_
                                             : thread.lanes();
  if (padded() && step % kRun)
    return std::nullopt;
  return Walk{place(position(order, thread, 0)), padded() ? step + step / kRun : step};
}

// One address and constant offsets from there, which are part of LDS's instructions.
void SharedTile::store(const SharedValues &shared, Order order, const Thread &thread,
                       const Items &items) const {
  const std::optional<Walk> even = walk(order, thread);
  const SharedValues from = even ? shared.from(even->first) : shared;
  for (int i = 0; i < items_; ++i)
    from.store(even ? Expr(i32, i * even->step, even->first.loc)
                    : place(position(order, thread, i)),
               items[static_cast<std::size_t>(i)]);
}

Items SharedTile::load(const SharedValues &shared, Order order, const Thread &thread) const {
  const std::optional<Walk> even = walk(order, thread);
  const SharedValues from = even ? shared.from(even->first) : shared;
  Items items;
  for (int i = 0; i < items_; ++i)
    items.push_back(from.load(even ? Expr(i32, i * even->step, even->first.loc)
                                   : place(position(order, thread, i))));
  return items;
}

GroupPlan::GroupPlan(const ValueType &type, int width, std::int64_t places, Loc loc)
    : width_(width), places_(places) {
  if (places)
    plan_.add(type, blockThreads(loc) / width * places);
}

SharedValues GroupPlan::in(const Storage &storage, Loc loc) const {
  const SharedValues all = plan_.in(storage, 0, loc);
  return all.from(groupOfThread(width_, loc) * static_cast<int>(places_));
}

Items rearrange(const SharedTile &tile, const SharedValues &shared, Order from, Order to,
                const Thread &thread, const Items &items, Wait wait, Loc loc) {
  tile.store(shared, from, thread, items);
  wait(loc);
  return tile.load(shared, to, thread);
}

Items rearrangeByRank(const SharedTile &tile, const SharedValues &shared, const Items &ranks,
                      Order to, const Thread &thread, const Items &items, Wait wait, Loc loc) {
  scatterItems(tile, shared, items, ranks, nullptr, wait, loc);
  return tile.load(shared, to, thread);
}

void scatterItems(const SharedTile &tile, const SharedValues &shared, const Items &items,
                  const Items &ranks, const Items *flags, Wait wait, Loc loc) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto store = [&] { shared.store(tile.place(Expr(ranks[i].front(), loc)), items[i]); };
    if (flags)
      where(Expr((*flags)[i].front(), loc), store);
    else
      store();
  }
  wait(loc);
}

void expectBeside(const char *what, const char *name, const Items &numbers, std::size_t items,
                  DType type, Loc loc) {
  const std::string collective = what;
  if (numbers.size() != items)
    throw TraceError(collective + " of " + std::to_string(items) + " items per thread is given " +
                         std::to_string(numbers.size()) + " " + name + ": each item has one",
                     loc);
  if (const ValueType given(typesOf(what, numbers, loc)); given != ValueType(type))
    throw TraceError(collective + ": the " + name + " are " + std::string(type.name()) + ", not " +
                         given.str(),
                     loc);
}

} // namespace coop::impl
FLYDSL_NAMESPACE_END
