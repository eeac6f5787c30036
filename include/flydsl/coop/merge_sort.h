// Sorts by any comparison: of a block, and of the groups of a wave.
#pragma once

#include <flydsl/coop/block.h>
#include <flydsl/coop/warp_collective.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {
namespace impl {

/// Keys, and their values where they have some.
struct Sorted {
  Items keys, values;
};

/// The calls of both sorts. `Sort` has a member `sort` for values without their C++ types.
template <class Sort> class MergeSortCalls {
public:
  /// A thread's keys, blocked, in order.
  template <class K, class Less>
  ResultOf<K> operator()(const K &keys, const Less &less, const Storage &storage,
                         Loc loc = Loc::current()) const {
    return ofKeys<K>(keys, less, nullptr, storage, loc);
  }
  /// The first `valid` items of the tile alone, 0 to all of them; after them the result has any
  /// values.
  template <class K, class Less>
  ResultOf<K> partial(const K &keys, const Less &less, const IntTuple &valid,
                      const Storage &storage, Loc loc = Loc::current()) const {
    return ofKeys<K>(keys, less, &valid, storage, loc);
  }
  /// Keys with their values.
  template <class K, class V, class Less>
  std::pair<ResultOf<K>, ResultOf<V>> pairs(const K &keys, const V &values, const Less &less,
                                            const Storage &storage,
                                            Loc loc = Loc::current()) const {
    return ofPairs<K, V>(keys, values, less, nullptr, storage, loc);
  }
  template <class K, class V, class Less>
  std::pair<ResultOf<K>, ResultOf<V>>
  partial_pairs(const K &keys, const V &values, const Less &less, const IntTuple &valid,
                const Storage &storage, Loc loc = Loc::current()) const {
    return ofPairs<K, V>(keys, values, less, &valid, storage, loc);
  }

private:
  template <class K, class Less>
  ResultOf<K> ofKeys(const K &keys, const Less &less, const IntTuple *valid, const Storage &storage,
                     Loc loc) const {
    return makeItems<ResultOf<K>>(
        static_cast<const Sort *>(this)
            ->sort(takeItems(keys, loc), nullptr, relationOf<ItemOf<K>>(less), valid, storage, loc)
            .keys,
        loc);
  }
  template <class K, class V, class Less>
  std::pair<ResultOf<K>, ResultOf<V>> ofPairs(const K &keys, const V &values, const Less &less,
                                              const IntTuple *valid, const Storage &storage,
                                              Loc loc) const {
    const Items payload = takeItems(values, loc);
    const Sorted sorted = static_cast<const Sort *>(this)->sort(
        takeItems(keys, loc), &payload, relationOf<ItemOf<K>>(less), valid, storage, loc);
    return {makeItems<ResultOf<K>>(sorted.keys, loc), makeItems<ResultOf<V>>(sorted.values, loc)};
  }
};

} // namespace impl

/// A stable sort of a block's items by a function: `less(a, b)` is whether a goes before b. Keys
/// are numbers or records. Two barriers for each doubling of the waves; within a wave none.
class FLYDSL_API BlockMergeSort : public BlockCollective,
                                  public impl::MergeSortCalls<BlockMergeSort> {
public:
  /// Of keys alone.
  BlockMergeSort(ValueType key, int threads, int items_per_thread, Loc loc = Loc::current());
  /// Of keys with a value each.
  BlockMergeSort(ValueType key, ValueType value, int threads, int items_per_thread,
                 Loc loc = Loc::current());

private:
  friend class impl::MergeSortCalls<BlockMergeSort>;
  BlockMergeSort(ValueType key, std::optional<ValueType> value, int threads, int items, Loc loc);
  impl::Sorted sort(const impl::Items &keys, const impl::Items *values, const impl::Relation &less,
                    const IntTuple *valid, const Storage &storage, Loc loc) const;

  std::optional<ValueType> value_;
};

/// The same for the items of each group of a wave, of any number per lane.
class FLYDSL_API WarpMergeSort : public WarpCollective, public impl::MergeSortCalls<WarpMergeSort> {
public:
  /// Of keys alone.
  WarpMergeSort(ValueType key, int items_per_lane, int width = 0, Loc loc = Loc::current());
  /// Of keys with a value each.
  WarpMergeSort(ValueType key, ValueType value, int items_per_lane, int width = 0,
                Loc loc = Loc::current());

private:
  friend class impl::MergeSortCalls<WarpMergeSort>;
  WarpMergeSort(ValueType key, std::optional<ValueType> value, int items, int width, Loc loc);
  impl::Sorted sort(const impl::Items &keys, const impl::Items *values, const impl::Relation &less,
                    const IntTuple *valid, const Storage &storage, Loc loc) const;

  std::optional<ValueType> value_;
};

} // namespace coop
FLYDSL_NAMESPACE_END
