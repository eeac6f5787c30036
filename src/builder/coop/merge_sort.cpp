#include "builder/coop/exchange.h"
#include "builder/coop/sort_keys.h"

#include <flydsl/coop/merge_sort.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

namespace {

/// Registers that a loop changes, for one item.
class Slots {
public:
  Slots(const Fields &init, Loc loc) : loc_(loc) {
    for (const Handle &field : init)
      memory_.push_back(detail::varNew(field, detail::dtypeOf(field, loc), loc));
  }
  Fields get() const {
    Fields value;
    for (const Handle &memory : memory_)
      value.push_back(detail::varLoad(memory, loc_));
    return value;
  }
  void set(const Fields &value) const {
    for (std::size_t i = 0; i < value.size(); ++i)
      detail::varStore(memory_[i], value[i], loc_);
  }

private:
  std::vector<Handle> memory_;
  Loc loc_;
};

/// Runs `body` again while `condition()` holds; both see Slots alone.
template <class Condition, class Body> void repeat(Condition condition, Body body, Loc loc) {
  while_([&] { return Boolean(condition().handle); }, body, loc);
}

ValueType itemType(const ValueType &key, const std::optional<ValueType> &value) {
  std::vector<DType> fields = key.fields();
  if (value)
    fields.insert(fields.end(), value->fields().begin(), value->fields().end());
  return fields;
}

Plan planOf(const ValueType &item, std::int64_t places) {
  Plan plan;
  plan.add(item, places);
  return plan;
}

Items withValues(const Items &keys, const Items *values) {
  Items all = keys;
  if (values)
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].insert(all[i].end(), (*values)[i].begin(), (*values)[i].end());
  return all;
}

Sorted apart(const Items &all, std::size_t keyFields, bool values) {
  Sorted sorted;
  for (const Fields &item : all) {
    const auto end = item.begin() + static_cast<std::ptrdiff_t>(keyFields);
    sorted.keys.emplace_back(item.begin(), end);
    if (values)
      sorted.values.emplace_back(end, item.end());
  }
  return sorted;
}

/// The sort of one call.
struct Merge {
  const SharedTile &tile;
  const SharedValues &shared;
  const Relation &less;
  std::size_t keyFields;
  int items;
  Loc loc;

  Expr number(int n) const { return Expr(i32, n, loc); }
  Fields keyOf(const Fields &item) const {
    return Fields(item.begin(), item.begin() + static_cast<std::ptrdiff_t>(keyFields));
  }
  Expr before(const Fields &a, const Fields &b) const {
    return Expr(less(keyOf(a), keyOf(b)), loc);
  }
  Fields at(const Expr &position) const { return shared.load(tile.place(position)); }

  /// A thread's items in order, by exchanges of neighbours, which keep equal ones as they are.
  void withinThread(Items &all, const Expr &firstPosition, const Expr *end) const {
    for (int round = 0; round < items; ++round)
      for (int i = round % 2; i + 1 < items; i += 2) {
        Fields &low = all[static_cast<std::size_t>(i)];
        Fields &high = all[static_cast<std::size_t>(i) + 1];
        Expr swap = before(high, low);
        if (end)
          swap = swap & (firstPosition + (i + 1) < *end);
        const Fields first = select(swap, high, low);
        high = select(swap, low, high);
        low = first;
      }
  }

  /// A thread's part of two neighbouring sorted runs merged, each of the items of `run` threads (a
  /// power of two). None of these are past place `end` of the tile: the items from the thread's own
  /// place on. What is past the end is any value.
  Items merged(const Thread &thread, const Expr &run, const Expr &end, int count) const {
    const Expr first = (thread.number() & ~(run * 2 - 1)) * items;
    // Behind the end, runs are empty, and no other thread's places are looked at.
    const Expr middle = max(min(first + run * items, end), first);
    const Expr endB = max(min(middle + run * items, end), middle);
    const Expr sizeA = middle - first, sizeB = endB - middle;
    const Expr diagonal = min(thread.number() * items - first, sizeA + sizeB);

    // How many of the items before the thread's first come from the first run: of equal items those
    // of the first run go before.
    const Slots low({max(diagonal - sizeB, number(0)).handle}, loc);
    const Slots high({min(diagonal, sizeA).handle}, loc);
    auto value = [&](const Slots &slot) { return Expr(slot.get().front(), loc); };
    repeat([&] { return value(low) < value(high); },
           [&] {
             const Expr half = (value(low) + value(high)) >> 1;
             const Expr fromB = before(at(middle + (diagonal - half - 1)), at(first + half));
             low.set({select(fromB, value(low), half + 1).handle});
             high.set({select(fromB, half, value(high)).handle});
           },
           loc);

    // Places of the next item of each run. What is behind a run that is used up is not looked at,
    // and is no place of other threads than those that merge.
    const Expr last = min(first + run * (2 * items) - 1, number(count - 1));
    Expr a = first + value(low), b = middle + (diagonal - value(low));
    Fields nextA = at(min(a, last)), nextB = at(min(b, last));
    Items taken;
    for (int i = 0; i < items; ++i) {
      const Expr fromB = (b < endB) & ((a >= middle) | before(nextB, nextA));
      taken.push_back(select(fromB, nextB, nextA));
      if (i + 1 == items)
        break;
      a = select(fromB, a, a + 1);
      b = select(fromB, b + 1, b);
      const Fields next = at(min(select(fromB, b, a), last));
      nextA = select(fromB, nextA, next);
      nextB = select(fromB, next, nextB);
    }
    return taken;
  }

  /// Merges runs of the items of `from` threads until they are of `to` threads. All threads that
  /// share a run take part, and wait for each other by `wait`.
  void mergeRuns(const std::vector<Slots> &slots, int from, int to, const Thread &thread,
                 const Expr &end, int count, Wait wait) const {
    if (from >= to)
      return;
    const Slots run({number(from).handle}, loc);
    repeat([&] { return Expr(run.get().front(), loc) < to; },
           [&] {
             Items own;
             for (const Slots &slot : slots)
               own.push_back(slot.get());
             wait(loc);
             tile.store(shared, Order::blocked, thread, own);
             wait(loc);
             const Expr size(run.get().front(), loc);
             const Items taken = merged(thread, size, end, count);
             for (std::size_t i = 0; i < slots.size(); ++i)
               slots[i].set(taken[i]);
             run.set({(size * 2).handle});
           },
           loc);
  }

  /// The whole sort of the items of `threads` threads, where each `lanes` are lanes of a wave,
  /// or of the first `valid` of them.
  Sorted sorted(const Items &keys, const Items *values, const IntTuple *valid, const Thread &thread,
                int lanes, int threads) const {
    const int count = threads * items;
    std::optional<Expr> end;
    if (valid)
      end = numberOf(*valid, loc);
    Items all = withValues(keys, values);
    withinThread(all, thread.number() * items, end ? &*end : nullptr);
    std::vector<Slots> slots;
    for (const Fields &item : all)
      slots.emplace_back(item, loc);
    const Expr last = end ? *end : number(count);
    mergeRuns(slots, 1, lanes, thread, last, count, waitForWave);
    mergeRuns(slots, lanes, threads, thread, last, count, waitForBlock);
    Items result;
    for (const Slots &slot : slots)
      result.push_back(slot.get());
    return apart(result, keyFields, values != nullptr);
  }
};

} // namespace

BlockMergeSort::BlockMergeSort(ValueType key, std::optional<ValueType> value, int threads,
                               int items, Loc loc)
    : BlockCollective("BlockMergeSort", std::move(key), threads, items, loc),
      value_(std::move(value)) {
  storage_ = planOf(itemType(type_, value_), SharedTile(threads, items).places()).size();
}
BlockMergeSort::BlockMergeSort(ValueType key, int threads, int items_per_thread, Loc loc)
    : BlockMergeSort(std::move(key), std::optional<ValueType>(), threads, items_per_thread, loc) {}
BlockMergeSort::BlockMergeSort(ValueType key, ValueType value, int threads, int items_per_thread,
                               Loc loc)
    : BlockMergeSort(std::move(key), std::optional<ValueType>(std::move(value)), threads,
                     items_per_thread, loc) {}

Sorted BlockMergeSort::sort(const Items &keys, const Items *values, const Relation &less,
                            const IntTuple *valid, const Storage &storage, Loc loc) const {
  expectItems(keys, loc);
  expectPayload(what_, value_, values, keys.size(), loc);
  expectStorage(storage, loc);
  if (valid)
    expectValid(*valid, 0, threads_ * items_, loc);
  const Thread thread(loc);
  const SharedTile tile(threads_, items_);
  const SharedValues shared = planOf(itemType(type_, value_), tile.places()).in(storage, 0, loc);
  const Merge merge{tile, shared, less, type_.fields().size(), items_, loc};
  return merge.sorted(keys, values, valid, thread, thread.lanes(), threads_);
}

WarpMergeSort::WarpMergeSort(ValueType key, std::optional<ValueType> value, int items, int width,
                             Loc loc)
    : WarpCollective("WarpMergeSort", std::move(key), items, width, loc), value_(std::move(value)) {
  const std::int64_t places = SharedTile(width_, items).places();
  storage_ = GroupPlan(itemType(type_, value_), width_, places, loc).size();
}
WarpMergeSort::WarpMergeSort(ValueType key, int items_per_lane, int width, Loc loc)
    : WarpMergeSort(std::move(key), std::optional<ValueType>(), items_per_lane, width, loc) {}
WarpMergeSort::WarpMergeSort(ValueType key, ValueType value, int items_per_lane, int width, Loc loc)
    : WarpMergeSort(std::move(key), std::optional<ValueType>(std::move(value)), items_per_lane,
                    width, loc) {}

Sorted WarpMergeSort::sort(const Items &keys, const Items *values, const Relation &less,
                           const IntTuple *valid, const Storage &storage, Loc loc) const {
  expectItems(keys, loc);
  expectPayload(what_, value_, values, keys.size(), loc);
  expectStorage(storage, loc);
  if (valid)
    expectValid(*valid, 0, width_ * items_, loc);
  const SharedTile tile(width_, items_);
  const SharedValues shared =
      GroupPlan(itemType(type_, value_), width_, tile.places(), loc).in(storage, loc);
  const Merge merge{tile, shared, less, type_.fields().size(), items_, loc};
  return merge.sorted(keys, values, valid, Thread::inGroup(width_, loc), width_, width_);
}

} // namespace coop
FLYDSL_NAMESPACE_END
