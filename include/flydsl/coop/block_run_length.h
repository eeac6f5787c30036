// Runs of equal values, written out.
#pragma once

#include <flydsl/coop/block.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// Items of decoded runs, and the place of each in its run.
template <class T> struct DecodedItems {
  std::vector<T> items;
  std::vector<Int32> places;
};

template <class T> class DecodedRuns;

/// Decodes runs: each thread brings the same number of values with their lengths (Int32, 0 or
/// more), in blocked order. Two barriers.
class FLYDSL_API BlockRunLengthDecode : public BlockCollective {
public:
  BlockRunLengthDecode(ValueType type, int threads, int runs_per_thread, Loc loc = Loc::current());

  /// The runs, to be read in windows while the storage is left alone.
  template <class C, class L>
  DecodedRuns<impl::ItemOf<C>> operator()(const C &values, const L &lengths, const Storage &storage,
                                          Loc loc = Loc::current()) const;

private:
  template <class T> friend class DecodedRuns;
  Numeric begin(const impl::Items &values, const impl::Items &lengths, const Storage &storage,
                Loc loc) const;
  struct Window {
    impl::Items items, places;
  };
  Window read(const IntTuple &first, int count, const impl::Fields &fill, const Int32 &total,
              const Storage &storage, Loc loc) const;
};

/// The runs of a block, ready to be read in any window of the sequence that they are.
template <class T> class DecodedRuns {
public:
  /// The number of items of all runs, in all threads.
  const Int32 &total() const { return total_; }
  /// The items from `first` on, blocked: thread t gets `count` items, the first of them item
  /// first + t * count. Past the end items are `fill`, and their places -1. No barrier.
  DecodedItems<T> window(const IntTuple &first, int count, const impl::InitOf<T> &fill,
                         Loc loc = Loc::current()) const {
    const auto read = decode_.read(first, count, impl::initFields(fill), total_, storage_, loc);
    return {impl::makeItems<std::vector<T>>(read.items, loc),
            impl::makeItems<std::vector<Int32>>(read.places, loc)};
  }

private:
  friend class BlockRunLengthDecode;
  DecodedRuns(const BlockRunLengthDecode &decode, const Storage &storage, Int32 total)
      : decode_(decode), storage_(storage), total_(total) {}

  BlockRunLengthDecode decode_;
  Storage storage_;
  Int32 total_;
};

template <class C, class L>
DecodedRuns<impl::ItemOf<C>> BlockRunLengthDecode::operator()(const C &values, const L &lengths,
                                                              const Storage &storage,
                                                              Loc loc) const {
  const Int32 total(
      begin(impl::takeItems(values, loc), impl::takeItems(lengths, loc), storage, loc), loc);
  return DecodedRuns<impl::ItemOf<C>>(*this, storage, total);
}

} // namespace coop
FLYDSL_NAMESPACE_END
