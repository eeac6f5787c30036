#include "builder/coop/block.h"
#include "builder/coop/warp_match.h"

#include <flydsl/coop/block_histogram.h>
#include <flydsl/coop/block_radix.h>
#include <flydsl/error.h>
#include <flydsl/kernel/atomic.h>

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

BlockHistogram::BlockHistogram(int threads, int bins, BlockHistogramAlgorithm algorithm, Loc loc)
    : BlockCollective("BlockHistogram", u32, threads, loc), bins_(bins), algorithm_(algorithm) {
  if (bins < 1)
    throw TraceError("BlockHistogram of " + std::to_string(bins) + " bins: at least one", loc);
  if (algorithm == BlockHistogramAlgorithm::sort)
    throw TraceError(
        "BlockHistogram by sorting is made for a number of items per thread, which its "
        "storage depends on: give it after the algorithm",
        loc);
}

namespace {

/// A histogram's sort, and in the same memory the sorted items.
struct SortRoom {
  BlockRadixSort sort;
  int bits;
  Plan tile;

  /// One value more than there are bins is sorted: items that do not count.
  SortRoom(int threads, int bins, int items, Loc loc)
      : sort(u32, threads, items, 4, loc), bits(std::bit_width(static_cast<unsigned>(bins))) {
    tile.add(u32, std::int64_t(threads) * items);
  }
  StorageSize storage() const { return sort.storage() | tile.size(); }
};

} // namespace

BlockHistogram::BlockHistogram(int threads, int bins, BlockHistogramAlgorithm algorithm,
                               int items_per_thread, Loc loc)
    : BlockHistogram(threads, bins, BlockHistogramAlgorithm::atomic, loc) {
  algorithm_ = algorithm;
  items_ = items_per_thread;
  expectSomeItems(loc);
  if (algorithm == BlockHistogramAlgorithm::sort)
    storage_ = SortRoom(threads, bins, items_, loc).storage();
}

void BlockHistogram::expectCounts(const Tensor &counts, Loc loc) const {
  const DType type = counts.dtype(loc);
  if (type != u32 && type != i32)
    throw TraceError("BlockHistogram counts in u32 or i32, and the tensor is of " +
                         std::string(type.name()),
                     loc);
  if (counts.address_space(loc) != AddressSpace::shared)
    throw TraceError("BlockHistogram counts in shared memory, and the tensor is elsewhere", loc);
  if (onlyNumber(counts.shape(loc), loc) != bins_ || onlyNumber(counts.stride(loc), loc) != 1)
    throw TraceError("BlockHistogram of " + std::to_string(bins_) + " bins is given a tensor " +
                         counts.layout(loc).str() + ": it counts in neighbouring elements, " +
                         std::to_string(bins_) + ":1",
                     loc);
}

void BlockHistogram::clear(const Tensor &counts, Loc loc) const {
  expectCounts(counts, loc);
  const Thread thread(loc);
  for (int first = 0; first < bins_; first += threads_) {
    const Expr bin = thread.number() + first;
    auto set = [&] {
      counts.point(bin.index(), loc) = Numeric::Arg(Expr(counts.dtype(loc), 0, loc).number(), loc);
    };
    if (first + threads_ <= bins_)
      set();
    else
      where(bin < bins_, set);
  }
}

void BlockHistogram::countSorted(const Items &items, const IntTuple *valid, const Tensor &counts,
                                 const Storage &storage, Loc loc) const {
  const SortRoom room(threads_, bins_, items_, loc);
  const Thread thread(loc);
  std::vector<UInt32> keys;
  for (int i = 0; i < items_; ++i) {
    Expr key(items[static_cast<std::size_t>(i)].front(), loc);
    if (valid)
      key =
          select(thread.number() * items_ + i < numberOf(*valid, loc), key, Expr(u32, bins_, loc));
    keys.push_back(UInt32(key.number()));
  }
  const std::vector<UInt32> sorted =
      room.sort(keys, storage, {.end_bit = room.bits, .striped = true}, loc);
  gpu::barrier(loc); // before the sort's memory is written again
  const SharedValues tile = room.tile.in(storage, 0, loc);
  for (int i = 0; i < items_; ++i)
    tile.store(thread.number() + i * threads_, {sorted[static_cast<std::size_t>(i)].handle()});
  gpu::barrier(loc);
  const int total = threads_ * items_;
  // The number of items below `bin`, by halves.
  auto below = [&](const Expr &bin) {
    Expr count(i32, 0, loc);
    for (int step = static_cast<int>(std::bit_floor(static_cast<unsigned>(total))); step > 0;
         step /= 2) {
      const Expr next = count + step;
      const Expr at = min(next, Expr(i32, total, loc)) - 1;
      const Expr isBelow = Expr(tile.load(at).front(), loc) < bin.to(u32);
      count = select((next <= total) & isBelow, next, count);
    }
    return count;
  };
  for (int first = 0; first < bins_; first += threads_) {
    const Expr bin = thread.number() + first;
    where(bin < bins_, [&] {
      const Expr number = below(bin + 1) - below(bin);
      const Expr before(counts.point(bin.index(), loc).handle(), loc);
      counts.point(bin.index(), loc) =
          Numeric::Arg((before + number.to(counts.dtype(loc))).number(), loc);
    });
  }
}

void BlockHistogram::count(const Items &items, const IntTuple *valid, const Tensor &counts,
                           const Storage &storage, Loc loc) const {
  expectItems(items, loc);
  expectCounts(counts, loc);
  expectStorage(storage, loc);
  if (valid)
    expectValid(*valid, 0, static_cast<std::int64_t>(threads_ * items.size()), loc);
  if (algorithm_ == BlockHistogramAlgorithm::sort)
    return countSorted(items, valid, counts, storage, loc);
  const DType type = counts.dtype(loc);
  const Thread thread(loc);
  const Lanes lanes("BlockHistogram", thread.lanes(), loc);
  const int n = static_cast<int>(items.size());
  auto add = [&](const Expr &bin, const Expr &number) {
    atomic(AtomicOp::add, counts.iter(loc) + IntTuple::Arg(bin.number(), loc),
           Numeric::Arg(number.to(type).number(), loc), "workgroup");
  };
  for (int i = 0; i < n; ++i) {
    const Expr bin = Expr(items[static_cast<std::size_t>(i)].front(), loc).to(i32);
    std::optional<Expr> counted;
    if (valid)
      counted = thread.number() * n + i < numberOf(*valid, loc);
    if (algorithm_ == BlockHistogramAlgorithm::atomic) {
      auto one = [&] { add(bin, Expr(type, 1, loc)); };
      if (counted)
        where(*counted, one);
      else
        one();
      continue;
    }
    // The first of the lanes with the same bin counts all of them.
    int bits = 1;
    while (bits < 31 && (1 << bits) < bins_)
      ++bits;
    const LanesAlike same = lanesAlike(lanes, bin.to(u32), bits, counted);
    const Expr isFirst = same.first == thread.lane();
    where(counted ? *counted & isFirst : isFirst, [&] { add(bin, same.count); });
  }
}

} // namespace coop
FLYDSL_NAMESPACE_END
