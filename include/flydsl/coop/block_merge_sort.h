// A block's sort by any comparison.
#pragma once

#include <flydsl/coop/block.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// A stable sort of a block's items by a function: `less(a, b)` is whether a goes before b. Keys are
/// numbers or records. Two barriers for each doubling of the threads.
class FLYDSL_API BlockMergeSort : public BlockCollective {
public:
  /// Of keys alone.
  BlockMergeSort(ValueType key, int threads, int items_per_thread, Loc loc = Loc::current());
  /// Of keys with a value each.
  BlockMergeSort(ValueType key, ValueType value, int threads, int items_per_thread,
                 Loc loc = Loc::current());

  /// A thread's keys, blocked, in order.
  template <class K, class Less>
  impl::ResultOf<K> operator()(const K &keys, const Less &less, const Storage &storage,
                               Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<K>>(sort(impl::takeItems(keys, loc), nullptr,
                                                   impl::relationOf<impl::ItemOf<K>>(less), nullptr,
                                                   storage, loc)
                                                  .keys,
                                              loc);
  }
  /// The first `valid` items of the tile alone, 0 to all of them; behind them the result has any
  /// values.
  template <class K, class Less>
  impl::ResultOf<K> partial(const K &keys, const Less &less, const IntTuple &valid,
                            const Storage &storage, Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<K>>(sort(impl::takeItems(keys, loc), nullptr,
                                                   impl::relationOf<impl::ItemOf<K>>(less), &valid,
                                                   storage, loc)
                                                  .keys,
                                              loc);
  }
  /// Keys with their values.
  template <class K, class V, class Less>
  std::pair<impl::ResultOf<K>, impl::ResultOf<V>> pairs(const K &keys, const V &values,
                                                        const Less &less, const Storage &storage,
                                                        Loc loc = Loc::current()) const {
    return both<K, V>(keys, values, less, nullptr, storage, loc);
  }
  template <class K, class V, class Less>
  std::pair<impl::ResultOf<K>, impl::ResultOf<V>>
  partial_pairs(const K &keys, const V &values, const Less &less, const IntTuple &valid,
                const Storage &storage, Loc loc = Loc::current()) const {
    return both<K, V>(keys, values, less, &valid, storage, loc);
  }

private:
  struct Sorted {
    impl::Items keys, values;
  };
  Sorted sort(const impl::Items &keys, const impl::Items *values, const impl::Relation &less,
              const IntTuple *valid, const Storage &storage, Loc loc) const;
  BlockMergeSort(ValueType key, std::optional<ValueType> value, int threads, int items, Loc loc);

  template <class K, class V, class Less>
  std::pair<impl::ResultOf<K>, impl::ResultOf<V>> both(const K &keys, const V &values,
                                                       const Less &less, const IntTuple *valid,
                                                       const Storage &storage, Loc loc) const {
    const impl::Items payload = impl::takeItems(values, loc);
    const Sorted sorted = sort(impl::takeItems(keys, loc), &payload,
                               impl::relationOf<impl::ItemOf<K>>(less), valid, storage, loc);
    return {impl::makeItems<impl::ResultOf<K>>(sorted.keys, loc),
            impl::makeItems<impl::ResultOf<V>>(sorted.values, loc)};
  }

  std::optional<ValueType> value_;
};

} // namespace coop
FLYDSL_NAMESPACE_END
