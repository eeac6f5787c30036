#include "builder/coop/exchange.h"
#include "builder/coop/sort_keys.h"

#include <flydsl/coop/block_merge_sort.h>
#include <flydsl/error.h>

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

Plan planOf(const ValueType &item, int threads, int items) {
  Plan plan;
  plan.add(item, SharedTile(threads, items).places());
  return plan;
}

/// The sort of one call.
struct Merge {
  const SharedTile &tile;
  const SharedValues &shared;
  const Relation &less;
  std::size_t keyFields;
  int items, tilePlaces;
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
  void withinThread(Items &all, const Expr &firstPosition, const Expr *count) const {
    for (int round = 0; round < items; ++round)
      for (int i = round % 2; i + 1 < items; i += 2) {
        Fields &low = all[static_cast<std::size_t>(i)];
        Fields &high = all[static_cast<std::size_t>(i) + 1];
        Expr swap = before(high, low);
        if (count)
          swap = swap & (firstPosition + (i + 1) < *count);
        const Fields first = select(swap, high, low);
        high = select(swap, low, high);
        low = first;
      }
  }

  /// A thread's part of two neighbouring sorted runs merged, each of the items of `run` threads (a
  /// power of two), which end at place `count` of the tile: the items from the thread's own place
  /// on. What is past the end is any value.
  Items merged(const Thread &thread, const Expr &run, const Expr &count) const {
    const Expr first = (thread.number() & ~(run * 2 - 1)) * items;
    const Expr middle = min(first + run * items, count), end = min(middle + run * items, count);
    const Expr sizeA = max(middle - first, number(0)), sizeB = max(end - middle, number(0));
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

    // Places of the next item of each run. A run that is used up has its last item again, unseen.
    const Expr last = number(tilePlaces - 1);
    Expr a = first + value(low), b = middle + (diagonal - value(low));
    Fields nextA = at(min(a, last)), nextB = at(min(b, last));
    Items taken;
    for (int i = 0; i < items; ++i) {
      const Expr fromB = (b < end) & ((a >= middle) | before(nextB, nextA));
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
};

} // namespace

BlockMergeSort::BlockMergeSort(ValueType key, std::optional<ValueType> value, int threads,
                               int items, Loc loc)
    : BlockCollective("BlockMergeSort", std::move(key), threads, items, loc),
      value_(std::move(value)) {
  storage_ = planOf(itemType(type_, value_), threads, items).size();
}
BlockMergeSort::BlockMergeSort(ValueType key, int threads, int items_per_thread, Loc loc)
    : BlockMergeSort(std::move(key), std::optional<ValueType>(), threads, items_per_thread, loc) {}
BlockMergeSort::BlockMergeSort(ValueType key, ValueType value, int threads, int items_per_thread,
                               Loc loc)
    : BlockMergeSort(std::move(key), std::optional<ValueType>(std::move(value)), threads,
                     items_per_thread, loc) {}

BlockMergeSort::Sorted BlockMergeSort::sort(const Items &keys, const Items *values,
                                            const Relation &less, const IntTuple *valid,
                                            const Storage &storage, Loc loc) const {
  expectItems(keys, loc);
  expectPayload("BlockMergeSort", value_, values, keys.size(), loc);
  expectStorage(storage, loc);
  Items all = keys;
  if (values)
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].insert(all[i].end(), (*values)[i].begin(), (*values)[i].end());

  const int count = threads_ * items_;
  const Thread thread(loc);
  const SharedTile tile(threads_, items_);
  const std::size_t keyFields = type_.fields().size();
  std::optional<Expr> end;
  if (valid) {
    if (valid->is_static(loc) && (valid->value(loc) < 0 || valid->value(loc) > count))
      throw TraceError("BlockMergeSort of " + std::to_string(valid->value(loc)) +
                           " items of a tile of " + std::to_string(count) + ": 0 to all of them",
                       loc);
    end = numberOf(*valid, loc);
  }
  const SharedValues shared = planOf(itemType(type_, value_), threads_, items_).in(storage, 0, loc);
  const Merge merge{tile, shared, less, keyFields, items_, count, loc};
  merge.withinThread(all, thread.number() * items_, end ? &*end : nullptr);

  std::vector<Slots> slots;
  for (const Fields &item : all)
    slots.emplace_back(item, loc);
  // Runs of one thread's items, of two, of four, ... until one run has all.
  const Slots run({Expr(i32, 1, loc).handle}, loc);
  repeat([&] { return Expr(run.get().front(), loc) < threads_; },
         [&] {
           Items own;
           for (const Slots &slot : slots)
             own.push_back(slot.get());
           gpu::barrier(loc);
           tile.store(shared, Order::blocked, thread, own);
           gpu::barrier(loc);
           const Expr size(run.get().front(), loc);
           const Items taken = merge.merged(thread, size, end ? *end : Expr(i32, count, loc));
           for (std::size_t i = 0; i < slots.size(); ++i)
             slots[i].set(taken[i]);
           run.set({(size * 2).handle});
         },
         loc);

  Sorted sorted;
  for (const Slots &slot : slots) {
    const Fields item = slot.get();
    sorted.keys.push_back(merge.keyOf(item));
    if (values)
      sorted.values.emplace_back(item.begin() + static_cast<std::ptrdiff_t>(keyFields), item.end());
  }
  return sorted;
}

} // namespace coop
FLYDSL_NAMESPACE_END
