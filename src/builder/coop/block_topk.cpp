#include "builder/coop/exchange.h"
#include "builder/coop/sort_keys.h"

#include <flydsl/atomic.h>
#include <flydsl/coop/block_scan.h>
#include <flydsl/coop/block_topk.h>
#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

namespace {

constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

struct Room {
  Plan plan;
  std::size_t counters, found, scan, tile;
  int perThread;
  BlockScan sums;

  Room(const ValueType &item, int threads, int items, Loc loc)
      : perThread((kDigits + threads - 1) / threads),
        sums(i32, threads, BlockScanAlgorithm::warp_scans, loc) {
    counters = plan.add(i32, kDigits);
    found = plan.add({i32, i32}, 1); // the digit, and how many keys are before it
    scan = plan.add(sums.storage());
    tile = plan.add(item, SharedTile(threads, items).places());
  }
};

} // namespace

BlockTopK::BlockTopK(DType key, std::optional<ValueType> value, int threads, int items, Loc loc)
    : BlockCollective("BlockTopK", key, threads, items, loc), value_(std::move(value)) {
  expectSortable("BlockTopK", key, loc);
  storage_ = Room(keyWithValue(key, value_), threads, items, loc).plan.size();
}
BlockTopK::BlockTopK(DType key, int threads, int items_per_thread, Loc loc)
    : BlockTopK(key, std::optional<ValueType>(), threads, items_per_thread, loc) {}
BlockTopK::BlockTopK(DType key, ValueType value, int threads, int items_per_thread, Loc loc)
    : BlockTopK(key, std::optional<ValueType>(std::move(value)), threads, items_per_thread, loc) {}

BlockTopK::Chosen BlockTopK::choose(const Items &keys, const Items *values, const IntTuple &k,
                                    const TopKOptions &options, const Storage &storage,
                                    Loc loc) const {
  expectItems(keys, loc);
  expectPayload("BlockTopK", value_, values, keys.size(), loc);
  expectStorage(storage, loc);
  const int count = threads_ * items_;
  expectValid(k, 0, count, loc);
  const DType key = type_.fields().front();
  const Room room(keyWithValue(key, value_), threads_, items_, loc);
  const SharedTile tile(threads_, items_);
  const Thread thread(loc);
  const SharedValues counters = room.plan.in(storage, room.counters, loc);
  const SharedValues found = room.plan.in(storage, room.found, loc);
  const Storage scanStorage = room.plan.storageIn(storage, room.scan, loc);
  const Expr zero(i32, 0, loc), one(i32, 1, loc);

  // Keys as unsigned numbers, of which the smallest are wanted, and whether each can still be the
  // last one that is selected.
  std::vector<Expr> bits, open, selected;
  for (int i = 0; i < items_; ++i) {
    bits.push_back(
        ordered(Expr(keys[static_cast<std::size_t>(i)].front(), loc), !options.smallest));
    open.push_back(options.valid
                       ? tile.position(Order::blocked, thread, i) < numberOf(*options.valid, loc)
                       : Expr(boolean, true, loc));
    selected.push_back(Expr(boolean, false, loc));
  }
  // From the highest digit down: the digit of the last key that is selected is the one at which the
  // counts reach k. Keys with smaller digits are selected, those with larger ones are not.
  Expr wanted = max(numberOf(k, loc), one);
  for (int shift = key.bits() - kDigitBits; shift >= 0; shift -= kDigitBits) {
    std::vector<Expr> digits;
    for (const Expr &one : bits)
      digits.push_back((one >> shift).to(i32) & (kDigits - 1));
    const Expr first = thread.number() * room.perThread;
    for (int i = 0; i < room.perThread; ++i)
      where(first + i < kDigits, [&] { counters.store(first + i, {zero.handle}); });
    gpu::barrier(loc);
    for (std::size_t i = 0; i < bits.size(); ++i)
      where(open[i], [&] {
        atomic(AtomicOp::add, counters.at(0, digits[i]), Numeric::Arg(one.number(), loc),
               "workgroup");
      });
    gpu::barrier(loc);
    std::vector<Int32> own;
    for (int i = 0; i < room.perThread; ++i)
      own.push_back(
          Int32(counters.loadWhere(first + i < kDigits, first + i, {zero.handle}).front()));
    const std::vector<Int32> before = room.sums.exclusive(own, Reduction::add, scanStorage, loc);
    for (int i = 0; i < room.perThread; ++i) {
      const Expr start(before[static_cast<std::size_t>(i)], loc);
      const Expr end = start + Expr(own[static_cast<std::size_t>(i)], loc);
      where((start < wanted) & (end >= wanted),
            [&] { found.store(zero, {(first + i).handle, start.handle}); });
    }
    gpu::barrier(loc);
    const Fields last = found.load(zero);
    const Expr digit(last[0], loc);
    for (std::size_t i = 0; i < bits.size(); ++i) {
      selected[i] = selected[i] | (open[i] & (digits[i] < digit));
      open[i] = open[i] & (digits[i] == digit);
    }
    wanted = wanted - Expr(last[1], loc);
  }
  // The keys that are still open are equal; the first of them are selected.
  std::vector<Int32> equal;
  for (const Expr &flag : open)
    equal.push_back(Int32(select(flag, one, zero).number()));
  const std::vector<Int32> equalBefore =
      room.sums.exclusive(equal, Reduction::add, scanStorage, loc);
  gpu::barrier(loc);
  std::vector<Int32> chosen;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    selected[i] = selected[i] | (open[i] & (Expr(equalBefore[i], loc) < wanted));
    chosen.push_back(Int32(select(selected[i], one, zero).number()));
  }
  const std::vector<Int32> places = room.sums.exclusive(chosen, Reduction::add, scanStorage, loc);
  const SharedValues shared = room.plan.in(storage, room.tile, loc);
  auto item = [&](std::size_t i) {
    Fields all{bits[i].handle};
    if (values)
      all.insert(all.end(), (*values)[i].begin(), (*values)[i].end());
    return all;
  };
  for (std::size_t i = 0; i < bits.size(); ++i)
    where(selected[i], [&] { shared.store(tile.place(Expr(places[i], loc)), item(i)); });
  gpu::barrier(loc);
  Chosen result;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const Expr position = tile.position(Order::blocked, thread, static_cast<int>(i));
    const Fields one = shared.loadWhere(position < numberOf(k, loc), tile.place(position), item(i));
    result.keys.push_back({fromOrdered(Expr(one.front(), loc), key, !options.smallest).handle});
    if (values)
      result.values.emplace_back(one.begin() + 1, one.end());
  }
  return result;
}

} // namespace coop
FLYDSL_NAMESPACE_END
