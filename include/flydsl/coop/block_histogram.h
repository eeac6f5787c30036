// Counts of a block's items.
#pragma once

#include <flydsl/coop/block.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// How a histogram counts.
enum class BlockHistogramAlgorithm {
  atomic, ///< an atomic addition for each item
  match,  ///< one for each different item of a wave: for items with many equal ones
  sort,   ///< no atomics: the items are sorted, and the bins' ends looked up
};

/// Counts how often each of a number of bins comes up. The counts are the caller's shared memory, a
/// tensor of one mode of UInt32 or Int32, one for each bin, that lives on from call to call:
///
///   auto memory = shared.allocate(bins * 4).recast(fx::u32);
///   auto counts = fx::make_view(memory, fx::make_layout(bins, 1));
///   histogram.clear(counts);
///   fx::gpu::barrier();
///   histogram.add(items, counts); // as often as needed
///   fx::gpu::barrier();
///
/// The barriers are the caller's. A call needs no storage, unless it sorts.
class FLYDSL_API BlockHistogram : public BlockCollective {
public:
  BlockHistogram(int threads, int bins,
                 BlockHistogramAlgorithm algorithm = BlockHistogramAlgorithm::atomic,
                 Loc loc = Loc::current());
  /// By sorting, for a fixed number of items per thread.
  BlockHistogram(int threads, int bins, BlockHistogramAlgorithm algorithm, int items_per_thread,
                 Loc loc = Loc::current());

  /// Sets all counts to 0.
  void clear(const Tensor &counts, Loc loc = Loc::current()) const;
  /// Counts the items, UInt32 from 0 to bins - 1, of any number per thread.
  template <class C>
  void add(const C &items, const Tensor &counts, const Storage &storage = Storage(),
           Loc loc = Loc::current()) const {
    count(impl::takeItems(items, loc), nullptr, counts, storage, loc);
  }
  /// Counts the first `valid` of the block's blocked items alone.
  template <class C>
  void add_partial(const C &items, const IntTuple &valid, const Tensor &counts,
                   const Storage &storage = Storage(), Loc loc = Loc::current()) const {
    count(impl::takeItems(items, loc), &valid, counts, storage, loc);
  }

private:
  void count(const impl::Items &items, const IntTuple *valid, const Tensor &counts,
             const Storage &storage, Loc loc) const;
  void countSorted(const impl::Items &items, const IntTuple *valid, const Tensor &counts,
                   const Storage &storage, Loc loc) const;
  void expectCounts(const Tensor &counts, Loc loc) const;

  int bins_;
  BlockHistogramAlgorithm algorithm_;
};

} // namespace coop
FLYDSL_NAMESPACE_END
