// The largest or smallest keys of a block.
#pragma once

#include <flydsl/coop/block.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// What a selection selects.
struct TopKOptions {
  /// The smallest keys instead of the largest.
  bool smallest = false;
  /// Only the first `valid` items of the tile are there, k to all of them.
  std::optional<IntTuple> valid = {};
};

/// Selects k of a block's keys, without sorting them: the result is blocked, the k
/// selected ones in their order at the front of the sequence, any values after them. Of
/// equal keys the first ones are selected. Keys are those of BlockRadixSort. Four barriers
/// for each 8 bits of a key, and four more.
class FLYDSL_API BlockTopK : public BlockCollective {
public:
  /// Of keys alone.
  BlockTopK(DType key, int threads, int items_per_thread, Loc loc = Loc::current());
  /// Of keys with a value each.
  BlockTopK(DType key, ValueType value, int threads, int items_per_thread,
            Loc loc = Loc::current());

  /// `k`, 0 to all items, is the same number in all threads.
  template <class K>
  impl::ResultOf<K> operator()(const K &keys, const IntTuple &k, const Storage &storage,
                               const TopKOptions &options = {}, Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<K>>(
        choose(impl::takeItems(keys, loc), nullptr, k, options, storage, loc).keys, loc);
  }
  template <class K, class V>
  std::pair<impl::ResultOf<K>, impl::ResultOf<V>>
  pairs(const K &keys, const V &values, const IntTuple &k, const Storage &storage,
        const TopKOptions &options = {}, Loc loc = Loc::current()) const {
    const impl::Items payload = impl::takeItems(values, loc);
    const Chosen chosen = choose(impl::takeItems(keys, loc), &payload, k, options, storage, loc);
    return {impl::makeItems<impl::ResultOf<K>>(chosen.keys, loc),
            impl::makeItems<impl::ResultOf<V>>(chosen.values, loc)};
  }

private:
  struct Chosen {
    impl::Items keys, values;
  };
  Chosen choose(const impl::Items &keys, const impl::Items *values, const IntTuple &k,
                const TopKOptions &options, const Storage &storage, Loc loc) const;
  BlockTopK(DType key, std::optional<ValueType> value, int threads, int items, Loc loc);

  std::optional<ValueType> value_;
};

} // namespace coop
FLYDSL_NAMESPACE_END
