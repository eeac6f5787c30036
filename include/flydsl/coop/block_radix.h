// Ranks and sorts of a block by the digits of keys.
#pragma once

#include <flydsl/coop/block.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// The places that digits would have in order: those of smaller digits come before, and equal ones
/// keep their order. Three barriers.
class FLYDSL_API BlockRadixRank : public BlockCollective {
public:
  /// For digits of `bits` bits, 1 to 8.
  BlockRadixRank(int threads, int items_per_thread, int bits = 4, Loc loc = Loc::current());

  /// The place, Int32, of each digit, UInt32 below 2^bits. Items are warp-striped
  /// (BlockExchange::blocked_to_warp_striped); a single item per thread always is.
  template <class C>
  impl::ResultWith<C, Int32> operator()(const C &digits, const Storage &storage,
                                        Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultWith<C, Int32>>(
        rank(impl::takeItems(digits, loc), storage, loc), loc);
  }

private:
  impl::Items rank(const impl::Items &digits, const Storage &storage, Loc loc) const;

  int bits_;
};

/// What a radix sort sorts by, and how it gives out the result.
struct RadixSortOptions {
  /// The largest key first.
  bool descending = false;
  /// The bits of the key that count, from `begin_bit` to below `end_bit` (0: all). Of signed and
  /// floating-point keys the highest bit is the sign.
  int begin_bit = 0, end_bit = 0;
  /// The result is striped instead of blocked.
  bool striped = false;
  /// The first `valid` items of the tile alone are sorted: after them the result has any values.
  std::optional<IntTuple> valid = {};
};

/// A stable sort by the digits of keys: integers of 8 to 64 bits with or without sign, and f16,
/// bf16, f32 and f64 in IEEE's total order (-NaN, -inf, ..., -0, +0, ..., inf, NaN). Four barriers
/// a digit, and one before.
class FLYDSL_API BlockRadixSort : public BlockCollective {
public:
  /// Of keys alone.
  BlockRadixSort(DType key, int threads, int items_per_thread, int bits_per_digit = 4,
                 Loc loc = Loc::current());
  /// Of keys with a value each.
  BlockRadixSort(DType key, ValueType value, int threads, int items_per_thread,
                 int bits_per_digit = 4, Loc loc = Loc::current());

  /// A thread's keys, blocked, in order.
  template <class K>
  impl::ResultOf<K> operator()(const K &keys, const Storage &storage,
                               const RadixSortOptions &options = {},
                               Loc loc = Loc::current()) const {
    return impl::makeItems<impl::ResultOf<K>>(
        sort(impl::takeItems(keys, loc), nullptr, options, storage, loc).keys, loc);
  }
  template <class K, class V>
  std::pair<impl::ResultOf<K>, impl::ResultOf<V>>
  pairs(const K &keys, const V &values, const Storage &storage,
        const RadixSortOptions &options = {}, Loc loc = Loc::current()) const {
    const impl::Items payload = impl::takeItems(values, loc);
    const Sorted sorted = sort(impl::takeItems(keys, loc), &payload, options, storage, loc);
    return {impl::makeItems<impl::ResultOf<K>>(sorted.keys, loc),
            impl::makeItems<impl::ResultOf<V>>(sorted.values, loc)};
  }

private:
  struct Sorted {
    impl::Items keys, values;
  };
  Sorted sort(const impl::Items &keys, const impl::Items *values, const RadixSortOptions &options,
              const Storage &storage, Loc loc) const;
  BlockRadixSort(DType key, std::optional<ValueType> value, int threads, int items, int bits,
                 Loc loc);

  std::optional<ValueType> value_;
  int bits_;
};

} // namespace coop
FLYDSL_NAMESPACE_END
