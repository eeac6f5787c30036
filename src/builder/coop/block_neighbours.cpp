#include "builder/coop/block.h"

#include <flydsl/coop/block_neighbours.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

/// One value of each thread: the lasts, or whatever is sent alone, and the firsts.
static Plan planOf(const ValueType &type, int threads) {
  Plan plan;
  plan.add(type, threads);
  plan.add(type, threads);
  return plan;
}

BlockNeighbours::BlockNeighbours(const char *what, ValueType type, int threads, Loc loc)
    : BlockCollective(what, std::move(type), threads, loc) {
  storage_ = planOf(type_, threads).size();
}

/// The items before each one, when the threads' lasts are in shared memory.
static Items itemsBefore(const Items &items, const SharedValues &lasts, const Fields &edge,
                         const Thread &thread, Loc loc) {
  const Fields left = lasts.load(max(thread.number() - 1, Expr(i32, 0, loc)));
  Items before{select(thread.number() == 0, edge, left)};
  before.insert(before.end(), items.begin(), items.end() - 1);
  return before;
}
static Items itemsAfter(const Items &items, const SharedValues &firsts, const Fields &edge,
                        const Thread &thread, int threads, Loc loc) {
  const Fields right = firsts.load(min(thread.number() + 1, Expr(i32, threads - 1, loc)));
  Items after(items.begin() + 1, items.end());
  after.push_back(select(thread.number() == threads - 1, edge, right));
  return after;
}

/// The item of the block that has no neighbour on one side: its first or its last.
struct OuterItem {
  std::size_t index; ///< among the items of its thread
  Expr isMine;       ///< whether the thread has it
};
static OuterItem outerItem(bool isFirst, std::size_t items, int threads, const Thread &thread) {
  return {isFirst ? 0 : items - 1, thread.number() == (isFirst ? 0 : threads - 1)};
}
/// The number of a thread's item in the block's sequence.
static Expr numberOfItem(std::size_t index, std::size_t items, const Thread &thread) {
  return thread.number() * static_cast<int>(items) + static_cast<int>(index);
}

Items BlockNeighbours::before(const Items &items, const Fields *predecessor, const Storage &storage,
                              Loc loc) const {
  expectItems(items, loc);
  expectStorage(storage, loc);
  const Fields edge = predecessor
                          ? expectTypes("the predecessor", *predecessor, type_.fields(), loc)
                          : items.front();
  const Thread thread(loc);
  const SharedValues lasts = planOf(type_, threads_).in(storage, 0, loc);
  lasts.store(thread.number(), items.back());
  gpu::barrier(loc);
  return itemsBefore(items, lasts, edge, thread, loc);
}

Items BlockNeighbours::after(const Items &items, const Fields *successor, const Storage &storage,
                             Loc loc) const {
  expectItems(items, loc);
  expectStorage(storage, loc);
  const Fields edge =
      successor ? expectTypes("the successor", *successor, type_.fields(), loc) : items.back();
  const Thread thread(loc);
  const SharedValues firsts = planOf(type_, threads_).in(storage, 1, loc);
  firsts.store(thread.number(), items.front());
  gpu::barrier(loc);
  return itemsAfter(items, firsts, edge, thread, threads_, loc);
}

std::pair<Items, Items> BlockNeighbours::around(const Items &items, const Storage &storage,
                                                Loc loc) const {
  expectItems(items, loc);
  expectStorage(storage, loc);
  const Thread thread(loc);
  const Plan plan = planOf(type_, threads_);
  const SharedValues lasts = plan.in(storage, 0, loc), firsts = plan.in(storage, 1, loc);
  lasts.store(thread.number(), items.back());
  firsts.store(thread.number(), items.front());
  gpu::barrier(loc);
  return {itemsBefore(items, lasts, items.front(), thread, loc),
          itemsAfter(items, firsts, items.back(), thread, threads_, loc)};
}

BlockDiscontinuity::BlockDiscontinuity(ValueType type, int threads, Loc loc)
    : BlockNeighbours("BlockDiscontinuity", std::move(type), threads, loc) {}

Items BlockDiscontinuity::flags(const Items &items, const Relation &differs, bool heads,
                                const Fields *edge, const Storage &storage, Loc loc,
                                const IntTuple *valid) const {
  const std::size_t n = items.size();
  if (valid)
    expectValid(*valid, 1, std::int64_t(threads_) * static_cast<int>(n), loc);
  const Items beside = heads ? before(items, edge, storage, loc) : after(items, edge, storage, loc);
  Items flags;
  for (std::size_t i = 0; i < n; ++i)
    flags.push_back({heads ? differs(beside[i], items[i]) : differs(items[i], beside[i])});
  if (edge)
    return flags;
  const Thread thread(loc);
  auto alsoWhere = [&](std::size_t i, const Expr &condition) {
    flags[i] = {(condition | Expr(flags[i].front(), loc)).handle};
  };
  const OuterItem outer = outerItem(heads, n, threads_, thread);
  alsoWhere(outer.index, outer.isMine);
  for (std::size_t i = 0; valid && i < n; ++i)
    alsoWhere(i, numberOfItem(i, n, thread) == numberOf(*valid, loc) - 1);
  return flags;
}

std::pair<Items, Items> BlockDiscontinuity::bothFlags(const Items &items, const Relation &differs,
                                                      const Storage &storage, Loc loc) const {
  const auto [before, after] = around(items, storage, loc);
  const Thread thread(loc);
  Items heads, tails;
  for (std::size_t i = 0; i < items.size(); ++i) {
    heads.push_back({differs(before[i], items[i])});
    tails.push_back({differs(items[i], after[i])});
  }
  heads.front() = {((thread.number() == 0) | Expr(heads.front().front(), loc)).handle};
  tails.back() = {((thread.number() == threads_ - 1) | Expr(tails.back().front(), loc)).handle};
  return {heads, tails};
}

BlockAdjacentDifference::BlockAdjacentDifference(ValueType type, int threads, Loc loc)
    : BlockNeighbours("BlockAdjacentDifference", std::move(type), threads, loc) {}

Items BlockAdjacentDifference::difference(const Items &items, const Operator &f, bool left,
                                          const Fields *edge, const Storage &storage, Loc loc,
                                          const IntTuple *valid) const {
  const std::size_t n = items.size();
  if (valid)
    expectValid(*valid, 0, std::int64_t(threads_) * static_cast<int>(n), loc);
  const Items beside = left ? before(items, edge, storage, loc) : after(items, edge, storage, loc);
  Items differences;
  for (std::size_t i = 0; i < n; ++i)
    differences.push_back(combine(f, items[i], beside[i], loc));
  if (edge)
    return differences;
  const Thread thread(loc);
  const OuterItem outer = outerItem(left, n, threads_, thread);
  differences[outer.index] = select(outer.isMine, items[outer.index], differences[outer.index]);
  // Both the item and its neighbour are there.
  for (std::size_t i = 0; valid && i < n; ++i) {
    const Expr further = numberOfItem(left ? i : i + 1, n, thread);
    differences[i] = select(further < numberOf(*valid, loc), differences[i], items[i]);
  }
  return differences;
}

BlockShuffle::BlockShuffle(ValueType type, int threads, Loc loc)
    : BlockNeighbours("BlockShuffle", std::move(type), threads, loc) {}

Fields BlockShuffle::fromThread(const Fields &value, const IntTuple &distance, const Fields *fill,
                                const Storage &storage, Loc loc) const {
  expectItems({value}, loc);
  expectStorage(storage, loc);
  const Thread thread(loc);
  const SharedValues values = planOf(type_, threads_).in(storage, 0, loc);
  values.store(thread.number(), value);
  gpu::barrier(loc);
  const Expr by = numberOf(distance, loc);
  if (!fill) {
    // The remainder has the sign of the distance; both sums below stay small.
    const Expr source = (thread.number() + (by % threads_ + threads_)) % threads_;
    return values.load(source);
  }
  const Fields other = expectTypes("the fill", *fill, type_.fields(), loc);
  // No thread is further away than the block is long, and then the sum does not overflow.
  const Expr near = min(max(by, Expr(i32, -threads_, loc)), Expr(i32, threads_, loc));
  const Expr source = thread.number() + near;
  return values.loadWhere((source >= 0) & (source < threads_), source, other);
}

} // namespace coop
FLYDSL_NAMESPACE_END
