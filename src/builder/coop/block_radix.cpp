#include "builder/coop/exchange.h"
#include "builder/coop/sort_keys.h"
#include "builder/coop/warp_match.h"

#include <flydsl/coop/block_radix.h>
#include <flydsl/coop/block_scan.h>
#include <flydsl/error.h>
#include <flydsl/kernel/atomic.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

namespace {

/// A counter for each digit and wave, in this order, and what their scan needs.
struct Counters {
  int threads, bits, waves, count, perThread;
  Plan plan;
  std::size_t counters, scan;

  Counters(int threads, int bits, Loc loc)
      : threads(threads), bits(bits),
        waves(threads / std::min(gpu::num_warp_threads(loc), threads)), count((1 << bits) * waves),
        perThread((count + threads - 1) / threads) {
    counters = plan.add(u32, count);
    scan = plan.add(scanOf(loc).storage());
  }
  BlockScan scanOf(Loc loc) const {
    return BlockScan(u32, threads, BlockScanAlgorithm::warp_scans, loc);
  }
};

/// The place of each of a thread's warp-striped digits.
Items ranked(const Items &digits, const Counters &room, const Storage &storage, Loc loc) {
  const Thread thread(loc);
  const Lanes lanes("a radix rank", thread.lanes(), loc);
  const SharedValues counters = room.plan.in(storage, room.counters, loc);
  // A wave has counters of its own, which no other touches before all have counted.
  for (int first = 0; first < 1 << room.bits; first += thread.lanes()) {
    const Expr digit = thread.lane() + first;
    auto clear = [&] {
      counters.store(digit * room.waves + thread.wave(), {Expr(u32, 0, loc).handle});
    };
    if (first + thread.lanes() <= 1 << room.bits)
      clear();
    else
      where(digit < (1 << room.bits), clear);
  }
  std::vector<Expr> places;
  for (const Fields &item : digits) {
    const Expr digit(item.front(), loc);
    const LanesAlike same = lanesAlike(lanes, digit, room.bits);
    // The first of the lanes counts for all of them.
    const Expr counter = digit.to(i32) * room.waves + thread.wave();
    const Expr counted = loadWhere(
        same.rank == 0,
        [&] {
          return Expr(atomic(AtomicOp::add, counters.at(0, counter),
                             Numeric::Arg(same.count.to(u32).number(), loc), "workgroup"),
                      loc);
        },
        Expr(u32, 0, loc));
    const Fields first = lanes.from({counted.handle}, same.first);
    places.push_back(Expr(first.front(), loc).to(i32) + same.rank);
  }
  gpu::barrier(loc);

  // Before a digit's counter of a wave stand all of smaller digits, and those of the same digit of
  // the waves before.
  std::vector<UInt32> own;
  const Expr firstCounter = thread.number() * room.perThread;
  auto inside = [&](int i) { return firstCounter + i < room.count; };
  const bool even = room.perThread * room.threads == room.count;
  for (int i = 0; i < room.perThread; ++i) {
    const Fields zero{Expr(u32, 0, loc).handle};
    const Fields count = even ? counters.load(firstCounter + i)
                              : counters.loadWhere(inside(i), firstCounter + i, zero);
    own.push_back(UInt32(count.front()));
  }
  const Storage scanStorage = room.plan.storageIn(storage, room.scan, loc);
  const std::vector<UInt32> before =
      room.scanOf(loc).exclusive(own, Reduction::add, scanStorage, loc);
  for (int i = 0; i < room.perThread; ++i) {
    auto write = [&] {
      counters.store(firstCounter + i, {before[static_cast<std::size_t>(i)].handle()});
    };
    if (even)
      write();
    else
      where(inside(i), write);
  }
  gpu::barrier(loc);

  Items ranks;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const Expr digit = Expr(digits[i].front(), loc).to(i32);
    const Fields start = counters.load(digit * room.waves + thread.wave());
    ranks.push_back({(Expr(start.front(), loc).to(i32) + places[i]).handle});
  }
  return ranks;
}

void expectBits(const char *what, int bits, Loc loc) {
  if (bits < 1 || bits > 8)
    throw TraceError(std::string(what) + " by digits of " + std::to_string(bits) + " bits: 1 to 8",
                     loc);
}

} // namespace

BlockRadixRank::BlockRadixRank(int threads, int items_per_thread, int bits, Loc loc)
    : BlockCollective("BlockRadixRank", u32, threads, items_per_thread, loc), bits_(bits) {
  expectBits("BlockRadixRank", bits, loc);
  storage_ = Counters(threads, bits, loc).plan.size();
}

Items BlockRadixRank::rank(const Items &digits, const Storage &storage, Loc loc) const {
  expectItems(digits, loc);
  expectStorage(storage, loc);
  return ranked(digits, Counters(threads_, bits_, loc), storage, loc);
}

namespace {

/// A radix sort's storage: the counters, and the tile of keys with their values.
struct SortRoom {
  Counters counters;
  Plan plan;
  std::size_t rank, tile;

  SortRoom(const ValueType &item, int threads, int items, int bits, Loc loc)
      : counters(threads, bits, loc) {
    rank = plan.add(counters.plan.size());
    tile = plan.add(item, SharedTile(threads, items).places());
  }
};

} // namespace

BlockRadixSort::BlockRadixSort(DType key, std::optional<ValueType> value, int threads, int items,
                               int bits, Loc loc)
    : BlockCollective("BlockRadixSort", key, threads, items, loc), value_(std::move(value)),
      bits_(bits) {
  expectBits("BlockRadixSort", bits, loc);
  expectSortable("BlockRadixSort", key, loc);
  storage_ = SortRoom(keyWithValue(key, value_), threads, items, bits, loc).plan.size();
}
BlockRadixSort::BlockRadixSort(DType key, int threads, int items_per_thread, int bits_per_digit,
                               Loc loc)
    : BlockRadixSort(key, std::optional<ValueType>(), threads, items_per_thread, bits_per_digit,
                     loc) {}
BlockRadixSort::BlockRadixSort(DType key, ValueType value, int threads, int items_per_thread,
                               int bits_per_digit, Loc loc)
    : BlockRadixSort(key, std::optional<ValueType>(std::move(value)), threads, items_per_thread,
                     bits_per_digit, loc) {}

BlockRadixSort::Sorted BlockRadixSort::sort(const Items &keys, const Items *values,
                                            const RadixSortOptions &options, const Storage &storage,
                                            Loc loc) const {
  expectItems(keys, loc);
  expectPayload("BlockRadixSort", value_, values, keys.size(), loc);
  expectStorage(storage, loc);
  const DType key = type_.fields().front();
  const int end = options.end_bit ? options.end_bit : key.bits();
  if (options.begin_bit < 0 || options.begin_bit >= end || end > key.bits())
    throw TraceError("BlockRadixSort by the bits " + std::to_string(options.begin_bit) +
                         " to below " + std::to_string(end) + " of keys of " +
                         std::to_string(key.bits()) + " bits",
                     loc);
  if (options.valid)
    expectValid(*options.valid, 0, std::int64_t(threads_) * items_, loc);
  const ValueType item = keyWithValue(key, value_);
  const SortRoom room(item, threads_, items_, bits_, loc);
  const SharedTile tile(threads_, items_);
  const SharedValues shared = room.plan.in(storage, room.tile, loc);
  const Storage rankStorage = room.plan.storageIn(storage, room.rank, loc);
  const Thread thread(loc);

  // Keys as unsigned numbers in the order that is asked for, with their values behind them. What is
  // past the valid items goes last: it is the largest, and equal ones keep their order.
  Items all;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Expr bits = ordered(Expr(keys[i].front(), loc), options.descending);
    if (options.valid)
      bits = select(tile.position(Order::blocked, thread, static_cast<int>(i)) <
                        numberOf(*options.valid, loc),
                    bits, Expr(bits.type(), ~std::uint64_t(0) >> (64 - key.bits()), loc));
    all.push_back({bits.handle});
    if (values)
      all[i].insert(all[i].end(), (*values)[i].begin(), (*values)[i].end());
  }
  // The ranks' barriers stand between these reads of the tile and the next writes.
  if (items_ > 1)
    all = rearrange(tile, shared, Order::blocked, Order::warp_striped, thread, all, waitForBlock,
                    loc);
  for (int bit = options.begin_bit; bit < end; bit += bits_) {
    const int width = std::min(bits_, end - bit);
    Items digits;
    for (const Fields &one : all)
      digits.push_back(
          {((Expr(one.front(), loc) >> bit).to(u32) & ((std::uint32_t(1) << width) - 1)).handle});
    const Items ranks = ranked(digits, room.counters, rankStorage, loc);
    for (std::size_t i = 0; i < all.size(); ++i)
      shared.store(tile.place(Expr(ranks[i].front(), loc)), all[i]);
    gpu::barrier(loc);
    const bool last = bit + bits_ >= end;
    all = tile.load(shared,
                    !last             ? Order::warp_striped
                    : options.striped ? Order::striped
                                      : Order::blocked,
                    thread);
  }
  Sorted sorted;
  for (const Fields &one : all) {
    sorted.keys.push_back({fromOrdered(Expr(one.front(), loc), key, options.descending).handle});
    if (values)
      sorted.values.emplace_back(one.begin() + 1, one.end());
  }
  return sorted;
}

} // namespace coop
FLYDSL_NAMESPACE_END
